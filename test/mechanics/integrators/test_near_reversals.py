"""Steps are short where smoothed dry friction may reverse, and nowhere else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sysid_ros.errors import ConfigurationError
from sysid_ros.mechanics.actuators.actuators import Actuators, JointActuator
from sysid_ros.mechanics.actuators.command import HeldCommand
from sysid_ros.mechanics.actuators.kinds import kind_named
from sysid_ros.mechanics.integrators.sensitivity import InputTrajectory, Simulator
from sysid_ros.mechanics.joint_terms.terms import (
    Armature,
    CoulombFriction,
    SmoothCoulombFriction,
    StribeckFriction,
    ViscousFriction,
)
from sysid_ros.mechanics.regressor.sample_regressor import shaped_model
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.robot.model import RobotModel

PENDULUM = """<mujoco model="pendulum"><compiler angle="radian"/><worldbody>
<body name="link"><joint name="hinge" axis="0 1 0" damping="0.15" frictionloss="0.3"
armature="0.02"/><inertial pos="0 0 -0.1" mass="0.5" diaginertia="0.004 0.004 0.001"/></body>
</worldbody></mujoco>"""
TWO_LINKS = """<robot name="two"><link name="base"/>
<joint name="upper_joint" type="continuous"><parent link="base"/><child link="upper"/>
<axis xyz="0 1 0"/></joint><link name="upper"><inertial><origin xyz="0 0 -0.15"/><mass value="0.6"/>
<inertia ixx="0.004" ixy="0" ixz="0" iyy="0.005" iyz="0" izz="0.001"/></inertial></link>
<joint name="lower_joint" type="continuous"><parent link="upper"/><child link="lower"/>
<origin xyz="0 0 -0.3"/><axis xyz="0 1 0"/></joint><link name="lower"><inertial>
<origin xyz="0 0 -0.1"/><mass value="0.2"/>
<inertia ixx="0.0008" ixy="0" ixz="0" iyy="0.001" iyz="0" izz="0.0001"/></inertial></link>
</robot>"""
STEP, NODES, SMOOTHING = 0.005, 401, 0.004
# At rest friction changes at 0.3 / (0.004 * 0.029) = 2600 1/s: 13 in a step, of which an explicit
# method bears 2.8.
EVEN, PIECES = 2, 16


@pytest.fixture
def model(tmp_path):
    path = tmp_path / 'pendulum.xml'
    path.write_text(PENDULUM)
    servo = JointActuator('hinge', kind_named('position_servo'), (20.0, 0.5), free=('kp',))
    return TorqueModel(RobotModel.from_description(path), [
        ViscousFriction(), CoulombFriction(smoothing=SMOOTHING), Armature(),
        Actuators((servo,), 0.003)])


@pytest.fixture
def trajectory():
    """A servo under triangles, which reverse and stick."""
    t = STEP * np.arange(NODES)
    saw = np.arcsin(np.sin(2.0 * np.pi * (0.5 * t + 0.3 * t**2)))
    return InputTrajectory(
        np.zeros((2, 1)), np.zeros((NODES, 1)), STEP, HeldCommand(t, 0.3 * saw[:, None]))


def test_motion_with_short_steps_near_reversals_is_that_with_short_steps_everywhere(
    model, trajectory
):
    columns = np.flatnonzero(model.parameters.free)
    values = model.parameters.prior
    own, fine, coarse = (
        Simulator(model, columns, True, *steps).run(values, [trajectory])[0]
        for steps in ((EVEN, PIECES), (EVEN * PIECES, 1), (EVEN, 1)))
    errors = [np.abs(other.states[:, 0] - fine.states[:, 0]).max() for other in (own, coarse)]
    assert errors[0] < min(0.1 * errors[1], 1e-4 * np.ptp(fine.states[:, 0]))
    for k in range(own.slopes.shape[-1]):
        size = np.abs(fine.slopes[:, 0, :, k]).max()
        np.testing.assert_allclose(
            own.slopes[:, 0, :, k], fine.slopes[:, 0, :, k], atol=1e-2 * size + 1e-12)


def test_only_dry_friction_has_a_velocity_of_smoothing(model):
    shaped = shaped_model(model)
    velocities = shaped.constants.smoothing_velocities(shaped.tree.terms)
    # Columns of terms come behind those of bodies.
    names = model.parameters.names[-len(velocities):]
    assert {name for name, v in zip(names, velocities, strict=True) if v == SMOOTHING} == {
        'hinge.coulomb_friction'}
    assert (velocities[velocities != SMOOTHING] == -1.0).all()


@pytest.mark.slow
def test_steps_that_are_not_compiled_are_short_everywhere(model, trajectory):
    # A smoothing that two terms share is no constant of one law.
    general = replace(model, terms=(
        ViscousFriction(), SmoothCoulombFriction(), StribeckFriction(smoothing=None),
        *model.terms[2:]))
    none, values = np.zeros(0, dtype=int), general.parameters.prior
    short = trajectory._replace(torque=trajectory.torque[:9])
    simulators = [
        Simulator(general, none, False, *steps) for steps in ((EVEN, PIECES), (EVEN * PIECES, 1))]
    assert not any(each.is_compiled for each in simulators)
    found = [each.run(values, [short])[0].states for each in simulators]
    np.testing.assert_array_equal(*found)


@pytest.fixture
def light_link():
    """A link of two, under a torque, whose dry friction on the light one is steep."""
    robot = RobotModel.from_urdf(TWO_LINKS)
    model = TorqueModel(robot, [ViscousFriction(), CoulombFriction(smoothing=0.01)])
    values = model.parameters.with_values({
        'upper_joint.viscous_friction': 0.02, 'lower_joint.viscous_friction': 0.002,
        'upper_joint.coulomb_friction': 0.02, 'lower_joint.coulomb_friction': 0.08}).values
    t = STEP * np.arange(NODES)
    torque = np.stack([0.8 * np.sin(4.0 * t), 0.15 * np.sin(9.0 * t + 1.0)], axis=1)
    return model, values, InputTrajectory(np.array([[0.4, -0.3], [0.0, 0.0]]), torque, STEP)


def test_torque_driven_motion_is_cut_near_reversals_as_finely_as_it_needs(light_link):
    model, values, trajectory = light_link
    none = np.zeros(0, dtype=int)

    def run(*steps):
        return Simulator(model, none, False, *steps).run(values, [trajectory])[0].states

    fine, coarse = run(64), run(4)
    own, bounded = run(1, 1000), run(1, 200)
    # More than it needs are not taken, which a fixed number would.
    np.testing.assert_array_equal(own, bounded)
    reach = np.ptp(fine[:, 0], axis=0)
    errors = [(np.abs(one[:, 0] - fine[:, 0]) / reach).max() for one in (own, coarse)]
    assert errors[0] < 2e-4 and errors[0] < 0.3 * errors[1]


def test_motion_away_from_reversals_and_without_steep_friction_is_not_cut(light_link):
    model, values, trajectory = light_link
    names, none = model.parameters.names, np.zeros(0, dtype=int)
    mild = np.array([
        1e-4 * x if name.endswith('coulomb_friction') else x
        for name, x in zip(names, values, strict=True)])
    falling = trajectory._replace(
        start=np.array([[0.4, -0.3], [9.0, 9.0]]), torque=np.zeros((20, 2)))
    for at, motion in ((mild, trajectory), (values, falling)):
        cut, whole = (
            Simulator(model, none, False, 1, most).run(at, [motion])[0].states
            for most in (40, 1))
        np.testing.assert_array_equal(cut, whole)


def test_derivatives_of_motion_that_is_cut_are_differences(light_link):
    model, values, trajectory = light_link
    columns = np.array([
        model.parameters.index(name) for name in (
            'lower.inertia_yy', 'upper.first_moment_z', 'lower_joint.coulomb_friction',
            'upper_joint.viscous_friction')])
    simulator = Simulator(model, columns, True, 1, 40)
    motion, = simulator.run(values, [trajectory])
    for k, column in enumerate(columns):
        change = np.zeros(len(values))
        change[column] = 1e-6 * values[column]
        (ahead,), (behind,) = (
            simulator.run(values + sign * change, [trajectory]) for sign in (1.0, -1.0))
        expected = (ahead.states - behind.states)[:, 0] / (2.0 * change[column])
        np.testing.assert_allclose(
            motion.slopes[:, 0, :, simulator.starts + k], expected,
            atol=1e-4 * np.abs(expected).max(), err_msg=model.parameters.names[column])


def test_no_step_near_reversals_is_refused(model):
    with pytest.raises(ConfigurationError, match='one or more from node to node'):
        Simulator(model, np.zeros(0, dtype=int), near_reversals=0)
