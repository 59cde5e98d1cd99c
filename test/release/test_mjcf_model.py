"""An MJCF made of a URDF moves in MuJoCo as the robot that was identified."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from support.drive_tables import ARM, FRICTION, LINK, table_of
from sysid_ros.mechanics.actuators.actuators import Actuators, JointActuator
from sysid_ros.mechanics.actuators.command import HeldCommand
from sysid_ros.mechanics.actuators.kinds import kind_named
from sysid_ros.mechanics.integrators.sensitivity import InputTrajectory, Simulator
from sysid_ros.mechanics.joint_terms.terms import Armature, ViscousFriction
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.release.drive_table import DriveTable
from sysid_ros.release.mjcf_model import mjcf_model
from sysid_ros.robot.model import RobotModel

mujoco = pytest.importorskip('mujoco')

STEP, DELAY = 5e-4, 0.006


@pytest.fixture
def robot(tmp_path):
    (tmp_path / 'arm.urdf').write_text(ARM.format(LINK, ''))
    return RobotModel.from_urdf(tmp_path / 'arm.urdf')


def loaded(text):
    model = mujoco.MjModel.from_xml_string(text)
    model.opt.timestep, model.opt.integrator = STEP, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    return model


def test_torques_in_mujoco_are_those_of_the_identified_robot(robot):
    table = table_of(robot)
    model = loaded(mjcf_model(table))
    expected = pin.Model(robot.pinocchio_model)
    for body in robot.body_names:
        expected.inertias[robot.joint_of_body(body)] = pin.Inertia.FromDynamicParameters(
            table.parameters.inertial(body))
    # Dry friction is a constraint, of which inverse dynamics would want to know the softness.
    model.dof_frictionloss[:] = 0.0
    model.jnt_limited[:] = 0
    data, other, rng = mujoco.MjData(model), expected.createData(), np.random.default_rng(0)
    damping = np.array([FRICTION[name][0] for name in robot.joint_names])
    for _ in range(20):
        q, v, a = rng.normal(size=(3, 3))
        data.qpos[:], data.qvel[:], data.qacc[:] = q, v, a
        mujoco.mj_inverse(model, data)
        torque = pin.rnea(expected, other, q, v, a) + damping * v + [0.0, 0.07 * a[1], 0.0]
        np.testing.assert_allclose(data.qfrc_inverse, torque, rtol=1e-9, atol=1e-9)


def test_friction_limits_and_actuators_come_back_exactly(robot):
    model = loaded(mjcf_model(table_of(robot)))
    for name, (damping, friction) in FRICTION.items():
        dof = model.joint(name).dofadr[0]
        assert (model.dof_damping[dof], model.dof_frictionloss[dof]) == (damping, friction)
    assert model.joint('shoulder').range.tolist() == [-1.0, 2.0]
    assert not model.joint('elbow').limited[0]
    servo = model.actuator('shoulder')
    assert (servo.gainprm[0], servo.biasprm[1], servo.biasprm[2]) == (40.0, -40.0, -1.5)
    assert servo.forcerange.tolist() == [-20.0, 20.0]
    # The limit of what has no actuator stays with its joint.
    assert model.jnt_actfrcrange[model.joint('slide').id].tolist() == [-80.0, 80.0]


def test_what_an_mjcf_cannot_hold_is_said_in_its_head(robot):
    text = mjcf_model(table_of(robot))
    head = ' '.join(text[text.index('<!--'):text.index('-->')].split())
    for said in ('MuJoCo from 3.5 on takes delay="0.006" nsample="N" at each actuator',
                 'shoulder: velocity limit 3', 'run 7'):
        assert said in head
    assert 'armature' not in head and 'friction' not in head


KINDS = {
    'position_servo': ((60.0, 2.0), 0.4), 'velocity_servo': ((6.0,), 1.5),
    'current': ((0.05, 20.0), 3.0), 'dc_motor': ((0.05, 0.8, 0.06, 15.0, 12.0), 0.3)}


@pytest.mark.parametrize('kind', KINDS)
def test_motion_under_commands_is_ours(robot, kind):
    """All kinds, with a delay that is pasted as the head says; steps of both leave 1e-3."""
    constants, size = KINDS[kind]
    actuators = Actuators(tuple(
        JointActuator(name, kind_named(kind), constants) for name in robot.joint_names), DELAY)
    model = TorqueModel(robot, [ViscousFriction(), Armature(), actuators])
    values = model.parameters.values.copy()
    for name, field, value in (
            (name, field, value) for name in robot.joint_names
            for field, value in (('viscous_friction', 0.8), ('armature', 0.08))):
        values[model.parameters.index(f'{name}.{field}')] = value
    t = np.arange(0.0, 0.4, 0.01)
    commands = HeldCommand(t, size * np.sin(np.array([11.0, 17.0, 7.0]) * t[:, None]))
    start, nodes = np.array([[0.2, -0.3, 0.15], [0.0, 0.0, 0.0]]), 81
    ours = Simulator(model, np.zeros(0, dtype=int), False, 10).run(values, [InputTrajectory(
        start, np.zeros((nodes, 3)), 0.005, commands, 0.0)])[0].states[:, 0]
    text = mjcf_model(DriveTable.of(
        robot, model.parameters.with_values(values), 'run 7', {}, actuators))
    theirs = loaded(text.replace(
        'gear="1"', f'gear="1" delay="{DELAY}" nsample="{round(DELAY / STEP)}"'))
    theirs.jnt_limited[:] = 0
    data, path = mujoco.MjData(theirs), []
    data.qpos[:] = start[0]
    # A buffer of commands that none have come into yet holds the first.
    told = commands.at(STEP * np.arange((nodes - 1) * 10 + 1))
    for k, command in enumerate(told):
        if k % 10 == 0:
            path.append(data.qpos.copy())
        data.ctrl[:] = command
        mujoco.mj_step(theirs, data)
    moved = np.ptp(ours, axis=0)
    assert moved.min() > 0.01
    np.testing.assert_array_less(np.abs(np.array(path) - ours).max(axis=0), 0.02 * moved)
