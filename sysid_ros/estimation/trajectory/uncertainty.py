r"""What trajectory data determine, and how well: ranks and covariances of free parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg

# A parameter tells nothing new when less than this part of its information is its own. It is a
# square: a ten-thousandth of its effect.
_NOTHING = 1e-8
# Scores that are so much alike after a period repeat, if that is more than these many standard
# deviations of what chance does.
_ALIKE, _CHANCE = 0.3, 6.0
# Parameters with less than this share of a combination do not belong to it.
_SHARE = 1e-3


@dataclass(frozen=True, eq=False)
class Determined:
    """Which of k parameters the data determine, if those that they do not are held.

    Attributes:
        kept: Mask of the parameters that are determined then, shape ``(k,)``.
        combinations: For each one that is held, how all parameters move together unseen, in
            their own units and with one for itself, shape ``(k - r, k)``.
    """

    kept: np.ndarray
    combinations: np.ndarray

    @property
    def held(self) -> np.ndarray:
        """Indices of those that are held, shape ``(k - r,)``."""
        return np.flatnonzero(~self.kept)

    def partners(self, combination: int, size: np.ndarray) -> np.ndarray:
        """Indices of the parameters that move together, the one that is held among them.

        Args:
            combination: Which combination.
            size: What counts as a change of each parameter, above zero, shape ``(k,)``.
        """
        moved = np.abs(self.combinations[combination]) / size
        return np.flatnonzero(moved > _SHARE * moved.max())


def determined(information: np.ndarray, order: Sequence[int]) -> Determined:
    """Find which parameters the data determine.

    Args:
        information: Of the parameters, shape ``(k, k)``.
        order: The parameters that may be kept, those first that are to be if there is a choice.

    Returns:
        The kept ones, and what moves unseen.
    """
    curvature = np.diagonal(information)
    scale = np.where(curvature > 0.0, 1.0 / np.sqrt(np.where(curvature > 0.0, curvature, 1.0)), 0.0)
    scaled = information * np.outer(scale, scale)
    kept: list[int] = []
    for index in order:
        own = scaled[index, index]
        if own > 0.0 and kept:
            shared = scaled[np.ix_(kept, [index])]
            own -= (shared.T @ np.linalg.solve(scaled[np.ix_(kept, kept)], shared)).item()
        if own > _NOTHING:
            kept.append(index)
    mask = np.zeros(len(information), dtype=bool)
    mask[kept] = True
    combinations = []
    for index in np.flatnonzero(~mask).tolist():
        moved = np.zeros(len(information))
        moved[index] = 1.0
        if kept and scale[index] > 0.0:
            found = np.linalg.solve(scaled[np.ix_(kept, kept)], scaled[kept, index])
            moved[kept] = -found * scale[kept] / scale[index]
        combinations.append(moved)
    return Determined(mask, np.reshape(combinations, (-1, len(information))))


def sandwich(
    information: np.ndarray, scores: np.ndarray, segments: Sequence[tuple[int, int]]
) -> np.ndarray:
    r"""Covariance of parameters whose residuals may be correlated from node to node.

    :math:`I^{-1} B I^{-1}` with the long-run covariance B of the scores, by Bartlett's weights
    (Newey and West 1987) up to twice the lag at which the scores cease to be correlated. Where
    motion repeats and residuals with it, as those of coarse encoders do, periods are one.

    Args:
        information: Positive definite, shape ``(r, r)``.
        scores: Gradient of the cost node by node, shape ``(N, r)``.
        segments: Half-open ranges of nodes that belong together.

    Returns:
        Shape ``(r, r)``.
    """
    factor = scipy.linalg.cho_factor(information)
    # In units of what the information alone would say.
    root = np.linalg.cholesky(information)
    white = scipy.linalg.solve_triangular(root, scores.T, lower=True).T
    parts = [white[start:stop] for start, stop in segments]
    period = _period(parts)
    if period is not None:
        parts = [_folded(part, period) for part in parts]
    middle = np.zeros_like(information)
    for part in parts:
        middle += part.T @ part
    lags = _memory(parts)
    for lag in range(1, lags):
        for part in parts:
            products = part[lag:].T @ part[:-lag]
            middle += (1.0 - lag / lags) * (products + products.T)
    outer = scipy.linalg.cho_solve(factor, root @ middle @ root.T)
    return np.asarray(scipy.linalg.cho_solve(factor, outer.T))


def _memory(parts: Sequence[np.ndarray]) -> int:
    """Twice the first lag at which products of scores sum up to nothing, at least 1."""
    longest = max(len(part) for part in parts)
    for lag in range(1, longest):
        total = sum(float(np.sum(part[lag:] * part[:-lag])) for part in parts)
        if total <= 0.0:
            return 2 * lag - 1
    return longest


def _period(parts: Sequence[np.ndarray]) -> int | None:
    """The lag after which scores say the same once more; None where they do not.

    Only where they ceased to be correlated before, and a part of them has a second period.
    """
    longest = max(len(part) for part in parts)
    products = np.zeros(longest)
    for part in parts:
        spectrum = np.fft.rfft(part, 2 * len(part), axis=0)
        power = np.sum(spectrum.real**2 + spectrum.imag**2, axis=1)
        products[:len(part)] += np.fft.irfft(power)[:len(part)]
    lags = np.arange(longest)
    pairs = np.sum([np.maximum(len(part) - lags, 0) for part in parts], axis=0)
    first, last = _memory(parts), 2 * longest // 3
    if last <= first or products[0] <= 0.0:
        return None
    alike = products / products[0] * (pairs[0] / np.maximum(pairs, 1))
    period = first + int(np.argmax(alike[first:last]))
    # Below the second, chance finds the best of so many lags.
    surely = max(_ALIKE, _CHANCE / np.sqrt(pairs[period]))
    return period if alike[period] > surely else None


def _folded(scores: np.ndarray, period: int) -> np.ndarray:
    """Scores of all periods, added up."""
    periods = -(-len(scores) // period)
    filled = np.zeros((periods * period, scores.shape[1]))
    filled[:len(scores)] = scores
    return np.asarray(filled.reshape(periods, period, -1).sum(axis=0))
