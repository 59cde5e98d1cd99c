"""The leg of the MIT Cheetah 3: rotors as geared bodies, against computed reference rows."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_ros.mechanics.regressor.regressor import inertial_regressor
from sysid_ros.robot.inertia import is_consistent
from sysid_ros.robot.model import RobotModel
from sysid_ros.robot.rotors import GearedRotor

RATIO = 10.604
# Issue 2. The rows themselves reproduce to 2e-14.
TOLERANCE = 1e-10

# Where ours lie in the reference's order m h Ixx Iyy Izz Iyz Ixz Ixy.
COLUMNS = [0, 1, 2, 3, 4, 9, 5, 8, 7, 6]


def joint(name, parent, child, axis, xyz, rpy='0 0 0'):
    return (
        f'<joint name="{name}" type="revolute"><origin xyz="{xyz}" rpy="{rpy}"/>'
        f'<parent link="{parent}"/><child link="{child}"/><axis xyz="{axis}"/>'
        '<limit lower="-3" upper="3" effort="230" velocity="20"/></joint>'
    )


URDF = (
    '<robot name="cheetah3_leg"><link name="body"/><link name="abduction"/><link name="hip"/>'
    '<link name="knee"/>'
    + joint('abduction_joint', 'body', 'abduction', '1 0 0', '0 0 0')
    + joint('hip_joint', 'abduction', 'hip', '0 1 0', '0 0.045 0', f'0 0 {np.pi!r}')
    + joint('knee_joint', 'hip', 'knee', '0 1 0', '0 0 -0.342') + '</robot>'
)


@pytest.fixture(scope='module')
def leg(shared_data):
    prior = np.loadtxt(shared_data / 'cheetah3_leg_reference' / 'pi_prior.csv', delimiter=',')
    ours = prior[COLUMNS].T
    rotors = [
        GearedRotor('rotor1', 'abduction_joint', RATIO, 'body', (0.0, -0.128, 0.0),
                    axis=(1.0, 0.0, 0.0), inertial=tuple(ours[3])),
        GearedRotor('rotor2', 'hip_joint', RATIO, 'abduction', (0.0, 0.045, 0.0),
                    (0.0, 0.0, np.pi), (0.0, 1.0, 0.0), tuple(ours[4])),
        GearedRotor('rotor3', 'knee_joint', RATIO, 'hip', axis=(0.0, 1.0, 0.0),
                    inertial=tuple(ours[5])),
    ]
    return RobotModel.from_urdf(URDF).with_rotors(rotors)


@pytest.fixture(scope='module')
def samples(shared_data):
    return np.loadtxt(
        shared_data / 'cheetah3_leg_reference' / 'regressor_samples.csv', delimiter=',')


def test_the_regressor_is_that_of_the_five_reference_rows(leg, samples):
    q, v, a = samples[:, :3], samples[:, 3:6], samples[:, 6:9]
    reference = samples[:, 9:].reshape(5, 3, 6, 10)[..., COLUMNS]
    assert leg.body_names == ('abduction', 'hip', 'knee', 'rotor1', 'rotor2', 'rotor3')
    found = inertial_regressor(leg, q, v, a).reshape(5, 3, 6, 10)
    assert np.abs(found - reference).max() <= TOLERANCE


def test_the_rotors_of_the_cad_prior_are_real_bodies(leg):
    assert is_consistent(leg.inertial_prior[3:])
