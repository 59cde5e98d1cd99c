"""The whole loop with real processes: excite, identify, commit, track, roll back; and kills."""

import itertools
import json
import subprocess
import sys
from pathlib import Path

import pytest

from support import kill_rig

pytest.importorskip('mujoco')

LONGEST = 400.0
# When nodes are killed, one after the other, in [s] from the beginning of a motion.
DELAYS = (0.5, 2.0)
# Time to rest after somebody has noticed, as the issue of safety asks for, in [s].
BRAKING = 0.5


def nodes_in(domain):
    """Processes of nodes in a domain."""
    found = []
    for process in Path('/proc').iterdir():
        if not process.name.isdigit():
            continue
        try:
            command = (process / 'cmdline').read_bytes()
            environment = (process / 'environ').read_bytes()
        except OSError:
            continue
        if b'sysid_ros.nodes' in command and f'ROS_DOMAIN_ID={domain}\0'.encode() in environment:
            found.append(command)
    return found


def run_demo(folder, domain, robot='arm'):
    return subprocess.run(
        [sys.executable, '-m', 'sysid_ros.cli.main', 'demo', '-o', str(folder),
         '--domain', str(domain), '--robot', robot],
        capture_output=True, text=True, timeout=LONGEST)


def test_the_loop_closes_and_leaves_no_process_behind(domain, tmp_path):
    finished = run_demo(tmp_path / 'demo', domain)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert not nodes_in(domain)
    report = json.loads((tmp_path / 'demo' / 'report' / 'report.json').read_text())
    assert report['all_met']
    assert report['torque_ratio'] <= 1.3
    assert report['tracking_ratio'] <= 1.2
    assert report['tracking_error']['prior'] > 3.0 * report['tracking_error']['revision']
    assert report['consistent_links'] == report['links'] == 4
    kinds = [info['kind'] for info in report['operator']['revisions']]
    assert kinds == [2, 1, 0]
    for name in ('report.txt', 'torque_held_out.png', 'summary.txt'):
        assert (tmp_path / 'demo' / 'report' / name).stat().st_size > 0


def test_the_loop_of_a_robot_without_torque_sensors_closes(domain, tmp_path):
    finished = run_demo(tmp_path / 'demo', domain, 'quadruped_leg')
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert not nodes_in(domain)
    report = json.loads((tmp_path / 'demo' / 'report' / 'report.json').read_text())
    assert report['all_met']
    assert report['motion_ratio'] < 0.2 and report['armature_error'] < 0.15
    kinds = [info['kind'] for info in report['operator']['revisions']]
    assert kinds == [2, 1, 0]
    for name in ('report.txt', 'motion_held_out.png', 'identified.xml'):
        assert (tmp_path / 'demo' / 'report' / name).stat().st_size > 0


def test_a_demo_that_is_killed_leaves_no_process_behind(domain, tmp_path):
    demo = subprocess.Popen(
        [sys.executable, '-m', 'sysid_ros.cli.main', 'demo', '-o', str(tmp_path / 'demo'),
         '--domain', str(domain)], stdout=subprocess.PIPE, text=True)
    assert demo.stdout is not None
    for line in demo.stdout:
        if 'waiting for the nodes' in line:
            break
    assert nodes_in(domain)
    demo.kill()
    demo.wait()
    demo.stdout.close()
    # The kernel ends them; it only has to get round to it.
    for _ in range(100):
        if not nodes_in(domain):
            break
        subprocess.run(['sleep', '0.1'])
    assert not nodes_in(domain)


@pytest.mark.parametrize('composed', [False, True], ids=['apart', 'composed'])
def test_whichever_node_is_killed_in_mid_motion_the_robot_comes_to_rest(
    domain, tmp_path, composed
):
    with kill_rig.kill_rig(tmp_path / 'demo', domain, composed=composed) as rig:
        for victim, delay in zip(rig.victims, itertools.cycle(DELAYS), strict=False):
            seconds, speed = rig.trial(victim, delay)
            assert speed > 0.5
            assert seconds < rig.reaction + BRAKING, victim
    assert not nodes_in(domain)
