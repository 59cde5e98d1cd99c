"""A client of the nodes of one robot: excites, records, identifies and commits through them.

Names are relative to the namespace of the node that it talks through. What the demonstration and a
person at a terminal do is put together from these steps (:mod:`sysid_ros.nodes.demo_operator`,
:mod:`sysid_ros.nodes.guided_run`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import Any

from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rclpy.action import ActionClient
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from std_srvs.srv import SetBool, Trigger

from sysid_ros.action import Excite, Identify
from sysid_ros.data_folder import new_id
from sysid_ros.errors import SysidError
from sysid_ros.msg import ExcitationStatus, ResultCode
from sysid_ros.nodes.refusal import RefusedError
from sysid_ros.nodes.requests import AGAIN, GoalRequest, ServiceRequest, repeatable
from sysid_ros.srv import (
    CommitParameters,
    GetRevision,
    RollbackParameters,
    StartIdentification,
    StopIdentification,
)

#: Nodes that a loop needs.
NODES = ('monitor_node', 'excitation_node', 'identification_node', 'model_server')
_STOP = 'excitation_node/stop'
_MOVING = (ExcitationStatus.BLENDING, ExcitationStatus.PLAYING, ExcitationStatus.STOPPING)
# What a robot may take after a motion to come to rest, longest wait for a state, and times after
# which what was refused, and a stop that got no answer, are asked for again, in [s].
_SETTLING, _STATE, _REFUSED, _UNHEARD = 10.0, 5.0, 0.5, 0.5
# Longest wait of an executor for something to do in [s].
_TURN = 0.02
# States that transitions of a lifecycle lead to.
_REACHED = {
    Transition.TRANSITION_CONFIGURE: 'inactive', Transition.TRANSITION_ACTIVATE: 'active',
    Transition.TRANSITION_DEACTIVATE: 'inactive', Transition.TRANSITION_CLEANUP: 'unconfigured',
}


class Operator:
    """Steps of the loop; each ends when the nodes have answered.

    Args:
        node: Node to talk through.
        patience: Longest wait in [s] for an answer that is not a motion or a fit.
        poll: Called again and again while something is waited for.
        feedback: Is told the feedback of motions and fits.
        again: Time in [s] after which what got no answer is asked for again, where that does no
            harm.
        spun: Whether somebody else runs an executor of the node, in another thread.

    Attributes:
        goal: The motion or fit that was asked for last; None before.
        node: The node.
        exciting: Whether a motion was asked for whose end is not known.
        spinning: Whether its executor is at work, which an exception of a signal would leave in the
            middle of an answer.
        recording: Whether a recording is under way.
    """

    def __init__(
        self, node: Node, patience: float, *, poll: Callable[[], None] = lambda: None,
        feedback: Callable[[Any], None] = lambda _: None, again: float = AGAIN,
        spun: bool = False,
    ) -> None:
        self.node, self._patience, self._again = node, patience, again
        self._poll, self._feedback = poll, feedback
        assert node.context is not None
        self.spinning = False
        self._executor = None if spun else SingleThreadedExecutor(context=node.context)
        if self._executor is not None:
            self._executor.add_node(node)
        self._clients: dict[str, Any] = {}
        self._actions: dict[str, ActionClient[Any, Any, Any]] = {}
        self.goal: GoalRequest | None = None
        # A stop must not wait until its service is found.
        self._client(Trigger, _STOP)
        self.exciting = self.recording = False

    # Steps

    def wait_for_nodes(self, names: tuple[str, ...] = NODES, seconds: float | None = None) -> None:
        """Wait until nodes are there and active.

        Args:
            names: Their names.
            seconds: Longest wait for all of them in [s]; by default three times the patience:
                where nothing was compiled ahead, they compile first.

        Raises:
            SysidError: One is absent, or does not become active.
        """
        deadline = time.monotonic() + (3.0 * self._patience if seconds is None else seconds)
        for name in names:
            self.wait(
                lambda: self._state(name) == 'active', f'{name} to be active',  # noqa: B023
                max(deadline - time.monotonic(), 1.0),
                fix='Start the nodes: ros2 launch sysid_ros identify.launch.py; a node says on '
                '/diagnostics what it waits for')

    def _state(self, name: str) -> str:
        """Lifecycle state of a node; empty where it does not say."""
        client = self._client(GetState, f'{name}/get_state')
        if not client.service_is_ready():
            return ''
        request = ServiceRequest(client, GetState.Request(), again=self._again)
        deadline = time.monotonic() + _STATE
        while not request.poll() and time.monotonic() < deadline:
            self.spin(0.0)
        request.drop()
        return str(request.answer.current_state.label) if request.answered else ''

    def reset_monitor(self) -> str:
        """Reset the monitor, as soon as the robot has come to rest; what it had found, in words.

        Raises:
            SysidError: It refuses.
        """
        deadline = time.monotonic() + _SETTLING
        while not (answer := self.ask(Trigger, 'monitor_node/reset')).success:
            if time.monotonic() > deadline:
                raise SysidError('the monitor refused to be reset', fix=answer.message.rstrip('.'))
            self.spin(0.2)
        return str(answer.message)

    def excite(self, *, speed: float = 1.0, seconds: float | None = None, **motion: str) -> Any:
        """Arm, play a motion once, and wait for its end.

        Args:
            speed: Part of the speed that it was designed for.
            seconds: How long to ask again while nodes are finding one another in [s]; by default
                the patience.
            motion: ``motion``, the id of a motion of the excitation node, or ``motion_yaml``.

        Returns:
            The result of the action, which need not be a success.

        Raises:
            SysidError: A node does not answer, or refuses to be armed.
        """
        deadline = time.monotonic() + (self._patience if seconds is None else seconds)
        while True:
            self.call(SetBool, 'excitation_node/arm', data=True)
            self.exciting = True
            result = self.act(Excite, 'excitation_node/excite', speed_scale=speed, **motion)
            self.exciting = False
            if result.code != ResultCode.NOT_READY or time.monotonic() > deadline:
                return result
            self.spin(_REFUSED)

    def begin_recording(self, name: str = '') -> str:
        """Begin to record; the id of the recording.

        Raises:
            SysidError: It is refused.
        """
        # One that has a name may be asked for again.
        answer = self.call(
            StartIdentification, 'identification_node/start',
            recording=name or new_id('recording'))
        self.recording = True
        return str(answer.recording)

    def end_recording(self) -> Any:
        """End the recording; the answer, with what it holds.

        Raises:
            SysidError: It could not be written.
        """
        answer = self.call(StopIdentification, 'identification_node/stop')
        self.recording = False
        return answer

    def identify(self, recording: str, validation: str = '', estimator: str = '') -> Any:
        """Fit a recording; the result of the action.

        Raises:
            SysidError: There is no estimate.
        """
        result = self.act(
            Identify, 'identification_node/identify', recording=recording, validation=validation,
            estimator=estimator)
        if not result.success:
            raise RefusedError(result.code, SysidError(
                'there is no estimate', found=result.code, fix=result.message.rstrip('.')))
        return result

    def commit(self, estimate: str, shadow_duration: float, comment: str) -> Any:
        """Commit an estimate after a shadow test; the answer.

        Raises:
            SysidError: It is refused.
        """
        return self.call(
            CommitParameters, 'model_server/commit', estimate=estimate,
            shadow_duration=shadow_duration, comment=comment)

    def roll_back(self, comment: str) -> Any:
        """Hand out again what the revision before the current one held; the answer.

        Raises:
            SysidError: It is refused.
        """
        current = self.call(GetRevision, 'model_server/get_revision').info
        return self.call(
            RollbackParameters, 'model_server/rollback', revision=current.parent, comment=comment)

    def change_state(self, name: str, transition: int) -> None:
        """Have a node make a transition of its lifecycle.

        Args:
            name: Its name.
            transition: Id of the transition, one of those of ``lifecycle_msgs/Transition``.

        Raises:
            SysidError: It does not make it.
        """
        answer = self.ask(
            ChangeState, f'{name}/change_state', transition=Transition(id=transition))
        # Asked for twice, it was made the first time.
        if not answer.success and self._state(name) != _REACHED[transition]:
            raise SysidError('a node does not change its state', where=name)

    def stop(self) -> bool:
        """Stop the motion and end the recording that are under way; whether the robot rests.

        Raises:
            SysidError: A node does not answer.
        """
        resting = not self.exciting or self._stop_motion()
        if self.recording:
            self.ask(StopIdentification, 'identification_node/stop')
            self.recording = False
        return resting

    def close(self) -> None:
        """Let go of the executor, or of what it looks at; the node may be destroyed then."""
        if self._executor is not None:
            self._executor.shutdown()
            return
        for action in self._actions.values():
            action.destroy()
        for client in self._clients.values():
            self.node.destroy_client(client)

    def prepare(self, services: Mapping[str, Any], actions: Mapping[str, Any]) -> None:
        """Make clients ahead, of types by names: nodes have found one another when needed."""
        for name, kind in services.items():
            self._client(kind, name)
        for name, kind in actions.items():
            self._action(kind, name)

    def _stop_motion(self) -> bool:
        phases: list[int] = []
        status = self.node.create_subscription(
            ExcitationStatus, 'excitation_node/status',
            lambda message: phases.append(message.phase), 1)
        try:
            self.ask(Trigger, _STOP, again=_UNHEARD)
            phases.clear()
            deadline = time.monotonic() + _SETTLING
            while not phases or phases[-1] in _MOVING:
                if time.monotonic() > deadline:
                    return False
                self.spin(0.0)
            self.exciting = False
            return True
        finally:
            self.node.destroy_subscription(status)

    # Talking to nodes

    def call(self, kind: Any, name: str, **fields: Any) -> Any:
        """Ask a service whose answer must be a success, while nodes are finding one another.

        Raises:
            SysidError: It refuses, or does not answer.
        """
        deadline, passing = time.monotonic() + self._patience, [ResultCode.NOT_READY]
        while not (answer := self.ask(kind, name, **fields)).success:
            code = getattr(answer, 'code', None)
            if code in passing and time.monotonic() < deadline:
                # What was asked for before, and again, may still be on its way to a refusal.
                passing = [ResultCode.NOT_READY, ResultCode.BUSY]
                self.spin(_REFUSED)
                continue
            raise RefusedError(code or ResultCode.NOT_READY, SysidError(
                f'{name} refused', found=code, fix=answer.message.rstrip('.')))
        return answer

    def ask(self, kind: Any, name: str, *, again: float | None = None, **fields: Any) -> Any:
        """The answer of a service, asked for again where that does no harm.

        Args:
            kind: The service's type.
            name: Its name.
            again: Time in [s] without an answer after which it is; by default the operator's.
            fields: Fields of the request.

        Raises:
            SysidError: There is none.
        """
        client, asked = self._client(kind, name), kind.Request(**fields)
        self.wait(client.service_is_ready, f'the service {name}')
        once = not repeatable(kind, asked)
        request = ServiceRequest(
            client, asked, again=math.inf if once else again or self._again)
        try:
            self.wait(request.poll, f'an answer of {name}', fix=(
                'It may have been granted: see what holds now before you ask again' if once
                else None))
        except SysidError:
            if request.answer is None:
                raise
        finally:
            request.drop()
        return request.answer

    def _client(self, kind: Any, name: str) -> Any:
        if name not in self._clients:
            self._clients[name] = self.node.create_client(kind, name)
        return self._clients[name]

    def act(self, kind: Any, name: str, **fields: Any) -> Any:
        """A goal's result, however long it takes; the servers bound it.

        Raises:
            SysidError: There is no such action, or its node is gone.
        """
        client = self._action(kind, name)
        try:
            self.wait(client.server_is_ready, f'the action {name}')
            request = self.goal = GoalRequest(
                client, name, kind.Goal(**fields),
                lambda message: self._feedback(message.feedback), again=self._again)
            self.wait(lambda: request.poll() or request.accepted, f'an answer of {name}')
            while not request.poll():
                if not client.server_is_ready():
                    raise SysidError(
                        f'{name} is gone', fix='See what its node printed, and start it again')
                self.spin(0.1)
            return request.result
        finally:
            # One that another thread looks at stays.
            if self._executor is not None:
                self._actions.pop(name).destroy()

    def _action(self, kind: Any, name: str) -> ActionClient[Any, Any, Any]:
        if name not in self._actions:
            self._actions[name] = ActionClient(self.node, kind, name)
        return self._actions[name]

    def wait(
        self, condition: Callable[[], Any], what: str, seconds: float | None = None, *,
        fix: str | None = None,
    ) -> None:
        """Wait for a condition.

        Args:
            condition: Called again and again.
            what: What is waited for, in words.
            seconds: Longest wait in [s]; by default the patience.
            fix: What helps where it is over.

        Raises:
            SysidError: The time is over.
        """
        deadline = time.monotonic() + (self._patience if seconds is None else seconds)
        while not condition():
            if time.monotonic() > deadline:
                raise SysidError(f'waited in vain for {what}', fix=fix)
            self.spin(0.0)

    def spin(self, seconds: float) -> None:
        """Hear what is said for a time in [s], once at least."""
        end = time.monotonic() + seconds
        while True:
            if self._executor is None:
                time.sleep(_TURN)
            else:
                self.spinning = True
                try:
                    self._executor.spin_once(timeout_sec=_TURN)
                finally:
                    self.spinning = False
            self._poll()
            if time.monotonic() >= end:
                return
