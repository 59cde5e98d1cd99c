"""Services and actions whose answer takes time, without keeping the executor from everything else.

What takes time runs in one thread beside the executor. The answer is given by a coroutine that
waits for it, while heartbeats, joint states and other requests are served.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future as Job
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from rclpy.task import Future

from sysid_ros.errors import SysidError
from sysid_ros.msg import ResultCode
from sysid_ros.nodes.node import SysidNode
from sysid_ros.nodes.progress import Progress
from sysid_ros.nodes.refusal import RefusedError
from sysid_ros.nodes.request_action import Grant, RequestAction
from sysid_ros.nodes.waiting import done

Result = TypeVar('Result')

_LOOK = 0.01


class Background:
    """One thread beside the executor of a node, until the node is cleaned up.

    Args:
        node: The node.
    """

    def __init__(self, node: SysidNode[Any]) -> None:
        self._node = node
        self._busy = False
        self._thread = ThreadPoolExecutor(1)
        self._waiting: list[tuple[Job[Any], Future[None]]] = []
        self._timer = node.every(_LOOK, self._collect)
        self._timer.cancel()

    def close(self) -> None:
        """Let the thread end after what it is doing."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def run(self, work: Callable[..., Result], *arguments: Any) -> Result:
        """Do something in the thread.

        Args:
            work: Called with the arguments; it must not touch the node.
            arguments: Passed on.

        Returns:
            What it returns; what it raises is raised here.
        """
        job = self._thread.submit(work, *arguments)
        ended: Future[None] = Future()
        self._waiting.append((job, ended))
        self._timer.reset()
        await done(ended)
        return job.result()

    def serve(self, kind: type, name: str, grant: Grant) -> None:
        """Answer a service by a coroutine, one request at a time; another one is refused.

        Args:
            kind: The service's type, whose response has ``success``, ``code`` and ``message``.
            name: Its name.
            grant: Fills the response from the request; raises as for ``SysidNode.serve``.
        """
        alone = self._alone(grant)

        async def answer(request: Any, response: Any) -> None:
            await alone(request, response, Progress())

        self._node.serve(kind, name, answer)

    def act(
        self, kind: type, name: str, grant: Grant,
        describe: Callable[[Any], None] = lambda _: None,
    ) -> None:
        """Carry out goals of an action by a coroutine, one at a time, services included.

        Args:
            kind: The action's type; see :class:`~sysid_ros.nodes.request_action.RequestAction`.
            name: Its name.
            grant: Fills the result from the goal; raises as for ``SysidNode.serve``.
            describe: Fills in what else the feedback has.
        """
        RequestAction(self._node, kind, name, self._alone(grant), describe)

    def _alone(self, grant: Grant) -> Grant:
        async def alone(request: Any, answer: Any, progress: Progress) -> None:
            if self._busy:
                raise RefusedError(ResultCode.BUSY, SysidError(
                    'another request is being granted', fix='Try again when it is done'))
            self._busy = True
            try:
                await grant(request, answer, progress)
            finally:
                self._busy = False

        return alone

    @property
    def busy(self) -> bool:
        """Whether a request is being granted."""
        return self._busy

    def _collect(self) -> None:
        """Wake coroutines whose work is done; futures are set in the executor's thread only."""
        waiting, self._waiting = self._waiting, []
        for job, ended in waiting:
            if job.done():
                ended.set_result(None)
            else:
                self._waiting.append((job, ended))
        if not self._waiting:
            self._timer.cancel()
