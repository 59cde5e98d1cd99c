r"""Families of motions for the parameters of drives, made of strokes from level to level.

A stroke takes a joint from one level to another: over the first and the last quarter of its time
the velocity rises and falls by quintics, in between it is constant. With the part :math:`s = t / T`
of its time T and the ramp r = 1/4

.. math:: \dot q(t) = \frac{q_1 - q_0}{(1 - r)\, T}\, \min(S(s / r),\ S((1 - s) / r)), \qquad
          S(x) = 10 x^3 - 15 x^4 + 6 x^5 \text{ up to } 1.

Both ends are at rest, without acceleration and jerk, so strokes follow one another in any order.
Triangles are strokes to and fro, of rising frequency; cruises are pairs of strokes over the same
way at speeds that differ; lifts and drops are slow strokes, holds, and fast strokes back.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from sysid_ros.errors import ConfigurationError
from sysid_ros.excitation.design.basis import (
    ORDERS,
    require_duration,
    require_frequencies,
    smooth_step,
    with_constant,
)

# Part of the time of a stroke that each of its ramps takes.
_RAMP = 0.25
#: Most triangles, speeds and lifts of a motion.
MOST_STROKES = 10_000
# Times of a lift, of each hold and of a drop whose part of the lift is one.
_LIFT, _HOLD = 1.0, 0.5


class Strokes(NamedTuple):
    """Strokes one after the other, the first from level 0.

    Attributes:
        times: Of each stroke in [s], shape ``(S,)``.
        levels: Where each ends, from -1 to 1, the last at 0, shape ``(S,)``.
    """

    times: np.ndarray
    levels: np.ndarray

    def scaled(self, duration: float) -> Strokes:
        """The same strokes in another time in [s]."""
        return Strokes(self.times * (duration / self.times.sum()), self.levels)

    def sample(self, t: np.ndarray) -> np.ndarray:
        """Position and its derivatives to the jerk at times in [s], shape ``(4, T)``."""
        ends = np.cumsum(self.times)
        index = np.minimum(np.searchsorted(ends, t, side='right'), len(ends) - 1)
        time, before = self.times[index], np.append(0.0, self.levels[:-1])
        part = np.clip(1.0 - (ends[index] - t) / time, 0.0, 1.0)
        way = self.levels[index] - before[index]
        found = way * _stroke(part) / time ** np.arange(ORDERS)[:, None]
        found[0] += before[index]
        return np.asarray(found)


class StrokeBasis(ABC):
    """Motions whose functions are strokes; a family says which, and has a duration."""

    @abstractmethod
    def strokes(self) -> tuple[Strokes, ...]:
        """The functions beside the pose, each over the whole duration."""

    @cached_property
    def _functions(self) -> tuple[Strokes, ...]:
        return self.strokes()

    @property
    def pose(self) -> np.ndarray:
        """Coefficients of a joint that rests at 1 rad or 1 m, shape ``(k,)``."""
        return np.eye(1, 1 + len(self._functions))[0]

    @property
    def highest_frequency(self) -> float:
        """One over the time of two ramps of the shortest stroke, in [Hz]."""
        return 1.0 / (2.0 * _RAMP * min(float(each.times.min()) for each in self._functions))

    def sample(self, t: np.ndarray) -> np.ndarray:
        """The functions and their derivatives, shape ``(4, T, k)``; see :class:`Basis`."""
        t = np.asarray(t, dtype=float)
        return with_constant(np.stack([each.sample(t) for each in self._functions], axis=-1))


@dataclass(frozen=True)
class TriangleBasis(StrokeBasis):
    """Triangles of one speed: to and fro over ever shorter ways, and backwards in time.

    Their frequency rises evenly, and with it the accelerations at the corners; amplitudes are as
    one over the frequency. For reversals of friction, armature, stiffness and delay of drives.

    Args:
        duration: Length in [s].
        lowest: Frequency at the beginning in [Hz].
        highest: Frequency at the end in [Hz].

    Raises:
        ConfigurationError: The duration is not above zero, the frequencies are not in order, or
            there is no time for one triangle.
    """

    duration: float
    lowest: float = 0.1
    highest: float = 1.0

    name: ClassVar[str] = 'triangle'

    def __post_init__(self) -> None:
        require_duration(self.duration)
        require_frequencies(self.lowest, self.highest)
        periods = 0.5 * (self.lowest + self.highest) * self.duration
        if not 1.0 <= periods <= MOST_STROKES:
            enough = 20.0 / (self.lowest + self.highest)
            raise ConfigurationError(
                'there is no time for one triangle, or for too many', where='motion',
                found=f'{periods:.3g} periods', allowed=f'1 to {MOST_STROKES}',
                fix=f'motion: {{family: triangle, duration: {enough:.3g}, '
                f'lowest: {self.lowest:g}, highest: {self.highest:g}}}')

    def strokes(self) -> tuple[Strokes, ...]:
        """Triangles of rising frequency, and the same from the end to the beginning."""
        count = 2 * round(0.5 * (self.lowest + self.highest) * self.duration)
        # Corners lie where a phase in half periods, which grows with the square of time, is whole;
        # so do both ends, whose strokes are half as fast.
        half, rate = 2.0 * self.lowest, (self.highest - self.lowest) / self.duration
        phase = np.arange(1, count + 1)
        whole = half * self.duration + rate * self.duration**2
        corners = self._times(phase * whole / count, half, rate)
        times = np.diff(corners, prepend=0.0)
        # Twice the frequency, and the amplitude in parts of that at the lowest.
        frequency = half + 2.0 * rate * corners
        levels = np.where(phase % 2, 1.0, -1.0) * half / frequency
        levels[-1] = 0.0
        rising = Strokes(times, levels).scaled(self.duration)
        falling = Strokes(rising.times[::-1], np.append(rising.levels[-2::-1], 0.0))
        return rising, falling

    @staticmethod
    def _times(phase: np.ndarray, half: float, rate: float) -> np.ndarray:
        """When a phase ``half t + rate t²`` is reached, without cancellation."""
        return np.asarray(2.0 * phase / (half + np.sqrt(half**2 + 4.0 * rate * phase)))


@dataclass(frozen=True)
class CruiseBasis(StrokeBasis):
    """Pairs of strokes over the same way, there and back, each pair at a constant speed of its own.

    There and back through the same positions weight takes the same torque and friction the
    opposite: half of their difference is the friction at that speed.

    Args:
        duration: Length in [s].
        speeds: Of the pairs in turn, in parts of one another.

    Raises:
        ConfigurationError: The duration or a speed is not above zero, or there is no speed.
    """

    duration: float
    speeds: tuple[float, ...] = (0.1, 0.2, 0.4, 0.7, 1.0)

    name: ClassVar[str] = 'cruise'

    def __post_init__(self) -> None:
        require_duration(self.duration)
        usable = all(0.0 < speed < np.inf for speed in self.speeds)
        if not (usable and 1 <= len(self.speeds) <= MOST_STROKES):
            raise ConfigurationError(
                'these speeds cannot be cruised at', where='motion.speeds', found=self.speeds,
                allowed=f'1 to {MOST_STROKES} numbers above 0, in parts of one another',
                fix='motion: {family: cruise, duration: 60.0, speeds: [0.1, 0.2, 0.4, 0.7, 1.0]}')

    def strokes(self) -> tuple[Strokes, ...]:
        """To one end of the way, there and back at each speed, and from that end to the middle."""
        slower = max(self.speeds) / np.array(self.speeds)
        times = np.concatenate([[1.0], np.repeat(slower, 2), [1.0]])
        levels = np.concatenate([[-1.0], np.tile([1.0, -1.0], len(slower)), [0.0]])
        return (Strokes(times, levels).scaled(self.duration),)


@dataclass(frozen=True)
class LiftAndDropBasis(StrokeBasis):
    """Slow strokes away from the pose to both sides, ever farther, held, and fast ones back.

    Where weight pulls a joint to one side the drive lifts it slowly and is driven by it fast on the
    way back, and on the other side the other way round: drive and backdrive at both speeds, and
    holds under as many loads as there are lifts. For gains, torque constants and friction of gears.

    Args:
        duration: Length in [s].
        lifts: How many to each side; each is higher than the one before.
        drop: Time of a drop in parts of that of a lift.

    Raises:
        ConfigurationError: The duration or the number of lifts is not above zero, or a drop takes
            no time or longer than a lift.
    """

    duration: float
    lifts: int = 3
    drop: float = 0.25

    name: ClassVar[str] = 'lift_and_drop'

    def __post_init__(self) -> None:
        require_duration(self.duration)
        whole = self.lifts == int(self.lifts) and 1 <= self.lifts <= MOST_STROKES
        if not (whole and 0.0 < self.drop <= 1.0):
            raise ConfigurationError(
                'these lifts and drops cannot be played', where='motion',
                found=f'lifts {self.lifts}, drop {self.drop}',
                allowed=f'a whole number from 1 to {MOST_STROKES}, and a part of a lift above 0 '
                'and up to 1',
                fix='motion: {family: lift_and_drop, duration: 30.0, lifts: 3, drop: 0.25}')

    def strokes(self) -> tuple[Strokes, ...]:
        """Of each height a lift, a hold, a drop and a hold to one side, then to the other."""
        heights = np.arange(1, self.lifts + 1) / self.lifts
        times = np.tile([_LIFT, _HOLD, self.drop, _HOLD], 2 * self.lifts)
        side = np.array([1.0, 1.0, 0.0, 0.0, -1.0, -1.0, 0.0, 0.0])
        return (Strokes(times, np.outer(heights, side).ravel()).scaled(self.duration),)


def _stroke(part: np.ndarray) -> np.ndarray:
    """Way of a stroke from 0 to 1 by the part of its time, and its derivatives, ``(4, T)``."""
    near = np.minimum(part, 1.0 - part) / _RAMP
    x, is_late = np.minimum(near, 1.0), part > 0.5
    speed, rate, second, _ = smooth_step(x)
    # The integral of the ramp, and what is cruised beyond it; the second half mirrors the first.
    way = _RAMP * (x**4 * (2.5 - 3.0 * x + x**2) + np.maximum(near - 1.0, 0.0))
    whole = 1.0 - _RAMP
    return np.array([
        np.where(is_late, whole - way, way), speed, np.where(is_late, -rate, rate) / _RAMP,
        second / _RAMP**2]) / whole
