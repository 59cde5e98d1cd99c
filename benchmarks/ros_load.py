"""What the nodes of one robot take while it rests, is recorded, and moves: seven joints at 1 kHz.

    python benchmarks/ros_load.py [apart] [composed]

Each node has a process of its own, or all but the monitor share one (`sysid_nodes`); both unless
one is named. Monitor, model server, identification and excitation run with their default
parameters, but for a real-time priority where that is allowed: what else a machine does is not
measured. A process that is not counted is the robot, and follows what it is told. Counted is what
the nodes and all that they start take together: time of processors, and memory, of which pages that
several processes share count once (PSS). Then the time from the start until all are active, a fit
through the node against the same by ``sysid fit``, how soon stops are answered, and how evenly
set-points come. Start and fits have no such priority: their figures are of a machine that does
nothing else.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import ros_throughput
from _seven_joints import arm

from sysid_ros.demo.node_processes import node_environment
from sysid_ros.errors import ConfigurationError
from sysid_ros.runs.middleware import loopback_variables

RATE, SECONDS, FITS, STOPS = 1000.0, 20.0, 3, 100
CPU_BARS = {'idle': 20.0, 'recording': 30.0, 'exciting': 45.0}
MEMORY_BAR, START_BAR, FIT_BAR, STOP_BAR = 600.0, 4.0, 1.3, 10.0
# Longest interval in [ms] that all but one of a thousand set-points keep: twice the period.
SETPOINT_BAR = 10.0
# How nodes run, and the process that those which share one are in.
KINDS, SHARED = ('apart', 'composed'), 'sysid_nodes'
NODES = ('monitor_node', 'identification_node', 'model_server', 'excitation_node')
# Part of a recording that a fit through the node is judged by.
HOLDOUT = '0.25'
# Real-time priorities of the robot and the nodes.
ROBOT_PRIORITY, NODE_PRIORITY = 30, 20
PR_SET_PDEATHSIG = 1
# Longest wait for an answer in [s], and times that a motion is begun.
PATIENCE, ATTEMPTS = 120.0, 20


# The robot


def be_robot() -> None:
    """Publish joint states for ever, and go where ``reference`` tells."""
    import rclpy
    from rclpy.node import Node
    from rclpy.qos import QoSProfile, ReliabilityPolicy
    from sensor_msgs.msg import JointState
    from trajectory_msgs.msg import JointTrajectory

    from sysid_ros.nodes.fast_lane import PolledSubscription
    from sysid_ros.nodes.priority import take_priority
    from sysid_ros.recording.bag.joint_state_cdr import encode

    # It ends with the benchmark, however that ends.
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    with contextlib.suppress(ConfigurationError):
        take_priority(ROBOT_PRIORITY)
    model = ros_throughput.seven_joints().model
    joints = model.robot.joint_names
    point = np.zeros((3, len(joints)))
    effort = torque(model, point)
    rclpy.init()
    node = Node('robot')
    publisher = node.create_publisher(JointState, 'joint_states', QoSProfile(
        depth=100, reliability=ReliabilityPolicy.RELIABLE))
    told = PolledSubscription(node, JointTrajectory, 'reference', QoSProfile(depth=10))
    begin, clock, sent, heard = time.monotonic(), time.time_ns(), 0, 0
    while rclpy.ok():
        for message, _ in told.take():
            newest = message.points[0]
            point = np.array([newest.positions, newest.velocities, newest.accelerations])
            effort, heard = torque(model, point), sent
        while sent < (time.monotonic() - begin) * RATE:
            since = min(sent - heard, 5) / RATE
            stamp = np.array([clock + round(sent * 1e9 / RATE)])
            row, = encode(stamp, joints, {
                'position': (point[0] + since * point[1] + 0.5 * since**2 * point[2])[None],
                'velocity': (point[1] + since * point[2])[None], 'effort': effort})
            publisher.publish(row.tobytes())
            sent += 1
        time.sleep(0.5 / RATE)


def torque(model: Any, point: np.ndarray) -> np.ndarray:
    """Torque of the arm as it is described, shape ``(1, 7)``."""
    return np.asarray(model.torque(model.parameters.prior, *(row[None] for row in point)))


# What is measured


class Load:
    """Nodes of a session, and what they and the processes that they started take.

    Args:
        ros: The session.
        composed: Whether all but the monitor share a process.
    """

    def __init__(self, ros: Any, *, composed: bool) -> None:
        from rclpy.node import Node
        from rclpy.qos import QoSProfile, ReliabilityPolicy
        from trajectory_msgs.msg import JointTrajectory

        from sysid_ros.nodes.fast_lane import PolledSubscription
        from sysid_ros.nodes.robot_operator import Operator

        self.ros, self.composed = ros, composed
        self.node = Node('operator', context=ros.context)
        self.operator = Operator(self.node, PATIENCE)
        self._setpoints = PolledSubscription(self.node, JointTrajectory, 'reference', QoSProfile(
            depth=round(SECONDS * RATE), reliability=ReliabilityPolicy.BEST_EFFORT), raw=True)

    def start(self, parameters: dict[str, dict[str, Any]]) -> float:
        """Start all nodes; the time until the last one is active in [s]."""
        begin = time.monotonic()
        given = {
            name: parameters[name] | {'realtime_priority': NODE_PRIORITY} for name in NODES}
        monitor, *others = NODES
        self.ros.start(monitor, given[monitor])
        if self.composed:
            self.ros.start_together({name: given[name] for name in others})
        else:
            for name in others:
                self.ros.start(name, given[name])
        self.operator.wait_for_nodes(NODES)
        return time.monotonic() - begin

    @property
    def leaders(self) -> tuple[str, ...]:
        """Names of the processes that were started."""
        return (NODES[0], SHARED) if self.composed else NODES

    def end(self) -> None:
        """End all nodes."""
        for name in self.leaders:
            self.ros.stop(name, seconds=30.0)

    def processes(self) -> Iterator[int]:
        """Ids of the nodes and of all that they started: each leads a session of its own."""
        leaders = {self.ros.processes[name].pid for name in self.leaders}
        for folder in Path('/proc').glob('[0-9]*'):
            try:
                if int(stat(folder)[3]) in leaders:
                    yield int(folder.name)
            except (OSError, IndexError):
                continue

    def share(self, seconds: float) -> float:
        """Share of a core that they take from now on, in per cent."""
        begin, before = time.monotonic(), self._used()
        self.operator.spin(seconds)
        after, elapsed = self._used(), time.monotonic() - begin
        return 100.0 * sum(
            used - before.get(pid, 0.0) for pid, used in after.items()) / elapsed

    def _used(self) -> dict[int, float]:
        return {pid: ros_throughput.cpu_seconds(pid) for pid in self.processes()}

    def memory(self) -> float:
        """Memory that they take in [MB]."""
        kilobytes = 0
        for pid in self.processes():
            lines = Path(f'/proc/{pid}/smaps_rollup').read_text().splitlines()
            kilobytes += next(int(line.split()[1]) for line in lines if line.startswith('Pss:'))
        return kilobytes / 1024.0

    def setpoint_intervals(self) -> np.ndarray:
        """Times between the set-points since the last call in [ms]."""
        return 1e-6 * np.diff([received for _, received in self._setpoints.take()])

    @contextlib.contextmanager
    def motion(self) -> Iterator[Any]:
        """A robot in motion, which is stopped with the block."""
        from rclpy.action import ActionClient

        from sysid_ros.action import Excite

        client = ActionClient(self.node, Excite, 'excitation_node/excite')
        try:
            request = self._begin(client)
            yield request
            self.operator.ask(*self.stop)
            self.operator.wait(request.poll, 'the end of the motion')
        finally:
            client.destroy()

    def _begin(self, client: Any) -> Any:
        """Begin a motion, once more where nodes have not heard one another yet."""
        from std_srvs.srv import SetBool

        from sysid_ros.action import Excite
        from sysid_ros.msg import ExcitationStatus
        from sysid_ros.nodes.requests import GoalRequest

        self.operator.wait(client.server_is_ready, 'the excitation')
        for _ in range(ATTEMPTS):
            self.operator.reset_monitor()
            self.operator.call(SetBool, 'excitation_node/arm', data=True)
            phases: list[int] = []
            request = GoalRequest(
                client, 'excite', Excite.Goal(motion='long', speed_scale=1.0),
                lambda message, said=phases: said.append(message.feedback.phase))
            self.operator.wait(lambda request=request, said=phases: (
                request.poll() or (said and said[-1] == ExcitationStatus.PLAYING)), 'a motion')
            if request.result is None:
                return request
            print(f'not begun: {request.result.message}', flush=True)
            self.operator.spin(0.5)
        raise RuntimeError('the motion was not begun')

    @property
    def stop(self) -> tuple[Any, str]:
        """The service that stops a motion."""
        from std_srvs.srv import Trigger

        return Trigger, 'excitation_node/stop'


def stat(folder: Path) -> list[str]:
    """Fields of ``/proc/<pid>/stat`` after the name: state, parent, group, session."""
    return (folder / 'stat').read_text().rpartition(')')[2].split()


def prepare(folder: Path) -> dict[str, dict[str, Any]]:
    """Files of the robot; the parameters of the nodes."""
    from support.ideal_robot import write_plan

    ros_throughput.prepare(folder)
    plan, _ = write_plan(folder, arm().description.xml.decode())
    data, settings = str(folder / 'data'), str(folder / 'settings.yaml')
    return {
        'monitor_node': {'plan': str(plan)},
        'model_server': {'robot': settings, 'data_folder': data},
        'identification_node': {'settings': settings, 'data_folder': data},
        'excitation_node': {'plan': str(plan), 'data_folder': str(folder)},
    }


def fit_times(load: Load) -> tuple[float, float]:
    """Median times in [s] of a fit through the node, and of the same by the command line."""
    folder, through, alone = load.ros.folder, [], []
    file = folder / 'fit.yaml'
    file.write_text(
        f'{ros_throughput.SETTINGS}recording: {{format: rosbag, file: data/recordings/training}}\n')
    for number in range(FITS):
        begin = time.monotonic()
        load.operator.identify('training')
        through.append(time.monotonic() - begin)
        begin = time.monotonic()
        finished = subprocess.run(
            [sys.executable, '-m', 'sysid_ros.cli.main', 'fit', str(file), '--holdout', HOLDOUT,
             '-o', str(folder / f'{number}')],
            env=node_environment(load.ros.domain), capture_output=True, text=True, check=False)
        alone.append(time.monotonic() - begin)
        if finished.returncode not in (0, 1):
            raise RuntimeError(finished.stderr)
        # The node makes the process for its next fit ready.
        load.operator.spin(10.0)
    return float(np.median(through)), float(np.median(alone))


def stop_times(load: Load) -> list[float]:
    """Times in [ms] after which requests to stop a motion, and a recording, are answered."""
    from sysid_ros.srv import StopIdentification

    random, times = np.random.default_rng(0), []
    for number in range(STOPS):
        load.operator.begin_recording(f'stop-{number}')
        with load.motion():
            load.operator.spin(random.uniform(0.05, 0.3))
            for kind, name in (load.stop, (StopIdentification, 'identification_node/stop')):
                begin = time.perf_counter()
                load.operator.ask(kind, name)
                times.append(1e3 * (time.perf_counter() - begin))
        load.operator.recording = False
    return times


def measure(ros: Any, kind: str) -> list[dict[str, Any]]:
    """All figures of one kind of processes."""
    parameters = prepare(ros.folder)
    with (ros.folder / 'robot.log').open('wb') as log:
        ros.processes['robot'] = subprocess.Popen(
            [sys.executable, __file__, '--robot'], env=node_environment(ros.domain), stderr=log,
            start_new_session=True)
    load = Load(ros, composed=kind == 'composed')
    # Compiled functions are loaded from files that the first start may have to write.
    load.start(parameters)
    load.end()
    started = load.start(parameters)
    ros.go_first()
    # What is loaded after a node has become active belongs to its start.
    load.operator.spin(10.0)
    shares, memories = {}, {}
    for name in CPU_BARS:
        if name != 'idle':
            load.operator.begin_recording(name)
        if name == 'exciting':
            with load.motion():
                load.setpoint_intervals()
                shares[name], memories[name] = load.share(SECONDS), load.memory()
                intervals = load.setpoint_intervals()
        else:
            shares[name], memories[name] = load.share(SECONDS), load.memory()
        if name != 'idle':
            load.operator.end_recording()
        print(f'{kind}, {name}: {shares[name]:.1f} % of a core, {memories[name]:.0f} MB',
              flush=True)
    print(f'set-points come every {np.median(intervals):.2f} ms (median), '
          f'{np.percentile(intervals, 99.9):.2f} ms (99.9 %), {intervals.max():.2f} ms (longest)')
    through, alone = fit_times(load)
    stops = stop_times(load)
    print(f'active after {started:.2f} s; a fit takes {through:.2f} s through the node, '
          f'{alone:.2f} s by the command line; stops are answered in {np.median(stops):.2f} ms '
          f'(median), {np.percentile(stops, 99):.2f} ms (99 %), {max(stops):.2f} ms (longest)',
          flush=True)
    load.end()
    return figures(
        kind, shares, max(memories.values()), started, (through, alone), stops, intervals)


def figures(
    kind: str, shares: dict[str, float], memory: float, started: float,
    fits: tuple[float, float], stops: list[float], intervals: np.ndarray,
) -> list[dict[str, Any]]:
    """What was measured, with bars."""
    ratio, p99 = fits[0] / fits[1], float(np.percentile(stops, 99))
    found = [
        (f'all nodes {name}, 7 joints at 1 kHz', share, '% of a core', CPU_BARS[name])
        for name, share in shares.items()]
    found += [
        ('memory of all nodes (PSS)', memory, 'MB', MEMORY_BAR),
        ('start of all nodes to active', started, 's', START_BAR),
        ('a fit through the node', ratio, 'times that of the command line', FIT_BAR),
        (f'stop answers, 99 % of {len(stops)}', p99, 'ms', STOP_BAR),
        (f'intervals of set-points, 99.9 % of {len(intervals)}',
         float(np.percentile(intervals, 99.9)), 'ms', SETPOINT_BAR),
    ]
    return [
        {'name': f'{kind}: {name}', 'value': value, 'unit': unit, 'bar': f'<= {bar:g}',
         'ok': value <= bar}
        for name, value, unit, bar in found]


def main() -> int:
    """Measure, and print the figures as JSON last."""
    os.environ |= loopback_variables()
    if '--robot' in sys.argv:
        be_robot()
    found: list[dict[str, Any]] = []
    for kind in [word for word in sys.argv[1:] if word in KINDS] or KINDS:
        with ros_throughput.session() as ros:
            found += measure(ros, kind)
    print(json.dumps(found))
    return 0


if __name__ == '__main__':
    sys.exit(main())
