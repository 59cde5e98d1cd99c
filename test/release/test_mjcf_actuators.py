"""Actuators of an exported MJCF make in MuJoCo the torques that were identified."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from sysid_ros.mechanics.actuators.actuators import Actuators, JointActuator
from sysid_ros.mechanics.actuators.kinds import KINDS, kind_named
from sysid_ros.mechanics.joint_terms.terms import CoulombFriction
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.release.description_export import export_description
from sysid_ros.robot.model import RobotModel

ARM = """<mujoco model="arm"><compiler angle="radian"/><worldbody>
<body name="upper"><joint name="hinge" axis="0 1 0"/>
<inertial pos="0 0 0.1" mass="1" diaginertia="0.01 0.01 0.01"/>
<body name="fore" pos="0 0 0.2"><joint name="slide" type="slide" axis="0 0 1"/>
<inertial pos="0 0 0.1" mass="1" diaginertia="0.01 0.01 0.01"/></body></body>
</worldbody>{}</mujoco>"""
DESCRIBED = '<actuator><motor name="drive" joint="hinge" gear="7" ctrlrange="-1 1"/></actuator>'
LIMIT = 5.0
# Command, position and velocity: within the limit of no kind, and beyond that of all.
SMALL, LARGE = (0.13, 0.11, 0.1), (40.0, 0.1, 0.2)


@pytest.mark.parametrize('kind', KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize('described', ['', DESCRIBED])
def test_mujoco_makes_the_torque_of_the_kind_within_its_limit(tmp_path, kind, described):
    (tmp_path / 'arm.xml').write_text(ARM.format(described))
    robot = RobotModel.from_description(tmp_path / 'arm.xml')
    constants = tuple(np.linspace(1.3, 2.1, len(kind.constants)).tolist())
    actuators = Actuators(tuple(
        JointActuator(joint, kind, constants, LIMIT) for joint in robot.joint_names))
    parameters = TorqueModel(robot, [actuators]).parameters
    xml = export_description(robot, parameters, actuators=actuators).xml.decode()
    model = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(model)
    p = (*constants, *(0.0,) * (5 - len(constants)))
    for u, q, v in (SMALL, LARGE):
        expected = float(np.clip(kind.law(u, q, v, p)[0], -LIMIT, LIMIT))
        data.ctrl[:], data.qpos[:], data.qvel[:] = u, q, v
        mujoco.mj_forward(model, data)
        np.testing.assert_allclose(data.qfrc_actuator, expected, rtol=1e-12)
    assert model.nu == len(robot.joint_names)
    assert {mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_ACTUATOR, k) for k in range(2)} == {
        'drive' if described else 'hinge', 'slide'}


@pytest.mark.parametrize('kind', KINDS, ids=lambda kind: kind.name)
def test_mujoco_filters_commands_with_the_time_constant_that_was_found(tmp_path, kind):
    (tmp_path / 'arm.xml').write_text(ARM.format(DESCRIBED))
    robot = RobotModel.from_description(tmp_path / 'arm.xml')
    constants = tuple(np.linspace(1.3, 2.1, len(kind.constants)).tolist())
    actuators = Actuators(
        tuple(JointActuator(joint, kind, constants, LIMIT) for joint in robot.joint_names),
        time_constant=0.05)
    parameters = TorqueModel(robot, [actuators]).parameters
    found = export_description(robot, parameters, actuators=actuators)
    model = mujoco.MjModel.from_xml_string(found.xml.decode())
    assert not any('time_constant' in note for note in found.notes)
    data, p = mujoco.MjData(model), (*constants, *(0.0,) * (5 - len(constants)))
    data.ctrl[:] = 1.0
    for _ in range(20):
        mujoco.mj_step(model, data)
    # What a filter of first order that began at rest has come to.
    told = 1.0 - np.exp(-data.time / 0.05)
    np.testing.assert_allclose(data.act, told, rtol=1e-9)
    data.qpos[:], data.qvel[:] = 0.11, 0.1
    mujoco.mj_forward(model, data)
    expected = float(np.clip(kind.law(told, 0.11, 0.1, p)[0], -LIMIT, LIMIT))
    np.testing.assert_allclose(data.qfrc_actuator, expected, rtol=1e-9)


def exported(folder, softness, friction):
    """The hinge of an arm under a servo in MuJoCo, with friction that was identified."""
    text = ARM.format('').replace(
        'axis="0 1 0"', f'axis="0 0 1" frictionloss="{friction}" {softness}')
    (folder / 'arm.xml').write_text(text)
    robot = RobotModel.from_description(folder / 'arm.xml')
    servo = kind_named('position_servo')
    actuators = Actuators(tuple(
        JointActuator(joint, servo, (20.0, 1.0)) for joint in robot.joint_names))
    parameters = TorqueModel(robot, [CoulombFriction(), actuators]).parameters
    return mujoco.MjModel.from_xml_string(
        export_description(robot, parameters, actuators=actuators).xml.decode())


def test_dry_friction_holds_a_joint_against_less_torque_than_it_has(tmp_path):
    model = exported(tmp_path, '', 0.5)
    data = mujoco.MjData(model)
    # 0.4 N·m of the drive, for 2 s; soft friction of MuJoCo's defaults gives way by 0.03 rad.
    data.ctrl[0] = 0.4 / 20.0
    mujoco.mj_step(model, data, round(2.0 / model.opt.timestep))
    assert abs(data.qpos[0]) < 1e-3


def test_softness_of_friction_that_is_described_stays(tmp_path):
    model = exported(tmp_path, 'solreffriction="0.01 1"', 0.5)
    np.testing.assert_array_equal(model.dof_solref[0, :2], [0.01, 1.0])
    np.testing.assert_array_equal(model.dof_solimp[0, :2], [0.9, 0.95])


@pytest.mark.parametrize('limit', [np.inf, 6.0, 2.0])
def test_torque_that_falls_with_speed_is_written_as_that_at_rest_and_said(tmp_path, limit):
    (tmp_path / 'arm.xml').write_text(ARM.format(''))
    robot = RobotModel.from_description(tmp_path / 'arm.xml')
    drives = [
        JointActuator('hinge', kind_named('position_servo'), (20.0, 1.0), limit,
                      ('stall_torque',), 9.0, 12.0),
        JointActuator('slide', kind_named('torque'), (), 3.0)]
    actuators = Actuators(tuple(drives))
    parameters = TorqueModel(robot, [actuators]).parameters
    values = parameters.values.copy()
    values[parameters.index('hinge.stall_torque')] = 4.0
    found = export_description(robot, parameters.with_values(values), actuators=actuators)
    model = mujoco.MjModel.from_xml_string(found.xml.decode())
    assert model.actuator('hinge').forcerange[1] == min(limit, 4.0)
    assert model.actuator('slide').forcerange[1] == 3.0
    note, = [note for note in found.notes if 'falls with speed' in note]
    assert '"hinge" (from 4 at rest to none at 12)' in note and 'slide' not in note
