"""Collocation: derivatives against differences, motion against SciPy, order of the rules."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from support import trajectory_problems as made
from sysid_ros.errors import ConfigurationError, ModelError
from sysid_ros.estimation.estimate import Status
from sysid_ros.estimation.trajectory.collocation import Collocation
from sysid_ros.estimation.trajectory.collocation_estimator import CollocationEstimator
from sysid_ros.estimation.trajectory.levenberg_marquardt import LevenbergMarquardt
from sysid_ros.estimation.trajectory.problem import Observation, Segment, TrajectoryProblem
from sysid_ros.estimation.trajectory.sensors import Encoder, Tachometer
from sysid_ros.estimation.trajectory.shooting import Shooting
from sysid_ros.mechanics.joint_terms.terms import CoulombFriction, ViscousFriction
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.numerics.least_squares.chain import NormalEquations
from sysid_ros.robot.model import RobotModel

SCHEMES = ['trapezoidal', 'hermite_simpson', 'variational']
STEPS = (1e-4, 1e-5)


def random_problem(rng, *, between):
    """Two segments of an arm with random readings, on the nodes or between them."""
    model = made.model_of(made.ARM)
    segments = []
    for nodes in (7, 9):
        t = 3.0 + 0.02 * np.arange(nodes)
        observations = []
        for sensor in (
            Encoder.of(['shoulder', 'elbow']),
            Encoder(((('shoulder', 1.0), ('elbow', 1.0)), (('yaw', 2.0),))),
            Tachometer.of(['yaw', 'elbow']),
        ):
            when = np.sort(rng.uniform(t[0], t[-1], nodes)) if between else t
            values = rng.normal(size=(nodes, sensor.width))
            values[2, 0] = np.nan
            observations.append(Observation(
                sensor, when, values, rng.uniform(0.5, 2.0, sensor.width)))
        segments.append(Segment(t, rng.normal(size=(nodes, 3)), tuple(observations)))
    return TrajectoryProblem(
        model, model.parameters.fixed('turret.*', '*.inertia_x*'), tuple(segments))


@pytest.mark.slow
@pytest.mark.parametrize('scheme', SCHEMES)
@pytest.mark.parametrize('noisy', [False, True])
@pytest.mark.parametrize('between', [False, True])
def test_derivatives_are_those_of_central_differences(rng, scheme, noisy, between):
    problem = random_problem(rng, between=between)
    chain = Collocation(problem, scheme, rng.uniform(0.5, 2.0, 3) if noisy else None)
    states, values = rng.normal(size=(16, 6)), problem.parameters.values[problem.free]
    values = values * rng.uniform(0.8, 1.2, len(values))

    def parts(states, values):
        return [*chain.residuals(states, values), *chain.equations(states, values)]

    def differences(kind, index, step):
        move = np.zeros_like(states), np.zeros_like(values)
        if kind == 'values':
            move[1][index] = step
        else:
            # Every other node at once: no residual touches two of them.
            move[0][kind::2, index] = step

        def difference(times):
            plus = parts(states + times * move[0], values + times * move[1])
            minus = parts(states - times * move[0], values - times * move[1])
            return [a.values - b.values for a, b in zip(plus, minus, strict=True)]

        # Of fourth order, so that steps may be wide and rounding small.
        return [
            (8.0 * near - far) / (12.0 * step)
            for near, far in zip(difference(1.0), difference(2.0), strict=True)]

    def close(wanted, shift, kind, index, size):
        # Of two steps the one that suits the curvature and the rounding there.
        return any(
            np.abs(wanted - differences(kind, index, step)[shift]).max(initial=0.0) <= 1e-6 * size
            for step in STEPS)

    here = parts(states, values)
    assert any(part.pairs for part in here) and (between or any(not p.pairs for p in here))
    for part, shift in zip(here, range(len(here)), strict=True):
        size = np.abs(part.rows[:, :, :-1]).max()
        width = 12 if part.pairs else 6
        for index in range(6):
            for kind in (0, 1):
                first = part.nodes % 2 == kind
                second = part.rows[:, :, 6 + index] if part.pairs else 0.0
                wanted = np.where(first[:, None], part.rows[:, :, index], second)
                assert close(wanted, shift, kind, index, size)
        for index in range(len(values)):
            assert close(part.rows[:, :, width + index], shift, 'values', index, size)


@pytest.mark.parametrize(('scheme', 'order'), [
    ('trapezoidal', 2), ('hermite_simpson', 4), ('variational', 2)])
def test_the_defect_of_the_true_motion_falls_with_the_order_of_the_rule(scheme, order):
    # Dry friction so smooth that steps are short beside it.
    model = made.model_of(made.PENDULUM, smoothing=5.0)
    sizes = []
    for step in (0.02, 0.01):
        t = step * np.arange(round(0.8 / step) + 1)
        torque = (0.3 * np.sin(4.0 * t))[:, None]
        q, v = made.simulated(
            model, model.parameters.values, t, torque, np.array([[1.0], [0.5]]))
        observation = Observation(Encoder.of(['swing']), t, q, np.array([1.0]))
        problem = TrajectoryProblem(model, model.parameters, (Segment(t, torque, (observation,)),))
        chain = Collocation(problem, scheme)
        part, = chain.equations(np.hstack([q, v]), model.parameters.values)
        sizes.append(np.abs(part.values[:, 0]).max())
    # A defect is of one order more than the motion that follows.
    assert np.log2(sizes[0] / sizes[1]) > order + 1 - 0.4


@pytest.mark.parametrize(('scheme', 'bias'), [
    ('trapezoidal', 0.1), ('hermite_simpson', 0.04), ('variational', 0.1)])
def test_a_swinging_pendulum_is_found_from_its_encoder_alone(scheme, bias):
    problem, truth, motion = made.swinging(fixed=('rod.mass', 'rod.inertia_yy'), step=0.01)
    chain = Collocation(problem, scheme)
    measured = np.vstack([segment.observations[0].values for segment in problem.segments])
    speed = np.vstack([
        np.gradient(segment.observations[0].values, segment.t, axis=0)
        for segment in problem.segments])
    values = truth[problem.free]
    found = LevenbergMarquardt().minimise(
        chain, np.hstack([measured, speed]), 1.2 * values,
        problem.parameters.lower[problem.free], problem.parameters.upper[problem.free])
    assert found.status is Status.CONVERGED
    names = np.array(problem.parameters.names)[problem.free]
    for name, relative in (
        ('rod.first_moment_z', 1e-3), ('swing.viscous_friction', 0.02),
        ('swing.coulomb_friction', bias),
    ):
        index = list(names).index(name)
        assert found.values[index] == pytest.approx(values[index], rel=relative)
    # 402 readings less two starts and the parameters that show.
    assert 2.0 * found.equations.cost == pytest.approx(402.0, abs=4.0 * np.sqrt(2.0 * 402.0))
    path = np.vstack([np.hstack(pair) for pair in motion])
    assert np.abs(found.states - path).max(axis=0) == pytest.approx([0.0, 0.0], abs=0.01)


def test_readings_that_are_missing_count_for_nothing(rng):
    problem, truth, motion = made.swinging(segments=1)
    segment, = problem.segments
    observation, = segment.observations
    some = np.arange(0, len(segment.t), 3)
    gaps = np.full_like(observation.values, np.nan)
    gaps[some] = observation.values[some]
    costs = []
    for left in (
        replace(observation, values=gaps),
        Observation(observation.sensor, observation.t[some], observation.values[some],
                    observation.sigma),
    ):
        part = replace(problem, segments=(replace(segment, observations=(left,)),))
        states = np.hstack(motion[0]) + 1e-3
        parts = list(Collocation(part).residuals(states, truth))
        equations = NormalEquations.of(len(states), 2, len(truth), parts)
        costs.append((equations.cost, np.abs(equations.chain).sum()))
    assert costs[0] == pytest.approx(costs[1])


def test_nodes_know_their_stretch():
    problem, _, _ = made.swinging(nodes=21)
    chain = Collocation(problem)
    assert chain.first_nodes.tolist() == [0, 21, 42]
    states = np.arange(84.0).reshape(42, 2)
    (q, v), (r, w) = chain.split(states)
    assert q.shape == v.shape == (21, 1)
    assert (q[1, 0], r[0, 0], w[-1, 0]) == (2.0, 42.0, 83.0)
    parts = chain.equations(states, problem.parameters.values)
    nodes = np.concatenate([part.nodes for part in parts])
    assert 20 not in nodes and len(nodes) == 40


def test_a_torque_that_jumps_is_refused():
    robot = RobotModel.from_urdf(made.PENDULUM)
    model = TorqueModel(robot, (ViscousFriction(), CoulombFriction(smoothing=0.0)))
    problem, _, _ = made.swinging(nodes=21)
    jumps = replace(problem, model=model, parameters=model.parameters)
    with pytest.raises(ModelError, match='coulomb_smoothing'):
        CollocationEstimator().fit(jumps)


def test_the_variational_chain_finds_what_shooting_by_the_same_integrator_finds():
    problem, truth, _ = made.swinging(fixed=('rod.mass', 'rod.inertia_yy'))
    estimator = CollocationEstimator(scheme='variational', prior_strength=None)
    chain = estimator.solve(problem)
    shot = Shooting(integrator='midpoint', tolerance=1e-12).solve(
        replace(problem, parameters=problem.parameters.with_values(chain.values)))
    assert chain.status is Status.CONVERGED and shot.status is Status.CONVERGED
    free = problem.free
    deviation = 1.0 / np.sqrt(np.maximum(np.diagonal(shot.information), 1e-300))
    assert (np.abs(chain.values - shot.values)[free] < 1e-3 * deviation).all()
    for one, two in zip(chain.positions, shot.positions, strict=True):
        np.testing.assert_allclose(one, two, atol=1e-6)


def test_discrete_mechanics_takes_no_process_noise():
    with pytest.raises(ConfigurationError, match='holds exactly'):
        CollocationEstimator(scheme='variational', process_noise=1.0)
    with pytest.raises(ConfigurationError, match='no such rule'):
        CollocationEstimator(scheme='euler')
