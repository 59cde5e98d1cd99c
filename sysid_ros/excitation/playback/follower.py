"""What a controller lets the robot do: hold, follow a stream of references, brake, let go.

One state machine, without ROS. It does not go on by itself: after a stop, or when a stream of
references has broken off in motion, a new stream must begin after a silence, at rest, where the
robot is. After a stop that was asked for, or without joint states, it lets go: whoever holds the
robot without commands, its drives or brakes, does so. A robot at rest it takes hold of by itself:
at the begin, and when joint states come back.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from sysid_ros.errors import ConfigurationError, ExcitationError
from sysid_ros.excitation.safety.braking import BrakingStop
from sysid_ros.excitation.safety.limits import MotionLimits

# References slower than this, in parts of the speed limit, are at rest; so is a robot measured
# to be slower than the second.
_STILL, _SLOW = 1e-4, 2e-2
# References may come so late, in [s], that the next one is this much further on.
_BURST = 0.05
# Between two references the motion goes on, for so long in [s] at most.
_AHEAD = 0.05


class FollowerPhase(Enum):
    """Phase of a follower; the value is in words."""

    WAITING = 'waiting for joint states'
    HOLDING = 'holding the robot'
    FOLLOWING = 'following a stream of references'
    BRAKING = 'braking every joint'
    RELEASED = 'stopped: no commands until a new stream of references begins'


@dataclass(frozen=True, eq=False)
class Reference:
    """Where a robot with n joints is, or is to be, SI units.

    Attributes:
        q: Positions, shape ``(n,)``.
        v: Velocities, shape ``(n,)``.
        a: Accelerations, shape ``(n,)``.
    """

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray

    def ahead(self, time: float) -> Reference:
        """The reference a short time in [s] later."""
        step = self.v + 0.5 * time * self.a
        return Reference(self.q + time * step, self.v + time * self.a, self.a)

    @classmethod
    def still(cls, q: np.ndarray) -> Reference:
        """At rest at positions, shape ``(n,)``."""
        return cls(np.array(q, dtype=float), np.zeros(len(q)), np.zeros(len(q)))


class Follower:
    """From references and measured states to what is to be tracked now.

    Times are those of the steady clock in [s].

    Args:
        limits: Limits of the joints, for braking.
        timeout: Longest silence of a stream of references in motion, and of joint states, in [s].
        tolerance: Distance from the robot at which a stream of references may begin, in [rad] or
            [m]; in motion they may jump by it beyond what speed explains.
    """

    def __init__(
        self, limits: MotionLimits, *, timeout: float = 0.1, tolerance: float = 0.05
    ) -> None:
        if not (0.0 < timeout < np.inf and 0.0 < tolerance < np.inf):
            raise ConfigurationError(
                'cannot be used', where='timeout, tolerance', found=f'{timeout}, {tolerance}',
                allowed='above 0')
        self._limits, self._timeout, self._tolerance = limits, timeout, tolerance
        self.phase, self.reason = FollowerPhase.WAITING, ''
        self.ignored = 0
        self._target = Reference.still(np.zeros(len(limits.joint_names)))
        self._measured = self._last = self._target
        self._heard = -np.inf
        self._broken, self._release = False, False
        self._stop: BrakingStop | None = None
        self._braking_since = 0.0

    @property
    def at_rest(self) -> bool:
        """Whether the robot stands still, and nothing is followed."""
        resting = self.phase in (FollowerPhase.HOLDING, FollowerPhase.RELEASED)
        return self.phase is FollowerPhase.WAITING or (resting and self._slow())

    def refer(self, now: float, reference: Reference) -> None:
        """Track a reference of a stream.

        Raises:
            ExcitationError: It cannot be followed, and why; nothing changes by it, unless it
                jumps in motion, which ends in braking.
        """
        silent = now - self._heard > self._timeout
        values = (reference.q, reference.v, reference.a)
        shape = self._target.q.shape
        if any(x.shape != shape or not np.isfinite(x).all() for x in values):
            raise ExcitationError(
                'a reference does not fit the robot', found=f'{[x.tolist() for x in values]}',
                allowed=f'{shape[0]} finite numbers each',
                fix='Send a position, velocity and acceleration of every joint')
        self._heard = now
        if self.phase is FollowerPhase.FOLLOWING:
            reach = self._tolerance + _BURST * self._limits.velocity
            if (np.abs(reference.q - self._last.q) > reach).any():
                self._brake(now, 'the reference jumped', release=False)
                raise ExcitationError(
                    'the reference jumped', allowed=f'{reach.max():.3g} at once',
                    fix='Send points of one continuous motion, each when it is due')
            self._last = self._target = reference
            return
        if not self._may_begin(silent):
            self.ignored += 1
            return
        here = self._target.q if self.phase is FollowerPhase.HOLDING else self._measured.q
        if self._far(reference.q, here):
            self.ignored += 1
            raise ExcitationError(
                'the references do not begin where the robot is',
                found=f'{np.abs(reference.q - here).max():.3g} away',
                allowed=f'{self._tolerance} rad or m',
                fix='Begin the stream at the measured positions, or bring the robot there first')
        self.phase, self._broken = FollowerPhase.FOLLOWING, False
        self._last = self._target = reference

    def stop(self, now: float, reason: str) -> None:
        """Brake and let go; accepted in every phase, and once is enough."""
        self._broken = True
        if self.phase is FollowerPhase.BRAKING:
            self._release = True
        elif self.phase in (FollowerPhase.FOLLOWING, FollowerPhase.HOLDING):
            self._brake(now, reason, release=True)

    def lose(self, reason: str) -> None:
        """Let go at once: without joint states nothing can be tracked.

        A robot that was only held is held again when they are back: the middleware may hold them up
        whenever another program starts. What moved is not moved on.
        """
        if self.phase is FollowerPhase.HOLDING:
            self.phase, self.reason = FollowerPhase.WAITING, reason
        else:
            self.release(reason)

    def release(self, reason: str) -> None:
        """Let go at once, until a new stream of references begins."""
        if self.phase not in (FollowerPhase.RELEASED, FollowerPhase.WAITING):
            self.phase, self.reason, self._broken = FollowerPhase.RELEASED, reason, True

    def tick(self, now: float, q: np.ndarray, v: np.ndarray) -> Reference | None:
        """Setpoint at this instant; None while nothing is commanded.

        Args:
            now: The time in [s], not before that of the last call.
            q: Measured positions in [rad] or [m], shape ``(n,)``; NaN where they are not known.
            v: Measured velocities in [rad/s] or [m/s], shape ``(n,)``; NaN as for positions. What
                is not known is lost, as joint states are.
        """
        self._measured = Reference(q, v, np.zeros_like(v))
        if not (np.isfinite(q).all() and np.isfinite(v).all()):
            self.lose('a position or velocity of the robot is not known')
            return None
        if self.phase is FollowerPhase.WAITING:
            self._target = self._measured
            if self._slow():
                self._hold(Reference.still(q))
            else:
                self._brake(now, 'the robot moved when the controller began', release=False)
        if self.phase is FollowerPhase.FOLLOWING:
            self._target = self._last.ahead(min(now - self._heard, _AHEAD))
        if self.phase is FollowerPhase.FOLLOWING and now - self._heard > self._timeout:
            if (np.abs(self._last.v) <= _STILL * self._limits.velocity).all():
                self._hold(Reference.still(self._last.q))
            else:
                self._brake(now, f'no reference for {self._timeout} s', release=False)
        if self.phase is FollowerPhase.BRAKING:
            self._follow_stop(now)
        if self.phase is FollowerPhase.HOLDING and self._slow() and self._far(q, self._target.q):
            # Whoever holds the robot there would not listen to a stream that never ends.
            self.release('the robot rests elsewhere than where it is to be held')
        return None if self.phase is FollowerPhase.RELEASED else self._target

    def _may_begin(self, silent: bool) -> bool:
        if self.phase not in (FollowerPhase.HOLDING, FollowerPhase.RELEASED):
            return False
        return self._slow() and (not self._broken or silent)

    def _hold(self, reference: Reference) -> None:
        self.phase, self._target = FollowerPhase.HOLDING, reference

    def _brake(self, now: float, reason: str, *, release: bool) -> None:
        target = self._target
        self._stop = BrakingStop(self._limits, target.q, target.v, target.a)
        self.phase, self.reason, self._braking_since = FollowerPhase.BRAKING, reason, now
        self._broken, self._release = True, release

    def _follow_stop(self, now: float) -> None:
        assert self._stop is not None
        elapsed = now - self._braking_since
        if elapsed >= self._stop.duration:
            self._hold(Reference.still(self._stop.rest))
            if self._release:
                self.phase = FollowerPhase.RELEASED
            return
        sample = self._stop.sample(np.array([elapsed]))
        self._target = Reference(sample.q[0], sample.v[0], sample.a[0])

    def _slow(self) -> bool:
        return bool((np.abs(self._measured.v) <= _SLOW * self._limits.velocity).all())

    def _far(self, q: np.ndarray, other: np.ndarray) -> bool:
        # A NaN is near to nothing.
        return not bool((np.abs(q - other) <= self._tolerance).all())
