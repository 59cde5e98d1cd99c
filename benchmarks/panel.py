"""The page of a robot beside joint states of seven joints at 1 kHz: its stops, and what it takes.

    python benchmarks/panel.py

A process publishes joint states, and answers as an excitation that plays a motion. ``panel_node``
runs with its default parameters, and Chromium has the page of the traces open. Counted is what the
node's process takes, with the pages it serves, and then the time from the press of STOP by the
mouse, and of the space bar, as the browser stamps the event, until the excitation has the request.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import ros_throughput

from sysid_ros.demo.node_processes import node_environment

RATE, SECONDS, STOPS = 1000.0, 20.0, 200
CPU_BAR, STOP_BAR = 30.0, 50.0
JOINTS = tuple(f'joint_{number}' for number in range(1, 8))
TOKEN = 'a-token-of-this-benchmark'  # noqa: S105 (nobody else reaches the page)
PR_SET_PDEATHSIG = 1
# Stamps of what was pressed in [ms] since 1970, by the browser.
_STAMPS = """
window.pressed = [];
for (const kind of ['pointerdown', 'keydown']) {
  window.addEventListener(kind, (event) => {
    window.pressed.push(performance.timeOrigin + event.timeStamp); }, true);
}
"""


# The robot


def be_robot() -> None:
    """Publish joint states for ever, say that a motion is played, and print when stops come."""
    import rclpy
    from rclpy.node import Node
    from rclpy.qos import QoSProfile
    from sensor_msgs.msg import JointState
    from std_srvs.srv import Trigger

    from sysid_ros.msg import ExcitationStatus
    from sysid_ros.recording.bag.joint_state_cdr import encode

    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    rclpy.init()
    node = Node('excitation_node')

    def stop(_: Any, response: Any) -> Any:
        print(json.dumps(1e3 * time.time()), flush=True)
        response.success = True
        return response

    node.create_service(Trigger, '~/stop', stop)
    status = node.create_publisher(ExcitationStatus, '~/status', 10)
    states = node.create_publisher(JointState, 'joint_states', QoSProfile(depth=100))
    threading.Thread(target=rclpy.spin, args=(node,), daemon=True).start()
    begin, clock, sent = time.monotonic(), time.time_ns(), 0
    while rclpy.ok():
        while sent < (time.monotonic() - begin) * RATE:
            phase = 2e-3 * sent + np.arange(7.0)
            row, = encode(np.array([clock + round(sent * 1e9 / RATE)]), JOINTS, {
                'position': np.sin(phase)[None], 'velocity': np.cos(phase)[None],
                'effort': 10.0 * np.sin(phase)[None]})
            states.publish(row.tobytes())
            if not sent % 10:
                status.publish(ExcitationStatus(
                    phase=ExcitationStatus.PLAYING, motion='long', progress=0.5,
                    joint_names=list(JOINTS), position=np.sin(phase).tolist(),
                    velocity=np.cos(phase).tolist(), acceleration=np.zeros(7).tolist()))
            sent += 1
        time.sleep(0.5 / RATE)


# What is measured


class Processes:
    """The robot and the panel, in a ROS domain of their own.

    Args:
        folder: Scratch folder.
        domain: The domain.

    Attributes:
        panel: Process of the panel.
        address: Where its page is.
        stops: When the excitation had requests to stop, in [ms] since 1970.
    """

    def __init__(self, folder: Path, domain: int) -> None:
        environment = node_environment(domain) | {'SYSID_PANEL_TOKEN': TOKEN}
        self.stops: list[float] = []
        self._robot = subprocess.Popen(
            [sys.executable, __file__, '--robot'], env=environment, stdout=subprocess.PIPE,
            text=True)
        threading.Thread(target=self._hear, daemon=True).start()
        self.panel = subprocess.Popen(
            [sys.executable, '-m', 'sysid_ros.nodes.panel_node', '--ros-args', '-p', 'port:=0',
             '-p', f'data_folder:={folder / "data"}'],
            env=environment, stdout=subprocess.PIPE, text=True)
        assert self.panel.stdout is not None
        self.address = ''
        for line in self.panel.stdout:
            if found := re.search(r'Open (http\S+)', line):
                self.address = found[1]
                break
        threading.Thread(target=self.panel.stdout.read, daemon=True).start()

    def _hear(self) -> None:
        assert self._robot.stdout is not None
        for line in self._robot.stdout:
            self.stops.append(float(json.loads(line)))

    def close(self) -> None:
        """End both."""
        self.panel.terminate()
        self._robot.kill()
        for process in (self.panel, self._robot):
            process.wait(30.0)


def share(pid: int, seconds: float, wait: Any) -> float:
    """Share of a core that a process takes from now on, in per cent."""
    begin, before = time.monotonic(), ros_throughput.cpu_seconds(pid)
    wait(1e3 * seconds)
    return 100.0 * (ros_throughput.cpu_seconds(pid) - before) / (time.monotonic() - begin)


def stop_times(page: Any, processes: Processes, press: Any) -> list[float]:
    """Times in [ms] from each press to the request."""
    random, times = np.random.default_rng(0), []
    for _ in range(STOPS):
        page.wait_for_timeout(random.uniform(50.0, 250.0))
        count = len(processes.stops)
        page.evaluate('window.pressed.length = 0')
        press()
        deadline = time.monotonic() + 10.0
        while len(processes.stops) == count:
            if time.monotonic() > deadline:
                raise RuntimeError('a stop did not come')
            time.sleep(0.001)
        times.append(processes.stops[count] - page.evaluate('window.pressed[0]'))
        page.wait_for_timeout(150.0)
    return times


def measure(processes: Processes) -> list[dict[str, Any]]:
    """All figures."""
    from support.studio_server import Look, browser

    with browser() as chromium:
        look = Look(chromium, processes.address)
        page = look.page
        # Before the page's own script, which lets nobody else have the space bar.
        page.add_init_script(_STAMPS)
        page.reload()
        page.get_by_role('cell', name='joint_7').wait_for()
        page.wait_for_timeout(5000)
        seen = share(processes.panel.pid, SECONDS, page.wait_for_timeout)
        print(f'the panel takes {seen:.1f} % of a core with a page open', flush=True)
        box = page.get_by_role('button', name='Stop the robot').bounding_box()
        page.mouse.move(box['x'] + 20, box['y'] + 20)

        def click() -> None:
            page.mouse.down()
            page.mouse.up()

        times = {
            'mouse': stop_times(page, processes, click),
            'space bar': stop_times(page, processes, lambda: page.keyboard.press('Space'))}
        look.context.close()
        alone = share(processes.panel.pid, SECONDS, lambda wait: time.sleep(1e-3 * wait))
        print(f'{alone:.1f} % with none', flush=True)
    return [
        {'name': 'panel with a page open, 7 joints at 1 kHz', 'value': seen,
         'unit': '% of a core', 'bar': f'<= {CPU_BAR:g}', 'ok': seen <= CPU_BAR},
        {'name': 'panel without a page', 'value': alone, 'unit': '% of a core',
         'bar': f'<= {CPU_BAR:g}', 'ok': alone <= CPU_BAR},
        *(figure(name, found) for name, found in times.items())]


def figure(name: str, found: list[float]) -> dict[str, Any]:
    """Latency of stops by one way of asking for them."""
    late = float(np.percentile(found, 99.0))
    print(f'STOP by the {name}: {np.median(found):.1f} ms (median), {late:.1f} ms (99 %), '
          f'{max(found):.1f} ms (longest)', flush=True)
    return {'name': f'from STOP by the {name} to the request, 99 % of {len(found)}', 'value': late,
            'unit': 'ms', 'bar': f'<= {STOP_BAR:g}', 'ok': late <= STOP_BAR}


def main() -> int:
    """Measure, and print the figures as JSON last."""
    from sysid_ros.demo.node_processes import claim_domain

    domain, lock = claim_domain()
    with tempfile.TemporaryDirectory() as scratch:
        processes = Processes(Path(scratch), domain)
        try:
            found = measure(processes)
        finally:
            processes.close()
            os.close(lock)
    print(json.dumps(found))
    return 0


if __name__ == '__main__':
    if '--robot' in sys.argv:
        be_robot()
    else:
        sys.exit(main())
