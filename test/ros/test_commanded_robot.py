"""A robot without torque sensors from its commands to a revision, over DDS."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import yaml
from diagnostic_msgs.msg import DiagnosticStatus

from support import TESTS
from support import actuated_arm as arm
from support.identification_bench import Setup
from support.ros_session import PATIENCE
from sysid_ros.cli.main import main as sysid
from sysid_ros.demo.node_processes import node_environment
from sysid_ros.estimation.estimate import Estimate
from sysid_ros.msg import IdentifiedParameters, ResultCode
from sysid_ros.nodes.node import LATCHED
from sysid_ros.runs.sources import load_source
from sysid_ros.srv import CommitParameters

COMMANDS = 'arm_controller/commands'
# Robot and drives are simulated in a process of low priority, a hundred times by a fit.
LONGEST = 3.0 * PATIENCE


class ServoArm(Setup):
    """The identification node, and an arm whose torques nobody measures."""

    def __init__(self, ros):
        super().__init__(ros)
        (ros.folder / 'arm.xml').write_text(arm.DESCRIBED)
        servos = {
            name: {'kind': 'position_servo', 'kp': kp, 'kd': kd, 'torque_limit': limit}
            for name, kp, kd, limit in zip(arm.JOINTS, arm.KP, arm.KD, arm.LIMIT, strict=True)}
        (ros.folder / 'settings.yaml').write_text(yaml.safe_dump(
            {'robot': {'description': 'arm.xml', 'actuators': servos}}))

    def robot(self, *options):
        with (self.ros.folder / 'robot.log').open('ab') as output:
            self.ros.processes['robot'] = subprocess.Popen(
                [sys.executable, '-m', 'support.servo_arm_publisher', *options], stdout=output,
                stderr=output, env=node_environment(self.ros.domain), cwd=TESTS,
                start_new_session=True)
        return self


@pytest.fixture
def setup(ros):
    pytest.importorskip('mujoco')
    return ServoArm(ros)


def ended(setup, **parameters):
    """What a node prints that cannot begin, and ends."""
    process = setup.node(**parameters).process
    setup.ros.wait(lambda: process.poll() is not None)
    assert process.returncode == 1
    return setup.ros.output('identification_node')


def parameters(run):
    return json.loads((run / 'estimate.json').read_text())['parameters']


def test_what_a_controller_says_of_itself_is_recorded_and_survives_a_kill(
    setup, control_msgs, monkeypatch
):
    for name, value in control_msgs.items():
        monkeypatch.setenv(name, os.pathsep.join(filter(None, [value, os.environ.get(name)])))
    setup.recorder(command_topic=COMMANDS).robot('--controller')
    stopped = setup.record(2.0, 'told')
    assert (stopped.success, stopped.dropped) == (True, 0)
    folder = setup.data / 'recordings' / 'told'
    channel = load_source(folder).recording().channel('command')
    assert channel.names == arm.JOINTS and np.isfinite(channel.values).all()
    # As a process leaves it that is killed: without its end, and what lies behind it.
    (bag,) = folder.glob('*.mcap')
    bag.write_bytes(bag.read_bytes()[:-2000])
    (folder / 'metadata.yaml').unlink()
    settings = folder / 'settings.yaml'
    settings.write_text(settings.read_text().replace(
        'recording:\n', 'recording:\n  salvage: true\n'))
    left = load_source(folder).recording().channel('command')
    assert left.names == arm.JOINTS and len(left.t) > 0.5 * len(channel.t)


def test_commands_are_recorded_fitted_and_committed_as_sysid_fit_does_it(setup, tmp_path):
    ros = setup.ros
    setup.node(command_topic=COMMANDS, holdout=0.3)
    robot = ros.folder / 'settings.yaml'
    ros.start('model_server', {'data_folder': str(setup.data), 'robot': str(robot)})
    revisions = ros.hear(IdentifiedParameters, 'model_server/identified_parameters', LATCHED)
    setup.active().robot()
    stopped = setup.record(9.5, 'commanded')
    assert (stopped.success, stopped.dropped) == (True, 0)
    recording = load_source(setup.data / 'recordings' / 'commanded').recording()
    assert recording.channel('command').names == arm.JOINTS
    stages = []
    result = ros.result(
        setup.identify(lambda message: stages.append(message.feedback.stage)), LONGEST)
    assert (result.success, result.code, result.committable) == (True, 'ok', True), (
        result.message, result.reasons)
    # Errors of the motion that is simulated under the commands.
    assert result.held_out_relative_error < 0.2 * result.prior_relative_error
    assert any('Fitting with shooting' in stage for stage in stages)
    folder = setup.data / 'estimates' / result.estimate
    found = Estimate.load(folder / 'estimate.json').parameters
    for field, values in arm.TRUTH.items():
        for joint, truth in zip(arm.JOINTS, values, strict=True):
            # Dry friction is another law in MuJoCo, and a part was held back.
            assert found[f'{joint}.{field}'] == pytest.approx(truth, rel=0.15), f'{joint}.{field}'
    run = tmp_path / 'run'
    assert sysid(['fit', str(setup.data / 'recordings' / 'commanded'), '--holdout', '0.3',
                  '-o', str(run)]) == 0
    assert parameters(run) == parameters(folder)
    answer = ros.call(
        CommitParameters, 'model_server/commit', estimate=result.estimate, shadow_duration=5.0)
    assert 'no torque of this robot is measured' in answer.message
    # It is judged again by simulation, in a process of low priority.
    answer = ros.call(
        CommitParameters, 'model_server/commit', LONGEST, estimate=result.estimate)
    assert answer.success, answer.message
    ros.wait(lambda: any(each.revision == answer.revision for each in revisions))
    elbow = next(joint for joint in revisions[-1].joints if joint.name == 'elbow')
    assert elbow.armature == found['elbow.armature']


def test_a_robot_with_actuators_is_not_recorded_without_its_commands(setup):
    setup.recorder(command_topic='nowhere').robot()
    refused = setup.refused('nobody publishes the commands of the actuators')
    assert refused.code == ResultCode.NOT_READY and '/nowhere' in refused.message
    setup.said(DiagnosticStatus.WARN, '/nowhere: nobody publishes the commands')


def test_it_is_asked_for_the_topic_of_the_commands(setup):
    assert 'it is not said which topic has their commands' in ended(setup)


def test_it_is_not_followed_row_by_row(setup):
    assert 'the torques of a robot with actuators are not measured' in ended(
        setup, command_topic=COMMANDS, online=True)
