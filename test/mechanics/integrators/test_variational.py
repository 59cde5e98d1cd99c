"""Variational integrators against independent integrations, closed forms and differences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from scipy.integrate import solve_ivp

from support import closed_robots as closed
from support import golden_problems as golden
from support import kernel_caches as caches
from support.variational_systems import (
    closed_configuration,
    closed_model,
    double_pendulum,
    free,
    geometric_ratio,
    within,
)
from sysid_ros.errors import ConfigurationError, EstimationError, ModelError
from sysid_ros.mechanics.integrators.variational import defects, readings, rollout
from sysid_ros.mechanics.integrators.variational.assembly import constraints
from sysid_ros.mechanics.integrators.variational.defects import find_defects
from sysid_ros.mechanics.integrators.variational.discrete_lagrangian import discrete_euler_lagrange
from sysid_ros.mechanics.integrators.variational.driven_trajectory import (
    DrivenTrajectory,
    Hold,
    MotionStatus,
)
from sysid_ros.mechanics.integrators.variational.integrator import VariationalIntegrator
from sysid_ros.mechanics.integrators.variational.lagrangian import (
    evaluate_lagrangian,
    lagrangian_second_derivatives,
)
from sysid_ros.mechanics.integrators.variational.readings import read
from sysid_ros.mechanics.integrators.variational.resting import resting
from sysid_ros.mechanics.integrators.variational.rollout import adjoint, simulate
from sysid_ros.mechanics.integrators.variational.system import discrete_system
from sysid_ros.mechanics.joint_terms.terms import (
    Armature,
    CoulombFriction,
    CoupledAxis,
    Stiffness,
    TorqueOffset,
    ViscousFriction,
)
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.robot.loops import WORLD, LoopClosure
from sysid_ros.robot.model import RobotModel

RULES = ('midpoint', 'trapezoidal')


def arm(*terms):
    return TorqueModel(RobotModel.from_urdf(golden.arm_urdf()), terms)


def accelerated(model, closures, q, v, torque):
    """Accelerations of closed loops by Pinocchio: the equations of motion and of the closures."""
    pinocchio = model.robot.pinocchio_model
    data = pinocchio.createData()
    mass = pin.crba(pinocchio, data, q)
    mass = np.triu(mass) + np.triu(mass, 1).T
    bias = pin.nle(pinocchio, data, q, v)
    pin.computeJointJacobians(pinocchio, data, q)
    pin.forwardKinematics(pinocchio, data, q, v, np.zeros(len(q)))
    rows, drift = [], []
    for closure in closures:
        jacobian, rest = np.zeros((3, len(q))), np.zeros(3)
        for sign, link, own in zip((-1.0, 1.0), closure.links, closure.poses, strict=True):
            if link == WORLD:
                continue
            joint, pose = model.robot.place_of(link)
            arm_ = (data.oMi[joint + 1].homogeneous @ pose @ own)[:3, 3]
            six = pin.getJointJacobian(pinocchio, data, joint + 1, pin.LOCAL_WORLD_ALIGNED)
            away = arm_ - data.oMi[joint + 1].translation
            jacobian += sign * (six[:3] - pin.skew(away) @ six[3:])
            turn = pin.getVelocity(pinocchio, data, joint + 1, pin.LOCAL_WORLD_ALIGNED).angular
            rate = pin.getClassicalAcceleration(
                pinocchio, data, joint + 1, pin.LOCAL_WORLD_ALIGNED)
            rest += sign * (rate.linear + np.cross(rate.angular, away)
                            + np.cross(turn, np.cross(turn, away)))
        rows.append(jacobian)
        drift.append(rest)
    jacobian, drift = np.concatenate(rows), np.concatenate(drift)
    size = len(drift)
    matrix = np.block([[mass, jacobian.T], [jacobian, np.zeros((size, size))]])
    right = np.concatenate([torque - bias, -drift])
    return np.linalg.lstsq(matrix, right, rcond=1e-12)[0][:len(q)]


def integrated(acceleration, q, v, duration):
    """Positions and velocities by SciPy's eighth-order method at 1e-12."""
    joints = len(q)

    def slope(t, x):
        return np.concatenate([x[joints:], acceleration(t, x[:joints], x[joints:])])

    found = solve_ivp(
        slope, (0.0, duration), np.concatenate([q, v]), method='DOP853', rtol=1e-12, atol=1e-12)
    return found.y[:joints, -1], found.y[joints:, -1]


