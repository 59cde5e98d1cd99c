"""The gradient of weighted regressors against differences that make no error of their own."""

from __future__ import annotations

import numpy as np
import pytest

from support import kernel_caches as caches
from support.golden_problems import arm_urdf
from support.robot_factory import random_urdf
from sysid_ros.errors import ParameterError
from sysid_ros.mechanics.joint_terms.drive_gain import DriveGain
from sysid_ros.mechanics.joint_terms.load_friction import LoadFriction
from sysid_ros.mechanics.joint_terms.term import JointTerm
from sysid_ros.mechanics.joint_terms.terms import (
    Armature,
    AsymmetricCoulombFriction,
    CoulombFriction,
    CoupledAxis,
    PowerLawFriction,
    SmoothCoulombFriction,
    Stiffness,
    StribeckFriction,
    TorqueOffset,
    ViscousFriction,
)
from sysid_ros.mechanics.regressor import regressor_adjoint
from sysid_ros.mechanics.regressor.regressor import inertial_regressor
from sysid_ros.mechanics.regressor.regressor_adjoint import regressor_gradient
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.robot.model import GearedRotor, RobotModel

AXIS = (('axis', (('waist', 1.0), ('wrist', -2.0))),)
ROTOR = GearedRotor('motor', joint='elbow', ratio=20.0, link='shoulder', inertial=(1.0,) * 10)

_INERTIAL = '<inertial pos="0.1 0.2 0" mass="1" diaginertia="0.1 0.1 0.1"/>'
TWO_JOINTS_IN_A_ROW = (
    f'<mujoco><worldbody><body name="first"><joint name="lift" type="slide"/>'
    f'<joint name="yaw"/>{_INERTIAL}<body name="second" pos="0 0 0.4">'
    f'<joint name="roll" axis="1 0 0"/>{_INERTIAL}</body></body></worldbody></mujoco>'
)


def robots() -> list[RobotModel]:
    trees = [RobotModel.from_urdf(random_urdf(seed, 6)) for seed in range(8)]
    arm = RobotModel.from_urdf(arm_urdf(mimic=True))
    return [*trees, arm, arm.with_rotors([ROTOR]), RobotModel.from_mjcf(TWO_JOINTS_IN_A_ROW)]


@pytest.mark.parametrize('robot', robots(), ids=lambda robot: f'{len(robot.body_names)} bodies')
def test_it_is_the_derivative_of_the_weighted_sum(robot: RobotModel) -> None:
    rng = np.random.default_rng(0)
    samples, joints = 3, len(robot.joint_names)
    q, v, a = rng.normal(size=(3, samples, joints))
    weights = rng.normal(size=(samples, joints, 10 * len(robot.body_names)))

    def function(q: np.ndarray, v: np.ndarray, a: np.ndarray) -> float:
        return float(np.sum(weights * inertial_regressor(robot, q, v, a)))

    motion = (q, v, a)
    for k, gradient in enumerate(regressor_gradient(robot, *motion, weights)):
        direction = rng.normal(size=q.shape)
        step = 1e-5 if k == 0 else 1.0  # in v and a a central difference is exact

        def moved(sign: float, k: int = k, step: float = step,
                  direction: np.ndarray = direction) -> float:
            changed = [x + sign * step * direction * (i == k) for i, x in enumerate(motion)]
            return function(*changed)

        expected = (moved(1.0) - moved(-1.0)) / (2.0 * step)
        size = np.linalg.norm(gradient) * np.linalg.norm(direction)
        assert abs(np.sum(gradient * direction) - expected) <= 1e-8 * size


def test_arrays_that_do_not_belong_together_are_refused() -> None:
    robot = RobotModel.from_urdf(arm_urdf())
    q = np.zeros((4, 3))
    with pytest.raises(ParameterError, match='do not belong together'):
        regressor_gradient(robot, q, q, q, np.zeros((4, 3, 10)))


@pytest.mark.parametrize('term', [
    ViscousFriction(), CoulombFriction(smoothing=0.3), CoulombFriction(), TorqueOffset(),
    Armature(('elbow',)), Stiffness(), CoupledAxis('axis', (('waist', 1.0), ('wrist', -2.0)), 0.5),
    CoupledAxis('axis', (('waist', 1.0), ('wrist', -2.0)), dry=False),
    AsymmetricCoulombFriction(smoothing=0.3), SmoothCoulombFriction(axes=AXIS), LoadFriction(),
    StribeckFriction(axes=AXIS, smoothing=0.2), StribeckFriction(smoothing=None, exponent=0.7),
    PowerLawFriction(('elbow',), AXIS), LoadFriction(('waist', 'wrist'), smoothing=0.3),
    DriveGain(),
], ids=lambda term: type(term).__name__)
def test_the_terms_take_part(term: JointTerm) -> None:
    rng = np.random.default_rng(1)
    robot = RobotModel.from_urdf(arm_urdf())
    motion = rng.normal(size=(3, 4, 3))
    weights = rng.normal(size=term.columns(robot, *motion).shape)
    direction, step = rng.normal(size=motion.shape), 1e-6

    def function(sign: float) -> float:
        return float(np.sum(weights * term.columns(robot, *(motion + sign * step * direction))))

    gradient = term.gradient(robot, *motion, weights)
    difference = (function(1.0) - function(-1.0)) / (2.0 * step)
    assert np.sum(gradient * direction) == pytest.approx(difference, rel=1e-7, abs=1e-8)


def test_the_gradient_of_a_model_covers_all_its_columns_and_drive_gains() -> None:
    rng = np.random.default_rng(2)
    terms = [CoulombFriction(smoothing=0.4), Armature(), DriveGain(('elbow', 'wrist'))]
    model = TorqueModel(RobotModel.from_urdf(arm_urdf()), terms)
    gains = {'elbow.drive_gain': 0.7, 'wrist.drive_gain': 2.5}
    model = model.at(model.parameters.with_values(gains).values)
    motion = rng.normal(size=(3, 5, 3))
    weights = rng.normal(size=(5, 3, len(model.parameters)))
    direction, step = rng.normal(size=motion.shape), 1e-6

    def function(sign: float) -> float:
        return float(np.sum(weights * model.regressor(*(motion + sign * step * direction))))

    gradient = np.array(model.regressor_gradient(*motion, weights))
    difference = (function(1.0) - function(-1.0)) / (2.0 * step)
    assert np.sum(gradient * direction) == pytest.approx(difference, rel=1e-7)


def test_the_cache_of_the_gradient_looks_at_the_files_it_calls():
    caches.assert_cache_looks_at_its_sources(regressor_adjoint, regressor_adjoint.fill_gradients)
