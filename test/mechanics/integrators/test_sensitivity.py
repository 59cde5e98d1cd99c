"""Simulated motion and its derivatives against Pinocchio, DOP853 and differences."""

from __future__ import annotations

import hashlib
import inspect
from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from scipy.integrate import solve_ivp

from support import golden_problems as golden
from sysid_ros.errors import ConfigurationError, ModelError
from sysid_ros.mechanics.integrators import sensitivity_kernels as kernels
from sysid_ros.mechanics.integrators.sensitivity import InputTrajectory, Simulator
from sysid_ros.mechanics.joint_terms.terms import (
    Armature,
    AsymmetricCoulombFriction,
    CoulombFriction,
    CoupledAxis,
    LoadFriction,
    SmoothCoulombFriction,
    Stiffness,
    StribeckFriction,
    TorqueOffset,
    ViscousFriction,
)
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.mechanics.tree.acceleration import linearised_accelerations
from sysid_ros.numerics import threads
from sysid_ros.robot.model import RobotModel

TREES = tuple(name for name in golden.NAMES if name != 'closed chain')
TERMS = {
    'none': (),
    'plain': (
        ViscousFriction(), CoulombFriction(smoothing=0.3), TorqueOffset(), Armature(),
        Stiffness()),
    'of some joints': (ViscousFriction(('wrist',)), CoulombFriction(('elbow', 'waist'), 0.2)),
    'asymmetric': (AsymmetricCoulombFriction(smoothing=0.2),),
    'by load': (ViscousFriction(), Armature(), LoadFriction(smoothing=0.3)),
    'coupled': (
        CoupledAxis('drive', (('elbow', 1.0), ('wrist', -0.5)), smoothing=0.2), TorqueOffset()),
}


def smooth(name):
    """A golden problem's model, its dry friction smoothed, and true values."""
    problem = golden.golden(name)
    terms = tuple(
        replace(term, smoothing=0.3) if getattr(term, 'smoothing', None) == 0.0 else term
        for term in problem.model.terms)
    return replace(problem.model, terms=terms), problem.truth


def trajectories_of(model, rng, lengths=(12, 7), step=0.005):
    joints = len(model.robot.joint_names)
    return [
        InputTrajectory(rng.uniform(-0.5, 0.5, (2, joints)),
            rng.uniform(-1.0, 1.0, (count, joints)), step)
        for count in lengths]


def columns_of(model, rng, count=9):
    return np.sort(rng.choice(len(model.parameters), min(count, len(model.parameters)), False))


