"""What is watched while a motion is played, and before: reasons to stop, and not to start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from sysid_ros.errors import ConfigurationError
from sysid_ros.excitation.playback.playback import Setpoint
from sysid_ros.excitation.safety.limit_monitor import LimitMonitor, MonitorSettings, braking_range
from sysid_ros.excitation.safety.limits import MotionLimits
from sysid_ros.excitation.safety.loop_guard import LoopGuard

# Joint states may be late by so many of their periods.
_PERIODS = 5.0
# Part of the velocity limit above which a joint is told to move.
_MOVING = 1e-3


@dataclass(frozen=True, eq=False)
class Observation:
    """Joint states of a robot as observed at an instant.

    Attributes:
        q: Measured positions in [rad] or [m], shape ``(n,)``; NaN where they are not known.
        v: Measured velocities in [rad/s] or [m/s], shape ``(n,)``; NaN if unknown.
        effort: Measured torques or forces in [N·m] or [N], shape ``(n,)``; NaN if unknown.
        age: Time since the joint states were received in [s]; infinite before the first.
        rate: Joint states per second in [Hz]; NaN where it is not known.
        missing: Joints that were never heard of.
        bad_in_a_row: Joint states without a finite position since the last good one.
        lost_efforts: Joints that gave an effort and do not now, with their joint states since the
            last one.
        stuck: Joints whose position stopped dead in mid-motion.
        clock_resets: How often the clock of the joint states jumped back.
        publishers: How many publishers the joint states have.
        unheard: Why joint states are not received although they are published; empty when they
            are.
        monitor_silence: Time since the monitor's last sign of life in [s]; infinite before the
            first.
        monitor_fault: What the monitor has found; empty when all is well.
        late: Time by which this tick is late in [s].
    """

    q: np.ndarray
    v: np.ndarray
    effort: np.ndarray
    age: float
    rate: float = np.nan
    missing: tuple[str, ...] = ()
    bad_in_a_row: int = 0
    lost_efforts: Mapping[str, int] = field(default_factory=dict)
    stuck: tuple[str, ...] = ()
    clock_resets: int = 0
    publishers: int = 1
    unheard: str = ''
    monitor_silence: float = 0.0
    monitor_fault: str = ''
    late: float = 0.0


@dataclass(frozen=True)
class PlaybackTolerances:
    """Tolerances of a motion that is played.

    Attributes:
        tracking_error: Largest distance from the command in [rad] or [m].
        state_timeout: Longest time without joint states in [s]; five of their periods if that is
            longer.
        heartbeat_timeout: Longest silence of the monitor in [s].
        overrun: Longest time by which a tick may be late in [s].
        bad_in_a_row: Most joint states without a finite position, one after another.
        reaction_time: Time from a finding until the robot brakes in [s].
        over: Part by which velocity and effort may exceed their limits; sensors are noisy.

    Raises:
        ConfigurationError: A value is not a number above zero.
    """

    tracking_error: float = 0.1
    state_timeout: float = 0.1
    heartbeat_timeout: float = 0.2
    overrun: float = 0.05
    bad_in_a_row: int = 5
    reaction_time: float = 0.05
    over: float = 0.05

    def __post_init__(self) -> None:
        for name in ('heartbeat_timeout', 'overrun', 'bad_in_a_row'):
            if not 0.0 < getattr(self, name) < np.inf:
                raise ConfigurationError(
                    'cannot be used', where=f'tolerances: {name}', found=getattr(self, name),
                    allowed='a number above 0',
                    fix='Leave it out for its default',
                )
        self.limits(np.nan)

    def limits(self, rate: float) -> MonitorSettings:
        """Those of a monitor of limits, for joint states at so many per second."""
        timeout = self.state_timeout if np.isnan(rate) else max(self.state_timeout, _PERIODS / rate)
        return MonitorSettings(self.reaction_time, self.tracking_error, timeout, self.over)


class PlaybackChecks:
    """Checks of a robot before and while a motion is played.

    Args:
        limits: The robot's limits.
        joint_types: Type of each joint, for units in messages.
        settings: What is tolerated.
        loops: What closed loops add; None for a robot without.
    """

    def __init__(
        self, limits: MotionLimits, joint_types: tuple[str, ...],
        settings: PlaybackTolerances | None = None, loops: LoopGuard | None = None,
    ) -> None:
        self._limits, self._joint_types, self._loops = limits, joint_types, loops
        self.settings = settings or PlaybackTolerances()
        self._clock_resets = 0
        self._still: frozenset[str] = frozenset()
        self._monitor = self._limit_monitor(np.nan)

    def absent(self, seen: Observation) -> tuple[str, ...]:
        """Missing requirements of a start, one sentence each."""
        if seen.missing:
            heard = seen.unheard or f'No joint state names {", ".join(seen.missing)}.'
            return (heard,)
        return (*self._monitor_lost(seen), *self._states_lost(seen))

    def forbids(self, seen: Observation) -> tuple[str, ...]:
        """Reasons why a start is unsafe, one sentence each."""
        return (
            *self._publishers(seen), *self._unreadable(seen),
            *self._limit_monitor(seen.rate).findings(seen.q, seen.v, age=seen.age),
        )

    def begin(self, seen: Observation) -> None:
        """Remember what holds when a motion begins."""
        self._clock_resets = seen.clock_resets
        # A joint that stopped dead in the motion before has not moved since.
        self._still = frozenset(seen.stuck)
        self._monitor = self._limit_monitor(seen.rate)

    def findings(self, seen: Observation, point: Setpoint) -> tuple[str, ...]:
        """Reasons to stop a motion, one sentence each; empty when all is well.

        Args:
            seen: What is known now.
            point: What the robot was told.
        """
        reset = seen.clock_resets > self._clock_resets
        return (
            *self._monitor_lost(seen), *self._publishers(seen), *self._unreadable(seen),
            *self._stuck(seen, point), *self._overrun(seen),
            *(['The clock of the joint states jumped back.'] if reset else []),
            *self._monitor.findings(
                seen.q, seen.v, a=point.a, effort=seen.effort, commanded=point.q, age=seen.age),
        )

    def margin(self, seen: Observation, a: np.ndarray) -> float:
        """Smallest way left to a position limit after braking, in parts of the joint's range.

        Args:
            seen: What is known now.
            a: Planned accelerations in [rad/s²] or [m/s²], shape ``(n,)``.
        """
        limits = self._limits
        low, high = braking_range(limits, seen.v, a, self.settings.reaction_time)
        left = np.minimum(seen.q + low - limits.lower, limits.upper - seen.q - high)
        part = left / (2.0 * limits.reach)
        return float(np.min(part, initial=1.0))

    def _limit_monitor(self, rate: float) -> LimitMonitor:
        return LimitMonitor(
            self._limits, self._joint_types, self.settings.limits(rate), self._loops)

    def _monitor_lost(self, seen: Observation) -> tuple[str, ...]:
        silence, longest = seen.monitor_silence, self.settings.heartbeat_timeout
        if not silence <= longest:
            heard = f'silent for {silence:.3g} s' if np.isfinite(silence) else 'not there'
            return (f'The monitor is {heard}; {longest:.3g} s is allowed (heartbeat_timeout).',)
        return (f'The monitor forbids motion: {seen.monitor_fault}',) if seen.monitor_fault else ()

    def _states_lost(self, seen: Observation) -> tuple[str, ...]:
        longest = self.settings.limits(seen.rate).state_timeout
        if seen.age <= longest:
            return ()
        return (
            f'The last joint state is {seen.age:.3g} s old; {longest:.3g} s is allowed '
            '(state_timeout).',)

    def _overrun(self, seen: Observation) -> tuple[str, ...]:
        if seen.late <= self.settings.overrun:
            return ()
        return (
            f'A tick was late by {seen.late:.3g} s; {self.settings.overrun:.3g} s is allowed '
            '(overrun).',)

    def _publishers(self, seen: Observation) -> tuple[str, ...]:
        if seen.publishers <= 1:
            return ()
        return (f'{seen.publishers} publishers send joint states; one is allowed.',)

    def _unreadable(self, seen: Observation) -> tuple[str, ...]:
        bad, most = seen.bad_in_a_row, self.settings.bad_in_a_row
        return (f'{bad} joint states in a row have no finite position.',) if bad > most else ()

    def _stuck(self, seen: Observation, point: Setpoint) -> list[str]:
        """Joints that are told to move, and whose position stopped since the motion began."""
        self._still &= frozenset(seen.stuck)
        told = np.abs(point.v) > _MOVING * self._limits.velocity
        moving = {
            name for name, moves in zip(self._limits.joint_names, told, strict=True) if moves}
        return [f'The position of {name} is stuck.' for name in seen.stuck
                if name in moving - self._still]
