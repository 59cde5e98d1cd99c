r"""Covariance of fitted directions under torque noise of any stationary colour.

The sandwich :math:`H^{-1} B H^{-1}` needs :math:`B = \sum_j \Gamma_j^T R_j \Gamma_j` with
the covariance :math:`R_j` of the noise in all rows of joint j. In the frequency domain that is
the spectrum of the noise, weighed by that of the rows: noise counts where the motion is.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
import scipy.fft

from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.numerics.forked import Arrays, forked_map, processors
from sysid_ros.numerics.noise import (
    Autoregression,
    products_by_lag,
    squared_spectrum,
    thinning,
)

# Rounds of putting back what the fit took out of the residuals, and the change that ends them.
# Each leaves but the part that the fit has of a band, some tenths.
_ROUNDS, _SETTLED = 10, 1e-3
# What the fit leaves of a frequency, at least, as a part of the noise there.
_LEFT = 1e-3
# Bytes of a joint's spectra that are kept; larger ones are made again when they are needed.
_KEPT = 16_000_000
# Bytes of numbers that are worked on at once beside a joint's spectra.
_BLOCK = 16_000_000


def noise_information(
    problem: RegressionProblem, theta: np.ndarray, sigma: np.ndarray, columns: np.ndarray,
    inverse: np.ndarray, regressor: np.ndarray | None = None,
) -> np.ndarray:
    r"""The middle B of the sandwich.

    A fit takes noise out of the residuals, and most of it at the frequencies of the motion,
    where it matters. So the spectra of the noise and of the fit's error are found in turns, by
    expectation maximisation: the noise that the residuals should show for a spectrum
    corrects that spectrum.

    Args:
        problem: Rows and torques.
        theta: Fitted values, shape ``(p,)``.
        sigma: Torque noise per joint that weighted the rows, shape ``(n,)``.
        columns: Fitted directions of the base parameters, shape ``(r, k)``.
        inverse: Inverse of the objective's Hessian in them, shape ``(k, k)``.
        regressor: Rows that the noise is weighed with, shape ``(T, n, p)``; those of the
            problem where left out. Residuals are always the problem's.

    Returns:
        Shape ``(k, k)``.

    References:
        White 1980; Andrews 1991; Dempster, Laird and Rubin 1977.
    """
    residual = problem.residuals(theta) / sigma
    regressor = problem.regressor if regressor is None else regressor
    joints = []
    for column in np.flatnonzero(np.any(residual != 0.0, axis=0)).tolist():
        directions = partial(_rows, problem, regressor, column, columns / sigma[column])
        joints.append(_JointSpectra.of(
            directions, columns.shape[1], residual[:, column], problem.usable[:, column]))
    information, found, error = np.zeros_like(inverse), list[Arrays](), inverse
    for _ in range(_ROUNDS):
        found = _spectra(joints, found, error)
        before, information = information, sum(
            (own[-1] for own in found), start=np.zeros_like(inverse))
        if np.linalg.norm(information - before) <= _SETTLED * np.linalg.norm(information):
            break
        error = inverse @ information @ inverse
    return information


def _spectra(
    joints: Sequence[_JointSpectra], before: Sequence[Arrays], error: np.ndarray
) -> list[Arrays]:
    """One round of expectation maximisation, for each joint.

    Args:
        joints: The joints.
        before: What the round before gave; nothing to begin.
        error: Covariance of the fitted directions ``(k, k)``; to begin, that of white noise.

    Returns:
        For each joint the spectrum of its noise ``(F,)``, the part of each frequency that the fit
        takes out ``(F,)``, and the rows weighed by the noise ``(k, k)``.
    """

    def of_joint(number: int) -> Arrays:
        joint = joints[number]
        # The rows are transformed once a round, for all that is made of them.
        rows = joint.transform()
        form = _form(rows, error)
        if not before:
            noise, taken = joint.noise(joint.power), form / joint.pairs[0]
        else:
            noise, taken, _ = before[number]
            noise = joint.noise(joint.expected_power(noise, taken, form))
        return noise, taken, joint.weighted(rows, noise)

    # Spectra that are kept would be lost with a fork.
    if all(joint.cached for joint in joints):
        return [of_joint(number) for number in range(len(joints))]
    return forked_map(of_joint, len(joints))


@dataclass(frozen=True, eq=False)
class _JointSpectra:
    """Rows and residuals of one joint by frequency.

    Attributes:
        frequencies: Up to the last one of the noise, in cycles per row, shape ``(F,)``.
        transform: Gives the spectrum of the rows there, shape ``(F, k)``.
        weights: Share of each of these frequencies in a sum over all, shape ``(F,)``.
        power: Squared spectrum of the residuals over all frequencies, shape ``(L / 2 + 1,)``.
        pairs: Usable pairs of rows by lag, shape ``(T,)``.
        stride: Rows from one value of the noise's autoregression to the next.
        cached: Whether the spectrum of the rows is made but once.
    """

    frequencies: np.ndarray
    transform: Callable[[], np.ndarray]
    weights: np.ndarray
    power: np.ndarray
    pairs: np.ndarray
    stride: int
    cached: bool

    @classmethod
    def of(
        cls, rows: Callable[[], np.ndarray], width: int, residual: np.ndarray, usable: np.ndarray
    ) -> _JointSpectra:
        """Spectra of a joint's residuals ``(T,)`` and usable rows, at thinned frequencies."""
        samples, power = len(residual), squared_spectrum(residual)
        length = 2 * (len(power) - 1)
        pairs = products_by_lag(squared_spectrum(usable.astype(float)), samples)
        pairs = np.maximum(np.round(pairs), 1.0)
        stride = thinning(products_by_lag(power, samples) / pairs)
        frequencies = np.arange(length // 2 // stride + 1) / length
        # Those between zero and half the rate stand for their negatives, too.
        weights = np.where((frequencies > 0.0) & (frequencies < 0.5), 2.0, 1.0) / length

        cached = 16 * len(frequencies) * width <= _KEPT
        # Long ones are worth the other processors, too, where no forks use them; threads of the
        # transform would stay, and keep this process from being forked.
        workers = 1 if cached or processors() > 1 else len(os.sched_getaffinity(0))

        def transform() -> np.ndarray:
            signals = rows().T
            spectra = np.empty((width, len(frequencies)), dtype=complex)
            # Some at a time: zeros behind them, and frequencies that are left out, take memory.
            for some in _blocks(width, 8 * length):
                spectra[some] = scipy.fft.rfft(
                    signals[some], length, workers=workers)[:, :len(frequencies)]
            return spectra.T

        return cls(
            frequencies, cache(transform) if cached else transform, weights, power, pairs, stride,
            cached)

    def noise(self, power: np.ndarray) -> np.ndarray:
        """Spectrum of the noise whose rows have a squared spectrum, shape ``(F,)``."""
        samples = len(self.pairs)
        model = Autoregression.of(
            products_by_lag(power, samples) / self.pairs, self.pairs, self.stride)
        return model.spectrum(self.frequencies)

    def weighted(self, rows: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """Rows times the noise's covariance times rows, shape ``(k, k)``.

        Args:
            rows: Their spectrum, shape ``(F, k)``.
            noise: Spectrum of the noise, shape ``(F,)``.
        """
        roots = np.sqrt(noise * self.weights)
        total = np.zeros((rows.shape[1],) * 2)
        for some in _blocks(len(rows), rows.itemsize * rows.shape[1]):
            part = rows[some] * roots[some, None]
            total += part.real.T @ part.real + part.imag.T @ part.imag
        return total

    def expected_power(
        self, noise: np.ndarray, taken: np.ndarray, error: np.ndarray
    ) -> np.ndarray:
        """Squared spectrum of the noise, given the residuals and what the fit does to them.

        Args:
            noise: Spectrum that the noise is taken to have, shape ``(F,)``.
            taken: Part of each frequency that the fit takes out, shape ``(F,)``.
            error: What the error of the fit makes of each frequency, shape ``(F,)``.
        """
        rows = self.pairs[0]
        # Covariance of noise and residual, and variance of the residual.
        shared = noise * np.maximum(1.0 - taken, _LEFT)
        residual = np.maximum(noise * (1.0 - 2.0 * taken) + error / rows, shared)
        gain = shared / residual
        power = self.power.copy()
        count = len(noise)
        power[:count] = gain**2 * power[:count] + rows * (noise - gain * shared)
        return power


def _form(rows: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """The quadratic form of each frequency's row ``(F, k)``, shape ``(F,)``."""
    form = np.empty(len(rows))
    for some in _blocks(len(rows), rows.itemsize * rows.shape[1]):
        real, imaginary = rows[some].real, rows[some].imag
        form[some] = np.sum(real @ matrix * real, axis=1) + np.sum(
            imaginary @ matrix * imaginary, axis=1)
    return form


def _blocks(count: int, size: int) -> Iterator[slice]:
    """Slices of as many rows as fit into :data:`_BLOCK`, of so many bytes each."""
    together = max(_BLOCK // max(size, 1), 1)
    return (slice(first, first + together) for first in range(0, count, together))


def _rows(
    problem: RegressionProblem, regressor: np.ndarray, joint: int, columns: np.ndarray
) -> np.ndarray:
    """Rows of a joint in the fitted directions, zero where not usable, shape ``(T, k)``."""
    independent = problem.base.independent
    rows = np.empty((len(regressor), columns.shape[1]))
    # Those of all base parameters at once would need as much memory again.
    for some in _blocks(len(rows), 8 * len(independent)):
        rows[some] = regressor[some, joint, independent] @ columns
    rows *= problem.usable[:, joint, None]
    return rows
