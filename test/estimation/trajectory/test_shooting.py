"""Shooting finds what a simulated pendulum was made of, and survives what it cannot fit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from support import closed_robots as closed
from support import golden_problems as golden
from sysid_ros.errors import ConfigurationError, EstimationError, RecordingError
from sysid_ros.estimation.estimate import Status
from sysid_ros.estimation.trajectory.local_motion import local_state
from sysid_ros.estimation.trajectory.pieces import cut
from sysid_ros.estimation.trajectory.problem import Observation, Segment, TrajectoryProblem
from sysid_ros.estimation.trajectory.sensors import Encoder, Tachometer
from sysid_ros.estimation.trajectory.shooting import Shooting, _is_finite
from sysid_ros.mechanics.closures.closed_chain import closed_chain
from sysid_ros.mechanics.integrators.sensitivity import (
    InputTrajectory,
    SimulatedMotion,
    Simulator,
)
from sysid_ros.mechanics.integrators.variational.simulator import VariationalSimulator
from sysid_ros.mechanics.joint_terms.terms import CoulombFriction, StribeckFriction, ViscousFriction
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.robot.model import RobotModel

URDF = (
    '<robot name="pendulum"><link name="base"/>'
    + golden.link('upper', 2.0, (0.0, 0.0, -0.2), (0.1, 0.1, 0.4))
    + golden.link('lower', 1.0, (0.0, 0.0, -0.15), (0.1, 0.1, 0.3))
    + golden.joint('shoulder', 'base', 'upper', '0 1 0', '0 0 1')
    + golden.joint('elbow', 'upper', 'lower', '0 1 0', '0 0 -0.4') + '</robot>')
FREE = ('upper.inertia_yy', 'lower.first_moment_z', 'lower.inertia_yy',
        'shoulder.viscous_friction', 'elbow.viscous_friction')
START = np.array([[0.8, -0.4], [0.5, 1.0]])
STEP = 0.01


def model_of(*terms):
    return TorqueModel(RobotModel.from_urdf(URDF), terms or (ViscousFriction(),))


def truth_of(model, **named):
    values = {'shoulder.viscous_friction': 0.03, 'elbow.viscous_friction': 0.01,
              'lower.inertia_yy': 0.033, **named}
    return model.parameters.with_values({k: v for k, v in values.items() if k in model.parameters})


def only(parameters, names):
    return replace(parameters, free=np.array([name in names for name in parameters.names]))


def motion_of(model, values, nodes=150, start=START, seed=1, substeps=4):
    """Torques at the nodes, and the true motion there."""
    phase = np.random.default_rng(seed).uniform(0.0, 6.0, start.shape[1])
    size = np.array([0.8, 0.1])[:start.shape[1]]
    torque = size * np.sin(4.0 * STEP * np.arange(nodes)[:, None] + phase)
    trajectory = InputTrajectory(start, torque, STEP)
    none = Simulator(model, np.zeros(0, dtype=int), False, substeps)
    return torque, none.run(values, [trajectory])[0].states


def segment_of(model, values, noise=0.0, seed=1, recorded=True, sigma=1e-3, **options):
    start = options.get('start', START)
    torque, states = motion_of(model, values, seed=seed, **options)
    t = STEP * np.arange(len(torque))
    random = np.random.default_rng(seed + 100)
    q = states[:, 0] + noise * random.normal(size=states[:, 0].shape)
    seen = Observation(
        Encoder.of(model.robot.joint_names), t, q, np.full(q.shape[1], sigma))
    return Segment(t, torque, (seen,), start if recorded else None)


def free_swing(model, values):
    trajectory = InputTrajectory(START, np.zeros((150, 2)), STEP)
    states = Simulator(model, np.zeros(0, dtype=int), False).run(values, [trajectory])[0].states
    t = STEP * np.arange(150)
    seen = Observation(Encoder.of(model.robot.joint_names), t, states[:, 0], np.full(2, 1e-3))
    return Segment(t, trajectory.torque, (seen,), START)


def pendulum(noise=0.0, count=2, recorded=True, free=FREE, **options):
    """Segments of the pendulum, whose parameters are those of its description to begin with."""
    model = model_of()
    truth = truth_of(model)
    segments = tuple(
        segment_of(model, truth.values, noise, seed, recorded, **options)
        for seed in range(count))
    return TrajectoryProblem(model, only(model.parameters, free), segments), truth.values


def cost_of(solution, problem):
    return sum(
        0.5 * float(np.nansum((residual / observation.sigma) ** 2))
        for segment, parts in zip(problem.segments, solution.residuals, strict=True)
        for observation, residual in zip(segment.observations, parts, strict=True))


@pytest.mark.parametrize(('settings', 'recorded'), [
    (Shooting(substeps=4), True), (Shooting(substeps=4), False),
    (Shooting(starts='recorded', substeps=4), True), (Shooting(substeps=4, horizon=0.3), False),
])
def test_exact_readings_give_the_parameters(settings, recorded):
    problem, truth = pendulum(recorded=recorded)
    solution = settings.solve(problem)
    assert solution.status is Status.CONVERGED
    np.testing.assert_allclose(solution.values, truth, rtol=1e-7, atol=1e-9)
    for segment, found in zip(problem.segments, solution.positions, strict=True):
        np.testing.assert_allclose(found, segment.observations[0].values, atol=1e-8)


def test_errors_are_as_large_as_the_information_says():
    noise, total, repeats = 1e-3, 0.0, 12
    for repeat in range(repeats):
        model = model_of()
        truth = truth_of(model)
        segment = segment_of(model, truth.values, noise, seed=10 + repeat)
        problem = TrajectoryProblem(model, only(model.parameters, FREE), (segment,))
        solution = Shooting(substeps=4).solve(problem)
        error = (solution.values - truth.values)[problem.free]
        total += error @ solution.information @ error
    # Chi-squared of 5 x 12 degrees of freedom: 60, give or take 11.
    assert 30.0 < total < 100.0


def test_information_and_scores_are_those_of_the_dense_jacobian():
    problem, _ = pendulum(noise=1e-3, count=1, nodes=60)
    solution = Shooting().solve(problem)
    start = np.array([solution.positions[0][0], solution.velocities[0][0]])
    slopes = Simulator(problem.model, problem.free).run(
        solution.values, [InputTrajectory(start, problem.segments[0].torque, STEP)])[0].slopes
    rows = slopes[:, 0].reshape(-1, slopes.shape[-1]) / 1e-3
    by_start, by_parameters = rows[:, :4], rows[:, 4:]
    adapted = by_parameters - by_start @ np.linalg.lstsq(by_start, by_parameters, rcond=None)[0]
    np.testing.assert_allclose(solution.information, adapted.T @ adapted, rtol=1e-7)
    weighted = solution.residuals[0][0] / 1e-3
    scores = -np.einsum('Km,Kmk->Kk', weighted, adapted.reshape(*weighted.shape, -1))
    np.testing.assert_allclose(solution.scores, scores, atol=1e-7 * np.abs(scores).max())
    # At the optimum the scores cancel.
    unit = np.sqrt(np.diag(solution.information))
    assert np.abs(solution.scores.sum(axis=0) / unit).max() < 1e-2


def test_missing_readings_are_as_if_they_had_not_been_asked_for():
    problem, _ = pendulum(noise=1e-3)
    segment = problem.segments[0]
    seen, lost = segment.observations[0], np.arange(150) % 3 == 1
    empty = replace(seen, values=np.where(lost[:, None], np.nan, seen.values))
    fewer = replace(seen, t=seen.t[~lost], values=seen.values[~lost])
    found = [
        Shooting().solve(replace(problem, segments=(replace(segment, observations=(one,)),)))
        for one in (empty, fewer)]
    np.testing.assert_allclose(found[0].values, found[1].values, rtol=1e-9)
    np.testing.assert_allclose(found[0].information, found[1].information, rtol=1e-6)
    np.testing.assert_array_equal(np.isnan(found[0].residuals[0][0]).all(axis=1), lost)


def test_a_joint_whose_encoder_failed_is_known_by_the_other():
    problem, truth = pendulum()
    segments = []
    for segment in problem.segments:
        values = segment.observations[0].values.copy()
        values[:, 1] = np.nan
        seen = replace(segment.observations[0], values=values)
        segments.append(replace(segment, observations=(seen,)))
    solution = Shooting(substeps=4).solve(replace(problem, segments=tuple(segments)))
    assert solution.status is Status.CONVERGED
    np.testing.assert_allclose(solution.values, truth, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize('horizon', [None, 0.25])
def test_sensors_at_other_rates_than_the_nodes_are_interpolated(horizon):
    problem, truth = pendulum(count=1)
    segment, joints = problem.segments[0], problem.model.robot.joint_names
    fine = InputTrajectory(START, segment.torque, STEP)
    states = Simulator(problem.model, np.zeros(0, dtype=int), False, 4).run(truth, [fine])[0].states
    observations = []
    for sensor, row, every in ((Encoder.of(joints), 0, 3), (Tachometer.of(joints[1:]), 1, 7)):
        # Between the nodes, by an integration from the node before.
        t, values = [], []
        for k in range(0, 149, every):
            part = 0.1 + 0.8 * (k % 10) / 10.0
            torque = segment.torque[k:k + 2].copy()
            torque[1] = torque[0] + part * (torque[1] - torque[0])
            there = InputTrajectory(states[k, :2], torque, part * STEP)
            end = Simulator(problem.model, np.zeros(0, dtype=int), False, 4).run(
                truth, [there])[0].states[1]
            t.append((k + part) * STEP)
            values.append(end[row][-sensor.width:])
        observations.append(Observation(
            sensor, np.array(t), np.array(values), np.full(sensor.width, 1e-3)))
    moved = replace(segment, observations=tuple(observations), start=None)
    solution = Shooting(substeps=4, horizon=horizon).solve(replace(problem, segments=(moved,)))
    assert solution.status is Status.CONVERGED
    np.testing.assert_allclose(solution.values, truth, rtol=1e-4, atol=1e-5)
    assert np.isfinite(solution.residuals[0][1]).all()


def test_pieces_share_no_sample_and_lose_none():
    problem, _ = pendulum(count=1)
    pieces = cut(problem.segments, 0.4)
    assert [piece.first for piece in pieces[1:]] == [piece.last for piece in pieces[:-1]]
    rows = np.concatenate([np.arange(150)[piece.samples[0].rows] for piece in pieces])
    np.testing.assert_array_equal(rows, np.arange(150))
    assert max(piece.last - piece.first for piece in pieces) <= 40


def test_a_parameter_stops_at_its_bound():
    problem, truth = pendulum()
    k = problem.parameters.index('elbow.viscous_friction')
    upper = problem.parameters.upper.copy()
    upper[k] = 0.5 * truth[k]
    bounded = replace(problem.parameters, upper=upper)
    solution = Shooting().solve(replace(problem, parameters=bounded))
    assert solution.status is Status.CONVERGED
    assert solution.values[k] == upper[k]
    assert (solution.values >= bounded.lower).all()


def test_a_parameter_without_effect_keeps_its_value():
    free = (*FREE, 'upper.inertia_xy')
    problem, truth = pendulum(free=free)
    solution = Shooting(substeps=4).solve(problem)
    k = problem.parameters.index('upper.inertia_xy')
    assert solution.values[k] == truth[k]
    place = list(problem.free).index(k)
    assert not solution.information[place].any()
    assert solution.status is Status.CONVERGED


def test_a_scale_that_nothing_fixes_is_seen_in_the_information():
    model = model_of()
    truth = truth_of(model)
    names = (*FREE, 'upper.first_moment_z', 'lower.mass')
    problem = TrajectoryProblem(model, only(truth, names), (free_swing(model, truth.values),))
    information = Shooting().solve(problem).information
    unit = np.sqrt(np.diag(information))
    values = np.linalg.eigvalsh(information / np.outer(unit, unit))
    assert values[0] < 1e-8 * values[-1]


def test_a_larger_model_never_costs_more_than_the_smaller_it_starts_at():
    problem, _ = pendulum(noise=1e-3, count=1)
    small = Shooting().solve(problem)
    terms = (ViscousFriction(), CoulombFriction(smoothing=0.05))
    model = model_of(*terms)
    named = dict(zip(problem.parameters.names, small.values, strict=True))
    parameters = only(model.parameters.with_values(named), (
        *FREE, 'shoulder.coulomb_friction', 'elbow.coulomb_friction'))
    larger = TrajectoryProblem(model, parameters, problem.segments)
    large = Shooting().solve(larger)
    assert large.status is Status.CONVERGED
    assert cost_of(large, larger) <= cost_of(small, problem)


def test_starts_alone_are_estimated_when_every_parameter_is_fixed():
    problem, truth = pendulum(noise=1e-4, recorded=False)
    fixed = problem.parameters.with_values(truth).fixed('*')
    solution = Shooting(substeps=4).solve(replace(problem, parameters=fixed))
    assert solution.status is Status.CONVERGED
    assert solution.information.shape == (0, 0)
    for q, v in zip(solution.positions, solution.velocities, strict=True):
        np.testing.assert_allclose([q[0], v[0]], START, atol=2e-3)


@pytest.mark.parametrize('term', ['closed chain', 'stribeck'])
def test_what_is_not_compiled_is_fitted_too(term):
    if term == 'stribeck':
        model = model_of(ViscousFriction(), StribeckFriction(smoothing=0.1))
        truth = truth_of(model, **{
            'elbow.stribeck_friction': 0.05, 'elbow.stribeck_velocity': 0.5})
        free, start = ('elbow.stribeck_friction', 'elbow.stribeck_velocity'), START
        start_values = truth.with_values({
            'elbow.stribeck_friction': 0.03, 'elbow.stribeck_velocity': 0.3})
    else:
        problem = golden.golden('closed chain')
        model = TorqueModel(problem.model.robot, (ViscousFriction(),))
        crank = model.robot.joint_names[0]
        truth = model.parameters.with_values({f'{crank}.viscous_friction': 0.4})
        free, start = (f'{crank}.viscous_friction',), np.array([[0.3], [1.0]])
        start_values = model.parameters
    segment = segment_of(
        model, truth.values, nodes=60, start=start, recorded=False, substeps=1)
    problem = TrajectoryProblem(model, only(start_values, free), (segment,))
    solution = Shooting().solve(problem)
    assert solution.status is Status.CONVERGED
    np.testing.assert_allclose(
        solution.values[problem.free], truth.values[problem.free], rtol=1e-5)


def test_running_out_of_iterations_is_said_and_the_best_is_kept():
    problem, _ = pendulum(noise=1e-3)
    solution = Shooting(max_iterations=1).solve(problem)
    assert solution.status is Status.ITERATION_LIMIT
    assert len(solution.iterations) == 1
    np.testing.assert_allclose(
        cost_of(solution, problem), solution.iterations[0].cost, rtol=1e-12)


def test_the_log_goes_downhill_and_says_what_was_refused():
    problem, truth = pendulum(count=1)
    poor = problem.parameters.with_values({'upper.inertia_yy': 0.3})
    solution = Shooting(substeps=4).solve(replace(problem, parameters=poor))
    assert solution.status is Status.CONVERGED
    np.testing.assert_allclose(solution.values, truth, rtol=1e-6, atol=1e-8)
    costs = [iteration.cost for iteration in solution.iterations]
    assert (np.diff(costs) <= 0.0).all()
    refused = [iteration for iteration in solution.iterations if iteration.decrease < 0.0]
    assert refused
    assert all(iteration.gain < 0.0 for iteration in refused)
    assert all(iteration.damping > 0.0 for iteration in solution.iterations)


def test_a_trial_that_runs_away_does_not_end_the_fit():
    # The linear model about a heavy pendulum takes off more inertia than there is.
    problem, truth = pendulum(count=1)
    heavy = problem.parameters.with_values({'upper.inertia_yy': 1.0})
    solution = Shooting(starts='recorded', substeps=4).solve(replace(problem, parameters=heavy))
    assert any(np.isneginf(iteration.decrease) for iteration in solution.iterations)
    assert solution.status is Status.CONVERGED
    np.testing.assert_allclose(solution.values, truth, rtol=1e-6, atol=1e-8)


def test_derivatives_whose_squares_overflow_ran_away_as_motion_does():
    still = SimulatedMotion(np.zeros((2, 3, 1)), np.zeros((2, 3, 1, 4)))
    assert _is_finite(still)
    for size in (1e160, np.inf, np.nan):
        assert not _is_finite(still._replace(slopes=np.full((2, 3, 1, 4), size)))
        assert not _is_finite(still._replace(states=np.full((2, 3, 1), size)))


def test_bodies_that_no_mass_makes_up_are_refused_to_start_from():
    problem, _ = pendulum()
    wrong = problem.parameters.with_values({'lower.inertia_yy': -5.0})
    with pytest.raises(EstimationError, match='stretches 0, 1 ran away.*real bodies'):
        Shooting().solve(replace(problem, parameters=wrong))


def test_a_start_outside_the_bounds_is_taken_inside():
    problem, truth = pendulum()
    outside = problem.parameters.with_values({'elbow.viscous_friction': -1.0})
    solution = Shooting(substeps=4).solve(replace(problem, parameters=outside))
    np.testing.assert_allclose(solution.values, truth, rtol=1e-6, atol=1e-8)


def test_a_recorded_start_that_is_no_number_is_refused():
    problem, _ = pendulum(count=1)
    with pytest.raises(RecordingError, match='Leave the start out'):
        replace(problem.segments[0], start=np.array([[0.8, np.nan], [0.5, 1.0]]))


def test_a_start_that_was_not_recorded_is_not_made_up():
    problem, _ = pendulum(recorded=False)
    with pytest.raises(EstimationError, match='stretch 0: the start of a stretch was not recorded'):
        Shooting(starts='recorded').solve(problem)


@pytest.mark.parametrize('settings', [
    {'starts': 'guessed'}, {'substeps': 0}, {'horizon': 0.0}, {'max_iterations': 0},
    {'tolerance': 0.0}, {'starts': 'recorded', 'horizon': 1.0}, {'horizon': float('nan')},
    {'integrator': 'euler'},
])
def test_settings_out_of_range_are_refused(settings):
    with pytest.raises(ConfigurationError, match='the setting of shooting cannot be used'):
        Shooting(**settings)


@pytest.mark.parametrize('rule', ['midpoint', 'trapezoidal'])
def test_a_variational_integrator_moves_as_runge_kutta_does_but_for_its_order(rule):
    model = model_of()
    values = truth_of(model).values
    trajectory = InputTrajectory(START, np.zeros((60, 2)), STEP)
    columns = np.array([model.parameters.index(name) for name in FREE])
    fine = Simulator(model, columns, True, 8).run(values, [trajectory])[0]
    for part in ('states', 'slopes'):
        errors = []
        for substeps in (4, 8):
            simulator = VariationalSimulator(model, columns, True, substeps, rule)
            found = simulator.run(values, [trajectory])[0]
            # Accelerations are differences over nodes, whatever is between these.
            errors.append(np.abs(getattr(found, part) - getattr(fine, part))[:, :2].max())
        assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.1)
    found = VariationalSimulator(model, columns, True, 8, rule).run(values, [trajectory])[0]
    error = np.abs(found.states - fine.states)[1:-1, 2].max()
    assert error < 0.02 * np.abs(fine.states[:, 2]).max()


def closed_loops(name):
    """A model of closed loops with friction, values, parameters to seek, and a moving start."""
    robot = closed.CLOSED[name]()
    model = TorqueModel(robot, (ViscousFriction(robot.opened.joint_names),))
    names = model.parameters.names
    values = model.parameters.with_values(
        {name: 0.2 for name in names if name.endswith('viscous_friction')}).values
    columns = np.array([
        k for k, name in enumerate(names) if name.endswith(('.mass', '.viscous_friction'))])
    q = closed_chain(robot).assembly[robot.loops.actuated]
    start = np.array([q, np.linspace(0.6, -0.4, len(q))])
    torque = 0.3 * np.sin(0.2 * np.arange(21)[:, None] + np.arange(len(q)))
    return model, values, columns, InputTrajectory(start, torque, STEP)


@pytest.mark.parametrize('name', ['four_bar', 'five_bar', 'spatial'])
def test_closed_loops_move_by_a_variational_integrator_as_by_runge_kutta(name):
    model, values, columns, trajectory = closed_loops(name)
    fine = Simulator(model, columns, True, 2).run(values, [trajectory])[0]
    for part in ('states', 'slopes'):
        errors = []
        for substeps in (2, 4):
            found = VariationalSimulator(model, columns, True, substeps).run(values,
                [trajectory])[0]
            errors.append(np.abs(getattr(found, part) - getattr(fine, part))[:, :2].max())
        assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.1)
        assert errors[1] < 1e-3 * np.abs(getattr(fine, part)[:, :2]).max()


@pytest.mark.parametrize('name', ['four_bar', 'rod_five_bar', 'spatial', 'framed_four_bar'])
def test_closed_loops_are_differentiated_by_the_start_of_what_is_driven(name):
    model, values, columns, trajectory = closed_loops(name)
    simulator = VariationalSimulator(model, columns, True, 2)
    known = trajectory.start.size

    def states(x):
        changed = values.copy()
        changed[columns] = x[known:]
        moved = trajectory._replace(start=x[:known].reshape(trajectory.start.shape))
        return simulator.run(changed, [moved])[0].states

    x = np.concatenate([trajectory.start.ravel(), values[columns]])
    slopes = simulator.run(values, [trajectory])[0].slopes
    for k, size in enumerate(1e-3 * np.maximum(np.abs(x), 1.0)):
        step = size * np.eye(len(x))[k]
        near, far = (states(x + s * step) - states(x - s * step) for s in (1.0, 2.0))
        # Wide steps leave the solver's tolerance behind; the fourth order leaves their own.
        expected = (8.0 * near - far) / (12.0 * size)
        for part in range(3):
            scale = np.abs(slopes[:, part]).max()
            np.testing.assert_allclose(
                slopes[:, part, :, k], expected[:, part], rtol=0.0, atol=1e-6 * scale)


def test_a_start_that_closed_loops_cannot_be_in_is_a_motion_that_failed():
    robot = (
        closed.Linkage('short')
        .rod('left', 'world', (0.0, 0.0), 0.8, 0.3).rod('left_tip', 'left', (0.3, 0.0), 0.5, 0.38)
        .rod('right', 'world', (0.25, 0.0), 0.8, 0.3)
        .rod('right_tip', 'right', (0.3, 0.0), 0.5, 0.38)
        .close('tips', 'left_tip', (0.38, 0.0), 'right_tip', (0.38, 0.0))
        .robot(['left_joint', 'right_joint'], closed.FIVE_BAR_ASSEMBLY))
    model = TorqueModel(robot)
    simulator = VariationalSimulator(model, np.arange(2))
    for start, reached in (((2.0, 1.0), True), ((np.pi, 0.0), False)):
        trajectory = InputTrajectory(np.array([start, (0.0, 0.0)]), np.zeros((3, 2)), STEP)
        motion = simulator.run(model.parameters.values, [trajectory])[0]
        # Elbows that point away from each other are 0.85 m apart, links between them 0.76 m.
        for part in motion:
            assert np.isfinite(part).all() if reached else np.isnan(part).all()


@pytest.mark.parametrize('starts', ['estimated', 'recorded'])
def test_friction_in_a_closed_loop_is_found_by_a_variational_integrator(starts):
    model, values, columns, trajectory = closed_loops('five_bar')
    names = [name for name in model.parameters.names if name.startswith('left_joint.')]
    states = Simulator(model, columns[:0], False, 4).run(values, [trajectory])[0].states
    t = STEP * np.arange(len(states))
    seen = Observation(
        Encoder.of(model.robot.joint_names), t, states[:, 0], np.full(2, 1e-3))
    segment = Segment(t, trajectory.torque, (seen,), trajectory.start)
    problem = TrajectoryProblem(
        model, only(model.parameters.with_values(
            dict(zip(model.parameters.names, values, strict=True)) | dict.fromkeys(names, 0.5)),
            names), (segment,))
    solution = Shooting(starts, substeps=8, integrator='midpoint').solve(problem)
    assert solution.status is Status.CONVERGED
    # What is left is the error of the integration, of second order.
    np.testing.assert_allclose(solution.values[problem.free], 0.2, rtol=2e-3)


def test_local_states_of_cubic_motion_are_exact(rng):
    robot = model_of().robot
    t = np.sort(rng.uniform(0.0, 1.0, 200))
    powers = rng.normal(size=(4, 2))
    q = np.vander(t, 4, increasing=True) @ powers
    v = np.vander(t, 3, increasing=True) @ (powers[1:] * np.array([[1.0], [2.0], [3.0]]))
    q[::3] = np.nan
    seen = (
        Observation(Encoder.of(robot.joint_names), t, q, np.full(2, 1e-3)),
        Observation(Tachometer.of(['elbow']), t, v[:, 1:], np.full(1, 1e-2)))
    segment = Segment(np.linspace(0.0, 1.0, 11), np.zeros((11, 2)), seen)
    for time in (0.0, 0.5, 1.0):
        state = local_state(robot, segment, time)
        expected = time ** np.arange(4) @ powers
        speed = time ** np.arange(3) @ (powers[1:] * np.array([[1.0], [2.0], [3.0]]))
        np.testing.assert_allclose(state, [expected, speed], rtol=1e-8, atol=1e-8)
