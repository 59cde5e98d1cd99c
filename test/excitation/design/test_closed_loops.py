"""Motions of robots with closed loops: passive joints keep their limits, dead points are far."""

from __future__ import annotations

import numpy as np
import pytest

from support import closed_robots as robots
from sysid_ros.excitation.design.basis import FourierBasis
from sysid_ros.excitation.design.closed_loops import DeadPoints, PassiveLimits
from sysid_ros.excitation.design.constraints import MotionState
from sysid_ros.excitation.design.design import Designer, DesignSettings
from sysid_ros.excitation.design.information import Information
from sysid_ros.excitation.excitation import Motion
from sysid_ros.excitation.geometry.clearance import Capsule
from sysid_ros.excitation.geometry.meeting_pairs import self_clearance
from sysid_ros.excitation.geometry.shapes import joints_between
from sysid_ros.excitation.safety.limits import MotionLimits
from sysid_ros.mechanics.closures.closed_chain import closed_chain
from sysid_ros.mechanics.joint_terms.terms import Armature, CoulombFriction, ViscousFriction
from sysid_ros.mechanics.torque_model import TorqueModel

TIPS = (-2.0, -0.4), (0.4, 2.0)


def limited_five_bar(length=0.45):
    """The five-bar robot, whose passive joints have ranges and velocity limits, too."""
    world = robots.WORLD
    linkage = (
        robots.Linkage('five_bar')
        .rod('left', world, (0.0, 0.0), 0.8, 0.3, (1.4, 2.8))
        .rod('left_tip', 'left', (0.3, 0.0), 0.5, length, TIPS[0])
        .rod('right', world, (0.25, 0.0), 0.8, 0.3, (0.3, 1.7))
        .rod('right_tip', 'right', (0.3, 0.0), 0.5, length, TIPS[1])
        .close('tips', 'left_tip', (length, 0.0), 'right_tip', (length, 0.0))
    )
    return linkage.robot(['left_joint', 'right_joint'], robots.FIVE_BAR_ASSEMBLY)


@pytest.fixture(scope='module')
def robot():
    return limited_five_bar()


@pytest.fixture(scope='module')
def designer(robot):
    return designer_of(robot)


def designer_of(robot):
    model = TorqueModel(robot, [ViscousFriction(), CoulombFriction(smoothing=0.1), Armature()])
    limits = MotionLimits.of(robot)
    settings = DesignSettings(starts=2, iterations=40, singularity_margin=0.4)
    return Designer(
        model, Information.of(model, limits), limits, FourierBasis(5.0, (1, 2, 3)), settings)


def state(robot, q, v):
    return MotionState(robot, np.array([q, v, *np.zeros((3, *q.shape))]))


def moving(robot, samples=9):
    q, v, _ = robots.smooth_motion(robot, 0.3 * np.arange(samples))
    return q, v


@pytest.mark.parametrize('make', [limited_five_bar, robots.leg, robots.spatial],
                         ids=['five_bar', 'leg', 'spatial'])
@pytest.mark.parametrize('kind', [PassiveLimits, DeadPoints])
def test_gradients_are_those_of_differences(make, kind):
    robot = make()
    constraint = kind(robot, 0.1)
    q, v = moving(robot)
    at = state(robot, q, v)
    random = np.random.default_rng(0)
    weights = random.normal(size=constraint.slack(at).shape)
    gradient = constraint.gradient(at, weights)
    assert weights.shape[1] == len(constraint.labels())
    assert not gradient[2:].any()
    for quantity in range(2):
        step = 1e-5 * random.normal(size=(2, *q.shape))
        step[1 - quantity] = 0.0
        change = np.sum(weights * (
            constraint.slack(state(robot, q + step[0], v + step[1]))
            - constraint.slack(state(robot, q - step[0], v - step[1]))))
        expected = 2.0 * np.sum(gradient[quantity] * step[quantity])
        assert change == pytest.approx(expected, rel=1e-4, abs=1e-9)


