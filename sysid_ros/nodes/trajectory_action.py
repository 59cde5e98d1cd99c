"""Trajectories through ``control_msgs/FollowJointTrajectory``, the action of most controllers.

``control_msgs`` is in every ROS distribution but not among the wheels, so it is imported where it
is used.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
from action_msgs.msg import GoalStatus
from action_msgs.srv import CancelGoal
from rclpy.action import ActionClient
from trajectory_msgs.msg import JointTrajectory

from sysid_ros.errors import ConfigurationError
from sysid_ros.nodes.motion_outputs import duration
from sysid_ros.nodes.node import SysidNode

ACTION_TYPE = 'control_msgs/action/FollowJointTrajectory'
#: Longest time until a controller answers to a goal in [s].
ANSWER = 2.0
# The same for a goal that is taken back, and for one that brakes.
_CANCEL = 0.2
# Goals, the newest among them, whose ends are waited for.
_ASKED = 4


def follow_joint_trajectory() -> type:
    """The type of the action.

    Raises:
        ConfigurationError: ``control_msgs`` is not installed.
    """
    try:
        from control_msgs.action import FollowJointTrajectory
    except ImportError as error:
        raise ConfigurationError(
            f'the action cannot be used: {error}', where='output', found='follow_joint_trajectory',
            fix='Install control_msgs of the ROS distribution, or use another output',
        ) from error
    return FollowJointTrajectory


class TrajectoryAction:
    """Trajectories as goals, each of which replaces the one before.

    A stop replaces the goal under way by one that brakes, since a controller whose goal is taken
    back holds the robot where it is, however fast that is. The goal is taken back where the
    controller does not replace goals, refuses or overlooks this one, or is not done with it in
    time, and where nobody knows where the robot is.

    It is a :class:`~sysid_ros.nodes.rolling_trajectory.TrajectorySender`. A goal that was replaced
    is cancelled or aborted by the controller, or its end is never told (joint_trajectory_controller
    of ros2_control does either), and is no failure, unless its code says that a tolerance was
    violated, or somebody else took it back.

    Args:
        node: The node that sends them.
        joints: The n joints.
        action: Name of the action.
        tolerated: Gives, when a motion begins, the farthest from the path and from the goal, shape
            ``(n,)``, in [rad] or [m], and the longest time that the result may come late in [s].
        answer: Longest time until the controller answers to a goal in [s].
        replaces: Whether the controller takes a goal in place of the one under way.

    Raises:
        ConfigurationError: ``control_msgs`` is not installed.
    """

    def __init__(
        self, node: SysidNode[Any], joints: tuple[str, ...], action: str,
        tolerated: Callable[[], tuple[np.ndarray, float]], answer: float = ANSWER, *,
        replaces: bool = True,
    ) -> None:
        self._node, self._joints, self._answer = node, joints, answer
        self._replaces = replaces
        self._kind: Any = follow_joint_trajectory()
        self._tolerated = tolerated
        self._tolerance, self._margin = tolerated()
        self._client = ActionClient(node, self._kind, action)
        node.keep(lambda client: client.destroy() or True, self._client)
        self._name = node.resolve_service_name(action)
        self._all = node.create_client(CancelGoal, f'{action}/_action/cancel_goal')
        node.keep(node.destroy_client, self._all)
        self._number = 0
        self._ends: deque[Any] = deque()
        self._forget()

    def _forget(self) -> None:
        # Goals are numbered. What is said of one before the first of this motion is not heard.
        self._first = self._number + 1
        self._goal: Any = None
        self._accepted = 0
        self._waiting = self._running = self._last = False
        self._sent = self._deadline = self._cancelled = np.inf
        # Number of the goal that brakes, and when it is over; 0 for none.
        self._braking, self._braked = 0, np.inf
        self._failure = ''

    def problem(self) -> str:
        """Why nobody would follow now; empty when somebody does."""
        if self._client.server_is_ready():
            return ''
        # Only servers send feedback. Looked for by name: a node may be gone before it is asked.
        servers = self._node.get_publishers_info_by_topic(f'{self._name}/_action/feedback')
        types = sorted({info.topic_type.removesuffix('_FeedbackMessage') for info in servers})
        if types and ACTION_TYPE not in types:
            return f'The action {self._name} has type {", ".join(types)}; {ACTION_TYPE} is needed.'
        return f'There is no action {self._name}: the controller is absent or inactive.'

    def begin(self, now: float, length: float) -> None:
        """Forget the last motion, and take the tolerances of this one."""
        self._forget()
        self._tolerance, self._margin = self._tolerated()
        self._deadline = now + length + self._margin

    def deliver(self, now: float, trajectory: JointTrajectory, *, last: bool) -> None:
        """Send a goal, with tolerances of its own."""
        self._number += 1
        number, self._sent, self._waiting, self._last = self._number, now, True, last
        future = self._client.send_goal_async(self._kind.Goal(
            trajectory=trajectory, path_tolerance=self._tolerances(),
            goal_tolerance=self._tolerances(), goal_time_tolerance=duration(self._margin),
        ))
        future.add_done_callback(self._node.guarded(
            lambda answered: self._answered(number, answered.result())))

    def taken(self) -> bool:
        """Whether the goal that was sent last was accepted."""
        return self._goal is not None and not self._waiting

    def stop(self, now: float, braking: JointTrajectory | None) -> None:
        """Replace the goal by one that brakes; else take it back, then all, until none is left."""
        if self.finished():
            return
        if braking is not None and self._may_brake():
            self.deliver(now, braking, last=True)
            self._braking, self._braked = self._number, now + _length(braking) + self._margin
        elif not self._brakes(now):
            self._take_back(now)

    def _may_brake(self) -> bool:
        """Whether the controller replaces the goal under way, and was not told to stop yet."""
        told = self._braking > 0 or self._cancelled < np.inf
        return self._replaces and self._running and not (told or self._failure)

    def _brakes(self, now: float) -> bool:
        """Whether the controller has the goal that brakes, or may still take it."""
        if self._braking == 0:
            return False
        if self._accepted == self._braking:
            return now < self._braked
        return self._waiting and now - self._sent < _CANCEL

    def _take_back(self, now: float) -> None:
        if self._cancelled == np.inf:
            self._cancelled = now
            if self.taken():
                self._goal.cancel_goal_async()
                return
        if not self.taken() or now - self._cancelled > _CANCEL:
            self._cancelled = now
            self.cancel_all()

    def cancel_all(self) -> None:
        """Take back all goals of the controller, whoever sent them."""
        if self._all.service_is_ready():
            # An id of zeros at the time zero stands for all goals.
            self._all.call_async(CancelGoal.Request())

    def finished(self) -> bool:
        """Whether the controller has said how the last goal ended."""
        return not (self._waiting or self._running)

    def failure(self, now: float) -> str:
        """Rejected, aborted, no answer, or no result in time."""
        if self._failure or self.finished():
            return self._failure
        if self._waiting and now - self._sent > self._answer:
            return f'{self._name} did not answer within {self._answer} s.'
        if now > self._deadline:
            return (f'{self._name} gave no result within {self._margin:.3g} s after the end of '
                    'the motion.')
        if not self._client.server_is_ready():
            return self.problem()
        return ''

    def _tolerances(self) -> list[Any]:
        from control_msgs.msg import JointTolerance

        return [
            JointTolerance(name=name, position=float(error))
            for name, error in zip(self._joints, self._tolerance, strict=True)
        ]

    def _answered(self, number: int, goal: Any) -> None:
        if number < self._first:
            return
        if number == self._number:
            self._waiting = False
        if goal.accepted:
            self._goal, self._accepted, self._running = goal, number, True
            if self._cancelled < np.inf:
                goal.cancel_goal_async()
            self._ask_for_end(number, goal)
        elif self._goal is None:
            self._failure = (f'{self._name} rejected the motion: its controller is inactive, does '
                             'not take these joints, or has a clock that is not that of this '
                             'computer.')
        else:
            # The last one that it took goes on to its end.
            self._failure = (
                f'{self._name} rejected a goal that was to replace the one under way: set horizon '
                'to 0, and the whole motion is one goal, if its controller never replaces goals.')

    def _ask_for_end(self, number: int, goal: Any) -> None:
        future = goal.get_result_async()
        future.add_done_callback(self._node.guarded(lambda ended: self._hear_end(number, ended)))
        self._ends.append(future)
        if len(self._ends) > _ASKED:
            # Of a goal that was replaced long ago nothing will be told.
            self._ends.popleft().cancel()

    def _hear_end(self, number: int, future: Any) -> None:
        if number >= self._first and not future.cancelled():
            self._ended(number, future.result())

    def _ended(self, number: int, answer: Any) -> None:
        code, replaced = answer.result.error_code, number < self._number
        if number == self._accepted:
            self._running = False
        if answer.status == GoalStatus.STATUS_SUCCEEDED and code == 0:
            if not (replaced or self._last):
                self._failure = (f'{self._name} came to the end of a piece of the motion before it '
                                 'was sent the next one: this computer, or the way, is too slow.')
            return
        if replaced and not self._counts(answer.status, code):
            return
        words = {
            GoalStatus.STATUS_SUCCEEDED: 'failed', GoalStatus.STATUS_ABORTED: 'aborted the motion',
            GoalStatus.STATUS_CANCELED: 'gave the motion up, since it was taken back',
        }
        self._failure = self._failure or (
            f'{self._name} {words.get(answer.status, "ended the motion")}: '
            f'{_code_name(self._kind.Result, code)} ({code}) {answer.result.error_string}'.rstrip()
            + '.'
        )

    def _counts(self, status: int, code: int) -> bool:
        """Whether the end of a goal for which another one was sent is more than that."""
        violated = (
            self._kind.Result.PATH_TOLERANCE_VIOLATED, self._kind.Result.GOAL_TOLERANCE_VIOLATED)
        # A controller that replaces a goal says so in the code, or aborts it; without a code a
        # goal is cancelled for who asked for that.
        return code in violated or (status == GoalStatus.STATUS_CANCELED and code == 0)


def _length(trajectory: JointTrajectory) -> float:
    """Time that a trajectory takes in [s]."""
    last = trajectory.points[-1].time_from_start
    return float(last.sec + 1e-9 * last.nanosec)


def _code_name(result: Any, code: int) -> str:
    """Name of an error code among the constants of the result."""
    names = ('SUCCESSFUL', 'INVALID_GOAL', 'INVALID_JOINTS', 'OLD_HEADER_TIMESTAMP',
             'PATH_TOLERANCE_VIOLATED', 'GOAL_TOLERANCE_VIOLATED')
    return next((name for name in names if getattr(result, name, None) == code), 'unknown code')
