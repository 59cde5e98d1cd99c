"""A robot that does exactly what it is told, and a monitor that finds nothing, for tests."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import rclpy
import yaml
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from sysid_ros.excitation.configuration import ExcitationPlan
from sysid_ros.excitation.design.basis import FourierBasis
from sysid_ros.excitation.excitation import Excitation
from sysid_ros.excitation.files import excitation_yaml
from sysid_ros.msg import Heartbeat

RATE = 100.0


class Actor:
    """A node in a thread of its own, so that it goes on while a test does not look."""

    def __init__(self, ros, name):
        self.node = Node(name, context=ros.context)
        self._executor = SingleThreadedExecutor(context=ros.context)
        self._executor.add_node(self.node)
        self._ended = False
        self._thread = threading.Thread(target=self._spin, daemon=True)

    def begin(self):
        self._thread.start()
        return self

    def _spin(self):
        while not self._ended:
            try:
                self._executor.spin_once(timeout_sec=0.05)
            except ExternalShutdownException:
                return

    def end(self):
        self._ended = True
        self._thread.join()
        self._executor.shutdown()
        self.node.destroy_node()


class IdealRobot(Actor):
    """Follows ``reference`` and ``position_commands`` at once; says so 100 times a second.

    Attributes:
        q: Where it is.
        v: How fast it is.
        told: Set-points it was told, as (positions, velocities).
        silent: Whether it publishes nothing.
        mute: Joints that it says nothing of.
        offset: Added to the positions it publishes.
        drift: Added to the velocities it publishes.
        numb: Whether it does not move.
        shift: Added to its stamps in [s].
        effort: Its torques in [N·m].
    """

    def __init__(self, ros, joints, name='ideal_robot', *, listens=True):
        super().__init__(ros, name)
        self.joints = list(joints)
        self.rest()
        self.q = np.zeros(len(joints))
        self._publisher = self.node.create_publisher(JointState, 'joint_states', 10)
        self._subscriptions = []
        if listens:
            self.listen()
        self.node.create_timer(1.0 / RATE, self._publish)

    def rest(self):
        """Nothing is wrong, and it stands still."""
        n = len(self.joints)
        self.v, self.told = np.zeros(n), []
        self.silent = self.numb = False
        self.mute = frozenset()
        self.offset, self.drift, self.shift = np.zeros(n), np.zeros(n), 0.0
        self.effort = np.zeros(n)

    def listen(self):
        """Hear commands."""
        self._subscriptions = [
            self.node.create_subscription(JointTrajectory, 'reference', self._follow, 10),
            self.node.create_subscription(
                Float64MultiArray, 'position_commands', self._take, 10),
        ]

    def deafen(self):
        """Hear no commands any more."""
        while self._subscriptions:
            self.node.destroy_subscription(self._subscriptions.pop())

    def _follow(self, message):
        point = message.points[0]
        self.told.append((np.array(point.positions), np.array(point.velocities)))
        if not self.numb:
            self.q, self.v = self.told[-1]

    def _take(self, message):
        q = np.array(message.data)
        v = (q - self.q) * RATE
        self.told.append((q, v))
        self.q, self.v = q, v

    def _publish(self):
        if self.silent:
            return
        stamp = self.node.get_clock().now() + rclpy.duration.Duration(seconds=self.shift)
        told = [k for k, joint in enumerate(self.joints) if joint not in self.mute]
        message = JointState(
            name=[self.joints[k] for k in told],
            position=(self.q + self.offset)[told].tolist(),
            velocity=(self.v + self.drift)[told].tolist(), effort=self.effort[told].tolist())
        message.header.stamp = stamp.to_msg()
        self._publisher.publish(message)


class PaperMonitor(Actor):
    """The heartbeat of a monitor.

    Attributes:
        alive: Whether it beats.
        state: What it says.
    """

    def __init__(self, ros, name='/monitor_node'):
        super().__init__(ros, 'paper_monitor')
        self.name, self.alive, self.state, self.message = name, True, Heartbeat.ACTIVE, ''
        self._publisher = self.node.create_publisher(Heartbeat, 'sysid/heartbeat', 10)
        self.node.create_timer(0.05, self._beat)

    def _beat(self):
        if self.alive:
            self._publisher.publish(
                Heartbeat(node=self.name, state=self.state, message=self.message))


def write_plan(folder, urdf):
    """A settings file and some motions; returns the file and its designer."""
    (folder / 'arm.urdf').write_text(urdf)
    plan = folder / 'plan.yaml'
    plan.write_text(yaml.safe_dump({
        'robot': {'urdf': 'arm.urdf'}, 'motion': {'duration': 2.0, 'harmonics': [1, 2, 3]},
        'clearance': {'self_collision': False},
    }))
    designer = ExcitationPlan.load(plan).designer()
    rest = designer.rest()
    swing = 0.5 * (designer.random_motion(rest, 1) - rest)
    for name, duration, part in (('wave', 2.0, 1.0), ('long', 30.0, 1.0), ('wild', 2.0, 4.0)):
        motion = Excitation(
            designer.limits.joint_names, FourierBasis(duration, (1, 2, 3)), rest + part * swing)
        write_motion(folder, name, motion)
    return plan, designer


def write_motion(folder: Path, name, motion):
    """Put a motion into the data folder."""
    path = folder / 'motions' / f'{name}.yaml'
    path.parent.mkdir(exist_ok=True)
    path.write_text(excitation_yaml(motion))
