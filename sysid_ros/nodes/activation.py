"""When a node becomes active: at once, or as soon as what it loads is there.

Who asks for the active state is answered when it is reached. In rclpy a transition is a callback,
and one that waited would hold up heartbeats and joint states; so the request waits as a coroutine
while the node stays inactive, and a timer looks whether all is loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from lifecycle_msgs.msg import Transition
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.clock import Clock, ClockType
from rclpy.task import Future

from sysid_ros.nodes.waiting import done

_PERIOD = 0.05
# Ids and labels of the transitions that concern it.
_ACTIVATE = (Transition.TRANSITION_ACTIVATE, 'activate')
_DEACTIVATE = (Transition.TRANSITION_DEACTIVATE, 'deactivate')


class Activated(Protocol):
    """A lifecycle node that loads before it becomes active."""

    create_timer: Callable[..., Any]
    trigger_activate: Callable[[], Any]
    _service_change_state: Any

    @property
    def active(self) -> bool:
        """Whether it is active."""

    @property
    def inactive(self) -> bool:
        """Whether it is configured and not active."""

    def load(self) -> None:
        """Begin to load what is missing."""

    def loading(self) -> str:
        """What is missing, in words; empty when nothing is."""

    def guarded(self, callback: Callable[..., Any]) -> Callable[..., Any]:
        """A callback whose exceptions are reported and end nothing else."""


class Activation:
    """Activates a node as soon as :meth:`~sysid_ros.nodes.node.SysidNode.loading` allows it.

    Args:
        node: The node.
    """

    def __init__(self, node: Activated) -> None:
        self._node = node
        self._waiting: list[Future[bool | None]] = []
        self._unanswered = 0
        # By the steady clock: simulated time may stand still.
        self._timer = node.create_timer(
            _PERIOD, node.guarded(self._activate_if_loaded),
            clock=Clock(clock_type=ClockType.STEADY_TIME))
        self._timer.cancel()
        service = node._service_change_state
        self._change_at_once = service.callback
        service.callback = self._change
        # A request that waits must not keep the others of the node waiting.
        service.callback_group = ReentrantCallbackGroup()
        service.callback_group.add_entity(service)

    @property
    def pending(self) -> bool:
        """Whether the node will be active when all is loaded."""
        return bool(self._waiting)

    @property
    def settled(self) -> bool:
        """Whether everybody who asked for it through the service has an answer."""
        return not self._unanswered

    def request(self) -> Future[bool | None]:
        """Ask for the active state.

        Returns:
            Whether the node is active, once that is decided; None when it is not wanted any more.
        """
        decided: Future[bool | None] = Future()
        self._waiting.append(decided)
        self._node.guarded(self._node.load)()
        self._activate_if_loaded()
        return decided

    def withdraw(self) -> None:
        """Leave the node inactive."""
        self._decide(None)

    def _activate_if_loaded(self) -> None:
        """Activate the node if all is loaded."""
        if not self._waiting:
            self._timer.cancel()
        elif self._node.inactive and self._node.loading():
            self._timer.reset()
        else:
            if self._node.inactive:
                self._node.trigger_activate()
            self._decide(self._node.active)

    def _decide(self, outcome: bool | None) -> None:
        waiting, self._waiting = self._waiting, []
        for decided in waiting:
            decided.set_result(outcome)

    async def _change(self, request: Any, response: Any) -> Any:
        """Answer the service ``~/change_state``."""
        wanted = request.transition
        if _is(wanted, _ACTIVATE) and self._node.inactive:
            self._unanswered += 1
            response.success = bool(await done(self.request()))
            self._unanswered -= 1
            return response
        pending = self.pending
        self.withdraw()
        if pending and _is(wanted, _DEACTIVATE):
            response.success = True
            return response
        return self._change_at_once(request, response)


def _is(transition: Transition, known: tuple[int, str]) -> bool:
    # As in rclpy: where there is a label, the id does not count.
    number, label = known
    return bool(transition.label == label if transition.label else transition.id == number)
