"""Payloads: recovered whatever the arm's own description says, with honest deviations."""

from __future__ import annotations

import dataclasses
from functools import cache

import cvxpy as cp
import numpy as np
import pytest

from support import golden_problems
from support.simulated_arm import SimulatedArm
from sysid_ros.errors import ConfigurationError, EstimationError
from sysid_ros.estimation.estimate import Status
from sysid_ros.estimation.payload.payload import identify_payload
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.regression.least_squares import WeightedLeastSquares
from sysid_ros.mechanics.base_parameters import base_parameters
from sysid_ros.recording.dataset import Dataset
from sysid_ros.robot.inertia import (
    PSEUDO_INERTIA_BASIS,
    central_inertia,
    inertial_parameters,
    is_consistent,
    transform_inertial,
)
from sysid_ros.robot.load_carriers import last_body, load_carriers
from sysid_ros.robot.model import RobotModel

LOAD = inertial_parameters(1.4, np.array([0.05, -0.03, 0.12]), np.diag([0.006, 0.007, 0.003]))


def rows(seed, load=None, *, noise=0.02, motion=0, joints=None):
    """A recording of an arm that is not as described; ``motion`` chooses its path."""
    arm, path = arm_of(seed), arm_of(50 + motion)
    t = np.arange(600) / 25.0
    q, v, a = path.motion(t)
    if joints is not None:
        still = [k for k in range(q.shape[1]) if k not in joints]
        q[:, still], v[:, still], a[:, still] = 0.3, 0.0, 0.0
    truth = arm._inertials.copy()
    if load is not None:
        truth[-10:] += load
    dry, viscous = arm._friction
    regressor = arm.model.regressor(q, v, a)[:, :, :len(truth)]
    tau = regressor @ truth + dry * np.sign(v) + viscous * v
    rng = np.random.default_rng([seed, motion, load is None])
    tau += noise * np.sqrt(np.mean(tau**2, axis=0)) * rng.normal(size=tau.shape)
    data = Dataset(arm.joint_names, t, q, v, a, tau, np.ones(tau.shape, dtype=bool),
                   ((0, len(t)),), 25.0, source='simulated')
    problem = RegressionProblem.from_dataset(arm.model, data)
    # All these arms have the same kinematics, hence the same grouping.
    problem.__dict__['base'] = grouping()
    return problem


@cache
def arm_of(seed):
    return SimulatedArm(seed)


@cache
def grouping():
    return base_parameters(arm_of(0).model)


@pytest.mark.parametrize('motion', [0, 7])
def test_without_noise_the_load_is_exact_though_the_description_is_not(motion):
    found = identify_payload(rows(1, LOAD, noise=0.0, motion=motion), rows(1, noise=0.0))
    assert found.status is Status.CONVERGED
    np.testing.assert_allclose(found.inertial, LOAD, atol=1e-6)
    assert found.error_with < 1e-5 < 0.05 < found.error_without
    assert found.consistent and found.significant


def test_deviations_say_how_far_the_least_squares_solution_is_off():
    scaled = []
    for seed in range(20):
        found = identify_payload(rows(seed, LOAD, motion=3), rows(seed))
        scaled.append((found.unconstrained - LOAD) / found.standard_deviation)
        assert found.mass == pytest.approx(LOAD[0], rel=0.05)
    # 200 numbers, ten of a run correlated: the root mean square of unit normals stays within.
    assert 0.8 < np.sqrt(np.mean(np.square(scaled))) < 1.2


@pytest.mark.parametrize('noise', [0.02, 0.002, 1e-5])
@pytest.mark.parametrize('joints', [None, [1, 2], [3]], ids=['all', 'two', 'one'])
def test_an_arm_without_load_carries_none(noise, joints):
    # The truth is the tip of the cone of real bodies, where solvers lose their accuracy.
    significant = 0
    for seed in range(12):
        loaded = rows(seed, 0.0 * LOAD, noise=noise, motion=3, joints=joints)
        found = identify_payload(loaded, rows(seed, noise=noise))
        assert found.status is Status.CONVERGED
        assert found.consistent
        significant += found.significant
        link = loaded.parameters.prior[loaded.parameters.body_slice(found.body)]
        assert distance(found, found.inertial) <= distance(found, 1e-6 * link) + 1e-4
    assert significant <= 2


