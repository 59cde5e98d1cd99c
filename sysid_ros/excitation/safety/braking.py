r"""Braking: every joint for itself from motion to rest, as fast as its limits allow.

From acceleration a the jerk -J leads to a deceleration A, held if need be, and +J back to none.
With the signs of :math:`v + a|a| / 2J` turned positive,

.. math:: A = \min(D, \sqrt{J v + a^2 / 2})

for a limit D of the acceleration. A joint that brakes for itself leaves the path; to stay on it,
stop along it (:mod:`sysid_ros.excitation.playback.playback`).

References:
    Kroeger and Wahl 2010 (online trajectory generation with bounded jerk).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_ros.errors import ExcitationError
from sysid_ros.excitation.excitation import Motion
from sysid_ros.excitation.safety.limits import MotionLimits


@dataclass(frozen=True, eq=False)
class BrakingPhases:
    """How joints brake: jerk to a deceleration, hold it, jerk back. Shape ``(..., n)`` each.

    Attributes:
        sign: 1 or -1: velocities and accelerations times it are those that the rest is said for.
        a: Acceleration at which braking begins, at most the limit, in [rad/s²] or [m/s²].
        peak: Deceleration that is held, zero or above.
        onset: Time until it is reached in [s].
        held: Time for which it is held.
        release: Time from it to rest.
    """

    sign: np.ndarray
    a: np.ndarray
    peak: np.ndarray
    onset: np.ndarray
    held: np.ndarray
    release: np.ndarray

    @classmethod
    def of(cls, limits: MotionLimits, v: np.ndarray, a: np.ndarray) -> BrakingPhases:
        """The shortest way to rest.

        Args:
            limits: Limits of the joints; ``acceleration`` and ``jerk`` count here.
            v: Velocities in [rad/s] or [m/s], shape ``(..., n)``.
            a: Accelerations, shape ``(..., n)``; they count up to their limits.
        """
        jerk = limits.jerk
        a = np.clip(a, -limits.acceleration, limits.acceleration)
        sign = np.where(v + a * np.abs(a) / (2.0 * jerk) < 0.0, -1.0, 1.0)
        v, a = sign * v, sign * a
        free = np.sqrt(np.maximum(jerk * v + 0.5 * a**2, 0.0))
        peak = np.minimum(limits.acceleration, free)
        after = v + 0.5 * (a**2 - peak**2) / jerk
        held = (after - 0.5 * peak**2 / jerk) / np.where(peak > 0.0, peak, 1.0)
        return cls(
            sign, a, peak, np.maximum((a + peak) / jerk, 0.0), np.maximum(held, 0.0), peak / jerk
        )

    @property
    def duration(self) -> np.ndarray:
        """Time to rest in [s], shape ``(..., n)``."""
        return self.onset + self.held + self.release


class BrakingStop:
    """A stop from the state of an instant to rest, every joint as fast as it can.

    Args:
        limits: Limits of the n joints; ``acceleration`` and ``jerk`` count here.
        q: Positions in [rad] or [m], shape ``(n,)``.
        v: Velocities in [rad/s] or [m/s], shape ``(n,)``.
        a: Accelerations in [rad/s²] or [m/s²], shape ``(n,)``; they count up to their limits.

    Raises:
        ExcitationError: A value is not finite, or a joint has no limit to brake by.
    """

    def __init__(
        self, limits: MotionLimits, q: np.ndarray, v: np.ndarray, a: np.ndarray
    ) -> None:
        for name, values in (
            ('position', q), ('velocity', v), ('acceleration', a),
            ('limit of acceleration', limits.acceleration), ('limit of jerk', limits.jerk),
        ):
            if not np.isfinite(values).all():
                raise ExcitationError(
                    f'braking needs every {name}', found=np.asarray(values).tolist(),
                    allowed='finite numbers',
                    fix='Give the missing ones, as limits: {joint_1: {acceleration: 5.0, jerk: '
                    '100.0}}',
                )
        phases = BrakingPhases.of(limits, v, a)
        jerks = phases.sign * np.array([-limits.jerk, np.zeros_like(limits.jerk), limits.jerk])
        times = np.array([phases.onset, phases.held, phases.release])
        state = np.array([q, v, phases.sign * phases.a], dtype=float)
        states = [state]
        for jerk, time in zip(jerks, times, strict=True):
            state = _after(state, jerk, time)
            states.append(state)
        # What is left by rounding.
        states[-1][1:] = 0.0
        self._knots = np.vstack([np.zeros_like(times[:1]), np.cumsum(times, axis=0)])
        self._states = np.array(states)
        self._jerks = np.vstack([jerks, np.zeros_like(jerks[:1])])

    @property
    def duration(self) -> float:
        """Time until all joints are at rest in [s]."""
        return float(self._knots[-1].max())

    @property
    def rest(self) -> np.ndarray:
        """Where the joints come to rest in [rad] or [m], shape ``(n,)``."""
        return self._states[-1, 0].copy()

    def sample(self, t: np.ndarray) -> Motion:
        """The stop at times after it began in [s], shape ``(T,)``; at rest after its end."""
        t = np.maximum(np.asarray(t, dtype=float), 0.0)
        piece = (t[:, None, None] >= self._knots[None, 1:]).sum(axis=1)
        joint = np.arange(self._knots.shape[1])
        jerk = self._jerks[piece, joint]
        state = np.moveaxis(self._states[piece, :, joint], 2, 0)
        q, v, a = _after(state, jerk, t[:, None] - self._knots[piece, joint])
        return Motion(t, q, v, a, jerk)

    def grid(self, rate: float) -> Motion:
        """The stop at even times, both ends included, at no less than ``rate`` in [Hz]."""
        count = max(int(np.ceil(self.duration * rate)), 1)
        return self.sample(np.linspace(0.0, self.duration, count + 1))


def _after(state: np.ndarray, jerk: np.ndarray, time: np.ndarray) -> np.ndarray:
    """Position, velocity and acceleration after a time of constant jerk."""
    q, v, a = state
    return np.array([
        q + time * (v + time * (0.5 * a + time * jerk / 6.0)),
        v + time * (a + 0.5 * time * jerk), a + time * jerk,
    ])
