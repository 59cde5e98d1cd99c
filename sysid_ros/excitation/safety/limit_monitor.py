"""Is a moving robot still able to stop within its limits, and does it do what it was told?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_ros.errors import ConfigurationError
from sysid_ros.excitation.design.constraints import ANGULAR_UNITS, LINEAR_UNITS
from sysid_ros.excitation.safety.braking import BrakingPhases
from sysid_ros.excitation.safety.limits import MotionLimits
from sysid_ros.excitation.safety.loop_guard import LoopGuard


def braking_range(
    limits: MotionLimits, v: np.ndarray, a: np.ndarray, reaction_time: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """How far joints still move, both ways, until they can be at rest.

    For the reaction time they go on as they are, then they brake as fast as they can; see
    :mod:`sysid_ros.excitation.safety.braking`.

    Args:
        limits: Limits of the joints; ``acceleration`` and ``jerk`` count here.
        v: Velocities in [rad/s] or [m/s], shape ``(..., n)``.
        a: Accelerations in [rad/s²] or [m/s²], shape ``(..., n)``; when braking begins they
            count up to their limits.
        reaction_time: Time until braking begins in [s].

    Returns:
        Displacement to the lowest and to the highest position on the way, at most and at
        least zero, in [rad] or [m], shape ``(..., n)`` each.
    """
    low, high, coasted = _coasting(v, a, reaction_time)
    v, jerk = v + a * reaction_time, limits.jerk
    phases = BrakingPhases.of(limits, v, a)
    v, a, peak, onset, held = phases.sign * v, phases.a, phases.peak, phases.onset, phases.held
    after = v + 0.5 * (a**2 - peak**2) / jerk
    distance = v * onset + 0.5 * a * onset**2 - jerk * onset**3 / 6.0
    distance += after * held - 0.5 * peak * held**2
    distance += jerk * phases.release**3 / 6.0
    # A velocity against the turned sign is first braked to zero, and that far it goes back.
    turn = (a - np.sqrt(np.maximum(a**2 + 2.0 * jerk * v, 0.0))) / jerk
    back = np.where(v < 0.0, v * turn + 0.5 * a * turn**2 - jerk * turn**3 / 6.0, 0.0)
    ends = coasted + phases.sign * np.array([distance, back])
    return np.minimum(low, ends.min(axis=0)), np.maximum(high, ends.max(axis=0))


def _coasting(
    v: np.ndarray, a: np.ndarray, time: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Lowest, highest and last displacement under constant acceleration."""
    last = v * time + 0.5 * a * time**2
    turns = (v * a < 0.0) & (np.abs(v) < np.abs(a) * time)
    extreme = np.where(turns, -0.5 * v**2 / np.where(turns, a, 1.0), 0.0)
    return (
        np.minimum(np.minimum(last, extreme), 0.0), np.maximum(np.maximum(last, extreme), 0.0),
        last,
    )


@dataclass(frozen=True)
class MonitorSettings:
    """Margins of a limit monitor.

    Attributes:
        reaction_time: Time from a finding until the robot brakes in [s].
        tracking_error: Largest distance from the commanded position in [rad] or [m].
        state_timeout: Longest time without a joint state in [s].
        over: Part by which velocity and effort may exceed their limits; sensors are noisy.

    Raises:
        ConfigurationError: A value is not a finite number above zero (zero or above for
            ``reaction_time`` and ``over``).
    """

    reaction_time: float = 0.05
    tracking_error: float = 0.1
    state_timeout: float = 0.1
    over: float = 0.05

    def __post_init__(self) -> None:
        for name in ('reaction_time', 'tracking_error', 'state_timeout', 'over'):
            value, zero = getattr(self, name), name in ('reaction_time', 'over')
            if not (0.0 <= value < np.inf and (zero or value > 0.0)):
                raise ConfigurationError(
                    'cannot be used', where=f'monitor: {name}', found=value,
                    allowed='a number, zero or more' if zero else 'a number above 0',
                    fix='Leave it out for its default',
                )