def distance(found, load):
    """Squared deviations between a load and the unconstrained one, where it is determined."""
    told = 10 - found.undetermined.shape[1]
    variances, basis = np.linalg.eigh(found.covariance)
    parts = np.linalg.solve(
        np.column_stack([basis[:, -told:], found.undetermined]), load - found.unconstrained)
    return np.sum(parts[:told] ** 2 / variances[-told:])


def test_it_is_the_optimum_of_the_whole_constrained_problem():
    # Torques of a load that nothing could have: far outside, so that the metric matters.
    impossible = LOAD + np.array([0.0, 0.0, 0.0, 0.0, -0.03, 0.0, 0.0, 0.01, 0.0, 0.0])
    loaded, empty = rows(3, impossible, motion=1), rows(3)
    found = identify_payload(loaded, empty)
    assert not is_consistent(found.unconstrained)
    assert found.consistent and found.status is Status.CONVERGED
    arm, load = cp.Variable(len(empty.base.independent)), cp.Variable(10)
    block = empty.parameters.body_slice(found.body)
    sigma = _noise(loaded, empty)
    objective = 0.0
    for problem in (loaded, empty):
        for joint in range(4):
            rest = problem.torque[:, joint]
            rest = rest - problem.regressor[:, joint, problem.base.independent] @ arm
            if problem is loaded:
                rest = rest - problem.regressor[:, joint, block] @ load
            objective += cp.sum_squares(rest / sigma[joint])
    pseudo = sum(load[i] * PSEUDO_INERTIA_BASIS[i] for i in range(10))
    cp.Problem(cp.Minimize(objective), [pseudo >> 0]).solve(
        solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10)
    # In deviations: the weights of the joints are not quite the same on both sides.
    metric = np.linalg.inv(found.covariance)

    def distance(one, other):
        return np.sqrt((one - other) @ metric @ (one - other))

    moved = distance(found.unconstrained, load.value)
    assert moved > 5.0
    assert distance(found.inertial, load.value) < 0.05 * moved


def _noise(loaded, empty):
    """Noise per joint, from a fit of each recording by itself."""
    levels = []
    for problem in (loaded, empty):
        theta = WeightedLeastSquares().fit(problem).parameters.values
        levels.append(np.sqrt(np.mean(problem.residuals(theta) ** 2, axis=0)))
    return np.mean(levels, axis=0)


def test_an_earlier_fit_stands_for_the_empty_recording():
    loaded, empty = rows(4, LOAD, motion=2), rows(4)
    both = identify_payload(loaded, empty)
    by_fit = identify_payload(loaded, WeightedLeastSquares().fit(empty))
    spread = both.standard_deviation
    np.testing.assert_array_less(np.abs(by_fit.unconstrained - both.unconstrained), 1.5 * spread)
    # How many rows count as independent is found from the residuals of one, or of both.
    assert 0.7 < np.median(by_fit.standard_deviation / spread) < 1.4


def test_no_load_is_said_to_be_not_significant():
    found = identify_payload(rows(5, motion=4), rows(5))
    assert not found.significant
    assert found.mass < 0.05


def test_what_the_motion_does_not_tell_has_no_finite_deviation():
    # Only the last joint turns, and it is the only one whose torque counts.
    def last_only(problem):
        usable = problem.usable.copy()
        usable[:, :-1] = False
        return dataclasses.replace(problem, usable=usable)

    loaded = last_only(rows(6, LOAD, motion=1, joints=(3,)))
    found = identify_payload(loaded, last_only(rows(6, joints=(3,))))
    assert found.consistent
    deviation = found.standard_deviation
    assert np.isinf(deviation[0]) and np.isfinite(deviation).any() and not found.significant
    assert found.to_plain()['mass']['standard_deviation'] == [None]


