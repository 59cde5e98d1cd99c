"""Every way in which an excitation moves a robot, with the simulated robot at the other end."""

import os
import signal

import numpy as np
import pytest
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger

from support import ideal_robot
from support.trajectory_controller import ReplacingController
from sysid_ros.action import Excite
from sysid_ros.excitation.files import load_excitation
from sysid_ros.msg import ExcitationStatus, Heartbeat, ResultCode

pytest.importorskip('mujoco')

# Machines that run tests are busy, and the robot's parameters are not those of the description.
PATIENT = {'state_timeout': 1.0, 'heartbeat_timeout': 1.5, 'overrun': 0.1, 'over': 0.5,
           'tracking_error': 0.5, 'natural_frequency': 20.0, 'rate': 100.0}


def excite(ros, motion):
    """Play a motion, again and again while nodes are finding one another."""
    results = []

    def played():
        assert ros.call(SetBool, 'excitation_node/arm', data=True).success
        results.append(ros.result(ros.send_goal(
            Excite, 'excitation_node/excite', motion=motion, speed_scale=1.0)))
        return results[-1].code != ResultCode.NOT_READY

    ros.wait(played)
    return results[-1]


@pytest.fixture
def controller(ros, request, monkeypatch):
    """Makes what stands behind the output follow_joint_trajectory; nothing for another output."""
    made = []

    def make(output, **options):
        if output != 'follow_joint_trajectory':
            return None
        for name, value in request.getfixturevalue('control_msgs').items():
            rest = os.environ.get(name)
            monkeypatch.setenv(name, f'{value}{os.pathsep}{rest}' if rest else value)
        made.append(ReplacingController(ros, **options).begin())
        return made[0]

    yield make
    for one in made:
        one.close()


@pytest.mark.parametrize(('output', 'near', 'options'), [
    ('position', 0.02, {}), ('trajectory', 0.02, {}), ('effort', 0.2, {}),
    ('follow_joint_trajectory', 0.02, {'aborts': False}),
    ('follow_joint_trajectory', 0.02, {'aborts': True})])
def test_a_motion_is_played_to_its_end(ros, project, controller, output, near, options):
    behind = controller(output, **options)
    urdf = project / 'sysid_ros' / 'demo' / 'demo_arm.urdf'
    plan, designer = ideal_robot.write_plan(ros.folder, urdf.read_text())
    wave = load_excitation(ros.folder / 'motions' / 'wave.yaml')
    first, last = wave.sample(np.array([0.0, wave.duration])).q
    ros.start('simulated_robot', {
        'description': str(urdf), 'initial_position': (first + 0.1).tolist(),
        'publish_rate': 250.0, 'command_timeout': 1.0, 'realtime_priority': 30})
    states = ros.hear(JointState, 'joint_states', 100)
    monitor = ideal_robot.PaperMonitor(ros).begin()
    try:
        beats = ros.hear(Heartbeat, 'sysid/heartbeat')
        ros.start('excitation_node', {
            'plan': str(plan), 'data_folder': str(ros.folder), 'output': output,
            'realtime_priority': 20, **PATIENT})
        ros.wait(lambda: states and beats)
        ros.go_first()
        result = excite(ros, 'wave')
    finally:
        monitor.end()
    assert result.success, result.message
    assert result.progress == 1.0
    q = np.array([message.position for message in states])
    assert (np.ptp(q, axis=0) > 0.5 * np.ptp(wave.grid(100.0).q, axis=0)).all()
    np.testing.assert_allclose(q[-1], last, atol=near)
    assert list(states[-1].name) == list(designer.limits.joint_names)
    # Piece by piece: of 0.4 s, renewed four times in that.
    assert behind is None or len(behind.goals) > 5


@pytest.mark.parametrize('output', ['trajectory', 'follow_joint_trajectory'])
def test_a_computer_that_dies_stops_a_robot_that_is_told_piece_by_piece(
    ros, project, controller, output
):
    controller(output)
    urdf = project / 'sysid_ros' / 'demo' / 'demo_arm.urdf'
    plan, _ = ideal_robot.write_plan(ros.folder, urdf.read_text())
    first = load_excitation(ros.folder / 'motions' / 'wave.yaml').sample(np.zeros(1)).q[0]
    ros.start('simulated_robot', {
        'description': str(urdf), 'initial_position': first.tolist(),
        'publish_rate': 250.0, 'command_timeout': 1.0, 'realtime_priority': 30})
    states = ros.hear(JointState, 'joint_states', 100)
    statuses = ros.hear(ExcitationStatus, 'excitation_node/status', 100)
    monitor = ideal_robot.PaperMonitor(ros).begin()
    try:
        beats = ros.hear(Heartbeat, 'sysid/heartbeat')
        ros.start('excitation_node', {
            'plan': str(plan), 'data_folder': str(ros.folder), 'output': output,
            'realtime_priority': 20, **PATIENT})
        ros.wait(lambda: states and beats)
        ros.go_first()

        def started():
            assert ros.call(SetBool, 'excitation_node/arm', data=True).success
            handle = ros.send_goal(
                Excite, 'excitation_node/excite', motion='wave', speed_scale=0.25)
            ended = handle.get_result_async()
            ros.wait(lambda: ended.done() or (
                statuses and statuses[-1].phase == ExcitationStatus.PLAYING
                and 0.1 < statuses[-1].progress < 0.5
                and np.abs(states[-1].velocity).max() > 0.1))
            return not ended.done()

        ros.wait(started)
        ros.stop('excitation_node', signal.SIGKILL)
        died = len(states)
    finally:
        monitor.end()
    ros.spin(3.0)
    q = np.array([message.position for message in states[died:]])
    # Over ten samples: slower is the servo that settles under the weight of the robot, and single
    # samples jump when joints break away.
    moving = np.flatnonzero(np.abs(q[10:] - q[:-10]).max(axis=1) > 0.03 * 10 / 250.0)
    # A piece of 0.4 s, and the time to brake, of the 4 s and more that were left.
    assert len(moving) and moving[-1] / 250.0 < 0.6


