"""Sensors on links as observations, against the sensors of MuJoCo."""

from __future__ import annotations

import numpy as np
import pytest

from support import sensed_arm
from sysid_ros.errors import ModelError, RecordingError
from sysid_ros.estimation.trajectory.from_recording import NodeSettings, problem_from_recordings
from sysid_ros.mechanics.joint_terms.terms import ViscousFriction
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.recording.link_sensors import LinkSensorChannel, LinkSensorSettings
from sysid_ros.recording.recording import Channel, Recording
from sysid_ros.robot.model import RobotModel

pytest.importorskip('mujoco')
KINDS = ('gyroscope', 'accelerometer', 'position')


@pytest.fixture(scope='module')
def sensed():
    return sensed_arm.simulated()


@pytest.fixture(scope='module')
def model():
    return TorqueModel(
        RobotModel.from_urdf(sensed_arm.URDF), (ViscousFriction(('shoulder', 'elbow')),))


def recording_of(sensed, *, noise=0.0, **mounting):
    random = np.random.default_rng(0)
    names = ('shoulder', 'elbow')
    mounting = {'link': 'fore', 'origin': sensed_arm.PLACE, 'rpy': sensed_arm.TURN} | mounting
    sensors = []
    for kind in KINDS:
        values = getattr(sensed, kind)
        sensors.append(LinkSensorChannel(
            f'the {kind}', LinkSensorSettings(kind=kind, **mounting), sensed.t,
            values + noise * random.normal(size=values.shape)))
    return Recording((
        Channel('position', names, 'rad', sensed.t, sensed.q + 1e-4 * random.normal(
            size=sensed.q.shape)),
        Channel('effort', names, 'N·m', sensed.t, sensed.torque)), 'simulated', 'a hash',
        sensors=tuple(sensors))


def test_along_the_true_motion_they_are_what_mujocos_sensors_measured(sensed, model):
    problem = problem_from_recordings(
        model, [recording_of(sensed, noise=1e-3)], NodeSettings(step=0.01))
    segment, = problem.segments
    found = {each.sensor.name: each for each in segment.observations}
    assert set(found) == {
        'encoder of shoulder, elbow', 'gyroscope on fore', 'accelerometer on fore',
        'tracker on fore'}
    inside = (sensed.t >= segment.t[0]) & (sensed.t <= segment.t[-1])
    for name in list(found)[1:]:
        each = found[name]
        np.testing.assert_array_equal(each.t, sensed.t[inside])
        truly = each.sensor.read(
            model.robot, sensed.q[inside], sensed.v[inside], sensed.a[inside]).value
        # White noise of 1e-3, told from the samples to a fifth.
        np.testing.assert_allclose(each.sigma, 1e-3, rtol=0.2)
        np.testing.assert_allclose(np.std(each.values - truly, axis=0), 1e-3, rtol=0.2)


def test_noise_that_settings_give_is_in_the_unit_of_what_was_read(sensed, model):
    settings = LinkSensorSettings(kind='gyroscope', link='fore', unit='deg/s', noise=0.5)
    recording = recording_of(sensed)
    channel = LinkSensorChannel('imu', settings, sensed.t, sensed.gyroscope)
    recording = Recording(
        recording.channels, 'simulated', 'a hash', sensors=(channel,))
    segment, = problem_from_recordings(model, [recording], NodeSettings(step=0.01)).segments
    np.testing.assert_allclose(segment.observations[-1].sigma, np.radians(0.5))


def test_a_link_that_there_is_not_is_said(sensed, model):
    with pytest.raises(ModelError, match="no such link.*found 'for'.*Did you mean 'fore'"):
        problem_from_recordings(
            model, [recording_of(sensed, noise=1e-3, link='for')], NodeSettings(step=0.01))


def test_a_sensor_that_never_changes_needs_its_noise_given(sensed, model):
    settings = LinkSensorSettings(kind='gyroscope', link='fore')
    channel = LinkSensorChannel('imu', settings, sensed.t, np.ones((len(sensed.t), 3)))
    recording = Recording(
        recording_of(sensed).channels, 'simulated', 'a hash', sensors=(channel,))
    with pytest.raises(RecordingError, match=r'never changes.*\{sensors: \{imu: \{noise: 0.01\}'):
        problem_from_recordings(model, [recording], NodeSettings(step=0.01))
