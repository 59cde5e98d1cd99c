"""URDFs for MuJoCo: locked joints stand where the description's loader puts them."""

import numpy as np
import pinocchio as pin
import pytest

from sysid_ros.demo.true_robot import Deviations
from sysid_ros.errors import ModelError
from sysid_ros.robot.model import RobotModel

pytest.importorskip('mujoco')

from sysid_ros.demo.mujoco_plant import Plant  # noqa: E402

INERTIAL = """<inertial><origin xyz="{x} 0.02 0.1"/><mass value="{mass}"/>
  <inertia ixx="0.02" ixy="0.001" ixz="0" iyy="0.03" iyz="0" izz="0.02"/></inertial>"""
MESH = '<collision><geometry><mesh filename="package://nowhere/arm.stl"/></geometry></collision>'


def link(name, x, mass):
    return f'<link name="{name}">{INERTIAL.format(x=x, mass=mass)}{MESH}</link>'


def joint(name, kind, parent, child, axis, more=''):
    return (f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
            f'<origin xyz="0.1 0.2 0.3" rpy="0.3 -0.2 0.5"/><axis xyz="{axis}"/>{more}'
            '<limit lower="-2" upper="2" velocity="2" effort="50"/></joint>')


# Between the moving ends one joint turns, one slides, and one follows the first of them.
ARM = '<robot name="arm">' + ''.join([
    '<link name="base"/>', link('a', 0.0, 2.0), link('b', 0.05, 1.5), link('c', 0.1, 1.0),
    link('d', 0.0, 0.8), link('e', 0.02, 0.5),
    joint('shoulder', 'revolute', 'base', 'a', '0 1 0'),
    joint('turned', 'revolute', 'a', 'b', '1 2 0'),
    joint('slid', 'prismatic', 'b', 'c', '0 0 1'),
    joint('follower', 'revolute', 'c', 'd', '1 0 0', '<mimic joint="turned" multiplier="-0.5"/>'),
    joint('wrist', 'revolute', 'd', 'e', '1 0 0')]) + '</robot>'


def test_a_plant_with_locked_joints_accelerates_as_pinocchio_says(rng):
    robot = RobotModel.from_urdf(ARM, locked_joints={'turned': 0.7, 'slid': -0.15})
    assert robot.joint_names == ('shoulder', 'wrist')
    plant = Plant.of(robot, Deviations().of(robot), timestep=1e-5)
    model = robot.pinocchio_model
    data = model.createData()
    for _ in range(5):
        q, tau = rng.uniform(-1.5, 1.5, 2), rng.uniform(-3.0, 3.0, 2)
        plant.reset(q)
        plant.step(tau)
        expected = pin.aba(model, data, q, np.zeros(2), tau)
        assert plant.v / 1e-5 == pytest.approx(expected, rel=1e-3, abs=1e-2)


def test_joints_that_follow_one_that_moves_are_refused_by_name():
    robot = RobotModel.from_urdf(ARM)
    with pytest.raises(ModelError, match='follow others.*follower.*Lock the joint'):
        Plant.of(robot, Deviations().of(robot))


def test_locked_joints_of_an_mjcf_are_refused(project):
    robot = RobotModel.from_mjcf(
        '<mujoco><worldbody><body name="a"><joint name="one" axis="0 1 0"/>'
        '<inertial mass="1" pos="0 0 1" diaginertia="1 1 1"/><body name="b"><joint name="two"/>'
        '<inertial mass="1" pos="0 0 1" diaginertia="1 1 1"/></body></body></worldbody></mujoco>',
        locked_joints=['two'])
    with pytest.raises(ModelError, match='found two.*Make them fixed joints'):
        Plant.of(robot, Deviations().of(robot))


def test_masses_that_no_body_has_do_not_keep_mujoco_from_loading():
    text = ARM.replace('ixx="0.02"', 'ixx="1.0"')
    robot = RobotModel.from_urdf(text, locked_joints={'turned': 0.0, 'slid': 0.0})
    assert robot.replaced_priors
    plant = Plant.of(robot, Deviations().of(robot))
    plant.reset(np.zeros(2))
    assert np.isfinite(plant.torque_for(np.ones(2))).all()