def test_the_mass_matrix_is_that_of_pinocchio_and_the_start_is_its_momentum(rng):
    model = arm()
    integrator = VariationalIntegrator(model)
    q, v = rng.uniform(-1.0, 1.0, (2, 3))
    values = model.parameters.values
    mass = constraints(*integrator.at(values), q).mass
    data = model.robot.pinocchio_model.createData()
    expected = np.triu(pin.crba(model.robot.pinocchio_model, data, q))
    np.testing.assert_allclose(np.triu(mass), expected, rtol=1e-12, atol=1e-13)
    motion = integrator.run(values, [free(model, q, v, 2, 1e-3)])[0]
    np.testing.assert_allclose(motion.momenta[0], mass @ v, rtol=1e-12)
    read = integrator.read(values, motion)
    np.testing.assert_allclose(read.velocities[0], v, rtol=1e-10)
    pinocchio = model.robot.pinocchio_model
    energy = pin.computeKineticEnergy(pinocchio, data, q, v)
    energy += pin.computePotentialEnergy(pinocchio, data, q)
    assert read.energies[0] == pytest.approx(energy, rel=1e-10)


@pytest.mark.parametrize('rule', RULES)
@pytest.mark.parametrize('forces', ['symmetric', 'one_sided'])
def test_the_order_is_two_with_symmetric_forces_and_one_with_those_of_the_paper(rule, forces):
    model = arm(ViscousFriction(), Stiffness())
    values = model.parameters.with_values({
        f'{joint}.{field}': value for joint in model.robot.joint_names
        for field, value in (('viscous_friction', 0.5), ('stiffness', 8.0))}).values
    start, duration = np.array([[0.4, -0.6, 0.9], [0.5, -1.0, 0.3]]), 0.5
    pinocchio = model.robot.pinocchio_model
    data = pinocchio.createData()

    def torque(t):
        return np.array([4.0, -3.0, 1.0]) * t

    def acceleration(t, q, v):
        return pin.aba(pinocchio, data, q, v, torque(t) - 0.5 * v - 8.0 * q)

    truth, _ = integrated(acceleration, *start, duration)
    errors = []
    for nodes in (51, 101, 201):
        t = np.linspace(0.0, duration, nodes)
        trajectory = DrivenTrajectory(start, np.array([torque(x) for x in t]),
            duration / (nodes - 1))
        integrator = VariationalIntegrator(model, rule=rule, forces=forces)
        motion = integrator.run(values, [trajectory])[0]
        errors.append(np.abs(motion.positions[-1] - truth).max())
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    expected = 2.0 if forces == 'symmetric' else 1.0
    np.testing.assert_allclose(orders, expected, atol=0.12)


def test_richardson_extrapolation_meets_an_independent_integration():
    model = double_pendulum()
    pinocchio = model.robot.pinocchio_model
    data = pinocchio.createData()
    start = np.array([[0.8, -0.4], [0.5, 1.0]])
    none = np.zeros(2)
    truth, speed = integrated(lambda t, q, v: pin.aba(pinocchio, data, q, v, none), *start, 0.5)
    ends = []
    for nodes in (101, 201, 401):
        integrator = VariationalIntegrator(model)
        values = model.parameters.values
        motion = integrator.run(values, [free(model, *start, nodes, 0.5 / (nodes - 1))])[0]
        ends.append(np.stack([
            motion.positions[-1], integrator.read(values, motion).velocities[-1]]))
    # Errors of a symmetric scheme have even powers of the step only.
    once = [(4.0 * fine - coarse) / 3.0 for coarse, fine in zip(ends, ends[1:], strict=False)]
    twice = (16.0 * once[1] - once[0]) / 15.0
    np.testing.assert_allclose(twice, [truth, speed], atol=2e-9)


