"""Closed chains: positions, velocities and accelerations of all joints from the driven ones."""

from dataclasses import replace

import numpy as np
import pytest

from support import closed_robots as robots
from support import kernel_caches as caches
from sysid_ros.mechanics.closures import loop_kernels
from sysid_ros.mechanics.closures.closed_chain import ClosedChain, closed_chain

CLOSED = robots.CLOSED


@pytest.fixture(scope='module', params=CLOSED)
def robot(request):
    return CLOSED[request.param]()


def moved(robot, seed=0):
    """A smooth motion at 1 kHz and its step in [s]."""
    step = 1e-3
    return robots.smooth_motion(robot, np.arange(400) * step, seed), step


def rates(x, step):
    """Derivatives by five points."""
    return (x[:-4] - 8 * x[1:-3] + 8 * x[3:-1] - x[4:]) / (12 * step)


def test_loops_are_closed_all_along_a_motion(robot):
    (q, v, a), _ = moved(robot)
    chain = closed_chain(robot)
    motion = chain.motion(q, v, a)
    assert np.abs(chain.gaps(motion.q)).max() < 1e-12
    assert np.array_equal(motion.q[:, robot.loops.actuated], q)


def test_velocities_and_accelerations_are_those_of_finite_differences(robot):
    motion_of_driven, step = moved(robot)
    motion = closed_chain(robot).motion(*motion_of_driven)
    scale = np.abs(motion.a).max()
    np.testing.assert_allclose(rates(motion.q, step), motion.v[2:-2], atol=1e-8 * scale)
    np.testing.assert_allclose(rates(motion.v, step), motion.a[2:-2], atol=1e-6 * scale)


def test_the_coupling_is_the_derivative_of_the_positions(robot):
    (q, v, a), _ = moved(robot)
    chain, rows = closed_chain(robot), slice(0, 400, 80)
    coupling = chain.motion(q, v, a).coupling[rows]
    for joint in range(q.shape[1]):
        away = np.zeros(q.shape[1])
        away[joint] = 1e-5
        slope = (chain.positions(q + away) - chain.positions(q - away))[rows] / 2e-5
        np.testing.assert_allclose(coupling[:, :, joint], slope, atol=1e-7)


def test_the_jacobian_is_that_of_finite_differences(robot):
    chain = closed_chain(robot)
    q = chain.positions(moved(robot)[0][0])[::80]
    jacobian = chain.jacobian(q)
    for joint in range(q.shape[1]):
        away = np.zeros(q.shape[1])
        away[joint] = 1e-6
        slope = (chain.gaps(q + away) - chain.gaps(q - away)) / 2e-6
        np.testing.assert_allclose(jacobian[:, :, joint], slope, atol=1e-8)


def test_a_frame_closure_says_what_pins_say_with_redundant_rows():
    framed, pinned = (closed_chain(CLOSED[name]()) for name in ('framed_four_bar', 'four_bar'))
    assert framed.jacobian(framed.assembly[None]).shape == (1, 6, 4)
    q = np.linspace(0.0, 2 * np.pi, 300)[:, None]
    chain, tree = framed.positions(q), pinned.positions(q)
    np.testing.assert_allclose(chain[:, 1], tree[:, 1], atol=1e-9)
    rocker = chain[:, :3].sum(1)
    np.testing.assert_allclose(np.cos(rocker), -np.cos(tree[:, 2]), atol=1e-9)


def test_a_turn_of_the_crank_turns_the_coupler_back_once_and_leaves_the_rocker():
    chain = closed_chain(robots.four_bar())
    q = chain.positions(np.linspace(0.0, 2 * np.pi, 2)[:, None])
    np.testing.assert_allclose(q[1] - q[0], [2 * np.pi, -2 * np.pi, 0.0], atol=1e-12)


@pytest.mark.parametrize('name', ['five_bar', 'rod_five_bar', 'leg'])
def test_random_positions_within_limits_are_reached_on_the_branch_of_the_assembly(name):
    robot = CLOSED[name]()
    chain, limits = closed_chain(robot), robot.limits
    random = np.random.default_rng(3)
    q_a = random.uniform(limits.lower, limits.upper, (1000, len(limits.lower)))
    q = chain.positions(q_a)
    assert np.abs(chain.gaps(q)).max() < 1e-12
    # In another order, hence along other paths, the same: one branch, whatever the way.
    order = random.permutation(1000)
    np.testing.assert_allclose(chain.positions(q_a[order]), q[order], atol=1e-9)
    # And along a continuous path there are no jumps.
    path = chain.positions(np.linspace(q_a[0], q_a[1], 2000))
    assert np.abs(np.diff(path, axis=0)).max() < 0.02


