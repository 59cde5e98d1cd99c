"""FAULTS 54, in every respect: what is worse than the prior is never committed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from support import golden_problems as simulated
from sysid_ros.estimation.estimator import REGRESSION_ESTIMATORS, make_estimator
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.evaluation.cross_validation import cross_validate
from sysid_ros.evaluation.evaluation import HeldOut, evaluate
from sysid_ros.evaluation.verdict import judge


@pytest.fixture(scope='module')
def golden():
    return simulated.golden('arm')


@pytest.fixture(scope='module')
def held_out(golden):
    return HeldOut(golden.problem(0.01, seed=31), golden.dataset(0.01, seed=31))


def spoilt(golden, factors):
    """Rows whose torques were recorded wrong by a factor per joint."""
    data = golden.dataset(0.01)
    return RegressionProblem.from_dataset(
        golden.model, replace(data, tau=data.tau * np.array(factors)))


@pytest.mark.parametrize('name', tuple(REGRESSION_ESTIMATORS))
def test_54_torques_predicted_worse_than_by_the_prior_are_not_committable(
    golden, held_out, name
):
    problem = spoilt(golden, (-1.0, -1.0, -1.0))
    verdict = evaluate(make_estimator(name).fit(problem), problem, held_out).verdict
    assert not verdict.committable
    assert any('no better than the prior' in reason for reason in verdict.reasons)


def test_54_one_joint_worse_than_by_the_prior_is_not_committable_and_named(golden, held_out):
    # All in all it is better than the prior, but not at the wrist.
    truth = golden.truth
    parameters = golden.model.parameters
    near = parameters.prior + 0.9 * (truth - parameters.prior)
    wrist = [k for k, name in enumerate(parameters.names) if name.startswith('wrist.')]
    near[wrist] += 3.0
    estimate = make_estimator('entropic').fit(golden.problem(0.01))
    wrong = replace(estimate, parameters=parameters.with_values(near))
    verdict = evaluate(wrong, golden.problem(0.01), held_out).verdict
    assert not verdict.committable
    (reason,) = [r for r in verdict.reasons if r.startswith('Clearly worse than the prior')]
    assert 'wrist' in reason
    assert 'waist' not in reason


def test_54_motion_simulated_worse_than_by_the_prior_is_not_committable(golden, held_out):
    # Offsets push the joints away.
    estimate = make_estimator('entropic').fit(golden.problem(0.01))
    pushed = replace(estimate, parameters=estimate.parameters.with_values({
        f'{joint}.torque_offset': 60.0 for joint in golden.model.robot.joint_names
    }))
    good, bad = (evaluate(one, golden.problem(0.01), held_out) for one in (estimate, pushed))
    assert not bad.verdict.committable

    def judged(prior):
        return judge(pushed, None, simulation=replace(bad.simulation, prior=prior)).reasons

    told = 'times as far from the measured motion as the prior'
    assert good.simulation.relative(good.simulation.candidate) < 1.0
    assert any(told in each for each in judged(good.simulation.candidate))
    # Of two models that lose to a constant velocity the simulation says nothing.
    assert bad.simulation.relative(bad.simulation.prior) > 1.0
    assert not any(told in each for each in judged(bad.simulation.prior))


def test_54_folds_predicted_worse_than_by_the_prior_are_not_committable(golden):
    # In one half of the recording the efforts have the wrong sign.
    data = golden.dataset(0.01)
    tau = data.tau.copy()
    tau[300:] *= -1.0
    problem = RegressionProblem.from_dataset(golden.model, replace(data, tau=tau))
    estimator = make_estimator('ols')
    estimate = estimator.fit(problem)
    folds = cross_validate(estimator, problem, estimate, count=2)
    verdict = evaluate(estimate, problem, folds=folds).verdict
    assert not verdict.committable
    assert any('left out are predicted no better' in reason for reason in verdict.reasons)


def test_54_an_estimate_that_cannot_move_is_not_committable_and_does_not_end_the_program(
    golden, held_out
):
    estimate = make_estimator('ols').fit(golden.problem(0.01))
    weightless = replace(estimate, parameters=estimate.parameters.with_values(
        np.zeros(len(estimate.parameters))))
    verdict = evaluate(weightless, golden.problem(0.01), held_out).verdict
    assert not verdict.committable
    assert any('mass matrix is not positive definite' in reason for reason in verdict.reasons)