@pytest.mark.parametrize('name', ['four_bar', 'spatial', 'five_bar'])
def test_closed_loops_follow_an_independent_integration_to_second_order(name):
    model, closures, q = closed_model(closed.CLOSED[name]())
    v = within(model, closures, q, size=0.5)
    torque = np.zeros(len(q))
    truth, speed = integrated(
        lambda t, x, y: accelerated(model, closures, x, y, torque), q, v, 0.3)
    errors = []
    for nodes in (31, 61):
        integrator = VariationalIntegrator(model, closures, q)
        values = model.parameters.values
        motion = integrator.run(values, [free(model, q, v, nodes, 0.3 / (nodes - 1))])[0]
        read = integrator.read(values, motion)
        assert read.gaps.max() <= 1e-10
        errors.append([
            np.abs(motion.positions[-1] - truth).max(),
            np.abs(read.velocities[-1] - speed).max()])
    ratio = np.array(errors[0]) / errors[1]
    assert (ratio > 3.5).all() and (ratio < 4.5).all()
    assert errors[1][0] < 1e-3


@pytest.mark.parametrize('rule', RULES)
def test_the_energy_of_pendulums_has_no_drift(rule):
    model = double_pendulum()
    step, nodes = 0.01, 20_001
    integrator = VariationalIntegrator(model, rule=rule)
    values = model.parameters.values
    swings, hangs = integrator.run(values, [
        free(model, [1.2, 0.6], [0.0, 0.0], nodes, step),
        free(model, [0.0, 0.0], [0.0, 0.0], 2, step)])
    energy, least = (integrator.read(values, motion).energies for motion in (swings, hangs))
    tenth = nodes // 10
    # What swings to and fro is of second order; what stays must be far less.
    assert np.ptp(energy) < 1e-2 * (energy[0] - least[0])
    assert abs(energy[-tenth:].mean() - energy[:tenth].mean()) < 0.02 * np.ptp(energy)


def test_the_energy_of_a_four_bar_has_no_drift_and_its_loop_stays_closed():
    model, closures, q = closed_model(closed.CLOSED['four_bar']())
    integrator = VariationalIntegrator(model, closures, q)
    values, nodes = model.parameters.values, 10_001
    v = within(model, closures, q, size=1.0)
    motion = integrator.run(values, [free(model, q, v, nodes, 0.005)])[0]
    assert motion.status.ok
    read = integrator.read(values, motion)
    assert read.gaps.max() <= 1e-10
    tenth = nodes // 10
    drift = abs(read.energies[-tenth:].mean() - read.energies[:tenth].mean())
    assert drift < 0.02 * np.ptp(read.energies)


BEAD = 0.01
PULL = 100.0


def bead_on_a_string():
    """A light bead between a fixed point and a slider that is pulled: its only motion is aside.

    A string of tension F and parts of 1 m holds it with a stiffness of 2 F.
    """
    def body(name, mass):
        return (
            f'<link name="{name}"><inertial><mass value="{mass}"/>'
            '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>')

    def slide(name, parent, child, axis):
        return (
            f'<joint name="{name}" type="prismatic"><parent link="{parent}"/>'
            f'<child link="{child}"/><axis xyz="{axis}"/>'
            '<limit lower="-9" upper="9" effort="999" velocity="99"/></joint>')

    urdf = (
        f'<robot name="string"><link name="base"/><link name="cart"/>{body("bead", BEAD)}'
        f'{body("slider", 5.0)}{slide("x", "base", "cart", "1 0 0")}'
        f'{slide("y", "cart", "bead", "0 1 0")}{slide("s", "base", "slider", "1 0 0")}</robot>')
    model = TorqueModel(RobotModel.from_urdf(urdf, gravity=(0.0, 0.0, 0.0)))
    rods = tuple(
        LoopClosure(name, 'rod', links, np.array([np.eye(4), np.eye(4)]), 1.0)
        for name, links in (('left', (WORLD, 'bead')), ('right', ('bead', 'slider'))))
    names = model.robot.joint_names
    q = np.zeros(3)
    q[names.index('x')], q[names.index('s')] = 1.0, 2.0
    pull = np.zeros(3)
    pull[names.index('s')] = PULL
    return model, rods, q, pull, names.index('y')


def string_motion(step, nodes=400, speed=1e-3, **settings):
    model, rods, q, pull, aside = bead_on_a_string()
    v = np.zeros(3)
    v[aside] = speed
    integrator = VariationalIntegrator(model, rods, q, **settings)
    trajectory = DrivenTrajectory(np.array([q, v]), np.tile(pull, (nodes, 1)), step)
    return integrator, integrator.run(model.parameters.values, [trajectory])[0], aside


