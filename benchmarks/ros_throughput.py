"""The identification node at 1 kHz: what it loses, what it costs, and how soon it stops.

A process publishes joint states of seven joints at 1 kHz. The node records them for a minute while
a fit runs beside it, over and over. What was lost is counted by the stamps in the bag. Then the
recording is stopped, and started again, many times, with traffic and a fit all along. Last, an
excitation is stopped in motion, many times, too.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import _support  # noqa: F401
import numpy as np
from _seven_joints import arm

from support.simulated_arm import SimulatedArm
from sysid_ros.demo.node_processes import node_environment
from sysid_ros.runs.middleware import loopback_variables

RATE, SECONDS, STOPS = 1000.0, 60.0, 200
CPU_BAR, STOP_BAR = 40.0, 20.0
TRAINING = 30.0


SETTINGS = """\
robot: {urdf: arm.urdf}
processing: {position_filter: {cutoff: 20.0}, parallel_filter: {cutoff: 10.0, decimate_to: 25.0}}
fit: {estimator: entropic}
"""


def publish() -> None:
    """Publish joint states for ever, each stamped with the instant it is due."""
    import rclpy
    from rclpy.node import Node
    from rclpy.qos import QoSProfile, ReliabilityPolicy
    from sensor_msgs.msg import JointState

    from sysid_ros.recording.bag.joint_state_cdr import encode

    arm = seven_joints()
    t = np.arange(round(20.0 * RATE)) / RATE
    q, v, _ = arm.motion(t)
    rows = encode(np.zeros(len(t), dtype=np.int64), arm.joint_names, {
        'position': q, 'velocity': v, 'effort': arm.torque(t)})
    rclpy.init()
    publisher = Node('robot').create_publisher(JointState, 'joint_states', QoSProfile(
        depth=1000, reliability=ReliabilityPolicy.RELIABLE))
    begin, clock, sent = time.monotonic(), time.time_ns(), 0
    while True:
        while sent < (time.monotonic() - begin) * RATE:
            row = rows[sent % len(rows)].copy()
            stamp = divmod(clock + round(sent * 1e9 / RATE), 10**9)
            row[4:12] = np.array(stamp, dtype='<u4').view(np.uint8)
            publisher.publish(row.tobytes())
            sent += 1
        time.sleep(0.5 / RATE)


def seven_joints() -> Any:
    """An arm of seven joints, whose parameters differ from its description."""
    description = arm().description
    return SimulatedArm(0, description.xml.decode())


def stops_in_motion() -> dict[str, Any]:
    """How soon an excitation node that moves a robot answers a request to stop."""
    from support.excitation_bench import Bench

    random, times = np.random.default_rng(0), []
    with session() as ros:
        excitation = Bench(ros, ros.folder)
        try:
            excitation.begin()
            for _ in range(STOPS):
                excitation.calm()
                excitation.play('long')
                ros.spin(random.uniform(0.05, 0.3))
                before = time.perf_counter()
                if not excitation.stop().success:
                    raise RuntimeError('the excitation was not stopped')
                times.append(1e3 * (time.perf_counter() - before))
        finally:
            excitation.close()
    p99 = float(np.percentile(times, 99))
    print(f'an excitation in motion answers a stop in {np.median(times):.2f} ms (median), '
          f'{p99:.2f} ms (99 %), {max(times):.2f} ms (longest)')
    return {'name': f'stop of an excitation in motion, 99 % of {STOPS}', 'value': p99,
            'unit': 'ms', 'bar': f'< {STOP_BAR:g}', 'ok': p99 < STOP_BAR}


@contextmanager
def session() -> Iterator[Any]:
    """Node, robot and client in a domain of their own."""
    from support.ros_session import ros_session

    with tempfile.TemporaryDirectory() as folder, ros_session(Path(folder)) as ros:
        yield ros


def prepare(folder: Path) -> None:
    """Settings, and a recording to fit."""
    from sysid_ros.recording.bag.write import write_bag

    arm = seven_joints()
    (folder / 'arm.urdf').write_bytes(arm.model.robot.description.xml)
    (folder / 'settings.yaml').write_text(SETTINGS)
    recording = arm.recording(TRAINING, RATE)
    position, effort = recording.channel('position'), recording.channel('effort')
    (folder / 'data' / 'recordings').mkdir(parents=True)
    write_bag(folder / 'data' / 'recordings' / 'training', position.t, arm.joint_names,
              position.values, tau=effort.values)


class Fits:
    """Asks for one fit after the other."""

    def __init__(self, ros: Any) -> None:
        from sysid_ros.action import Identify

        self._ros, self._kind = ros, Identify
        self.done = 0
        self._begin()

    def _begin(self) -> None:
        handle = self._ros.send_goal(
            self._kind, 'identification_node/identify', recording='training')
        self._future = handle.get_result_async()

    def keep_going(self) -> None:
        """Begin the next fit when one is over."""
        if self._future.done():
            result = self._future.result().result
            if not result.success:
                raise RuntimeError(result.message)
            self.done += 1
            self._begin()


def cpu_seconds(pid: int) -> float:
    """Time that a process, without its children, has taken of all cores."""
    fields = Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def lost(bag: Path) -> tuple[int, int]:
    """Messages sent between the first and the last of a bag that are not in it, and all sent."""
    from sysid_ros.recording.bag.joint_state_cdr import JointStateDecoder
    from sysid_ros.recording.bag.messages import joint_state_messages

    payloads = [message.data for message in joint_state_messages(bag, ['/joint_states'])]
    stamps = np.unique(np.concatenate([
        batch.stamps for batch in JointStateDecoder().decode(payloads)]))
    sent = round((stamps[-1] - stamps[0]) * 1e-9 * RATE) + 1
    return sent - len(stamps), sent


def measure(ros: Any) -> list[dict[str, Any]]:
    """All figures."""
    from lifecycle_msgs.srv import GetState

    from sysid_ros.srv import StartIdentification, StopIdentification

    prepare(ros.folder)
    node = ros.start('identification_node', {
        'data_folder': str(ros.folder / 'data'), 'settings': str(ros.folder / 'settings.yaml')})
    with (ros.folder / 'robot.log').open('wb') as log:
        ros.processes['robot'] = subprocess.Popen(
            [sys.executable, __file__, '--publish'], env=node_environment(ros.domain), stderr=log,
            start_new_session=True)

    def start(name: str) -> bool:
        return bool(ros.call(
            StartIdentification, 'identification_node/start', recording=name).success)

    def stop() -> Any:
        return ros.call(StopIdentification, 'identification_node/stop')

    ros.wait(lambda: start('long'), 60.0)
    fits = Fits(ros)
    begin, used = time.monotonic(), cpu_seconds(node.pid)
    while time.monotonic() < begin + SECONDS:
        ros.spin(0.1)
        fits.keep_going()
    cpu = 100 * (cpu_seconds(node.pid) - used) / (time.monotonic() - begin)
    stopped = stop()
    complete = ros.folder / 'data' / 'recordings' / 'long'
    ros.wait((complete / 'metadata.yaml').exists)
    missing, sent = lost(complete)
    times, others = [], []
    for number in range(STOPS):
        if not start(f'short-{number}'):
            raise RuntimeError('a recording did not start')
        ros.spin(0.05)
        fits.keep_going()
        before = time.perf_counter()
        stop()
        times.append(1e3 * (time.perf_counter() - before))
        before = time.perf_counter()
        ros.call(GetState, 'identification_node/get_state')
        others.append(1e3 * (time.perf_counter() - before))
    print(f'{sent} joint states sent in {stopped.duration:.1f} s, {stopped.samples} received, '
          f'{missing} lost, {stopped.dropped} dropped; {fits.done} fits done beside it; node '
          f'{cpu:.1f} % of a core; stop answers in {np.median(times):.2f} ms (median), '
          f'{np.percentile(times, 99):.2f} ms (99 %), {max(times):.2f} ms (longest)')
    p99 = float(np.percentile(times, 99))
    return [
        {'name': f'lost of {sent} joint states at 1 kHz during fits', 'value': missing,
         'unit': 'messages', 'bar': '0', 'ok': missing == 0 and stopped.dropped == 0},
        {'name': 'identification node, 1 kHz x 7 joints', 'value': cpu, 'unit': '% of a core',
         'bar': f'<= {CPU_BAR:g}', 'ok': cpu <= CPU_BAR},
        {'name': f'stop answers, 99 % of {STOPS}', 'value': p99, 'unit': 'ms',
         'reference': f'asking for the lifecycle state, {np.percentile(others, 99):.2f} ms',
         'ratio': p99 / float(np.percentile(others, 99)),
         'bar': f'< {STOP_BAR:g}', 'ok': p99 < STOP_BAR},
    ]


def main() -> int:
    """Measure, and print the figures as JSON last."""
    os.environ |= loopback_variables()
    if '--publish' in sys.argv:
        publish()
    with session() as ros:
        figures = measure(ros)
    figures.append(stops_in_motion())
    print(json.dumps(figures))
    return 0


if __name__ == '__main__':
    sys.exit(main())
