"""Transmissions keep power, whatever they couple."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_ros.errors import ConfigurationError
from sysid_ros.mechanics.transmission import Transmission


def tx40_ratios():
    """The drives of the Stäubli TX40: motor 6 also turns with joint 5."""
    matrix = np.diag([32.0, 32.0, 45.0, -48.0, 45.0, 32.0])
    matrix[5, 4] = 32.0
    return matrix


def test_power_is_kept(rng):
    for _ in range(20):
        transmission = Transmission(rng.normal(size=(5, 5)))
        speed, torque = rng.normal(size=(2, 30, 5))
        at_motors = np.einsum('tj,tj->t', speed, torque)
        at_joints = np.einsum(
            'tj,tj->t', transmission.joint_motion(speed), transmission.joint_torque(torque))
        np.testing.assert_allclose(at_joints, at_motors, atol=1e-9)


def test_motor_motion_is_the_matrix_times_joint_motion(rng):
    matrix = rng.normal(size=(4, 4))
    joints = rng.normal(size=(10, 4))
    motors = np.array([matrix @ q for q in joints])
    found = Transmission(matrix).joint_motion(motors)
    np.testing.assert_allclose(found, joints, atol=1e-11)
    assert found.flags.c_contiguous


def test_the_coupled_wrist_of_a_tx40_is_undone():
    transmission = Transmission(tx40_ratios())
    # Motor 5 alone turns joint 5 and, held by motor 6, joint 6 backwards.
    only_motor_5 = transmission.joint_motion([[0.0, 0.0, 0.0, 0.0, 45.0, 0.0]])
    np.testing.assert_allclose(only_motor_5, [[0.0, 0.0, 0.0, 0.0, 1.0, -1.0]], atol=1e-15)
    # A torque of motor 6 acts on joints 5 and 6.
    only_motor_6 = transmission.joint_torque([[0.0, 0.0, 0.0, 0.0, 0.0, 1.0]])
    np.testing.assert_allclose(only_motor_6, [[0.0, 0.0, 0.0, 0.0, 32.0, 32.0]])
    backwards = transmission.joint_motion([[0.0, 0.0, 0.0, 48.0, 0.0, 0.0]])
    assert backwards[0, 3] == -1.0


def test_the_matrix_is_a_copy_and_cannot_be_changed():
    matrix = np.eye(2)
    transmission = Transmission(matrix)
    matrix[0, 0] = 5.0
    assert transmission.motor_per_joint[0, 0] == 1.0
    with pytest.raises(ValueError, match='read-only'):
        transmission.motor_per_joint[0, 0] = 2.0


@pytest.mark.parametrize(('matrix', 'message'), [
    (np.ones((2, 3)), 'not square'),
    (np.ones(3), 'not square'),
    (np.ones((2, 2)), 'cannot be inverted'),
    (np.diag([1.0, 0.0]), 'cannot be inverted'),
    (np.diag([1.0, np.nan]), 'cannot be inverted'),
])
def test_a_matrix_that_loses_motion_is_refused(matrix, message):
    with pytest.raises(ConfigurationError, match=f'motor_per_joint: .*{message}'):
        Transmission(matrix)


def test_signals_of_other_motors_are_refused():
    transmission = Transmission(np.eye(3))
    for convert in (transmission.joint_motion, transmission.joint_torque):
        with pytest.raises(ConfigurationError, match=r'found \(5, 2\); allowed \(samples, 3\)'):
            convert(np.zeros((5, 2)))
        with pytest.raises(ConfigurationError, match=r'found \(3,\)'):
            convert(np.zeros(3))
