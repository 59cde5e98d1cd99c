"""Joint terms are bounded by what drives their joints, at rest by the torque of slow motion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sysid_ros.errors import ReleaseError
from sysid_ros.estimation.estimator import make_estimator
from sysid_ros.estimation.plausible_terms import with_plausible_terms
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.evaluation.evaluation import evaluate
from sysid_ros.mechanics.joint_terms.terms import Armature, Stiffness
from sysid_ros.mechanics.torque_model import TorqueModel
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


def sizes_of(problem):
    """Root mean squares of each joint's torque, or its bodies' by the prior where larger."""
    bodies = slice(10 * len(problem.parameters.bodies))
    rigid = problem.regressor[:, :, bodies] @ problem.parameters.prior[bodies]
    return np.sqrt(np.maximum(np.mean(problem.torque**2, axis=0), np.mean(rigid**2, axis=0)))


def motions_of(arm, data, parameters):
    """Root mean square of what each viscous friction and drive inertia acts on, by name."""
    by_unit = {'N·m·s/rad': data.v, 'kg·m²': data.a}
    return {
        name: float(np.sqrt(np.mean(by_unit[unit][:, joint] ** 2))) for k in joint_terms(parameters)
        for name, unit in [(parameters.names[k], parameters.units[k])] if unit in by_unit
        for joint in [arm.joint_names.index(name.rpartition('.')[0])]}


def with_armature(arm):
    """The arm, its drive inertias sought, too."""
    model = TorqueModel(arm.model.robot, (*arm.model.terms, Armature()))
    object.__setattr__(arm, 'model', model)
    return arm


def test_a_term_takes_no_more_than_some_times_the_torque_of_the_motion(simulated_arm):
    for seed in range(3):
        arm = with_armature(simulated_arm(seed))
        data = arm.dataset()
        problem = with_effort_limits(problem_of(arm, data), np.nan)
        found, sizes = with_plausible_terms(problem, 5.0).parameters, sizes_of(problem)
        motions = motions_of(arm, data, found)
        assert len(motions) == 2 * len(arm.joint_names)
        for name, moved in motions.items():
            k, joint = found.index(name), arm.joint_names.index(name.rpartition('.')[0])
            slow = {'N·m·s/rad': 0.1, 'kg·m²': 1.0}[found.units[k]]
            expected = 5.0 * max(sizes[joint] / max(moved, slow), found.prior[k])
            assert found.upper[k] == pytest.approx(expected, rel=1e-6), name


def test_bounds_of_a_motion_that_tells_its_terms_change_no_value(simulated_arm):
    arm = simulated_arm(3)
    problem = with_effort_limits(problem_of(arm, arm.dataset()), np.nan)
    free, bounded = (make_estimator('entropic').fit(one)
                     for one in (problem, with_plausible_terms(problem, 5.0)))
    assert free.status.ok and bounded.status.ok
    change = np.abs(bounded.parameters.values - free.parameters.values)
    terms = joint_terms(free.parameters)
    assert (change[terms] < 0.05 * free.standard_deviation[terms]).all()


def test_a_fit_keeps_the_bound_of_a_joint_that_moves(simulated_arm):
    arm = simulated_arm(3)
    problem = with_effort_limits(problem_of(arm, arm.dataset()), np.nan)
    k = next(k for k in joint_terms(problem.parameters)
             if problem.parameters.names[k].endswith('viscous_friction') and arm.truth[k] > 0.1)
    tight = with_plausible_terms(problem, 0.02)
    assert tight.parameters.upper[k] < 0.5 * arm.truth[k]
    for name in ('lmi', 'entropic'):
        estimate = make_estimator(name).fit(tight)
        assert estimate.status.ok
        assert estimate.parameters.values[k] <= tight.parameters.upper[k] * (1.0 + 1e-6)


def test_frictions_and_drive_inertias_stay_within_the_effort_limit(simulated_arm):
    arm = with_armature(simulated_arm(3))
    data = arm.dataset()
    problem = problem_of(arm, data)
    limit = 2.0 * np.abs(problem.torque).max()
    found = with_plausible_terms(with_effort_limits(problem, limit), 1e6).parameters
    motions = motions_of(arm, data, found)
    for k in joint_terms(found):
        name = found.names[k]
        if name.endswith(('coulomb_friction', 'torque_offset')):
            assert found.upper[k] == limit, name
            assert found.lower[k] == max(problem.parameters.lower[k], -limit), name
        else:
            slow = {'N·m·s/rad': 0.1, 'kg·m²': 1.0}[found.units[k]]
            assert found.upper[k] == pytest.approx(limit / max(motions[name], slow)), name
            assert found.lower[k] == problem.parameters.lower[k], name
    without = with_plausible_terms(with_effort_limits(problem, limit), 1e6, False).parameters
    assert (without.upper[joint_terms(without)] > found.upper[joint_terms(found)]).all()


def test_a_spring_may_carry_what_leaves_little_effort(simulated_arm):
    """Counterweights: the effort is small, and the torque of the spring is not."""
    arm = simulated_arm(3)
    model = TorqueModel(arm.model.robot, (*arm.model.terms, Stiffness()))
    object.__setattr__(arm, 'model', model)
    data = arm.dataset()
    balanced = problem_of(arm, replace(data, tau=0.01 * data.tau))
    found = with_plausible_terms(balanced, 5.0).parameters
    sizes = sizes_of(problem_of(arm, data))
    for joint, name in enumerate(arm.joint_names):
        k = found.index(f'{name}.stiffness')
        held = found.upper[k] * np.sqrt(np.mean(balanced.regressor[:, joint, k] ** 2))
        assert held > sizes[joint]


@pytest.mark.parametrize('limit', [0.0, 0.5])
def test_a_limit_that_efforts_exceed_is_none(simulated_arm, limit):
    arm = simulated_arm(3)
    problem = problem_of(arm, arm.dataset())
    least = np.abs(problem.torque).max(axis=0).min()
    limited = with_effort_limits(problem, limit * least)
    found = with_plausible_terms(limited, 5.0).parameters
    free = with_plausible_terms(limited, 5.0, effort_limits=False).parameters
    np.testing.assert_array_equal(found.upper, free.upper)
    np.testing.assert_array_equal(found.lower, free.lower)


@pytest.mark.parametrize('factor', [5.0, 2.0])
def test_a_still_robot_has_no_friction_beyond_the_torque_of_slow_motion(simulated_arm, factor):
    for seed in range(4):
        arm = simulated_arm(seed)
        data = at_rest(arm, seed)
        problem = with_effort_limits(problem_of(arm, data), np.nan)
        free, torque = with_plausible_terms(problem, factor), sizes_of(problem)
        fitted = make_estimator('entropic').fit(free)
        assert fitted.status.ok
        parameters = fitted.parameters
        bounded = 0
        for k in joint_terms(parameters):
            joint = arm.joint_names.index(parameters.names[k].rpartition('.')[0])
            slow = {'N·m·s/rad': 0.1, 'kg·m²': 1.0, 'N·m': 0.5}[parameters.units[k]]
            most = factor * max(torque[joint] / slow, abs(parameters.prior[k]))
            if np.isfinite(parameters.upper[k]) and parameters.units[k] != 'N·m':
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
