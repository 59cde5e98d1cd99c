"""A joint whose effort has another scale than the others' is named, with the scale."""

from __future__ import annotations

import runpy
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from sysid_ros.estimation.estimator import make_estimator
from sysid_ros.evaluation.evaluation import evaluate
from sysid_ros.evaluation.joint_scales import JointScale, joint_scales

simulated = SimpleNamespace(**runpy.run_path(str(Path(__file__).parents[1] / 'golden_problems.py')))


@pytest.fixture(scope='module')
def golden():
    return simulated.golden('arm')


def fitted(golden, scales, estimator='entropic', **options):
    """Rows whose efforts are scaled, and what an estimator makes of them."""
    problem = golden.problem(0.02, **options)
    problem = replace(problem, torque=problem.torque * scales)
    return problem, make_estimator(estimator).fit(problem)


def with_scale(golden, joint, scale):
    scales = np.ones(len(golden.problem(0.02).model.robot.joint_names))
    scales[joint] = scale
    return scales


@pytest.mark.parametrize('seed', range(4))
@pytest.mark.parametrize('common', [1.0, 0.3, 2.0])
def test_efforts_of_one_scale_contradict_nobody(golden, seed, common):
    assert joint_scales(*fitted(golden, common, seed=seed)) == ()


@pytest.mark.parametrize('joint', [0, 1])
@pytest.mark.parametrize('scale', [0.5, 1.5, 2.0])
@pytest.mark.parametrize('estimator', ['entropic', 'ols'])
def test_one_joints_scale_is_found(golden, joint, scale, estimator):
    problem, estimate = fitted(golden, with_scale(golden, joint, scale), estimator)
    found, = joint_scales(problem, estimate)
    assert found.joint == problem.model.robot.joint_names[joint]
    assert found.scale == pytest.approx(scale, rel=0.05)


def test_a_small_scale_is_left_to_the_makers_of_drives(golden):
    assert joint_scales(*fitted(golden, with_scale(golden, 1, 1.1))) == ()


def test_a_failed_fit_says_nothing_of_scales(golden):
    problem, estimate = fitted(golden, with_scale(golden, 1, 2.0))
    failed = replace(estimate, status=type(estimate.status).FAILED)
    assert joint_scales(problem, failed) == ()


def test_the_verdict_refuses_with_the_line_that_mends_it(golden):
    problem, estimate = fitted(golden, with_scale(golden, 1, 2.0))
    verdict = evaluate(estimate, problem).verdict
    name = problem.model.robot.joint_names[1]
    at = next(k for k, reason in enumerate(verdict.reasons) if reason.startswith(f'{name}: beside'))
    assert 'recording.effort.scale: {' + name + ': 0.5' in verdict.next_steps[at]


def test_a_joint_without_torques_is_passed_over(golden):
    problem, estimate = fitted(golden, with_scale(golden, 1, 0.0))
    assert all(isinstance(one, JointScale) and one.joint != problem.model.robot.joint_names[1]
               for one in joint_scales(problem, estimate))
