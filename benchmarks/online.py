"""What it costs the identification node to follow a robot of seven joints at 1 kHz.

Processor time of the node with the online estimate less that without, both hearing the same joint
states: once with the filters of a fit, which leave 25 rows a second, and once with every sample a
row. Changes against a committed revision are looked for all along.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import ros_throughput

from sysid_ros.demo.node_processes import node_environment
from sysid_ros.runs.middleware import loopback_variables

SECONDS, BAR = 30.0, 10.0
HERE = Path(__file__).parent
EVERY_SAMPLE = """\
robot: {urdf: arm.urdf}
processing: {differentiation: savitzky_golay, savitzky_golay: {window: 0.05}}
"""


def load(ros: Any, settings: str, online: bool) -> tuple[float, Any]:
    """Processor time of the node in per cent of a core, and its last status."""
    from lifecycle_msgs.srv import GetState

    from sysid_ros.msg import IdentificationStatus

    statuses = ros.hear(IdentificationStatus, 'identification_node/status')
    process = ros.start('identification_node', {
        'data_folder': str(ros.folder / 'data'), 'settings': str(ros.folder / settings),
        'online': online, 'online_warm_up': 2.0})
    ready = 'following' if online else ''
    ros.wait(lambda: ros.call(
        GetState, 'identification_node/get_state').current_state.label == 'active')
    ros.wait(lambda: statuses and statuses[-1].online.startswith(ready), 60.0)
    ros.spin(2.0)
    begin, used = time.monotonic(), ros_throughput.cpu_seconds(process.pid)
    rows = statuses[-1].online_rows
    ros.spin(SECONDS)
    spent = ros_throughput.cpu_seconds(process.pid) - used
    status, elapsed = statuses[-1], time.monotonic() - begin
    ros.stop('identification_node')
    print(f'{settings}: {100 * spent / elapsed:.1f} % of a core, '
          f'{(status.online_rows - rows) / elapsed:.0f} rows/s; {status.online or "off"}; '
          f'change: {status.change or "none"}', flush=True)
    return 100.0 * spent / elapsed, status


def hand_out(ros: Any) -> None:
    """The true parameters as the revision that runs."""
    from sysid_ros.msg import IdentifiedParameters
    from sysid_ros.nodes.conversions import parameters_message
    from sysid_ros.nodes.node import LATCHED

    arm = ros_throughput.seven_joints()
    truth = arm.model.parameters.with_values(
        dict(zip(arm.model.parameters.names, arm.truth, strict=True)))
    publisher = ros.client.create_publisher(
        IdentifiedParameters, 'model_server/identified_parameters', LATCHED)
    publisher.publish(parameters_message(
        arm.model.robot, truth, revision='1-true', estimate='elsewhere'))


def measure(ros: Any) -> list[dict[str, Any]]:
    """All figures."""
    ros_throughput.prepare(ros.folder)
    (ros.folder / 'every.yaml').write_text(EVERY_SAMPLE)
    with (ros.folder / 'robot.log').open('wb') as log:
        ros.processes['robot'] = subprocess.Popen(
            [sys.executable, str(HERE / 'ros_throughput.py'), '--publish'],
            env=node_environment(ros.domain), stderr=log, start_new_session=True)
    hand_out(ros)
    figures = []
    for name, settings in (('rows of a fit', 'settings.yaml'), ('every sample', 'every.yaml')):
        without, _ = load(ros, settings, online=False)
        with_it, status = load(ros, settings, online=True)
        figures.append({
            'name': f'online estimate of seven joints at 1 kHz, {name}',
            'value': with_it - without, 'unit': '% of a core', 'bar': f'<= {BAR:g}',
            'reference': f'the node without it, {without:.1f} %',
            'ok': bool(with_it - without <= BAR and status.online_consistency_margin > 0.0)})
    return figures


def main() -> None:
    """Measure, and print the figures as JSON last."""
    os.environ |= loopback_variables()
    with ros_throughput.session() as ros:
        print(json.dumps(measure(ros)))


if __name__ == '__main__':
    main()