def test_the_singularity_margin_goes_to_zero_towards_a_dead_point():
    # Driven at the rocker, crank and coupler are straight where its tip is 3 m from the crank.
    linkage = robots.four_bar_linkage()
    chain = closed_chain(linkage.robot(['rocker_joint'], robots.FOUR_BAR_ASSEMBLY))
    dead = np.arccos((3.0**2 - 4.0**2 - 13.0) / (8.0 * np.sqrt(13.0)))
    q = chain.positions(dead + np.geomspace(0.2, 1e-8, 30)[:, None])
    margin = chain.singularity_margin(q)
    assert (np.diff(margin) < 0.0).all()
    assert margin[0] > 0.1 and margin[-1] < 1e-4


def test_joints_that_no_loop_depends_on_move_nothing_else():
    robot = robots.leg()
    coupling = closed_chain(robot).motion(*moved(robot)[0]).coupling
    assert not coupling[:, robot.loops.passive, :3].any()


def test_a_chain_is_assembled_once_per_robot():
    robot = robots.four_bar()
    assert closed_chain(robot) is closed_chain(robot)
    assert ClosedChain(robot) is not closed_chain(robot)


def test_an_assembly_chooses_the_branch():
    linkage = robots.four_bar_linkage()
    down = closed_chain(linkage.robot(
        ['crank_joint'], {'coupler_joint': -1.5, 'rocker_joint': -2.5}))
    up = closed_chain(robots.four_bar())
    np.testing.assert_allclose(down.assembly, -up.assembly, atol=1e-9)


def test_loops_that_rounding_leaves_slightly_open_are_closed_as_well_as_can_be():
    exact = closed_chain(robots.framed_four_bar())
    rounded = robots.framed_four_bar()
    bent = rounded.loops.closures[0].poses.copy()
    bent[1, 2, 3] += 3e-5
    bent[1, :3, :3] = bent[1, :3, :3] @ [[1, 0, 0], [0, 1, -2e-5], [0, 2e-5, 1]]
    closure = replace(rounded.loops.closures[0], poses=bent)
    chain = ClosedChain(replace(rounded, loops=replace(rounded.loops, closures=(closure,))))
    q = np.linspace(0.0, 2.0, 50)[:, None]
    found = chain.motion(q, np.cos(q), np.sin(q))
    best = exact.motion(q, np.cos(q), np.sin(q))
    assert 1e-5 < np.abs(chain.gaps(found.q)).max() < 1e-4
    np.testing.assert_allclose(found.q, best.q, atol=1e-4)
    np.testing.assert_allclose(found.a, best.a, atol=1e-3)


def test_a_loop_more_than_needed_changes_nothing():
    double = (
        robots.Linkage('double_parallelogram')
        .rod('crank', 'world', (0.0, 0.0), 1.0, 1.0).rod('bar', 'crank', (1.0, 0.0), 1.0, 2.0)
        .rod('middle', 'world', (1.2, 0.0), 1.0, 1.0).rod('last', 'world', (2.0, 0.0), 1.0, 1.0)
        .close('middle', 'bar', (1.2, 0.0), 'middle', (1.0, 0.0))
        .close('last', 'bar', (2.0, 0.0), 'last', (1.0, 0.0))
    )
    chain = closed_chain(double.robot(['crank_joint'], {
        'crank_joint': 1.0, 'bar_joint': -1.0, 'middle_joint': 1.0, 'last_joint': 1.0}))
    q = np.linspace(1.0, 2.0, 20)[:, None]
    found = chain.motion(q, np.ones_like(q), np.zeros_like(q))
    np.testing.assert_allclose(found.q, q * [1, -1, 1, 1], atol=1e-12)
    np.testing.assert_allclose(found.coupling[:, :, 0], np.tile([1, -1, 1, 1], (20, 1)), atol=1e-12)
    np.testing.assert_allclose(found.a, 0.0, atol=1e-12)


def test_caches_look_at_all_files_that_are_compiled_into_closed_chains():
    assert caches.functions_elsewhere(loop_kernels) == []
