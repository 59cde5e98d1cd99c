"""Dry friction of bristles: what holds, what slides, and what breaking loose takes."""

import numpy as np
import pytest

from sysid_ros.demo.bristle_friction import BristleFriction, bristle_stiffness

STEP = 1e-3


def pulled(force, friction, steps=6000):
    """Position and velocity of 1 kg with 2 N·s/m of damping, under a force that grows for 1 s."""
    q = v = np.zeros(1)
    for k in range(steps):
        v = v + STEP * (force * min(k * STEP, 1.0) - friction.force - 2.0 * v)
        q = q + STEP * v
        friction.move(v, STEP)
    return q[0], v[0]


def friction(stribeck=0.0):
    sliding = np.array([3.0])
    return BristleFriction(
        sliding, bristle_stiffness(sliding, np.ones(1), STEP), stribeck=stribeck)


def test_below_its_limit_the_joint_is_held_by_a_spring():
    held = friction()
    q, v = pulled(2.0, held)
    stiffness = bristle_stiffness(np.array([3.0]), np.ones(1), STEP)[0]
    assert q == pytest.approx(2.0 / stiffness, rel=1e-2)
    assert v == pytest.approx(0.0, abs=1e-3)
    assert held.force == pytest.approx(2.0, rel=1e-2)


def test_above_its_limit_it_slides_against_the_sliding_friction():
    _, v = pulled(5.0, friction())
    # Damping takes what friction leaves of the force.
    assert v == pytest.approx((5.0 - 3.0) / 2.0, rel=1e-2)


def test_breaking_loose_takes_more_than_sliding_with_stribeck_friction():
    assert pulled(3.5, friction(stribeck=0.3))[1] == pytest.approx(0.0, abs=1e-3)
    assert pulled(3.5, friction())[1] > 0.1
    assert pulled(5.0, friction(stribeck=0.3))[1] == pytest.approx(1.0, rel=1e-2)


def test_friction_opposes_motion_in_both_directions():
    both = BristleFriction(np.full(2, 3.0), np.full(2, 1e6))
    both.move(np.array([1.0, -1.0]), STEP)
    assert both.force.tolist() == [3.0, -3.0]
