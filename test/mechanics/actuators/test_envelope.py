"""Torque that drives have left at a speed: by its formula, its slopes, and in motion."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from sysid_ros.estimation.trajectory.actuator_limits import with_reachable_limits
from sysid_ros.estimation.trajectory.problem import Observation, Segment, TrajectoryProblem
from sysid_ros.estimation.trajectory.sensors import Encoder
from sysid_ros.estimation.trajectory.shooting_estimator import ShootingEstimator
from sysid_ros.mechanics.actuators.actuators import Actuators, JointActuator, actuated
from sysid_ros.mechanics.actuators.command import HeldCommand
from sysid_ros.mechanics.actuators.dispatch import BY_LIMITS, SLOPES, no_actuators
from sysid_ros.mechanics.actuators.driven import actuator_torques
from sysid_ros.mechanics.actuators.envelope import at_limits, largest_torque
from sysid_ros.mechanics.actuators.kinds import KINDS, kind_named
from sysid_ros.mechanics.joint_terms.terms import Armature, ViscousFriction
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.robot.model import RobotModel

LIMIT, STALL, SPEED = 8.0, 10.0, 5.0
LIMITS = LIMIT, STALL, SPEED
NONE = (np.inf, np.inf, np.inf)
# Commands that ask for far more torque than any drive here has.
CONSTANTS = {
    'torque': (), 'position_servo': (20.0, 1.5), 'velocity_servo': (1.8,), 'current': (0.08, 40.0)}
PENDULUM = """<mujoco model="pendulum"><compiler angle="radian"/><option integrator="RK4"
timestep="5e-4"/><worldbody><body name="link"><joint name="hinge" axis="0 1 0" damping="{}"
armature="{}"/><inertial pos="0 0 -0.1" mass="0.5" diaginertia="0.004 0.004 0.001"/></body>
</worldbody><actuator><motor joint="hinge"/></actuator></mujoco>"""
TRUTH = {'viscous_friction': 0.15, 'armature': 0.02, 'stall_torque': 3.0, 'no_load_speed': 6.0}
STEP, SECONDS, NOISE, KP, KD = 0.005, 6.0, 1e-5, 60.0, 0.5


def dc_motor(torque, v, limits=LIMITS):
    """What a simulator makes of it: the speed is clipped, then the torque."""
    limit, stall, speed = limits
    v = np.clip(v, -speed * (1.0 + limit / stall), speed * (1.0 + limit / stall))
    return np.clip(torque, np.maximum(stall * (-1.0 - v / speed), -limit),
                   np.minimum(stall * (1.0 - v / speed), limit))


def arrays_of(name, limits):
    """One joint with an actuator of a kind, differentiated by its limits."""
    found = no_actuators(1)
    constants = CONSTANTS[name]
    found.kind[0] = [kind.name for kind in KINDS].index(name)
    found.constants[0, :len(constants)], found.limits[0] = constants, limits
    found.slots[0, -3:] = np.arange(3)
    return found


def torques(arrays, u, v):
    """Torques of the joint at commands and velocities, with slopes."""
    u, v = (np.reshape(values, (-1, 1)) for values in np.broadcast_arrays(u, v))
    return actuator_torques(
        arrays, np.zeros_like(u), u, np.zeros((2, *u.shape)),
        np.stack([np.zeros_like(v), v], axis=1), 3)


def test_torque_falls_from_stall_to_no_load_speed_and_brakes_beyond():
    found = largest_torque(np.array([-3.0, 0.0, 1.0, 2.5, 5.0, 7.0, 20.0]), LIMITS)
    np.testing.assert_allclose(found, [8.0, 8.0, 8.0, 5.0, 0.0, -4.0, -8.0])
    np.testing.assert_allclose(
        largest_torque(np.array([-5.0, 2.5]), (np.inf, STALL, SPEED)), [20.0, 5.0])


@pytest.mark.parametrize('name', CONSTANTS)
def test_no_kind_makes_more_torque_than_is_left_at_its_speed(name):
    v = np.linspace(-12.0, 12.0, 97)
    for u in (-50.0, -0.3, 0.0, 0.3, 50.0):
        free = torques(arrays_of(name, NONE), u, v).value[:, 0]
        found = torques(arrays_of(name, LIMITS), u, v).value[:, 0]
        np.testing.assert_allclose(found, dc_motor(free, v), atol=1e-12)
    # Each of these commands asks for more somewhere.
    assert not np.array_equal(free, found)


@pytest.mark.parametrize('name', CONSTANTS)
@pytest.mark.parametrize('v', [-9.5, -7.0, -2.0, 0.4, 3.0, 6.5, 9.8])
@pytest.mark.parametrize('u', [-50.0, 50.0])
def test_slopes_at_the_edge_are_those_of_differences(name, u, v):
    step = 1e-6
    found = torques(arrays_of(name, LIMITS), u, v)
    by_v = [torques(arrays_of(name, LIMITS), u, v + sign * step).value for sign in (1.0, -1.0)]
    assert found.by_velocity[0, 0] == pytest.approx(
        (by_v[0] - by_v[1]).item() / (2.0 * step), abs=1e-6)
    for k in range(3):
        changed = []
        for sign in (1.0, -1.0):
            limits = np.array(LIMITS)
            limits[k] += sign * step
            changed.append(torques(arrays_of(name, limits), u, v).value.item())
        assert found.by_parameters[0, 0, k] == pytest.approx(
            (changed[0] - changed[1]) / (2.0 * step), abs=1e-6)
    assert found.by_position[0, 0] == 0.0 and found.by_parameters.any()


def test_torques_within_the_envelope_do_not_depend_on_it():
    assert BY_LIMITS + 3 == SLOPES
    found = torques(arrays_of('torque', LIMITS), 3.0, 1.0)
    assert found.value == 3.0 and not found.by_parameters.any() and not found.by_velocity.any()


def test_what_is_no_number_stays_none():
    found = torques(arrays_of('torque', LIMITS), np.array([np.nan, 99.0]), 0.0).value[:, 0]
    np.testing.assert_array_equal(found, [np.nan, LIMIT])


def test_samples_at_the_edge_are_told_from_others():
    v = np.array([0.0, 2.5, 2.5, -2.5, 7.0])
    torque = np.array([8.0, 5.0, 4.99, -5.0, -4.0])
    np.testing.assert_array_equal(
        at_limits(torque, v, LIMITS), [True, True, False, True, True])
    assert not at_limits(torque, v, NONE).any()
    np.testing.assert_array_equal(
        at_limits(torque, v, (5.0, np.inf, np.inf)), [True, True, False, True, False])


def test_limits_that_are_to_be_found_are_parameters_behind_the_constants(robot):
    model = model_of(robot, ('no_load_speed', 'kp'))
    names = model.parameters.names
    assert names[-4:] == ('hinge.kp', 'hinge.kd', 'hinge.no_load_speed', 'command.delay')
    k = names.index('hinge.no_load_speed')
    assert model.parameters.units[k] == 'rad/s' and model.parameters.free[k]
    # What nothing depends on does not run away.
    assert 0.0 < model.parameters.lower[k] < 0.01 and model.parameters.upper[k] == 60.0
    values, slots = model.parameters.prior.copy(), np.full(len(names), -1)
    values[k], slots[k] = 4.5, 7
    found = actuated(model).arrays(values, slots)
    np.testing.assert_array_equal(found.limits[0], [np.inf, TRUTH['stall_torque'], 4.5])
    assert found.slots[0, -1] == 7 and (found.slots[0, :-1] == -1).all()
    changed = model.parameters.with_values(values)
    assert model.terms[-1].joints[0].limits_of(changed) == (np.inf, TRUTH['stall_torque'], 4.5)


@pytest.fixture
def robot(tmp_path):
    path = tmp_path / 'pendulum.xml'
    path.write_text(PENDULUM.format(0.1, 0.01))
    return RobotModel.from_description(path)


def model_of(robot, sought, stall=TRUTH['stall_torque'], speed=TRUTH['no_load_speed']):
    servo = JointActuator(
        'hinge', kind_named('position_servo'), (KP, KD), np.inf, sought, stall, speed)
    return TorqueModel(robot, [ViscousFriction(), Armature(), Actuators((servo,), 0.0)])


def simulated(t, command, scale):
    """Positions by MuJoCo, whose motor gets what scaled limits leave of the servo's torque."""
    model = mujoco.MjModel.from_xml_string(
        PENDULUM.format(TRUTH['viscous_friction'], TRUTH['armature']))
    limits = np.inf, scale * TRUTH['stall_torque'], scale * TRUTH['no_load_speed']
    servo = np.zeros(2)

    def drive(_model, data):
        left = [limits[1] * (sign - data.qvel[0] / limits[2]) for sign in (-1.0, 1.0)]
        torque = KP * (servo[0] - data.qpos[0]) - KD * data.qvel[0]
        data.ctrl[0] = min(max(torque, left[0]), left[1])

    data, every, path = mujoco.MjData(model), round(STEP / model.opt.timestep), []
    mujoco.set_mjcb_control(drive)
    try:
        for row in command:
            path.append(data.qpos[0])
            servo[0] = row
            mujoco.mj_step(model, data, every)
    finally:
        mujoco.set_mjcb_control(None)
    return np.array(path)


