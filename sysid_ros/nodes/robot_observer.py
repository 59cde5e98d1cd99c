"""What an excitation sees of the robot and of its monitor, put together at every tick."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from rclpy.qos import QoSProfile, ReliabilityPolicy

from sysid_ros.excitation.playback.checks import Observation
from sysid_ros.msg import Heartbeat
from sysid_ros.nodes.joint_state_feed import JointStateFeed
from sysid_ros.nodes.node import HEARTBEAT_TOPIC, SysidNode, now
from sysid_ros.robot.model import RobotModel

# Time in [s] between looks at who publishes, and how often.
_GRAPH = 0.2
#: Room for the heartbeats of many nodes between two looks.
BEATS = QoSProfile(depth=100, reliability=ReliabilityPolicy.BEST_EFFORT)


class RobotObserver:
    """Joint states, who publishes them, and the monitor's signs of life.

    Args:
        node: The node that listens.
        robot: The robot.
        topic: Topic of the joint states.
        monitor: Name of the monitor's node, relative to the namespace of the node; None for a
            node that has no monitor.

    Attributes:
        feed: The joint states.
        monitor_fault: What the monitor has found; empty when all is well.
        unheard: Why joint states are not received although they are published.
    """

    def __init__(
        self, node: SysidNode[Any], robot: RobotModel, topic: str, monitor: str | None
    ) -> None:
        self.feed = JointStateFeed(node, robot.joint_names, topic=topic, continuous={
            name for name, kind in zip(robot.joint_names, robot.joint_types, strict=True)
            if kind == 'continuous'
        })
        self.monitor_fault = self.unheard = ''
        self._monitor_heard = self._looked = -np.inf
        self._publishers, self._rate = 0, float('nan')
        self._unknown = np.full(len(robot.joint_names), np.nan)
        self._monitor = '' if monitor is None else node.absolute_name(monitor)
        # Every node of a robot beats: taken when it is time to look, not one by one.
        self._heartbeats = node.poll(Heartbeat, HEARTBEAT_TOPIC, BEATS) if self._monitor else None

    @property
    def monitor_silence(self) -> float:
        """Time since the monitor was heard in [s]; infinite before, zero where there is none."""
        return now() - self._monitor_heard if self._monitor else 0.0

    def seen(self, late: float = 0.0) -> Observation:
        """What is known now.

        Args:
            late: Time by which the tick is late in [s].
        """
        live, moment = self.feed.poll(), now()
        for heartbeat, received in [] if self._heartbeats is None else self._heartbeats.take():
            self._hear(heartbeat, moment - 1e-9 * max(time.time_ns() - received, 0))
        if moment - self._looked > _GRAPH:
            self._looked = moment
            self._publishers, self._rate = self.feed.publishers(), live.rate
            self.unheard = self.feed.qos_problem() if live.missing else ''
        sample = live.latest
        return Observation(
            q=self._unknown if sample is None else sample.q,
            v=self._unknown if sample is None else live.velocities(),
            effort=self._unknown if sample is None else sample.tau,
            age=live.age(moment), rate=self._rate, missing=live.missing,
            bad_in_a_row=live.bad_in_a_row, lost_efforts=live.lost_efforts, stuck=live.stuck,
            clock_resets=live.clock_resets, publishers=self._publishers, unheard=self.unheard,
            monitor_silence=self.monitor_silence, monitor_fault=self.monitor_fault, late=late,
        )

    def _hear(self, heartbeat: Heartbeat, received: float) -> None:
        if heartbeat.node != self._monitor:
            return
        self._monitor_heard, self.monitor_fault = received, ''
        if heartbeat.state == Heartbeat.ERROR:
            self.monitor_fault = heartbeat.message or 'It reports an error.'
        elif heartbeat.state == Heartbeat.INACTIVE:
            self.monitor_fault = 'It is not active.'
