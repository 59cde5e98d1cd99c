"""Simulated motion of actuators and robot against DOP853 on Pinocchio, and its derivatives."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from scipy.integrate import solve_ivp

from sysid_ros.errors import ConfigurationError
from sysid_ros.mechanics.actuators.actuators import Actuators, JointActuator, actuated
from sysid_ros.mechanics.actuators.command import HeldCommand
from sysid_ros.mechanics.actuators.kinds import kind_named
from sysid_ros.mechanics.integrators.sensitivity import InputTrajectory, Simulator
from sysid_ros.mechanics.joint_terms.terms import (
    Armature,
    CoulombFriction,
    PowerLawFriction,
    TorqueOffset,
    ViscousFriction,
)
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.robot.model import RobotModel

ARM = """<mujoco model="arm"><compiler angle="radian"/><worldbody>
<body name="upper" pos="0 0 0.3">
<joint name="shoulder" axis="0 1 0" damping="0.4" frictionloss="0.3" armature="0.02"/>
<inertial pos="0.02 0 0.12" mass="1.5" diaginertia="0.012 0.012 0.004"/>
<body name="fore" pos="0 0 0.25">
<joint name="elbow" axis="1 0 0" damping="0.2" frictionloss="0.1" armature="0.05"/>
<inertial pos="0 0.01 0.1" mass="0.8" diaginertia="0.006 0.006 0.001"/></body></body>
</worldbody></mujoco>"""
SERVO = JointActuator('shoulder', kind_named('position_servo'), (30.0, 1.2), 9.0, ('kp', 'kd'))
MOTOR = JointActuator(
    'elbow', kind_named('dc_motor'), (0.05, 0.8, 0.06, 15.0, 12.0), np.inf,
    ('torque_constant', 'back_emf'))
STEP, NODES = 0.005, 61


@pytest.fixture(scope='module')
def robot(tmp_path_factory):
    path = tmp_path_factory.mktemp('actuated') / 'arm.xml'
    path.write_text(ARM)
    return RobotModel.from_description(path)


# The same with torque that falls with speed, all limits to be found.
SLOWING = JointActuator(
    'shoulder', kind_named('position_servo'), (30.0, 1.2), 7.0,
    ('kp', 'kd', 'torque_limit', 'stall_torque', 'no_load_speed'), 8.0, 5.0)


def model_of(robot, *more, delay=0.0072, servo=SERVO, filtered=0.0):
    terms = [ViscousFriction(), CoulombFriction(smoothing=0.2), TorqueOffset(), Armature(), *more]
    return TorqueModel(robot, [*terms, Actuators(
        (servo, MOTOR), delay, True, filtered, True)])


def commanded(size=0.6):
    """Commands at 125 Hz with stamps of their own, from a motion that starts at rest."""
    t = np.arange(0.0, 0.5, 0.008) - 0.05
    values = size * np.column_stack([np.sin(9.0 * t), np.sign(np.sin(25.0 * t)) * 0.8])
    return HeldCommand(t, values)


def trajectory(commands, nodes=NODES):
    start = np.array([[0.1, -0.2], [0.3, -0.5]])
    return InputTrajectory(start, np.zeros((nodes, 2)), STEP, commands, 0.0)


def smoothed(commands, time_constant, time):
    """What a filter of first order has made of commands up to a time, from stamp to stamp."""
    y = commands.values[0]
    ends = [*commands.t[1:], np.inf]
    for u, begin, end in zip(commands.values, commands.t, ends, strict=True):
        if begin < time:
            y = u + (y - u) * np.exp(-(min(end, time) - begin) / time_constant)
    return y


def reference(model, commands, delay, servo=SERVO, filtered=0.0):
    """States at the nodes by DOP853 from jump to jump of the commands."""
    limit, stall, speed = servo.limits
    robot = model.robot.pinocchio_model
    data = robot.createData()
    values = dict(zip(model.parameters.names, model.parameters.prior, strict=True))
    armature = np.array([values[f'{name}.armature'] for name in model.robot.joint_names])
    viscous = np.array([values[f'{name}.viscous_friction'] for name in model.robot.joint_names])
    dry = np.array([values[f'{name}.coulomb_friction'] for name in model.robot.joint_names])

    def rate(time, x, told):
        q, v, u = x[:2], x[2:4], x[4:] if filtered else told
        fall = stall * v[0] / speed if np.isfinite(stall) else 0.0
        servo = np.clip(np.clip(
            30.0 * (u[0] - q[0]) - 1.2 * v[0], -stall - fall, stall - fall), -limit, limit)
        motor = 15.0 * 0.05 * (12.0 * u[1] - 0.06 * 15.0 * v[1]) / 0.8
        torque = np.array([servo, motor]) - viscous * v - dry * np.tanh(v / 0.2)
        mass = pin.crba(robot, data, q)
        mass = np.triu(mass) + np.triu(mass, 1).T + np.diag(armature)
        bias = pin.rnea(robot, data, q, v, np.zeros(2))
        slope = (told - x[4:]) / (filtered or 1.0)
        return np.concatenate([v, np.linalg.solve(mass, torque - bias), slope])

    nodes = STEP * np.arange(NODES)
    jumps = [x + delay for x in commands.t if 0.0 < x + delay < nodes[-1]]
    edges = np.unique(np.concatenate([nodes, jumps]).round(12))
    before = smoothed(commands, filtered, -delay) if filtered else np.zeros(2)
    x = np.concatenate([trajectory(commands).start.reshape(-1), before])
    found = [x]
    for a, b in zip(edges[:-1], edges[1:], strict=True):
        u = commands.at(np.array([0.5 * (a + b) - delay]))[0]
        x = solve_ivp(rate, (a, b), x, 'DOP853', rtol=1e-11, atol=1e-12, args=(u,)).y[:, -1]
        if np.abs(nodes - b).min() < 1e-12:
            found.append(x)
    return np.array(found)


@pytest.mark.parametrize(('delay', 'servo', 'filtered'), [
    (0.0, SERVO, 0.0), (0.0072, SERVO, 0.0), (0.0072, SLOWING, 0.0), (0.0072, SERVO, 0.02),
    (0.0, SLOWING, 0.15)])
def test_motion_is_that_of_held_commands(robot, delay, servo, filtered):
    model, commands = model_of(robot, delay=delay, servo=servo, filtered=filtered), commanded()
    simulator = Simulator(model, np.zeros(0, dtype=int), False, 4)
    found = simulator.run(model.parameters.prior, [trajectory(commands)])[0].states
    expected = reference(model, commands, delay, servo, filtered)
    moved = np.ptp(expected[:, :2], axis=0)
    assert moved.min() > 0.1
    # Jumps lie inside of steps of 1.25 ms: what their lines leave is of second order.
    error = np.abs(found[:, 0] - expected[:, :2]).max(axis=0) / moved
    assert error.max() < 2e-4


NAMES = (
    'shoulder.kp', 'shoulder.kd', 'elbow.torque_constant', 'elbow.back_emf', 'command.delay',
    'elbow.armature', 'shoulder.torque_offset', 'fore.mass')


@pytest.mark.parametrize(('more', 'servo', 'size', 'names', 'filtered'), [
    ((), SERVO, 0.3, NAMES, 0.0), ((PowerLawFriction(('elbow',)),), SERVO, 0.3, NAMES, 0.0),
    ((), SERVO, 0.3, (*NAMES, 'command.time_constant'), 0.03),
    ((PowerLawFriction(('elbow',)),), SERVO, 0.3, (*NAMES, 'command.time_constant'), 0.03),
    ((), SLOWING, 0.6, (*NAMES, 'shoulder.stall_torque', 'shoulder.no_load_speed',
                        'shoulder.torque_limit'), 0.0)])
def test_derivatives_are_those_of_differences(robot, more, servo, size, names, filtered):
    model, commands = model_of(robot, *more, servo=servo, filtered=filtered), commanded(size)
    columns = np.sort([model.parameters.index(name) for name in names])
    simulator = Simulator(model, columns, True, 2)
    values, where = model.parameters.prior, trajectory(commands, 31)
    found = simulator.run(values, [where])[0]
    assert np.isfinite(found.states).all()
    for k, column in enumerate(columns):
        change = 1e-6 * max(abs(values[column]), 1e-2)
        states = []
        for sign in (1.0, -1.0):
            changed = values.copy()
            changed[column] += sign * change
            states.append(simulator.run(changed, [where])[0].states)
        slope = (states[0] - states[1]) / (2 * change)
        own = found.slopes[:, :, :, 4 + k]
        np.testing.assert_allclose(
            own, slope, atol=2e-5 * np.abs(slope).max(), err_msg=model.parameters.names[column])


def test_what_numpy_integrates_moves_as_what_is_compiled(robot):
    model = model_of(robot)
    columns = np.array([model.parameters.index(name) for name in ('shoulder.kp', 'command.delay')])
    simulator, trajectories = Simulator(model, columns, True, 2), [
        trajectory(commanded()), trajectory(commanded(0.2), 17)]
    fast = simulator.run(model.parameters.prior, trajectories)
    slow = Simulator(model, columns, True, 2)
    vars(slow)['_arrays'] = None
    for own, other in zip(fast, slow.run(model.parameters.prior, trajectories), strict=True):
        np.testing.assert_allclose(own.states, other.states, atol=1e-9)
        np.testing.assert_allclose(
            own.slopes, other.slopes, atol=1e-8 * np.abs(own.slopes).max())


def test_actuators_add_nothing_to_the_torque_that_a_motion_takes(robot):
    model = model_of(robot)
    rng = np.random.default_rng(0)
    q, v, a = rng.normal(size=(3, 5, 2))
    columns = actuated(model).columns
    assert [model.parameters.names[k] for k in columns[[0, -1]]] == ['shoulder.kp', 'command.delay']
    assert not model.regressor(q, v, a)[:, :, columns].any()


def test_a_robot_with_actuators_does_not_move_without_commands(robot):
    model = model_of(robot)
    still = InputTrajectory(np.zeros((2, 2)), np.zeros((5, 2)), STEP)
    with pytest.raises(ConfigurationError, match='nothing says what they were commanded'):
        Simulator(model, np.zeros(0, dtype=int)).run(model.parameters.prior, [still])