@pytest.fixture(scope='module')
def recorded():
    """Times, commands, and encoder readings of a drive with these limits, and of one without."""
    t = np.arange(round(SECONDS / STEP)) * STEP
    command = 0.9 * np.arcsin(np.sin(2.0 * np.pi * (0.8 * t + 0.1 * t**2)))
    noise = np.random.default_rng(0).normal(0.0, NOISE, len(t))
    limited, free = (simulated(t, command, scale) + noise for scale in (1.0, 1e3))
    return t, command, limited, free


def problem_of(model, t, command, read):
    """What is to be found of a recording: friction, armature and the limits that are sought."""
    names = {f'hinge.{field}' for field in TRUTH}
    parameters = model.parameters.fixed(
        *(name for name in model.parameters.names if name not in names))
    observation = Observation(Encoder.of(['hinge']), t, read[:, None], np.array([NOISE]))
    return TrajectoryProblem(model, parameters, (Segment(
        t, np.zeros((len(t), 1)), (observation,), commands=HeldCommand(t, command[:, None])),))


@pytest.mark.parametrize(('stall', 'speed'), [(1.2, 0.8), (0.5, 0.5), (1.5, 1.5)])
def test_limits_are_found_from_motion_of_another_simulator(robot, recorded, stall, speed):
    t, command, read, _ = recorded
    model = model_of(
        robot, ('stall_torque', 'no_load_speed'), stall * TRUTH['stall_torque'],
        speed * TRUTH['no_load_speed'])
    estimate = ShootingEstimator().fit(problem_of(model, t, command, read))
    assert estimate.status.ok
    found = np.array([estimate.parameters[f'hinge.{field}'] for field in TRUTH])
    truth = np.array(list(TRUTH.values()))
    # At the edge viscous friction and the fall of torque with speed do nearly the same: their sum
    # is known ten times as well.
    np.testing.assert_allclose(found, truth, rtol=0.03)
    fall = [values[0] + values[2] / values[3] for values in (found, truth)]
    assert fall[0] == pytest.approx(fall[1], rel=2e-3)


