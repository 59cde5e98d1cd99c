"""Estimators of states and parameters: scale of free motion, intervals, noise, and bad input."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from support import trajectory_problems as made
from sysid_ros.errors import ConfigurationError, EstimationError
from sysid_ros.estimation.estimate import Estimate, Knowledge, Status
from sysid_ros.estimation.regression.consistent.plausibility import Plausibility
from sysid_ros.estimation.trajectory.assessment import determined_parameters, grouping
from sysid_ros.estimation.trajectory.collocation_estimator import CollocationEstimator
from sysid_ros.estimation.trajectory.consistency import QuadraticModel, consistent_values
from sysid_ros.estimation.trajectory.graph_estimator import GraphEstimator
from sysid_ros.estimation.trajectory.problem import Observation, Segment, TrajectoryProblem
from sysid_ros.estimation.trajectory.sensors import Encoder
from sysid_ros.estimation.trajectory.shooting_estimator import ShootingEstimator
from sysid_ros.estimation.trajectory.variational_estimator import VariationalEstimator
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.robot.model import RobotModel

BOTH = pytest.mark.parametrize('kind', [
    CollocationEstimator, ShootingEstimator, VariationalEstimator])
ALL = pytest.mark.parametrize('kind', [
    CollocationEstimator, ShootingEstimator, VariationalEstimator, GraphEstimator])


def knowledge(estimate, name):
    return estimate.knowledge[estimate.parameters.index(name)]


def deviation(estimate, name):
    return estimate.standard_deviation[estimate.parameters.index(name)]


def off_prior(problem, truth, factor):
    """The problem with the priors of first moments and friction off by a factor."""
    names = problem.parameters.names
    off = ['first_moment' in name or 'friction' in name for name in names]
    prior = np.where(off, factor, 1.0) * truth
    return replace(problem, parameters=replace(problem.parameters, values=prior, prior=prior))


@ALL
def test_a_free_swing_does_not_tell_the_scale_and_says_so(kind):
    problem, truth, _ = made.swinging()
    estimate = kind().fit(off_prior(problem, truth, 0.7))
    assert estimate.status is Status.CONVERGED
    assert knowledge(estimate, 'rod.mass') is Knowledge.PRIOR
    group = {'rod.first_moment_z', 'rod.inertia_yy', 'swing.viscous_friction',
             'swing.coulomb_friction'}
    for name in group:
        assert knowledge(estimate, name) is Knowledge.COMBINATION
        assert deviation(estimate, name) == np.inf
    note, = (note for note in estimate.notes if 'was held' in note)
    assert note.startswith('rod.inertia_yy was held')
    assert all(name in note for name in group - {'rod.inertia_yy'})
    # What no motion could ever tell is not these data's fault.
    assert len(estimate.unidentified) == 1 and 'rod.mass' not in note
    # The inertia is right, so all else is too.
    for name, within in (('rod.first_moment_z', 1e-3), ('swing.viscous_friction', 0.02)):
        index = estimate.parameters.index(name)
        assert estimate.parameters.values[index] == pytest.approx(truth[index], rel=within)
    assert any(name.startswith('rod.first_moment_z') for name in estimate.base_names)
    assert np.isfinite(estimate.base_covariance).all()


@ALL
def test_a_torque_tells_the_scale(kind):
    rng, model = np.random.default_rng(1), made.model_of(made.PENDULUM)
    truth = model.parameters.values
    t = 0.01 * np.arange(301)
    torque = (0.4 * np.sin(5.0 * t) + 0.2 * np.sin(11.0 * t))[:, None]
    q, _ = made.simulated(model, truth, t, torque, np.array([[0.5], [0.0]]))
    observation = Observation(
        Encoder.of(['swing']), t, q + 1e-3 * rng.normal(size=q.shape), np.array([1e-3]))
    problem = TrajectoryProblem(model, model.parameters, (Segment(t, torque, (observation,)),))
    estimate = kind().fit(off_prior(problem, truth, 0.7))
    assert not any('was held' in note for note in estimate.notes)
    assert estimate.unidentified == ()
    for name in ('rod.inertia_yy', 'rod.first_moment_z', 'swing.viscous_friction'):
        index = estimate.parameters.index(name)
        assert estimate.knowledge[index] is Knowledge.DATA
        error = abs(estimate.parameters.values[index] - truth[index])
        assert error < 4.0 * estimate.standard_deviation[index] < 0.1 * abs(truth[index])


@ALL
def test_bodies_stay_physically_consistent(kind):
    problem, truth, _ = made.swinging(fixed=('rod.mass', 'rod.inertia_yy'))
    # With the true lever, the prior's inertias that are not seen belong to no body.
    prior = truth.copy()
    for name, value in (('first_moment_z', -0.05), ('inertia_xx', 0.0155), ('inertia_zz', 0.009)):
        prior[problem.parameters.index(f'rod.{name}')] = value
    parameters = replace(problem.parameters, values=prior, prior=prior)
    wrong = replace(problem, parameters=parameters)
    for strength, consistent in ((None, False), (0.1, True)):
        estimate = kind(prior_strength=strength).fit(wrong)
        assert estimate.status is Status.CONVERGED
        assert estimate.consistent == consistent
        index = estimate.parameters.index('rod.first_moment_z')
        assert estimate.parameters.values[index] == pytest.approx(truth[index], rel=1e-3)


@pytest.mark.slow
@BOTH
def test_intervals_cover_the_truth(kind):
    inside, count = 0, 0
    for seed in range(12):
        problem, truth, _ = made.swinging(seed, fixed=('rod.inertia_yy',), nodes=121)
        estimate = kind().fit(problem)
        assert estimate.status is Status.CONVERGED
        for name in ('rod.first_moment_z', 'swing.viscous_friction', 'swing.coulomb_friction'):
            index = estimate.parameters.index(name)
            error = estimate.parameters.values[index] - truth[index]
            inside += abs(error) < 1.96 * estimate.standard_deviation[index]
            count += 1
    assert inside / count >= 0.8


@pytest.mark.slow
@pytest.mark.parametrize('process_noise', [None, 0.05])
def test_the_motion_is_known_as_well_as_it_says(process_noise):
    inside, count = 0, 0
    estimator = CollocationEstimator(process_noise=process_noise)
    for seed in range(6):
        problem, _, motion = made.swinging(seed, fixed=('rod.inertia_yy',), nodes=81)
        solution = estimator.solve(problem)
        covariances = estimator.state_covariances(problem, solution)
        assert [part.shape for part in covariances] == [(81, 2, 2)] * 2
        for k, (q, v) in enumerate(motion):
            deviation = np.sqrt(np.einsum('kii->ki', covariances[k]))
            # Far better than one reading of the encoder.
            assert deviation[:, 0].max() < 1e-3
            error = np.hstack([solution.positions[k] - q, solution.velocities[k] - v])
            inside += (np.abs(error) < 1.96 * deviation).sum()
            count += error.size
    assert inside / count >= 0.85


@BOTH
def test_the_level_of_noise_is_found_from_the_residuals(kind):
    problem, _, _ = made.swinging(fixed=('rod.inertia_yy',), noise=3e-3)
    told = [
        replace(segment, observations=tuple(
            replace(observation, sigma=np.array([1e-4])) for observation in segment.observations))
        for segment in problem.segments]
    right = kind().fit(problem)
    found = kind(estimate_noise=True).fit(
        replace(problem, segments=tuple(told)))
    note, = (note for note in found.notes if note.startswith('Noise of'))
    assert float(note.rstrip('.').split(':')[1]) == pytest.approx(3e-3, rel=0.1)
    for name in ('rod.first_moment_z', 'swing.viscous_friction'):
        assert deviation(found, name) == pytest.approx(deviation(right, name), rel=0.2)


def test_an_estimate_survives_its_file():
    problem, _, _ = made.swinging(nodes=61)
    estimate = CollocationEstimator(scheme='trapezoidal', process_noise=0.1).fit(problem)
    again = Estimate.from_json(estimate.to_json())
    assert again.settings['scheme'] == 'trapezoidal' and again.settings['huber'] is None
    np.testing.assert_array_equal(again.standard_deviation, estimate.standard_deviation)


@BOTH
def test_without_convergence_the_values_are_the_best_without_intervals(kind):
    problem, truth, _ = made.swinging()
    off = off_prior(problem, truth, 0.6)
    estimate = kind(max_iterations=2).fit(off)
    assert estimate.status is Status.ITERATION_LIMIT
    free, prior = off.parameters.free, off.parameters.prior
    assert np.linalg.norm(estimate.parameters.values[free] - truth[free]) < np.linalg.norm(
        prior[free] - truth[free])
    assert np.isinf(estimate.standard_deviation[free]).all()


def test_outliers_are_held_off():
    problem, truth, _ = made.swinging(fixed=('rod.inertia_yy',))
    wild = tuple(
        replace(segment, observations=tuple(
            replace(observation, values=observation.values + 0.3 * (
                np.arange(len(observation.t)) % 23 == 0)[:, None])
            for observation in segment.observations))
        for segment in problem.segments)
    errors = []
    for huber in (np.inf, 2.0):
        estimate = CollocationEstimator(huber=huber).fit(replace(problem, segments=wild))
        index = estimate.parameters.index('swing.viscous_friction')
        errors.append(abs(estimate.parameters.values[index] / truth[index] - 1.0))
    assert errors[1] < 0.3 * errors[0]


def test_a_joint_whose_motion_nothing_determines_is_named():
    rail = (
        '<link name="block_{0}"><inertial><mass value="2"/><inertia ixx="1" ixy="0" ixz="0" '
        'iyy="1" iyz="0" izz="1"/></inertial></link><joint name="rail_{0}" type="prismatic">'
        '<parent link="base"/><child link="block_{0}"/><axis xyz="1 0 0"/>'
        '<limit lower="-9" upper="9" effort="9" velocity="9"/></joint>')
    model = TorqueModel(RobotModel.from_urdf(
        f'<robot name="rails"><link name="base"/>{rail.format(0)}{rail.format(1)}</robot>'), ())
    t = 0.01 * np.arange(101)
    # Nothing joins the blocks, so that nobody knows where the second one began.
    force = np.column_stack([np.sin(3.0 * t), np.cos(2.0 * t)])
    observation = Observation(
        Encoder.of(['rail_0']), t, 0.1 * np.sin(3.0 * t)[:, None], np.full(1, 1e-3))
    problem = TrajectoryProblem(
        model, model.parameters, (Segment(t, force, (observation,)),))
    with pytest.raises(EstimationError, match='^rail_1: what is measured does not tell'):
        CollocationEstimator().fit(problem)


@pytest.mark.parametrize(('setting', 'value'), [
    ('scheme', 'euler'), ('process_noise', 0.0), ('process_noise', np.nan), ('huber', -1.0)])
def test_settings_out_of_range_are_refused(setting, value):
    with pytest.raises(ConfigurationError, match=setting):
        CollocationEstimator(**{setting: value})


def coarser(problem, every):
    """The same readings with so many of them from node to node."""
    return replace(problem, segments=tuple(
        replace(part, t=part.t[::every], torque=part.torque[::every])
        for part in problem.segments))


def test_a_graph_takes_readings_at_its_steps_between_nodes_and_no_others():
    problem, truth, _ = made.swinging(nodes=201, fixed=('rod.inertia_yy',))
    index = problem.parameters.index('rod.first_moment_z')
    estimate, solution = GraphEstimator().fitted(off_prior(coarser(problem, 2), truth, 0.8))
    assert estimate.status is Status.CONVERGED
    assert estimate.parameters.values[index] == pytest.approx(truth[index], rel=0.01)
    assert [part[0].shape for part in solution.residuals] == [(201, 1)] * 2
    assert [len(part) for part in solution.positions] == [101, 101]
    with pytest.raises(EstimationError, match='refinement: 8'):
        GraphEstimator().fit(coarser(problem, 8))


def test_information_that_is_lost_on_the_way_is_no_crash_but_a_fit_that_ended_early():
    problem, truth, _ = made.swinging(fixed=('rod.inertia_yy',))
    solution = CollocationEstimator(prior_strength=None).solve(problem)
    known = determined_parameters(problem, solution.information)
    determined = np.flatnonzero(known.mask)
    information = solution.information[np.ix_(determined, determined)].copy()
    information[0], information[:, 0] = 0.0, 0.0
    values, status = consistent_values(
        problem, truth, QuadraticModel(
            grouping(problem, known), information, np.zeros(len(determined))), 0.1, Plausibility())
    assert status is Status.INACCURATE and values is truth
