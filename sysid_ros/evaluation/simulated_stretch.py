r"""Models compared by the likelihood with which they simulate a stretch of measured motion.

With the sum S of squared weighted residuals and what one that is independent counts,
:math:`\sigma^2`, the likelihood ratio of another model is :math:`(S - S') / \sigma^2`; that of one
with k more parameters exceeds :math:`\chi^2_{k,\,0.95}` by chance once in twenty times (Wilks
1938). Whether it may exceed that at all is told by the slope of the likelihood where the k are
zero, without another fit (Rao's score test, 1948).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.optimize import lsq_linear
from scipy.special import chdtri

from sysid_ros.errors import EstimationError, ModelError
from sysid_ros.estimation.measurements import Measurements
from sysid_ros.estimation.trajectory.command_filter import with_filter_that_joints_follow
from sysid_ros.estimation.trajectory.gain_start import with_gains_by_links
from sysid_ros.estimation.trajectory.least_squares import TrajectoryLeastSquares
from sysid_ros.estimation.trajectory.problem import TrajectoryProblem
from sysid_ros.estimation.trajectory.solution import TrajectorySolution
from sysid_ros.estimation.trajectory.stable_step import stable_steps
from sysid_ros.mechanics.actuators.actuators import FILTER
from sysid_ros.mechanics.configuration import TermSettings
from sysid_ros.numerics.noise import correlated_squares

# Length of motion in [s] that tells one model from another: many reversals of every joint.
_ENOUGH = 4.0
# How often chance exceeds a likelihood ratio that counts.
_CHANCE = 0.05
# Part of the best known combination of parameters below which one counts as not known at all.
_KNOWN = 1e-10
# First guesses of a filter's time constant, in parts of what joints follow best.
_SHARES = 1.0, 1.0 / 3.0


#: What makes another model of recordings: free parameters, or joint terms.
Change = Callable[[Measurements], Measurements]


def with_terms(**changes: object) -> Change:
    """A change of some keys of the joint terms; what is unset stays so."""
    def changed(measured: Measurements) -> Measurements:
        terms = measured.setup.identification.robot().terms
        return measured.with_terms(
            TermSettings.model_validate(terms.model_dump(exclude_unset=True) | changes))

    return changed


def with_free_links(measured: Measurements) -> Measurements:
    """Recordings whose links are not held at the description."""
    return measured.with_fit(fixed=())


def with_command_filter(measured: Measurements) -> Measurements:
    """Recordings whose commands pass a filter, which is sought."""
    return measured.with_robot(command_time_constant='sought')


@dataclass(frozen=True, eq=False)
class SimulatedStretch:
    """A stretch of recordings and the parameters with which its simulation fits best.

    Attributes:
        measured: The recordings, and the model.
        problem: The stretch.
        found: Its solution.
        estimator: What simulates it.
        stop: Where the data to fit ends, as a fraction of each recording.
    """

    measured: Measurements
    problem: TrajectoryProblem
    found: TrajectorySolution
    estimator: TrajectoryLeastSquares
    stop: float

    @classmethod
    def fitted(
        cls, measured: Measurements, stop: float, estimator: TrajectoryLeastSquares
    ) -> SimulatedStretch | None:
        """The middle of recordings, fitted from the first guess; None where it does not converge.

        Args:
            measured: The recordings.
            stop: Where the data to fit ends, as a fraction of each recording.
            estimator: What simulates them.

        Raises:
            EstimationError: Motion cannot be simulated from the first guess.
        """
        problem = estimator.prepared(measured.trajectory_problem(*_middle(measured, stop)))
        found = estimator.solve(problem)
        return cls(measured, problem, found, estimator, stop) if found.status.ok else None

    @property
    def terms(self) -> TermSettings:
        """Joint terms of the model."""
        return self.measured.setup.identification.robot().terms

    def refitted(self, change: Change) -> SimulatedStretch | None:
        """The same stretch with another model, fitted from where this one ended.

        Args:
            change: Changes the model.

        Returns:
            None where friction is too sharp to be simulated, or the motion cannot be. A search
            that ended early stands: the best fit explains as much or more.
        """
        measured, problem = self._changed(change)
        steps = stable_steps(problem)
        if steps.needed > steps.taken * steps.near_reversals:
            return None
        try:
            found = self.estimator.continued(problem, self.found)
            if len(problem.free) > len(self.problem.free):
                # A law that begins at nothing hides its shape: it is sought from what was found.
                found = self.estimator.continued(problem.with_values(found.values), found)
        except EstimationError:
            return None
        return replace(self, measured=measured, problem=problem, found=found)

    def fitted_anew(self, change: Change) -> SimulatedStretch | None:
        """The same stretch with another model, fitted from its first guess; None as of both others.

        Args:
            change: Changes the model.
        """
        try:
            return type(self).fitted(change(self.measured), self.stop, self.estimator)
        except EstimationError:
            return None

    def nearer_with_filter(self) -> float:
        """Part of the squared residuals at the first guess that a filter of commands takes off.

        Its time constant is what joints follow best, and a third of that, since they are late by
        themselves.
        """
        filtered = with_filter_that_joints_follow(
            self._beginning(with_command_filter(self.measured)))
        constant = filtered.parameters[FILTER]
        without, *others = (self._squares_at(problem) for problem in (
            self._beginning(self.measured), *(
                filtered.with_values(
                    filtered.parameters.with_values({FILTER: share * constant}).values)
                for share in _SHARES)))
        return 1.0 - min(others) / without if np.isfinite(without) else 1.0

    def _beginning(self, measured: Measurements) -> TrajectoryProblem:
        """The stretch with another model, at the first guess."""
        return measured.trajectory_problem(*_middle(measured, self.stop))

    def _squares_at(self, problem: TrajectoryProblem) -> float:
        """Sum of squared weighted residuals at parameters as they are; infinite without motion."""
        try:
            return replace(
                self, problem=problem, found=self.estimator.at(problem, None))._squares
        except EstimationError:
            return np.inf

    @property
    def misfit(self) -> float:
        """Root mean square of residuals over the noise of what was measured: 1 of a true model."""
        rows = sum(
            int(np.isfinite(residual).sum()) for residuals in self.found.residuals
            for residual in residuals)
        return float(np.sqrt(self._squares / max(rows, 1)))

    def promise(self, change: Change) -> float:
        """Part of the squared residuals that additional parameters of another model may explain.

        By the slope of the likelihood where they are as now: nothing is fitted.

        Args:
            change: Changes the model.

        Returns:
            Zero where it may be chance, the motion cannot be simulated, or the robot is of a kind
            that cannot have these terms, as closed loops.
        """
        try:
            _, problem = self._changed(change)
            there = self.estimator.at(problem, self.found)
        except (EstimationError, ModelError):
            return 0.0
        parameters, free = problem.parameters, problem.free
        values = parameters.values[free]
        gain = _linear_gain(
            there.information, there.scores.sum(axis=0),
            parameters.lower[free] - values, parameters.upper[free] - values)
        chance = _by_chance(len(free) - len(self.problem.free))
        # The noise is what the additional parameters leave.
        left = self._variance * (1.0 - gain / self._squares)
        return gain / self._squares if gain > left * chance else 0.0

    def explained(self, other: SimulatedStretch) -> float:
        """Part of the squared residuals that another model explains; below zero if it has more."""
        return 1.0 - other._squares / self._squares

    def _changed(self, change: Change) -> tuple[Measurements, TrajectoryProblem]:
        """The recordings and the stretch with another model, at the parameters found.

        What the settings of both leave free stays held where the stretch holds it.
        """
        measured = change(self.measured)
        before, after = (one.setup.parameters() for one in (self.measured, measured))
        known = self.problem.with_values(self.found.values).parameters
        freed = [name for name, free in zip(after.names, after.free, strict=True)
                 if free and name in before and not before.free[before.index(name)]]
        after = after.updated(known)
        after = replace(after, free=after.free | np.isin(after.names, freed))
        problem = replace(self.problem, model=measured.model, parameters=after, near=True)
        # Links that are freed may leave the scale of all torques open.
        return measured, replace(with_gains_by_links(problem), near=self.problem.near)

    def gain(self, other: SimulatedStretch) -> float:
        """Likelihood ratio of another model beyond what its additional parameters gain by chance.

        Below zero where another one is likelier by no more than chance.
        """
        more = max(len(other.problem.free) - len(self.problem.free), 1)
        return (self._squares - other._squares) / other._variance - _by_chance(more)

    @cached_property
    def _squares(self) -> float:
        """Sum of squared weighted residuals, above zero."""
        total = sum(float(np.sum(part**2)) for part in self._weighted())
        return max(total, float(np.finfo(float).tiny))

    @cached_property
    def _variance(self) -> float:
        """Squared weighted residual that one independent of the others counts."""
        total, rows = correlated_squares(self._weighted())
        return max(total / max(rows - len(self.problem.free), 1), float(np.finfo(float).tiny))

    def _weighted(self) -> list[np.ndarray]:
        """Residuals over their noise by segment and observation, zero where none was measured."""
        return [
            np.nan_to_num(residual / observation.sigma)
            for segment, residuals in zip(
                self.problem.segments, self.found.residuals, strict=True)
            for observation, residual in zip(segment.observations, residuals, strict=True)]


def _linear_gain(
    information: np.ndarray, slope: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> float:
    r"""Largest decrease of a sum of squares by steps d within bounds: of d'Id + 2 g'd from zero.

    Args:
        information: I, half of its second derivative, shape ``(k, k)``.
        slope: g, half of its first, shape ``(k,)``.
        lower: Least steps, at most zero, shape ``(k,)``.
        upper: Largest steps, at least zero, shape ``(k,)``.
    """
    # In units in which each parameter alone is known to one; a shape may not show yet at all.
    units = np.sqrt(np.diagonal(information))
    shown = np.flatnonzero(units > 0.0)
    units = units[shown]
    correlation = information[np.ix_(shown, shown)] / np.outer(units, units)
    sizes, ways = np.linalg.eigh(correlation)
    known = sizes > _KNOWN * sizes[-1:]
    roots, along = np.sqrt(sizes[known]), ways[:, known].T
    target = -(along @ (slope[shown] / units)) / roots
    matrix = roots[:, None] * along
    step = lsq_linear(matrix, target, (
        np.minimum(lower[shown] * units, 0.0), np.maximum(upper[shown] * units, 0.0)),
        method='bvls').x
    left = matrix @ step - target
    return float(target @ target - left @ left)


def _by_chance(parameters: int) -> float:
    """Likelihood ratio that so many parameters exceed by chance once in twenty times."""
    return float(chdtri(parameters, _CHANCE))


def _middle(measured: Measurements, stop: float) -> tuple[float, float]:
    """The part of each recording that is looked at, as fractions of it."""
    longest = max(part.recording.duration for part in measured.parts)
    share = min(stop, _ENOUGH / (longest * len(measured.parts)))
    return 0.5 * (stop - share), 0.5 * (stop + share)
