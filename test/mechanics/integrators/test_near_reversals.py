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


def test_no_step_near_reversals_is_refused(model):
    with pytest.raises(ConfigurationError, match='one or more from node to node'):
        Simulator(model, np.zeros(0, dtype=int), near_reversals=0)
