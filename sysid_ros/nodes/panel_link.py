"""What the panel asks of the nodes: each kind of request by an operator of its own, stops by none.

A request that waits, waits in a thread of the panel. A stop is sent by the thread that asks for it:
its client is made when the node is configured, and nothing is ahead of it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any

from std_srvs.srv import SetBool, Trigger

from sysid_ros.action import Excite, Identify
from sysid_ros.errors import SysidError
from sysid_ros.msg import ResultCode, StopRequest
from sysid_ros.nodes.node import STOP_TOPIC, SysidNode, now
from sysid_ros.nodes.panel_settings import PanelNodeSettings
from sysid_ros.nodes.refusal import RefusedError
from sysid_ros.nodes.requests import ServiceRequest
from sysid_ros.nodes.robot_operator import Operator
from sysid_ros.srv import (
    CommitParameters,
    RollbackParameters,
    StartIdentification,
    StopIdentification,
)
from sysid_ros.studio.live.activity import Outcome, Tell
from sysid_ros.studio.live.state import EXCITATION, IDENTIFICATION, MODEL_SERVER, MONITOR, LiveState
from sysid_ros.studio.live.views import MotionPhase

# Services and actions of each kind of request, which are found before they are needed.
_SERVICES: Mapping[str, Mapping[str, Any]] = {
    'order': {
        f'{EXCITATION}/arm': SetBool, f'{MONITOR}/reset': Trigger,
        f'{IDENTIFICATION}/start': StartIdentification,
        f'{IDENTIFICATION}/stop': StopIdentification},
    'motion': {}, 'fit': {},
    'release': {
        f'{MODEL_SERVER}/commit': CommitParameters,
        f'{MODEL_SERVER}/rollback': RollbackParameters},
}
_ACTIONS: Mapping[str, Mapping[str, Any]] = {
    'motion': {f'{EXCITATION}/excite': Excite}, 'fit': {f'{IDENTIFICATION}/identify': Identify}}
# Time in [s] between looks at stops, without an answer after which one is sent again, after which
# all nodes are asked to stop, and for which that goes on; and in which nodes find one another.
_LOOK, _AGAIN, _UNHEARD, _GIVEN_UP, _FINDING = 0.02, 0.1, 0.25, 5.0, 10.0
# How long all nodes are asked to stop, at each look, where no excitation is heard, in [s].
_INSISTING = 1.0
_REFUSED = 0.5


class PanelLink:
    """Requests to the nodes; see :class:`sysid_ros.studio.live.robot_link.RobotLink`.

    Args:
        node: The panel, from its ``configure`` to its clean-up.
        state: What the nodes say.
    """

    def __init__(self, node: SysidNode[PanelNodeSettings], state: LiveState) -> None:
        self._node, self._state = node, state
        self._tells: dict[str, Tell] = {}
        self._ending, self._insisting = False, 0.0
        self._stop = node.keep(
            node.destroy_client, node.create_client(Trigger, f'{EXCITATION}/stop'))
        self._everybody = node.advertise(StopRequest, STOP_TOPIC)
        self._lock, self._stops = threading.Lock(), list[tuple[float, ServiceRequest]]()
        self._operators = {kind: self._operator(kind) for kind in _SERVICES}
        node.every(_LOOK, self._follow_stops)

    def _operator(self, kind: str) -> Operator:
        operator = Operator(
            self._node, self._node.settings.patience, poll=self._require_going_on,
            feedback=lambda message: self._feed_back(kind, message), spun=True)
        operator.prepare(_SERVICES[kind], _ACTIONS.get(kind, {}))
        return operator

    def close(self) -> None:
        """End what waits, and let go of the clients."""
        self._ending = True
        for operator in self._operators.values():
            operator.close()

    def _require_going_on(self) -> None:
        if self._ending:
            raise SysidError(
                'the panel has ended', fix='What the nodes were asked for goes on: see their state '
                'when it runs again')

    def _feed_back(self, kind: str, message: Any) -> None:
        tell = self._tells.get(kind)
        if tell is None:
            return
        if isinstance(message, Excite.Feedback):
            phase = list(MotionPhase)[min(int(message.phase), len(MotionPhase) - 1)]
            tell(f'{phase.value}, {message.tracking_error:.2g} rad or m from the command',
                 float(message.progress))
        else:
            tell(str(message.stage), float(message.progress))

    # Stops

    def request_stop(self) -> str:
        """Ask the excitation to stop; all nodes where it is not there. Nothing is waited for."""
        if not self._stop.service_is_ready():
            self._stop_everybody()
            # What is published before nodes have found one another is not heard.
            self._insisting = now() + _INSISTING
            return 'The excitation is not heard: all nodes were asked to stop.'
        request = ServiceRequest(self._stop, Trigger.Request(), again=_AGAIN)
        with self._lock:
            self._stops.append((now(), request))
        return 'A stop was asked for.'

    def _follow_stops(self) -> None:
        """Ask again, and then everybody, until a stop is answered."""
        if now() < self._insisting:
            self._stop_everybody()
        with self._lock:
            stops = list(self._stops)
        for asked, request in stops:
            over = request.poll()
            if not over and now() - asked > _UNHEARD:
                self._stop_everybody()
            if over or now() - asked > _GIVEN_UP:
                request.drop()
                with self._lock:
                    self._stops.remove((asked, request))

    def _stop_everybody(self) -> None:
        self._everybody.publish(StopRequest(
            stamp=self._node.get_clock().now().to_msg(),
            source=self._node.get_fully_qualified_name(), reasons=['The operator asked for it.']))

    # Orders

    def arm(self, *, allowed: bool) -> Outcome:
        """Allow one motion, or take that back."""
        return self._outcome_of(self._ask('order', SetBool, f'{EXCITATION}/arm', data=allowed))

    def reset_monitor(self) -> Outcome:
        """Reset the monitor, as soon as the robot has come to rest."""
        self._node.require_active()
        return Outcome(True, self._operators['order'].reset_monitor())

    def begin_recording(self) -> Outcome:
        """Begin to record."""
        self._node.require_active()
        operator = self._operators['order']
        return Outcome(True, 'Recording.', operator.begin_recording())

    def end_recording(self) -> Outcome:
        """End the recording."""
        answer = self._operators['order'].end_recording()
        return Outcome(
            True, f'{answer.samples} joint states were recorded in {answer.duration:.1f} s, '
            f'{answer.dropped} dropped.', str(answer.recording), float(answer.duration))

    def _ask(self, kind: str, service: Any, name: str, **fields: Any) -> Any:
        self._node.require_active()
        return self._operators[kind].call(service, name, **fields)

    @staticmethod
    def _outcome_of(answer: Any) -> Outcome:
        return Outcome(bool(answer.success), str(answer.message))

    # What takes time

    def play(self, motion: str, speed: float, tell: Tell) -> Outcome:
        """Play a motion that is armed, once nodes have found one another."""
        self._node.require_active()
        self._tells['motion'] = tell
        deadline = time.monotonic() + _FINDING
        tell('Verifying the motion', 0.0)
        while True:
            result = self._operators['motion'].act(
                Excite, f'{EXCITATION}/excite', motion=motion, speed_scale=speed)
            # Only a permission that is refused for that still holds.
            if result.code != ResultCode.NOT_READY or time.monotonic() > deadline:
                break
            tell(f'Waiting: {result.message}', 0.0)
            self._operators['motion'].spin(_REFUSED)
        if not result.success:
            return Outcome(False, f'Not played to its end ({result.code}). {result.message}')
        return Outcome(
            True, f'Played. The robot was within {result.tracking_error:.2g} rad or m of its '
            'command.', seconds=_seconds(result.end) - _seconds(result.begin))

    def identify(self, recordings: tuple[str, ...], validation: str, tell: Tell) -> Outcome:
        """Fit recordings together, and judge the estimate."""
        self._node.require_active()
        self._tells['fit'] = tell
        result = self._operators['fit'].identify(','.join(recordings), validation)
        return Outcome(
            bool(result.committable), f'Estimate {result.estimate}: torque error '
            f'{_percent(result.held_out_relative_error)} on data that was not fitted, '
            f'{_percent(result.prior_relative_error)} by the description.', str(result.estimate))

    def cancel_fit(self) -> None:
        """Ask for the end of a fit that is under way, without waiting."""
        goal = self._operators['fit'].goal
        if goal is not None and goal.result is None:
            goal.cancel()

    def commit(self, estimate: str, shadow: float, comment: str) -> Outcome:
        """Commit an estimate after a shadow test."""
        self._node.require_active()
        answer = self._operators['release'].commit(estimate, shadow, comment)
        kept = ['Not told by the data, as described: ' + ', '.join(answer.kept)]
        compared = [
            f'Shadow test: the estimate predicts torques {_percent(answer.candidate_error)} off, '
            f'the revision before {_percent(answer.current_error)}.']
        return Outcome(True, str(answer.message), str(answer.revision), details=(
            *(compared if shadow else ()), *(kept if answer.kept else ())))

    def roll_back(self, revision: str, comment: str) -> Outcome:
        """Hand out again what an earlier revision held."""
        self._node.require_active()
        operator = self._operators['release']
        answer = operator.call(
            RollbackParameters, f'{MODEL_SERVER}/rollback', revision=revision or self._before(),
            comment=comment)
        return Outcome(True, str(answer.message), str(answer.revision))

    def _before(self) -> str:
        """Id of the revision before the current one."""
        entries = self._state.revisions.entries
        if len(entries) < 2:  # noqa: PLR2004 (the current one, and one before)
            raise RefusedError(ResultCode.UNKNOWN_ID, SysidError(
                'there is no revision before the current one', fix='Commit one first'))
        return entries[1].revision


def _seconds(stamp: Any) -> float:
    return float(stamp.sec + 1e-9 * stamp.nanosec)


def _percent(part: float) -> str:
    return 'unknown' if part != part else f'{100.0 * part:.3g} %'
