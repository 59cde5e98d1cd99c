r"""Levels of noise in groups of a chain's residuals, found from the residuals themselves.

What is fitted leaves less than the noise: of a residual of unit variance :math:`1 - h`, where its
leverage h is the part of its freedom that states and parameters take. With states at all nodes
that is most of it: the mean square of the residuals (as in eqs. (3.26)-(3.27) of the paper on
discrete multibody dynamics, up to one degree of freedom) would be far too small. Levels are right
where :math:`\sum r^2 = \sum (1 - h)` in every group, r in units of the level: there the
likelihood of what the fit cannot move is largest (restricted maximum likelihood, Patterson and
Thompson 1971). Where it is largest without any noise of a group, that is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sysid_ros.errors import EstimationError
from sysid_ros.numerics.least_squares.chain import NormalEquations, Residuals

# Freedom that a group must have left for its level to show; where it has less, levels are moved
# to where it has as much, so often before it is left at that.
_LEAST, _TRIES = 1.0, 3
# Part of its given level by which a level may move at once.
_FARTHEST = 100.0
# Relative change of all levels that ends the search, and most steps.
_SETTLED, _MOST = 1e-3, 200
# Change of a variance's logarithm over which curvatures are taken; steps by them, and the longest.
_APART, _STEPS, _LONGEST = 0.1, 3, 1.0
# What is divided by where nothing is left.
_TINY = 1e-300
# Part of their own curvature that is added to states that nothing determines.
_BREATH = 1e-14


@dataclass(frozen=True, eq=False)
class Levels:
    """Levels of noise of g groups.

    Attributes:
        ratio: Of what was found to what was given, shape ``(g,)``.
        shown: Whether a level shows; where it does not, any below ``ratio`` fits as well.
        deviation: Relative standard deviation of each level, infinite where it does not show.
    """

    ratio: np.ndarray
    shown: np.ndarray
    deviation: np.ndarray


@dataclass(frozen=True, eq=False)
class GroupedResiduals:
    """Residuals of a chain about its minimum, in groups that share a level of noise.

    Attributes:
        nodes: Nodes of the chain.
        dimension: Numbers n of a state's step.
        parts: Residuals in units of their given levels, with their derivatives.
        groups: Group of each of the m numbers of each part.
        lower: Least step of each parameter, shape ``(p,)``.
        upper: Largest step.
    """

    nodes: int
    dimension: int
    parts: tuple[Residuals, ...]
    groups: tuple[np.ndarray, ...]
    lower: np.ndarray
    upper: np.ndarray

    @property
    def count(self) -> int:
        """Groups g."""
        return 1 + max(int(group.max()) for group in self.groups)

    def levels(self) -> Levels:
        """Find the levels.

        Every group's level is moved by the root of Σr² / Σ(1 - h) until none moves; the last bit
        of the way, and how well they are known, is told by the likelihood's second derivatives.
        """
        ratio, tries = np.ones(self.count), np.zeros(self.count, dtype=int)
        for _ in range(_MOST):
            squares, left = self.squares_and_redundancy(ratio)
            factor = np.sqrt(squares / np.maximum(left, _TINY))
            # Noise that is smaller than what shows is put where it just would.
            hidden = (left < _LEAST) & ((squares <= left) | (left < _LEAST / _FARTHEST**2))
            factor = np.where(hidden, np.sqrt(_LEAST / np.maximum(left, _TINY)), factor)
            factor[tries >= _TRIES] = 1.0
            tries += hidden
            factor = np.clip(factor, 1.0 / _FARTHEST, _FARTHEST)
            ratio = ratio * factor
            if np.max(np.abs(np.log(factor))) <= _SETTLED:
                break
        return self._polished(ratio, ~hidden & (tries < _TRIES))

    def squares_and_redundancy(self, ratio: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Squared residuals of each group once they are weighed anew, and its redundancy.

        Args:
            ratio: Of the levels to those given, shape ``(g,)``.

        Returns:
            Σr² and Σ(1 - h), shape ``(g,)`` each.
        """
        parts = [
            Residuals(part.nodes, part.rows / ratio[group][:, None], part.pairs)
            for part, group in zip(self.parts, self.groups, strict=True)]
        equations = NormalEquations.of(self.nodes, self.dimension, len(self.lower), parts)
        eliminated = equations.eliminated(_BREATH * equations.curvature[0])
        moved = None if eliminated is None else eliminated.step(self.lower, self.upper)
        if eliminated is None or moved is None:
            raise EstimationError(
                'the motion that is left open by the data hides what noise there is',
                fix='Observe the position of every joint, or give the levels of noise')
        covariance = np.linalg.inv(eliminated.information)
        squares, left = np.zeros(self.count), np.zeros(self.count)
        for part, group in zip(parts, self.groups, strict=True):
            residual = part.values + _change(part, *moved)
            np.add.at(squares, group, np.sum(residual**2, axis=0))
            np.add.at(left, group, np.sum(1.0 - eliminated.leverages(part, covariance), axis=0))
        return squares, left

    def _polished(self, ratio: np.ndarray, shown: np.ndarray) -> Levels:
        """The levels after some steps of Newton's method, and how well they are known."""
        deviation, indices = np.full(self.count, np.inf), np.flatnonzero(shown)
        curvature = self._curvature(ratio, indices)
        if not len(indices) or not np.linalg.eigvalsh(curvature)[0] > 0.0:
            return Levels(ratio, shown, deviation)
        covariance = np.linalg.inv(curvature)
        for _ in range(_STEPS):
            step = covariance @ self._slope(ratio)[indices]
            if np.max(np.abs(step)) > _LONGEST:
                break
            ratio = ratio.copy()
            ratio[indices] *= np.exp(0.5 * step)
        deviation[indices] = 0.5 * np.sqrt(np.diagonal(covariance))
        return Levels(ratio, shown, deviation)

    def _slope(self, ratio: np.ndarray) -> np.ndarray:
        """Derivative of the restricted likelihood by the logarithms of variances, ``(g,)``."""
        squares, left = self.squares_and_redundancy(ratio)
        return np.asarray(0.5 * (squares - left))

    def _curvature(self, ratio: np.ndarray, indices: np.ndarray) -> np.ndarray:
        """Minus its second derivatives by those of some groups."""
        curvature = np.empty((len(indices), len(indices)))
        for column, group in enumerate(indices):
            before, after = ratio.copy(), ratio.copy()
            before[group] *= np.exp(-0.25 * _APART)
            after[group] *= np.exp(0.25 * _APART)
            curvature[:, column] = (self._slope(before) - self._slope(after))[indices] / _APART
        return 0.5 * (curvature + curvature.T)


def _change(part: Residuals, states: np.ndarray, parameters: np.ndarray) -> np.ndarray:
    """By how much a step changes residuals, shape ``(K, m)``."""
    steps = [states[part.nodes], *([states[part.nodes + 1]] if part.pairs else [])]
    steps.append(np.broadcast_to(parameters, (len(part.nodes), len(parameters))))
    return np.asarray((part.rows[:, :, :-1] @ np.hstack(steps)[:, :, None])[:, :, 0])


def restricted(
    part: Residuals, dimension: int, parameters: Sequence[int] | np.ndarray
) -> Residuals:
    """Residuals of which only some parameters are moved.

    Args:
        part: The residuals.
        dimension: Numbers of a state's step.
        parameters: Indices of these.
    """
    first = (1 + part.pairs) * dimension
    columns = np.concatenate([np.arange(first), first + np.asarray(parameters, dtype=int), [-1]])
    return Residuals(part.nodes, np.take(part.rows, columns, axis=2), part.pairs)
