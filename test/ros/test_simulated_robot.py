"""The simulated robot as a process: what it publishes, and that it stops by itself."""

import os
import time

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from sysid_ros.msg import StopRequest

pytest.importorskip('mujoco')

START = [0.2, -0.4, 0.3, 0.0]
JOINTS = ['base_yaw', 'shoulder_pitch', 'elbow_pitch', 'wrist_roll']


@pytest.fixture
def start(ros, project):
    """Starts the robot; returns what it publishes."""
    def start(**parameters):
        heard = ros.hear(JointState, 'joint_states', 100)
        ros.start('simulated_robot', {
            'description': str(project / 'sysid_ros' / 'demo' / 'demo_arm.urdf'),
            'initial_position': START, 'publish_rate': 200.0, 'realtime_priority': 30,
            **parameters,
        })
        ros.wait(lambda: len(heard) > 10)
        ros.go_first()
        return heard

    return start


def publisher(ros, kind, topic):
    made = ros.client.create_publisher(kind, topic, 10)
    ros.wait(lambda: made.get_subscription_count() > 0)
    return made


def at_rest(heard):
    last = np.array([message.velocity for message in heard[-20:]])
    return len(last) == 20 and np.abs(last).max() < 0.04


def push(ros, heard, efforts):
    """Torques until the first joint moves fast.

    A pause of this process ends a stream; then another one begins, after a silence.
    """
    def fast():
        return heard[-1].velocity[0] > 0.5

    def pushed():
        command = pushing(heard[-1].effort)
        ros.wait(lambda: fast() or efforts.publish(command), 2.0, required=False)
        if not fast():
            ros.spin(0.5)
        return fast()

    ros.wait(pushed)


def pushing(hold):
    """Torques that hold the robot, and turn its first joint."""
    return Float64MultiArray(data=(np.array(hold) + [8.0, 0.0, 0.0, 0.0]).tolist())


def stamps(heard):
    return np.array([m.header.stamp.sec + 1e-9 * m.header.stamp.nanosec for m in heard])


def test_it_holds_its_pose_and_says_so_as_its_sensors_would(ros, start, tmp_path):
    truth = tmp_path / 'truth.xml'
    heard = start(write_truth=str(truth))
    begin = len(heard)
    ros.wait(lambda: len(heard) > begin + 200)
    message = heard[-1]
    assert list(message.name) == JOINTS
    np.testing.assert_allclose(message.position, START, atol=2e-3)
    turns = np.array(message.position) / (2.0 * np.pi / 65536)
    np.testing.assert_allclose(turns, np.round(turns), atol=1e-6)
    efforts = np.array([message.effort for message in heard[begin:]])
    np.testing.assert_allclose(efforts.std(axis=0), 0.05, rtol=0.3)
    # Stamps are those of the simulation, even where messages come late.
    periods = np.diff(stamps(heard[begin:]))
    assert np.median(periods) == pytest.approx(0.005, abs=1e-6)
    assert abs(stamps(heard)[-1] - time.time()) < 5.0
    assert '<mujoco' in truth.read_text()


def test_joints_come_in_the_order_that_was_asked_for(start):
    heard = start(joints=JOINTS[::-1], initial_position=START[::-1])
    assert list(heard[-1].name) == JOINTS[::-1]
    np.testing.assert_allclose(heard[-1].position, START[::-1], atol=2e-3)


def test_when_commands_fall_silent_it_brakes_and_holds(ros, start):
    heard = start()
    diagnostics = ros.hear(DiagnosticArray, '/diagnostics')
    efforts = publisher(ros, Float64MultiArray, 'effort_commands')
    push(ros, heard, efforts)
    count = len(heard)
    ros.wait(lambda: at_rest(heard[count:]))
    assert np.ptp(stamps(heard[count:])) < 2.0
    ros.wait(lambda: any(
        'no command' in value.value for array in diagnostics for value in array.status[0].values))


def test_after_a_stop_a_stream_that_goes_on_does_not_move_it(ros, start):
    heard = start()
    efforts = publisher(ros, Float64MultiArray, 'effort_commands')
    stop = publisher(ros, StopRequest, 'sysid/stop')
    command = pushing(heard[-1].effort)
    push(ros, heard, efforts)
    stop.publish(StopRequest(source='test', reasons=['because']))
    ros.wait(lambda: efforts.publish(command) or at_rest(heard))
    place = heard[-1].position[0]
    deadline = time.monotonic() + 1.0
    ros.wait(lambda: efforts.publish(command) or time.monotonic() > deadline)
    assert heard[-1].position[0] == pytest.approx(place, abs=5e-3)
    # A new stream, after a silence.
    ros.spin(0.3)
    push(ros, heard, efforts)


def test_positions_and_trajectories_are_followed(ros, start):
    # A pause of this process is no end of the stream.
    heard = start(command_timeout=1.0)
    positions = publisher(ros, Float64MultiArray, 'position_commands')
    goal = np.array(START) + 0.03
    command = Float64MultiArray(data=goal.tolist())
    ros.wait(lambda: positions.publish(command) or np.allclose(
        heard[-1].position, goal, atol=4e-3))
    trajectories = publisher(ros, JointTrajectory, 'joint_trajectory')
    ros.spin(1.3)
    ros.wait(lambda: at_rest(heard))
    point = JointTrajectoryPoint(
        positions=START[::-1], velocities=[0.0] * 4, accelerations=[0.0] * 4)
    point.time_from_start.sec = 1
    trajectories.publish(JointTrajectory(joint_names=JOINTS[::-1], points=[point]))
    ros.wait(lambda: np.allclose(heard[-1].position, START, atol=4e-3))


def test_commands_that_do_not_fit_are_refused_and_said(ros, start):
    heard = start()
    efforts = publisher(ros, Float64MultiArray, 'effort_commands')
    efforts.publish(Float64MultiArray(data=[float('nan')] * 4))
    efforts.publish(Float64MultiArray(data=[50.0]))
    ros.wait(lambda: '4 finite numbers' in ros.output('simulated_robot'))
    np.testing.assert_allclose(heard[-1].position, START, atol=2e-3)


def test_without_mujoco_it_says_what_to_install(ros, project, tmp_path, monkeypatch):
    (tmp_path / 'mujoco.py').write_text("raise ImportError('No module named mujoco')\n")
    monkeypatch.setenv('PYTHONPATH', os.pathsep.join([str(tmp_path), str(project)]))
    process = ros.start('simulated_robot', {
        'description': str(project / 'sysid_ros' / 'demo' / 'demo_arm.urdf')})
    ros.wait(lambda: process.poll() is not None)
    assert process.returncode == 1
    assert "pip install 'sysid-ros[demo]'" in ros.output('simulated_robot')