#: Twice over the frequency of the bead, sqrt(2 F / m).
CRITICAL = 2.0 / np.sqrt(2.0 * PULL / BEAD)


def test_geometric_stiffness_limits_the_step_where_the_closed_form_says():
    model, rods, q, _, _ = bead_on_a_string()
    integrator = VariationalIntegrator(model, rods, q)
    here = integrator.at(model.parameters.values)
    # An impulse of one newton second in each rod, over a second: tensions of one newton.
    ratio = geometric_ratio(*here, q, -np.ones(2), CRITICAL, 1.0 / PULL)
    assert ratio == pytest.approx(1.0, rel=1e-9)
    assert geometric_ratio(
        *here, q, np.ones(2), CRITICAL, 1.0 / PULL) == pytest.approx(-1.0)


def test_beyond_the_criterion_steps_are_cut_or_the_motion_is_refused():
    # Alone it would be taken up to 0.8 of the squared step that is just stable.
    inside = 0.85 * CRITICAL
    _, motion, aside = string_motion(inside, most_substeps=1)
    assert motion.status is MotionStatus.COMPLETED
    assert np.abs(motion.positions[:, aside]).max() < 1e-3
    _, refused, _ = string_motion(1.02 * CRITICAL, most_substeps=1)
    assert refused.status is MotionStatus.UNSTABLE
    assert refused.reached <= 1
    assert np.isnan(refused.positions[refused.reached + 1:]).all()
    _, cut, aside = string_motion(1.5 * CRITICAL)
    assert cut.status is MotionStatus.COMPLETED
    assert cut.steps.max() == 2
    assert np.abs(cut.positions[:, aside]).max() < 1e-3


def test_without_the_criterion_that_motion_blows_up(monkeypatch):
    monkeypatch.setattr('sysid_ros.mechanics.integrators.variational.integrator._MARGIN', 1e9)
    _, calm, aside = string_motion(0.99 * CRITICAL, most_substeps=1)
    assert np.abs(calm.positions[:, aside]).max() < 1e-2
    _, wild, aside = string_motion(1.01 * CRITICAL, most_substeps=1)
    assert not wild.status.ok or np.abs(wild.positions[:, aside]).max() > 0.1


def test_a_dead_point_is_refused_by_name():
    robot = closed.four_bar_linkage().robot(['crank_joint'], closed.FOUR_BAR_ASSEMBLY)
    flat = (
        closed.Linkage('flat')
        .rod('crank', WORLD, (0.0, 0.0), 1.0, 1.0).rod('coupler', 'crank', (1.0, 0.0), 2.0, 2.0)
        .rod('rocker', WORLD, (2.0, 0.0), 4.0, 1.0)
        .close('tip', 'coupler', (2.0, 0.0), 'rocker', (1.0, 0.0))
        .robot(['crank_joint'], {}))
    assert robot.loops is not None
    model = TorqueModel(flat.opened)
    with pytest.raises(ModelError, match='depend on each other'):
        VariationalIntegrator(model, flat.loops.closures, np.zeros(3))


def test_open_loops_are_refused_by_name():
    robot = closed.four_bar()
    model = TorqueModel(robot.opened)
    with pytest.raises(ModelError, match='tip.*open where the motion begins'):
        VariationalIntegrator(model, robot.loops.closures, np.zeros(3))
    with pytest.raises(ModelError, match='not said where'):
        VariationalIntegrator(model, robot.loops.closures)


def test_a_step_that_has_no_solution_is_named():
    # In a step the bead would fly aside by more than its string is long.
    _, motion, _ = string_motion(0.5 * CRITICAL, speed=400.0, most_substeps=1)
    assert motion.status is MotionStatus.UNSOLVED
    assert motion.reached == 0


def test_a_place_of_rest_that_is_not_there_is_refused():
    model, _, q, _, aside = bead_on_a_string()
    # No weight and no spring: every place is as good as any other.
    with pytest.raises(EstimationError, match='no place of rest'):
        resting(VariationalIntegrator(model), model.parameters.values, q, [aside])


