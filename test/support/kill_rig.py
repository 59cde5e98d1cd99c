"""The nodes of the demo, of which one is killed in mid-motion: when is the robot at rest?"""

import contextlib
import subprocess
import sys
import time

import numpy as np
import rclpy
from rclpy.action import ActionClient
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger

from support.ros_session import NODE
from sysid_ros.action import Excite
from sysid_ros.demo.folder import prepare, share
from sysid_ros.demo.node_processes import NodeProcesses, node_environment
from sysid_ros.msg import ExcitationStatus
from sysid_ros.nodes.fast_lane import PolledSubscription
from sysid_ros.nodes.sysid_nodes import KINDS
from sysid_ros.settings import load_yaml

VICTIMS = (
    'excitation_node', 'monitor_node', 'computed_torque_controller', 'identification_node',
    'model_server',
)
# Nodes that may share a process, and that process.
SHARED, TOGETHER = tuple(KINDS), 'sysid_nodes'
MOTION = 'held_out'
# Joints that are slower than this in [rad/s] are at rest; their noise is 0.005.
REST = 0.04
# Speed that makes a motion in [rad/s], and for how long rest is looked at in [s].
FAST, LOOK = 0.7, 2.0
# A robot that is not heard is not at rest: longest silence in [s] that a trial may have.
SILENCE = 0.1
PATIENCE = 120.0
ATTEMPTS = 8
# After these times in [s] a request, or a goal, that got no answer is sent again.
AGAIN, GOAL_AGAIN = 0.5, 3.0


