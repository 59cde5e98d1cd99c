"""``sysid run`` with the nodes that it needs as processes: to a commit, and to a stop."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys

import pytest
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from sysid_ros.demo.node_processes import node_environment
from sysid_ros.msg import ExcitationStatus, IdentificationStatus
from sysid_ros.srv import ListRevisions

pytest.importorskip('mujoco')

# Of a whole run, and of what nodes take until they are active, in [s], on a machine that is busy.
LONGEST, PATIENCE = 400.0, '240'
# Motions are begun again where such a machine was too slow for one: a person agrees to all.
ANSWERS = 'y\n' * 40


def begin(ros, folder, *words):
    """Start the command."""
    return subprocess.Popen(
        [sys.executable, '-m', 'sysid_ros.cli.main', 'run', *words], cwd=folder,
        env=node_environment(ros.domain), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True)


def test_a_robot_is_identified_and_committed_in_one_command(ros, loop):
    command = begin(
        ros, loop, 'identification', '--trial', 'held_out', '--comment', 'by hand',
        '--first-pass', '0.5', '--patience', PATIENCE)
    said, _ = command.communicate(ANSWERS, timeout=LONGEST)
    assert command.returncode == 0, said
    for words in ('at 50 % of its speed', 'record, and play', 'Fit ', 'current revision predict',
                  'Commit '):
        assert re.search(rf'^\d+\. .*{words}', said, re.MULTILINE), said
    newest, *_ = ros.call(ListRevisions, 'model_server/list_revisions').revisions
    assert newest.current and newest.comment == 'by hand' and newest.estimate in said
    assert f'is revision {newest.revision}' in said


def test_a_campaign_plays_what_is_missing_fits_all_of_it_and_commits(ros, loop):
    command = begin(
        ros, loop, '--campaign', '--accuracy', '2%', '--most-motions', '3', '--first-pass', '0',
        '--patience', PATIENCE)
    said, _ = command.communicate(ANSWERS, timeout=LONGEST)
    assert command.returncode == 0, said
    assert 'The wanted accuracy is reached. Now: torque error' in said, said
    recordings = re.findall(r': recording (\S+)\.$', said, re.MULTILINE)
    assert 1 <= len(recordings) <= 3
    assert f'Fit {", ".join(recordings)}, and judge' in said
    newest, *_ = ros.call(ListRevisions, 'model_server/list_revisions').revisions
    assert newest.current and newest.estimate in said
    estimate = loop / 'data' / 'estimates' / newest.estimate / 'provenance.json'
    assert json.loads(estimate.read_text())['recordings'] == recordings


@pytest.mark.parametrize('name', ['SIGINT', 'SIGTERM', 'SIGHUP'])
def test_a_run_that_is_ended_in_mid_motion_stops_the_robot_and_the_recording(ros, loop, name):
    states = ros.hear(JointState, 'joint_states', 100)
    statuses = ros.hear(ExcitationStatus, 'excitation_node/status', 100)
    recordings = ros.hear(IdentificationStatus, 'identification_node/status', 10)
    command = begin(ros, loop, 'identification', '--first-pass', '0', '--patience', PATIENCE)
    command.stdin.write(ANSWERS)
    command.stdin.flush()
    ros.wait(lambda: command.poll() is not None or (
        statuses and statuses[-1].phase == ExcitationStatus.PLAYING
        and statuses[-1].progress > 0.1))
    assert command.poll() is None, command.stdout.read()
    command.send_signal(getattr(signal, name))
    ros.wait(lambda: statuses[-1].phase not in (
        ExcitationStatus.PLAYING, ExcitationStatus.STOPPING), 5.0)
    said, _ = command.communicate(timeout=30.0)
    assert command.returncode == 130, said
    assert 'The robot is at rest.' in said
    assert statuses[-1].phase == ExcitationStatus.HOLDING
    # Joint states of the last tenths of a second may wait here still.
    ros.wait(lambda: max(map(abs, states[-1].velocity)) < 0.1, 3.0)
    ros.wait(lambda: recordings[-1].state == IdentificationStatus.IDLE)
    assert recordings[-1].samples > 0
    # It was no fault: nothing has to be reset.
    assert ros.call(Trigger, 'monitor_node/reset').message == 'There was nothing to reset.'


def test_where_no_node_runs_it_says_how_to_start_them(ros, tmp_path):
    command = begin(ros, tmp_path, 'first', '--yes', '--patience', '2')
    said, _ = command.communicate(timeout=60.0)
    assert command.returncode == 2
    assert 'waited in vain for monitor_node to be active' in said
    assert 'ros2 launch sysid_ros identify.launch.py' in said