def test_a_search_for_limits_begins_where_commands_ask_for_more(robot, recorded):
    t, command, read, _ = recorded
    given = model_of(robot, ('no_load_speed',), 90.0, 60.0)
    there = with_reachable_limits(problem_of(given, t, command, read)).parameters
    # The one that is sought is scaled, the other stays.
    assert there['hinge.no_load_speed'] < 60.0 and 'hinge.stall_torque' not in there
    assert there.prior[there.index('hinge.no_load_speed')] == 60.0
    asked = KP * (np.append(command[0], command[:-1]) - read) - KD * np.gradient(read, t)
    beyond = np.abs(asked) > 90.0 * (1.0 - np.sign(asked) * np.gradient(read, t)
                                     / there['hinge.no_load_speed'])
    assert beyond.mean() == pytest.approx(0.25, abs=0.1)
    low = problem_of(model_of(robot, ('stall_torque',), 0.5), t, command, read)
    assert with_reachable_limits(low).parameters['hinge.stall_torque'] == 0.5


def test_limits_that_motion_never_comes_to_stay_as_given(robot, recorded):
    t, command, _, free = recorded
    model = model_of(robot, ('stall_torque', 'no_load_speed'), 90.0, 60.0)
    estimate = ShootingEstimator().fit(problem_of(model, t, command, free))
    assert estimate.status.ok
    for field in ('stall_torque', 'no_load_speed'):
        name = f'hinge.{field}'
        assert estimate.parameters[name] >= model.parameters[name]
        assert not 0.0 < estimate.standard_deviation[estimate.parameters.index(name)] < np.inf
    assert estimate.parameters['hinge.viscous_friction'] == pytest.approx(0.15, rel=1e-3)
    assert any('stall_torque' in note for note in estimate.notes)
