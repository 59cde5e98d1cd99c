"""Factor graphs of robots: against a planar mechanism, derivatives, and the estimator by graphs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from support import closed_robots as closed
from support import four_bar_reference as reference
from support import trajectory_problems as made
from sysid_ros.errors import ConfigurationError, EstimationError
from sysid_ros.estimation.estimate import Status
from sysid_ros.estimation.trajectory.graph.factors import Prior, Trapezoidal
from sysid_ros.estimation.trajectory.graph.free_parameters import free_parameters_of
from sysid_ros.estimation.trajectory.graph.graph import FactorGraph
from sysid_ros.estimation.trajectory.graph.identification import identify
from sysid_ros.estimation.trajectory.graph.mechanism_factors import Dynamics
from sysid_ros.estimation.trajectory.graph.mechanism_file import parse_mechanism
from sysid_ros.estimation.trajectory.graph.robot_mechanism import RobotMechanism, RobotReading
from sysid_ros.estimation.trajectory.graph.simulation import forward_dynamics
from sysid_ros.estimation.trajectory.graph.smoother import FixedLagSmoother
from sysid_ros.estimation.trajectory.graph_estimator import GraphEstimator
from sysid_ros.estimation.trajectory.inertial_sensors import LoadCell
from sysid_ros.estimation.trajectory.problem import Observation
from sysid_ros.estimation.trajectory.sensors import Encoder
from sysid_ros.mechanics.joint_terms.terms import ViscousFriction
from sysid_ros.mechanics.torque_model import TorqueModel


@pytest.fixture(scope='module')
def robot():
    """The four-bar as a robot with a loop, its crank with friction."""
    return RobotMechanism(TorqueModel(closed.four_bar(), (ViscousFriction(),)))


def test_a_robot_with_a_loop_moves_as_the_planar_mechanism_of_the_same_linkage(robot):
    # Both are asked for the same motion: in the driven joint, and in independent coordinates.
    planar = parse_mechanism(reference.description(9.80665))
    found = []
    for mechanism, coordinates, name in ((robot, 'dependent', 'q'), (planar, 'independent', 'z')):
        graph = forward_dynamics(
            mechanism, 2e-3, 150, coordinates=coordinates, torque=np.array([5.0]),
            start={'q': mechanism.assembly})
        found.append(graph.layout.split(FixedLagSmoother(graph, 3).run())[name][:, 0])
    np.testing.assert_allclose(found[0], found[1], atol=1e-9)
    assert np.ptp(found[0]) > 0.3


def test_readings_of_a_robots_sensors_have_the_derivatives_of_differences(rng):
    model = made.model_of(made.ARM)
    mechanism = RobotMechanism(model)
    free_parameters = free_parameters_of(mechanism, ['upper.mass', 'elbow.viscous_friction'])
    sensor = LoadCell('elbow')
    values = rng.normal(size=(3, sensor.width))
    values[1, 0] = np.nan
    graph = FactorGraph(mechanism, 0.01, 3, [
        RobotReading(sensor, values, np.full(sensor.width, 0.1)),
        RobotReading(Encoder.of(model.robot.joint_names), rng.normal(size=(3, 3)), 0.2),
        Dynamics(0.5, torque=np.ones(3))], free_parameters)
    chain, states = graph.chain(), rng.normal(size=(3, graph.layout.size))
    rows, step = chain.soft_rows(states, free_parameters.start)[0], 1e-6
    assert (rows[1, 0] == 0.0).all()
    for column in range(rows.shape[2] - 1):
        moved, shift = np.zeros_like(states), np.zeros(2)
        if column < states.shape[1]:
            moved[:, column] = step
        else:
            shift[column - states.shape[1]] = step
        ahead, behind = (
            chain.soft_rows(states + sign * moved, free_parameters.start + sign * shift)[0][:, :,
                -1]
            for sign in (1.0, -1.0))
        slope = (ahead - behind) / (2.0 * step)
        scale = max(1.0, np.abs(rows[:, :, :-1]).max())
        assert np.abs(slope - rows[:, :, column]).max() <= 1e-7 * scale


def test_encoders_of_a_robot_count_the_same_when_they_are_read_one_by_one(robot, rng):
    values = 0.02 * np.arange(12.0)[:, None] + 1e-3 * rng.normal(size=(12, 1))
    values[5] = np.nan
    nothing = np.full_like(values, np.nan)
    nothing[0] = values[0]
    ended = []
    for known in (values, nothing):
        encoder = RobotReading(Encoder.of(['crank_joint']), known, np.array([1e-3]))
        smoother = FixedLagSmoother(FactorGraph(robot, 4e-3, 12, [
            Trapezoidal('q', 1e-6), Trapezoidal('v', 1e-5), Prior('v', 0.0, 1.0, at=0),
            Dynamics(1e-2, torque=np.zeros(1)), encoder]), 4, start={'q': values[0]})
        while smoother.newest + 1 < 12:
            told = values[smoother.newest + 1]
            smoother.advance(None if known is values else {encoder.name: told})
        ended.append(smoother.states)
    np.testing.assert_allclose(ended[1], ended[0], rtol=1e-9, atol=1e-9)


def test_masses_of_a_closed_chain_are_found(robot, rng):
    t, bar = 4e-3 * np.arange(401), reference.FourBar(gravity=9.80665, friction=6.0)

    def torque(time):
        return 45.0 + 40.0 * np.sin(1.7 * time) + 30.0 * np.sin(4.3 * time + 1.0)

    theta, rate, _ = bar.motion(t, torque)
    names = ['rocker.mass', 'crank_joint.viscous_friction']
    truth = np.array([4.0, 6.0])
    free_parameters = free_parameters_of(robot, names, shapes_held=True)
    free_parameters = free_parameters._replace(start=truth * [0.8, 1.3])
    driven = torque(t)[:, None]
    graph = FactorGraph(robot, 4e-3, 401, [
        Trapezoidal('q', 1e-6), Trapezoidal('v', 1e-5), Dynamics(1e-2, torque=None),
        Prior('torque', driven + 0.5 * rng.normal(size=driven.shape), 0.5, title='torque'),
        RobotReading(Encoder.of(['crank_joint']), theta[:, None] + 1e-3 * rng.normal(
            size=(401, 1)), 1e-3)], free_parameters)
    found = identify(graph, {'q': theta[:, None], 'v': rate[:, None], 'torque': driven})
    assert found.status is Status.CONVERGED
    assert (np.abs(found.values - truth) <= 4.0 * found.standard_deviation).all()
    assert (found.standard_deviation <= 0.03 * truth).all()


def test_the_estimator_by_graphs_takes_the_noise_of_torques_into_account():
    problem, truth, _ = made.swinging(fixed=('rod.inertia_yy',), nodes=101)
    plain, noisy = (
        GraphEstimator(torque_noise=noise).fit(problem) for noise in (None, 0.05))
    for estimate in (plain, noisy):
        assert estimate.status is Status.CONVERGED
        index = estimate.parameters.index('rod.first_moment_z')
        error = abs(estimate.parameters.values[index] - truth[index])
        assert error <= 4.0 * estimate.standard_deviation[index]
    # Torques that may be off leave more open.
    assert noisy.standard_deviation[index] > 1.5 * plain.standard_deviation[index]


def test_what_graphs_do_not_do_is_said():
    problem, _, _ = made.swinging(nodes=41)
    segment = problem.segments[0]
    observation, = segment.observations
    between = Observation(
        observation.sensor, observation.t[:-1] + 2e-3, observation.values[:-1], observation.sigma)
    moved = replace(problem, segments=(replace(segment, observations=(between,)),))
    with pytest.raises(EstimationError, match='between the steps of a graph'):
        GraphEstimator().fit(moved)
    slower = replace(segment, t=2.0 * segment.t, observations=(replace(
        observation, t=2.0 * observation.t),))
    with pytest.raises(EstimationError, match='different steps'):
        GraphEstimator().fit(replace(problem, segments=(segment, slower)))
    with pytest.raises(ConfigurationError, match='above zero'):
        GraphEstimator(torque_noise=0.0)
