"""MJCF descriptions as rigid robots, compared with the dynamics of MuJoCo."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pinocchio as pin
import pytest

from sysid_ros.errors import ModelError, ParameterError
from sysid_ros.mechanics.joint_terms.terms import Armature, Stiffness, TorqueOffset, ViscousFriction
from sysid_ros.mechanics.regressor.regressor import inertial_regressor
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.robot.model import RobotModel

mujoco = pytest.importorskip('mujoco')

ARM = """\
<mujoco model="arm">
  <compiler angle="radian"/>
  <option gravity="0 0 -9.81"/>
  <worldbody>
    <geom type="plane" size="1 1 1"/>
    <body name="upper" pos="0 0 0.3">
      <joint name="shoulder" axis="0 1 0" range="-2 2" damping="0.4" frictionloss="0.3"/>
      <inertial pos="0.02 0 0.12" mass="1.5" diaginertia="0.012 0.012 0.002"/>
      <body name="fore" pos="0 0 0.25" euler="0.1 0.2 0.3">
        <joint name="elbow" axis="0 1 0" pos="0.01 0 0.02" ref="0.4" armature="0.05"
               stiffness="2" springref="0.1"/>
        <geom type="capsule" size="0.03" fromto="0 0 0 0 0 0.2" mass="0.8"/>
        <body name="hand" pos="0 0 0.2"><geom type="box" size="0.02 0.04 0.05"/></body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor joint="shoulder" gear="-50" ctrlrange="-1 1"/>
    <position joint="elbow" kp="100" forcerange="-7 9"/>
  </actuator>
</mujoco>
"""


def rigid_torques(model, q, v, a):
    """MuJoCo's inverse dynamics of the bodies alone, shape ``(T, nv)``."""
    data = mujoco.MjData(model)
    torques = np.empty_like(v)
    for k in range(len(v)):
        data.qpos[:], data.qvel[:] = q[k], v[k]
        mujoco.mj_fwdPosition(model, data)
        mujoco.mj_fwdVelocity(model, data)
        data.qacc[:] = a[k]
        mujoco.mj_rne(model, data, 1, torques[k])
    return torques


def passive_torques(model, q, v, a):
    """MuJoCo's inverse dynamics with springs, damping and armature, shape ``(T, nv)``."""
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    data = mujoco.MjData(model)
    torques = np.empty_like(v)
    for k in range(len(v)):
        data.qpos[:], data.qvel[:], data.qacc[:] = q[k], v[k], a[k]
        mujoco.mj_inverse(model, data)
        torques[k] = data.qfrc_inverse
    return torques


def columns_of(robot, model):
    names = [model.joint(k).name for k in range(model.njnt)]
    return [names.index(name) for name in robot.joint_names]


@pytest.mark.parametrize('seed', range(25))
def test_torques_are_those_of_mujoco_on_random_models(random_mjcf, seed):
    text = random_mjcf(seed, 7)
    model, robot = mujoco.MjModel.from_xml_string(text), RobotModel.from_mjcf(text)
    order = columns_of(robot, model)
    assert sorted(order) == list(range(model.nv))
    q, v, a = np.random.default_rng(seed).normal(size=(3, 5, model.nv))
    expected = rigid_torques(model, q, v, a)
    found = inertial_regressor(robot, q[:, order], v[:, order], a[:, order])
    np.testing.assert_allclose(
        found @ robot.inertial_prior.ravel(), expected[:, order], rtol=0, atol=1e-9)
    data = robot.pinocchio_model.createData()
    by_pinocchio = [
        pin.rnea(robot.pinocchio_model, data, *(x[k, order] for x in (q, v, a)))
        for k in range(len(q))
    ]
    np.testing.assert_allclose(by_pinocchio, expected[:, order], rtol=0, atol=1e-9)


@pytest.mark.parametrize('seed', range(10))
def test_springs_damping_and_armature_are_priors_that_give_the_torques_of_mujoco(
        random_mjcf, seed):
    text = random_mjcf(seed, 5)
    model, robot = mujoco.MjModel.from_xml_string(text), RobotModel.from_mjcf(text)
    order = columns_of(robot, model)
    q, v, a = np.random.default_rng(seed).normal(size=(3, 4, model.nv))
    expected = passive_torques(model, q, v, a)[:, order]
    terms = TorqueModel(robot, [ViscousFriction(), TorqueOffset(), Armature(), Stiffness()])
    prior = terms.parameters.prior.copy()
    prior[:robot.inertial_prior.size] = robot.inertial_prior.ravel()
    found = terms.torque(prior, q[:, order], v[:, order], a[:, order])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