def test_the_load_in_another_frame_is_the_same_body():
    found = identify_payload(rows(1, LOAD, motion=3), rows(1))
    rng = np.random.default_rng(0)
    pose = np.eye(4)
    pose[:3, :3] = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    pose[:3, :3] *= np.linalg.det(pose[:3, :3])
    pose[:3, 3] = rng.normal(size=3)
    moved = found.in_frame(pose)
    np.testing.assert_allclose(
        transform_inertial(moved.inertial, pose), found.inertial, atol=1e-12)
    assert moved.mass == pytest.approx(found.mass)
    assert moved.standard_deviation[0] == pytest.approx(found.standard_deviation[0])
    back = moved.in_frame(np.linalg.inv(pose))
    np.testing.assert_allclose(back.standard_deviation, found.standard_deviation, rtol=1e-6)


def test_deviations_of_the_centre_of_mass_follow_from_finite_differences():
    found = identify_payload(rows(1, LOAD, motion=3), rows(1))

    def central(phi):
        mass, com, inertia = central_inertia(phi)
        return np.concatenate([[mass], com, inertia[[0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]]])

    steps = 1e-6 * np.eye(10)
    slopes = np.column_stack([
        (central(found.inertial + step) - central(found.inertial - step)) / 2e-6 for step in steps
    ])
    values, deviations = (
        np.concatenate(parts) for parts in zip(*found.quantities().values(), strict=True))
    np.testing.assert_allclose(values, central(found.inertial))
    expected = np.sqrt(np.diag(slopes @ found.covariance @ slopes.T))
    np.testing.assert_allclose(deviations, expected, rtol=1e-5)


def test_recordings_of_other_models_are_refused():
    loaded = rows(1, LOAD)
    other = golden_problems.golden('arm').problem(0.05)
    with pytest.raises(EstimationError, match='belong to other models'):
        identify_payload(loaded, other)
    with pytest.raises(EstimationError, match='belong to other models'):
        identify_payload(loaded, WeightedLeastSquares().fit(other))


def chain(*joints):
    """A robot of joints (parent, child), each link 1 kg."""
    links = dict.fromkeys(name for pair in joints for name in pair)
    body = ('<inertial><mass value="1"/><inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" '
            'izz="0.01"/></inertial>')
    return RobotModel.from_urdf('<robot name="tree">' + ''.join(
        f'<link name="{name}">{body}</link>' for name in links) + ''.join(
        f'<joint name="{child}_joint" type="revolute"><parent link="{parent}"/>'
        f'<child link="{child}"/><axis xyz="0 1 0"/><origin xyz="0 0 0.2"/>'
        '<limit effort="9" velocity="9" lower="-2" upper="2"/></joint>'
        for parent, child in joints) + '</robot>')


def test_a_gripper_carries_its_load_between_its_fingers():
    arm = (('base', 'arm'), ('arm', 'hand'))
    fingers = (('hand', 'left'), ('hand', 'right'))
    assert load_carriers(chain(*arm)) == ('hand',)
    assert last_body(chain(*arm, *fingers)) == 'hand'
    assert last_body(chain(*arm, *fingers), 'left') == 'left'
    # A head beside the gripper is another end; so are two arms on a base that does not move.
    assert load_carriers(chain(*arm, *fingers, ('arm', 'head'))) == ('hand', 'head')
    assert load_carriers(chain(('base', 'one'), ('base', 'other'))) == ('one', 'other')


def test_the_end_of_the_robot_must_be_clear():
    robot = RobotModel.from_urdf(golden_problems.tree_urdf())
    with pytest.raises(ConfigurationError, match='more than one end .*Name the link'):
        last_body(robot)
    assert last_body(robot, robot.links[0].name) == robot.links[0].body
    with pytest.raises(ConfigurationError, match="no such moving link .*'nowhere'"):
        last_body(robot, 'nowhere')


def test_a_still_arm_tells_nothing_and_says_so():
    loaded, empty = (rows(7, load, joints=()) for load in (LOAD, None))
    silent = [
        dataclasses.replace(problem, regressor=np.where(
            np.arange(problem.regressor.shape[2]) < 40, 0.0, problem.regressor))
        for problem in (loaded, empty)
    ]
    for problem in silent:
        problem.__dict__['base'] = loaded.base
    with pytest.raises(EstimationError, match='tell nothing of the load'):
        identify_payload(*silent)
