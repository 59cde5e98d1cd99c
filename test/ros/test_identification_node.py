"""The identification node over DDS: recording, fitting, and what it refuses."""

import json
import math
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import yaml
from action_msgs.msg import GoalStatus
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import WrenchStamped
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from sensor_msgs.msg import Imu

from support import two_joint_robot
from support.identification_bench import Setup, alive
from support.ros_session import PATIENCE
from sysid_ros.cli.main import main as sysid
from sysid_ros.estimation.estimate import Estimate
from sysid_ros.msg import IdentificationStatus, ResultCode
from sysid_ros.recording.bag.sensor_messages import IMU, WRENCH, read_sensor
from sysid_ros.recording.bag.write import write_bag
from sysid_ros.runs.sources import load_source


@pytest.fixture
def setup(ros):
    return Setup(ros)


def parameters(run):
    return json.loads((run / 'estimate.json').read_text())['parameters']


def as_controllers_know_it(recording):
    """Settings of a recording with the friction that controllers know, as the node fits it.

    Among all friction models another one may predict a noisy recording better by chance.
    """
    settings = yaml.safe_load((recording / 'settings.yaml').read_text())
    settings.setdefault('fit', {})['friction_selection'] = {
        'candidates': ['viscous', 'dry', 'coulomb']}
    path = recording / 'plain.yaml'
    path.write_text(yaml.safe_dump(settings))
    return path


def test_a_motion_is_recorded_and_fitted_as_sysid_fit_does_it(setup, tmp_path):
    setup.node().robot()
    stopped = setup.record(10.0, 'first')
    assert (stopped.success, stopped.code, stopped.recording) == (True, 'ok', 'first')
    assert stopped.samples > 1900
    assert stopped.dropped == 0
    again = setup.stop()
    assert (again.success, again.samples) == (True, stopped.samples)
    stages = []
    handle = setup.identify(lambda message: stages.append(message.feedback))
    assert handle.accepted
    result = setup.ros.result(handle)
    assert (result.success, result.code, result.committable) == (True, 'ok', True), (
        result.message, result.reasons)
    assert result.held_out_relative_error < result.prior_relative_error
    assert result.consistency_margin > 0.0
    assert [round(stage.progress, 9) for stage in stages] == sorted(
        round(stage.progress, 9) for stage in stages)
    assert any('Fitting' in stage.stage for stage in stages)
    estimate = setup.data / 'estimates' / result.estimate
    run = tmp_path / 'run'
    assert sysid(['fit', str(as_controllers_know_it(setup.data / 'recordings' / 'first')),
                  '--holdout', '0.25', '-o', str(run)]) == 0
    assert parameters(run) == parameters(estimate)
    provenance = json.loads((estimate / 'provenance.json').read_text())
    assert provenance['recordings'] == ['first']
    assert provenance['base_revision'] == ''
    assert abs(provenance['recording_end'] * 1e-9 - time.time()) < 200.0
    setup.ros.wait(lambda: setup.statuses[-1].state == IdentificationStatus.IDLE)
    assert setup.statuses[-1].estimate == result.estimate
    assert setup.statuses[-1].condition > 1.0


def test_the_status_tells_torques_and_faults_of_what_comes_in(setup):
    setup.recorder().robot('--nan-every', 50)
    stopped = setup.record(5.0)
    setup.ros.wait(lambda: setup.statuses[-1].state == IdentificationStatus.IDLE)
    status = setup.statuses[-1]
    counts = dict(zip(status.fault_names, status.fault_counts, strict=True))
    assert counts['samples with a NaN position dropped'] >= 15
    assert stopped.dropped == status.dropped
    assert list(status.joint_names) == ['swing', 'slide']
    setup.ros.wait(lambda: not math.isnan(setup.statuses[-1].torque_rms[0]))
    status = setup.statuses[-1]
    for torque, residual in zip(status.torque_rms, status.torque_residual_rms, strict=True):
        # The prior is wrong, but not as wrong as none.
        assert 0.0 < residual < torque


def test_efforts_may_come_on_a_topic_of_their_own(setup):
    setup.recorder(effort_topic='efforts').robot('--efforts-apart')
    setup.record(3.0, 'apart')
    # Whoever has the answer may read the bag.
    assert (setup.data / 'recordings' / 'apart' / 'metadata.yaml').exists()
    setup.ros.wait(lambda: not any(map(math.isnan, setup.statuses[-1].torque_residual_rms)))
    bag = setup.data / 'recordings' / 'apart'
    recording = load_source(bag).recording()
    assert len(recording.channel('effort').t) > 500
    assert len(recording.channel('position').t) > 500


