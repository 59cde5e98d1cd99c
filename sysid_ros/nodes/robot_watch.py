"""Whether the robot is at rest, and what it did in the last seconds."""

from __future__ import annotations

from typing import Any

import numpy as np

from sysid_ros.errors import SysidError
from sysid_ros.msg import ResultCode
from sysid_ros.nodes.joint_state_feed import JointStateFeed
from sysid_ros.nodes.node import SysidNode, now
from sysid_ros.nodes.refusal import RefusedError
from sysid_ros.recording.live.joint_states import LiveSettings
from sysid_ros.recording.live.window import LiveWindow
from sysid_ros.robot.model import RobotModel

_POLL_PERIOD = 0.05
# Joint states older than this say nothing of now, in [s].
_STALE = 0.5
# How long joints have to stay where they are, in [s].
_REST = 0.2


class RobotWatch:
    """Joint states of a robot, from ``configure`` of a node to its clean-up.

    Args:
        node: Node that subscribes.
        robot: The robot.
        topic: Topic of ``sensor_msgs/JointState``.
        settings: How joint states are taken in, and for how long they are kept.
        effort_topic: Topic that carries the efforts, if another one.
    """

    def __init__(
        self, node: SysidNode[Any], robot: RobotModel, topic: str, settings: LiveSettings,
        effort_topic: str = '',
    ) -> None:
        continuous = frozenset(
            name for name, kind in zip(robot.joint_names, robot.joint_types, strict=True)
            if kind == 'continuous')
        self._feed = JointStateFeed(
            node, robot.joint_names, topic=topic, continuous=continuous, settings=settings)
        self._efforts = JointStateFeed(
            node, robot.joint_names, topic=effort_topic, settings=settings, quantities=('effort',),
        ) if effort_topic else None
        node.every(_POLL_PERIOD, self._poll)

    def problem(self) -> str:
        """Why nothing can be received, in words; empty when nothing is in the way."""
        efforts = '' if self._efforts is None else self._efforts.qos_problem()
        return self._feed.qos_problem() or efforts

    def window(self) -> LiveWindow:
        """All joint states that are kept."""
        self._poll()
        return LiveWindow.heard(
            self._feed.live, None if self._efforts is None else self._efforts.live)

    def _poll(self) -> None:
        self._feed.poll()
        if self._efforts is not None:
            self._efforts.poll()

    def require_rest(self, velocity: float) -> None:
        """Refuse something that must not be done while the robot moves.

        Args:
            velocity: Slower joints are at rest, in [rad/s] or [m/s].

        Raises:
            RefusedError: A joint moves, or it is not known whether one does.
        """
        live = self._feed.poll()
        age = live.age(now())
        t, q, _, _ = live.window(_REST)
        if live.latest is None or age > _STALE or t[-1] - t[0] < 0.5 * _REST:
            missing = ', '.join(live.missing)
            raise RefusedError(ResultCode.NOT_READY, SysidError(
                'it is not known whether the robot moves', where=self._feed.topic,
                found=f'nothing of {missing}' if missing else f'nothing for {age:.2g} s',
                allowed=f'joint states not older than {_STALE:g} s',
                fix=self.problem().rstrip('.') or 'See that joint states are published, or set '
                'pending to commit nevertheless'))
        speed = np.ptp(q, axis=0) / _REST
        fastest = int(np.argmax(speed))
        if speed[fastest] > velocity:
            raise RefusedError(ResultCode.ROBOT_MOVING, SysidError(
                'parameters do not change under a moving robot',
                where=f'joint {live.joints[fastest]}', found=f'{speed[fastest]:.3g} rad/s or m/s',
                allowed=f'{velocity:g}', fix='Wait until it is at rest, or set pending: consumers '
                'then take the revision over when they can'))
