r"""Spectrum of torque noise from the residuals of a fit.

Filters, drives and quantised encoders leave noise that is anything but white. An
autoregression describes it by few numbers, which short recordings need: smoothing a
periodogram as much loses the bends of the spectrum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# No more coefficients than this, nor than this many rows for each.
_MOST_COEFFICIENTS = 30
_ROWS_PER_COEFFICIENT = 10
# Residuals are thinned until they fill at least this part of their band.
_FILLED = 0.5


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
    def of(cls, autocovariance: np.ndarray, rows: float, stride: int) -> Autoregression:
        """The autoregression with the least information criterion of Schwarz.

        Akaike's takes more coefficients, which short recordings with left-out rows do not tell:
        spectra with dips of chance made one interval in seven miss the truth.

        Args:
            autocovariance: At lags from 0 rows on, shape ``(lags,)``, above zero at the first.
            rows: Number of rows it comes from.
            stride: Rows from one value of the autoregression to the next.

        References:
            Levinson 1947; Schwarz 1978.
        """
        thinned, count = autocovariance[::stride], rows / stride
        coefficients, variance = np.ones(1), float(thinned[0])
        best, least = (coefficients, variance), count * np.log(variance)
        most = min(_MOST_COEFFICIENTS, int(count) // _ROWS_PER_COEFFICIENT, len(thinned) - 1)
        for order in range(1, most + 1):
            reflection = -(coefficients @ thinned[order:0:-1]) / variance
            if not abs(reflection) < 1.0:
                # Masked rows may leave products that belong to no noise at all.
                break
            coefficients = np.append(coefficients, 0.0)
            coefficients = coefficients + reflection * coefficients[::-1]
            variance *= 1.0 - reflection**2
            criterion = count * np.log(variance) + order * np.log(count)
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
