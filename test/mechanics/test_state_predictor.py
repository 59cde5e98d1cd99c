"""What a measured state has become: exact for held accelerations, and what makes a loop stable."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad

from sysid_ros.mechanics.state_predictor import StatePredictor

# Joint states and commands are 8 ms apart; the way of a message and of a command take 1 ms each.
PERIOD, WAY, OMEGA = 8e-3, 1e-3, 30.0
STEP = 5e-4


@pytest.mark.parametrize('seed', range(5))
def test_held_accelerations_are_integrated_exactly(seed):
    rng = np.random.default_rng(seed)
    begins, held = np.sort(rng.uniform(0.0, 0.05, 6)), rng.standard_normal((6, 2))
    feedback = rng.standard_normal((6, 2))
    measured, moment = 0.01, 0.06
    # Feedback that lasts for longer than what is looked back to is the motion's alone.
    predictor = StatePredictor(2, 0.05, lasting=1e12)
    for began, a, u in zip(begins, held, feedback, strict=True):
        predictor.command(began, a - u, u)

    def integral(joint, weight):
        def value(t):
            last = np.searchsorted(begins, t, side='right') - 1
            return weight(t) * held[last, joint] if last >= 0 else 0.0
        inside = begins[begins > measured]
        return quad(value, measured, moment, points=inside, epsabs=1e-12)[0]

    q, v = rng.standard_normal((2, 2))
    found_q, found_v = predictor.predict(q, v, measured, moment)
    gained = [integral(joint, lambda t: 1.0) for joint in range(2)]
    # The Cauchy formula for repeated integration.
    moved = [integral(joint, lambda t: moment - t) for joint in range(2)]
    np.testing.assert_allclose(found_v, v + gained, atol=1e-10)
    np.testing.assert_allclose(found_q, q + (moment - measured) * v + moved, atol=1e-10)


def test_what_was_measured_now_is_what_is(rng):
    predictor = StatePredictor(3, 0.05, lasting=0.1)
    predictor.command(1.0, np.ones(3), np.ones(3))
    q, v = rng.standard_normal((2, 3))
    for found, given in zip(predictor.predict(q, v, 2.0, 2.0), (q, v), strict=True):
        np.testing.assert_array_equal(found, given)


def test_commands_that_nothing_looks_back_to_are_let_go():
    predictor = StatePredictor(1, 0.05, lasting=0.1)
    for k in range(1000):
        predictor.command(0.01 * k, np.array([float(k)]), np.zeros(1))
    assert len(predictor._commanded) <= 7
    # From 0.04 s before the last one on: 995 to 998 hold for 0.01 s each.
    _, v = predictor.predict(np.zeros(1), np.zeros(1), 9.95, 9.99)
    assert v == pytest.approx(0.01 * (995 + 996 + 997 + 998))


def errors(published, controlled, inertia, *, start=0.01, lacks=0.0, seconds=1.0):
    """Errors of a controlled inertia at every step of the simulation.

    Args:
        published: Time in [s] from a measurement until it is published.
        controlled: When the controller first looks, in [s].
        inertia: What the controller believes, relative to the true one.
        start: The error at first.
        lacks: Acceleration by what the model does not know of.
    """
    q, v, u, error = start, 0.0, 0.0, []
    heard, commands, due = [], [], controlled
    predictor = StatePredictor(1, 0.05, lasting=1.5 / OMEGA)
    for k in range(round(seconds / STEP)):
        t = k * STEP
        if k % round(PERIOD / STEP) == 0:
            heard.append((t + published + WAY, t, np.array([q]), np.array([v])))
        while commands and commands[0][0] <= t:
            u = commands.pop(0)[1]
        known = [state for state in heard if state[0] <= t]
        if t >= due and known:
            due += PERIOD
            _, measured, q_old, v_old = known[-1]
            position, velocity = predictor.predict(q_old, v_old, measured, t)
            a = -2.0 * OMEGA * velocity - OMEGA**2 * position
            predictor.command(t, np.zeros(1), a)
            commands.append((t + 2.0 * WAY, inertia * a[0]))
        q, v = q + STEP * (v + 0.5 * STEP * (u + lacks)), v + STEP * (u + lacks)
        error.append(abs(q))
    return np.array(error)


@pytest.mark.parametrize('inertia', [0.7, 1.0, 1.3])
def test_a_sampled_loop_is_stable_at_every_phase_of_its_two_clocks(inertia):
    """With the accelerations of the reference alone an exact model diverges at some of them."""
    for published in np.arange(0.0, PERIOD, 2e-3):
        for controlled in np.arange(0.0, PERIOD, 2e-3):
            found = errors(published, controlled, inertia)
            assert found[-500:].max() < 0.01 * found[:500].max(), (published, controlled)


def test_what_the_model_lacks_moves_the_robot_no_further_than_without_delays():
    found = errors(0.5 * PERIOD, 0.5 * PERIOD, 1.0, start=0.0, lacks=1.0)
    assert found[-1] == pytest.approx(1.0 / OMEGA**2, rel=0.02)
