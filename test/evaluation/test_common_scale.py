"""Torques that are one multiple of the description's: by the rows of a fit, or by masses found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import yaml

from support import actuated_arm
from sysid_ros.estimation.estimator import make_estimator
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.evaluation.common_scale import common_scale, common_scale_of_bodies
from sysid_ros.evaluation.data_findings import DataFindings
from sysid_ros.evaluation.evaluation import evaluate
from sysid_ros.evaluation.study import Study


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


def bodies_times(arm, factor):
    """Parameters whose bodies are a multiple of the described ones, each by a factor."""
    found = arm.model.parameters
    factors = np.resize(factor, len(found.bodies))
    for body, scale in zip(found.bodies, factors, strict=True):
        names = found.names[found.body_slice(body)]
        found = found.with_values({name: scale * found[name] for name in names})
    return found


@pytest.mark.parametrize('factor', [0.2, 0.7, 1.5, 4.0])
def test_one_factor_of_all_bodies_is_found(simulated_arm, factor):
    arm = simulated_arm(0)
    motion = arm.motion(np.linspace(0.0, 10.0, 300))
    found = common_scale_of_bodies(arm.model, bodies_times(arm, factor), *motion)
    assert found.scale == pytest.approx(factor)
    assert found.beyond_descriptions is (factor in (0.2, 4.0))


@pytest.mark.parametrize('factor', [
    1.0, 0.85, 1.2, np.array([1.0, 3.0, 1.0, 1.0]), np.array([1.0, 8.0, 1.0, 1.0])])
def test_bodies_that_a_description_may_be_wrong_by_are_not(simulated_arm, factor):
    arm = simulated_arm(0)
    motion = arm.motion(np.linspace(0.0, 10.0, 300))
    assert common_scale_of_bodies(arm.model, bodies_times(arm, factor), *motion) is None


@pytest.mark.slow
@pytest.mark.parametrize('factor, told', [(1.0, ''), (1.6, 'remark'), (5.0, 'reason')])
def test_gains_that_are_wrong_by_one_factor_are_suspected(tmp_path, factor, told):
    pytest.importorskip('mujoco')
    (tmp_path / 'arm.xml').write_text(actuated_arm.DESCRIBED)
    t, command, q = actuated_arm.recording(8.0, 1.0, 0)
    np.savetxt(
        tmp_path / 'log.csv', np.column_stack([t, command, q]), delimiter=',', comments='',
        header='t,u_shoulder,u_elbow,q_shoulder,q_elbow')
    servos = {
        joint: {'kind': 'position_servo', 'kp': factor * kp, 'kd': factor * kd}
        for joint, kp, kd in zip(
            actuated_arm.JOINTS, actuated_arm.KP, actuated_arm.KD, strict=True)}
    (tmp_path / 'settings.yaml').write_text(yaml.safe_dump({
        'robot': {'description': 'arm.xml', 'actuators': servos}, 'fit': {'fixed': []},
        'recording': {
            'format': 'csv', 'file': 'log.csv', 'joints': list(actuated_arm.JOINTS),
            'time': {'column': 't'}, 'position': {'prefix': 'q_'}, 'command': {'prefix': 'u_'}}}))
    verdict = Study.load(
        FitSetup.load(tmp_path / 'settings.yaml'), holdout=0.2, estimator='shooting',
    ).fit('shooting').verdict
    said = 'Torques of all bodies came out'
    assert any(one.startswith(said) for one in verdict.remarks) is (told == 'remark')
    assert any(one.startswith(said) for one in verdict.reasons) is (told == 'reason')
