"""Filling the answer to a request, of a service or an action, whatever happens meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from sysid_ros.errors import SysidError
from sysid_ros.msg import ResultCode
from sysid_ros.nodes.refusal import refused, require_short, without_figures


class Granting(Protocol):
    """What grants requests, or is not active."""

    def require_active(self) -> None:
        """Refuse a request unless the node is active.

        Raises:
            RefusedError: It is not.
        """

    def complain(self, error: BaseException) -> None:
        """Log an exception and show it on ``/diagnostics``."""


async def fill_answer(
    node: Granting, request: Any, answer: Any,
    grant: Callable[[Any, Any], Coroutine[Any, Any, None] | None], *, always: bool = False,
) -> None:
    """Fill the answer to a request; what is raised meanwhile becomes the answer.

    Args:
        node: The node that grants it, and complains of what is no ``SysidError``.
        request: The request.
        answer: Has ``success``, ``code`` and ``message``.
        grant: Fills the answer from the request; raises ``SysidError`` to refuse it.
        always: Whether it is granted in every state of the node, not in the active one only.
    """
    without_figures(answer)
    try:
        if not always:
            node.require_active()
        require_short(request)
        answer.success, answer.code = True, ResultCode.OK
        waits = grant(request, answer)
        if waits is not None:
            await waits
    except Exception as error:  # noqa: BLE001 (who asked gets an answer)
        if not isinstance(error, SysidError):
            node.complain(error)
        refused(answer, error)