def test_a_bag_replayed_through_the_node_gives_the_estimate_of_the_bag(setup, tmp_path):
    """The node starts to record before the replay begins, and hears all of it."""
    urdf = setup.ros.folder / 'robot.urdf'
    q, v, tau = two_joint_robot.motion(urdf, 200.0)
    t = np.arange(2400) / 200.0
    bag = tmp_path / 'bag'
    write_bag(bag, t, two_joint_robot.JOINTS, *(x[:2400] for x in (q, v, tau)), start=1.7e9)
    setup.node(use_sim_time=True, reliable=True).active()
    assert setup.start('replayed').success
    environment = dict(os.environ, ROS_DOMAIN_ID=str(setup.ros.domain))
    replay = subprocess.run(
        [sys.executable, '-m', 'sysid_ros.cli.main', 'replay', str(bag), '--rate', '2'],
        env=environment, capture_output=True, text=True, timeout=PATIENCE)
    assert replay.returncode == 0, replay.stderr
    assert '2400 messages on /joint_states' in replay.stdout
    stopped = setup.stop()
    assert (stopped.samples, stopped.dropped) == (2400, 0)
    assert stopped.duration == pytest.approx(t[-1])
    result = setup.ros.result(setup.identify())
    assert result.success, result.message
    run = tmp_path / 'run'
    assert sysid(['fit', str(bag), '--settings', str(setup.ros.folder / 'settings.yaml'),
                  '--holdout', '0.25', '-o', str(run)]) == 0
    live, direct = (Estimate.load(folder / 'estimate.json').parameters.values for folder in (
        setup.data / 'estimates' / result.estimate, run))
    np.testing.assert_allclose(live, direct, rtol=1e-9, atol=1e-12)


def test_wrenches_and_imus_are_recorded_beside_the_joint_states(setup):
    ros = setup.ros
    setup.recorder(wrench_topics=['foot'], imu_topics=['imu']).robot()
    silent = setup.refused('a sensor that is to be recorded is silent')
    assert silent.code == ResultCode.NOT_READY
    assert '/foot' in silent.message and 'wrench_topics' in silent.message
    setup.said(DiagnosticStatus.WARN, '/imu: the sensor is silent')
    foot = ros.client.create_publisher(WrenchStamped, 'foot', 10)
    imu = ros.client.create_publisher(Imu, 'imu', 10)

    def measure():
        stamp = ros.client.get_clock().now().to_msg()
        wrench, motion = WrenchStamped(), Imu()
        for message, frame in ((wrench, 'left_foot'), (motion, 'imu_link')):
            message.header.stamp, message.header.frame_id = stamp, frame
        wrench.wrench.force.z, motion.angular_velocity.y = 40.0, 0.5
        foot.publish(wrench)
        imu.publish(motion)

    ros.client.create_timer(0.01, measure)
    setup.record(2.0, 'touched')
    bag = setup.data / 'recordings' / 'touched'
    track = read_sensor(bag, '/foot')
    assert (track.kind, track.frame) == (WRENCH, 'left_foot') and len(track.t) > 50
    assert (track.values == [0.0, 0.0, 40.0, 0.0, 0.0, 0.0]).all()
    motion = read_sensor(bag, '/imu')
    assert (motion.kind, motion.frame) == (IMU, 'imu_link')
    assert (motion.values[:, 1] == 0.5).all()
    # The joints are read from the same bag as if nothing else was in it.
    recording = load_source(bag).recording()
    assert recording.start < track.t[-1] < recording.start + 10.0


def test_02_joints_without_effort_are_refused_by_name(setup):
    setup.recorder().robot('--without-effort', 'slide')
    assert setup.refused('no effort is given for slide').code == ResultCode.NOT_READY


def test_05_joints_that_are_missing_are_refused_by_name(setup):
    setup.recorder().robot('--joints', 'swing')
    setup.refused('nothing was heard of slide')
    setup.said(DiagnosticStatus.WARN, 'nothing was heard of slide')


def test_10_zero_stamps_are_refused(setup):
    setup.recorder().robot('--zero-stamps')
    assert 'recording.stamps: receive' in setup.refused('messages have a zero stamp').message


def test_19_incompatible_qos_is_an_error_that_names_both_policies(setup):
    setup.recorder(reliable=True).robot('--best-effort')
    setup.said(DiagnosticStatus.ERROR, 'found reliability best_effort')
    setup.said(DiagnosticStatus.ERROR, 'asked for reliability reliable')
    setup.refused('nothing is received from /robot_publisher')