def test_slacks_are_parts_of_what_is_allowed(robot):
    constraint = PassiveLimits(robot, 0.0)
    q, v = moving(robot)
    tree = closed_chain(robot).motion(q, v, np.zeros_like(q))
    slack = dict(zip(constraint.labels(), constraint.slack(state(robot, q, v)).T, strict=True))
    column = list(robot.opened.joint_names).index('left_tip_joint')
    (low, high), half = TIPS[0], 0.5 * (TIPS[0][1] - TIPS[0][0])
    np.testing.assert_allclose(
        slack['lowest position of the passive left_tip_joint'], (tree.q[:, column] - low) / half)
    np.testing.assert_allclose(
        slack['highest position of the passive left_tip_joint'], (high - tree.q[:, column]) / half)
    np.testing.assert_allclose(
        slack['highest velocity of the passive left_tip_joint'], 1.0 - tree.v[:, column] / 10.0)


@pytest.mark.slow
def test_a_design_keeps_passive_joints_and_dead_points_away_from_limits(robot, designer):
    excitation = designer.design()
    motion = excitation.grid(1000.0)
    chain = closed_chain(robot)
    tree = chain.motion(motion.q, motion.v, motion.a)
    for name, (low, high) in zip(('left_tip_joint', 'right_tip_joint'), TIPS, strict=True):
        column = list(robot.opened.joint_names).index(name)
        room = 0.05 * 0.5 * (high - low)
        assert tree.q[:, column].min() >= low + room - 1e-9
        assert tree.q[:, column].max() <= high - room + 1e-9
        assert np.abs(tree.v[:, column]).max() <= 9.5 + 1e-9
    margin = chain.singularity_margin(tree.q)
    assert margin.min() >= 0.4 * chain.singularity_margin(chain.assembly[None])[0] - 1e-9
    torque = designer.model.torque(
        designer.model.parameters.prior, motion.q, motion.v, motion.a)
    assert (np.abs(torque) <= 0.8 * designer.limits.effort + 1e-9).all()
    rest = designer.rest()
    rivals = [designer.cost(designer.random_motion(rest, seed)) for seed in range(10)]
    assert excitation.design['cost'] < min(rivals)
    assert designer.verify(motion).allowed


def held(q, samples=60):
    """A robot that stays at positions ``(n,)``."""
    still = np.zeros((samples, len(q)))
    return Motion(0.01 * np.arange(samples), still + q, still, still, still)


def test_a_passive_joint_beyond_its_limit_is_named(robot, designer):
    # Cranks together fold the outer links.
    found = designer.verify(held(np.array([1.45, 1.65])))
    assert any('of the passive' in text for text in found.findings)
    assert found.clearance == np.inf


@pytest.mark.slow
def test_loops_that_cannot_follow_everywhere_are_designed_for_and_refused():
    designer = designer_of(limited_five_bar(0.38))
    assert designer.verify(designer.design().grid(500.0)).allowed
    found = designer.verify(held(np.array([2.75, 0.34])))
    assert not found.allowed
    assert 'the loops' in found.findings[0]


@pytest.mark.slow
def test_the_leg_can_be_excited_beside_itself():
    robot = robots.leg()
    model = TorqueModel(robot, [ViscousFriction(), CoulombFriction(smoothing=0.1)])
    limits = MotionLimits.of(robot, {name: {'velocity': 6.0} for name in robot.joint_names})
    settings = DesignSettings(starts=1, iterations=3)
    search = Designer(
        model, Information.of(model, limits), limits, FourierBasis(4.0, (1, 2, 3)), settings)
    motion = search.design().grid(500.0)
    passive = closed_chain(robot).motion(motion.q, motion.v, motion.a).q[:, robot.loops.passive]
    assert np.abs(passive).max() <= 0.95 * 1.4 + 1e-9


def test_what_closes_a_loop_is_a_joint(robot):
    left, right = (robot.joint_of_body(name) - 1 for name in ('left_tip', 'right_tip'))
    assert joints_between(robot, left, right) == 1
    capsules = tuple(
        Capsule(name, robot.joint_of_body(name) - 1, (0.0, 0.0, 0.0), (size, 0.0, 0.0), 0.02)
        for name, size in (('left', 0.3), ('left_tip', 0.45), ('right', 0.3), ('right_tip', 0.45)))
    rest = closed_chain(robot).assembly[robot.loops.actuated]
    pairs = self_clearance(robot, capsules, rest, 0.01).pairs
    assert {frozenset(pair) for pair in pairs.tolist()} == {frozenset((0, 2))} | {
        frozenset(pair) for pair in ((0, 3), (1, 2))}
