"""Motion that sticks and turns around is smoothed to no more than the cost of the true one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from support import friction_pendulum as pendulum
from sysid_ros.estimation.trajectory.discrete.estimator import MaximalCoordinatesEstimator
from sysid_ros.estimation.trajectory.discrete.leapfrog import half_a_step_before, step_torques
from sysid_ros.estimation.trajectory.discrete.stepper import simulate
from sysid_ros.estimation.trajectory.problem import Observation, Segment, TrajectoryProblem
from sysid_ros.estimation.trajectory.search_log import SearchLog
from sysid_ros.estimation.trajectory.sensors import Encoder
from sysid_ros.mechanics.joint_terms.terms import CoulombFriction, ViscousFriction
from sysid_ros.mechanics.torque_model import TorqueModel

STEP, SECONDS, SIGMA = 5e-3, 6.0, 1e-3
VALUES = {'hinge.viscous_friction': 2e-3, 'hinge.coulomb_friction': 0.05}
# Missing impulses weigh so much that the motion of the pieces has to be that of the dynamics.
METHOD = MaximalCoordinatesEstimator(state_error_weight=1e8, prior_strength=None, refinement=1)


def driven(seed):
    """A pendulum that is driven to and fro, and sticks; the problem, and its true states."""
    model = TorqueModel(pendulum.described(), [ViscousFriction(), CoulombFriction()])
    parameters = model.parameters.with_values(VALUES)
    t = np.arange(round(SECONDS / STEP) + 1) * STEP
    random = np.random.default_rng(seed)
    torque = sum(
        random.uniform(0.02, 0.05) * np.sin(random.uniform(2.0, 9.0) * t + random.uniform(0.0, 6.0))
        for _ in range(4))[:, None]
    bare = TrajectoryProblem(
        model, replace(parameters, free=np.zeros(len(parameters), dtype=bool)),
        (Segment(t, torque, (Observation(
            Encoder.of(('hinge',)), t, np.zeros((len(t), 1)), np.array([SIGMA])),)),))
    robot = METHOD.mechanism(bare)
    mechanism = robot.mechanism
    body = robot.parameter_map.body_parameters(
        parameters.values, len(mechanism.bodies), mechanism.gravity)
    first = robot.states(np.zeros((2, 1)), half_a_step_before(np.zeros((2, 1))))[0]
    states = simulate(
        mechanism.arrays, body, first, robot.commands(step_torques(torque)), STEP).states
    chain = METHOD._chain(bare, METHOD.beginning(bare, None))
    angles = replace(chain, start=states).joint_motion(states, 0).position
    measured = angles + SIGMA * random.normal(size=angles.shape)
    segment = replace(bare.segments[0], observations=(replace(
        bare.segments[0].observations[0], values=measured),))
    return replace(bare, segments=(segment,)), states, angles


@pytest.mark.parametrize('seed', range(4))
def test_smoothed_motion_costs_no_more_than_the_true_one(seed):
    problem, states, angles = driven(seed)
    speed = np.diff(angles[:, 0]) / STEP
    # It sticks, and turns around.
    assert np.mean(np.abs(speed) < 1e-6) > 0.1
    assert np.count_nonzero(np.diff(np.sign(speed[np.abs(speed) > 1e-6]))) >= 2
    none = np.zeros(0)
    truth = METHOD._chain(problem, METHOD.beginning(problem, None)).cost(states, none)
    assert truth == pytest.approx(0.5 * len(angles), rel=0.2)
    found = METHOD.search(problem, METHOD.beginning(problem, None), SearchLog(400))
    assert found.status.ok
    cost = METHOD._chain(problem, found).cost(found.states, none)
    assert cost <= 1.02 * truth
