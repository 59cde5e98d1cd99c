"""Residuals that follow time or torque are found, and those of right models follow neither."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from support import golden_problems as simulated
from sysid_ros.estimation.estimator import make_estimator
from sysid_ros.evaluation.data_findings import DataFindings
from sysid_ros.evaluation.residual_patterns import (
    Pattern,
    ResidualPattern,
    drifting_joints,
    residual_patterns,
)
from sysid_ros.evaluation.verdict import judge


@pytest.fixture(scope='module')
def golden():
    return simulated.golden('arm')


def patterns(golden, spoil, **options):
    """Patterns of a fit to rows whose efforts are spoilt, by joint."""
    problem = golden.problem(0.02, **options)
    problem = replace(problem, torque=spoil(problem.torque))
    found = make_estimator('entropic').fit(problem)
    return {one.joint: one for one in residual_patterns(problem, found.parameters.values)}


def drifting(torque):
    return torque + np.linspace(-0.5, 0.5, len(torque))[:, None] * torque.std(axis=0)


def clipped(torque):
    most = 0.5 * np.abs(torque).max(axis=0)
    return np.clip(torque, -most, most)


def clipped_before_noise(torque):
    most = 0.5 * np.abs(torque).max(axis=0)
    noise = np.random.default_rng(0).normal(size=torque.shape)
    return np.clip(torque, -most, most) + 0.02 * torque.std(axis=0) * noise


def growing(torque):
    return torque * (0.5 + np.abs(torque) / np.abs(torque).max(axis=0))


@pytest.mark.parametrize('seed', range(6))
def test_a_right_model_leaves_no_pattern(golden, seed):
    assert patterns(golden, lambda torque: torque, seed=seed) == {}


@pytest.mark.parametrize(('spoil', 'pattern'), [
    (drifting, Pattern.TREND), (clipped, Pattern.SATURATION), (growing, Pattern.GROWTH),
    # FAULTS 17 and 74: a plateau with noise on it repeats no value.
    (clipped_before_noise, Pattern.SATURATION)])
def test_each_pattern_is_found_under_its_name(golden, spoil, pattern):
    found = patterns(golden, spoil)
    assert found
    assert {one.pattern for one in found.values()} == {pattern}
    assert all(0.3 < one.explained <= 1.0 for one in found.values())


def test_only_the_joint_that_drifts_is_named(golden):
    name = golden.model.robot.joint_names[1]

    def one(torque):
        return np.where(np.arange(torque.shape[1]) == 1, drifting(torque), torque)

    assert set(patterns(golden, one)) == {name}


def test_joints_that_carry_next_to_nothing_are_not_looked_at(golden):
    def weak(torque):
        spoilt = drifting(torque)
        return np.where(np.arange(torque.shape[1]) == 0, 1e-3 * spoilt, torque)

    assert golden.model.robot.joint_names[0] not in patterns(golden, weak)


@pytest.mark.parametrize('pattern', list(Pattern))
def test_a_pattern_is_a_reason_against_with_what_to_do(golden, pattern):
    estimate = make_estimator('entropic').fit(golden.problem(0.02))
    found = (ResidualPattern('elbow', pattern, 0.8),)
    verdict = judge(estimate, None, patterns=found)
    (reason,) = [text for text in verdict.reasons if text.startswith('elbow: the effort')]
    assert pattern.value in reason
    assert pattern.next_step in verdict.next_steps


def test_a_drift_too_small_to_object_to_is_why_rows_tell_little(golden):
    problem = golden.problem(1e-4)
    small = np.linspace(-0.02, 0.02, len(problem.torque))[:, None] * problem.torque.std(axis=0)
    found = make_estimator('entropic').fit(replace(problem, torque=problem.torque + small))
    spoilt = replace(problem, torque=problem.torque + small)
    assert residual_patterns(spoilt, found.parameters.values) == ()
    drifting = drifting_joints(spoilt, found.parameters.values)
    assert drifting
    few = replace(found, residuals=replace(
        found.residuals, effective_rows=np.ones_like(found.residuals.effective_rows)))
    verdict = judge(few, None, data=DataFindings(drifting=drifting))
    told = next(
        (reason, step) for reason, step in zip(verdict.reasons, verdict.next_steps, strict=True)
        if 'too few for' in reason)
    assert f'{", ".join(drifting)} drift along the recording' in told[0]
    assert told[1] == Pattern.TREND.next_step
    clean = make_estimator('entropic').fit(golden.problem(0.02))
    assert drifting_joints(golden.problem(0.02), clean.parameters.values) == ()