def assert_first_node_is_linearised(model, values, rng):
    columns = columns_of(model, rng)
    trajectories = trajectories_of(model, rng, (2,) * 5)
    found = Simulator(model, columns).run(values, trajectories)
    q, v = np.moveaxis([trajectory.start for trajectory in trajectories], 1, 0)
    torque = np.array([trajectory.torque[0] for trajectory in trajectories])
    expected = linearised_accelerations(model, values, q, v, torque, columns)
    slopes = np.concatenate(
        [expected.by_position, expected.by_velocity, expected.by_parameters], axis=2)
    for k, motion in enumerate(found):
        np.testing.assert_allclose(motion.states[0, 2], expected.value[k], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(
            motion.slopes[0, 2], slopes[k], rtol=0.0, atol=1e-10 * np.abs(slopes[k]).max())


@pytest.mark.parametrize('name', golden.NAMES)
def test_derivatives_of_the_acceleration_are_those_of_the_regressor(name, rng):
    assert_first_node_is_linearised(*smooth(name), rng)


@pytest.mark.parametrize('name', TERMS)
def test_joint_terms_act_as_in_the_torque_model(name, rng):
    model = replace(golden.golden('arm').model, terms=TERMS[name])
    assert_first_node_is_linearised(model, golden.true_parameters(model), rng)


@pytest.mark.parametrize('seed', range(8))
def test_random_trees_move_as_by_the_regressor(random_urdf, rng, seed):
    robot = RobotModel.from_urdf(random_urdf(seed, 2 + seed))
    model = TorqueModel(robot, [ViscousFriction()])
    assert_first_node_is_linearised(model, model.parameters.prior, rng)


def test_derivatives_are_those_of_pinocchio(rng):
    robot = RobotModel.from_urdf(golden.arm_urdf())
    model, pinocchio = TorqueModel(robot), robot.pinocchio_model
    data = pinocchio.createData()
    for trajectory in trajectories_of(model, rng, (2,) * 5):
        motion = Simulator(model, np.zeros(0, dtype=int)).run(model.parameters.prior,
            [trajectory])[0]
        pin.computeABADerivatives(pinocchio, data, *trajectory.start, trajectory.torque[0])
        slopes = np.hstack([data.ddq_dq, data.ddq_dv])
        np.testing.assert_allclose(motion.states[0, 2], data.ddq, rtol=1e-10)
        np.testing.assert_allclose(motion.slopes[0, 2], slopes, atol=1e-10 * np.abs(slopes).max())


def assert_slopes_are_differences(model, values, rng, by_start=True):
    columns, trajectories = columns_of(model, rng, 5), trajectories_of(model, rng, (15,), 0.01)
    motion = Simulator(model, columns, by_start).run(values, trajectories)[0]
    simulator = Simulator(model, np.zeros(0, dtype=int), False)
    numbers = np.arange(start_count(model) * by_start)
    steps = [('start', k, 5e-4) for k in numbers]
    steps += [('values', k, 5e-4 * max(abs(values[k]), 0.05)) for k in columns]

    def difference(kind, k, h):
        # Four points, whose error is of fourth order: the step can be far above rounding.
        moves, weights = h * np.array([1.0, -1.0, 2.0, -2.0]), np.array([8.0, -8.0, -1.0, 1.0])
        if kind == 'start':
            found = simulator.run(values, [trajectories[0]._replace(
                start=trajectories[0].start + move * shift(k)) for move in moves])
        else:
            found = [simulator.run(values + move * (np.arange(len(values)) == k), trajectories)[0]
                     for move in moves]
        return np.tensordot(weights / (12.0 * h), [motion.states for motion in found], axes=1)

    def shift(k):
        return np.reshape(np.arange(start_count(model)) == k, (2, -1))

    # What rounding makes of a parameter that hardly matters.
    rounding = 1e-9 * np.abs(motion.slopes).max()
    for column, (kind, k, h) in enumerate(steps):
        # Of two steps the one that suits the motion: some swing hard.
        assert any(
            np.abs(motion.slopes[..., column] - found).max()
            <= 1e-6 * np.abs(found).max() + rounding
            for found in (difference(kind, k, h), difference(kind, k, 0.1 * h)))


def start_count(model):
    return 2 * len(model.robot.joint_names)


@pytest.mark.parametrize('name', golden.NAMES)
def test_sensitivities_are_differences_of_whole_motions(name, rng):
    assert_slopes_are_differences(*smooth(name), rng)


def test_sensitivities_by_parameters_alone_are_differences(rng):
    assert_slopes_are_differences(*smooth('arm'), rng, by_start=False)


@pytest.mark.slow
def test_sensitivities_by_shapes_of_friction_are_differences(rng):
    terms = [ViscousFriction(), SmoothCoulombFriction(), StribeckFriction(smoothing=None)]
    model = TorqueModel(RobotModel.from_urdf(golden.arm_urdf()), terms)
    named = {}
    for name in model.robot.joint_names:
        named |= {f'{name}.coulomb_friction': 0.3, f'{name}.stribeck_friction': 0.2,
                  f'{name}.coulomb_smoothing': 0.3, f'{name}.stribeck_velocity': 0.4}
    values = model.parameters.with_values(named).values
    assert_slopes_are_differences(model, values, rng)


@pytest.mark.parametrize('name', TREES)
def test_the_compiled_and_the_general_way_agree(name, rng):
    model, values = smooth(name)
    simulator = Simulator(model, columns_of(model, rng), substeps=2)
    trajectories = trajectories_of(model, rng, (7, 12, 9))
    general = Simulator(model, simulator.columns, substeps=2)
    general.__dict__['_arrays'] = None
    pairs = zip(simulator.run(values, trajectories), general.run(values, trajectories), strict=True)
    for compiled, expected in pairs:
        for found, wanted in zip(compiled, expected, strict=True):
            np.testing.assert_allclose(found, wanted, atol=1e-9 * np.abs(wanted).max())


def test_motions_are_the_same_however_many_threads_share_them(rng, monkeypatch):
    model, values = smooth('arm')
    columns, trajectories = columns_of(model, rng), trajectories_of(model, rng, (300, 200, 100))
    alone, shared = [], []
    for number, found in ((1, alone), (3, shared)):
        monkeypatch.setattr(threads, 'usable_threads', lambda number=number: number)
        found.extend(Simulator(model, columns).run(values, trajectories))
    for one, other in zip(alone, shared, strict=True):
        np.testing.assert_array_equal(one.states, other.states)
        np.testing.assert_array_equal(one.slopes, other.slopes)


def test_the_integration_is_of_fourth_order(rng):
    robot = RobotModel.from_urdf(golden.arm_urdf())
    model, pinocchio = TorqueModel(robot), robot.pinocchio_model
    data, start = pinocchio.createData(), rng.uniform(-1.0, 1.0, 6)
    # Slow enough for steps whose error is that of their order alone.
    start[3:] *= 0.2
    torque = rng.uniform(-1.0, 1.0, (2, 3))

    def rate(t, x):
        now = torque[0] + t / 0.1 * (torque[1] - torque[0])
        return np.concatenate([x[3:], pin.aba(pinocchio, data, x[:3], x[3:], now)])

    exact = solve_ivp(rate, (0.0, 0.1), start, method='DOP853', rtol=1e-13, atol=1e-13).y[:, -1]
    errors = []
    for substeps in (5, 10, 20):
        simulator = Simulator(model, np.zeros(0, dtype=int), False, substeps)
        motion = simulator.run(
            model.parameters.prior, [InputTrajectory(start.reshape(2, 3), torque, 0.1)])[0]
        errors.append(np.abs(motion.states[-1, :2].reshape(-1) - exact).max())
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert (np.abs(orders - 4.0) < 0.3).all()
    assert errors[-1] < 1e-6 * np.abs(exact).max()


@pytest.mark.parametrize('name', ['arm', 'closed chain'])
def test_torque_is_linear_between_nodes_however_many_substeps(name, rng):
    model, values = smooth(name)
    coarse = trajectories_of(model, rng, (4,), 0.01)[0]
    fine = np.repeat(coarse.torque, 2, axis=0)[:-1]
    fine[1::2] = 0.5 * (coarse.torque[1:] + coarse.torque[:-1])
    columns = columns_of(model, rng)
    one = Simulator(model, columns).run(values, [coarse._replace(torque=fine, step=0.005)])[0]
    two = Simulator(model, columns, substeps=2).run(values, [coarse])[0]
    np.testing.assert_allclose(two.states, one.states[::2], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(two.slopes, one.slopes[::2], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize('compiled', [True, False])
def test_a_course_that_runs_away_is_nan_from_there_and_no_other(rng, compiled):
    model, values = smooth('arm')
    simulator = Simulator(model, columns_of(model, rng))
    if not compiled:
        simulator.__dict__['_arrays'] = None
    good, other = trajectories_of(model, rng)
    wild = good._replace(torque=np.where(np.arange(12)[:, None] < 5, good.torque, 1e13))
    lost, kept = simulator.run(values, [wild, other])
    assert np.isfinite(lost.states[:4]).all()
    assert np.isnan(lost.states[-1]).all()
    assert np.isnan(lost.slopes[-1]).all()
    alone = simulator.run(values, [other])[0]
    np.testing.assert_array_equal(kept.states, alone.states)
    np.testing.assert_array_equal(kept.slopes, alone.slopes)


@pytest.mark.parametrize('name', ['arm', 'closed chain'])
def test_a_robot_with_negative_inertia_cannot_move(rng, name):
    model, values = smooth(name)
    motions = Simulator(model, columns_of(model, rng)).run(-values, trajectories_of(model, rng))
    assert all(np.isnan(motion.states).all() for motion in motions)


def test_a_closed_loop_that_cannot_be_closed_does_not_stop_the_others(rng):
    model, values = smooth('closed chain')
    good, other = trajectories_of(model, rng)
    away = good._replace(start=good.start + [[20.0], [0.0]])
    simulator = Simulator(model, columns_of(model, rng))
    kept = simulator.run(values, [away, other])[1]
    np.testing.assert_allclose(
        kept.states, simulator.run(values, [other])[0].states, rtol=1e-12, atol=1e-12)


def test_no_step_between_nodes_is_refused():
    model, _ = smooth('arm')
    with pytest.raises(ConfigurationError, match='one or more from node to node'):
        Simulator(model, np.zeros(0, dtype=int), substeps=0)


def test_dry_friction_that_jumps_is_refused():
    model = replace(golden.golden('arm').model, terms=(CoulombFriction(),))
    with pytest.raises(ModelError, match='jumps'):
        Simulator(model, np.zeros(0, dtype=int))


def test_the_cache_of_the_simulation_looks_at_the_files_it_calls():
    first, second = kernels._compiled('one digest'), kernels._compiled('another')
    key = inspect.getattr_static(type(first._cache), '_index_key')
    codegen = first.targetctx.codegen()
    assert key(first._cache, (), codegen) != key(second._cache, (), codegen)
    digest = hashlib.sha256(b''.join(
        Path(module.__file__).read_bytes() for module in kernels.SOURCES)).hexdigest()
    same = kernels._compiled(digest)
    assert key(same._cache, (), codegen) == key(kernels.simulate._cache, (), codegen)
