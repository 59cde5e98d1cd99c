r"""Playing a motion: blend in, play, stop on the way, hold; one state machine, without ROS.

A stop slows the time along the path down, :math:`q(s(t))` with :math:`\dot s` from 1 to 0: the
robot never leaves the path that was verified, wherever it is stopped.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from sysid_ros.errors import ExcitationError
from sysid_ros.excitation.basis import QuinticBasis
from sysid_ros.excitation.design import Designer
from sysid_ros.excitation.excitation import Excitation
from sysid_ros.excitation.limits import MotionLimits
from sysid_ros.excitation.verification import predicted_torque

# A robot this near to the start, and this slow, in parts of its reach and speed, is there.
_NEAR, _SLOW = 1e-5, 1e-2
# Part of the limits of velocity and acceleration that blending in may use.
_GENTLE = 0.2
# Peaks of a quintic step over one second: velocity, acceleration, jerk.
_PEAKS = (1.875, 5.7735026918962576, 60.0)
# Stops are tried at so many instants of the shortest period, and of the whole at least, each on
# so many samples, until their time is this exact.
_PER_PERIOD, _INSTANTS, _SAMPLES, _HALVINGS = 20, 60, 31, 8
# What a stop may use of the limits of acceleration and torque, between the samples too, and of
# jerk: stopping is no part of the plan, and soon is better than smooth.
_USABLE, _JERK = 0.99, 3.0
# The longest stop in times from full speed to rest at full deceleration, and in [s].
_LONGEST_STOP, _LEAST_LONGEST = 4.0, 1.0
_SHORTEST_BLEND = 0.5
# A gap between two ticks longer than this in [s], or a clock that runs back, ends the motion.
_LONGEST_GAP = 0.1


class Phase(Enum):
    """What a playback is doing, in words."""

    IDLE = 'nothing to play'
    ARMED = 'a verified motion waits for its start'
    BLENDING = 'on the way to the beginning of the motion'
    PLAYING = 'playing'
    STOPPING = 'slowing down along the path'
    HOLDING = 'at rest where it was stopped'
    DONE = 'played to its end, at rest'

    @property
    def moving(self) -> bool:
        """Whether the robot moves."""
        return self in (Phase.BLENDING, Phase.PLAYING, Phase.STOPPING)


@dataclass(frozen=True, eq=False)
class Setpoint:
    """What the robot is to do at an instant.

    Attributes:
        q: Positions in [rad] or [m], shape ``(n,)``.
        v: Velocities in [rad/s] or [m/s], shape ``(n,)``.
        a: Accelerations in [rad/s²] or [m/s²], shape ``(n,)``.
        phase: What the playback is doing.
        progress: Part of the motion that was played, from 0 to 1.
    """

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    phase: Phase
    progress: float


class Playback:
    """One motion at a time, from rest to rest.

    Times are those of any clock that does not run backwards, in [s].

    Args:
        designer: Robot, limits and obstacles that motions are verified with.
    """

    def __init__(self, designer: Designer) -> None:
        self._designer = designer
        self._phase = Phase.IDLE
        self._run = ''
        self._motion: Excitation | None = None
        self._path: Excitation | None = None
        self._began = self._slowing = self._last = 0.0
        self._stop_time = self._motion_stop = 0.0
        self._reason = ''

    @property
    def phase(self) -> Phase:
        """What it is doing."""
        return self._phase

    @property
    def run(self) -> str:
        """Name of the motion that is armed, played, or was played last."""
        return self._run

    @property
    def reason(self) -> str:
        """Why it was stopped; empty when nobody stopped it."""
        return self._reason

    def arm(self, run: str, motion: Excitation) -> None:
        """Take a motion, after verifying it and every stop on the way.

        Args:
            run: A name for it, for messages.
            motion: The motion.

        Raises:
            ExcitationError: Another motion is being played, this one must not be played, or
                it cannot be stopped soon enough.
        """
        self._refuse_while_moving(run)
        # Whatever is wrong with this motion, an earlier one is not played in its place.
        self._phase, self._motion = Phase.IDLE, None
        designer = self._designer
        if motion.joint_names != designer.limits.joint_names:
            raise ExcitationError(
                'the motion is one of another robot', where=run,
                found=', '.join(motion.joint_names),
                allowed=', '.join(designer.limits.joint_names),
            )
        designer.verify(designer.dense(motion)).require()
        self._motion_stop = stopping_time(designer, motion)
        self._phase, self._run, self._motion, self._reason = Phase.ARMED, run, motion, ''

    def start(self, now: float, q: np.ndarray, v: np.ndarray) -> float:
        """Begin, with a slow blend to where the motion begins.

        Args:
            now: The time in [s].
            q: Measured positions in [rad] or [m], shape ``(n,)``.
            v: Measured velocities in [rad/s] or [m/s], shape ``(n,)``.

        Returns:
            When the motion will have ended in [s].

        Raises:
            ExcitationError: A motion is being played, none is armed, the robot moves or its
                state is not known, or the way to the beginning is not free.
        """
        self._refuse_while_moving(self._run)
        if self._phase is not Phase.ARMED or self._motion is None:
            raise ExcitationError(
                'no motion is armed', found=self._phase.value, fix='Arm one first'
            )
        limits, first = self._designer.limits, self._motion.sample(np.zeros(1)).q[0]
        if not (np.isfinite(q).all() and (np.abs(v) <= _SLOW * limits.velocity).all()):
            raise ExcitationError(
                'the robot is not at rest', found=f'positions {q}, velocities {v}',
                fix='Wait until it stands still, and check its joint states',
            )
        if (np.abs(q - first) <= _NEAR * limits.reach).all():
            self._path, self._stop_time = self._motion, self._motion_stop
            self._phase = Phase.PLAYING
        else:
            self._path = self._blend(q, first)
            self._stop_time = stopping_time(self._designer, self._path)
            self._phase = Phase.BLENDING
        self._began = self._last = now
        blending = self._path.duration if self._phase is Phase.BLENDING else 0.0
        return now + blending + self._motion.duration

    def stop(self, now: float, reason: str) -> None:
        """Come to rest along the path; it is accepted in every state, and once is enough.

        Args:
            now: The time in [s].
            reason: Why, for people.
        """
        if self._phase in (Phase.BLENDING, Phase.PLAYING):
            self.tick(now)
        if self._phase in (Phase.BLENDING, Phase.PLAYING):
            self._slowing, self._phase, self._reason = now, Phase.STOPPING, reason
        elif self._phase is Phase.ARMED:
            self._phase, self._reason = Phase.IDLE, reason

    def tick(self, now: float) -> Setpoint | None:
        """What the robot is to do now; None while there is nothing to hold or to play.

        Args:
            now: The time in [s], not before that of the last call.
        """
        if self._path is None or self._phase in (Phase.IDLE, Phase.ARMED):
            return None
        self._heed_gap(now)
        if self._phase is Phase.BLENDING and now - self._began >= self._path.duration:
            assert self._motion is not None
            self._began += self._path.duration
            self._path, self._stop_time = self._motion, self._motion_stop
            self._phase = Phase.PLAYING
        if self._phase is Phase.PLAYING and now - self._began >= self._path.duration:
            self._phase = Phase.DONE
        if self._phase is Phase.STOPPING and now - self._slowing >= self._stop_time:
            self._phase = Phase.HOLDING
        return self._setpoint(now)

    def _heed_gap(self, now: float) -> None:
        """Go on along the path where the last tick left it, and stop, when time has jumped."""
        gap, self._last = now - self._last, now
        if not self._phase.moving or 0.0 <= gap <= _LONGEST_GAP:
            return
        jump = gap - min(max(gap, 0.0), _LONGEST_GAP)
        self._began += jump
        if self._phase is Phase.STOPPING:
            self._slowing += jump
        else:
            self._slowing, self._phase = now, Phase.STOPPING
            self._reason = f'no tick for {gap:.3g} s; {_LONGEST_GAP} s is allowed'

    def _setpoint(self, now: float) -> Setpoint:
        assert self._path is not None
        s, rate, slope = now - self._began, 1.0, 0.0
        if self._phase in (Phase.STOPPING, Phase.HOLDING):
            elapsed = min((now - self._slowing) / self._stop_time, 1.0)
            advance, rate, slope = (float(x) for x in slowed(elapsed))
            s = self._slowing - self._began + advance * self._stop_time
            slope /= self._stop_time
        s = min(max(s, 0.0), self._path.duration)
        sample = self._path.sample(np.array([s]))
        moving = self._phase.moving
        v = rate * sample.v[0] if moving else np.zeros_like(sample.v[0])
        a = rate**2 * sample.a[0] + slope * sample.v[0] if moving else np.zeros_like(v)
        progress = s / self._path.duration if self._path is self._motion else 0.0
        return Setpoint(sample.q[0], v, a, self._phase, progress)

    def _blend(self, q: np.ndarray, goal: np.ndarray) -> Excitation:
        """A slow, straight way in joint space, verified like any motion."""
        designer = self._designer
        way = blend(designer.limits, q, goal)
        found = designer.verify(designer.dense(way))
        if not found.allowed:
            raise ExcitationError(
                'the way to the beginning of the motion is not free',
                found=' '.join(found.findings),
                fix='Bring the robot near to the beginning by other means',
            )
        return way

    def _refuse_while_moving(self, run: str) -> None:
        if self._phase.moving:
            raise ExcitationError(
                'another motion is being played', where=run, found=self._run,
                fix='Wait for its end, or stop it',
            )


def blend(limits: MotionLimits, start: np.ndarray, goal: np.ndarray) -> Excitation:
    """A gentle motion from rest to rest, straight in joint space.

    Args:
        limits: Limits of the joints.
        start: Where it begins in [rad] or [m], shape ``(n,)``.
        goal: Where it ends, shape ``(n,)``.

    Returns:
        A quintic step that uses at most a fifth of the limits.
    """
    way = np.abs(goal - start)
    bounds = (limits.velocity, limits.acceleration, limits.jerk)
    times = [
        (peak * way / (_GENTLE * bound)) ** (1.0 / order)
        for order, (peak, bound) in enumerate(zip(_PEAKS, bounds, strict=True), start=1)
    ]
    duration = max(float(np.max(times)), _SHORTEST_BLEND)
    return Excitation(limits.joint_names, QuinticBasis(duration, 2), np.array([start, goal]))


def slowed(elapsed: float | np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Time along the path while it slows to a stop over one second.

    Args:
        elapsed: Time since the stop began, from 0 to 1.

    Returns:
        Advance, its rate from 1 to 0, and the slope of the rate, which is zero at both ends.
    """
    x = np.asarray(elapsed, dtype=float)
    return (
        x - x**4 * (2.5 - 3.0 * x + x**2),
        1.0 - x**3 * (10.0 - 15.0 * x + 6.0 * x**2),
        -30.0 * x**2 * (1.0 - x) ** 2,
    )


