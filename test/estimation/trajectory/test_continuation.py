"""Shooting over longer and longer pieces, and where searches of states and parameters begin."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from support import trajectory_problems as made
from sysid_ros.errors import EstimationError
from sysid_ros.estimation.estimate import Status
from sysid_ros.estimation.trajectory import search_start, shooting, shooting_estimator
from sysid_ros.estimation.trajectory.discrete.estimator import MaximalCoordinatesEstimator
from sysid_ros.estimation.trajectory.pieces_start import fit_worse
from sysid_ros.estimation.trajectory.problem import Observation, Segment, TrajectoryProblem
from sysid_ros.estimation.trajectory.regression_start import regression_start
from sysid_ros.estimation.trajectory.search_log import SearchLog
from sysid_ros.estimation.trajectory.sensors import Encoder
from sysid_ros.estimation.trajectory.shooting import Shooting
from sysid_ros.estimation.trajectory.shooting_estimator import ShootingEstimator
from sysid_ros.estimation.trajectory.stable_step import MOST, stable_steps
from sysid_ros.mechanics.integrators.sensitivity import InputTrajectory, Simulator
from sysid_ros.robot.inertia import is_consistent

STEP = 0.01


def driven(factor=1.0, nodes=801, smoothing=0.05):
    """A pendulum that a torque turns over again and again, its description off by a factor."""
    rng, model = np.random.default_rng(2), made.model_of(made.PENDULUM, smoothing)
    truth = model.parameters.values
    t = STEP * np.arange(nodes)
    torque = (1.0 * np.sin(4.0 * t) + 0.5 * np.sin(7.3 * t + 1.0))[:, None]
    q, v = made.simulated(model, truth, t, torque, np.array([[0.3], [0.0]]))
    observation = Observation(
        Encoder.of(['swing']), t, q + 1e-3 * rng.normal(size=q.shape), np.array([1e-3]))
    parameters = model.parameters.with_values(factor * truth)
    problem = TrajectoryProblem(
        model, replace(parameters, prior=factor * truth), (Segment(t, torque, (observation,)),))
    return problem, truth, (q, v)


def error_of(problem, values, truth):
    columns = [
        problem.parameters.index(f'{name}') for name in (
            'rod.first_moment_z', 'rod.inertia_yy', 'swing.viscous_friction')]
    return np.max(np.abs(values[columns] / truth[columns] - 1.0))


def test_whole_segments_converge_from_where_a_single_search_does_not():
    problem, truth, _ = driven(0.6)
    alone = Shooting(max_iterations=60).solve(problem)
    assert not alone.status.ok or error_of(problem, alone.values, truth) > 0.1
    estimator = ShootingEstimator(prior_strength=None)
    log = SearchLog(600)
    found = estimator.search(problem, estimator.at(problem, None), log)
    assert found.status is Status.CONVERGED
    assert found.horizon == pytest.approx(8.0) and np.isinf(found.tried)
    assert error_of(problem, found.values, truth) < 0.01
    names = [stage.name for stage in log.stages]
    assert names[0] == 'pieces of 0.3 s' and names[-1] == 'pieces of 8 s'
    assert {step.stage for step in log.iterations} <= set(names)


def test_pieces_that_do_not_converge_are_said_and_shorter_ones_kept(monkeypatch):
    problem, truth, _ = driven(0.9, nodes=401)
    solve = Shooting.solve

    def fails_over_long_pieces(self, problem, progress=None, motion=None):
        found = solve(self, problem, progress, motion)
        long = self.horizon is None or self.horizon > 2.0
        return replace(found, status=Status.ITERATION_LIMIT) if long else found

    monkeypatch.setattr(shooting_estimator.Shooting, 'solve', fails_over_long_pieces)
    estimate = ShootingEstimator().fit(problem)
    assert estimate.status is Status.CONVERGED
    assert error_of(problem, estimate.parameters.values, truth) < 0.02
    note, = (note for note in estimate.notes if 'did not converge' in note)
    assert 'fit: {shooting: {horizon: 1.' in note


def test_longer_pieces_whose_cost_stays_as_large_as_the_motion_are_given_up(monkeypatch):
    problem, truth, _ = driven(0.9, nodes=401)
    monkeypatch.setattr(shooting_estimator, '_HOPELESS', 1e-9)
    monkeypatch.setattr(shooting, '_FEW', 1)
    log = SearchLog(600)
    estimator = ShootingEstimator(prior_strength=None)
    found = estimator.search(problem, estimator.at(problem, None), log)
    # Whatever is longer than the first is given up after a step, and the first searched to its end.
    assert found.status is Status.CONVERGED and found.horizon == pytest.approx(0.3)
    assert [len(stage.iterations) for stage in log.stages[1:-1]] == [1] * (len(log.stages) - 2)
    assert error_of(problem, found.values, truth) < 0.02


def test_shorter_pieces_are_kept_where_long_ones_converge_but_roughly(monkeypatch):
    problem, truth, _ = driven(0.9, nodes=401)
    solve = Shooting.solve

    def sticks(self, problem, progress=None, motion=None):
        found = solve(self, problem, progress, motion)
        # Whole motion fails, and pieces of more than half a second to the last digits.
        whole = self.horizon is None
        rough = self.tolerance > 1e-4
        fails = whole or (self.horizon > 0.5 and not rough)
        return replace(found, status=Status.INACCURATE) if fails else found

    monkeypatch.setattr(shooting_estimator.Shooting, 'solve', sticks)
    estimate = ShootingEstimator().fit(problem)
    assert estimate.status is Status.CONVERGED
    assert error_of(problem, estimate.parameters.values, truth) < 0.02
    note, = (note for note in estimate.notes if 'did not converge' in note)
    assert 'fit: {shooting: {horizon: 0.3}}' in note


def test_no_piece_is_longer_than_asked_for():
    problem, truth, _ = driven(0.8)
    found = ShootingEstimator(horizon=0.7, prior_strength=None).solve(problem)
    assert found.status is Status.CONVERGED and found.horizon == 0.7
    assert error_of(problem, found.values, truth) < 0.01


def test_motion_that_cannot_be_simulated_at_all_is_refused():
    problem, truth, _ = driven(nodes=101)
    values = truth.copy()
    values[problem.parameters.index('rod.inertia_yy')] = -0.03
    values[problem.parameters.index('rod.mass')] = 1e-9
    values[problem.parameters.index('rod.first_moment_z')] = 0.0
    fixed = problem.parameters.with_values(values).fixed(*problem.parameters.names)
    with pytest.raises(EstimationError):
        ShootingEstimator().search(
            replace(problem, parameters=fixed), None, SearchLog(600))


def test_regression_on_smoothed_motion_begins_near_the_truth():
    problem, truth, _ = driven(0.6)
    values = regression_start(problem)
    assert error_of(problem, problem.parameters.values, truth) > 0.3
    assert error_of(problem, values, truth) < 0.1
    fixed = ~problem.parameters.free
    np.testing.assert_array_equal(values[fixed], problem.parameters.values[fixed])


def test_a_regression_whose_motion_runs_away_leaves_the_first_guess(monkeypatch):
    problem, truth, _ = driven(0.9, nodes=101)
    light = truth.copy()
    light[problem.parameters.index('rod.inertia_yy')] = -0.03
    monkeypatch.setattr(search_start, 'regression_start', lambda problem: light)
    estimator = ShootingEstimator()
    with pytest.raises(EstimationError, match='stretches 0 ran away'):
        estimator.beginning(problem.with_values(light), None)
    found = search_start.search_start(estimator, problem, None, SearchLog(600))
    np.testing.assert_array_equal(found.problem.parameters.values, problem.parameters.values)


def test_a_regression_by_which_motion_fits_worse_leaves_the_first_guess(monkeypatch):
    problem, truth, _ = driven(0.9, nodes=201)
    # Torques of a joint that hardly moves may be predicted best by bodies that are too light.
    light = 0.3 * truth
    assert fit_worse(problem, light) and not fit_worse(problem, truth)
    for values, begun in ((light, problem.parameters.values), (truth, truth)):
        monkeypatch.setattr(search_start, 'regression_start', lambda _, values=values: values)
        found = search_start.search_start(ShootingEstimator(), problem, None, SearchLog(600))
        np.testing.assert_array_equal(found.problem.parameters.values, begun)


def test_motion_that_nothing_drives_has_no_regression():
    problem, _, _ = made.swinging()
    assert regression_start(problem) is problem.parameters.values


def test_a_hidden_joint_leaves_the_first_guess():
    model = made.model_of(made.ARM)
    t = STEP * np.arange(101)
    observation = Observation(
        Encoder.of(['yaw', 'elbow']), t, np.zeros((101, 2)), np.full(2, 1e-3))
    problem = TrajectoryProblem(
        model, model.parameters, (Segment(t, np.ones((101, 3)), (observation,)),))
    assert regression_start(problem) is problem.parameters.values


def test_steps_are_cut_near_reversals_as_steep_friction_asks():
    mild, truth, (q, v) = driven(nodes=101)
    assert stable_steps(mild).taken == 1 and not stable_steps(mild).doubts('shooting')
    friction = truth[mild.parameters.index('swing.coulomb_friction')]
    about = truth[mild.parameters.index('rod.inertia_yy')]
    # A step of the Runge-Kutta method that is 8 times as long as the time of the friction.
    steep = made.model_of(made.PENDULUM, smoothing=friction / about * STEP / 8.0)
    problem = TrajectoryProblem(steep, steep.parameters, mild.segments)
    found = stable_steps(problem)
    assert found.taken < 6 <= found.needed <= MOST and found.joint == 'swing'
    assert found.taken * found.near_reversals >= found.needed
    still = [InputTrajectory(np.array([[0.0], [0.0]]), np.zeros((101, 1)), STEP)]
    disturbed = [InputTrajectory(np.array([[0.0], [1e-4]]), np.zeros((101, 1)), STEP)]
    for near, settles in ((found.near_reversals, True), (1, False)):
        simulator = Simulator(steep, np.arange(0), False, found.taken, near)
        rest, moved = (simulator.run(truth, each)[0].states[-1, 1] for each in (still, disturbed))
        assert (abs(moved - rest).max() < 1e-6) == settles


def test_even_steps_are_as_many_as_fast_motion_needs():
    slow, truth, _ = driven(nodes=201)
    rng, t = np.random.default_rng(4), 0.05 * np.arange(81)
    torque = 0.2 * np.sin(3.0 * t)[:, None]
    q, _ = made.simulated(slow.model, truth, t, torque, np.array([[2.5], [12.0]]))
    observation = Observation(
        Encoder.of(['swing']), t, q + 1e-4 * rng.normal(size=q.shape), np.array([1e-4]))
    fast = replace(slow, segments=(Segment(t, torque, (observation,)),))
    assert stable_steps(fast).needed == 1 < stable_steps(fast).taken <= MOST
    assert stable_steps(slow).taken == 1


def test_nodes_that_are_further_apart_have_more_steps_between_them():
    problem, _, _ = driven(nodes=201)
    problem = replace(problem, model=made.model_of(made.PENDULUM, smoothing=1e-6))
    coarse = replace(problem, segments=tuple(
        Segment(part.t[::4], part.torque[::4], tuple(
            replace(observation, t=observation.t[::4], values=observation.values[::4])
            for observation in part.observations)) for part in problem.segments))
    near, far = stable_steps(problem), stable_steps(coarse)
    # Steps near reversals are as short in seconds.
    assert far.needed == pytest.approx(4 * near.needed, rel=0.1)
    assert far.taken * far.near_reversals == pytest.approx(
        4 * near.taken * near.near_reversals, rel=0.1)


def test_friction_that_asks_for_more_steps_than_are_taken_is_said_with_the_joint_and_the_line():
    problem, truth, _ = driven(nodes=201)
    friction = truth[problem.parameters.index('swing.coulomb_friction')]
    about = truth[problem.parameters.index('rod.inertia_yy')]
    # So steep that even what is taken near reversals is not stable.
    steep = made.model_of(made.PENDULUM, smoothing=friction / about * STEP / (60.0 * MOST * 1.4))
    estimate = ShootingEstimator(horizon=0.5).fit(
        TrajectoryProblem(steep, steep.parameters, problem.segments))
    note, = (note for note in estimate.notes if 'steps of integration' in note)
    needed = int(re.search(r'substeps: (\d+)', note)[1])
    assert 'friction of swing' in note and 20 * MOST < needed < 200 * MOST
    assert 'fit: {shooting: {substeps: ' in note and 'coulomb_smoothing' in note


def test_values_of_pieces_that_are_no_body_begin_with_the_nearest_one(monkeypatch):
    problem, truth, _ = driven(0.9, nodes=401)
    method = MaximalCoordinatesEstimator(state_error_weight=100.0)
    own = np.array([problem.parameters.index(f'rod.{name}') for name in (
        'first_moment_z', 'inertia_yy', 'inertia_xx')])
    pieces = problem.parameters.values.copy()
    # What a swing about y tells, further out; the moment of inertia about x it does not tell.
    pieces[own[:2]] *= 1.6, 1.6**2
    assert is_consistent(problem.parameters.values[:10]) and not is_consistent(pieces[:10])
    with pytest.raises(EstimationError, match='no step can be made'):
        method.beginning(problem.with_values(pieces), None)
    monkeypatch.setattr(search_start, 'pieces_start', lambda *_: pieces)
    start = search_start.search_start(method, problem, None, SearchLog(100))
    found = start.problem.parameters.values
    assert is_consistent(found[:10]) and found[own[2]] > pieces[own[2]]
    np.testing.assert_allclose(found[own[:2]], pieces[own[:2]], rtol=0.05)
