"""A robot whose base moves, from the sensors that settings name."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from support.flying_robot import flying_robot
from sysid_ros.errors import ConfigurationError, EstimationError, RecordingError
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.estimation.measurement import Measurement
from sysid_ros.estimation.online.online import OnlineIdentification, OnlineSettings
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.regression.least_squares import WeightedLeastSquares
from sysid_ros.evaluation.simulation import simulate
from sysid_ros.mechanics.torque_model import TorqueModel


@pytest.fixture(scope='module')
def flying(tmp_path_factory):
    return flying_robot(tmp_path_factory.mktemp('flying'))


def dataset(flying, **sections):
    setup = FitSetup.load(flying.settings(**sections))
    return setup.align(setup.identification.recording())


def sensors(flying, **changes):
    """The sensors of the settings, some with other keys, or left out by None."""
    own = flying.sections['recording']['sensors']
    merged = {name: {**own.get(name, {}), **(change or {})} for name, change in changes.items()}
    return {name: sensor for name, sensor in {**own, **merged}.items()
            if name not in changes or changes[name] is not None}


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
    problem = RegressionProblem.from_dataset(TorqueModel(flying.robot), dataset(flying))
    estimate = WeightedLeastSquares().fit(problem)
    assert estimate.status.ok and not estimate.unidentified
    truth = problem.base.values(flying.truth)
    error = np.abs(estimate.base_values - truth)
    # No noise: what is left is of interpolation and differentiation.
    assert error.max() < 0.01 * np.abs(truth).max()


def test_simulated_joints_follow_while_the_base_moves_as_measured(flying):
    data = dataset(flying)
    found = simulate(TorqueModel(flying.robot), flying.truth, data)
    assert found.joint_names == flying.robot.joint_names[6:]
    assert found.relative(found.candidate) < 0.02
    assert found.relative(found.prior) > 0.1


@pytest.mark.parametrize('kind', ['gyroscope', 'accelerometer', 'moment'])
def test_where_a_sensor_sits_counts(flying, kind):
    elsewhere = sensors(flying, **{kind: {'rpy': [0.0, 0.0, 0.0]}})
    other = dataset(flying, recording={'sensors': elsewhere})
    data = dataset(flying)
    assert max(np.abs(other.v - data.v).max(), np.abs(other.a - data.a).max(),
               np.abs(other.tau - data.tau).max()) > 0.1


def test_rows_of_the_base_do_not_count_where_contacts_are_not_measured(flying):
    data = dataset(flying, recording={'contacts': 'unmeasured'})
    assert not data.mask[:, :6].any() and data.mask[:, 6:].all()


def test_samples_without_a_sensor_are_left_out_and_said(flying):
    setup = FitSetup.load(flying.settings())
    recording = setup.identification.recording()
    held = [
        replace(channel, t=channel.t[(channel.t < 4.0) | (channel.t > 4.5)],
                values=channel.values[(channel.t < 4.0) | (channel.t > 4.5)])
        if channel.name == 'force' else channel for channel in recording.sensors]
    data = setup.align(replace(recording, sensors=tuple(held)))
    silent = (data.t > 4.01) & (data.t < 4.49)
    assert not data.mask[silent].any() and data.mask[~silent & (data.t < 3.9)].all()
    assert any('silent for 0.50' in warning for warning in data.warnings)


@pytest.mark.parametrize(('changes', 'words'), [
    ({'gyroscope': None}, 'needs one gyroscope.*kind: gyroscope, link: link0'),
    ({'second': {'kind': 'gyroscope', 'link': 'link0', 'topic': '/imu'}},
     'needs one gyroscope.*gyroscope, second'),
    ({'accelerometer': {'link': 'link2'}}, 'accelerometer is not on the base.*found link2'),
    ({'accelerometer': {'link': 'wing'}}, "no such link.*'wing'"),
    ({'force': None, 'moment': None}, 'nothing says what pushes.*contacts: unmeasured'),
])
def test_sensors_that_are_missing_or_elsewhere_are_refused_with_what_to_write(
        flying, changes, words):
    with pytest.raises(ConfigurationError, match=words):
        dataset(flying, recording={'sensors': sensors(flying, **changes)})


@pytest.mark.parametrize(('contacts', 'changes', 'words'), [
    ('measured', {'force': None, 'moment': None}, 'measured, by no sensor'),
    ('none', {}, 'nothing touches the robot, and sensors measure what does'),
])
def test_contacts_that_sensors_contradict_are_refused(flying, contacts, changes, words):
    with pytest.raises(ConfigurationError, match=words):
        dataset(flying, recording={
            'contacts': contacts, 'sensors': sensors(flying, **changes)})


@pytest.mark.parametrize(('changes', 'words'), [
    ({'force': {'link': 'wing'}}, "no such link.*'wing'"),
    ({'force': {'topic': '/imu'}}, 'wrong type'),
    ({'gyroscope': {'topic': '/gone'}}, 'there is no topic /gone'),
    ({'force': {'sign': -1}}, 'pull the robot down.*sign: -1'),
])
def test_what_does_not_fit_the_bag_is_refused_with_what_to_do(flying, changes, words):
    with pytest.raises(RecordingError, match=words):
        dataset(flying, recording={'sensors': sensors(flying, **changes)})


def test_a_sign_is_for_forces_and_moments_alone(flying):
    with pytest.raises(ConfigurationError, match='forces and moments alone have a sign'):
        dataset(flying, recording={'sensors': sensors(flying, gyroscope={'sign': -1})})


def test_a_bag_beyond_the_memory_is_refused_since_its_sensors_have_to_fit(flying):
    setup = FitSetup.load(flying.settings(recording={'memory_limit': 0.1}))
    with pytest.raises(EstimationError, match='a bag with sensors on links has to fit into memory'):
        Measurement.read(setup)


def test_joint_states_alone_do_not_follow_a_base_that_floats(flying):
    setup = FitSetup.load(flying.settings(robot={
        'urdf': 'robot.urdf', 'base': 'floating', 'terms': {'viscous_friction': 'all'}}))
    with pytest.raises(EstimationError, match='how a base that floats moves'):
        OnlineIdentification(setup, OnlineSettings())


def test_units_that_look_wrong_are_a_warning_where_settings_say_so(flying):
    turned = sensors(flying, force={'sign': -1})
    data = dataset(
        flying, recording={'sensors': turned}, processing={'unit_check': 'warn'})
    assert any('pull the robot down' in warning for warning in data.warnings)
