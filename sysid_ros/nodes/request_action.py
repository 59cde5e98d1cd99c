"""An action whose goals are requests as those of a service, with feedback, and can be cancelled."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from rclpy.action import ActionServer, CancelResponse, GoalResponse

from sysid_ros.msg import ResultCode
from sysid_ros.nodes.answers import fill_answer
from sysid_ros.nodes.node import RESULTS_KEPT, SysidNode
from sysid_ros.nodes.progress import Progress

if TYPE_CHECKING:
    from typing import TypeAlias

    from rclpy.action.server import ServerGoalHandle

    Handle: TypeAlias = ServerGoalHandle[Any, Any, Any]

# Between two looks for feedback, in [s].
_PERIOD = 0.05

#: Fills the answer to a request, and says how far it is.
Grant = Callable[[Any, Any, Progress], Coroutine[Any, Any, None]]


class RequestAction:
    """Offers an action from ``configure`` of a node to its clean-up.

    Its result has ``success``, ``code`` and ``message``, its feedback ``stage`` and ``progress``.

    Args:
        node: The node.
        kind: The action's type.
        name: Its name.
        grant: Fills the result from the goal; raises as for ``SysidNode.serve``.
        describe: Fills in what else the feedback has.
    """

    def __init__(
        self, node: SysidNode[Any], kind: Any, name: str, grant: Grant,
        describe: Callable[[Any], None] = lambda _: None,
    ) -> None:
        self._node, self._kind = node, kind
        self._grant, self._describe = grant, describe
        self._goals: dict[bytes, tuple[Handle, Progress]] = {}
        node.keep(_destroyed, ActionServer(
            node, kind, name, self._execute, goal_callback=_accept,
            handle_accepted_callback=self._begin, cancel_callback=self._cancel,
            result_timeout=RESULTS_KEPT))
        self._timer = node.every(_PERIOD, self._feed_back)
        self._timer.cancel()

    def _begin(self, handle: Handle) -> None:
        self._goals[_key(handle)] = (handle, Progress())
        self._timer.reset()
        handle.execute()

    def _cancel(self, handle: Handle) -> CancelResponse:
        _, progress = self._goals.get(_key(handle), (None, None))
        # A result that stands, or is being written, is not taken back.
        if progress is None or not progress.withdraw():
            return CancelResponse.REJECT
        return CancelResponse.ACCEPT

    async def _execute(self, handle: Handle) -> Any:
        key, result = _key(handle), self._kind.Result()
        _, progress = self._goals[key]

        async def work(request: Any, answer: Any) -> None:
            await self._grant(request, answer, progress)

        await fill_answer(self._node, handle.request, result, work)
        self._feed_back()
        del self._goals[key]
        if result.success:
            handle.succeed()
        elif handle.is_cancel_requested and result.code == ResultCode.CANCELLED:
            handle.canceled()
        else:
            handle.abort()
        return result

    def _feed_back(self) -> None:
        """Publish what has been said since the last look."""
        for handle, progress in self._goals.values():
            for stage, part in progress.new_reports():
                feedback = self._kind.Feedback(stage=stage, progress=part)
                self._describe(feedback)
                handle.publish_feedback(feedback)
        if not self._goals:
            self._timer.cancel()


def _key(handle: Handle) -> bytes:
    return bytes(handle.goal_id.uuid)


def _accept(_: Any) -> GoalResponse:
    # A rejection could not say why; the result does.
    return GoalResponse.ACCEPT


def _destroyed(server: ActionServer[Any, Any, Any]) -> bool:
    server.destroy()
    return True
