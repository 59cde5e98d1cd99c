"""Leapfrog steps: what is meant half a step before a node is not taken for what is at it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from support import trajectory_problems as problems
from sysid_ros.estimation.trajectory.discrete import leapfrog
from sysid_ros.estimation.trajectory.discrete.estimator import MaximalCoordinatesEstimator
from sysid_ros.estimation.trajectory.problem import Observation, Segment, TrajectoryProblem
from sysid_ros.estimation.trajectory.sensors import Encoder, Tachometer

STEP, NODES = 0.01, 301


def segment(observations=()):
    t = STEP * np.arange(NODES)
    return Segment(t, 0.5 * np.sin(9.0 * t)[:, None], observations)


def test_readings_of_constant_acceleration_are_exact_anywhere():
    model, own = problems.model_of(problems.PENDULUM), segment()
    nodes, t = own.t, np.array([0.0, 0.0025, 0.0075, 0.01, 2.9925, 3.0])

    def motion(time):
        return 0.3 + 2.0 * time - 4.0 * time**2, 2.0 - 8.0 * time

    q, before = motion(nodes)[0], motion(nodes - 0.5 * STEP)[1]
    states = np.column_stack([q, before])
    for sensor, expected in zip(
            (Encoder.of(['swing']), Tachometer.of(['swing'])), motion(t), strict=True):
        places = leapfrog.places(own, Observation(sensor, t, np.zeros((len(t), 1)), np.ones(1)))
        reading, (here, after, _) = places.read(
            sensor, model.robot, states, None, model.parameters.values, np.zeros(0, dtype=int))
        assert reading[:, 0] == pytest.approx(expected, abs=1e-11)
        # Readings are linear in states: their derivatives make them.
        by_states = here @ states[places.node, :, None] + after @ states[places.node + 1, :, None]
        assert by_states[:, 0, 0] == pytest.approx(expected, abs=1e-11)
    assert leapfrog.at_nodes(before[:, None])[:, 0] == pytest.approx(motion(nodes)[1])
    assert leapfrog.half_a_step_before(motion(nodes)[1][:, None])[:, 0] == pytest.approx(before)


def test_positions_at_nodes_touch_no_other_node():
    t = segment().t[::2]
    own = Observation(Encoder.of(['swing']), t, np.zeros((len(t), 1)), np.ones(1))
    assert leapfrog.places(segment(), own).on_nodes


def test_torques_of_steps_are_means_about_their_node():
    t = np.linspace(0.0, 5.0, 50001)
    torque = np.array([1.0, 3.0, -2.0, 0.5, 0.5, 4.0])
    line = np.interp(t, np.arange(6.0), torque)
    expected = [line[(t > k - 0.5) & (t < k + 0.5)].mean() for k in range(1, 5)]
    found = leapfrog.step_torques(torque[:, None])[:, 0]
    assert found == pytest.approx([1.0, *expected], abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize('period', [STEP, 0.4 * STEP], ids=['at nodes', 'between nodes'])
def test_friction_of_a_driven_pendulum_is_found_by_long_steps(period):
    model, own = problems.model_of(problems.PENDULUM), segment()
    names = ('rod.inertia_yy', 'rod.first_moment_z', 'swing.viscous_friction')
    truth = model.parameters.with_values({'swing.coulomb_friction': 0.0})
    t = np.linspace(0.0, own.t[-1], round(own.t[-1] / period) + 1)
    torque = np.interp(t, own.t, own.torque[:, 0])[:, None]
    q, _ = problems.simulated(model, truth.values, t, torque, (np.array([0.4]), np.array([0.0])))
    read = q + 1e-4 * np.random.default_rng(4).standard_normal(q.shape)
    observed = Observation(Encoder.of(['swing']), t, read, np.array([1e-4]))
    guess = truth.with_values({name: 1.2 * truth[name] for name in names})
    problem = TrajectoryProblem(
        model, replace(guess, free=np.array([name in names for name in guess.names])),
        (segment((observed,)),))
    found = MaximalCoordinatesEstimator(prior_strength=None).fit(problem)
    assert found.status.ok
    # Torques half a step late put a part of their own amplitude into friction.
    for name, within in zip(names, (0.01, 0.01, 0.02), strict=True):
        assert found.parameters[name] == pytest.approx(truth[name], rel=within)
