r"""Families of motions that begin and end at rest, linear in their coefficients.

The motion of a joint is :math:`q(t) = \sum_k c_k B_k(t)`. Every function of a family but the
constants that make up the pose has zero velocity and acceleration at both ends, so whatever the
coefficients are, so has the motion; limits of position, velocity, acceleration and jerk are
linear in the coefficients.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Protocol

import numpy as np
import scipy.linalg

from sysid_ros.errors import ConfigurationError

#: Highest harmonic, and most poses, of a motion.
MOST_HARMONICS, MOST_POSES = 10_000, 10_000
#: Derivatives that are sampled: position, velocity, acceleration and jerk.
ORDERS = 4


class Basis(Protocol):
    """A family of motions of one joint, a dataclass of numbers.

    Attributes:
        name: What the family is called in files.
    """

    name: ClassVar[str]

    @property
    def duration(self) -> float:
        """Length of the motion in [s]."""

    @property
    def pose(self) -> np.ndarray:
        """Coefficients of a joint that rests at 1 rad or 1 m, shape ``(k,)``."""

    @property
    def highest_frequency(self) -> float:
        """Highest frequency in the motion in [Hz], or about that."""

    def sample(self, t: np.ndarray) -> np.ndarray:
        """The k functions and their derivatives to the jerk at times in [s].

        Args:
            t: Times from 0 to ``duration``, shape ``(T,)``.

        Returns:
            Shape ``(4, T, k)`` in [1], [1/s], [1/s²] and [1/s³].
        """


@dataclass(frozen=True)
class FourierBasis:
    r"""Periodic motion: a pose and harmonics of one over the duration.

    Of the combinations of :math:`\cos(k \omega t)` and :math:`\sin(k \omega t)` those are kept
    whose velocity and acceleration vanish at the ends (Swevers et al. 1997 leave them free).

    Args:
        duration: Length of one period in [s].
        harmonics: Multiples of the lowest frequency that occur, at least three of them.

    Raises:
        ConfigurationError: The duration is not above zero, or the harmonics are too few, not
            positive, or repeated.
    """

    duration: float
    harmonics: tuple[int, ...] = (1, 2, 3, 4, 5)

    name: ClassVar[str] = 'fourier'

    def __post_init__(self) -> None:
        require_duration(self.duration)
        distinct = len(set(self.harmonics)) == len(self.harmonics)
        whole = all(1 <= k <= MOST_HARMONICS and k == int(k) for k in self.harmonics)
        if len(self.harmonics) < 3 or not distinct or not whole:
            raise ConfigurationError(
                'the harmonics cannot be used', where='harmonics', found=self.harmonics,
                allowed=f'three or more different whole numbers from 1 to {MOST_HARMONICS}',
                fix='Set motion: {harmonics: [1, 2, 3, 4, 5]}',
            )

    @property
    def pose(self) -> np.ndarray:
        """Coefficients of a joint that rests at 1 rad or 1 m, shape ``(k,)``."""
        return np.eye(1, 2 * len(self.harmonics) - 1)[0]

    @property
    def highest_frequency(self) -> float:
        """Frequency of the highest harmonic in [Hz]."""
        return max(self.harmonics) / self.duration

    @cached_property
    def _at_rest(self) -> np.ndarray:
        """Combinations of the 2 K cosines and sines that are at rest at t = 0, orthonormal."""
        k = np.array(self.harmonics, dtype=float)
        none = np.zeros_like(k)
        return scipy.linalg.null_space(np.array([np.append(k**2, none), np.append(none, k)]))

    def sample(self, t: np.ndarray) -> np.ndarray:
        """The functions and their derivatives, shape ``(4, T, k)``; see :class:`Basis`."""
        omega = 2.0 * np.pi * np.array(self.harmonics) / self.duration
        angle = np.asarray(t)[:, None] * omega
        cosine, sine = np.cos(angle), np.sin(angle)
        waves = np.array([
            np.hstack(pair) for pair in (
                (cosine, sine), (-omega * sine, omega * cosine),
                (-omega**2 * cosine, -omega**2 * sine), (omega**3 * sine, -omega**3 * cosine),
            )
        ])
        return with_constant(waves @ self._at_rest)


@dataclass(frozen=True)
class QuinticBasis:
    """Stops at poses of equal distance in time, joined by quintic polynomials.

    Args:
        duration: Length in [s].
        poses: Number of poses, the first and last included.

    Raises:
        ConfigurationError: The duration is not above zero, or there are fewer than two poses.
    """

    duration: float
    poses: int = 8

    name: ClassVar[str] = 'quintic'

    def __post_init__(self) -> None:
        require_duration(self.duration)
        if not 2 <= self.poses <= MOST_POSES:
            raise ConfigurationError(
                'a motion needs somewhere to go', where='poses', found=self.poses,
                allowed=f'2 to {MOST_POSES}',
                fix='Set motion: {poses: 8}',
            )

    @property
    def pose(self) -> np.ndarray:
        """Coefficients of a joint that rests at 1 rad or 1 m, shape ``(k,)``."""
        return np.ones(self.poses)

    @property
    def highest_frequency(self) -> float:
        """One over the time from pose to pose, in [Hz]."""
        return (self.poses - 1) / self.duration

    def sample(self, t: np.ndarray) -> np.ndarray:
        """The functions and their derivatives, shape ``(4, T, k)``; see :class:`Basis`."""
        step = self.duration / (self.poses - 1)
        index = np.clip((np.asarray(t) // step).astype(int), 0, self.poses - 2)
        blend = smooth_step(np.asarray(t) / step - index)
        blend /= step ** np.arange(ORDERS)[:, None]
        functions = np.zeros((ORDERS, len(t), self.poses))
        rows = np.arange(len(t))
        functions[:, rows, index] = -blend
        functions[0, rows, index] += 1.0
        functions[:, rows, index + 1] = blend
        return functions


@dataclass(frozen=True)
class ChirpBasis:
    """Sines that sweep through a band of frequencies, one upwards and one downwards.

    They grow from rest and die down to it over the first and last tenth of the time.

    Args:
        duration: Length in [s].
        lowest: Lowest frequency in [Hz].
        highest: Highest frequency in [Hz].

    Raises:
        ConfigurationError: The duration is not above zero, or the frequencies are not in order.
    """

    duration: float
    lowest: float = 0.1
    highest: float = 1.0

    name: ClassVar[str] = 'chirp'

    def __post_init__(self) -> None:
        require_duration(self.duration)
        require_frequencies(self.lowest, self.highest)

    @property
    def pose(self) -> np.ndarray:
        """Coefficients of a joint that rests at 1 rad or 1 m, shape ``(k,)``."""
        return np.eye(1, 5)[0]

    @property
    def highest_frequency(self) -> float:
        """Highest frequency in [Hz]."""
        return self.highest

    def sample(self, t: np.ndarray) -> np.ndarray:
        """The functions and their derivatives, shape ``(4, T, k)``; see :class:`Basis`."""
        t = np.asarray(t, dtype=float)
        window = _window(t, self.duration, self.duration / 10.0)
        rate = (self.highest - self.lowest) / self.duration
        waves = []
        for start, sweep in ((self.lowest, rate), (self.highest, -rate)):
            # Derivatives of the phase: angular frequency, and its constant rate.
            phase = 2.0 * np.pi * (start * t + 0.5 * sweep * t**2)
            omega, growth = 2.0 * np.pi * (start + sweep * t), 2.0 * np.pi * sweep
            waves += [_product(window, _sine(phase + shift, omega, growth))
                      for shift in (0.0, 0.5 * np.pi)]
        return with_constant(np.stack(waves, axis=-1))


def require_duration(duration: float) -> None:
    """Refuse a duration that is no positive number.

    Args:
        duration: In [s].

    Raises:
        ConfigurationError: It is none.
    """
    if not 0.0 < duration < np.inf:
        raise ConfigurationError(
            'the duration cannot be used', where='duration', found=duration,
            allowed='a number above 0, in s',
            fix='Set motion: {duration: 10.0}',
        )


def require_frequencies(lowest: float, highest: float) -> None:
    """Refuse frequencies that are not in order.

    Args:
        lowest: In [Hz].
        highest: In [Hz].

    Raises:
        ConfigurationError: They are not.
    """
    if not 0.0 < lowest < highest < np.inf:
        raise ConfigurationError(
            'the frequencies cannot be swept', where='motion', found=(lowest, highest),
            allowed='0 < lowest < highest, in Hz', fix='motion: {lowest: 0.1, highest: 1.0}')


def with_constant(functions: np.ndarray) -> np.ndarray:
    """The functions after the one that is 1 at all times.

    Args:
        functions: And their derivatives, shape ``(4, T, k)``.
    """
    constant = np.zeros((*functions.shape[:2], 1))
    constant[0] = 1.0
    return np.concatenate([constant, functions], axis=-1)


def smooth_step(s: np.ndarray) -> np.ndarray:
    """Quintic from 0 to 1 with zero velocity and acceleration at both ends, ``(4, T)``.

    Args:
        s: From 0 to 1, shape ``(T,)``.
    """
    return np.array([
        s**3 * (10.0 - 15.0 * s + 6.0 * s**2), 30.0 * s**2 * (1.0 - s) ** 2,
        60.0 * s * (1.0 - s) * (1.0 - 2.0 * s), 60.0 * (1.0 - 6.0 * s + 6.0 * s**2),
    ])


def _window(t: np.ndarray, duration: float, ramp: float) -> np.ndarray:
    """From 0 to 1 and back by quintics that take the time ``ramp`` each, ``(4, T)``."""
    nearest = np.minimum(t, duration - t)
    window = smooth_step(np.clip(nearest / ramp, 0.0, 1.0)) / ramp ** np.arange(ORDERS)[:, None]
    # On the way down, time runs backwards; between the ramps nothing changes.
    window[1::2] *= np.where(t > 0.5 * duration, -1.0, 1.0)
    window[1:, nearest >= ramp] = 0.0
    return window


def _sine(phase: np.ndarray, omega: np.ndarray, growth: float) -> np.ndarray:
    """Sine of a phase with quadratic course, and its derivatives, ``(4, T)``."""
    sine, cosine = np.sin(phase), np.cos(phase)
    return np.array([
        sine, omega * cosine, growth * cosine - omega**2 * sine,
        -3.0 * omega * growth * sine - omega**3 * cosine,
    ])


def _product(f: np.ndarray, g: np.ndarray) -> np.ndarray:
    """Derivatives of a product from those of its factors (Leibniz), ``(4, T)``."""
    return np.array([
        f[0] * g[0], f[1] * g[0] + f[0] * g[1], f[2] * g[0] + 2.0 * f[1] * g[1] + f[0] * g[2],
        f[3] * g[0] + 3.0 * f[2] * g[1] + 3.0 * f[1] * g[2] + f[0] * g[3],
    ])
