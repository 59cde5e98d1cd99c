"""FAULTS 49 and 51 to 56, the part of the fit: no value is presented as more than it is."""

from __future__ import annotations

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest

from support import golden_problems as simulated
from sysid_ros.errors import EstimationError, RecordingError
from sysid_ros.estimation.estimate import Knowledge, Status
from sysid_ros.estimation.estimator import REGRESSION_ESTIMATORS, make_estimator
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.regression.conditioning import Conditioning
from sysid_ros.estimation.regression.consistent.interior_point import program
from sysid_ros.estimation.regression.consistent.lmi import SemidefiniteLeastSquares
from sysid_ros.estimation.regression.consistent.log_det import EntropicLeastSquares
from sysid_ros.evaluation.prediction import predict
from sysid_ros.evaluation.verdict import judge
from sysid_ros.recording.processing.signals import ParallelFilter

every_estimator = pytest.mark.parametrize('name', tuple(REGRESSION_ESTIMATORS))


@pytest.fixture(scope='module')
def golden():
    return simulated.golden('arm')


@every_estimator
def test_49_too_little_data_is_refused_and_how_much_is_needed_is_said(golden, name):
    needed = 2 * len(golden.model.parameters)
    problem = golden.problem(0.01, samples=needed // 3 - 1)
    with pytest.raises(EstimationError) as refusal:
        make_estimator(name).fit(problem)
    assert refusal.value.found == f'{problem.usable.sum()} usable rows'
    assert refusal.value.allowed.startswith(f'at least {needed},')
    assert 'Record longer' in refusal.value.fix


@every_estimator
def test_49_rows_that_do_not_count_are_not_data(golden, name):
    problem = golden.problem(0.01)
    nothing = replace(problem, usable=np.zeros_like(problem.usable))
    with pytest.raises(EstimationError, match='too little data.*found 0 usable rows'):
        make_estimator(name).fit(nothing)


@pytest.mark.parametrize('samples', [3, 30])
def test_49_a_recording_shorter_than_its_filter_is_refused(golden, samples):
    with pytest.raises(RecordingError, match='allowed more than'):
        RegressionProblem.from_dataset(
            golden.model, golden.dataset(samples=samples),
            parallel_filter=ParallelFilter(cutoff=1.0))


@every_estimator
def test_51_combinations_without_data_are_named_and_their_uncertainty_is_infinite(golden, name):
    problem = golden.problem(0.01, still=(2,))
    estimate = make_estimator(name).fit(problem)
    assert 'wrist.viscous_friction' in estimate.unidentified
    infinite = np.isinf(estimate.base_standard_deviation())
    assert tuple(np.array(estimate.base_names)[infinite]) == estimate.unidentified
    for entry, deviation in zip(estimate.knowledge, estimate.standard_deviation, strict=True):
        if entry in (Knowledge.PRIOR, Knowledge.COUPLED, Knowledge.COMBINATION):
            assert np.isinf(deviation)


def test_51_minimum_norm_values_are_never_shown_as_identified(golden):
    # No torque feels the mass of the body that turns about the vertical.
    problem = golden.problem(0.01)
    k = problem.parameters.index('shoulder.mass')
    rows = problem.regressor.reshape(-1, len(problem.parameters))
    assert np.linalg.lstsq(rows, problem.torque.ravel(), rcond=1e-9)[0][k] == pytest.approx(0.0)
    estimate = make_estimator('ols').fit(problem)
    assert estimate.knowledge[k] is not Knowledge.DATA
    assert np.isinf(estimate.standard_deviation[k])
    assert estimate.parameters.values[k] == pytest.approx(problem.parameters.prior[k], rel=0.5)


def test_51_an_unexcited_robot_is_not_committable(golden):
    problem = golden.problem(still=(0, 1, 2))
    nothing = simulated.with_torque(problem, np.zeros_like(problem.torque))
    nothing = replace(nothing, regressor=np.zeros_like(nothing.regressor))
    estimate = make_estimator('ols').fit(nothing)
    assert set(estimate.knowledge) == {Knowledge.PRIOR}
    assert len(estimate.unidentified) == problem.base.rank
    np.testing.assert_array_equal(estimate.parameters.values, problem.parameters.prior)
    assert 'This data determines none of the parameters.' in judge(estimate, None).reasons


def _in_a_small_arc(golden, part):
    """Rows of the golden motion, shrunk around where it begins."""
    data = golden.dataset()
    q = data.q[0] + part * (data.q - data.q[0])
    problem = RegressionProblem.from_dataset(
        golden.model, replace(data, q=q, v=part * data.v, a=part * data.a))
    noise = 0.01 * np.random.default_rng(0).normal(size=problem.torque.shape)
    return simulated.with_torque(problem, problem.regressor @ golden.truth + noise)


@pytest.mark.parametrize('name', ['ols', 'wls', 'irls'])
def test_52_ill_conditioned_data_is_refused_past_a_threshold(golden, name):
    with pytest.raises(EstimationError, match='hardly tells apart') as refusal:
        make_estimator(name).fit(_in_a_small_arc(golden, 0.01))
    number = float(refusal.value.found.removeprefix('condition number '))
    assert number > 1e4
    assert refusal.value.allowed == 'at most 1e+04'
    assert refusal.value.where == 'simulated'
    assert 'Move the joints farther' in refusal.value.fix
    named = str(refusal.value).split('apart ')[1].split('; ')[0].split(': ')[0]
    assert any(parameter in named for parameter in golden.model.parameters.names)


@every_estimator
def test_52_ill_conditioned_data_is_warned_of(golden, name):
    problem = _in_a_small_arc(golden, 0.12)
    estimate = make_estimator(name).fit(problem)
    assert sum('ill-conditioned' in note for note in estimate.notes) == 1
    well = make_estimator(name).fit(golden.problem(0.01))
    assert not any('ill-conditioned' in note for note in well.notes)


def test_52_terms_of_one_joint_that_look_alike_are_said_and_are_no_reason_against(golden):
    problem = golden.problem(0.01)
    joint = golden.model.robot.joint_names[0]
    viscous, coulomb = (
        problem.parameters.names.index(f'{joint}.{field}')
        for field in ('viscous_friction', 'coulomb_friction'))
    regressor = problem.regressor.copy()
    # A joint at nearly one speed: its dry friction looks like its viscous one.
    regressor[:, :, coulomb] = regressor[:, :, viscous] + 1e-2 * regressor[:, :, coulomb]
    alike = simulated.with_torque(
        replace(problem, regressor=regressor), regressor @ golden.truth)
    (note,) = Conditioning.of(alike).notes()
    assert note.startswith(f'{joint}: the motion tells the sum of')
    assert 'ill-conditioned' not in note


@pytest.mark.parametrize('name', ['lmi', 'entropic', 'log_cholesky'])
def test_52_with_a_prior_ill_conditioned_data_is_fitted_and_its_intervals_are_disowned(
    golden, name
):
    estimate = make_estimator(name).fit(_in_a_small_arc(golden, 0.01))
    assert any('not to be trusted' in note for note in estimate.notes)


def test_52_the_condition_number_is_that_of_joints_and_columns_of_one_size(golden):
    problem = golden.problem()
    size = np.linalg.norm(problem.regressor @ problem.scale, axis=(0, 2))
    rows = problem.regressor[:, :, problem.base.independent] / size[:, None]
    rows = rows.reshape(-1, problem.base.rank)
    expected = np.linalg.cond(rows / np.linalg.norm(rows, axis=0))
    assert Conditioning.of(problem).number == pytest.approx(expected, rel=1e-8)


def test_52_a_joint_without_noise_does_not_make_the_motion_ill_conditioned(golden):
    problem = golden.problem()
    noise = 0.01 * np.random.default_rng(0).normal(size=problem.torque.shape) * [0.0, 1.0, 1.0]
    noisy = simulated.with_torque(problem, problem.torque + noise)
    assert Conditioning.of(noisy).number < 1e3
    assert make_estimator('wls').fit(noisy).status is Status.CONVERGED


def _outcomes():
    def heavy(theta, parameters):
        return [theta[parameters.index('hand.mass')] >= 20.0]

    return [
        (SemidefiniteLeastSquares(constraints=heavy), Status.INFEASIBLE),
        (SemidefiniteLeastSquares(max_iterations=2), Status.ITERATION_LIMIT),
        (EntropicLeastSquares(max_iterations=2), Status.ITERATION_LIMIT),
        (make_estimator('wls', max_iterations=1), Status.ITERATION_LIMIT),
    ]


@pytest.mark.parametrize(('estimator', 'status'), _outcomes(), ids=lambda x: getattr(x, 'name', ''))
def test_53_a_fit_that_did_not_succeed_says_so_and_claims_no_knowledge_of_its_best_point(
    golden, estimator, status
):
    problem = golden.problem(0.5, seed=1, samples=150)
    estimate = estimator.fit(problem)
    assert estimate.status is status
    assert not estimate.status.ok
    # The best point, which is the prior where there is no other.
    at_prior = np.array_equal(estimate.parameters.values, problem.parameters.prior)
    assert at_prior == (status is Status.INFEASIBLE)
    prior = np.linalg.norm(problem.residuals(problem.parameters.prior))
    assert np.linalg.norm(problem.residuals(estimate.parameters.values)) <= prior
    assert np.isinf(estimate.standard_deviation[problem.free]).all()
    assert np.isinf(estimate.base_covariance).all()
    assert not judge(estimate, None).committable


@pytest.mark.parametrize('name', ['lmi', 'entropic'])
def test_53_almost_solved_is_not_solved(golden, monkeypatch, name):
    # Whichever solver has the word.
    monkeypatch.setattr(program, 'iterate', lambda *_: (Status.INACCURATE, 7))
    monkeypatch.setattr(cp.Problem, 'status', property(lambda _: cp.OPTIMAL_INACCURATE))
    estimate = make_estimator(name).fit(golden.problem(0.5, seed=1, samples=150))
    assert estimate.status is Status.INACCURATE
    assert estimate.consistent
    assert not judge(estimate, None).committable


def test_54_worse_than_the_prior_on_held_out_data_is_not_committable(golden):
    # The torque of one joint was recorded with the wrong sign.
    data = golden.dataset(0.01)
    wrong = replace(data, tau=data.tau * np.array([1.0, -1.0, 1.0]))
    estimate = make_estimator('entropic').fit(
        RegressionProblem.from_dataset(golden.model, wrong))
    verdict = judge(estimate, predict(estimate, golden.problem(0.01, seed=31)))
    assert not verdict.committable
    assert any('no better than the prior' in reason for reason in verdict.reasons)


@pytest.mark.parametrize('spoil', [
    lambda torque: torque * np.array([1.0, -1.0, 1.0]), lambda torque: torque[::-1],
    lambda torque: torque * np.array([1.0, 0.0, 1.0])], ids=['sign', 'another clock', 'dead'])
def test_54_held_out_data_that_is_corrupted_grants_no_good_estimate(golden, spoil):
    estimate = make_estimator('entropic').fit(golden.problem(0.01))
    held_out = golden.problem(0.01, seed=31)
    assert judge(estimate, predict(estimate, held_out)).committable
    verdict = judge(estimate, predict(
        estimate, simulated.with_torque(held_out, spoil(held_out.torque))))
    assert not verdict.committable
    assert any('elbow' in reason or 'better than' in reason for reason in verdict.reasons)


@pytest.mark.parametrize('value', [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize('field', ['q', 'v', 'a', 'tau'])
def test_55_a_value_that_is_not_finite_is_found_before_the_numerics(golden, field, value):
    data = golden.dataset()
    values = getattr(data, field).copy()
    values[17, 1] = value
    with pytest.raises(RecordingError, match=r"of joint 'elbow' is not finite.*at 0\.170000 s"):
        replace(data, **{field: values})


@pytest.mark.parametrize('value', [np.nan, np.inf])
@pytest.mark.parametrize('field', ['regressor', 'torque'])
def test_55_rows_that_are_not_finite_are_refused_too(golden, field, value):
    problem = golden.problem()
    rows = getattr(problem, field).copy()
    rows[3, 1] = value
    with pytest.raises(EstimationError, match='simulated: the rows hold a value that is not fin'):
        replace(problem, **{field: rows})


@pytest.mark.parametrize('name', ['ols', 'wls'])
def test_56_a_physically_inconsistent_estimate_is_not_committable(golden, name):
    estimate = make_estimator(name).fit(golden.problem(0.5, seed=1, samples=150))
    assert not estimate.consistent
    verdict = judge(estimate, predict(estimate, golden.problem(0.5, seed=31)))
    assert not verdict.committable
    assert any('No real mass distribution' in reason for reason in verdict.reasons)
