"""Closed loops are braked before a passive joint's limit, and before a dead point."""

from __future__ import annotations

import shutil
from dataclasses import replace

import numpy as np
import pytest

from support import TESTS
from support import closed_robots as robots
from sysid_ros.errors import ExcitationError
from sysid_ros.excitation.configuration import ExcitationPlan
from sysid_ros.excitation.files import load_excitation
from sysid_ros.excitation.playback.checks import Observation, PlaybackChecks, PlaybackTolerances
from sysid_ros.excitation.playback.preparation import prepare, way_in
from sysid_ros.excitation.safety.braking import BrakingStop
from sysid_ros.excitation.safety.limit_monitor import LimitMonitor, MonitorSettings
from sysid_ros.excitation.safety.limits import MotionLimits
from sysid_ros.excitation.safety.loop_guard import LoopGuard
from sysid_ros.excitation.safety.monitor import Command, MotionMonitor
from sysid_ros.mechanics.closures.closed_chain import closed_chain
from sysid_ros.mechanics.torque_model import TorqueModel

FIVE_BAR = TESTS / 'ros' / 'five_bar'
TICK, REACTION = 0.01, 0.02


@pytest.fixture(scope='module')
def designer():
    return ExcitationPlan.load(FIVE_BAR / 'excitation.yaml').designer()


def wide_limits():
    """Of a five-bar whose passive joints have none, so that dead points are what is left."""
    return MotionLimits(
        ('left_joint', 'right_joint'), [0.3, 0.1], [3.0, 3.0], [4.0, 4.0], [20.0, 20.0],
        [400.0, 400.0], [15.0, 15.0])


def rocker():
    """The four-bar driven at its rocker, which has a dead point at 2.337 rad."""
    robot = robots.four_bar_linkage().robot(['rocker_joint'], robots.FOUR_BAR_ASSEMBLY)
    return robot, MotionLimits(
        ('rocker_joint',), [1.0], [4.0], [10.0], [20.0], [400.0], [1000.0])


def stopped(guard, limits, q, v):
    """Where motors are that move on until the guard speaks, then brake; and what it said."""
    for _ in range(1000):
        found = guard.findings(q, v, np.zeros(2), reaction_time=REACTION, over=0.1)
        if found:
            reacted = q + TICK * v
            way = np.linspace(q, reacted, 20)
            stop = BrakingStop(limits, reacted, v, np.zeros(2)).grid(2000.0)
            return np.vstack([way, stop.q]), found
        q = q + TICK * v
    raise AssertionError('the guard said nothing')


@pytest.mark.parametrize(('v', 'joint', 'bound'), [
    ([-1.5, 1.5], 'left_tip_joint', -0.4), ([-3.0, 0.5], 'left_tip_joint', -0.4),
    ([-0.1, 2.5], 'right_tip_joint', 0.4)])
def test_motors_that_brake_when_they_are_told_stop_before_a_passive_limit(
    designer, v, joint, bound
):
    chain, v = closed_chain(designer.model.robot), np.array(v)
    # The motors themselves have room: their limits are not what stops them.
    limits = replace(designer.limits, lower=np.array([0.5, 0.0]), upper=np.array([3.0, 2.5]))
    guard = LoopGuard(designer.model.robot, limits, 0.2)
    path, found = stopped(guard, limits, np.array([2.2, 0.9]), v)
    assert len(found) == 1 and f'The passive {joint}' in found[0]
    assert f'its limit is {bound}' in found[0]
    passive = chain.positions(path)[:, chain.joint_names.index(joint)]
    left = (passive - bound) * np.sign(passive[0] - bound)
    assert left.min() > 0.0
    # No earlier than need be: one look and the reaction are what is left of the way.
    speed = np.abs(np.diff(passive[:20])).max() / (TICK / 19)
    assert left.min() < 2.0 * REACTION * speed + 0.01


@pytest.mark.parametrize('speed', [0.3, 1.0, 3.0])
def test_motors_that_brake_when_they_are_told_stop_before_a_dead_point(speed):
    robot, limits = robots.five_bar(), wide_limits()
    chain, share = closed_chain(robot), 0.2
    guard = LoopGuard(robot, limits, share)
    # The elbows meet where 0.3 m cos 1.141 is half of the 0.25 m between the motors.
    start = np.array([2.2, 0.9])
    dead = np.array([np.arccos(0.125 / 0.3), np.pi - np.arccos(0.125 / 0.3)])
    v = speed * (dead - start) / np.linalg.norm(dead - start)
    path, found = stopped(guard, limits, start, v)
    assert 'dead point' in found[0]
    margin = chain.singularity_margin(chain.positions(path))
    margin /= chain.singularity_margin(chain.assembly[None])
    assert margin.min() > 0.5 * share