@pytest.mark.parametrize(('asked_by', 'code'), [
    ('operator', ResultCode.STOPPED), ('client', ResultCode.CANCELLED)])
def test_40_a_stop_through_the_action_is_a_goal_that_brakes_and_none_is_taken_back(
    ros, project, controller, asked_by, code
):
    behind = controller('follow_joint_trajectory')
    urdf = project / 'sysid_ros' / 'demo' / 'demo_arm.urdf'
    plan, designer = ideal_robot.write_plan(ros.folder, urdf.read_text())
    first = load_excitation(ros.folder / 'motions' / 'wave.yaml').sample(np.zeros(1)).q[0]
    ros.start('simulated_robot', {
        'description': str(urdf), 'initial_position': first.tolist(),
        'publish_rate': 250.0, 'command_timeout': 1.0, 'realtime_priority': 30})
    states = ros.hear(JointState, 'joint_states', 100)
    statuses = ros.hear(ExcitationStatus, 'excitation_node/status', 100)
    monitor = ideal_robot.PaperMonitor(ros).begin()
    try:
        ros.start('excitation_node', {
            'plan': str(plan), 'data_folder': str(ros.folder), 'realtime_priority': 20,
            'output': 'follow_joint_trajectory', **PATIENT})
        ros.wait(lambda: states)
        ros.go_first()
        goal, ended = begun(ros, statuses, states)
        if asked_by == 'operator':
            assert ros.call(Trigger, 'excitation_node/stop').success
        else:
            goal.cancel_goal_async()
        asked = len(states)
        ros.wait(ended.done)
    finally:
        monitor.end()
    result = ended.result().result
    assert result.code == code, result.message
    assert behind.cancels == 0
    braking = behind.goals[-1].request.trajectory
    assert braking.header.stamp.sec == 0 < behind.goals[-2].request.trajectory.header.stamp.sec
    assert not any(braking.points[-1].velocities)
    limits = designer.limits
    deceleration = np.abs([point.accelerations for point in braking.points]).max(axis=0)
    assert (deceleration <= 1.001 * limits.acceleration).all() and deceleration.max() > 0.1
    ros.spin(0.5)
    speed = np.array([np.abs(message.velocity).max() for message in states[asked:]])
    moving = np.flatnonzero(speed > 0.03)
    assert moving[-1] / 250.0 < 0.6
    # It was on its way, and not stopped by a controller that holds at once.
    assert len(moving) > 10


def begun(ros, statuses, states):
    """A motion that is under way: handle of the goal, and future of its end."""
    while True:
        assert ros.call(SetBool, 'excitation_node/arm', data=True).success
        handle = ros.send_goal(Excite, 'excitation_node/excite', motion='wave', speed_scale=0.5)
        ended = handle.get_result_async()
        ros.wait(lambda: ended.done() or (  # noqa: B023
            statuses and statuses[-1].phase == ExcitationStatus.PLAYING
            and 0.1 < statuses[-1].progress < 0.6
            and np.abs(states[-1].velocity).max() > 0.1))
        if not ended.done():
            return handle, ended
        assert ended.result().result.code == ResultCode.NOT_READY, ended.result().result.message


def test_35_a_controller_that_never_replaces_a_goal_is_told_apart_and_takes_whole_motions(
    ros, project, controller
):
    urdf = project / 'sysid_ros' / 'demo' / 'demo_arm.urdf'
    plan, _ = ideal_robot.write_plan(ros.folder, urdf.read_text())
    first = load_excitation(ros.folder / 'motions' / 'wave.yaml').sample(np.zeros(1)).q[0]
    behind = controller('follow_joint_trajectory', replaces=False)
    ros.start('simulated_robot', {
        'description': str(urdf), 'initial_position': first.tolist(),
        'publish_rate': 250.0, 'command_timeout': 1.0, 'realtime_priority': 30})
    monitor = ideal_robot.PaperMonitor(ros).begin()
    asked = {'plan': str(plan), 'data_folder': str(ros.folder), 'realtime_priority': 20,
             'output': 'follow_joint_trajectory', **PATIENT}
    try:
        beats = ros.hear(Heartbeat, 'sysid/heartbeat')
        ros.start('excitation_node', asked)
        ros.wait(lambda: beats)
        result = excite(ros, 'wave')
        assert not result.success and 'set horizon to 0' in result.message
        ros.stop('excitation_node', signal.SIGTERM)
        before = len(behind.goals)
        ros.start('excitation_node', asked | {'horizon': 0.0})
        result = excite(ros, 'wave')
    finally:
        monitor.end()
    assert result.success, result.message
    assert len(behind.goals) == before + 1
