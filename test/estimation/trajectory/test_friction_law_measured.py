"""Intervals of robots whose torques are measured count the law of friction near standstill, too."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from support import trajectory_problems as problems
from sysid_ros.estimation.trajectory.assessment import base_covariance, determined_parameters
from sysid_ros.estimation.trajectory.problem import Observation, Segment, TrajectoryProblem
from sysid_ros.estimation.trajectory.sensors import Encoder
from sysid_ros.estimation.trajectory.shooting_estimator import ShootingEstimator
from sysid_ros.mechanics.integrators.sensitivity import InputTrajectory, Simulator

# Smoothing in the simulation that is the truth, in [rad/s], and in the fit.
TRUE, FITTED = 0.002, 0.05
STEP, NODES, NOISE = 0.005, 1201, 1e-5
NAMES = ('rod.inertia_yy', 'swing.viscous_friction', 'swing.coulomb_friction')
FRICTION = {'swing.viscous_friction': 0.02, 'swing.coulomb_friction': 0.1}


@pytest.fixture
def problem():
    """A pendulum that a measured torque turns to and fro, fitted with smoother friction."""
    sharp, smooth = (problems.model_of(problems.PENDULUM, width) for width in (TRUE, FITTED))
    truth = sharp.parameters.with_values(FRICTION)
    t = STEP * np.arange(NODES)
    torque = (0.3 * np.sin(5.0 * t) + 0.3 * np.sin(2.3 * t))[:, None]
    motion = Simulator(sharp, np.zeros(0, dtype=int), False, 40).run(
        truth.values, [InputTrajectory(np.zeros((2, 1)), torque, STEP)])[0]
    read = motion.states[:, 0] + np.random.default_rng(0).normal(0.0, NOISE, (NODES, 1))
    observation = Observation(Encoder.of(['swing']), t, read, np.array([NOISE]))
    free = replace(truth, free=np.array([name in NAMES for name in truth.names]))
    return truth, TrajectoryProblem(smooth, free, (Segment(t, torque, (observation,)),))


def test_intervals_hold_what_smoothing_does_where_residuals_do_not_show_it(problem):
    truth, problem = problem
    estimate, solution = ShootingEstimator(horizon=1.0, prior_strength=None).fitted(problem)
    assert estimate.status.ok
    index = [truth.index(name) for name in NAMES]
    error = np.abs(estimate.parameters.values[index] - truth.values[index])
    known = determined_parameters(problem, solution.information)
    alone = np.sqrt(np.diagonal(base_covariance(problem, solution, known)))
    assert (error > 1.96 * alone).any()
    counted = estimate.standard_deviation[index]
    assert (error <= 1.96 * counted).all()
    # And are no wider than ten times the error that they are to hold.
    assert (counted[1:] < 10.0 * error[1:]).all()
