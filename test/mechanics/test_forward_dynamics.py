"""Forward dynamics against Pinocchio, MuJoCo and closed forms; dry friction that really holds."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from scipy.integrate import solve_ivp

from support import golden_problems as simulated
from sysid_ros.errors import ModelError
from sysid_ros.mechanics.forward_dynamics import ForwardDynamics
from sysid_ros.mechanics.joint_terms.drive_gain import DriveGain
from sysid_ros.mechanics.joint_terms.load_friction import LoadFriction
from sysid_ros.mechanics.joint_terms.terms import (
    Armature,
    CoulombFriction,
    CoupledAxis,
    SmoothCoulombFriction,
    Stiffness,
    StribeckFriction,
    TorqueOffset,
    ViscousFriction,
)
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.robot.model import RobotModel


def block(*terms, axis='1 0 0', **values):
    """A block of 2 kg on a rail, horizontal by default, with joint terms."""
    urdf = (
        '<robot name="rail"><link name="base"/><link name="block"><inertial>'
        '<mass value="2"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
        '</link><joint name="rail" type="prismatic"><parent link="base"/><child link="block"/>'
        f'<axis xyz="{axis}"/><limit lower="-9" upper="9" effort="9" velocity="9"/></joint></robot>'
    )
    model = TorqueModel(RobotModel.from_urdf(urdf), terms)
    named = {f'rail.{name}': value for name, value in values.items()}
    return ForwardDynamics(model, model.parameters.with_values(named).values)


def run(dynamics, q, v, tau, duration, h):
    """Positions and velocities after some time under a constant torque."""
    for _ in range(round(duration / h)):
        q, v, unsettled = dynamics.step(q, v, tau, h)
        assert not unsettled.any()
    return q, v


@pytest.mark.parametrize('name', simulated.NAMES)
def test_acceleration_is_the_inverse_of_the_torque(name):
    golden = simulated.golden(name)
    q, v, a = simulated.motion(golden.model.robot, 50, 5)
    tau = golden.model.torque(golden.truth, q, v, a)
    found = ForwardDynamics(golden.model, golden.truth).acceleration(q, v, tau)
    np.testing.assert_allclose(found, a, atol=1e-9)


def test_the_mass_matrix_and_acceleration_are_those_of_pinocchio(rng):
    robot = RobotModel.from_urdf(simulated.tree_urdf())
    dynamics = ForwardDynamics(TorqueModel(robot), TorqueModel(robot).parameters.prior)
    model = robot.pinocchio_model
    q, v, tau = rng.uniform(-1.0, 1.0, (3, 6, len(robot.joint_names)))
    found, mass = dynamics.acceleration(q, v, tau), dynamics.mass_matrix(q)
    for k in range(6):
        position = _pinocchio_position(model, q[k])
        expected = pin.aba(model, model.createData(), position, v[k], tau[k])
        np.testing.assert_allclose(found[k], expected, rtol=1e-8, atol=1e-8)
        upper = np.triu(pin.crba(model, model.createData(), position))
        np.testing.assert_allclose(np.triu(mass[k]), upper, rtol=1e-9, atol=1e-9)


def _pinocchio_position(model, q):
    """Continuous joints are a cosine and a sine in Pinocchio."""
    return pin.integrate(model, pin.neutral(model), q)


def test_free_motion_follows_pinocchio_to_second_order(rng):
    robot = RobotModel.from_urdf(simulated.arm_urdf())
    dynamics = ForwardDynamics(TorqueModel(robot), TorqueModel(robot).parameters.prior)
    model = robot.pinocchio_model
    data = model.createData()
    start = rng.uniform(-1.0, 1.0, 6)
    tau = rng.uniform(-5.0, 5.0, 3)

    def slope(_, x):
        return np.concatenate([x[3:], pin.aba(model, data, x[:3], x[3:], tau)])

    end = solve_ivp(slope, (0.0, 0.5), start, rtol=1e-10, atol=1e-12).y[:, -1]
    errors = []
    for h in (1.25e-3, 6.25e-4):
        q, v = run(dynamics, start[None, :3], start[None, 3:], tau[None], 0.5, h)
        errors.append(np.abs(np.concatenate([q[0], v[0]]) - end).max())
    # The arm falls: it turns at several rad/s by then.
    assert errors[0] < 2e-3 * np.abs(end).max()
    assert errors[1] < errors[0] / 3.5


def test_motion_with_all_frictions_is_that_of_mujoco(rng):
    pytest.importorskip('mujoco')
    from sysid_ros.demo.mujoco_plant import Plant, PlantFriction

    # Without stops, which the plant runs into.
    urdf = simulated.arm_urdf().replace('lower="-3" upper="3"', 'lower="-30" upper="30"')
    robot = RobotModel.from_urdf(urdf)
    model = TorqueModel(robot, [ViscousFriction(), CoulombFriction(smoothing=0.1), Armature()])
    friction = PlantFriction(
        np.array([0.8, 0.5, 0.3]), np.array([2.0, 1.5, 1.0]), np.array([0.2, 0.1, 0.05]))
    values = model.parameters.values.copy()
    values[30:] = np.concatenate([friction.viscous, friction.coulomb, friction.armature])
    plant = Plant(urdf, robot.joint_names, friction, timestep=1e-4)
    start, tau = rng.uniform(-1.0, 1.0, 3), rng.uniform(-4.0, 4.0, 3)
    plant.reset(start)
    for _ in range(5000):
        plant.step(tau)
    q, v = run(
        ForwardDynamics(model, values), start[None], np.zeros((1, 3)), tau[None], 0.5, 5e-3)
    assert np.abs(plant.q - start).max() > 0.5
    np.testing.assert_allclose(q[0], plant.q, atol=3e-3)
    np.testing.assert_allclose(v[0], plant.v, atol=2e-2)


@pytest.mark.parametrize('smoothing', [0.0, 0.5])
def test_a_sliding_block_stops_where_the_formula_says_and_stays(smoothing):
    dynamics = block(CoulombFriction(smoothing=smoothing), coulomb_friction=1.0)
    none = np.zeros((1, 1))
    for h in (1e-3, 1e-2, 0.1):
        q, v = run(dynamics, none, np.full((1, 1), 0.77), none, 2.0, h)
        # It decelerates by f / m: the way is v² m / 2 f.
        assert q[0, 0] == pytest.approx(0.77**2, abs=0.25 * h**2)
        assert v[0, 0] == 0.0


def test_dry_friction_holds_until_the_force_is_larger():
    dynamics = block(CoulombFriction(), coulomb_friction=1.0)
    none = np.zeros((3, 1))
    q, v = run(dynamics, none, none, np.array([[0.99], [-1.0], [1.4]]), 1.0, 1e-2)
    assert q[:2].max() == q[:2].min() == 0.0
    assert v[2, 0] == pytest.approx(0.4 / 2.0)


def test_strong_viscous_friction_at_a_long_step_is_stable():
    dynamics = block(ViscousFriction(), viscous_friction=200.0)
    none = np.zeros((1, 1))
    q, v = run(dynamics, none, none, np.ones((1, 1)), 2.0, 0.05)
    assert v[0, 0] == pytest.approx(1.0 / 200.0, rel=1e-6)
    assert q[0, 0] == pytest.approx(2.0 / 200.0, rel=0.02)


def test_a_spring_with_an_offset_swings_as_the_formula_says():
    dynamics = block(
        Stiffness(), TorqueOffset(), Armature(), stiffness=8.0, torque_offset=4.0, armature=1.5)
    none = np.zeros((1, 1))
    q, _ = run(dynamics, none, none, none, 1.0, 1e-3)
    assert q[0, 0] == pytest.approx(-0.5 * (1.0 - np.cos(np.sqrt(8.0 / 3.5))), abs=1e-5)


def test_the_friction_of_a_coupled_axis_holds_what_the_axis_turns_with():
    robot = RobotModel.from_urdf(simulated.arm_urdf(), gravity=(0.0, 0.0, 0.0))
    axis = CoupledAxis('drive', (('elbow', 1.0), ('wrist', 2.0)), smoothing=0.1)
    model = TorqueModel(robot, [axis])
    dynamics = ForwardDynamics(
        model, model.parameters.with_values({'drive.coulomb_friction': 3.0}).values)
    none = np.zeros((2, 3))
    # Along the axis friction of 3 holds a torque of 2.9; across it there is none.
    tau = np.array([[0.0, 2.9, 5.8], [0.0, 2.0, -1.0]])
    q, v = run(dynamics, none, none, tau, 0.2, 5e-3)
    np.testing.assert_allclose(v[0], 0.0, atol=1e-9)
    assert abs(v[1, 2]) > 0.1
    np.testing.assert_allclose(v[1] @ [0.0, 1.0, 2.0], 0.0, atol=1e-9)
    assert np.isfinite(q).all()


def test_negative_friction_of_an_inconsistent_estimate_accelerates():
    dynamics = block(CoulombFriction(), coulomb_friction=-1.0)
    _, v = run(dynamics, np.zeros((1, 1)), np.full((1, 1), 0.1), np.zeros((1, 1)), 1.0, 1e-2)
    assert v[0, 0] == pytest.approx(0.1 + 0.5)


def test_a_geared_rotor_adds_its_inertia_times_the_ratio_squared():
    golden = simulated.golden('geared rotor')
    bare = golden.truth.copy()
    bare[golden.model.parameters.body_slice('motor')] = 0.0
    q = np.zeros((1, 3))
    change = (
        ForwardDynamics(golden.model, golden.truth).mass_matrix(q)
        - ForwardDynamics(golden.model, bare).mass_matrix(q)
    )
    rotor = golden.truth[golden.model.parameters.body_slice('motor')]
    assert change[0, 1, 1] == pytest.approx(simulated.ROTOR.ratio**2 * rotor[6])



def test_a_joint_breaks_away_at_coulomb_and_stribeck_friction_together():
    dynamics = block(
        SmoothCoulombFriction(), StribeckFriction(smoothing=None), coulomb_friction=3.0,
        stribeck_friction=2.0, stribeck_velocity=0.1,
    )
    rest = np.zeros((1, 1))
    held, _ = run(dynamics, rest, rest, np.array([[4.99]]), 0.1, 1e-3)
    assert abs(held[0, 0]) < 1e-12
    _, v = run(dynamics, rest, rest, np.array([[5.2]]), 2.0, 1e-3)
    # Once it slides, the force beyond Coulomb friction accelerates the 2 kg.
    assert v[0, 0] > 1.0
    before = v
    _, v = run(dynamics, rest, before, np.array([[5.2]]), 1.0, 1e-3)
    assert v[0, 0] - before[0, 0] == pytest.approx(1.1, rel=1e-3)


@pytest.mark.parametrize('velocity', [0.002, 0.005, 0.05])
def test_friction_that_falls_within_a_step_accelerates_and_turns_no_force_around(velocity):
    # Of 8 N, 6 are gone a little above rest: the slope over a step is far more than the mass.
    law = (CoulombFriction(smoothing=0.001), StribeckFriction())
    dynamics = block(
        *law, coulomb_friction=2.0, stribeck_friction=6.0, stribeck_velocity=velocity)
    start, force = 0.5 * velocity, 8.5
    q, v = run(
        dynamics, *(np.full((1, 1), value) for value in (0.0, start, force)), 0.5, 5e-3)

    def motion(_, state):
        friction = 2.0 + 6.0 * np.exp(-(state[1] / velocity) ** 2)
        return [state[1], (force - friction) / 2.0]

    exact = solve_ivp(motion, (0.0, 0.5), [0.0, start], rtol=1e-10, atol=1e-12).y[:, -1]
    assert v[0, 0] == pytest.approx(exact[1], rel=0.02)
    assert q[0, 0] == pytest.approx(exact[0], rel=0.02)


def test_friction_that_falls_is_taken_as_it_is_where_an_estimate_has_no_inertia():
    model = block(CoulombFriction(smoothing=0.001), StribeckFriction()).model
    inconsistent = ForwardDynamics(model, model.parameters.with_values({
        'block.mass': -2.0, 'rail.stribeck_friction': 6.0, 'rail.stribeck_velocity': 0.005}).values)
    # No warning is raised, which tests take as errors.
    q, v, _ = inconsistent.step(*np.array([0.0, 0.0025, 8.5]).reshape(3, 1, 1), 5e-3)
    assert np.isfinite([q, v]).all()


def test_friction_of_an_axis_holds_the_axis_alone():
    robot = RobotModel.from_urdf(simulated.arm_urdf())
    axis = (('both', (('elbow', 1.0), ('wrist', 1.0))),)
    plain = (CoupledAxis('both', axis[0][1]),)
    smooth = (CoupledAxis('both', axis[0][1], dry=False), SmoothCoulombFriction((), axis))
    moved = []
    for terms in (plain, smooth):
        model = TorqueModel(robot, terms)
        values = model.parameters.with_values({'both.coulomb_friction': 4.0}).values
        q = v = np.array([[0.3, -0.4, 0.2]])
        moved.append(run(ForwardDynamics(model, values), q, 0.1 * v, 0.0 * v, 0.3, 1e-3))
    np.testing.assert_allclose(moved[0], moved[1], atol=1e-9)


def test_a_drive_gain_multiplies_the_torque():
    plain = block(ViscousFriction(), viscous_friction=0.5)
    geared = block(ViscousFriction(), DriveGain(), viscous_friction=0.5, drive_gain=2.0)
    rest = np.zeros((1, 1))
    expected = run(plain, rest, rest, np.array([[3.0]]), 0.5, 1e-3)
    np.testing.assert_allclose(run(geared, rest, rest, np.array([[1.5]]), 0.5, 1e-3), expected)


def test_a_gear_loses_its_part_of_the_load_when_it_slides_and_holds_within_it():
    # A block of 2 kg that a screw lifts: F = (1 + f) m (a + g), and down (1 - f) m (a + g).
    lift = block(LoadFriction(), load_friction=0.3, axis='0 0 1')
    held, rest = 2.0 * 9.81, np.zeros((1, 1))
    for force, accelerated in (
            (1.2 * held, 0.0), (0.8 * held, 0.0),
            (2.0 * held, 2.0 / 1.3 * 9.81 - 9.81), (0.5 * held, 0.5 / 0.7 * 9.81 - 9.81)):
        _, v = run(lift, rest, rest, np.array([[force]]), 0.1, 1e-3)
        assert v[0, 0] == pytest.approx(0.1 * accelerated, rel=1e-7, abs=1e-12)


def test_a_gear_that_loses_more_than_its_load_cannot_move():
    rest = np.zeros((1, 1))
    _, _, unsettled = block(LoadFriction(), load_friction=1.5).step(
        rest, rest, np.array([[3.0]]), 1e-3)
    assert unsettled.all()


def test_motion_with_friction_by_load_is_that_of_mujoco(rng):
    mujoco = pytest.importorskip('mujoco')
    from sysid_ros.demo.mujoco_urdf import urdf_for_mujoco

    urdf = simulated.arm_urdf().replace('lower="-3" upper="3"', 'lower="-30" upper="30"')
    robot = RobotModel.from_urdf(urdf)
    model = TorqueModel(robot, [LoadFriction(), CoulombFriction(smoothing=0.1), Armature()])
    by_load, dry, armature = (
        np.array([0.3, 0.2, 0.1]), np.array([1.0, 0.7, 0.4]), np.array([0.2, 0.1, 0.05]))
    values = model.parameters.values.copy()
    values[30:] = np.concatenate([by_load, dry, armature])
    plant = mujoco.MjModel.from_xml_string(urdf_for_mujoco(urdf.encode()))
    order = [plant.joint(name).dofadr[0] for name in robot.joint_names]
    plant.opt.timestep, plant.dof_armature[order] = 1e-4, armature
    moving, reference = mujoco.MjData(plant), pin.buildModelFromXML(urdf)
    start, tau = rng.uniform(-1.0, 1.0, 3), rng.uniform(-4.0, 4.0, 3)
    moving.qpos[order], load = start, np.zeros(3)
    for _ in range(5000):
        # The friction of a step is by the load of the step before.
        plant.dof_frictionloss[order] = dry + by_load * np.abs(load)
        moving.qfrc_applied[order], before = tau, moving.qvel[order].copy()
        mujoco.mj_step(plant, moving)
        load = pin.rnea(reference, reference.createData(), moving.qpos[order], moving.qvel[order],
                        (moving.qvel[order] - before) / 1e-4)
    rest = np.zeros((1, 3))
    q, v = run(ForwardDynamics(model, values), start[None], rest, tau[None], 0.5, 1e-3)
    values[30:33] = 0.0
    without, _ = run(ForwardDynamics(model, values), start[None], rest, tau[None], 0.5, 1e-3)
    assert np.abs(without[0] - moving.qpos[order]).max() > 0.1
    np.testing.assert_allclose(q[0], moving.qpos[order], atol=3e-3)
    np.testing.assert_allclose(v[0], moving.qvel[order], atol=3e-2)


@pytest.mark.parametrize('most', [0.4, 0.97])
def test_a_step_under_friction_by_load_obeys_the_torque_model(rng, most):
    robot = RobotModel.from_urdf(simulated.arm_urdf())
    model = TorqueModel(robot, [LoadFriction(), ViscousFriction(), Armature()])
    values = model.parameters.values.copy()
    values[30:] = rng.uniform(0.05, most, len(values) - 30)
    q, v = rng.uniform(-1.0, 1.0, (2, 40, 3))
    tau, h = rng.uniform(-9.0, 9.0, (40, 3)), 1e-5
    _, end, unsettled = ForwardDynamics(model, values).step(q, v, tau, h)
    assert not unsettled.any()
    np.testing.assert_allclose(
        model.torque(values, q, v, (end - v) / h), tau, rtol=1e-3, atol=1e-3)


def test_acceleration_under_friction_by_load_is_not_that_of_something_else():
    rest = np.zeros((1, 1))
    with pytest.raises(ModelError, match='grows with the load'):
        block(LoadFriction(), load_friction=0.1).acceleration(rest, rest, rest)