def stopping_time(designer: Designer, motion: Excitation) -> float:
    """Shortest time in which a motion can be stopped anywhere.

    Args:
        designer: The robot and its limits. A stop may use the margins of the plan, and jerks
            of up to three times their limit.
        motion: The motion, itself within the limits.

    Returns:
        The time in [s].

    Raises:
        ExcitationError: Even four times the time from full speed to rest is too short.
    """
    basis, limits = motion.basis, designer.limits
    count = int(np.ceil(_PER_PERIOD * basis.duration * basis.highest_frequency))
    begin = np.linspace(0.0, motion.duration, max(count, _INSTANTS))[:, None]
    x = np.linspace(0.0, 1.0, _SAMPLES)

    def allowed(time: float) -> bool:
        advance, rate, slope = slowed(x)
        bend = -60.0 * x * (1.0 - x) * (1.0 - 2.0 * x)
        s = np.minimum(begin + time * advance, motion.duration).ravel()
        rate, slope, bend = (
            np.tile(y, len(begin))[:, None] for y in (rate, slope / time, bend / time**2)
        )
        sample = motion.sample(s)
        v, a = rate * sample.v, rate**2 * sample.a + slope * sample.v
        jerk = rate**3 * sample.jerk + 3.0 * rate * slope * sample.a + bend * sample.v
        torque = predicted_torque(designer.model, replace(sample, v=v, a=a))
        return bool(
            (np.abs(a) <= _USABLE * limits.acceleration).all()
            and (np.abs(torque) <= _USABLE * limits.effort).all()
            and (np.abs(jerk) <= _JERK * limits.jerk).all()
        )

    high = max(
        _LEAST_LONGEST, _LONGEST_STOP * float(np.max(limits.velocity / limits.acceleration)))
    if not allowed(high):
        raise ExcitationError(
            'the motion cannot be stopped soon enough', found=f'more than {high:.3g} s',
            fix='Plan it with a larger margin of acceleration and torque, or play it slower',
        )
    low = 0.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if allowed(middle) else (middle, high)
    return high
