"""Plays verified motions: arms, blends in, plays, watches, stops, and says what it does.

Only a motion that was verified is played, only after the operator allowed it, only under the
eyes of a monitor in a process of its own, and never two at a time. Nothing resumes by itself.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.action import ActionServer, CancelResponse
from std_srvs.srv import SetBool, Trigger

from sysid_ros.action import Excite
from sysid_ros.data_folder import DataFolder
from sysid_ros.errors import ConfigurationError, ExcitationError, SysidError
from sysid_ros.excitation.configuration import ExcitationPlan
from sysid_ros.excitation.playback.checks import Observation, PlaybackChecks
from sysid_ros.excitation.playback.outcome import End, Outcome
from sysid_ros.excitation.playback.playback import Phase
from sysid_ros.excitation.playback.session import MotionSession, Step
from sysid_ros.msg import ExcitationStatus, ResultCode, StopRequest
from sysid_ros.nodes.excitation_goal import (
    Prepared,
    conclude,
    goal_name,
    prepare_goal,
    refusal_code,
    require_one_motion,
    warm_up,
)
from sysid_ros.nodes.excitation_outputs import make_output
from sysid_ros.nodes.excitation_settings import ExcitationNodeSettings
from sysid_ros.nodes.motion_markers import MotionMarkers
from sysid_ros.nodes.node import RESULTS_KEPT, STOP_TOPIC, SysidNode, now
from sysid_ros.nodes.process import run
from sysid_ros.nodes.refusal import RefusedError, require_short
from sysid_ros.nodes.robot_description import published_description
from sysid_ros.nodes.robot_observer import RobotObserver

# Times in [s] between looks while nothing moves, between feedbacks, and between messages of the
# status in motion and at rest.
_IDLE, _FEEDBACK = 0.02, 0.1
_STATUS_MOVING, _STATUS_AT_REST = 0.01, 0.1
# Time in [s] that a result takes to whoever waits for it, before the process may end.
_DELIVERY = 0.2


class ExcitationNode(SysidNode[ExcitationNodeSettings]):
    """The node; see ``config/excitation_node.yaml``."""

    settings_class: ClassVar[type[ExcitationNodeSettings]] = ExcitationNodeSettings
    moves_robot = True

    def __init__(self, arguments: Sequence[str] = ()) -> None:
        self._session: MotionSession | None = None
        self._goal: Any = None
        self._job: Future[Prepared] | None = None
        self._last: End | None = None
        self._concluded = -np.inf
        super().__init__('excitation_node', arguments)

    # Lifecycle

    def configure(self) -> None:
        """Load the robot, and make all topics and services."""
        settings = self._taken = self.settings
        if not settings.plan:
            raise ConfigurationError(
                'there is no robot', where='plan', found='nothing',
                fix="Name a settings file of 'sysid excite'",
            )
        self._folder = DataFolder(Path(settings.data_folder))
        self._designer = designer = ExcitationPlan.load(
            settings.plan, published_description(
                self, Path(settings.plan), self.ending)).designer()
        warm_up(designer)
        robot = designer.model.robot
        self.hardware_id = robot.name
        self._joints = designer.limits.joint_names
        self._observer = RobotObserver(self, robot, settings.joint_states, settings.monitor)
        self._checks = PlaybackChecks(
            designer.limits, robot.joint_types, settings.tolerances, designer.loop_guard())
        output = make_output(self, designer)
        self._session = MotionSession(designer, output, self._checks, settings.session)
        self._worker = ThreadPoolExecutor(max_workers=1)
        self._ticked = self._published = self._fed_back = -np.inf
        self._told: Phase | None = None
        self._begin = self._ended = self.get_clock().now().to_msg().__class__()
        self._markers = MotionMarkers(self, designer)
        self._status = self.advertise(ExcitationStatus, '~/status')
        self._stop_requests = self.poll(StopRequest, STOP_TOPIC)
        self._answer(SetBool, '~/arm', self._arm)
        self._answer(Trigger, '~/stop', self._stop)
        self._server = ActionServer(
            self, Excite, '~/excite', lambda goal: None,
            handle_accepted_callback=self.guarded(self._accept),
            cancel_callback=lambda goal: CancelResponse.ACCEPT, result_timeout=RESULTS_KEPT,
        )
        self.keep(lambda server: server.destroy() or True, self._server)
        # The first line of a log takes long. It is not one of a motion.
        self.get_logger().info(f'Motions of {robot.name} go to {settings.output}.')
        self._ticks = self.every(_IDLE, self._tick)

    def deactivate(self) -> None:
        """Come to rest."""
        if self._session is not None:
            self._session.stop(now(), 'The node was deactivated.')

    def cleanup(self) -> None:
        """Let the robot go; refused while it moves."""
        if self.working():
            raise ExcitationError('the robot is not at rest', fix='Wait, and clean up again')
        if self._session is not None:
            self._worker.shutdown(wait=False)
        self._session = None

    def at_rest(self) -> bool:
        """Whether no motion is under way, and whoever asked for the last one knows its end."""
        return not self.working() and now() - self._concluded > _DELIVERY

    def working(self) -> bool:
        """Whether a motion is under way."""
        session = self._session
        return session is not None and (session.step is not Step.FREE or self._goal is not None)

    def locked(self) -> str:
        """Parameters do not change while a motion is under way."""
        session = self._session
        return f'the motion {session.run} is under way' if session and self.working() else ''

    def diagnose(self) -> tuple[bytes, str, dict[str, object]]:
        """Phase, joint states, and how the last motion ended."""
        if self._session is None:
            return super().diagnose()
        observer, last = self._observer, self._last
        live = observer.feed.live
        values: dict[str, object] = {
            'phase': self._session.phase(now()).value, 'motion': self._session.run,
            'joint state rate [Hz]': f'{live.rate:.1f}', 'missing joints': ', '.join(live.missing),
            'monitor': observer.monitor_fault or f'silent for {observer.monitor_silence:.2f} s',
            **live.counts,
        }
        if observer.unheard:
            return DiagnosticStatus.ERROR, observer.unheard, values
        if last is not None and last.outcome is Outcome.FAILED:
            return DiagnosticStatus.ERROR, f'{last.run}: {last.message}', values
        return DiagnosticStatus.OK, self._session.phase(now()).value, values

    # What others say

    def _obey(self, request: StopRequest) -> None:
        session = self._session
        if session is None or (session.step is Step.FREE and not session.armed(now())):
            return
        if not session.braking:
            session.fault(now(), f'{request.source}: {" ".join(request.reasons)}')

    def _answer(self, kind: type, name: str, grant: Callable[[Any], str]) -> None:
        """A service of ``std_srvs`` that answers with ``success`` and ``message``."""
        def answer(request: Any, response: Any) -> Any:
            try:
                response.message, response.success = grant(request), True
            except Exception as error:  # noqa: BLE001 (who asked gets an answer)
                if not isinstance(error, SysidError):
                    self.complain(error)
                response.message, response.success = str(error), False
            return response

        self.keep(self.destroy_service, self.create_service(kind, name, answer))

    def _arm(self, request: SetBool.Request) -> str:
        assert self._session is not None
        if not request.data:
            self._session.disarm()
            return 'Nothing is armed.'
        self._require_active()
        self._session.arm(now())
        return f'One motion may start within {self.settings.arm_timeout:.0f} s.'

    def _stop(self, _: Trigger.Request) -> str:
        assert self._session is not None
        self._session.stop(now(), 'A stop was asked for.')
        return ('The robot is at rest.' if not self.working() else
                'The robot is coming to rest; the status says when it is.')

    def _require_active(self) -> None:
        if not self.active:
            raise RefusedError(ResultCode.NOT_ACTIVE, SysidError(
                f'{self.get_fully_qualified_name()} is not active', fix='Activate it first'))

    # One goal

    def _accept(self, goal: Any) -> None:
        """Take a goal, or end it at once with the reason."""
        request, session = goal.request, self._session
        try:
            assert session is not None
            self._require_active()
            require_short(request)
            require_one_motion(request)
            if self._taken is not self.settings:
                self._adjust()
            session.claim(now(), goal_name(request), self._observer.seen())
        except Exception as error:  # noqa: BLE001 (who asked gets an answer)
            self._refuse(goal, error)
            return
        self._goal = goal
        self._begin = self._ended = type(self._begin)()
        self._job = self._worker.submit(
            prepare_goal, request, self._folder, self._designer, self._beginning(),
            self._taken.reaction_time, self._markers.show)
        self._feedback(self._observer.seen())
        self._ticks.change_period(1.0 / self._taken.rate)

    def _adjust(self) -> None:
        """Parameters that have changed since the last motion."""
        assert self._session is not None
        self._taken = self.settings
        robot = self._designer.model.robot
        self._checks = PlaybackChecks(
            self._designer.limits, robot.joint_types, self._taken.tolerances,
            self._designer.loop_guard())
        self._session.adjust(self._checks, self._taken.session)

    def _beginning(self) -> np.ndarray:
        """Where the command begins: where the robot was told to rest, if it does."""
        assert self._session is not None
        sample, held = self._observer.feed.live.latest, self._session.held
        if sample is None:
            return np.full(len(self._joints), np.nan)
        near = held is not None and np.abs(held - sample.q).max() <= self._taken.tracking_error
        return held if near and held is not None else sample.q

    def _refuse(self, goal: Any, error: Exception) -> None:
        """End a goal that does not start."""
        if not isinstance(error, SysidError):
            self.complain(error)
        name = goal_name(goal.request)
        self.get_logger().warning(f'{name}: {error}')
        self._conclude(
            goal, Excite.Result(code=refusal_code(error), message=str(error), motion=name))

    def _conclude(self, goal: Any, result: Excite.Result) -> None:
        self._concluded = now()
        conclude(goal, result)

    # Ticking

    def _tick(self) -> None:
        session, moment = self._session, now()
        if session is None:
            return
        late = max(moment - self._ticked - self._ticks.period, 0.0)
        self._ticked = moment
        for request, _ in self._stop_requests.take():
            self._obey(request)
        seen = self._observer.seen(late)
        if self._goal is not None:
            self._serve_goal(moment, seen)
        step = session.step
        try:
            session.tick(moment, seen)
        except Exception as error:
            session.fault(moment, f'The excitation broke down: {error}')
            raise
        self._stamp(step)
        end = session.take_end()
        if end is not None:
            self._ends(end)
        self._tell(moment, seen)
        # A robot that is held by torques needs them as often as one in motion.
        busy = self.working() or session.holding
        self._ticks.change_period(1.0 / self._taken.rate if busy else _IDLE)

    def _serve_goal(self, moment: float, seen: Observation) -> None:
        """What the client wants, and what the worker has found out."""
        session, job = self._session, self._job
        assert session is not None
        if self._goal.is_cancel_requested and not session.reason:
            session.stop(moment, 'The client took its goal back.', Outcome.CANCELLED)
        if job is None or not job.done():
            return
        self._job = None
        try:
            ready = job.result()
            session.begin(moment, ready.motion, ready.way, ready.path, seen)
        except Exception as error:  # noqa: BLE001 (who asked gets an answer)
            session.give_up()
            goal, self._goal = self._goal, None
            self._refuse(goal, error)

    def _stamp(self, before: Step) -> None:
        """Note when the motion itself began and ended."""
        session = self._session
        assert session is not None
        stamp = self.get_clock().now().to_msg()
        playing = session.point is not None and session.point.phase is not Phase.BLENDING
        if session.step is not Step.FREE and playing and self._begin.sec == 0:
            self._begin = stamp
        if before is not session.step and session.step is Step.SETTLING:
            self._ended = stamp

    def _ends(self, end: End) -> None:
        self._last = end
        if end.outcome is Outcome.OK:
            self.get_logger().info(f'{end.run}: {end.message}')
        else:
            self.get_logger().warning(f'{end.run}: {end.message}')
        goal, self._goal = self._goal, None
        if goal is not None:
            self._conclude(goal, Excite.Result(
                success=end.outcome is Outcome.OK, code=end.outcome.value, message=end.message,
                motion=end.run, progress=end.progress, tracking_error=end.tracking_error,
                begin=self._begin, end=self._ended,
            ))

    def _tell(self, moment: float, seen: Observation) -> None:
        session = self._session
        assert session is not None
        moving, phase = session.step is not Step.FREE, session.phase(moment)
        # A little early rather than a tick late.
        period = 0.9 * (_STATUS_MOVING if moving else _STATUS_AT_REST)
        if phase is not self._told or moment - self._published > period:
            self._published, self._told = moment, phase
            self._status.publish(self._message(moment))
        if self._goal is not None and moment - self._fed_back > _FEEDBACK:
            self._feedback(seen)

    def _message(self, moment: float) -> ExcitationStatus:
        session = self._session
        assert session is not None
        message = ExcitationStatus(
            stamp=self.get_clock().now().to_msg(), phase=list(Phase).index(session.phase(moment)),
            motion=session.run, reason=session.reason,
        )
        point = session.point
        if point is not None and session.step in (Step.MOVING, Step.SETTLING):
            message.progress = point.progress
            message.joint_names = list(self._joints)
            message.position = point.q.tolist()
            message.velocity = point.v.tolist()
            message.acceleration = point.a.tolist()
        return message

    def _feedback(self, seen: Observation) -> None:
        session = self._session
        assert session is not None
        self._fed_back = now()
        point = session.point if session.step is not Step.VERIFYING else None
        a = np.zeros(len(self._joints)) if point is None else point.a
        self._goal.publish_feedback(Excite.Feedback(
            phase=list(Phase).index(session.phase(self._fed_back)),
            progress=0.0 if point is None else point.progress,
            tracking_error=session.tracking_error, margin=self._checks.margin(seen, a),
        ))


def main() -> int:
    """Run the node."""
    return run(ExcitationNode)


if __name__ == '__main__':
    sys.exit(main())