def test_a_place_of_rest_that_a_push_would_end_is_refused():
    model = double_pendulum()
    integrator, values = VariationalIntegrator(model), model.parameters.values
    hangs = resting(integrator, values, np.array([0.3, -0.2]))
    # The lower link hangs below its joint, the upper one is drawn aside by nothing.
    np.testing.assert_allclose(hangs.positions, 0.0, atol=1e-9)
    with pytest.raises(EstimationError, match='not stable'):
        resting(integrator, values, np.array([np.pi - 0.1, 0.1]))


def test_a_joint_that_runs_away_is_named():
    model = double_pendulum(ViscousFriction())
    values = model.parameters.with_values(
        dict.fromkeys(('shoulder.viscous_friction', 'elbow.viscous_friction'), -20.0)).values
    motion = VariationalIntegrator(model, most_substeps=1).run(
        values, [free(model, [0.5, 0.2], [1.0, 0.0], 2000, 0.01)])[0]
    assert motion.status in (MotionStatus.RAN_AWAY, MotionStatus.UNSOLVED)
    assert np.isnan(motion.positions[-1]).all()


def test_settings_that_make_no_sense_are_refused():
    model = double_pendulum()
    for settings in (
            {'rule': 'simpson'}, {'forces': 'none'}, {'substeps': 0},
            {'substeps': 4, 'most_substeps': 2}, {'starts': -1}):
        with pytest.raises(ConfigurationError):
            VariationalIntegrator(model, **settings)


# Derivatives.

def differences(function, x, size=1e-6):
    """Central differences of a function's array, the argument last."""
    columns = []
    for k in range(len(x)):
        step = size * max(1.0, abs(x[k])) * np.eye(len(x))[k]
        columns.append((function(x + step) - function(x - step)) / (2.0 * step[k]))
    return np.stack(columns, axis=-1)


def wide_differences(function, x, size):
    """Differences of fourth order, whose wide steps leave a solver's tolerance behind."""
    def change(width):
        return differences(function, x, width)

    return (4.0 * change(size) - change(2.0 * size)) / 3.0


def assert_close(found, expected, part=1e-6):
    assert np.abs(found - expected).max() <= part * np.abs(expected).max()


def free_start(joints, values):
    """Derivatives of a start by itself, positions before velocities, and by parameters."""
    return np.eye(2 * joints, 2 * joints + len(values)).reshape(2, joints, -1)


ALL_TERMS = (
    ViscousFriction(), CoulombFriction(smoothing=0.3), TorqueOffset(), Armature(), Stiffness())


def values_of(model, seed=0):
    rng = np.random.default_rng(seed)
    bodies = 10 * len(model.parameters.bodies)
    values = model.parameters.values.copy()
    values[bodies:] = rng.uniform(0.05, 0.5, len(values) - bodies)
    return values


@pytest.mark.parametrize('rule', RULES)
@pytest.mark.parametrize('forces', ['symmetric', 'one_sided'])
def test_the_derivatives_of_motion_are_those_of_central_differences(rule, forces):
    axis = CoupledAxis('drive', (('elbow', 1.0), ('wrist', -0.6)), smoothing=0.2)
    model = arm(*ALL_TERMS, axis)
    values = values_of(model)
    columns = np.arange(len(values))
    integrator = VariationalIntegrator(
        model, free_parameters=columns[:, None], starts=6, rule=rule, forces=forces, substeps=2)
    rng = np.random.default_rng(3)
    hold = Hold(
        np.array([0, 2]), 0.1 * rng.normal(size=(9, 2)), np.array([[5.0, 1.0], [2.0, 4.0]]),
        np.array([[0.5, 0.1], [0.2, 0.4]]))
    start = np.array([[0.4, -0.6, 0.9], [0.5, -1.0, 0.3]])
    torque = rng.normal(size=(9, 3))

    def run(x, slopes=False):
        trajectory = DrivenTrajectory(x[:6].reshape(2, 3), torque, 0.02, hold,
            free_start(3, values))
        return integrator.run(x[6:], [trajectory], derivatives=slopes)[0]

    x = np.concatenate([start.ravel(), values])
    motion = run(x, True)
    for k, name in ((0, 'positions'), (1, 'momenta')):
        expected = differences(lambda y, name=name: getattr(run(y), name)[-1], x)
        assert_close(motion.slopes[-1, k], expected)


