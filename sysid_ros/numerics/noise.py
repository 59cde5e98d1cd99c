r"""Noise that is correlated in time: how much it tells, its spectrum, and what it does to a fit.

Filters, drives and quantised encoders leave noise that is anything but white. Rows that resemble
their neighbours tell less than as many independent ones, and long-run covariances say how much
less. An autoregression describes a spectrum by few numbers, which short recordings need: smoothing
a periodogram as much loses the bends of the spectrum.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.fft
import scipy.linalg

# No more coefficients than this, nor than this many rows for each.
_MOST_COEFFICIENTS = 30
_ROWS_PER_COEFFICIENT = 10
# Lags count that have at least this part of the pairs that neighbours make.
_TOLD = 0.8
# Residuals are thinned until they fill at least this part of their band.
_FILLED = 0.5
# Scores that are so much alike after a period repeat, if that is more than these many standard
# deviations of what chance does.
_ALIKE, _CHANCE = 0.3, 6.0
# Sums of products by lag below this part of the first are rounding of the transforms.
_PRODUCT_ROUNDING = 1e-14


def squared_spectrum(signal: np.ndarray) -> np.ndarray:
    """Squared Fourier spectrum of a signal with as many zeros after it, summed over its columns.

    The zeros keep products of the end with the beginning out of :func:`products_by_lag`.

    Args:
        signal: Shape ``(T,)`` or ``(T, k)``.

    Returns:
        Frequencies up to half the rate, shape ``(L / 2 + 1,)`` with ``L`` at least ``2 T``.
    """
    length = 2 * scipy.fft.next_fast_len(len(signal), real=True)
    spectrum = np.fft.rfft(signal, length, axis=0)
    power = spectrum.real**2 + spectrum.imag**2
    return np.asarray(power.reshape(len(power), -1).sum(axis=1))


def products_by_lag(power: np.ndarray, samples: int) -> np.ndarray:
    r"""Autocorrelation sums :math:`\sum_t x_t x_{t + k}` by lag k, shape ``(samples,)``.

    Args:
        power: What :func:`squared_spectrum` gives of x.
        samples: How many lags, at most the length of x.

    References:
        Wiener 1930; Khinchin 1934.
    """
    return np.fft.irfft(power)[:samples]


def correlation_time(autocovariance: np.ndarray) -> float:
    r"""How many rows tell as much as one independent row: :math:`1 + 2\sum_k \rho_k`.

    The sum ends where autocorrelations :math:`\rho_k` first cease to be positive.

    Args:
        autocovariance: At lags from 0 on, in any unit, shape ``(lags,)``.

    Returns:
        At least 1; that where there is no noise.
    """
    if not autocovariance[0] > 0.0:
        return 1.0
    rho = autocovariance / autocovariance[0]
    first_zero = int(np.argmax(rho <= 0.0)) or len(rho)
    return float(1.0 + 2.0 * rho[1:first_zero].sum())


def effective_rows(residual: np.ndarray, usable: np.ndarray) -> np.ndarray:
    r"""How many independent rows would tell as much as these correlated ones.

    Rows over their :func:`correlation_time`.

    Args:
        residual: Torque residuals, zero where not usable, shape ``(T, n)``.
        usable: Mask of the same shape.

    Returns:
        Shape ``(n,)``, at least 1.
    """
    samples = len(residual)
    effective = np.maximum(usable.sum(axis=0), 1).astype(float)
    for column, mask in enumerate(usable.T.astype(float)):
        products = products_by_lag(squared_spectrum(residual[:, column]), samples)
        pairs = np.round(products_by_lag(squared_spectrum(mask), samples))
        means = np.divide(products, pairs, out=np.zeros(samples), where=pairs > 0.0)
        effective[column] = max(effective[column] / correlation_time(means), 1.0)
    return effective


def correlated_squares(residuals: Iterable[np.ndarray]) -> tuple[float, int]:
    r"""Squares of residuals times the correlation times of their columns, and how many there are.

    Over degrees of freedom, :math:`\sum_j \tau_j \sum_t r_{tj}^2` is the variance of as many
    independent residuals that would leave parameters as open; see :func:`correlation_time`.

    Args:
        residuals: Zero where nothing was measured, of one sensor over a stretch of time each,
            shape ``(K, m)``.
    """
    total, rows = 0.0, 0
    for part in residuals:
        for column in part.T:
            squares = float(column @ column)
            rows += int(np.count_nonzero(column))
            if squares > 0.0:
                lags = products_by_lag(squared_spectrum(column), len(column))
                total += squares * correlation_time(lags)
    return total, rows


@dataclass(frozen=True, eq=False)
class Autoregression:
    r"""Noise :math:`\sum_m a_m e_{t - s m} = w_t` with white w, seen at every s-th row.

    Attributes:
        coefficients: The coefficients a, first 1, shape ``(m + 1,)``.
        variance: Variance of w.
        stride: Rows s from one to the next.
    """

    coefficients: np.ndarray
    variance: float
    stride: int

    @classmethod
    def of(cls, autocovariance: np.ndarray, pairs: np.ndarray, stride: int) -> Autoregression:
        """The autoregression with the least information criterion of Schwarz.

        Akaike's takes more coefficients, which short recordings with left-out rows do not tell:
        spectra with dips of chance made one interval in seven miss the truth. So do lags that
        left-out rows leave few pairs of: their products come from other rows than the variance,
        together they are the autocovariance of no noise at all, and the recursion takes that for
        a spectrum that is next to zero somewhere.

        Args:
            autocovariance: At lags from 0 rows on, shape ``(lags,)``, above zero at the first.
            pairs: Pairs of rows that each lag comes from, same shape.
            stride: Rows from one value of the autoregression to the next.

        References:
            Levinson 1947; Schwarz 1978.
        """
        thinned, counts = autocovariance[::stride], pairs[::stride] / stride
        coefficients, variance = np.ones(1), float(thinned[0])
        best, criterion, least = (coefficients, variance), 0.0, 0.0
        most = min(_MOST_COEFFICIENTS, int(counts[0]) // _ROWS_PER_COEFFICIENT, len(thinned) - 1)
        for order in range(1, most + 1):
            reflection = -(coefficients @ thinned[order:0:-1]) / variance
            if counts[order] < _TOLD * counts[1] or not abs(reflection) < 1.0:
                break
            coefficients = np.append(coefficients, 0.0)
            coefficients = coefficients + reflection * coefficients[::-1]
            variance *= 1.0 - reflection**2
            criterion += counts[order] * np.log(1.0 - reflection**2) + np.log(counts[0])
            if criterion < least:
                best, least = (coefficients, variance), criterion
        return cls(*best, stride)

    def spectrum(self, frequencies: np.ndarray) -> np.ndarray:
        """Density per row.

        Args:
            frequencies: In cycles per row, from 0 to 0.5 / stride.

        Returns:
            Variance times rows, same shape; white noise has its variance everywhere.
        """
        delay = np.exp(-2j * np.pi * self.stride * frequencies)
        response = np.polynomial.polynomial.polyval(delay, self.coefficients)
        return self.stride * self.variance / np.abs(response) ** 2


def thinning(autocovariance: np.ndarray) -> int:
    """How many rows apart residuals may be taken without missing any of their band.

    Rows that were low-passed far below half their rate tell the same several times, and no
    autoregression describes the empty part of their band.

    Args:
        autocovariance: At lags from 0 on, shape ``(lags,)``, above zero at the first.

    Returns:
        At least 1.
    """
    rho = autocovariance / autocovariance[0]
    lags = max(len(rho) // 4, 1)
    width = 1.0 + 2.0 * np.sum(rho[1:lags] ** 2 * (1.0 - np.arange(1, lags) / lags))
    return max(int(_FILLED * width), 1)


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
    sums = _sums_by_lag(parts)
    period = _period(parts, sums)
    if period is not None:
        parts = [_folded(part, period) for part in parts]
        sums = _sums_by_lag(parts)
    middle = np.zeros_like(information)
    for part in parts:
        middle += part.T @ part
    lags = _memory(sums)
    for lag in range(1, lags):
        for part in parts:
            products = part[lag:].T @ part[:-lag]
            middle += (1.0 - lag / lags) * (products + products.T)
    outer = scipy.linalg.cho_solve(factor, root @ middle @ root.T)
    return np.asarray(scipy.linalg.cho_solve(factor, outer.T))


def _sums_by_lag(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Sums of products of all scores with themselves by lag, shape ``(lags,)``."""
    sums = np.zeros(max(len(part) for part in parts))
    for part in parts:
        sums[:len(part)] += products_by_lag(squared_spectrum(part), len(part))
    return sums


def _memory(sums: np.ndarray) -> int:
    """Twice the first lag at which products of scores sum up to nothing, at least 1."""
    nothing = np.flatnonzero(sums[1:] <= _PRODUCT_ROUNDING * sums[0])
    return 2 * int(nothing[0]) + 1 if len(nothing) else len(sums)


def _period(parts: Sequence[np.ndarray], sums: np.ndarray) -> int | None:
    """The lag after which scores say the same once more; None where they do not.

    Only where they ceased to be correlated before, and a part of them has a second period.
    """
    lags = np.arange(len(sums))
    pairs = np.sum([np.maximum(len(part) - lags, 0) for part in parts], axis=0)
    first, last = _memory(sums), 2 * len(sums) // 3
    if last <= first or sums[0] <= 0.0:
        return None
    alike = sums / sums[0] * (pairs[0] / np.maximum(pairs, 1))
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