@dataclass(frozen=True, eq=False)
class LimitMonitor:
    """Watches joint states against limits, with the way that braking still takes.

    While a motion is played, give the accelerations that are planned: a joint that is about to
    turn round by plan would otherwise be expected to go on, and stopped near its end.

    Attributes:
        limits: The robot's limits; tolerances are those of the settings.
        joint_types: Type of each joint, for units in messages.
        settings: What it tolerates.
        loops: What closed loops add; None for a robot without.

    Raises:
        ConfigurationError: There is no limit to brake by.
    """

    limits: MotionLimits
    joint_types: tuple[str, ...]
    settings: MonitorSettings = MonitorSettings()
    loops: LoopGuard | None = None

    def __post_init__(self) -> None:
        for name in ('acceleration', 'jerk'):
            values = getattr(self.limits, name)
            if not np.isfinite(values).all():
                raise ConfigurationError(
                    'braking needs a limit', where=f'monitor: {name}', found=values.tolist(),
                    allowed='finite numbers',
                    fix='Give every joint one, as limits: {joint_1: {acceleration: 5.0, jerk: '
                    '100.0}}',
                )

    def findings(
        self, q: np.ndarray, v: np.ndarray, *, a: np.ndarray | None = None,
        effort: np.ndarray | None = None, commanded: np.ndarray | None = None, age: float = 0.0,
    ) -> tuple[str, ...]:
        """Reasons to stop now, one sentence each; empty when all is well.

        Args:
            q: Measured positions in [rad] or [m], shape ``(n,)``.
            v: Measured velocities in [rad/s] or [m/s], shape ``(n,)``.
            a: Planned accelerations, shape ``(n,)``; none where no motion is played.
            effort: Measured torques or forces in [N·m] or [N]; NaN at joints that have none.
            commanded: Commanded positions, while a motion is played.
            age: Time since the state was measured in [s].
        """
        # Written so that a NaN is stale: it is within no limits. A state of the future is one
        # of another clock.
        if not abs(age) <= self.settings.state_timeout:
            return (
                f'The last joint state is {age:.3g} s old; '
                f'{self.settings.state_timeout:.3g} s is allowed (state_timeout).',
            )
        a = np.zeros_like(v) if a is None else a
        known = None if effort is None else np.where(np.isnan(effort), 0.0, effort)
        measured = {'position': q, 'velocity': v, 'acceleration': a, 'effort': known,
                    'command': commanded}
        broken = [
            f'The {name} of {joint} is not finite.'
            for name, values in measured.items() if values is not None
            for joint, value in zip(self.limits.joint_names, values, strict=True)
            if not np.isfinite(value)
        ]
        if broken:
            return tuple(broken)
        closed = () if self.loops is None else self.loops.findings(
            q, v, a, reaction_time=self.settings.reaction_time, over=self.settings.over)
        return (
            *self._cannot_stop(q, v, a), *closed, *self._too_much('velocity', 1, v),
            *([] if effort is None else self._too_much('effort', 4, effort)),
            *([] if commanded is None else self._astray(q, commanded)),
        )

    def _cannot_stop(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> list[str]:
        low, high = braking_range(self.limits, v, a, self.settings.reaction_time)
        findings = []
        for k, name in enumerate(self.limits.joint_names):
            lowest, highest = q[k] + low[k], q[k] + high[k]
            for reach, bound, kept in (
                (lowest, self.limits.lower[k], lowest >= self.limits.lower[k]),
                (highest, self.limits.upper[k], highest <= self.limits.upper[k]),
            ):
                if not kept:
                    findings.append(
                        f'{name} at {q[k]:.4g} {self._unit(k, 0)} cannot stop before '
                        f'{reach:.4g} {self._unit(k, 0)}; its limit is {bound:.4g}.'
                    )
        return findings

    def _too_much(self, quantity: str, index: int, values: np.ndarray) -> list[str]:
        limit = getattr(self.limits, quantity)
        allowed = (1.0 + self.settings.over) * limit
        return [
            f'The {quantity} of {self.limits.joint_names[k]} is {values[k]:.4g} '
            f'{self._unit(k, index)}; its limit is {limit[k]:.4g}, of which a part of '
            f'{self.settings.over:.3g} more is allowed (over).'
            for k in np.flatnonzero(np.abs(values) > allowed).tolist()
        ]

    def _astray(self, q: np.ndarray, commanded: np.ndarray) -> list[str]:
        error = np.abs(q - commanded)
        return [
            f'{self.limits.joint_names[k]} is {error[k]:.3g} {self._unit(k, 0)} away from its '
            f'command; {self.settings.tracking_error:.3g} is allowed (tracking_error).'
            for k in np.flatnonzero(error > self.settings.tracking_error).tolist()
        ]

    def _unit(self, joint: int, quantity: int) -> str:
        units = LINEAR_UNITS if self.joint_types[joint] == 'prismatic' else ANGULAR_UNITS
        return units[quantity]
