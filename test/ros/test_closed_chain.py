"""The loop of real node processes with a closed chain: motors in, all of the robot known."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from sysid_ros.demo.folder import share, verify
from sysid_ros.demo.node_processes import NodeProcesses
from sysid_ros.excitation.configuration import ExcitationPlan
from sysid_ros.mechanics.closures.closed_chain import closed_chain
from sysid_ros.msg import Heartbeat, StopRequest

pytest.importorskip('mujoco')

HERE = Path(__file__).parent
NODES = ('simulated_robot', 'monitor_node', 'model_server', 'identification_node',
         'computed_torque_controller', 'excitation_node')
LONGEST = 200.0
# The position that the passive joint of the left crank must not come to, in [rad].
TIP_LIMIT = -0.4
# Longest step of a position that is told, in [s] of its way.
LONGEST_STEP = 0.02


def prepared(folder):
    """The five-bar and its motions, as the nodes look for them."""
    shutil.copytree(HERE / 'five_bar', folder)
    (folder / 'data').mkdir()
    (folder / 'motions').rename(folder / 'data' / 'motions')
    verify(folder)
    return folder


def test_a_closed_chain_is_excited_identified_committed_and_tracked(domain, tmp_path):
    folder = prepared(tmp_path / 'five_bar')
    with NodeProcesses(folder, domain) as nodes:
        for name in (*NODES, 'demo_operator'):
            nodes.start(name, name, [share() / 'config' / f'{name}.yaml', folder / 'nodes.yaml'])
        code = nodes.wait_for('demo_operator', LONGEST)
    log = (folder / 'log' / 'demo_operator.txt').read_text()
    results = json.loads((folder / 'results.json').read_text())
    assert code == 0, log
    assert results['committable'], results['reasons']
    assert [info['kind'] for info in results['revisions']] == [2, 1, 0]
    commit, tracking = results['commit'], results['tracking']
    assert commit['candidate_error'] < 0.7 * commit['current_error']
    assert set(tracking['revision']['joint_rms']) == {'left_joint', 'right_joint'}
    assert tracking['prior']['rms'] > 2.0 * tracking['revision']['rms']


def test_the_monitor_stops_a_robot_before_a_passive_joint_comes_to_its_limit(ros):
    plan = HERE / 'five_bar' / 'excitation.yaml'
    start, towards = np.array([2.2, 0.9]), np.array([-0.8, 0.5])
    ros.start('simulated_robot', {
        'description': str(HERE / 'five_bar' / 'robot.urdf'),
        'loops': str(HERE / 'five_bar' / 'loops.yaml'), 'initial_position': start.tolist(),
        'publish_rate': 250.0, 'command_timeout': 1.0, 'realtime_priority': 30})
    ros.start('monitor_node', {
        'plan': str(plan), 'watch': [''], 'reaction_time': 0.25, 'state_timeout': 0.5,
        'realtime_priority': 20})
    states = ros.hear(JointState, 'joint_states', 1000)
    stops = ros.hear(StopRequest, 'sysid/stop')
    told = ros.client.create_publisher(Float64MultiArray, 'position_commands', 10)
    reports = ros.hear(DiagnosticArray, '/diagnostics')
    beats = ros.hear(Heartbeat, 'sysid/heartbeat')

    def guarded():
        """The monitor is active and sees the robot: who is heard of need not hear yet."""
        active = any((beat.node, beat.state) == ('/monitor_node', Heartbeat.ACTIVE)
                     for beat in beats[-10:])
        said = [status.message for array in reports for status in array.status
                if status.name == '/monitor_node' and status.values]
        return active and said and 'does not see the robot' not in said[-1]

    ros.wait(lambda: states and told.get_subscription_count()
             and ros.client.count_publishers('sysid/stop') and guarded())
    ros.go_first()
    pushed = [time.monotonic(), 0.0]

    def pushed_on():
        """The way goes on by steps: a pause of this process is not made up for by a leap."""
        last, pushed[0] = pushed[0], time.monotonic()
        pushed[1] += min(pushed[0] - last, LONGEST_STEP)
        told.publish(Float64MultiArray(data=(start + min(pushed[1], 1.1) * towards).tolist()))
        return pushed[1] > 2.0

    ros.wait(pushed_on)
    chain = closed_chain(ExcitationPlan.load(plan).settings.robot.build(plan.parent).robot)
    q = np.array([message.position for message in states])
    tip = chain.positions(q)[:, chain.joint_names.index('left_tip_joint')]
    # Where the motors were told to go it would be beyond its limit.
    assert chain.positions((start + 1.1 * towards)[None])[0, 1] > TIP_LIMIT
    assert any('The passive left_tip_joint' in reason
               for stop in stops for reason in stop.reasons), ros.output('monitor_node')
    assert np.ptp(tip) > 0.3
    assert tip.max() < TIP_LIMIT
    assert np.abs(states[-1].velocity).max() < 0.05
