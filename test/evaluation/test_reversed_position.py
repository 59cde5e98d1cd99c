"""A joint that turns the other way than the description says is named, and no other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from support import golden_problems as golden
from sysid_ros.estimation.estimator import make_estimator
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.evaluation.data_findings import DataFindings
from sysid_ros.evaluation.data_objections import data_objections
from sysid_ros.evaluation.reversed_position import find_reversed_position

ARM = golden.golden('arm')


def problem(signs=(1.0, 1.0, 1.0), noise=0.02, seed=0, effort=False):
    """Rows of an arm whose joints' positions have signs, and its efforts where asked for."""
    data = ARM.dataset(noise, seed) if seed else ARM.dataset(noise)
    signs = np.array(signs)
    turned = replace(
        data, q=signs * data.q, v=signs * data.v, a=signs * data.a,
        tau=data.tau * (signs if effort else 1.0))
    return RegressionProblem.from_dataset(ARM.model, turned)


@pytest.mark.parametrize('effort', [False, True])
@pytest.mark.parametrize('joint', range(3))
def test_the_joint_that_turns_the_other_way_is_named(joint, effort):
    # About an axis that nothing carries only its own effort shows which way the first joint turns.
    if effort and joint == 0:
        assert find_reversed_position(
            problem(1.0 - 2.0 * np.eye(3)[joint], effort=True), 0.4) is None
        return
    rows = problem(1.0 - 2.0 * np.eye(3)[joint], effort=effort)
    names = ARM.model.robot.joint_names
    found = find_reversed_position(rows, 0.4)
    assert found.joint == names[joint] and found.left_reversed < 0.3 * found.left
    assert found.effort == effort
    assert names[joint] in found.sentence and 'position: {sign: [' in found.next_step
    assert ('effort: {sign: [' in found.next_step) == effort
    estimate = make_estimator('wls').fit(rows)
    objections = list(data_objections(estimate, DataFindings(reversed_position=found)))
    assert [one.reason for one in objections] == [found.sentence]


@pytest.mark.parametrize('noise', [0.02, 1.0, 5.0])
def test_signs_that_are_right_are_not_doubted_however_large_the_noise(noise):
    assert find_reversed_position(problem(noise=noise), 0.4) is None


def test_where_little_is_left_nothing_is_looked_for():
    assert find_reversed_position(problem((1.0, -1.0, 1.0)), 0.04) is None
