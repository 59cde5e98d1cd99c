"""A robot whose base floats, from arrays and a model in memory."""

from __future__ import annotations

import numpy as np
import pytest

import sysid_ros as si
from support.flying_robot import (
    HAND_ORIGIN,
    HAND_RPY,
    IMU_ORIGIN,
    IMU_RPY,
    RATE,
    flying_robot,
    readings,
)
from sysid_ros.errors import RecordingError


@pytest.fixture(scope='module')
def flying(tmp_path_factory):
    return flying_robot(tmp_path_factory.mktemp('flying'))


def recording(flying, **changes):
    t = np.arange(0.0, 12.0, 1.0 / RATE)
    q, _, tau, imu, hand = readings(flying, t)
    own = {'link': 'link0', 'rpy': IMU_RPY, 'origin': IMU_ORIGIN}
    at_hand = {'link': 'link0', 'rpy': HAND_RPY, 'origin': HAND_ORIGIN}
    sensors = {
        'gyro': {'kind': 'gyroscope', 'values': imu[:, :3], **own},
        'accelerometer': {'kind': 'accelerometer', 'values': imu[:, 3:], **own},
        'force': {'kind': 'force', 'values': hand[:, :3], **at_hand},
        'moment': {'kind': 'moment', 'values': hand[:, 3:], **at_hand}}
    return si.Recording.from_arrays(
        t, q, tau, sensors={name: {**sensor, **changes.get(name, {})}
                            for name, sensor in sensors.items()})


@pytest.mark.slow
def test_a_model_whose_base_floats_is_fitted_from_arrays(flying, tmp_path):
    fit = si.fit(flying.robot, recording(flying), holdout=0.3, terms={'viscous_friction': 'all'})
    assert fit.verdict.committable
    values = fit.estimate.parameters
    total = sum(values[f'{body}.mass'] for body in flying.robot.body_names)
    assert total == pytest.approx(flying.truth.reshape(-1, 10)[:, 0].sum(), rel=1e-3)
    fit.export(tmp_path / 'found.urdf')
    found = si.RobotModel.from_urdf(tmp_path / 'found.urdf')
    assert found.base_inertial[0] == pytest.approx(values['link0.mass'], rel=1e-9)


def test_a_sensor_without_three_numbers_a_stamp_is_refused(flying):
    with pytest.raises(RecordingError, match=r'does not fit the stamps.*\(T, 3\)|three numbers'):
        recording(flying, gyro={'values': np.zeros((5, 3))})


def test_a_sensor_without_values_is_refused():
    with pytest.raises(RecordingError, match="'values'"):
        si.Recording.from_arrays(
            np.arange(5.0), np.zeros((5, 1)), sensors={'gyro': {'kind': 'gyroscope'}})
