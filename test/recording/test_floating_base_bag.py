"""A robot whose base moves, from the bag that its sensors were recorded to."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pinocchio as pin
import pytest
from rosbags.typesys import Stores, get_typestore

from support import robot_factory as factory
from sysid_ros.errors import RecordingError
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.regression.least_squares import WeightedLeastSquares
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.mechanics.tree.base_motion import BaseMotion
from sysid_ros.recording.bag.joint_state_cdr import JOINT_STATE, encode
from sysid_ros.recording.bag.recorder import BagRecorder
from sysid_ros.recording.bag.sensor_messages import IMU, WRENCH, read_sensor
from sysid_ros.recording.description import RecordingSettings
from sysid_ros.recording.floating_base_bag import floating_base_dataset_of_bag
from sysid_ros.recording.load import load_recording
from sysid_ros.recording.processing.align import align
from sysid_ros.recording.processing.settings import Processing
from sysid_ros.robot.floating_base import with_floating_base
from sysid_ros.robot.inertia import central_inertia, inertial_parameters
from sysid_ros.robot.model import RobotModel

TYPES = get_typestore(Stores.ROS2_HUMBLE)
START, RATE, SECONDS = 1_700_000_000.0, 400.0, 12.0
# The IMU is turned against the base and away from its origin.
IMU_POSE = pin.SE3(pin.rpy.rpyToMatrix(0.3, -0.2, 1.0), np.array([0.1, -0.05, 0.08])).homogeneous
TOPICS = {'/joint_states': JOINT_STATE, '/imu': IMU, '/foot': WRENCH}


def vector(values):
    return TYPES.types['geometry_msgs/msg/Vector3'](*map(float, values))


def header(t, frame):
    nanoseconds = round((START + t) * 1e9) if t is not None else 0
    stamp = TYPES.types['builtin_interfaces/msg/Time'](
        nanoseconds // 1_000_000_000, nanoseconds % 1_000_000_000)
    return TYPES.types['std_msgs/msg/Header'](stamp=stamp, frame_id=frame)


def wrench_bytes(t, force, moment, frame='link0'):
    message = TYPES.types[WRENCH](
        header=header(t, frame), wrench=TYPES.types['geometry_msgs/msg/Wrench'](
            force=vector(force), torque=vector(moment)))
    return bytes(TYPES.serialize_cdr(message, WRENCH))


def imu_bytes(t, turning, felt, *, unmeasured=False):
    covariance = np.zeros(9)
    message = TYPES.types[IMU](
        header=header(t, 'imu'),
        orientation=TYPES.types['geometry_msgs/msg/Quaternion'](0.0, 0.0, 0.0, 1.0),
        orientation_covariance=covariance, angular_velocity=vector(turning),
        angular_velocity_covariance=covariance, linear_acceleration=vector(felt),
        linear_acceleration_covariance=np.array([-1.0, *covariance[1:]]) if unmeasured
        else covariance)
    return bytes(TYPES.serialize_cdr(message, IMU))


def write(folder, messages):
    """A bag of messages of each topic: times in [s] and bytes."""
    recorder = BagRecorder(
        folder, list(messages), [TOPICS[topic] for topic in messages])
    for number, (times, payloads) in enumerate(messages.values()):
        recorder.add(number, payloads, [round((START + t) * 1e9) for t in times])
    recorder.finish()
    assert recorder.wait(30.0) and not recorder.error and not recorder.lost


def smooth(rng, columns, size) -> Callable[[np.ndarray], tuple[np.ndarray, ...]]:
    """Values of a random motion, and two derivatives, at any time."""
    rates = 2.0 * np.pi * np.array([0.3, 0.7, 1.1])
    a, b = size * rng.normal(size=(2, 3, columns)) / rates[:, None]

    def at(t):
        s, c = np.sin(t[:, None] * rates), np.cos(t[:, None] * rates)
        return s @ a + c @ b, (c * rates) @ a - (s * rates) @ b, -(s * rates**2) @ a - (
            c * rates**2) @ b

    return at


def wrench_on_base(robot, columns):
    """The wrench on the base that gives its six rows, in its own axes."""
    model = robot.pinocchio_model
    frame = model.getBodyId('link0')
    jacobian = pin.computeFrameJacobian(
        model, model.createData(), np.zeros(model.nq), frame, pin.ReferenceFrame.LOCAL)
    return np.linalg.solve(jacobian[:, :6].T, columns.T).T


@pytest.fixture(scope='module')
def flying(tmp_path_factory):
    """A robot that is held at its base by a hand that measures, and the bag of its sensors."""
    rng = np.random.default_rng(3)
    text = factory.random_urdf(11, 4, fixed_fraction=0.0)
    trunk = f'<link name="link0">{factory.random_inertial(rng)}</link>'
    robot = with_floating_base(RobotModel.from_urdf(text.replace('<link name="link0"/>', trunk)))
    truth = []
    for phi in robot.inertial_prior:
        mass, com, inertia = central_inertia(phi)
        factor = rng.uniform(0.7, 1.3)
        truth.append(inertial_parameters(
            factor * mass, com + rng.uniform(-0.03, 0.03, 3), factor * inertia))
    truth = np.concatenate(truth)
    joints, turn, push = (smooth(rng, n, size) for n, size in (
        (len(robot.joint_names) - 6, 1.0), (3, 1.0), (3, 3.0)))

    def moves(t):
        q, v, a = joints(t)
        omega, alpha, _ = turn(t)
        base = BaseMotion(omega, alpha, push(t)[0] + [0.0, 0.0, 9.81])
        return (q, v, a), base, TorqueModel(robot).torque(truth, *base.with_joints(q, v, a))

    t = np.arange(0.0, SECONDS, 1.0 / RATE)
    (q, v, _), base, tau = moves(t)
    rotation, arm = IMU_POSE[:3, :3], IMU_POSE[:3, 3]
    felt = base.proper_acceleration + np.cross(base.angular_acceleration, arm) + np.cross(
        base.angular_velocity, np.cross(base.angular_velocity, arm))
    # Sensors have clocks of their own: the foot comes between joint states, and half as often.
    late = t[:-1:2] + 0.4 / RATE
    touch = wrench_on_base(robot, moves(late)[2][:, :6])
    folder = tmp_path_factory.mktemp('flying') / 'bag'
    names = robot.joint_names[6:]
    write(folder, {
        '/joint_states': (t, [bytes(payload) for payload in encode(
            np.round((START + t) * 1e9).astype(np.int64), names,
            {'position': q, 'velocity': v, 'effort': tau[:, 6:]})]),
        '/imu': (t, [imu_bytes(*row) for row in zip(
            t, base.angular_velocity @ rotation, felt @ rotation, strict=True)]),
        '/foot': (late, [
            wrench_bytes(moment, row[:3], row[3:])
            for moment, row in zip(late, touch, strict=True)]),
    })
    recording = load_recording(RecordingSettings(format='rosbag', file='.'), folder)
    aligned = align(recording, names, Processing(trim=(0.1, 0.1)))
    return SimpleNamespace(
        robot=robot, truth=truth, folder=folder, joints=aligned, start=recording.start,
        moves=moves)


def dataset(flying, **named):
    return floating_base_dataset_of_bag(
        flying.robot, flying.joints, flying.start, flying.folder, **{
            'imu': '/imu', 'imu_pose': IMU_POSE, 'wrenches': {'link0': '/foot'},
            'all_measured': True, **named})


def test_motion_and_torques_are_those_that_the_sensors_measured(flying):
    data = dataset(flying)
    (q, v, a), base, tau = flying.moves(data.t)
    expected = base.with_joints(q, v, a)
    np.testing.assert_allclose(data.v[:, :6], expected[1][:, :6], atol=1e-3)
    # Straight lines between samples of the wrench are 1.1 Hz motion at 200 Hz: (2 pi 1.1/200)^2/8.
    scale = np.abs(tau[:, :6]).max()
    np.testing.assert_allclose(data.tau[:, :6], tau[:, :6], atol=2e-3 * scale)
    felt = data.a[:, :6] - expected[2][:, :6]
    assert np.abs(felt).max() < 2e-2


def test_base_parameters_are_recovered_from_the_bag_alone(flying):
    data = dataset(flying)
    problem = RegressionProblem.from_dataset(TorqueModel(flying.robot), data)
    estimate = WeightedLeastSquares().fit(problem)
    assert estimate.status.ok and not estimate.unidentified
    truth = problem.base.values(flying.truth)
    error = np.abs(estimate.base_values - truth)
    # No noise: what is left is of interpolation and differentiation.
    assert error.max() < 0.01 * np.abs(truth).max()


def test_without_the_pose_of_the_imu_the_base_moves_otherwise(flying):
    assert np.abs(dataset(flying).v - dataset(flying, imu_pose=None).v).max() > 0.1


@pytest.mark.parametrize(('named', 'words'), [
    ({'imu': '/foot'}, 'wrong type'), ({'imu': '/joint_states'}, 'wrong type'),
    ({'imu': '/gone'}, 'there is no topic /gone .*found /imu, /foot.*imu_topics'),
    ({'wrenches': {'link0': '/imu'}}, 'wrong type'),
    ({'wrenches': {'wing': '/foot'}}, 'no such link'),
    ({'max_gap': 1e-3}, 'the sensor was silent'),
])
def test_what_does_not_fit_is_refused_with_what_to_do(flying, named, words):
    with pytest.raises(RecordingError, match=words):
        dataset(flying, **named)


def sensor(folder, payloads, topic='/foot', times=None):
    write(folder, {topic: (times or [0.01 * k for k in range(len(payloads))], payloads)})
    return lambda: read_sensor(folder, topic)


def test_a_track_has_stamps_frame_and_both_vectors(tmp_path):
    track = sensor(tmp_path / 'bag', [
        wrench_bytes(0.01 * k, (k, 0, 1), (0, 2 * k, 0), 'left_foot') for k in range(3)])()
    assert (track.kind, track.frame) == (WRENCH, 'left_foot')
    np.testing.assert_allclose(track.t - START, [0.0, 0.01, 0.02], atol=1e-6)
    force, moment = track.at(np.array([START + 0.015]))
    np.testing.assert_allclose(force, [[1.5, 0.0, 1.0]], atol=1e-4)
    np.testing.assert_allclose(moment, [[0.0, 3.0, 0.0]], atol=1e-4)


def test_without_stamps_times_of_reception_count(tmp_path):
    track = sensor(tmp_path / 'bag', [
        wrench_bytes(None, (k, 0, 0), (0, 0, 0)) for k in range(3)])()
    np.testing.assert_allclose(track.t - START, [0.0, 0.01, 0.02], atol=1e-6)


def test_a_stamp_that_comes_twice_counts_once(tmp_path):
    track = sensor(tmp_path / 'bag', [
        wrench_bytes(t, (0, 0, 0), (0, 0, 0)) for t in (0.0, 0.01, 0.01, 0.02)])()
    assert len(track.t) == 3


@pytest.mark.parametrize(('seconds', 'silence'), [(-0.2, 0.2), (0.35, 0.3), (0.9, 0.3)])
def test_a_sensor_that_was_silent_is_told_with_for_how_long(tmp_path, seconds, silence):
    times = [0.0, 0.1, 0.2, 0.5, 0.6]
    track = sensor(tmp_path / 'bag', [
        wrench_bytes(t, (0, 0, 0), (0, 0, 0)) for t in times], times=times)()
    with pytest.raises(RecordingError, match=f'found {silence:g} s'):
        track.at(np.array([START + seconds]), max_gap=0.15)
    track.at(np.array([START + 0.05, START + 0.7]), max_gap=0.15)


@pytest.mark.parametrize(('payloads', 'topic', 'words'), [
    ([wrench_bytes(0.0, (0, 0, 0), (0, 0, 0), 'a'), wrench_bytes(0.1, (0, 0, 0), (0, 0, 0), 'b')],
     '/foot', 'the frame changes .*found a, b'),
    ([wrench_bytes(0.0, (0, np.nan, 0), (0, 0, 0))], '/foot', 'not finite .*message 0 of 1'),
    ([imu_bytes(0.0, (0, 0, 0), (0, 0, 0), unmeasured=True)], '/imu',
     r'linear_acceleration_covariance\[0\] = -1'),
    ([], '/foot', 'no message'), ([b'\0\1\0\0\1'], '/foot', 'damaged'),
])
def test_messages_that_cannot_be_used_are_refused(tmp_path, payloads, topic, words):
    with pytest.raises(RecordingError, match=words):
        sensor(tmp_path / 'bag', payloads, topic)()
