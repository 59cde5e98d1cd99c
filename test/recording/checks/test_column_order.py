"""Columns of other joints than named are told by the prior, which may be off."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sysid_ros.errors import RecordingError
from sysid_ros.recording.checks.column_order import other_order, require_named_order


@pytest.mark.parametrize('seed', range(6))
def test_the_right_order_is_not_doubted(simulated_arm, seed):
    arm = simulated_arm(seed)
    data = arm.dataset()
    assert other_order(data, arm.model) is None
    # Nor is it with the wrong sign, with another unit, or without any meaning.
    for tau in (-data.tau, 1e3 * data.tau, np.random.default_rng(seed).normal(size=data.tau.shape)):
        require_named_order(replace(data, tau=tau), arm.model)


@pytest.mark.parametrize('seed', range(4))
def test_two_efforts_that_were_swapped_are_named(simulated_arm, seed):
    arm = simulated_arm(seed)
    data = arm.dataset()
    order = [1, 0, *range(2, data.tau.shape[1])]
    other = other_order(replace(data, tau=data.tau[:, order]), arm.model)
    assert other.quantities == 'effort'
    assert other.joints == arm.joint_names[:2]
    assert other.columns == arm.joint_names[1::-1]
    assert other.after > 0.8 > other.before


@pytest.mark.parametrize('seed', range(4))
def test_of_two_swaps_noisy_efforts_are_no_second_one(simulated_arm, seed):
    arm = simulated_arm(seed)
    data = arm.dataset()
    tau = data.tau[:, [1, 0, *range(2, data.tau.shape[1])]]
    noisy = slice(2, None)
    noise = np.random.default_rng(seed).normal(size=tau[:, noisy].shape)
    tau[:, noisy] += 3.0 * tau[:, noisy].std(axis=0) * noise
    other = other_order(replace(data, tau=tau), arm.model)
    assert other.joints == arm.joint_names[:2]


@pytest.mark.parametrize('seed', range(4))
def test_efforts_in_any_order_are_told(simulated_arm, seed):
    arm = simulated_arm(seed)
    data = arm.dataset()
    count = data.tau.shape[1]
    order = np.roll(np.arange(count), 1)
    other = other_order(replace(data, tau=data.tau[:, order]), arm.model)
    # Column k holds the effort of joint order[k].
    columns = dict(zip(other.joints, other.columns, strict=True))
    for column, joint in enumerate(order):
        assert columns[arm.joint_names[joint]] == arm.joint_names[column]


def test_two_positions_that_were_swapped_are_refused_with_their_setting(simulated_arm):
    arm = simulated_arm(0)
    data = arm.dataset()
    order = [1, 0, *range(2, data.tau.shape[1])]
    swapped = replace(data, q=data.q[:, order], v=data.v[:, order], a=data.a[:, order])
    with pytest.raises(RecordingError, match=r'position.columns.*fits the column of'):
        require_named_order(swapped, arm.model)


def test_two_joints_that_carry_the_same_weight_are_told_apart(simulated_arm):
    # Either column explains more than 60 % of the other joint's effort.
    arm = simulated_arm(3)
    data = arm.dataset()
    order = [0, 2, 1, 3]
    other = other_order(replace(data, tau=data.tau[:, order]), arm.model)
    assert other.joints == arm.joint_names[1:3]
    both = replace(
        data, tau=data.tau[:, order], q=data.q[:, order], v=data.v[:, order], a=data.a[:, order])
    assert other_order(both, arm.model).quantities == 'position and effort'


@pytest.mark.parametrize(('seed', 'bodies'), [
    (51, (-0.2, -0.2)), (52, (-0.2, 0.2)), (53, (0.2, -0.2)), (56, (-0.2, -0.2))])
def test_joints_of_which_friction_is_nearly_all_are_at_their_own_columns(
    simulated_arm, seed, bodies
):
    # What little bodies add may have the opposite sign of what the description says.
    arm = simulated_arm(seed)
    data = arm.dataset()
    tau = data.tau.copy()
    for joint, part in zip((0, -1), bodies, strict=True):
        dry = 10.0 * tau[:, joint].std() * np.sign(data.v[:, joint])
        tau[:, joint] = dry + part * tau[:, joint]
    assert other_order(replace(data, tau=tau), arm.model) is None


@pytest.mark.parametrize('quantity', ['tau', 'v', 'a'])
@pytest.mark.parametrize('size', [1e160, 1e300])
def test_numbers_too_large_to_be_squared_speak_for_no_order(simulated_arm, quantity, size):
    arm = simulated_arm(0)
    data = arm.dataset()
    values = getattr(data, quantity).copy()
    values[::7, 0] *= size
    with np.errstate(all='ignore'):
        assert other_order(replace(data, **{quantity: values}), arm.model) is None
