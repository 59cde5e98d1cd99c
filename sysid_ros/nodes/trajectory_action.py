"""Motions through ``control_msgs/FollowJointTrajectory``, the action of most robots' controllers.

``control_msgs`` is in every ROS distribution but not among the wheels, so it is imported where it
is used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from action_msgs.msg import GoalStatus
from action_msgs.srv import CancelGoal
from rclpy.action import ActionClient

from sysid_ros.errors import ConfigurationError
from sysid_ros.excitation.excitation import Motion
from sysid_ros.excitation.playback.checks import Observation
from sysid_ros.excitation.playback.playback import Setpoint
from sysid_ros.excitation.safety.braking import BrakingStop
from sysid_ros.nodes.motion_outputs import duration, trajectory_message
from sysid_ros.nodes.node import SysidNode

ACTION_TYPE = 'control_msgs/action/FollowJointTrajectory'
# Times in [s]: a controller that does not answer to a goal, and to a goal that is taken back.
_ANSWER, _CANCEL = 2.0, 0.2


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
    """The whole motion as a goal; a stop takes it back, and all others if that does not help.

    Args:
        node: The node that sends it.
        joints: The n joints.
        action: Name of the action.
        tolerated: Gives, when a motion begins, the farthest from the path and from the goal, shape
            ``(n,)``, in [rad] or [m], and the longest time that the result may come late in [s].

    Raises:
        ConfigurationError: ``control_msgs`` is not installed.
    """

    holds = streams = False

    def __init__(
        self, node: SysidNode[Any], joints: tuple[str, ...], action: str,
        tolerated: Callable[[], tuple[np.ndarray, float]],
    ) -> None:
        self._node, self._joints = node, joints
        self._kind: Any = follow_joint_trajectory()
        self._tolerated = tolerated
        self._tolerance, self._margin = tolerated()
        self._client = ActionClient(node, self._kind, action)
        node.keep(lambda client: client.destroy() or True, self._client)
        self._name = node.resolve_service_name(action)
        self._all = node.create_client(CancelGoal, f'{action}/_action/cancel_goal')
        node.keep(node.destroy_client, self._all)
        self._forget()

    def _forget(self) -> None:
        self._goal: Any = None
        self._sent = self._deadline = self._cancelled = np.inf
        self._over, self._failure = True, ''

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

    def begin(self, now: float, path: Motion) -> None:
        """Send the goal, with tolerances of its own."""
        self._forget()
        self._over = False
        self._tolerance, self._margin = self._tolerated()
        self._sent, self._deadline = now, now + float(path.t[-1]) + self._margin
        future = self._client.send_goal_async(self._kind.Goal(
            trajectory=trajectory_message(self._joints, path),
            path_tolerance=self._tolerances(), goal_tolerance=self._tolerances(),
            goal_time_tolerance=duration(self._margin),
        ))
        future.add_done_callback(self._node.guarded(self._answered))

    def begun(self) -> bool:
        """Whether the goal was accepted."""
        return self._goal is not None

    def send(self, now: float, point: Setpoint, seen: Observation) -> None:
        """The controller has it all."""

    def stop(self, now: float, stop: BrakingStop | None) -> None:
        """Take the goal back, then all goals, again and again until none is left."""
        if self._over:
            return
        if self._cancelled == np.inf:
            self._cancelled = now
            if self._goal is not None:
                self._goal.cancel_goal_async()
                return
        if self._goal is None or now - self._cancelled > _CANCEL:
            self._cancelled = now
            self.cancel_all()

    def cancel_all(self) -> None:
        """Take back all goals of the controller, whoever sent them."""
        if self._all.service_is_ready():
            # An id of zeros at the time zero stands for all goals.
            self._all.call_async(CancelGoal.Request())

    def finished(self) -> bool:
        """Whether the controller has said how it ended."""
        return self._over

    def failure(self, now: float) -> str:
        """Rejected, aborted, no answer, or no result in time."""
        if self._failure or self._over:
            return self._failure
        if self._goal is None and now - self._sent > _ANSWER:
            return f'{self._name} did not answer within {_ANSWER} s.'
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

    def _answered(self, future: Any) -> None:
        goal = future.result()
        if not goal.accepted:
            self._over = True
            self._failure = (f'{self._name} rejected the motion: its controller is inactive, or '
                             'does not take these joints.')
            return
        self._goal = goal
        goal.get_result_async().add_done_callback(self._node.guarded(self._ended))

    def _ended(self, future: Any) -> None:
        self._over = True
        answer = future.result()
        if answer.status == GoalStatus.STATUS_SUCCEEDED and answer.result.error_code == 0:
            return
        words = {
            GoalStatus.STATUS_SUCCEEDED: 'failed', GoalStatus.STATUS_ABORTED: 'aborted the motion',
            GoalStatus.STATUS_CANCELED: 'gave the motion up, since it was taken back',
        }
        self._failure = (
            f'{self._name} {words.get(answer.status, "ended the motion")}: '
            f'{_code_name(self._kind.Result, answer.result.error_code)} '
            f'({answer.result.error_code}) {answer.result.error_string}'.rstrip() + '.'
        )


def _code_name(result: Any, code: int) -> str:
    """Name of an error code among the constants of the result."""
    names = ('SUCCESSFUL', 'INVALID_GOAL', 'INVALID_JOINTS', 'OLD_HEADER_TIMESTAMP',
             'PATH_TOLERANCE_VIOLATED', 'GOAL_TOLERANCE_VIOLATED')
    return next((name for name in names if getattr(result, name, None) == code), 'unknown code')
