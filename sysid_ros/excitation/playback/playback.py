r"""Playing a motion: blend in, play, stop on the way, hold; one state machine, without ROS.

There are two ways to stop. One slows the time along the path down, :math:`q(s(t))` with
:math:`\dot s` from 1 to 0: the robot never leaves the path that was verified, wherever it is
stopped. The other brakes every joint as fast as it can, and leaves the path for it: that is for
faults, when soon counts for more than where.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from sysid_ros.errors import ExcitationError
from sysid_ros.excitation.design.design import Designer
from sysid_ros.excitation.excitation import Excitation
from sysid_ros.excitation.playback.preparation import PreparedMotion, prepare, slowed, way_in
from sysid_ros.excitation.safety.braking import BrakingStop

# A robot this slow, in parts of its limits, is at rest; this near, in parts of its reach, it has
# not moved since the way to the beginning was verified.
_SLOW, _UNMOVED = 1e-2, 1e-2
# A gap between two ticks longer than this in [s], or a clock that runs back, ends the motion.
_LONGEST_GAP = 0.1


class Phase(Enum):
    """Phase of a playback; the value is in words."""

    IDLE = 'nothing to play'
    ARMED = 'a verified motion waits for its start'
    BLENDING = 'on the way to the beginning of the motion'
    PLAYING = 'playing'
    STOPPING = 'slowing down'
    HOLDING = 'at rest where it was stopped'
    DONE = 'played to its end, at rest'

    @property
    def moving(self) -> bool:
        """Whether the robot moves."""
        return self in (Phase.BLENDING, Phase.PLAYING, Phase.STOPPING)


@dataclass(frozen=True, eq=False)
class Setpoint:
    """Setpoint of the joints at an instant.

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
        self._run = self._reason = ''
        self._motion: PreparedMotion | None = None
        self._path: PreparedMotion | None = None
        self._braking: BrakingStop | None = None
        self._began = self._slowing = self._last = self._progress = 0.0

    @property
    def phase(self) -> Phase:
        """Phase of the playback."""
        return self._phase

    @property
    def run(self) -> str:
        """Name of the motion that is armed, played, or was played last."""
        return self._run

    @property
    def reason(self) -> str:
        """Why it was stopped; empty when nobody stopped it."""
        return self._reason

    @property
    def braking(self) -> bool:
        """Whether the last stop was one joint by joint."""
        return self._braking is not None

    @property
    def stopping_time(self) -> float:
        """Time that a stop along the path takes in [s]; zero while nothing is played."""
        return self._path.stopping_time if self._path is not None and self._phase.moving else 0.0

    @property
    def armed_motion(self) -> PreparedMotion:
        """The motion that waits for its start.

        Raises:
            ExcitationError: A motion is being played, or none is armed.
        """
        self._refuse_while_moving(self._run)
        if self._phase is not Phase.ARMED or self._motion is None:
            raise ExcitationError(
                'no motion is armed', found=self._phase.value, fix='Arm one first'
            )
        return self._motion

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
        self.load(prepare(self._designer, run, motion))

    def load(self, prepared: PreparedMotion) -> None:
        """Take a motion that was verified already.

        Raises:
            ExcitationError: Another motion is being played.
        """
        self._refuse_while_moving(prepared.run)
        self._phase, self._run, self._motion = Phase.ARMED, prepared.run, prepared
        self._reason, self._braking = '', None

    def start(self, now: float, q: np.ndarray, v: np.ndarray) -> float:
        """Verify a slow blend to where the motion begins, and begin.

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
        motion = self.armed_motion
        self._require_rest(q, v)
        return self.begin(now, way_in(self._designer, motion, q), q, v)

    def begin(
        self, now: float, way: PreparedMotion | None, q: np.ndarray, v: np.ndarray,
        near: np.ndarray | None = None,
    ) -> float:
        """Begin, on a way to the beginning that was verified already.

        Args:
            now: The time in [s].
            way: The way, as :func:`way_in` gives it.
            q: Measured positions in [rad] or [m], shape ``(n,)``.
            v: Measured velocities in [rad/s] or [m/s], shape ``(n,)``.
            near: How far the robot may be from the beginning of the way, shape ``(n,)``; a
                hundredth of its reach where left out.

        Returns:
            When the motion will have ended in [s].

        Raises:
            ExcitationError: As for :meth:`start`, or the robot is not where the way begins.
        """
        motion = self.armed_motion
        self.require_start(way, q, v, near)
        self._path, self._phase = way or motion, Phase.BLENDING if way else Phase.PLAYING
        self._began = self._last = now
        return now + (way.motion.duration if way else 0.0) + motion.motion.duration

    def require_start(
        self, way: PreparedMotion | None, q: np.ndarray, v: np.ndarray,
        near: np.ndarray | None = None,
    ) -> None:
        """Refuse to begin where :meth:`begin` would; the arguments are the same.

        Raises:
            ExcitationError: As for :meth:`begin`.
        """
        path = way or self.armed_motion
        self._require_rest(q, v)
        near = _UNMOVED * self._designer.limits.reach if near is None else near
        if not (np.abs(q - path.first) <= near).all():
            raise ExcitationError(
                'the robot is not where the motion begins', found=f'positions {q}',
                allowed=f'{path.first}', fix='Wait until it stands still, and start again',
            )

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

    def brake(self, now: float, reason: str) -> None:
        """Come to rest as fast as every joint can, off the path, also out of a slower stop.

        It is accepted in every state, and once is enough.

        Args:
            now: The time in [s].
            reason: Why, for people.
        """
        point = None if self.braking else self.tick(now)
        if not self._phase.moving:
            self.stop(now, reason)
        elif point is not None:
            self._braking = BrakingStop(self._designer.limits, point.q, point.v, point.a)
            self._reason = ' '.join(filter(None, (self._reason, reason)))
            self._slowing, self._phase, self._progress = now, Phase.STOPPING, point.progress

    def tick(self, now: float) -> Setpoint | None:
        """Setpoint at this instant; None while there is nothing to hold or to play.

        Args:
            now: The time in [s], not before that of the last call.
        """
        if self._path is None or self._phase in (Phase.IDLE, Phase.ARMED):
            return None
        self._check_gap(now)
        duration = self._path.motion.duration
        if self._phase is Phase.BLENDING and now - self._began >= duration:
            self._began += duration
            self._path, self._phase = self._require_motion(), Phase.PLAYING
            duration = self._path.motion.duration
        if self._phase is Phase.PLAYING and now - self._began >= duration:
            self._phase = Phase.DONE
        if self._phase is Phase.STOPPING and now - self._slowing >= self._slowing_time:
            self._phase = Phase.HOLDING
        return self._braked(now) if self._braking is not None else self._along_path(now)

    @property
    def _slowing_time(self) -> float:
        assert self._path is not None
        return self._path.stopping_time if self._braking is None else self._braking.duration

    def _check_gap(self, now: float) -> None:
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

    def _along_path(self, now: float) -> Setpoint:
        assert self._path is not None
        path = self._path.motion
        s, rate, slope = now - self._began, 1.0, 0.0
        if self._phase in (Phase.STOPPING, Phase.HOLDING):
            time = self._path.stopping_time
            advance, rate, slope = (
                float(x) for x in slowed(min((now - self._slowing) / time, 1.0)))
            s = self._slowing - self._began + advance * time
            slope /= time
        s = min(max(s, 0.0), path.duration)
        sample = path.sample(np.array([s]))
        moving = self._phase.moving
        v = rate * sample.v[0] if moving else np.zeros_like(sample.v[0])
        a = rate**2 * sample.a[0] + slope * sample.v[0] if moving else np.zeros_like(v)
        progress = s / path.duration if self._path is self._motion else 0.0
        return Setpoint(sample.q[0], v, a, self._phase, progress)

    def _braked(self, now: float) -> Setpoint:
        assert self._braking is not None
        sample = self._braking.sample(np.array([now - self._slowing]))
        return Setpoint(sample.q[0], sample.v[0], sample.a[0], self._phase, self._progress)

    def _require_rest(self, q: np.ndarray, v: np.ndarray) -> None:
        slow = _SLOW * self._designer.limits.velocity
        if not (np.isfinite(q).all() and (np.abs(v) <= slow).all()):
            raise ExcitationError(
                'the robot is not at rest', found=f'positions {q}, velocities {v}',
                fix='Wait until it stands still, and check its joint states',
            )

    def _require_motion(self) -> PreparedMotion:
        assert self._motion is not None
        return self._motion

    def _refuse_while_moving(self, run: str) -> None:
        if self._phase.moving:
            raise ExcitationError(
                'another motion is being played', where=run, found=self._run,
                fix='Wait for its end, or stop it',
            )