def test_limits_friction_and_gravity_are_read():
    robot = RobotModel.from_description(ARM)
    assert robot.name == 'arm' and robot.description.format == 'mjcf'
    assert robot.joint_names == ('shoulder', 'elbow')
    assert robot.joint_types == ('revolute', 'continuous')
    assert robot.body_names == ('upper', 'fore')
    assert [link.name for link in robot.links] == ['upper', 'fore', 'hand']
    np.testing.assert_array_equal(robot.limits.lower, [-2.0, -np.inf])
    np.testing.assert_array_equal(robot.limits.effort, [50.0, 9.0])
    assert np.isnan(robot.limits.velocity).all()
    shoulder, elbow = robot.described_joints.values()
    assert (shoulder.damping, shoulder.friction) == (0.4, 0.3)
    assert (elbow.armature, elbow.stiffness, elbow.rest) == (0.05, 2.0, 0.1)
    np.testing.assert_array_equal(robot.gravity, [0.0, 0.0, -9.81])
    tilted = RobotModel.from_mjcf(ARM.replace('gravity="0 0 -9.81"', 'gravity="1 2 3"'))
    np.testing.assert_array_equal(tilted.gravity, [1.0, 2.0, 3.0])
    held = RobotModel.from_mjcf(ARM, gravity=(0.0, 1.0, 0.0))
    np.testing.assert_array_equal(held.gravity, [0.0, 1.0, 0.0])
    weightless = ARM.replace('gravity="0 0 -9.81"/>', '><flag gravity="disable"/></option>')
    assert not RobotModel.from_mjcf(weightless).gravity.any()


def test_a_range_is_a_limit_where_the_file_says_so():
    def lower(words):
        text = ARM.replace('range="-2 2"', words)
        return RobotModel.from_mjcf(text).limits.lower[0]

    assert lower('range="-2 2" limited="false"') == -np.inf
    assert lower('range="-2 2" limited="true"') == -2.0
    assert lower('range="-30 30"').round(6) == -30.0
    degrees = ARM.replace('angle="radian"', '').replace('range="-2 2"', 'range="-30 30"')
    assert RobotModel.from_mjcf(degrees).limits.lower[0] == pytest.approx(-np.pi / 6)


def test_a_joint_that_another_one_drives_becomes_a_coupling():
    equality = '<equality><joint joint1="elbow" joint2="shoulder" polycoef="0.1 -2"/></equality>'
    text = ARM.replace('</worldbody>', f'</worldbody>{equality}')
    robot, model = RobotModel.from_mjcf(text), mujoco.MjModel.from_xml_string(text)
    assert robot.joint_names == ('shoulder',)
    q, v, a = np.random.default_rng(0).normal(size=(3, 6, 1))
    # MuJoCo counts both joints from their reference positions.
    ratio = np.array([[1.0, -2.0]])
    tree = rigid_torques(model, q @ ratio + [0.0, 0.4 + 0.1], v @ ratio, a @ ratio)
    found = inertial_regressor(robot, q, v, a) @ robot.inertial_prior.ravel()
    np.testing.assert_allclose(found, tree @ ratio.T, atol=1e-9)


def test_a_joint_that_an_equality_holds_is_locked_there():
    equality = '<equality><joint joint1="elbow" polycoef="0.2"/></equality>'
    text = ARM.replace('</worldbody>', f'</worldbody>{equality}')
    robot = RobotModel.from_mjcf(text)
    assert robot.joint_names == ('shoulder',)
    assert dict(robot.locked_joints) == {'elbow': pytest.approx(0.6)}
    same = RobotModel.from_mjcf(ARM, locked_joints={'elbow': 0.6})
    np.testing.assert_allclose(robot.inertial_prior, same.inertial_prior, atol=1e-15)
    with pytest.raises(ModelError, match='holds the joint elsewhere'):
        RobotModel.from_mjcf(text, locked_joints={'elbow': 0.0})
    off = text.replace('joint1="elbow"', 'joint1="elbow" active="false"')
    assert len(RobotModel.from_mjcf(off).joint_names) == 2


