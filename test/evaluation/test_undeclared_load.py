"""A load that only one of two recordings has is named, and nothing else is taken for one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sysid_ros.estimation.estimator import make_estimator
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.evaluation.evaluation import HeldOut, evaluate
from sysid_ros.evaluation.undeclared_load import load_in_one, undeclared_load
from sysid_ros.mechanics.regressor.regressor import inertial_regressor
from sysid_ros.recording.dataset import Dataset

LOAD = np.array([0.6, 0.02, -0.01, 0.05, 0.01, 0.0, 0.01, 0.0, 0.0, 0.004])


def loaded(arm, data):
    """The same motion with a load on the last link."""
    regressor = inertial_regressor(arm.model.robot, data.q, data.v, data.a)
    return replace(data, tau=data.tau + regressor[:, :, -10:] @ LOAD)


def recordings(arm):
    """Data to fit, and another motion to judge by."""
    whole = arm.dataset(24.0, 100.0, noise=0.02)
    return whole.subset(0.0, 2.0 / 3.0), whole.subset(2.0 / 3.0, 1.0)


def judged(arm, fitted, other):
    problem, held_out = (
        RegressionProblem.from_dataset(arm.model, data) for data in (fitted, other))
    estimate = make_estimator('entropic').fit(problem)
    return evaluate(estimate, problem, HeldOut(held_out, other))


@pytest.mark.parametrize('in_judged', [True, False])
def test_a_load_in_one_recording_is_named_with_its_mass_and_where_it_is(simulated_arm, in_judged):
    for seed in range(3):
        arm = simulated_arm(seed)
        first, second = recordings(arm)
        if in_judged:
            second = loaded(arm, second)
        else:
            first = loaded(arm, first)
        verdict = judged(arm, first, second).verdict
        assert not verdict.committable
        where = 'to judge by' if in_judged else 'that was fitted'
        (said,) = (reason for reason in verdict.reasons if 'robot carried' in reason)
        assert said.startswith(f'The recording {where} looks as if the robot carried 0.')
        assert f' kg at {arm.model.robot.body_names[-1]}' in said
        assert any('sysid payload' in step for step in verdict.next_steps)


@pytest.mark.parametrize('spoil', [
    lambda data: data,
    lambda data: replace(data, tau=1.3 * data.tau),
    lambda data: replace(data, tau=data.tau + 0.3 * np.abs(data.tau).max(axis=0)),
    lambda data: replace(data, tau=data.tau + np.tanh(20.0 * data.v)),
], ids=['same', 'scale', 'bias', 'friction'])
def test_nothing_else_is_taken_for_a_load(simulated_arm, spoil):
    for seed in range(3):
        arm = simulated_arm(seed)
        first, second = recordings(arm)
        reasons = judged(arm, first, spoil(second)).verdict.reasons
        assert not any('robot carried' in reason for reason in reasons)


def test_the_load_is_found_to_its_mass(simulated_arm):
    arm = simulated_arm(1)
    first, second = recordings(arm)
    problem, other = (
        RegressionProblem.from_dataset(arm.model, data) for data in (first, loaded(arm, second)))
    estimate = make_estimator('entropic').fit(problem)
    found = undeclared_load(
        problem, other, estimate.parameters.values, estimate.residuals.relative_error)
    assert found.recording == 'to judge by'
    assert found.mass == pytest.approx(LOAD[0], rel=0.2)
    assert found.error_with < 0.2 * found.error_without


def fitted_together(arm, parts):
    """Verdict of a fit to several recordings, judged by another motion."""
    edges = np.cumsum([0, *map(len, parts)]).tolist()
    problem = replace(
        RegressionProblem.from_dataset(arm.model, Dataset.joined(parts)),
        recordings=tuple(zip(edges[:-1], edges[1:], strict=True)))
    return evaluate(make_estimator('entropic').fit(problem), problem).verdict


@pytest.mark.parametrize('which', [0, 2])
def test_a_load_in_one_of_several_fitted_recordings_is_named_with_its_number(
    simulated_arm, which
):
    for seed in range(3):
        arm = simulated_arm(seed)
        whole = arm.dataset(36.0, 100.0, noise=0.02)
        parts = [whole.subset(k / 3.0, (k + 1) / 3.0) for k in range(3)]
        parts[which] = loaded(arm, parts[which])
        (said,) = (one for one in fitted_together(arm, parts).reasons if 'robot carried' in one)
        assert said.startswith(
            f'The recording {which + 1} of 3 that were fitted looks as if the robot carried 0.')
        mass = float(said.partition('carried ')[2].partition(' kg')[0])
        assert mass == pytest.approx(LOAD[0], rel=0.2)


@pytest.mark.parametrize('spoil', [
    lambda data: data,
    lambda data: replace(data, tau=1.3 * data.tau),
    lambda data: replace(data, tau=data.tau + 0.3 * np.abs(data.tau).max(axis=0)),
    lambda data: replace(data, tau=data.tau + np.tanh(20.0 * data.v)),
], ids=['same', 'scale', 'bias', 'friction'])
@pytest.mark.parametrize('count', [2, 3])
def test_what_else_differs_between_fitted_recordings_is_no_load(simulated_arm, spoil, count):
    for seed in range(3):
        arm = simulated_arm(seed)
        whole = arm.dataset(12.0 * count, 100.0, noise=0.02)
        parts = [whole.subset(k / count, (k + 1) / count) for k in range(count)]
        parts[0] = spoil(parts[0])
        reasons = fitted_together(arm, parts).reasons
        assert not any('robot carried' in reason for reason in reasons)


def test_a_recording_in_which_nothing_drove_the_robot_tells_no_load(simulated_arm):
    arm = simulated_arm(0)
    whole = arm.dataset(24.0, 100.0, noise=0.02)
    driven, free = whole.subset(0.0, 0.5), whole.subset(0.5, 1.0)
    problem = replace(
        RegressionProblem.from_dataset(arm.model, Dataset.joined(
            [driven, replace(free, tau=np.zeros_like(free.tau))])),
        recordings=((0, len(driven)), (len(driven), len(whole))))
    values = make_estimator('entropic').fit(problem).parameters.values
    assert load_in_one(problem, values) is None
