r"""What one joint is told by messages that come one after the other, as a controller plays them.

Points of a trajectory are at times of their own, maybe later than the message. As
``joint_trajectory_controller`` does it, a new message ends the trajectory before it, and leads from
what that told last to its own first point; between two points go polynomials in
:math:`s = (t - t_0) / (t_1 - t_0)`: straight lines, cubic ones where both points have velocities,
quintic ones where both have accelerations, too.
"""

from __future__ import annotations

import functools
import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

# Columns of the points of a trajectory: time, and three derivatives of the command.
_T, _DERIVATIVES = 0, 3
# Beginnings and times of points that are nearer in [s] are the same.
_SAME = 1e-9


@dataclass
class JointPlayback:
    """Commands of one joint, each held until the next.

    Attributes:
        period: Time from sample to sample of a trajectory that is played, in [s].
        last: Time in [s] after which nothing is sampled; nor is before 0, but for what holds then.
        t: When the commands were given, in [s], strictly increasing.
        values: What was commanded.
    """

    period: float
    last: float
    t: array[float] = field(default_factory=lambda: array('d'))
    values: array[float] = field(default_factory=lambda: array('d'))

    def __post_init__(self) -> None:
        self._playing: np.ndarray | None = None

    def hold(self, t: float, value: float) -> None:
        """Take a command that holds from a time on, in place of what was to come.

        Args:
            t: The time in [s], not before that of the message before.
            value: The command.
        """
        self._end(t)
        self._playing = None
        self.t.append(t)
        self.values.append(value)

    def play(self, begin: float, points: np.ndarray) -> None:
        """Take a trajectory, in place of what was to come.

        Args:
            begin: From when on it counts in [s], not before the message before.
            points: Time in [s], position, velocity and acceleration of each point, in the order
                of time, shape ``(K, 4)``; NaN for what a point does not have.
        """
        before = self._state(begin)
        if before is not None and points[0, _T] > begin + _SAME:
            points = np.vstack([(begin, *before), points])
        passed = int(np.sum(points[:, _T] <= begin + _SAME))
        points = points[max(passed - 1, 0):]
        start, last = max(begin, points[0, _T]), points[-1, _T]
        if last <= start + _SAME:
            self.hold(start, float(points[-1, 1]))
            return
        self._end(start)
        self._playing = points
        at = self._sampled(start, last)
        self.t.extend(at.tolist())
        self.values.extend(_along(points, at)[:, 0].tolist())

    def step_through(self, begin: float, points: np.ndarray) -> None:
        """Take a trajectory whose points hold, each until the next, in place of what was to come.

        Args:
            begin: From when on it counts in [s], not before the message before.
            points: Time in [s] and command of each point, in the order of time, ``(K, 2)``.
        """
        passed = int(np.sum(points[:, _T] <= begin + _SAME))
        self._end(begin)
        self._playing = None
        for t, value in points[max(passed - 1, 0):].tolist():
            self.t.append(max(t, begin))
            self.values.append(value)

    def stop(self, t: float) -> None:
        """Hold from a time in [s] on what is commanded then."""
        before = self._state(t)
        if before is not None:
            self.hold(t, before[0])

    def _sampled(self, start: float, stop: float) -> np.ndarray:
        """Times at which a trajectory is sampled, one at least; messages name any, maybe far ones.

        Args:
            start: Its first time in [s].
            stop: Its last one, which is sampled, too.
        """
        count = math.ceil((stop - _SAME - start) / self.period)
        first = min(max(math.floor(-start / self.period), 0), count)
        end = max(math.ceil((self.last - start) / self.period), first) + 1
        at = start + self.period * np.arange(first, min(end, count))
        return at if end < count else np.append(at, stop)

    def _end(self, t: float) -> None:
        """Forget what was to come from a time on."""
        while self.t and self.t[-1] >= t - _SAME:
            self.t.pop()
            self.values.pop()

    def _state(self, t: float) -> tuple[float, float, float] | None:
        """What is commanded at a time, with two derivatives; None before the first command."""
        if self._playing is not None and self._playing[0, _T] <= t < self._playing[-1, _T]:
            value, speed, acceleration = _along(self._playing, np.array([t]))[0].tolist()
            return value, speed, acceleration
        rows = np.searchsorted(np.frombuffer(self.t), t, side='right') if self.t else 0
        return (self.values[int(rows) - 1], 0.0, 0.0) if rows else None


def _along(points: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Positions, velocities and accelerations of a trajectory at times within it, ``(T, 3)``."""
    row = np.clip(np.searchsorted(points[:, _T], t, side='right') - 1, 0, len(points) - 2)
    found = np.empty((len(t), _DERIVATIVES))
    for k in np.unique(row):
        length = points[k + 1, _T] - points[k, _T]
        powers = length ** np.arange(_DERIVATIVES)
        ends = points[k:k + 2, 1:] * powers
        known = int(np.isfinite(ends).all(axis=0).cumprod().sum())
        coefficients = _hermite(known) @ ends[:, :known].ravel()
        at = row == k
        s = (t[at] - points[k, _T]) / length
        for order in range(_DERIVATIVES):
            derived = np.polynomial.polynomial.polyder(coefficients, order)
            found[at, order] = np.polynomial.polynomial.polyval(s, derived) / powers[order]
    return found


@functools.cache
def _hermite(known: int) -> np.ndarray:
    """Coefficients of a polynomial on [0, 1] from its first derivatives at 0, and then at 1."""
    conditions = np.zeros((2 * known, 2 * known))
    for column in range(2 * known):
        power = np.polynomial.Polynomial.basis(column)
        for order in range(known):
            derived = power.deriv(order)
            conditions[order, column] = derived(0.0)
            conditions[known + order, column] = derived(1.0)
    return np.linalg.inv(conditions)


def joint_points(
    begin: float, seconds: Sequence[float], columns: Sequence[np.ndarray]
) -> np.ndarray:
    """Points of one joint's trajectory, in the order of time.

    Args:
        begin: Beginning of the trajectory in [s].
        seconds: Time of each point from the beginning in [s].
        columns: Command of each point, then its derivatives, NaN where there are none, ``(K,)``.

    Returns:
        Time and what is commanded, shape ``(K, 1 + len(columns))``; of points at one time the last.
    """
    points = np.column_stack([begin + np.asarray(seconds), *columns])
    points = points[np.argsort(points[:, _T], kind='stable')]
    return points[np.append(np.diff(points[:, _T]) > _SAME, True)]
