"""Motion under friction that grows with the load: against MuJoCo, differences, and what it is."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_ros.mechanics.integrators import sensitivity_kernels as kernels
from sysid_ros.mechanics.integrators.sensitivity import InputTrajectory, Simulator
from sysid_ros.mechanics.joint_terms.terms import (
    Armature,
    CoulombFriction,
    LoadFriction,
    ViscousFriction,
)
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.robot.model import RobotModel

mujoco = pytest.importorskip('mujoco', reason='an independent simulator is compared with')

ARM = """<mujoco model="arm"><compiler angle="radian"/>
<option timestep="2e-5" integrator="implicitfast"/><worldbody>
<body name="upper"><joint name="shoulder" axis="0 1 0" damping="0.1" armature="0.03"/>
<inertial pos="0 0 -0.2" mass="1.5" diaginertia="0.02 0.02 0.002"/>
<body name="lower" pos="0 0 -0.4"><joint name="elbow" axis="0 1 0" damping="0.05" armature="0.02"/>
<inertial pos="0.02 0 -0.15" mass="0.8" diaginertia="0.008 0.008 0.001"/></body></body>
</worldbody></mujoco>"""
FRICTION, DRY, SMOOTHING = np.array([0.35, 0.2]), np.array([0.3, 0.1]), 0.01
STEP, NODES = 0.005, 61


def arm(folder, smoothing=SMOOTHING):
    """The model, and values of its parameters."""
    (folder / 'arm.xml').write_text(ARM)
    model = TorqueModel(RobotModel.from_description(folder / 'arm.xml'), [
        ViscousFriction(), CoulombFriction(smoothing=smoothing), Armature(),
        LoadFriction(smoothing=smoothing)])
    values = model.parameters.prior.copy()
    for name, dry, load in zip(('shoulder', 'elbow'), DRY, FRICTION, strict=True):
        values[model.parameters.index(f'{name}.coulomb_friction')] = dry
        values[model.parameters.index(f'{name}.load_friction')] = load
    return model, values


def in_mujoco(start, torque):
    """Positions at the nodes; friction of each step is by the load of the one before."""
    model = mujoco.MjModel.from_xml_string(ARM)
    model.dof_solref[:], model.dof_solimp[:, :3] = (0.0005, 1.0), (0.99, 0.999, 0.001)
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = start
    model.dof_frictionloss[:] = DRY
    every, found = round(STEP / model.opt.timestep), [np.array(start[0])]
    for k in range((NODES - 1) * every):
        at = k / every
        data.qfrc_applied[:] = [np.interp(at, np.arange(NODES), part) for part in torque.T]
        mujoco.mj_step(model, data)
        load = (
            data.qfrc_applied + data.qfrc_passive + data.qfrc_constraint
            - model.dof_armature * data.qacc)
        model.dof_frictionloss[:] = DRY + FRICTION * np.abs(load)
        if (k + 1) % every == 0:
            found.append(data.qpos.copy())
    return np.array(found)


def trajectory(start, size):
    t = STEP * np.arange(NODES)
    torque = size * np.stack([2.0 + 3.0 * np.sin(12.0 * t), 1.0 - 1.5 * np.cos(9.0 * t)], axis=1)
    return InputTrajectory(np.array(start), torque, STEP)


@pytest.mark.parametrize('start', [
    [[0.3, -0.5], [4.0, 3.0]], [[-0.8, 0.4], [-3.0, 4.0]],
], ids=['forwards', 'against each other'])
def test_an_arm_moves_as_in_mujoco(tmp_path, start):
    model, values = arm(tmp_path, 0.001)
    given = trajectory(start, 1.0)
    found = Simulator(model, np.zeros(0, dtype=int), False, 4, 40).run(values, [given])[0]
    expected = in_mujoco(start, given.torque)
    moved = np.abs(expected - expected[0]).max()
    np.testing.assert_allclose(found.states[:, 0], expected, atol=2e-3 * moved)
    # Without it, the arm would be elsewhere by far more than that.
    free = values.copy()
    free[[name.endswith('.load_friction') for name in model.parameters.names]] = 0.0
    other = Simulator(model, np.zeros(0, dtype=int), False, 4, 40).run(free, [given])[0]
    assert np.abs(other.states[:, 0] - expected).max() > 0.03 * moved


def test_derivatives_are_differences_of_whole_motions(tmp_path):
    model, values = arm(tmp_path, 0.2)
    columns = np.arange(len(values))
    given = trajectory([[0.3, -0.5], [0.5, -0.2]], 0.6)

    def states(values):
        return Simulator(model, columns[:0], False).run(values, [given])[0].states

    slopes = Simulator(model, columns, False).run(values, [given])[0].slopes
    for k, value in enumerate(values):
        step = 1e-6 * max(abs(value), 0.1)
        moved = [states(values + sign * step * np.eye(len(values))[k]) for sign in (1.0, -1.0)]
        expected = (moved[0] - moved[1])[:, :2] / (2.0 * step)
        error = np.abs(slopes[:, :2, :, k] - expected).max()
        assert error < 2e-5 * max(np.abs(expected).max(), 1.0), model.parameters.names[k]


def test_steps_are_short_where_friction_by_load_may_reverse(tmp_path):
    model, values = arm(tmp_path, 0.002)
    values[[name.endswith('.coulomb_friction') for name in model.parameters.names]] = 0.0
    given, no = trajectory([[0.3, -0.5], [0.5, -0.2]], 0.6), np.zeros(0, dtype=int)
    own, fine, coarse = (
        Simulator(model, no, False, *steps).run(values, [given])[0].states[:, 0]
        for steps in ((2, 40), (160, 1), (2, 1)))
    assert np.abs(own - fine).max() < 0.02 * np.abs(np.nan_to_num(coarse, nan=1e3) - fine).max()


def test_what_is_compiled_looks_at_the_file():
    assert any(source.__name__.endswith('loaded_gears') for source in kernels.SOURCES)
