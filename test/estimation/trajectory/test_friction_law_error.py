"""Intervals of drives count that dry friction near standstill is not the simulated one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sysid_ros.estimation.trajectory.assessment import base_covariance, determined_parameters
from sysid_ros.estimation.trajectory.friction_law_error import (
    DRY_FRICTION,
    FrictionLawError,
    with_dry_friction,
)
from sysid_ros.estimation.trajectory.problem import Observation, Segment, TrajectoryProblem
from sysid_ros.estimation.trajectory.sensors import Encoder
from sysid_ros.estimation.trajectory.shooting_estimator import ShootingEstimator
from sysid_ros.mechanics.actuators.actuators import Actuators, JointActuator
from sysid_ros.mechanics.actuators.command import HeldCommand
from sysid_ros.mechanics.actuators.kinds import kind_named
from sysid_ros.mechanics.integrators.sensitivity import InputTrajectory, Simulator
from sysid_ros.mechanics.joint_terms.terms import Armature, CoulombFriction, ViscousFriction
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.robot.model import RobotModel

PENDULUM = """<mujoco model="pendulum"><compiler angle="radian"/><worldbody>
<body name="link"><joint name="hinge" axis="0 1 0" damping="0.2" frictionloss="0.2"
armature="0.01"/><inertial pos="0 0 -0.1" mass="0.5" diaginertia="0.004 0.004 0.001"/></body>
</worldbody></mujoco>"""
TRUTH = {'viscous_friction': 0.15, 'coulomb_friction': 0.3, 'armature': 0.02}
# Smoothing in the simulation that is the truth, in [rad/s], and in the fit: the default.
TRUE, FITTED = 0.002, 0.02
STEP, SECONDS, NOISE = 0.005, 6.0, 1e-5


@pytest.fixture
def robot(tmp_path):
    path = tmp_path / 'pendulum.xml'
    path.write_text(PENDULUM)
    return RobotModel.from_description(path)


def model_of(robot, smoothing):
    servo = JointActuator('hinge', kind_named('position_servo'), (20.0, 0.5))
    return TorqueModel(robot, [
        ViscousFriction(), CoulombFriction(smoothing=smoothing), Armature(),
        Actuators((servo,), 0.0)])


@pytest.fixture
def problem(robot):
    """Encoder readings of a servo under triangles, to be fitted with smoother friction."""
    model = model_of(robot, TRUE)
    values = model.parameters.prior.copy()
    for field, value in TRUTH.items():
        values[model.parameters.index(f'hinge.{field}')] = value
    t = np.arange(round(SECONDS / STEP) + 1) * STEP
    saw = np.arcsin(np.sin(2.0 * np.pi * (0.4 * t + 0.06 * t**2)))
    commands = HeldCommand(t, 0.3 * saw[:, None])
    start, torque = np.zeros((2, 1)), np.zeros((len(t), 1))
    motion = Simulator(model, np.zeros(0, dtype=int), False, 40).run(
        values, [InputTrajectory(start, torque, STEP, commands, 0.0)])[0]
    read = motion.states[:, 0] + np.random.default_rng(0).normal(0.0, NOISE, (len(t), 1))
    observation = Observation(Encoder.of(['hinge']), t, read, np.array([NOISE]))
    fitted = model_of(robot, FITTED)
    fixed = fitted.parameters.fixed(*(
        name for name in fitted.parameters.names
        if name not in {f'hinge.{field}' for field in TRUTH}))
    return TrajectoryProblem(
        fitted, fixed, (Segment(t, torque, (observation,), commands=commands),))


def test_intervals_of_frictions_hold_what_residuals_alone_do_not_show(problem):
    estimate, solution = ShootingEstimator().fitted(problem)
    assert estimate.status.ok
    known = determined_parameters(problem, solution.information)
    alone = np.sqrt(np.diagonal(base_covariance(problem, solution, known)))
    index = [estimate.parameters.index(f'hinge.{field}') for field in TRUTH]
    error = np.abs(estimate.parameters.values[index] - list(TRUTH.values()))
    own = [problem.parameters.names[k] for k in problem.free]
    alone = alone[[own.index(f'hinge.{field}') for field in TRUTH]]
    assert (error > 1.96 * alone).any()
    counted = estimate.standard_deviation[index]
    assert (error <= 1.96 * counted).all()
    # Dry friction makes the same motion with values that are nearer to those of the sharper truth.
    dry = np.array([estimate.provenance[DRY_FRICTION][f'hinge.{field}'] for field in TRUTH])
    assert (np.abs(dry - list(TRUTH.values()))[:2] < 0.6 * error[:2]).all()
    # Intervals are no wider than ten times the error that they are to hold.
    assert (counted[:2] < 10.0 * error[:2]).all()


@pytest.mark.parametrize(('part', 'extrapolated'), [(0.3, True), (-0.7, False), (1e8, False)])
def test_dry_friction_that_would_be_another_is_not_extrapolated(problem, part, extrapolated):
    estimate, solution = ShootingEstimator().fitted(problem)
    own = [problem.parameters.names[k] for k in problem.free]
    change = np.zeros(len(own))
    change[own.index('hinge.coulomb_friction')] = part * estimate.parameters[
        'hinge.coulomb_friction']
    plain = replace(estimate, provenance={})
    said = with_dry_friction(
        plain, problem, solution, FrictionLawError(change, np.zeros((len(own), len(own)))))
    assert (DRY_FRICTION in said.provenance) == extrapolated
