"""One motion from the operator's permission to the robot's measured rest, without ROS.

The session holds together who may start, what is watched, what is told to the robot, and how it
ends. Slow work, verifying a motion, is done by others between :meth:`MotionSession.claim` and
:meth:`MotionSession.begin`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import Enum

import numpy as np

from sysid_ros.errors import ConfigurationError, ExcitationError
from sysid_ros.excitation.design.design import Designer
from sysid_ros.excitation.excitation import Motion
from sysid_ros.excitation.playback.checks import Observation, PlaybackChecks
from sysid_ros.excitation.playback.motion_output import MotionOutput
from sysid_ros.excitation.playback.outcome import End, MotionRefused, Outcome
from sysid_ros.excitation.playback.playback import Phase, Playback, Setpoint
from sysid_ros.excitation.playback.preparation import PreparedMotion
from sysid_ros.excitation.safety.braking import BrakingStop

# A robot counts as at rest when it was slow for this long in [s].
_RESTING = 0.1


@dataclass(frozen=True)
class SessionSettings:
    """How motions are started and stopped.

    Attributes:
        arm_timeout: Time for which the operator's permission holds in [s].
        path_stop: A stop that nobody calls a fault stays on the path if that takes no longer,
            in [s].
        rest_velocity: Part of the velocity limit below which a joint is at rest.
        rest_timeout: Longest time from the last command to measured rest in [s].

    Raises:
        ConfigurationError: A value is not a finite number above zero (zero or above for
            ``path_stop``).
    """

    arm_timeout: float = 60.0
    path_stop: float = 0.5
    rest_velocity: float = 0.02
    rest_timeout: float = 3.0

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            zero = name == 'path_stop'
            if not (0.0 <= value < np.inf and (zero or value > 0.0)):
                raise ConfigurationError(
                    'cannot be used', where=f'session: {name}', found=value,
                    allowed='a number, zero or more' if zero else 'a number above 0',
                    fix='Leave it out for its default',
                )


class Step(Enum):
    """Where a session is."""

    FREE = 'nothing is under way'
    VERIFYING = 'a motion is being verified'
    STARTING = 'the controller has been told'
    MOVING = 'the robot is told to move'
    SETTLING = 'the robot is told to rest, and does not yet'


class MotionSession:
    """Motions one after another, never two at a time, and never one without permission.

    Args:
        designer: Robot, limits and obstacles.
        output: What carries motions out.
        checks: What is checked before and while a motion is played.
        settings: How motions are started and stopped.
    """

    def __init__(
        self, designer: Designer, output: MotionOutput, checks: PlaybackChecks,
        settings: SessionSettings | None = None,
    ) -> None:
        self._limits, self._playback = designer.limits, Playback(designer)
        self._output, self._checks = output, checks
        self._settings = settings or SessionSettings()
        self._armed_until = -np.inf
        self._step, self._run = Step.FREE, ''
        self._way: PreparedMotion | None = None
        self._point: Setpoint | None = None
        self._cause: tuple[Outcome, str] | None = None
        self._end: End | None = None
        self._slow_since, self._settling_since = np.inf, np.inf
        self.tracking_error = self._worst = 0.0

    def adjust(self, checks: PlaybackChecks, settings: SessionSettings) -> None:
        """Take other settings, for the next motion.

        Raises:
            MotionRefused: A motion is under way.
        """
        self._refuse_second()
        self._checks, self._settings = checks, settings

    # Looking

    @property
    def step(self) -> Step:
        """Where it is."""
        return self._step

    @property
    def run(self) -> str:
        """Name of the motion under way, or of the last one."""
        return self._run

    @property
    def reason(self) -> str:
        """Why it was stopped; empty when nobody stopped it."""
        return self._cause[1] if self._cause else ''

    @property
    def point(self) -> Setpoint | None:
        """Setpoint that is sent to the robot; None while none is."""
        return self._point

    @property
    def held(self) -> np.ndarray | None:
        """Where the robot was told to rest at the end of a motion; None after a fault."""
        calm = self._playback.phase in (Phase.DONE, Phase.HOLDING) and not self._playback.braking
        return self._point.q if calm and self._point is not None else None

    @property
    def holding(self) -> bool:
        """Whether the robot rests only for as long as it is told to."""
        return self._output.holds and self._step is Step.FREE and self._point is not None

    @property
    def braking(self) -> bool:
        """Whether it is braking for a fault already."""
        return self._step is not Step.FREE and self._playback.braking

    def armed(self, now: float) -> bool:
        """Whether the operator allows one motion."""
        return now < self._armed_until

    def phase(self, now: float) -> Phase:
        """Phase of the playback; a robot that does not rest yet is not holding."""
        phase = self._playback.phase
        if self._step in (Step.MOVING, Step.SETTLING):
            stopped = self._cause is not None
            return phase if phase.moving else Phase.STOPPING if stopped else Phase.PLAYING
        if self.armed(now) or self._step is not Step.FREE:
            return Phase.ARMED
        return Phase.IDLE if phase is Phase.ARMED else phase

    # Starting

    def arm(self, now: float) -> None:
        """Allow one motion, for a while.

        Raises:
            MotionRefused: A motion is under way.
        """
        self._refuse_second()
        self._armed_until = now + self._settings.arm_timeout

    def disarm(self) -> None:
        """Take the permission back; a motion under way goes on."""
        self._armed_until = -np.inf

    def claim(self, now: float, run: str, seen: Observation) -> None:
        """Take the permission for a motion that is about to be verified.

        Args:
            now: The time in [s].
            run: Name of the motion.
            seen: What is known now.

        Raises:
            MotionRefused: A motion is under way, none is allowed, or something is missing or
                unsafe; only a permission that is refused for that still holds.
        """
        self._refuse_second()
        if not self.armed(now):
            raise MotionRefused(
                Outcome.NOT_ARMED, 'the operator has not allowed a motion', where=run,
                fix='Arm it first; one permission is for one motion',
            )
        self._require_ready(run, seen)
        self.disarm()
        self._step, self._run, self._cause, self._end = Step.VERIFYING, run, None, None
        self.tracking_error = self._worst = 0.0

    def give_up(self) -> None:
        """Forget a motion that was claimed and will not begin."""
        if self._step is Step.VERIFYING:
            self._step = Step.FREE

    def begin(
        self, now: float, prepared: PreparedMotion, way: PreparedMotion | None, path: Motion,
        seen: Observation,
    ) -> None:
        """Begin a motion that was claimed and verified.

        Args:
            now: The time in [s].
            prepared: The motion.
            way: The way to its beginning, or None.
            path: Both, sampled.
            seen: What is known now.

        Raises:
            ExcitationError: It may not begin; it has been given up.
        """
        try:
            if self._cause is not None:
                raise MotionRefused(self._cause[0], self._cause[1], where=self._run)
            self._require_ready(self._run, seen)
            near = np.full(len(self._limits.joint_names), self._checks.settings.tracking_error)
            self._playback.load(prepared)
            self._playback.require_start(way, seen.q, seen.v, near)
        except ExcitationError:
            self._step = Step.FREE
            raise
        self._checks.begin(seen)
        self._step, self._way, self._point = Step.STARTING, way, None
        self._slow_since = self._settling_since = np.inf
        self._output.begin(now, path)

    def _require_ready(self, run: str, seen: Observation) -> None:
        problem = self._output.problem()
        absent = (*([problem] if problem else []), *self._checks.absent(seen))
        if absent:
            raise MotionRefused(
                Outcome.NOT_READY, 'not everything is there that a motion needs', where=run,
                found=' '.join(absent), fix='Start what is missing, and try again',
            )
        forbidding = self._checks.forbids(seen)
        if forbidding:
            raise MotionRefused(
                Outcome.NOT_SAFE, 'a motion is not safe now', where=run,
                found=' '.join(forbidding), fix='Put that right first',
            )

    def _refuse_second(self) -> None:
        if self._step is not Step.FREE:
            raise MotionRefused(
                Outcome.BUSY, 'another motion is under way', found=self._run,
                fix='Wait for its end, or stop it',
            )

    # Stopping

    def stop(self, now: float, reason: str, outcome: Outcome = Outcome.STOPPED) -> None:
        """Come to rest because somebody wants it; accepted in every state, once is enough."""
        self.disarm()
        if self._step is Step.FREE:
            return
        if self._cause is None:
            self._cause = (outcome, reason)
        if self._step is not Step.MOVING:
            return
        if self._output.streams and self._playback.stopping_time <= self._settings.path_stop:
            self._playback.stop(now, reason)
        else:
            self._playback.brake(now, reason)

    def fault(self, now: float, reason: str) -> None:
        """Come to rest as fast as possible because something is wrong."""
        self.disarm()
        if self._step is Step.FREE:
            return
        before = self._cause[1] if self._cause else ''
        # Who asks for a stop says so again and again.
        self._cause = (
            Outcome.FAILED, before if reason in before else f'{before} {reason}'.strip())
        if self._step is Step.MOVING:
            self._playback.brake(now, reason)

    # Playing

    def tick(self, now: float, seen: Observation) -> None:
        """Go on: look, decide, tell the robot.

        Args:
            now: The time in [s], not before that of the last call.
            seen: What is known now.
        """
        if self._step is Step.STARTING:
            self._start(now, seen)
        if self._step is Step.MOVING:
            self._move(now, seen)
        if self._step is Step.SETTLING:
            self._wait_for_rest(now, seen)
        if self.holding and self._point is not None:
            self._output.send(now, self._point, seen)

    def take_end(self) -> End | None:
        """How the motion ended, once; None while it is under way."""
        end, self._end = self._end, None
        return end

    def _start(self, now: float, seen: Observation) -> None:
        failure = self._output.failure(now)
        if failure and self._cause is None:
            self._cause = (Outcome.NOT_READY, failure)
        if self._cause is not None:
            self._step, self._settling_since = Step.SETTLING, now
        elif self._output.begun():
            path = self._way or self._playback.armed_motion
            self._playback.begin(now, self._way, path.first, np.zeros_like(path.first))
            self._step = Step.MOVING

    def _move(self, now: float, seen: Observation) -> None:
        if self._point is not None and not self._playback.braking:
            failure = self._output.failure(now)
            found = (*self._checks.findings(seen, self._point), *([failure] if failure else []))
            if found:
                self.fault(now, ' '.join(found))
        self._point = self._playback.tick(now)
        assert self._point is not None
        if self._cause is None and self._playback.reason:
            self._cause = (Outcome.FAILED, self._playback.reason)
        # A controller that was sent the whole motion does not follow the braking path played here.
        followed = self._output.streams or self._cause is None
        if followed and np.isfinite(seen.q).all():
            self.tracking_error = float(np.abs(seen.q - self._point.q).max())
            self._worst = max(self._worst, self.tracking_error)
        if self._cause is not None and not self._output.streams:
            self._output.stop(now, self._from_here(seen))
        self._output.send(now, self._point, seen)
        if not self._playback.phase.moving:
            self._step, self._settling_since = Step.SETTLING, now

    def _wait_for_rest(self, now: float, seen: Observation) -> None:
        if self._point is not None and self._output.streams:
            self._output.send(now, self._point, seen)
        failure = self._output.failure(now)
        if failure and self._cause is None:
            self._cause = (Outcome.FAILED, failure)
        if self._cause is not None and not self._output.streams:
            self._output.stop(now, self._from_here(seen))
        resting = self._rests(now, seen) and (self._output.finished() or self._cause is not None)
        late = now - self._settling_since > self._settings.rest_timeout
        waiting = not self._output.finished() and self._cause is None
        if resting:
            self._finish()
            self._step = Step.FREE
        elif late and not waiting and self._settling_since < np.inf:
            self.fault(now, 'The robot is not seen to be at rest.')
            self._finish()
            self._settling_since = np.inf

    def _finish(self) -> None:
        """Say how it ended; said once, also of a robot that comes to rest later."""
        if self._settling_since == np.inf:
            return
        outcome, message = self._cause or (Outcome.OK, Phase.DONE.value)
        progress = self._point.progress if self._point is not None else 0.0
        self._end = End(outcome, message, self._run, progress, self._worst)

    def _rests(self, now: float, seen: Observation) -> bool:
        """Whether joint states that are fresh have shown rest for a while."""
        slow = np.abs(seen.v) <= self._settings.rest_velocity * self._limits.velocity
        if not (self._fresh(seen) and slow.all()):
            self._slow_since = np.inf
            return False
        self._slow_since = min(self._slow_since, now)
        return now - self._slow_since >= _RESTING

    def _fresh(self, seen: Observation) -> bool:
        return seen.age <= self._checks.settings.limits(seen.rate).state_timeout

    def _from_here(self, seen: Observation) -> BrakingStop | None:
        """A stop from the measured state, with the planned acceleration.

        A measured state that is old is one that the robot has left: the stop begins at the
        set-point then.
        """
        q, v, a = seen.q, seen.v, np.zeros_like(seen.q)
        if self._point is not None:
            a = self._point.a
            if not self._fresh(seen):
                q, v = self._point.q, self._point.v
        try:
            return BrakingStop(self._limits, q, v, a)
        except ExcitationError:
            return None
