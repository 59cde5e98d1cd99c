"""Bounds of plausibility that held-out data ask to overstep are a reason against a model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from support import golden_problems as simulated
from sysid_ros.estimation.estimator import make_estimator
from sysid_ros.evaluation.bound_cost import bound_cost
from sysid_ros.evaluation.evaluation import HeldOut, evaluate


@pytest.fixture(scope='module')
def golden():
    return simulated.golden('arm')


def problems(golden, scale):
    """Rows to fit and to judge by, their efforts in parts of the torque."""
    return tuple(
        replace(problem, torque=scale * problem.torque) for problem in (
            golden.problem(0.02), golden.problem(0.02, seed=31)))


@pytest.mark.parametrize('name', ['entropic', 'lmi'])
def test_masses_that_efforts_of_another_scale_ask_for_are_an_objection(golden, name):
    training, held_out = problems(golden, 10.0)
    estimate = make_estimator(name).fit(training)
    assert estimate.status.ok
    cost = bound_cost(training, held_out, estimate)
    assert any('mass' in label for label in cost.labels)
    free = make_estimator('wls').fit(training).parameters.values
    error = np.linalg.norm(held_out.residuals(free)) / np.linalg.norm(held_out.torque)
    assert cost.free == pytest.approx(error, rel=0.1)
    assert cost.bounded > 1.5 * cost.free
    verdict = evaluate(
        estimate, training, HeldOut(held_out, golden.dataset(0.02, seed=31))).verdict
    (at,) = [k for k, reason in enumerate(verdict.reasons) if 'is not plausible' in reason]
    assert cost.labels[0] in verdict.reasons[at]
    assert 'fit: {plausibility: {' in verdict.next_steps[at]


@pytest.mark.parametrize('name', ['entropic', 'lmi'])
def test_bounds_that_cost_nothing_are_none(golden, name):
    training, held_out = problems(golden, 1.0)
    assert bound_cost(training, held_out, make_estimator(name).fit(training)) is None


def test_a_bound_that_held_out_data_do_not_ask_to_overstep_is_none(golden):
    """The training data alone are wrong: what they ask for predicts no better."""
    training, held_out = problems(golden, 10.0)[0], problems(golden, 1.0)[1]
    assert bound_cost(training, held_out, make_estimator('entropic').fit(training)) is None


def test_estimators_without_bounds_have_none_to_pay_for(golden):
    training, held_out = problems(golden, 10.0)
    assert bound_cost(training, held_out, make_estimator('wls').fit(training)) is None
