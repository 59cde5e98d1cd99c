"""Actuators by their formulas, and their slopes by differences."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_ros.mechanics.actuators.dispatch import SLOPES, ActuatorArrays, no_actuators
from sysid_ros.mechanics.actuators.driven import actuator_torques
from sysid_ros.mechanics.actuators.kinds import KINDS, kind_named

CONSTANTS = {
    'torque': (), 'position_servo': (20.0, 1.5), 'velocity_servo': (1.8,), 'current': (0.08, 40.0),
    'dc_motor': (0.05, 0.8, 0.06, 30.0, 24.0)}
# Command, position and velocity of two joints, the second with the opposite motion.
U, Q, V = np.array([[0.4, -0.3]]), np.array([[0.25, -0.2]]), np.array([[1.2, -0.7]])


def arrays_of(name, limit=np.inf, slots=True):
    """Both joints with an actuator of a kind, differentiated by all constants and the delay."""
    number = [kind.name for kind in KINDS].index(name)
    found = no_actuators(2)
    constants = CONSTANTS[name]
    found.kind[:], found.limits[:, 0] = number, limit
    found.constants[:, :len(constants)] = constants
    if slots:
        count = len(constants)
        found.slots[0, :count] = np.arange(count)
        found.slots[1, :count] = count + np.arange(count)
        found = found._replace(delay_slot=2 * count, filter_slot=2 * count + 1)
    return found


def torque(arrays, u=U, q=Q, v=V):
    """The torques alone, shape ``(2,)``."""
    return actuator_torques(
        arrays, np.zeros((1, 2)), u, np.zeros((2, 1, 2)), np.stack([q, v], axis=1),
        2 * SLOPES).value[0]


def formula(name, u, q, v):
    """What data sheets say."""
    if name == 'torque':
        return u
    if name == 'position_servo':
        return 20.0 * (u - q) - 1.5 * v
    if name == 'velocity_servo':
        return 1.8 * (u - v)
    if name == 'current':
        return 40.0 * 0.08 * u
    current = (24.0 * u - 0.06 * 30.0 * v) / 0.8
    return 30.0 * 0.05 * current


@pytest.mark.parametrize('name', CONSTANTS)
def test_the_torque_is_that_of_the_data_sheet(name):
    np.testing.assert_allclose(torque(arrays_of(name)), formula(name, U, Q, V)[0], rtol=1e-12)


@pytest.mark.parametrize('name', CONSTANTS)
def test_slopes_are_those_of_differences(name):
    arrays, step = arrays_of(name), 1e-6
    rates = np.array([[[3.0, -2.0]], [[0.5, 4.0]]])
    found = actuator_torques(
        arrays, np.zeros((1, 2)), U, rates, np.stack([Q, V], axis=1), 2 * SLOPES)
    by_q = (torque(arrays, q=Q + step) - torque(arrays, q=Q - step)) / (2 * step)
    by_v = (torque(arrays, v=V + step) - torque(arrays, v=V - step)) / (2 * step)
    by_u = (torque(arrays, u=U + step) - torque(arrays, u=U - step)) / (2 * step)
    np.testing.assert_allclose(found.by_position[0], by_q, atol=1e-7)
    np.testing.assert_allclose(found.by_velocity[0], by_v, atol=1e-7)
    for slot, rate in zip((arrays.delay_slot, arrays.filter_slot), rates[:, 0], strict=True):
        np.testing.assert_allclose(found.by_parameters[0, :, slot], by_u * rate, atol=1e-6)
    for joint in range(2):
        for k, constant in enumerate(CONSTANTS[name]):
            changed = []
            for sign in (1.0, -1.0):
                constants = arrays.constants.copy()
                constants[joint, k] = constant * (1.0 + sign * step)
                changed.append(torque(arrays._replace(constants=constants))[joint])
            slope = (changed[0] - changed[1]) / (2 * step * constant)
            assert found.by_parameters[0, joint, arrays.slots[joint, k]] == pytest.approx(
                slope, rel=1e-6, abs=1e-7)
            assert found.by_parameters[0, 1 - joint, arrays.slots[joint, k]] == 0.0


@pytest.mark.parametrize('name', CONSTANTS)
def test_at_its_limit_a_torque_depends_on_nothing(name):
    free = formula(name, U, Q, V)[0]
    limit = 0.5 * np.abs(free).min()
    found = actuator_torques(
        arrays_of(name, limit), np.zeros((1, 2)), U, np.ones((2, 1, 2)),
        np.stack([Q, V], axis=1), 2 * SLOPES)
    np.testing.assert_allclose(found.value[0], limit * np.sign(free))
    assert not found.by_position.any() and not found.by_velocity.any()
    assert not found.by_parameters.any()


def test_a_joint_without_an_actuator_has_the_torque_that_is_given():
    given = np.array([[1.5, -2.5]])
    found = actuator_torques(
        no_actuators(2), given, U, np.stack([U, U]), np.stack([Q, V], axis=1), 1)
    np.testing.assert_array_equal(found.value, given)
    assert not found.by_position.any()


def test_kinds_are_told_apart_by_their_names():
    assert [kind_named(name).name for name in CONSTANTS] == list(CONSTANTS)
    assert isinstance(no_actuators(1), ActuatorArrays)
