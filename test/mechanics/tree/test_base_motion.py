"""Floating bases: Pinocchio's free flyer and MuJoCo's free joint give the same rows."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from sysid_ros.errors import ModelError, ParameterError
from sysid_ros.mechanics.base_parameters import base_parameters
from sysid_ros.mechanics.joint_terms.terms import ViscousFriction
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.mechanics.tree.base_motion import BaseMotion, floating_base_regressor
from sysid_ros.release.description_export import export_description, verify_export
from sysid_ros.robot.description.urdf import kinematic_description
from sysid_ros.robot.floating_base import with_floating_base
from sysid_ros.robot.inertia import inertial_parameters
from sysid_ros.robot.model import RobotModel

GRAVITY = np.array([0.3, -0.2, -9.7])
TRUNK = (
    '<link name="link0"><inertial><origin xyz="0.1 0.02 -0.1" rpy="0.3 0 0.1"/><mass value="3"/>'
    '<inertia ixx="0.05" ixy="0.001" ixz="0.002" iyy="0.04" iyz="0.003" izz="0.03"/></inertial>'
    '</link>'
)


def free_flyer(robot):
    """Pinocchio's model of a URDF on a free base."""
    model = pin.buildModelFromXML(
        kinematic_description(robot.description), pin.JointModelFreeFlyer())
    model.gravity.linear = GRAVITY
    return model


def random_state(robot, model, rng):
    """A state for Pinocchio, the joint motion, and the motion of the base for us."""
    joints = len(robot.joint_names)
    turn = pin.Quaternion(*(x := rng.normal(size=4)) / np.linalg.norm(x))
    orientation = turn.toRotationMatrix()
    v, a = rng.normal(size=(2, model.nv))
    q = np.concatenate([rng.normal(size=3), turn.coeffs(), rng.normal(size=joints)])
    # Pinocchio counts both in body axes; its accelerations are spatial ones.
    felt = a[:3] + np.cross(v[3:6], v[:3])
    base = BaseMotion.from_world(
        orientation[None], (orientation @ v[3:6])[None], (orientation @ a[3:6])[None],
        (orientation @ felt)[None], tuple(GRAVITY),
    )
    return (q, v, a), tuple(x[None, -joints:] for x in (q, v, a)), base


@pytest.mark.parametrize('seed', range(15))
def test_rows_are_those_of_a_free_flyer(random_urdf, seed):
    text = random_urdf(seed, 6).replace('<link name="link0"/>', TRUNK)
    robot = RobotModel.from_urdf(text)
    floating, model = with_floating_base(robot), free_flyer(robot)
    data = model.createData()
    rng = np.random.default_rng(seed)
    for _ in range(3):
        state, joints, base = random_state(robot, model, rng)
        rows = floating_base_regressor(floating, *joints, base)[0]
        assert rows.shape == (6 + len(robot.joint_names), 10 * (1 + len(robot.body_names)))
        expected = pin.rnea(model, data, *state)
        np.testing.assert_allclose(
            rows @ floating.inertial_prior.ravel(), expected, rtol=0, atol=1e-10)
        np.testing.assert_allclose(
            rows, pin.computeJointTorqueRegressor(model, data, *state), rtol=0, atol=1e-10)


def test_rows_are_those_of_a_free_joint_in_mujoco():
    mujoco = pytest.importorskip('mujoco')
    text = (
        '<mujoco><option gravity="0.3 -0.2 -9.7"/><worldbody><geom type="plane" size="1 1 1"/>'
        '<body name="trunk" pos="0 0 1" euler="10 20 30"><freejoint name="root"/>'
        '<geom type="box" size="0.1 0.2 0.05" pos="0.02 0 0"/>'
        '<body name="leg" pos="0.1 0 0"><joint name="hip" axis="0 1 0" pos="0 0 0.02"/>'
        '<joint name="hip2" axis="1 0 0"/><geom type="capsule" size="0.03" '
        'fromto="0 0 0 0 0 -0.3"/></body></body></worldbody></mujoco>'
    )
    floating = with_floating_base(RobotModel.from_mjcf(text))
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    rng = np.random.default_rng(0)
    for _ in range(5):
        turn = rng.normal(size=4)
        data.qpos[:] = [*rng.normal(size=3), *(turn / np.linalg.norm(turn)), *rng.normal(size=2)]
        data.qvel[:] = rng.normal(size=model.nv)
        mujoco.mj_fwdPosition(model, data)
        mujoco.mj_fwdVelocity(model, data)
        data.qacc[:] = rng.normal(size=model.nv)
        expected = np.empty(model.nv)
        mujoco.mj_rne(model, data, 1, expected)
        # MuJoCo: linear in world axes, angular in body axes.
        orientation = data.xmat[1].reshape(3, 3)
        base = BaseMotion.from_world(
            orientation[None], (orientation @ data.qvel[3:6])[None],
            (orientation @ data.qacc[3:6])[None], data.qacc[None, :3], tuple(GRAVITY))
        joints = (data.qpos[None, 7:], data.qvel[None, 6:], data.qacc[None, 6:])
        found = floating_base_regressor(floating, *joints, base)[0]
        found = found @ floating.inertial_prior.ravel()
        found[:3] = orientation @ found[:3]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