class KillRig:
    """Nodes, and a client that moves the robot and watches it.

    Args:
        folder: Scratch folder.
        domain: ROS domain.
        composed: Whether the nodes that may share a process do.

    Attributes:
        victims: What can be killed: nodes, or the process that they share.
        robots: How many robots it took; a new one stands where the first one began.
        unheard: How many trials were repeated because joint states were lost.
    """

    def __init__(self, folder, domain=None, *, composed=False):
        self.folder = prepare(folder)
        self.victims = VICTIMS if not composed else (
            TOGETHER, *(name for name in VICTIMS if name not in SHARED))
        self.nodes = NodeProcesses(self.folder, domain)
        self.context = rclpy.Context()
        rclpy.init(context=self.context, domain_id=self.nodes.domain)
        self.client = Node('kill_rig', context=self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.client)
        self.states = PolledSubscription(
            self.client, JointState, 'joint_states', QoSProfile(
                depth=2000, reliability=ReliabilityPolicy.BEST_EFFORT))
        self.phase = ExcitationStatus.IDLE
        self.client.create_subscription(
            ExcitationStatus, 'excitation_node/status', self._hear, 10)
        self.t, self.v = [], []
        self.robots, self.unheard = 1, 0
        for name in ('simulated_robot', *self.victims):
            self.start(name)

    def start(self, name):
        if name == TOGETHER:
            self._start_together()
        else:
            self.nodes.start(name, name, self._parameters(name))

    def _parameters(self, name):
        return [share() / 'config' / f'{name}.yaml', self.folder / 'nodes.yaml']

    def _start_together(self):
        words = []
        for name in SHARED:
            words.append(name)
            for file in self._parameters(name):
                words += ['--params-file', str(file)]
        with (self.folder / 'log' / f'{TOGETHER}.txt').open('ab') as output:
            # Ended with the others.
            self.nodes._processes[TOGETHER] = subprocess.Popen(
                [sys.executable, '-c', NODE, f'sysid_ros.nodes.{TOGETHER}', *words],
                stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, cwd=self.folder,
                env=node_environment(self.nodes.domain), start_new_session=True)

    @property
    def reaction(self):
        """Longest time in [s] from a death to the moment it is acted upon."""
        sections = load_yaml(self.folder / 'nodes.yaml')
        monitor = sections['/**/monitor_node']['ros__parameters']
        return monitor['heartbeat_timeout'] + 2.0 / monitor['rate']

    def trial(self, victim, delay=0.5):
        """Kill a node in mid-motion; returns time to rest in [s] and speed when it died.

        Args:
            victim: Name of the node.
            delay: Time in [s] from the beginning of the motion.
        """
        for _ in range(ATTEMPTS):
            found = self._trial(victim, delay)
            if found is not None:
                return found
            self.unheard += 1
        raise AssertionError(f'joint states are lost\n{self._logs()}')

    def _trial(self, victim, delay):
        """One attempt; None when the robot was not heard all the time."""
        if not self._moved(delay):
            self.replace_robot()
            if not self._moved(delay):
                raise AssertionError(f'the robot could not be moved\n{self._logs()}')
        speed = np.abs(self.v[-1]).max()
        died = time.time()
        self.end(victim)
        self.spin(LOOK)
        self.start(victim)
        after = np.searchsorted(self.t, died)
        t = np.array([died, *self.t[after:], died + LOOK])
        if np.diff(t).max() > SILENCE:
            return None
        moving = np.flatnonzero(np.abs(self.v[after:]).max(axis=1) > REST)
        # It came to rest before it was first heard to be.
        return (float(t[moving[-1] + 2] - died) if len(moving) else 0.0), float(speed)

    def end(self, name):
        process = self.nodes.process(name)
        process.kill()
        process.wait()

    def replace_robot(self):
        """A robot may rest where no motion can begin from; a person would bring it back."""
        # Asked to end, it says that it publishes no more; one that is killed is missed in vain.
        process = self.nodes.process('simulated_robot')
        process.terminate()
        process.wait()
        gone = time.time()
        self.start('simulated_robot')
        self.robots += 1
        self.wait(lambda: self.t and self.t[-1] > gone + 0.5)

    def _moved(self, delay):
        """Whether one of some attempts to move the robot is a success."""
        return any(self._move(delay) for _ in range(ATTEMPTS))

    def _move(self, delay):
        """Whether the robot now is in mid-motion."""
        self.call(Trigger, 'monitor_node/reset')
        self.call(SetBool, 'excitation_node/arm', data=True)
        excite = ActionClient(self.client, Excite, 'excitation_node/excite')
        try:
            return self._follows(excite, delay)
        finally:
            excite.destroy()

    def _follows(self, excite, delay):
        """Whether the motion that is asked for goes on for some time."""
        future = self.answer(excite.server_is_ready, lambda: excite.send_goal_async(
            Excite.Goal(motion=MOTION, speed_scale=1.0)), GOAL_AGAIN)
        result = future.result().get_result_async()
        begun = []

        def fast():
            if self.phase == ExcitationStatus.PLAYING and not begun:
                begun.append(time.monotonic())
            late = begun and time.monotonic() - begun[0] > delay
            return result.done() or (late and self.v and np.abs(self.v[-1]).max() > FAST)

        self.wait(fast)
        if result.done():
            self.spin(1.0)
        return not result.done()

    def call(self, kind, name, **fields):
        client = self.client.create_client(kind, name)
        future = self.answer(
            client.service_is_ready, lambda: client.call_async(kind.Request(**fields)))
        self.client.destroy_client(client)
        return future.result()

    def answer(self, ready, ask, again=AGAIN):
        """Ask until there is an answer: what a dead node was asked is lost, others may be slow."""
        futures, asked = [], -np.inf

        def answered():
            nonlocal asked
            if time.monotonic() > asked + again and ready():
                futures.append(ask())
                asked = time.monotonic()
            return any(future.done() for future in futures)

        self.wait(answered)
        return next(future for future in futures if future.done())

    def wait(self, condition, seconds=PATIENCE):
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                raise AssertionError(f'waited in vain\n{self._logs()}')
            self._once()

    def spin(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._once()

    def close(self):
        """End everything."""
        self.nodes.end()
        self.executor.shutdown()
        self.client.destroy_node()
        rclpy.shutdown(context=self.context)

    def _once(self):
        self.executor.spin_once(timeout_sec=0.01)
        for message, _ in self.states.take():
            self.t.append(message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec)
            self.v.append(list(message.velocity))
        # The last seconds are enough.
        if len(self.t) > 20_000:
            del self.t[:10_000], self.v[:10_000]

    def _hear(self, status):
        self.phase = status.phase

    def _logs(self):
        return '\n'.join(
            f'--- {file.stem}\n{file.read_text(errors="replace")[-1500:]}'
            for file in sorted((self.folder / 'log').glob('*.txt')))


@contextlib.contextmanager
def kill_rig(folder, domain=None, *, composed=False):
    """A rig that ends with the block."""
    rig = KillRig(folder, domain, composed=composed)
    try:
        yield rig
    finally:
        rig.close()
