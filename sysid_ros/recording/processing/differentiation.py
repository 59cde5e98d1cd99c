"""Velocities and accelerations of uniformly sampled positions."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from sysid_ros.errors import ConfigurationError, RecordingError
from sysid_ros.settings import StrictSettings

# Positions with their first and second derivative, same shape each.
Motion = tuple[np.ndarray, np.ndarray, np.ndarray]

# The second derivative of a fitted spline is noisier near its ends, at the very end 60 times
# for degree 5; so many knots per degree further in it is as noisy as anywhere between knots.
_SPLINE_EDGE = 0.6


class SavitzkyGolay(StrictSettings):
    """Local polynomials: a least-squares fit over a window that slides along.

    Position, velocity and acceleration are the value and the derivatives of the same
    polynomial at the middle of the window. Towards the ends the first and the last
    polynomial are used off their middle.

    Attributes:
        window: Length of the window in [s]; the number of samples is the nearest odd one.
        order: Order of the polynomials.
    """

    window: float = Field(default=0.1, gt=0)
    order: int = Field(default=4, ge=2, le=9)

    def half_window(self, rate: float) -> int:
        """Samples on either side of the middle one.

        Args:
            rate: Sampling rate in [Hz].
        """
        return round(self.window * rate / 2)

    def motion(self, values: np.ndarray, rate: float) -> Motion:
        """Smoothed positions of one gap-free segment, and their derivatives.

        Exact for polynomials up to ``order``, the ends included.

        Args:
            values: Positions along the first axis, shape ``(T, n)``.
            rate: Sampling rate in [Hz].

        Raises:
            ConfigurationError: The window holds too few samples for the order.
            RecordingError: The segment is shorter than the window.

        References:
            Savitzky and Golay 1964.
        """
        length = 2 * self.half_window(rate) + 1
        if length <= self.order:
            raise ConfigurationError(
                'the window is too short for the order', where='savitzky_golay',
                found=f'{length} samples in {self.window:g} s at {rate:.4g} Hz',
                allowed=f'more than {self.order} samples, from {(self.order + 1) / rate:.3g} s on',
                fix='Widen the window or lower the order',
            )
        _require_length(values, length, rate, 'the window')
        from scipy.signal import savgol_filter  # most of a second to import

        smooth, slope, bend = (
            savgol_filter(values, length, self.order, deriv=k, delta=1 / rate, axis=0)
            for k in range(3)
        )
        return smooth, slope, bend


class Spline(StrictSettings):
    """One least-squares B-spline through the positions of a segment.

    The spacing of its knots sets the bandwidth: about one over twice the spacing.

    Attributes:
        spacing: Time from knot to knot in [s]; it is shortened to fit the segment.
        degree: Degree of the polynomials between the knots; accelerations are continuous
            from 3 on and smooth from 4 on.
    """

    spacing: float = Field(default=0.05, gt=0)
    degree: int = Field(default=5, ge=3, le=7)

    def edge(self, rate: float) -> int:
        """Samples at either end where the derivatives are noisier than inside.

        Args:
            rate: Sampling rate in [Hz].
        """
        return round(_SPLINE_EDGE * self.degree * self.spacing * rate)

    def motion(self, values: np.ndarray, rate: float) -> Motion:
        """Smoothed positions of one gap-free segment, and their derivatives.

        Exact for polynomials up to ``degree``, the ends included.

        Args:
            values: Positions along the first axis, shape ``(T, n)``.
            rate: Sampling rate in [Hz].

        Raises:
            ConfigurationError: The knots are closer than the samples.
            RecordingError: The segment is shorter than the spline's polynomials.

        References:
            De Boor, A Practical Guide to Splines, 2001, chapter XIV.
        """
        if self.spacing * rate < 2:
            raise ConfigurationError(
                'the knots are too close for the sampling rate', where='spline.spacing',
                found=f'{self.spacing:g} s at {rate:.4g} Hz', allowed=f'at least {2 / rate:.3g} s',
                fix='Space the knots more widely, or use central differences',
            )
        _require_length(values, 2 * (self.degree + 1), rate, 'the spline')
        last = len(values) - 1
        # In samples rather than seconds, which keeps the equations well scaled.
        pieces = int(np.ceil(last / (self.spacing * rate)))
        inner = np.linspace(0.0, last, pieces + 1)[1:-1]
        knots = np.concatenate([
            np.zeros(self.degree + 1), inner, np.full(self.degree + 1, float(last)),
        ])
        from scipy.interpolate import make_lsq_spline  # slow to import

        sample = np.arange(len(values), dtype=float)
        spline = make_lsq_spline(sample, values, knots, self.degree)
        return spline(sample), spline(sample, 1) * rate, spline(sample, 2) * rate**2


def differentiate(values: np.ndarray, rate: float, accuracy: int = 2) -> np.ndarray:
    """Derivative of one gap-free segment by central differences.

    The ends use one-sided differences of the same order of accuracy, so that the
    whole segment is exact for polynomials up to that degree.

    Args:
        values: Samples along the first axis, shape ``(T, ...)``.
        rate: Sampling rate in [Hz].
        accuracy: Order of accuracy, 2 or 4.

    Returns:
        Derivative per second, same shape.

    Raises:
        ConfigurationError: Another order is asked for.
        RecordingError: The segment has fewer than ``accuracy + 1`` samples.
    """
    if accuracy not in (2, 4):
        raise ConfigurationError(
            'no such difference formula', where='accuracy', found=accuracy, allowed='2 or 4',
            fix='Write processing: {differentiation: central4}',
        )
    if len(values) <= accuracy:
        raise RecordingError(
            'a segment is too short to differentiate', found=f'{len(values)} samples',
            allowed=f'at least {accuracy + 1}',
            fix='Record longer without gaps',
        )
    if accuracy == 2:
        return np.gradient(values, 1 / rate, axis=0, edge_order=2)
    return _differentiate4(values) * rate


def _differentiate4(x: np.ndarray) -> np.ndarray:
    # Five-point formulas: central inside, skewed and one-sided at the ends.
    slope = np.empty_like(x, dtype=float)
    slope[2:-2] = (x[:-4] - 8 * x[1:-3] + 8 * x[3:-1] - x[4:]) / 12
    slope[0] = (-25 * x[0] + 48 * x[1] - 36 * x[2] + 16 * x[3] - 3 * x[4]) / 12
    slope[1] = (-3 * x[0] - 10 * x[1] + 18 * x[2] - 6 * x[3] + x[4]) / 12
    slope[-2] = (3 * x[-1] + 10 * x[-2] - 18 * x[-3] + 6 * x[-4] - x[-5]) / 12
    slope[-1] = (25 * x[-1] - 48 * x[-2] + 36 * x[-3] - 16 * x[-4] + 3 * x[-5]) / 12
    return slope


def _require_length(values: np.ndarray, least: int, rate: float, what: str) -> None:
    if len(values) < least:
        raise RecordingError(
            f'a segment is shorter than {what} of the differentiation',
            found=f'{len(values)} samples ({len(values) / rate:.3g} s)',
            allowed=f'at least {least} samples ({least / rate:.3g} s)',
            fix='Record longer without gaps, or differentiate more locally',
        )