def test_an_imu_off_the_origin_tells_the_same_motion():
    rng = np.random.default_rng(1)
    omega, alpha, felt = rng.normal(size=(3, 20, 3))
    pose = np.eye(4)
    pose[:3, :3] = pin.exp3(rng.normal(size=3))
    pose[:3, 3] = rng.normal(size=3)
    # Differentiating the position of the unit in a frame that moves: a + α×r + ω×(ω×r).
    there = felt + np.cross(alpha, pose[:3, 3]) + np.cross(omega, np.cross(omega, pose[:3, 3]))
    found = BaseMotion.from_imu(*(x @ pose[:3, :3] for x in (omega, alpha, there)), pose)
    np.testing.assert_allclose(found.proper_acceleration, felt, atol=1e-12)
    np.testing.assert_allclose(found.angular_velocity, omega, atol=1e-12)


def test_a_base_at_rest_leaves_the_joint_rows_as_they_were(random_urdf):
    robot = RobotModel.from_urdf(random_urdf(3, 5), gravity=tuple(GRAVITY))
    floating = with_floating_base(robot)
    q, v, a = np.random.default_rng(0).normal(size=(3, 8, len(robot.joint_names)))
    still = np.zeros((8, 3))
    base = BaseMotion(still, still, still - GRAVITY)
    rows = floating_base_regressor(floating, q, v, a, base)
    model = TorqueModel(robot)
    np.testing.assert_allclose(rows[:, 6:, 10:], model.regressor(q, v, a), atol=1e-12)
    assert not rows[:, 6:, :10].any()


def test_joint_terms_leave_the_joints_of_the_base_alone(random_urdf):
    floating = with_floating_base(RobotModel.from_urdf(random_urdf(3, 5)))
    names = TorqueModel(floating, [ViscousFriction()]).parameters.names
    terms = [name for name in names if name.endswith('viscous_friction')]
    assert terms == [f'{joint}.viscous_friction' for joint in floating.joint_names[6:]]
    assert floating.joint_names[:6] == floating.base_joints
    assert floating.base_joints[0] == 'link0.force_x'


def test_the_base_adds_its_own_base_parameters(random_urdf):
    robot = RobotModel.from_urdf(random_urdf(5, 4).replace('<link name="link0"/>', TRUNK))
    fixed = base_parameters(TorqueModel(robot)).rank
    floating = base_parameters(TorqueModel(with_floating_base(robot)))
    # Every body of a floating tree shows: ten of the base, and at most ten of each joint's.
    assert floating.rank > fixed + 10 - 1
    assert {f'link0.{name}' for name in ('mass', 'inertia_xx')} <= {
        floating.names[k] for k in floating.independent}


def test_an_export_writes_the_base_link_too(random_urdf):
    robot = RobotModel.from_urdf(random_urdf(2, 4).replace('<link name="link0"/>', TRUNK))
    floating = with_floating_base(robot)
    parameters = TorqueModel(floating).parameters
    values = parameters.values.copy()
    values[:10] = inertial_parameters(5.0, np.array([0.0, 0.1, 0.2]), 0.1 * np.eye(3))
    changed = parameters.with_values(values)
    export = export_description(floating, changed)
    assert export.links == ('link0',)
    assert verify_export(floating, changed, export) < 1e-9
    assert RobotModel.from_urdf(export.xml.decode()).base_inertial[0] == pytest.approx(5.0)


def test_what_does_not_float_is_refused(random_urdf):
    robot = RobotModel.from_urdf(random_urdf(3, 5))
    joints = np.zeros((3, 2, len(robot.joint_names)))
    base = BaseMotion(*np.zeros((3, 2, 3)))
    with pytest.raises(ParameterError, match='does not float'):
        floating_base_regressor(robot, *joints, base)
    floating = with_floating_base(robot)
    with pytest.raises(ModelError, match='floats already'):
        with_floating_base(floating)
    with pytest.raises(ParameterError, match='joints and base have other samples'):
        floating_base_regressor(floating, *joints[:, :1], base)
    standing = '<mujoco><worldbody><body name="a"><joint name="j"/><geom size="1"/></body>' \
        '</worldbody></mujoco>'
    with pytest.raises(ModelError, match='the base of this MJCF is the world'):
        with_floating_base(RobotModel.from_mjcf(standing))


@pytest.mark.parametrize(('change', 'message'), [
    ({'angular_velocity': np.zeros((3, 2))}, 'angular_velocity: .*wrong shape'),
    ({'proper_acceleration': np.zeros((2, 3))}, 'proper_acceleration: .*wrong shape'),
    ({'angular_acceleration': np.full((3, 3), np.nan)}, 'angular_acceleration: .*not finite'),
])
def test_base_motion_that_cannot_be_is_refused(change, message):
    good = dict.fromkeys(
        ('angular_velocity', 'angular_acceleration', 'proper_acceleration'), np.zeros((3, 3)))
    with pytest.raises(ParameterError, match=message):
        BaseMotion(**(good | change))
    with pytest.raises(ParameterError, match='orientation of the base cannot be used'):
        BaseMotion.from_world(np.ones((3, 3, 3)), *np.zeros((3, 3, 3)))