@pytest.mark.parametrize('compiler', [
    'boundmass="2" boundinertia="0.01"', 'balanceinertia="true"', 'inertiafromgeom="true"',
    'inertiagrouprange="0 1"',
])
def test_masses_follow_the_compiler_as_in_mujoco(compiler):
    text = ARM.replace('<compiler ', f'<compiler {compiler} ').replace(
        'diaginertia="0.012 0.012 0.002"/>',
        'diaginertia="0.012 0.001 0.002"/><geom type="box" size="0.1 0.1 0.2" group="1"/>'
        '<geom size="0.5" group="2" name="big"/>',
    )
    if 'balance' not in compiler and 'true' not in compiler:
        text = text.replace('"0.012 0.001 0.002"', '"0.012 0.012 0.002"')
    if 'group' in compiler:
        text = text.replace('<inertial pos="0.02 0 0.12" mass="1.5" '
                            'diaginertia="0.012 0.012 0.002"/>', '')
    model = mujoco.MjModel.from_xml_string(text)
    robot = RobotModel.from_mjcf(text)
    q, v, a = np.random.default_rng(1).normal(size=(3, 6, 2))
    found = inertial_regressor(robot, q, v, a) @ robot.inertial_prior.ravel()
    np.testing.assert_allclose(found, rigid_torques(model, q, v, a), atol=1e-9)


def test_several_joints_of_one_body_carry_one_set_of_parameters():
    text = ARM.replace('<joint name="shoulder"', '<joint name="lift" type="slide"/>'
                       '<joint name="yaw" axis="0 0 1" pos="0.1 0 0"/><joint name="shoulder"')
    robot = RobotModel.from_mjcf(text)
    assert robot.joint_names == ('lift', 'yaw', 'shoulder', 'elbow')
    assert robot.body_names == ('upper', 'fore')
    assert robot.tree.massless.tolist() == [True, True, False, False]
    assert robot.joint_of_body('upper') == 3
    assert TorqueModel(robot).regressor(*np.zeros((3, 2, 4))).shape == (2, 4, 20)
    locked = RobotModel.from_mjcf(text, locked_joints={'shoulder': 0.3, 'elbow': 0.0})
    assert locked.body_names == ('upper',) and locked.joint_names == ('lift', 'yaw')


def test_two_bodies_on_the_world_are_both_kept():
    second = '<body name="other"><joint name="alone"/><geom size="0.1"/></body></worldbody>'
    robot = RobotModel.from_mjcf(ARM.replace('</worldbody>', second))
    assert robot.joint_names == ('shoulder', 'elbow', 'alone')
    assert robot.tree.parent.tolist() == [-1, 0, -1]


def test_a_free_joint_is_refused_by_name_where_its_motion_is_not_known():
    text = ARM.replace('<body name="upper" pos="0 0 0.3">',
                       '<body name="trunk"><freejoint name="root"/><geom size="0.1"/>'
                       '<body name="upper" pos="0 0 0.3">').replace(
                           '</worldbody>', '</body></worldbody>')
    robot = RobotModel.from_mjcf(text)
    assert robot.free_joint == 'root' and robot.base_name == 'trunk'
    assert robot.base_inertial[0] == pytest.approx(4.0 / 3.0 * np.pi)
    with pytest.raises(
            ParameterError, match="the base floats.*'root'.*base: fixed.*with_floating_base"):
        inertial_regressor(robot, *np.zeros((3, 1, 2)))


def test_a_body_without_a_name_is_called_by_its_number():
    text = ARM.replace('name="hand"', '')
    robot = RobotModel.from_mjcf(text)
    assert robot.links[-1].name == 'body3'
    assert mujoco.MjModel.from_xml_string(text).nbody == 4


def test_each_format_refuses_the_other_by_name():
    urdf = '<robot name="r"><link name="a"/></robot>'
    with pytest.raises(ModelError, match='is not an MJCF .found root element <robot>; allowed <m'):
        RobotModel.from_mjcf(urdf)
    with pytest.raises(ModelError, match='is not a URDF .found root element <mujoco>'):
        RobotModel.from_urdf(ARM)
    with pytest.raises(ModelError, match='neither a URDF nor an MJCF'):
        RobotModel.from_description('<sdf/>')


def test_without_mujoco_it_is_said_how_to_get_it(tmp_path):
    (tmp_path / 'arm.xml').write_text(ARM)
    program = (
        'import sys; sys.modules["mujoco"] = None\n'
        'from sysid_ros.errors import ModelError\n'
        'from sysid_ros.robot.model import RobotModel\n'
        'try:\n'
        f'    RobotModel.from_description({str(tmp_path / "arm.xml")!r})\n'
        'except ModelError as error:\n'
        '    print(error)'
    )
    done = subprocess.run([sys.executable, '-c', program], capture_output=True, text=True)
    assert done.stdout.endswith(
        "an MJCF is read by MuJoCo, which is not installed. Run pip install 'sysid-ros[mjcf]'.\n")
