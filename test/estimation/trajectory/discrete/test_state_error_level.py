"""The weight of missing impulses: a level that was put in is found, and the right one is taken."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from support import trajectory_problems as problems
from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.trajectory.assessment import determined_parameters
from sysid_ros.estimation.trajectory.discrete.estimator import MaximalCoordinatesEstimator
from sysid_ros.estimation.trajectory.discrete.state_error_level import (
    likeliest_level,
    minus_twice_log_likelihood,
)
from sysid_ros.estimation.trajectory.problem import Observation, Segment, TrajectoryProblem
from sysid_ros.estimation.trajectory.sensors import Encoder
from sysid_ros.mechanics.integrators.sensitivity import InputTrajectory, Simulator

STEP, NODES, NOISE = 0.005, 1201, 2e-4
NAMES = ('rod.first_moment_z', 'swing.viscous_friction')


def rough(density, seed, step=STEP, nodes=NODES):
    """A pendulum that is driven by a known torque, and by noise of torques, [N·m/√Hz]."""
    rng = np.random.default_rng(seed)
    model = problems.model_of(problems.PENDULUM)
    truth = model.parameters.with_values({'swing.coulomb_friction': 0.0})
    t = step * np.arange(nodes)
    torque = 0.4 * np.sin(5.0 * t)[:, None]
    # Held over fifths of nodes, the noise is white for all that steps can tell.
    fine = np.linspace(0.0, t[-1], 5 * (nodes - 1) + 1)
    noise = density / np.sqrt(fine[1]) * rng.standard_normal((len(fine), 1))
    told = np.interp(fine, t, torque[:, 0])[:, None]
    simulator = Simulator(model, np.zeros(0, dtype=int), False, 1)
    trajectory = InputTrajectory(np.array([[0.4], [0.0]]), told + noise, float(fine[1]))
    q = simulator.run(truth.values, [trajectory])[0].states[:, 0]
    read = q[::5] + NOISE * rng.standard_normal((nodes, 1))
    observed = Observation(Encoder.of(['swing']), t, read, np.array([NOISE]))
    guess = truth.with_values({name: 1.2 * truth[name] for name in NAMES})
    return truth, TrajectoryProblem(
        model, replace(guess, free=np.array([name in NAMES for name in guess.names])),
        (Segment(t, torque, (observed,)),))


def level_of(problem, weight):
    """The likeliest level, beside its first guess, as a weight."""
    method = MaximalCoordinatesEstimator(prior_strength=None, state_error_weight=weight)
    found = method.solve(problem)
    assert found.status.ok
    chain = method._chain(problem.with_values(found.values), found)
    linear = chain.linearised(chain.start, found.values[problem.free])
    determined = determined_parameters(problem, found.information).mask
    return linear, determined, likeliest_level(linear, determined)


def test_the_level_is_where_the_likelihood_is_largest():
    _, problem = rough(2e-3, 1)
    linear, determined, level = level_of(problem, 3.0)
    around = level.ratio * np.exp(np.linspace(-0.6, 0.6, 13))
    values = [minus_twice_log_likelihood(linear, determined, ratio) for ratio in around]
    assert np.argmin(values) in (5, 6, 7)
    # Two standard deviations away, the deviance is larger by four.
    away = level.ratio * np.exp(2.0 * level.deviation)
    deviance = minus_twice_log_likelihood(linear, determined, away) - min(values)
    assert deviance == pytest.approx(4.0, abs=2)


def test_whatever_weight_a_search_begins_with_the_level_is_the_same():
    _, problem = rough(2e-3, 2)
    found = [weight / level_of(problem, weight)[2].ratio**2 for weight in (0.3, 30.0)]
    assert found[0] == pytest.approx(found[1], rel=0.5)


def test_twice_the_noise_of_torques_is_twice_the_level_of_missing_impulses():
    weights = [1.0 / level_of(rough(density, 3)[1], 1.0)[2].ratio**2 for density in (2e-3, 4e-3)]
    assert weights[0] / weights[1] == pytest.approx(4.0, rel=0.4)


@pytest.mark.slow
def test_intervals_at_the_likeliest_weight_hold_where_the_guess_would_be_far_off():
    deviations = []
    for seed in range(8):
        truth, problem = rough(2e-3, 10 + seed)
        estimate = MaximalCoordinatesEstimator(prior_strength=None).fit(problem)
        assert estimate.status.ok and 'state_error_weight' in ' '.join(estimate.notes)
        deviations += [
            (estimate.parameters[name] - truth[name])
            / estimate.standard_deviation[problem.parameters.index(name)] for name in NAMES]
    # Sixteen of variance one: 99.9 % have a root mean square between 0.5 and 1.6.
    assert 0.5 < np.sqrt(np.mean(np.square(deviations))) < 1.6


def test_a_weight_that_was_given_is_kept():
    _, problem = rough(2e-3, 4)
    estimate = MaximalCoordinatesEstimator(prior_strength=None, state_error_weight=1e3).fit(problem)
    assert 'state_error_weight' not in ' '.join(estimate.notes)
    assert estimate.settings['state_error_weight'] == 1e3


@pytest.mark.slow
def test_longer_nodes_than_steps_are_divided_and_the_motion_is_that_of_the_nodes():
    truth, problem = rough(0.0, 5, step=0.02, nodes=301)
    method = MaximalCoordinatesEstimator(prior_strength=None)
    estimate, motion = method.fitted(problem)
    assert estimate.status.ok and motion.positions[0].shape == (301, 1)
    coarse = replace(method, refinement=1).fit(problem)
    off = [
        max(abs(each.parameters[name] / truth[name] - 1.0) for name in NAMES)
        for each in (estimate, coarse)]
    # Of second order in steps, a quarter as long.
    assert off[0] < 0.01 and off[0] < 0.2 * off[1]


@pytest.mark.parametrize('setting', [{'refinement': 0}, {'refinement': -2}])
def test_steps_that_are_none_are_refused(setting):
    with pytest.raises(ConfigurationError, match='not above zero'):
        MaximalCoordinatesEstimator(**setting)
