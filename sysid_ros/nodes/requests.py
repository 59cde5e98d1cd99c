"""Requests to nodes, sent again where no answer comes.

A node answers at once, but its answer is lost where its middleware has not found the client yet
(rmw_fastrtps: "failed to send response (timeout): client will not receive response"), as happens on
a busy machine while nodes are finding one another. So what may be granted twice is asked for again.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from action_msgs.msg import GoalInfo, GoalStatus
from lifecycle_msgs.srv import ChangeState, GetState
from rcl_interfaces.srv import GetParameters
from std_srvs.srv import SetBool, Trigger

from sysid_ros.errors import SysidError
from sysid_ros.msg import ResultCode
from sysid_ros.srv import (
    AcknowledgeRevision,
    CommitParameters,
    GetRevision,
    IdentifyPayload,
    ListRevisions,
    RollbackParameters,
    StartIdentification,
    StopIdentification,
)

if TYPE_CHECKING:
    from rclpy.action import ActionClient

#: Time in [s] after which a request that got no answer is sent again.
AGAIN = 2.0
# Queries, and requests after which all is the same whether they were granted once or twice: an
# estimate that is committed already gives its revision; arm, stop and reset say how things are to
# be. A transition of a lifecycle is refused the second time, when the state tells that it was made.
_REPEATABLE = (
    AcknowledgeRevision, ChangeState, CommitParameters, GetParameters, GetRevision, GetState,
    IdentifyPayload, ListRevisions, SetBool, StopIdentification, Trigger,
)
# Repeatable where the request says which: without a name the second one is of another thing.
_REPEATABLE_BY_NAME = {StartIdentification: 'recording', RollbackParameters: 'revision'}
_ENDED = (
    GoalStatus.STATUS_SUCCEEDED, GoalStatus.STATUS_CANCELED, GoalStatus.STATUS_ABORTED)


def repeatable(kind: Any, request: Any) -> bool:
    """Whether a request of a service may be granted twice without harm.

    Args:
        kind: The service's type.
        request: The request.
    """
    named = _REPEATABLE_BY_NAME.get(kind)
    return kind in _REPEATABLE or (named is not None and bool(getattr(request, named)))


class ServiceRequest:
    """One request of a service, from when it is sent until it is answered.

    Args:
        client: Client of a service that is ready.
        request: The request.
        again: Time in [s] after which it is sent again; infinite where it must not be.

    Attributes:
        answer: The answer; None before. To a request that is repeated "busy" may be said since
            the first one is being granted: that is an answer only where no other one comes.
        answered: Whether the answer is final.
    """

    def __init__(self, client: Any, request: Any, *, again: float = AGAIN) -> None:
        self._client, self._request, self._again = client, request, again
        self.answer: Any = None
        self.answered = False
        self._futures: list[Any] = []
        self._first = self._send()

    def poll(self) -> bool:
        """Take an answer, or send the request again when it is due; whether it is answered."""
        for future in [future for future in self._futures if future.done()]:
            self._futures.remove(future)
            self.answer = future.result()
            busy = getattr(self.answer, 'code', '') == ResultCode.BUSY
            if future is self._first or not busy:
                self.answered = True
                self.drop()
                return True
        if time.monotonic() - self._sent > self._again and self._client.service_is_ready():
            self._send()
        return self.answered

    @property
    def expired(self) -> bool:
        """Whether it was answered long enough ago to ask anew what was refused."""
        return self.answered and time.monotonic() - self._sent > self._again

    def drop(self) -> None:
        """Wait for no answer any more."""
        for future in self._futures:
            self._client.remove_pending_request(future)
        self._futures.clear()

    def _send(self) -> Any:
        self._sent = time.monotonic()
        self._futures.append(self._client.call_async(self._request))
        return self._futures[-1]


class GoalRequest:
    """One goal of an action, from when it is sent until its result is there.

    A goal is sent again under the id that it has, by which its server knows it, so that it is
    carried out once; a result is asked for again when the goal has ended.

    Args:
        client: Client of an action whose server is ready.
        name: Name of the action, for errors.
        goal: The goal.
        feedback: Is told the feedback.
        again: Time in [s] after which something is sent again.

    Attributes:
        accepted: Whether the server has said that it has the goal.
        result: The result; None before.
    """

    def __init__(
        self, client: ActionClient[Any, Any, Any], name: str, goal: Any,
        feedback: Callable[[Any], None], *, again: float = AGAIN,
    ) -> None:
        self._client, self._name = client, name
        self._goal, self._feedback = goal, feedback
        self._again, self._id = again, _random_id()
        self.accepted, self.result = False, None
        self._handle: Any = None
        self._answers: list[Any] = []
        self._results: list[Any] = []
        self._send()

    def poll(self) -> bool:
        """Take answers, or send again what is due; whether the result is there.

        Raises:
            SysidError: The server rejects the goal, or has forgotten it.
        """
        if not self.accepted:
            self._take_answer()
        elif self.result is None:
            self._take_result()
        return self.result is not None

    def cancel(self) -> None:
        """Ask the server to end it, without waiting; its result says whether it did."""
        if self._handle is not None and self._handle.accepted:
            self._handle.cancel_goal_async()

    def _take_answer(self) -> None:
        answers = [future.result() for future in self._answers if future.done()]
        if answers:
            # Once sent again, it is rejected because it is there.
            self._handle, self.accepted = answers[-1], True
            if not self._handle.accepted and len(self._answers) == 1:
                raise SysidError(
                    'the goal was rejected', where=self._name,
                    fix='See the log of the node that was asked')
            self._ask()
        elif self._due:
            self._send()

    def _take_result(self) -> None:
        answers = [future.result() for future in self._results if future.done()]
        if answers:
            if answers[-1].status not in _ENDED:
                raise SysidError(
                    'the goal is not known', where=self._name,
                    fix='Its node was started anew: begin again')
            self.result = answers[-1].result
        elif self._handle.accepted and self._handle.status not in _ENDED:
            self._sent = time.monotonic()
        elif self._due:
            # It has ended, or was sent again, and nothing is heard of it.
            self._ask()

    @property
    def _due(self) -> bool:
        return time.monotonic() - self._sent > self._again and self._client.server_is_ready()

    def _send(self) -> None:
        self._sent = time.monotonic()
        self._answers.append(self._client.send_goal_async(
            self._goal, feedback_callback=self._feedback, goal_uuid=self._id))

    def _ask(self) -> None:
        self._sent = time.monotonic()
        self._results.append(self._handle.get_result_async())


def _random_id() -> Any:
    goal_id = GoalInfo().goal_id
    goal_id.uuid = list(uuid.uuid4().bytes)
    return goal_id
