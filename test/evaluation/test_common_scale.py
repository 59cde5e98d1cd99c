"""Efforts that are one multiple of the description's torques are told by the rows of a fit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sysid_ros.estimation.estimator import make_estimator
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.evaluation.common_scale import common_scale
from sysid_ros.evaluation.data_findings import DataFindings
from sysid_ros.evaluation.evaluation import evaluate


def rows(arm, factor):
    data = arm.dataset(20.0, 100.0, noise=0.02)
    return RegressionProblem.from_dataset(arm.model, replace(data, tau=factor * data.tau))


@pytest.mark.parametrize('factor', [0.1, 9.0])
def test_one_factor_of_all_efforts_is_found(simulated_arm, factor):
    for seed in range(3):
        found = common_scale(rows(simulated_arm(seed, friction=0.05), factor))
        assert found is not None
        assert found.least <= found.scale <= found.most
        assert 0.6 < found.scale / factor < 1.6


@pytest.mark.parametrize('factor', [
    1.0, 0.7, 1.4, -0.1, np.array([0.1, 1.0, 1.0]), np.array([0.1, 0.1, 0.3])])
def test_nothing_else_is_taken_for_it(simulated_arm, factor):
    for seed in range(3):
        arm = simulated_arm(seed, friction=0.05)
        joints = len(arm.model.robot.joint_names)
        each = np.resize(factor, joints) if np.ndim(factor) else factor
        assert common_scale(rows(arm, each)) is None


def test_it_is_refused_unless_the_description_is_not_trusted_or_it_was_said(simulated_arm):
    problem = rows(simulated_arm(0, friction=0.05), 0.1)
    estimate = make_estimator('entropic').fit(problem)

    def said(data):
        verdict = evaluate(estimate, problem, data=data).verdict
        return [one for one in verdict.reasons if 'much the same at joints that tell it' in one]

    (sentence,) = said(DataFindings())
    assert sentence.startswith('The effort looks like 0.')
    assert not said(DataFindings(trusts_description=False))