def test_47_a_node_killed_while_it_records_leaves_what_can_be_salvaged(setup, capsys):
    setup.recorder().robot()
    setup.started('killed')
    setup.ros.wait(lambda: setup.statuses and setup.statuses[-1].duration > 3.0)
    setup.ros.stop('identification_node', signal.SIGKILL)
    folder = setup.data / 'recordings' / 'killed'
    assert sysid(['fit', str(folder), '-o', str(setup.ros.folder / 'run')]) == 2
    assert 'was not finished' in capsys.readouterr().err
    settings = folder / 'settings.yaml'
    text = settings.read_text()
    settings.write_text(text.replace('recording:\n', 'recording:\n  salvage: true\n'))
    recording = load_source(folder).recording()
    assert recording.duration > 2.0
    assert any('salvaged' in warning for warning in recording.warnings)


def test_48_recordings_that_are_not_there_are_refused_and_those_that_are_listed(setup):
    setup.recorder().active()
    for name, code in (
        ('', 'unknown_id'), ('nothing', 'unknown_id'), ('../x', 'invalid_request'),
        ('nothing, more', 'unknown_id'), ('one,one', 'invalid_request'),
        ('one,', 'invalid_request'),
    ):
        handle = setup.identify(recording=name)
        result = setup.ros.result(handle)
        assert (result.success, result.code) == (False, code), result


def test_stop_is_granted_in_every_state(setup):
    setup.recorder().robot()
    setup.started()
    change = Transition(id=Transition.TRANSITION_DEACTIVATE)
    assert setup.ros.call(
        ChangeState, 'identification_node/change_state', transition=change).success
    stopped = setup.stop()
    assert (stopped.success, stopped.code) == (True, ResultCode.OK)
    assert setup.start().code == ResultCode.NOT_ACTIVE
    handle = setup.identify()
    assert setup.ros.result(handle).code == ResultCode.NOT_ACTIVE


def test_stopping_what_was_never_started_says_so(setup):
    setup.recorder()
    assert setup.stop().code == ResultCode.NOT_RECORDING


def test_a_second_start_is_refused_with_the_running_id(setup):
    setup.recorder().robot()
    setup.started('one')
    second = setup.start('two')
    assert (second.success, second.code) == (False, ResultCode.BUSY)
    assert 'one' in second.message
    # Asked for by its name, it is what got no answer.
    again = setup.start('one')
    assert (again.success, again.recording) == (True, 'one')
    setup.stop()
    taken = setup.start('one')
    assert (taken.success, taken.code) == (False, ResultCode.INVALID_REQUEST)


def test_a_fit_ends_when_it_is_cancelled_and_when_its_node_is_killed(setup):
    setup.node().robot()
    setup.record(8.0)
    handle, fit = setup.fitting()
    busy = setup.ros.result(setup.identify())
    assert (busy.success, busy.code) == (False, ResultCode.BUSY)
    cancel = handle.cancel_goal_async()
    setup.ros.wait(cancel.done)
    future = handle.get_result_async()
    setup.ros.wait(future.done)
    assert future.result().status == GoalStatus.STATUS_CANCELED
    assert future.result().result.code == ResultCode.CANCELLED
    assert not alive(fit)
    _, fit = setup.fitting()
    setup.ros.stop('identification_node', signal.SIGKILL)
    setup.ros.wait(lambda: not alive(fit), 10.0)


def test_who_waits_for_a_fit_is_told_that_the_node_ends(setup):
    setup.node().robot()
    setup.record(4.0)
    handle, fit = setup.fitting()
    future = handle.get_result_async()
    setup.ros.spin(0.2)
    assert setup.ros.stop('identification_node') == 0
    setup.ros.wait(future.done)
    assert future.result().result.code == ResultCode.STOPPED
    assert 'never awaited' not in setup.ros.output('identification_node')
    assert not alive(fit)


def test_a_node_that_is_stopped_completes_its_bag(setup):
    setup.recorder().robot()
    setup.started('ended')
    setup.ros.wait(lambda: setup.statuses and setup.statuses[-1].duration > 2.0)
    assert setup.ros.stop('identification_node') == 0
    assert load_source(setup.data / 'recordings' / 'ended').recording().duration > 1.9


def test_settings_that_are_missing_are_an_error_for_people(setup):
    process = setup.node(settings='').process
    setup.ros.wait(lambda: process.poll() is not None)
    assert process.returncode == 1
    assert "the parameter 'settings' is empty" in setup.ros.output('identification_node')
