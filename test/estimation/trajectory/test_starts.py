"""States a solver begins at, against the motion that was measured."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.io import loadmat

from support import golden_problems as golden
from sysid_ros.estimation.trajectory.inertial_sensors import Gyroscope, Mounting
from sysid_ros.estimation.trajectory.problem import Observation, Segment, TrajectoryProblem
from sysid_ros.estimation.trajectory.sensors import Encoder, Tachometer
from sysid_ros.estimation.trajectory.starts import hidden_joints, initial_states, smoothed_states
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.robot.model import RobotModel

ROBOT = RobotModel.from_urdf(golden.arm_urdf())
NAMES = ROBOT.joint_names
NODES = np.arange(401) / 100.0


def motion(t):
    """Positions and velocities of slow sines, ``(T, 3)`` each."""
    omega, phase = np.array([2.0, 3.1, 4.3]), np.array([0.3, 1.0, 2.0])
    angle = t[:, None] * omega + phase
    return 0.8 * np.sin(angle), 0.8 * omega * np.cos(angle)


def measured(sensor, rate, noise, seed=0, lost=0.0):
    """What a sensor measures of the motion, with white noise, some of it lost."""
    random = np.random.default_rng(seed)
    t = np.arange(round(4.0 * rate) + 1) / rate
    values = sensor.read(ROBOT, *motion(t), None).value
    values = values + noise * random.normal(size=values.shape)
    values[random.random(values.shape) < lost] = np.nan
    return Observation(sensor, t, values, np.full(sensor.width, max(noise, 1e-9)))


def segment(*observations):
    return Segment(NODES, np.zeros((len(NODES), 3)), observations)


def errors(*observations):
    """Root mean square errors of positions and velocities, joint by joint."""
    found = smoothed_states(ROBOT, segment(*observations))
    assert all(part.shape == (len(NODES), 3) for part in found)
    return [np.sqrt(np.mean((part - true) ** 2, axis=0))
            for part, true in zip(found, motion(NODES), strict=True)]


def test_noise_is_smoothed_and_differentiated():
    q, v = errors(measured(Encoder.of(NAMES), 1000.0, 1e-3))
    # Differences of neighbouring nodes would be 0.14 rad/s off; the fastest joint does 3.4 rad/s.
    assert (q < 5e-4).all()
    assert (v < 2.5e-2).all()


def test_exact_samples_come_back_exactly():
    q, v = errors(measured(Encoder.of(NAMES), 100.0, 0.0))
    # At the very ends nothing but smoothness tells the acceleration, which comes out too small.
    assert (q < 1e-7).all()
    assert (v < 2e-3).all()


@pytest.mark.parametrize('rate', [20.0, 137.0, 100.0, 1000.0])
def test_rates_that_are_not_that_of_the_nodes_are_taken(rate):
    q, v = errors(measured(Encoder.of(NAMES), rate, 1e-4))
    assert (q < 1e-3).all()
    assert (v < 3e-2).all()


def test_samples_that_are_missing_are_left_out():
    q, v = errors(measured(Encoder.of(NAMES), 500.0, 1e-3, lost=0.3))
    assert (q < 1e-3).all()
    assert (v < 3e-2).all()


def test_a_long_gap_of_one_encoder_is_bridged_by_its_smoothest_motion():
    observation = measured(Encoder.of(NAMES), 200.0, 1e-4)
    gap = (observation.t > 1.0) & (observation.t < 1.3)
    observation.values[gap, 1] = np.nan
    q, v = errors(observation)
    assert q[1] < 2e-2
    assert (q[[0, 2]] < 2e-4).all()


def test_absolute_angles_and_two_rates_are_taken_apart():
    sums = Encoder(((('waist', 1.0), ('elbow', 1.0)), (('elbow', -2.0),)))
    q, v = errors(measured(sums, 300.0, 1e-3), measured(Encoder.of(['wrist']), 70.0, 1e-3, 1))
    assert (q < 1e-3).all()
    assert (v < 4e-2).all()


def test_a_tachometer_adds_what_it_knows():
    encoder = measured(Encoder.of(NAMES), 100.0, 1e-2)
    alone = errors(encoder)
    both = errors(encoder, measured(Tachometer.of(NAMES), 100.0, 1e-2, 1))
    assert (both[1] < 0.5 * alone[1]).all()
    assert (both[0] < alone[0]).all()


def test_an_encoder_that_dies_leaves_the_rest_to_another():
    dying = measured(Encoder.of(['elbow']), 100.0, 1e-3, 3)
    dying.values[dying.t > 1.0] = np.nan
    q, _ = errors(measured(Encoder.of(NAMES), 100.0, 1e-3), dying)
    assert (q < 1e-3).all()


def test_noise_that_hides_the_motion_leaves_a_straight_line():
    observation = measured(Encoder.of(NAMES), 100.0, 1e-3)
    shaken = Observation(observation.sensor, observation.t, observation.values, np.full(3, 10.0))
    q, v = smoothed_states(ROBOT, segment(shaken))
    assert np.abs(np.diff(v, axis=0)).max() < 5e-2
    assert np.isfinite(q).all()


def test_two_nodes_are_enough():
    nodes = np.array([0.0, 0.1])
    t = np.array([0.02, 0.08])
    observation = Observation(Encoder.of(NAMES), t, motion(t)[0], np.full(3, 1e-4))
    q, v = smoothed_states(ROBOT, Segment(nodes, np.zeros((2, 3)), (observation,)))
    np.testing.assert_allclose(q, motion(nodes)[0], atol=2e-2)
    np.testing.assert_allclose(v, motion(nodes)[1], atol=1.0)


def test_every_stretch_of_a_problem_has_its_states():
    model = TorqueModel(ROBOT)
    one = segment(measured(Encoder.of(NAMES), 100.0, 1e-3))
    states = initial_states(TrajectoryProblem(model, model.parameters, (one, one)))
    assert len(states) == 2
    np.testing.assert_array_equal(states[0], smoothed_states(ROBOT, one))


@pytest.mark.parametrize(('sensors', 'named'), [
    ((Encoder.of(['waist', 'wrist']),), ['elbow']),
    ((Encoder.of(['waist']), Tachometer.of(['elbow', 'wrist'])), ['elbow', 'wrist']),
    ((Encoder((((('waist', 1.0), ('elbow', 1.0)), (('wrist', 1.0),)))),), ['waist', 'elbow']),
    ((Gyroscope(Mounting('hand')),), ['waist', 'elbow', 'wrist']),
    ((Encoder.of(NAMES),), []),
])
def test_joints_that_no_encoder_tells_are_hidden(sensors, named):
    seen = segment(*(measured(sensor, 100.0, 1e-3) for sensor in sensors))
    model = TorqueModel(ROBOT)
    hidden = hidden_joints(TrajectoryProblem(model, model.parameters, (seen,)))
    assert [name for name, is_hidden in zip(NAMES, hidden, strict=True) if is_hidden] == named
    assert not smoothed_states(ROBOT, seen)[0][:, hidden].any()


def test_one_sample_does_not_observe_a_joint():
    observation = measured(Encoder.of(NAMES), 100.0, 1e-3)
    observation.values[1:, 2] = np.nan
    assert not smoothed_states(ROBOT, segment(observation))[0][:, 2].any()


def test_velocities_of_a_real_double_pendulum_are_those_of_its_authors(shared_data):
    folder = shared_data / 'multiarm_pendulum' / 'ParameterEstimation' / 'DoublePendulum'
    data = loadmat(folder / 'DoublePendulumDataForParameterEstimation.mat')
    robot = RobotModel.from_urdf(golden.arm_urdf(), locked_joints={'waist': 0.0})
    for stamps, y in zip(data['Time_id'][:, 0], data['Y_id'][:, 0], strict=True):
        t, (q, v) = stamps.ravel(), y.reshape(2, 2, -1)
        seen = Observation(Encoder.of(robot.joint_names), t, q.T, np.full(2, 3e-5))
        found_q, found_v = smoothed_states(robot, Segment(t, np.zeros((len(t), 2)), (seen,)))
        assert np.abs(found_q - q.T).max() < 1e-3
        # They differentiated the same encoders, so that theirs are no truth either.
        error = np.sqrt(np.mean((found_v - v.T) ** 2, axis=0))
        assert (error < 0.02 * np.abs(v).max(axis=1)).all()
