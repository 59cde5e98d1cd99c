"""Nonlinear joint terms are found again in simulation, with intervals, and rows stay the same."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from support import golden_problems as simulated
from sysid_ros.errors import ConfigurationError, EstimationError
from sysid_ros.estimation.estimate import Knowledge, Status
from sysid_ros.estimation.estimator import make_estimator
from sysid_ros.estimation.outer_iteration import OuterIteration, frozen_at
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.mechanics.joint_terms.drive_gain import DriveGain
from sysid_ros.mechanics.joint_terms.load_friction import LoadFriction
from sysid_ros.mechanics.joint_terms.terms import (
    CoulombFriction,
    PowerLawFriction,
    SmoothCoulombFriction,
    StribeckFriction,
    TorqueOffset,
    ViscousFriction,
)
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.recording.processing.signals import ParallelFilter
from sysid_ros.robot.model import RobotModel

FILTER = ParallelFilter(cutoff=8.0, decimate_to=25.0)


def golden(*terms, samples=1200, **truths):
    """The arm with joint terms whose parameters have true values, by field."""
    model = TorqueModel(RobotModel.from_urdf(simulated.arm_urdf()), terms)
    truth = simulated.true_parameters(model)
    for k, name in enumerate(model.parameters.names):
        field = name.rpartition('.')[2]
        if field in truths:
            # Not the same in any two joints.
            truth[k] = truths[field] * (1.0 + 0.1 * (k % 3))
    return simulated.Golden(model, truth, samples)


STRIBECK = golden(
    ViscousFriction(), SmoothCoulombFriction(), StribeckFriction(smoothing=None), TorqueOffset(),
    coulomb_smoothing=0.05, stribeck_velocity=0.3, stribeck_friction=0.8,
)
LOAD = golden(ViscousFriction(), CoulombFriction(), LoadFriction(), TorqueOffset(),
              load_friction=0.15)
GAIN = golden(ViscousFriction(), CoulombFriction(), DriveGain(), TorqueOffset(), drive_gain=1.1)


def terms_of(problem, values):
    """Values of joint terms by name."""
    bodies = 10 * len(problem.model.robot.body_names)
    return dict(zip(problem.parameters.names[bodies:], values[bodies:], strict=True))


@pytest.mark.parametrize(('case', 'fixed'), [
    (STRIBECK, ()), (LOAD, ()), (GAIN, ('waist.drive_gain',)),
], ids=['stribeck', 'load', 'gain'])
def test_without_noise_the_joint_terms_are_found_exactly(case, fixed):
    parameters = case.model.parameters
    known = {name: case.truth[parameters.index(name)] for name in fixed}
    parameters = parameters.with_values(known).fixed(*fixed) if fixed else parameters
    problem = RegressionProblem.from_dataset(case.model, case.dataset(), parameters=parameters)
    estimate = OuterIteration(make_estimator('wls'), tolerance=1e-9, search_tolerance=1e-10).fit(
        problem)
    assert estimate.status is Status.CONVERGED
    found = terms_of(problem, estimate.parameters.values)
    for name, true in terms_of(problem, case.truth).items():
        assert found[name] == pytest.approx(true, rel=1e-3, abs=2e-4), name


@pytest.mark.parametrize('case', [STRIBECK, LOAD], ids=['stribeck', 'load'])
def test_a_consistent_fit_of_noisy_rows_covers_the_truth(case):
    problem = case.problem(0.02)
    estimate = OuterIteration(make_estimator('entropic')).fit(problem)
    assert estimate.status is Status.CONVERGED
    assert estimate.consistent
    assert estimate.residuals.relative_error == pytest.approx(0.02, rel=0.1)
    told = [
        k for k, name in enumerate(problem.parameters.names)
        if name.rpartition('.')[2] in ('stribeck_friction', 'stribeck_velocity', 'load_friction')
    ]
    for k in told:
        assert estimate.knowledge[k] is Knowledge.DATA
        error = estimate.parameters.values[k] - case.truth[k]
        assert abs(error) <= 4.0 * estimate.standard_deviation[k]
        assert estimate.standard_deviation[k] <= 0.5 * case.truth[k]


def test_with_every_gain_free_it_is_said_that_the_prior_sets_the_scale():
    estimate = OuterIteration(make_estimator('entropic')).fit(GAIN.problem(0.01))
    assert estimate.status is Status.CONVERGED
    assert any('common scale' in note and 'drive_gain' in note for note in estimate.notes)
    assert estimate.residuals.relative_error == pytest.approx(0.01, rel=0.15)


def test_a_linear_problem_is_the_estimators_own():
    problem = simulated.golden('arm').problem(0.05)
    wrapped = OuterIteration(make_estimator('lmi')).fit(problem)
    plain = make_estimator('lmi').fit(problem)
    np.testing.assert_array_equal(wrapped.parameters.values, plain.parameters.values)
    np.testing.assert_array_equal(wrapped.base_covariance, plain.base_covariance)


def test_friction_that_is_not_there_is_neither_large_nor_sure():
    plain = golden(ViscousFriction(), CoulombFriction(smoothing=0.02), TorqueOffset())
    model = TorqueModel(plain.model.robot, [
        ViscousFriction(), SmoothCoulombFriction(), TorqueOffset(), StribeckFriction(
            smoothing=None)])
    problem = RegressionProblem.from_dataset(model, plain.dataset(0.02))
    estimate = OuterIteration(make_estimator('entropic')).fit(problem)
    assert estimate.status is Status.CONVERGED
    for joint in model.robot.joint_names:
        k = problem.parameters.index(f'{joint}.stribeck_friction')
        assert estimate.parameters.values[k] <= 3.0 * estimate.standard_deviation[k]
        assert estimate.parameters.values[k] < 0.3


def gappy(case):
    """The motion with a gap in it, so that rows come from two segments."""
    data = case.dataset(0.01)
    return replace(
        data, segments=((0, 500), (500, len(data.t))), t=np.where(data.t < 5.0, data.t, data.t + 1)
    )


MIXED = golden(
    SmoothCoulombFriction(), PowerLawFriction(), LoadFriction(smoothing=None), DriveGain(),
    load_friction=0.2, power_friction=0.5, power_exponent=0.4, drive_gain=1.3,
    coulomb_smoothing=0.1,
)


def test_moved_rows_are_those_that_are_built_there():
    data = gappy(MIXED)
    problem = RegressionProblem.from_dataset(MIXED.model, data, parallel_filter=FILTER)
    moved = problem.at(MIXED.truth)
    built = RegressionProblem.from_dataset(
        MIXED.model.at(MIXED.truth), data, parallel_filter=FILTER)
    scale = np.abs(built.regressor).max()
    np.testing.assert_allclose(moved.regressor, built.regressor, atol=1e-9 * scale)
    assert problem.at(problem.parameters.prior).at(problem.parameters.prior) is not moved
    np.testing.assert_allclose(
        moved.at(problem.parameters.prior).regressor,
        problem.at(problem.parameters.prior).regressor, atol=1e-9 * scale)


def test_rows_are_not_made_again_at_the_values_of_the_last_ones():
    problem = RegressionProblem.from_dataset(MIXED.model, gappy(MIXED), parallel_filter=FILTER)
    moved = problem.at(MIXED.truth)
    assert problem.at(MIXED.truth.copy()) is moved
    others = MIXED.truth * 1.01
    assert np.abs(problem.at(others).regressor - moved.regressor).max() > 0.0
    np.testing.assert_array_equal(problem.at(MIXED.truth).regressor, moved.regressor)
    # Fewer rows of the same source are another problem.
    odd = np.arange(len(problem.usable)) % 2 == 1
    fewer = replace(problem, usable=problem.usable & odd[:, None])
    np.testing.assert_array_equal(fewer.at(MIXED.truth).usable, fewer.usable)


def test_filtered_derivatives_are_those_of_the_filtered_torque():
    problem = RegressionProblem.from_dataset(MIXED.model, gappy(MIXED), parallel_filter=FILTER)
    theta = MIXED.truth
    here = problem.at(theta)
    jacobian = problem.source.jacobian(here.model, theta)
    slopes = problem.source.shape_slopes(here, theta)
    columns = [problem.parameters.index(name) for name in problem.model.shapes]
    np.testing.assert_allclose(slopes, jacobian[:, :, columns], atol=1e-8)
    for k in (0, 13, *columns, len(theta) - 4):
        step = 1e-5 * max(abs(theta[k]), 0.1) * np.eye(len(theta))[k]
        difference = (problem.predicted(theta + step) - problem.predicted(theta - step)) / (
            2.0 * step[k])
        size = np.abs(jacobian[:, :, k]).max()
        np.testing.assert_allclose(
            jacobian[:, :, k], difference, atol=2e-5 * size, err_msg=problem.parameters.names[k])


@pytest.mark.parametrize('name', ['ols', 'wls', 'lmi', 'entropic', 'log_cholesky', 'irls'])
def test_an_estimator_alone_refuses_what_is_not_linear(name):
    with pytest.raises(EstimationError, match='not linear in all parameters.*OuterIteration'):
        make_estimator(name).fit(STRIBECK.problem())


def test_a_recording_read_in_windows_is_refused_by_the_names_of_the_terms():
    with pytest.raises(EstimationError, match='whole recording in memory.*stribeck_velocity'):
        RegressionProblem.from_windows(STRIBECK.model, iter(()))


@pytest.mark.parametrize('case', [STRIBECK, LOAD, GAIN])
def test_a_problem_held_at_the_truth_is_linear_and_found_again_at_once(case):
    problem = frozen_at(case.problem(0.0), case.truth)
    assert problem.source is None
    found = make_estimator('lmi').fit(problem)
    assert found.status.ok
    assert found.residuals.relative_error < 1e-6
    assert frozen_at(problem, case.truth) is problem


@pytest.mark.parametrize('settings', [{'tolerance': 0.0}, {'max_iterations': 0}])
def test_an_iteration_that_cannot_end_is_refused(settings):
    with pytest.raises(ConfigurationError, match='cannot end'):
        OuterIteration(make_estimator('ols'), **settings)


def test_loads_that_do_not_settle_are_no_success():
    estimate = OuterIteration(make_estimator('wls'), tolerance=1e-14, max_iterations=2).fit(
        LOAD.problem(0.02))
    assert estimate.status is Status.ITERATION_LIMIT
    assert estimate.residuals.relative_error < 0.03
    assert np.isinf(estimate.base_covariance).all()
    assert any('did not settle in 2 iterations' in note for note in estimate.notes)


def test_a_failed_fit_does_not_call_free_shapes_fixed():
    problem = MIXED.problem(0.02)
    estimate = OuterIteration(make_estimator('wls'), tolerance=1e-14, max_iterations=1).fit(problem)
    assert not estimate.status.ok
    for name in problem.model.shapes:
        k = problem.parameters.index(name)
        assert estimate.knowledge[k] is Knowledge.PRIOR
        assert estimate.standard_deviation[k] == np.inf