def test_the_derivatives_of_velocities_are_those_of_central_differences():
    model = arm(*ALL_TERMS)
    values = values_of(model)
    integrator = VariationalIntegrator(
        model, free_parameters=np.arange(len(values))[:, None], starts=6)
    start, torque = np.array([[0.4, -0.6, 0.9], [0.5, -1.0, 0.3]]), np.ones((5, 3))

    def speeds(x):
        trajectory = DrivenTrajectory(
            x[:6].reshape(2, 3), torque, 0.02, start_slopes=free_start(3, values))
        return integrator.read(x[6:], integrator.run(x[6:], [trajectory])[0])

    x = np.concatenate([start.ravel(), values])
    expected = differences(lambda y: speeds(y).velocities[-1], x)
    assert_close(speeds(x).slopes[-1], expected)


@pytest.mark.parametrize('name', ['four_bar', 'spatial', 'rod_five_bar', 'framed_four_bar'])
@pytest.mark.parametrize('rule', RULES)
def test_the_derivatives_of_closed_loops_by_parameters_are_those_of_differences(name, rule):
    robot = closed.CLOSED[name]()
    joints = robot.opened.joint_names
    model, closures, q = closed_model(robot, ViscousFriction(joints), Stiffness(joints))
    values = values_of(model)
    integrator = VariationalIntegrator(
        model, closures, q, free_parameters=np.arange(len(values))[:, None], rule=rule)
    v = within(model, closures, q, size=0.7)

    def run(x, slopes=False):
        return integrator.run(x, [free(model, q, v, 12, 0.02)], derivatives=slopes)[0]

    motion = run(values, True)
    assert motion.status.ok
    expected = differences(lambda x: run(x).positions[-1], values)
    assert_close(motion.slopes[-1, 0], expected)


@pytest.mark.parametrize('name', ['four_bar', 'spatial', 'rod_five_bar', 'framed_four_bar'])
def test_the_derivatives_of_closed_loops_by_their_start_are_those_of_differences(name):
    model, closures, q = closed_model(closed.CLOSED[name]())
    integrator = VariationalIntegrator(model, closures, q)
    values, v = model.parameters.values, within(model, closures, q, size=0.7)
    system = discrete_system(model, closures)

    def run(shift):
        there = closed_configuration(system, closures, q + shift * v)
        trajectory = free(model, there, within(model, closures, there, size=0.7), 12, 0.02)
        return integrator.run(values, [trajectory])[0]

    def state(shift, node):
        motion = run(shift[0])
        return np.stack([motion.positions[node], motion.momenta[node]])

    def change(node):
        return wide_differences(lambda shift: state(shift, node), np.zeros(1), 1e-3)[..., 0]

    trajectory = free(model, q, v, 12, 0.02)
    moved = integrator.transported(values, trajectory, change(0)[:, :, None])
    assert_close(moved[-1, 0, :, 0], change(-1)[0])


@pytest.mark.parametrize('name', ['arm', 'four_bar', 'spatial'])
def test_the_adjoint_gradient_is_that_of_forward_sensitivities(name, rng):
    if name == 'arm':
        model, closures, q = arm(*ALL_TERMS), (), np.array([0.4, -0.6, 0.9])
        v, settings = np.array([0.5, -1.0, 0.3]), {'starts': 6}
    else:
        robot = closed.CLOSED[name]()
        joints = robot.opened.joint_names
        model, closures, q = closed_model(robot, ViscousFriction(joints), Stiffness(joints))
        v, settings = within(model, closures, q), {}
    values = values_of(model)
    integrator = VariationalIntegrator(
        model, closures, q, free_parameters=np.arange(len(values))[:, None], substeps=3, **settings)
    trajectory = free(model, q, v, 40, 0.01)
    if name == 'arm':
        trajectory = replace(trajectory, start_slopes=free_start(3, values))
    motion = integrator.run(values, [trajectory])[0]
    weights = rng.normal(size=(2, *motion.positions.shape))
    gradient = integrator.adjoint(values, trajectory, motion, *weights)
    expected = np.einsum('atn,tanw->w', weights, motion.slopes)
    assert_close(gradient.values, expected, 1e-8)
    # By torques at some nodes, against differences.
    for node in (0, 7, len(trajectory.torque) - 1):
        def cost(torque, node=node):
            changed = trajectory.torque.copy()
            changed[node] = torque
            moved = integrator.run(values, [replace(trajectory, torque=changed)])[0]
            return np.array(
                np.sum(weights[0] * moved.positions) + np.sum(weights[1] * moved.momenta))

        assert_close(
            gradient.by_torque[node], wide_differences(cost, np.zeros(len(q)), 0.03))