def test_what_cannot_be_is_said(designer):
    guard, options = LoopGuard(*rocker(), 0.2), {'reaction_time': REACTION, 'over': 0.1}
    still = np.zeros(1)
    assert guard.findings(np.array([2.6]), still, still, **options) == ()
    beyond = guard.findings(np.array([2.2]), still, still, **options)
    assert beyond == ('The loops cannot be closed where the motors are.',)
    onto = guard.findings(np.array([2.5]), np.array([-4.0]), still, **options)
    assert onto == ('The motors cannot stop before a dead point of the loops.',)
    # It begins anew from the assembly, whatever it was asked before.
    assert guard.findings(np.array([2.6]), still, still, **options) == ()
    limited = LoopGuard(designer.model.robot, designer.limits, 0.2)
    fast = limited.findings(
        np.array([2.2, 0.9]), np.array([8.0, -8.0]), np.zeros(2), reaction_time=0.0, over=0.0)
    assert any('The velocity of the passive left_tip_joint is -1' in words for words in fast)


def test_a_robot_without_loops_has_no_guard(designer):
    assert LoopGuard.of(designer.model.robot.opened, designer.limits, 0.2) is None


def test_the_monitor_and_the_watch_of_a_motion_say_what_the_guard_finds(designer):
    robot, limits = designer.model.robot, designer.limits
    q, v = np.array([1.6, 1.15]), np.array([-1.0, 1.0])
    words = 'The passive left_tip_joint'
    monitor = LimitMonitor(
        limits, robot.joint_types, MonitorSettings(), designer.loop_guard())
    assert any(words in found for found in monitor.findings(q, v))
    assert monitor.findings(np.array([2.2, 0.9]), np.zeros(2)) == ()
    seen = Observation(q=q, v=v, effort=np.full(2, np.nan), age=0.0)
    checks = PlaybackChecks(limits, robot.joint_types, loops=designer.loop_guard())
    assert any(words in found for found in checks.forbids(seen))
    monitor = MotionMonitor(designer.model, limits, (), checks.settings)
    assert any(words in found for found in monitor.findings(1.0, seen, None, {}))


def test_the_monitor_speaks_where_no_torque_can_be_predicted():
    robot, limits = rocker()
    monitor = MotionMonitor(TorqueModel(robot), limits, (), PlaybackTolerances())
    torn = np.array([2.2])
    seen = Observation(q=torn, v=np.ones(1), effort=np.zeros(1), age=0.0)
    found = monitor.findings(1.0, seen, Command(True, 1.0, torn, np.zeros(1)), {})
    assert any('The loops cannot be closed' in words for words in found)


def test_a_motion_that_loops_could_not_be_stopped_on_is_refused(designer, tmp_path):
    motion = load_excitation(FIVE_BAR / 'motions' / 'identification.yaml')
    assert prepare(designer, 'roomy', motion, reaction_time=0.05).stopping_time > 0.0
    # The same with a passive joint that has just the room of the motion itself, and of its margin.
    for file in ('excitation.yaml', 'loops.yaml'):
        shutil.copy(FIVE_BAR / file, tmp_path / file)
    chain = closed_chain(designer.model.robot)
    tip = chain.positions(motion.grid(1000.0).q)[:, 1]
    reach = 0.5 * np.ptp(tip) / 0.999
    text = (FIVE_BAR / 'robot.urdf').read_text().replace(
        'lower="-2.6" upper="-0.4"',
        f'lower="{tip.min() + 0.5 * np.ptp(tip) - reach}" '
        f'upper="{tip.min() + 0.5 * np.ptp(tip) + reach}"')
    (tmp_path / 'robot.urdf').write_text(text)
    plan = (tmp_path / 'excitation.yaml').read_text().replace('margin: 0.1,', 'margin: 0.0001,')
    (tmp_path / 'excitation.yaml').write_text(plan)
    tight = ExcitationPlan.load(tmp_path / 'excitation.yaml').designer()
    assert tight.verify(tight.dense(motion)).allowed
    with pytest.raises(ExcitationError, match='closed loops could not be stopped in time.*tip'):
        prepare(tight, 'tight', motion, reaction_time=0.05)


def test_a_stop_may_end_in_the_margin_of_a_passive_joint_and_be_left_again(designer):
    chain = closed_chain(designer.model.robot)
    motion = prepare(
        designer, 'first', load_excitation(FIVE_BAR / 'motions' / 'identification.yaml'))
    resting = np.array([1.6, 1.25])
    tip = chain.positions(resting[None])[0, 1]
    # In the margin of a tenth of half the range from -2.6 to -0.4 rad.
    assert -0.51 < tip < -0.4
    assert way_in(designer, motion, resting) is not None
    with pytest.raises(ExcitationError, match='passive left_tip_joint'):
        way_in(designer, motion, np.array([1.45, 1.3]))
