"""Joint terms of joints that hardly move are bounded by the torque of slow motion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sysid_ros.errors import ReleaseError
from sysid_ros.estimation.estimator import make_estimator
from sysid_ros.estimation.plausible_terms import with_plausible_terms
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.evaluation.evaluation import evaluate
from sysid_ros.release.description_export import write_description

TERMS = ('armature', 'viscous_friction', 'coulomb_friction')


def problem_of(arm, dataset):
    return RegressionProblem.from_dataset(arm.model, dataset)


def at_rest(arm, seed=0):
    """The arm stands still; encoders flicker and torques have noise."""
    data, rng = arm.dataset(), np.random.default_rng(seed)
    flicker = 1e-5 * rng.normal(size=(3, *data.q.shape))
    return replace(
        data, q=data.q[:1] + flicker[0], v=10.0 * flicker[1], a=100.0 * flicker[2],
        tau=data.tau[:1] + 0.05 * rng.normal(size=data.tau.shape))


def joint_terms(parameters):
    return [k for k, name in enumerate(parameters.names)
            if name.rpartition('.')[0] not in parameters.bodies]


def with_effort_limits(problem, limit):
    """The problem of a robot whose description limits all efforts alike."""
    robot = problem.model.robot
    limits = replace(robot.limits, effort=np.full(len(robot.joint_names), limit))
    return replace(problem, model=replace(problem.model, robot=replace(robot, limits=limits)))


def test_a_motion_bounds_its_terms_by_itself(simulated_arm):
    for seed in range(6):
        arm = simulated_arm(seed)
        problem = with_effort_limits(problem_of(arm, arm.dataset()), np.nan)
        assert with_plausible_terms(problem, 5.0) is problem


def test_dry_friction_and_constant_torques_stay_within_the_effort_limit(simulated_arm):
    arm = simulated_arm(3)
    problem = problem_of(arm, arm.dataset())
    largest = np.abs(problem.torque).max()
    found = with_plausible_terms(with_effort_limits(problem, 2.0 * largest), 5.0).parameters
    before, names = problem.parameters, problem.parameters.names
    for k in joint_terms(found):
        if names[k].endswith(('coulomb_friction', 'torque_offset')):
            assert found.upper[k] == 2.0 * largest, names[k]
            assert found.lower[k] == max(before.lower[k], -2.0 * largest), names[k]
        else:
            assert (found.upper[k], found.lower[k]) == (before.upper[k], before.lower[k]), names[k]
    assert any(name.endswith('coulomb_friction') for name in names)


@pytest.mark.parametrize('limit', [0.0, 0.5])
def test_a_limit_that_efforts_exceed_is_none(simulated_arm, limit):
    arm = simulated_arm(3)
    problem = problem_of(arm, arm.dataset())
    least = np.abs(problem.torque).max(axis=0).min()
    limited = with_effort_limits(problem, limit * least)
    assert with_plausible_terms(limited, 5.0) is limited


@pytest.mark.parametrize('factor', [5.0, 2.0])
def test_a_still_robot_has_no_friction_beyond_the_torque_of_slow_motion(simulated_arm, factor):
    for seed in range(4):
        arm = simulated_arm(seed)
        data = at_rest(arm, seed)
        problem = problem_of(arm, data)
        free = with_plausible_terms(problem, factor)
        torque = np.sqrt(np.mean(data.tau**2, axis=0))
        fitted = make_estimator('entropic').fit(free)
        assert fitted.status.ok
        parameters = fitted.parameters
        bounded = 0
        for k in joint_terms(parameters):
            joint = arm.joint_names.index(parameters.names[k].rpartition('.')[0])
            slow = {'N·m·s/rad': 0.1, 'kg·m²': 1.0, 'N·m': 0.5}[parameters.units[k]]
            most = factor * max(torque[joint] / slow, abs(parameters.prior[k]))
            limit = arm.model.robot.limits.effort[joint]
            if np.isfinite(parameters.upper[k]) and parameters.upper[k] != limit:
                bounded += 1
                assert parameters.upper[k] == pytest.approx(most)
                assert parameters.values[k] <= most * (1.0 + 1e-6)
        assert bounded >= len(arm.joint_names)


def test_bodies_and_smaller_bounds_are_left_as_they_are(simulated_arm):
    arm = simulated_arm(1)
    problem = problem_of(arm, at_rest(arm))
    names, upper = problem.parameters.names, problem.parameters.upper.copy()
    k = next(k for k in joint_terms(problem.parameters) if names[k].endswith('viscous_friction'))
    upper[k] = problem.parameters.prior[k] + 1e-3
    found = with_plausible_terms(
        replace(problem, parameters=replace(problem.parameters, upper=upper)), 5.0).parameters
    assert found.upper[k] == upper[k]
    bodies = slice(0, 10 * len(found.bodies))
    np.testing.assert_array_equal(found.upper[bodies], problem.parameters.upper[bodies])


def test_what_knows_no_bounds_is_neither_committable_nor_exported(simulated_arm, tmp_path):
    arm = simulated_arm(2)
    free = with_plausible_terms(problem_of(arm, at_rest(arm)), 5.0)
    parameters = free.parameters
    k = next(k for k in joint_terms(parameters) if np.isfinite(parameters.upper[k])
             and parameters.names[k].endswith('viscous_friction'))
    estimate = make_estimator('entropic').fit(free)
    beyond = replace(estimate, parameters=parameters.with_values(
        {parameters.names[k]: 2.0 * parameters.upper[k]}))
    verdict = evaluate(beyond, free).verdict
    assert any(parameters.names[k] in reason for reason in verdict.reasons)
    with pytest.raises(ReleaseError, match='larger than plausible'):
        write_description(tmp_path / 'arm.urdf', arm.model.robot, beyond.parameters)