def test_parameters_that_are_tied_change_together():
    model = double_pendulum(Stiffness())
    tied = VariationalIntegrator(model, free_parameters=[(20, 21)])
    single = VariationalIntegrator(model, free_parameters=[(20,), (21,)])
    values = values_of(model)
    trajectory = free(model, [0.5, 0.2], [1.0, 0.0], 50, 0.01)
    one, two = (integrator.run(values, [trajectory])[0].slopes for integrator in (tied, single))
    np.testing.assert_allclose(one[..., 0], two.sum(axis=-1), atol=1e-12)


@pytest.mark.parametrize('name', ['mimic joint', 'geared rotor'])
def test_mimic_joints_and_rotors_move_as_the_torque_model_says(name):
    model = TorqueModel(golden.golden(name).model.robot, (ViscousFriction(), Stiffness()))
    joints, values = len(model.robot.joint_names), values_of(model)
    start = np.array([np.linspace(-0.4, 0.5, joints), np.linspace(0.3, -0.6, joints)])

    def acceleration(t, q, v):
        rows = np.vstack([np.eye(joints), np.zeros(joints)])
        torque = model.torque(
            values, np.tile(q, (len(rows), 1)), np.tile(v, (len(rows), 1)), rows)
        return np.linalg.solve((torque[:-1] - torque[-1]).T, -torque[-1])

    truth, _ = integrated(acceleration, *start, 0.2)
    columns = np.arange(len(values))[:, None]
    integrator = VariationalIntegrator(model, free_parameters=columns, starts=2 * joints)

    def run(x, nodes):
        trajectory = replace(
            free(model, *x[:2 * joints].reshape(2, joints), nodes, 0.2 / (nodes - 1)),
            start_slopes=free_start(joints, values))
        return integrator.run(x[2 * joints:], [trajectory])[0]

    x = np.concatenate([start.ravel(), values])
    np.testing.assert_allclose(run(x, 401).positions[-1], truth, atol=5e-6)
    expected = differences(lambda y: run(y, 9).positions[-1], x)
    assert_close(run(x, 9).slopes[-1, 0], expected)


def test_whatever_arrays_come_in_everything_is_compiled_once(rng):
    def given(shape):
        array = np.asfortranarray(0.1 * rng.normal(size=shape))
        array.setflags(write=False)
        return array

    model = arm(*ALL_TERMS)
    values = values_of(model)
    values.setflags(write=False)
    hold = Hold(np.array([0, 2]), given((5, 2)), given((2, 2)), given((2, 2)))
    trajectory = DrivenTrajectory(
        given((2, 3)), given((5, 3)), 0.01, hold, given((2, 3, 6 + len(values))))
    open_ = VariationalIntegrator(model, free_parameters=np.arange(len(values))[:, None], starts=6)
    open_.defects(values, trajectory, given((5, 2, 3)))
    robot = closed.CLOSED['spatial']()
    model, closures, q = closed_model(robot)
    shut = VariationalIntegrator(model, closures, q)
    for integrator, known, path in (
            (open_, values, trajectory),
            (shut, model.parameters.values, free(model, q, within(model, closures, q), 5, 0.01))):
        motion = integrator.run(known, [path])[0]
        integrator.read(known, motion)
        integrator.adjoint(known, path, motion, given(motion.positions.shape))
    for entry in (simulate, adjoint, read, find_defects):
        assert len(entry.signatures) == 1, entry
    # Not at all where the cache had what calls them.
    for part in (discrete_euler_lagrange, evaluate_lagrangian, lagrangian_second_derivatives):
        assert len(part.signatures) <= 1, part


@pytest.mark.parametrize('module', [rollout, readings, defects])
def test_caches_look_at_all_files_that_are_compiled_into_a_call(module):
    assert caches.functions_elsewhere(module) == []
