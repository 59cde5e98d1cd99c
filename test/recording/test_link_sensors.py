"""Sensors on links in recordings: tables, bags, units, clocks, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from rosbags.typesys import Stores, get_typestore

from sysid_ros.errors import ConfigurationError, RecordingError
from sysid_ros.recording.bag.joint_state_cdr import JOINT_STATE, encode
from sysid_ros.recording.bag.recorder import BagRecorder
from sysid_ros.recording.bag.sensor_messages import IMU, POSE
from sysid_ros.recording.description import RecordingSettings
from sysid_ros.recording.load import load_recording
from sysid_ros.settings import parse_settings

TYPES = get_typestore(Stores.ROS2_HUMBLE)
START = 1_700_000_000
CSV = {
    'format': 'csv', 'file': 'joints.csv', 'joints': ['one'], 'time': {'column': 't'},
    'position': {'columns': ['q']},
    'sensors': {'imu': {
        'kind': 'gyroscope', 'link': 'tip', 'columns': ['wx', 'wy', 'wz'], 'unit': 'deg/s'}}}


def settings(section, **sensor):
    changed = {name: {**own, **sensor} for name, own in section['sensors'].items()}
    changed = {
        name: {key: value for key, value in own.items() if value is not None}
        for name, own in changed.items()}
    return parse_settings(RecordingSettings, section | {'sensors': changed}, 'settings')


def write_table(path, t, **columns):
    np.savetxt(path, np.column_stack([t, *columns.values()]), delimiter=',', comments='',
               header='t,' + ','.join(columns))


def test_a_sensor_of_the_same_table_is_read_in_si(tmp_path):
    t = 5.0 + 0.01 * np.arange(50)
    write_table(tmp_path / 'joints.csv', t, q=np.sin(t), wx=90.0 * t, wy=t, wz=-t)
    sensor, = load_recording(settings(CSV), tmp_path).sensors
    assert sensor.name == 'imu' and sensor.mounting.link == 'tip'
    np.testing.assert_allclose(sensor.t, t - 5.0, atol=1e-12)
    np.testing.assert_allclose(sensor.values[:, 0], 0.5 * np.pi * t)


def test_a_sensor_with_a_file_of_its_own_keeps_its_stamps(tmp_path):
    t, own = 5.0 + 0.01 * np.arange(50), 5.1 + 0.003 * np.arange(40)
    write_table(tmp_path / 'joints.csv', t, q=np.sin(t))
    # Out of order, and one stamp twice.
    rows = np.r_[np.arange(40)[::-1], 3]
    write_table(tmp_path / 'imu.csv', own[rows], wx=rows, wy=rows, wz=rows)
    recording = load_recording(
        settings(CSV, file='imu.csv', unit=None, time={'column': 't'}), tmp_path)
    sensor, = recording.sensors
    np.testing.assert_allclose(sensor.t, own - 5.0, atol=1e-9)
    np.testing.assert_array_equal(sensor.values[:, 1], np.arange(40.0))
    # What it was read from counts among the files of the recording.
    assert 'imu.csv' in recording.source
    write_table(tmp_path / 'imu.csv', own, wx=own, wy=own, wz=own)
    again = load_recording(
        settings(CSV, file='imu.csv', unit=None, time={'column': 't'}), tmp_path)
    assert again.sha256 != recording.sha256


def header(t):
    stamp = TYPES.types['builtin_interfaces/msg/Time'](START + int(t), round(1e9 * (t % 1.0)))
    return TYPES.types['std_msgs/msg/Header'](stamp=stamp, frame_id='tip')


def vector(values, kind='Vector3'):
    return TYPES.types[f'geometry_msgs/msg/{kind}'](*map(float, values))


def imu_bytes(t, turning, felt):
    message = TYPES.types[IMU](
        header=header(t), orientation=vector((0, 0, 0, 1), 'Quaternion'),
        orientation_covariance=np.zeros(9), angular_velocity=vector(turning),
        angular_velocity_covariance=np.zeros(9), linear_acceleration=vector(felt),
        linear_acceleration_covariance=np.zeros(9))
    return bytes(TYPES.serialize_cdr(message, IMU))


def pose_bytes(t, place):
    pose = TYPES.types['geometry_msgs/msg/Pose'](
        position=vector(place, 'Point'), orientation=vector((0, 0, 0, 1), 'Quaternion'))
    return bytes(TYPES.serialize_cdr(TYPES.types[POSE](header=header(t), pose=pose), POSE))


@pytest.fixture(scope='module')
def bag(tmp_path_factory):
    """A bag of joint states, an IMU and a tracker, each with stamps of its own."""
    folder, k = tmp_path_factory.mktemp('bag') / 'recording', np.arange(100)
    stamps = START * 1_000_000_000 + 10_000_000 * k
    states = encode(stamps, ('one',), {
        'position': np.sin(0.01 * k)[:, None], 'velocity': None, 'effort': None})
    payloads = (
        [row.tobytes() for row in states],
        [imu_bytes(0.01 * one + 0.003, (one, 0, 1), (0, 2, one)) for one in k],
        [pose_bytes(0.01 * one + 0.001, (one, 3, 4)) for one in k[::10]])
    recorder = BagRecorder(folder, ['/joint_states', '/imu', '/pose'], [JOINT_STATE, IMU, POSE])
    for number, own in enumerate(payloads):
        received = stamps[::len(stamps) // len(own)] + 5_000_000
        recorder.add(number, own, received.tolist())
    recorder.finish()
    assert recorder.wait(30.0) and not recorder.error and not recorder.lost
    return folder


def bag_settings(**sensors):
    return parse_settings(RecordingSettings, {
        'format': 'rosbag', 'file': 'recording', 'sensors': sensors}, 'settings')


def test_an_imu_and_a_tracker_of_a_bag_are_on_the_clock_of_the_joint_states(bag):
    recording = load_recording(bag_settings(
        turning={'kind': 'gyroscope', 'link': 'tip', 'topic': '/imu'},
        felt={'kind': 'accelerometer', 'link': 'tip', 'topic': '/imu'},
        seen={'kind': 'position', 'link': 'tip', 'topic': '/pose'}), bag.parent)
    turning, felt, seen = recording.sensors
    np.testing.assert_allclose(turning.t, 0.003 + 0.01 * np.arange(100), atol=1e-6)
    np.testing.assert_array_equal(turning.values[:, 0], np.arange(100.0))
    np.testing.assert_array_equal(felt.values[:, 2], np.arange(100.0))
    np.testing.assert_allclose(seen.t, 0.001 + 0.1 * np.arange(10), atol=1e-6)
    np.testing.assert_array_equal(seen.values[0], [0.0, 3.0, 4.0])


def test_a_topic_of_another_type_is_said(bag):
    with pytest.raises(RecordingError, match='of the wrong type.*sensor_msgs/msg/Imu.*imu: topic'):
        load_recording(bag_settings(
            imu={'kind': 'gyroscope', 'link': 'tip', 'topic': '/pose'}), bag.parent)


@pytest.mark.parametrize(('sensor', 'words'), [
    ({'unit': 'deg'}, "imu: unit: unknown unit.*Did you mean 'deg/s'"),
    ({'columns': None}, "the key 'columns' is missing.*Add columns: \\[wx, wy, wz\\]"),
    ({'topic': '/imu'}, "'topic' means nothing for the format 'csv'"),
    ({'kind': 'compass'}, "'gyroscope', 'accelerometer', 'position', 'force' or 'moment'"),
    ({'noise': 0.0}, 'sensors.imu.noise: the value is out of range.*allowed above 0'),
])
def test_mistakes_in_settings_are_said(sensor, words):
    with pytest.raises(ConfigurationError, match=words):
        settings(CSV, **sensor)


def test_a_reset_clock_is_refused(tmp_path):
    t = np.r_[5.0 + 0.01 * np.arange(50), 0.01 * np.arange(50)]
    write_table(tmp_path / 'joints.csv', t, q=np.sin(t), wx=t, wy=t, wz=t)
    with pytest.raises(RecordingError, match='the clock was reset, and sensors on links'):
        load_recording(settings(CSV), tmp_path)


def test_a_column_without_a_number_is_said(tmp_path):
    t = 0.01 * np.arange(50)
    nothing = np.full(50, np.nan)
    write_table(tmp_path / 'joints.csv', t, q=np.sin(t), wx=nothing, wy=nothing, wz=nothing)
    with pytest.raises(RecordingError, match='sensor imu: there is no finite sample'):
        load_recording(settings(CSV), tmp_path)
