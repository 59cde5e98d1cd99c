"""Held commands as steps of an integration see them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp

from sysid_ros.mechanics.actuators.command import HeldCommand

STEP, COUNT, START = 0.01, 30, 0.05


@pytest.fixture
def command():
    rng = np.random.default_rng(3)
    t = np.cumsum(rng.uniform(0.002, 0.02, 40))
    return HeldCommand(t, rng.normal(size=(40, 2)))


def held(command, time, joint):
    """The last command before a time, the first before any."""
    row = max(int(np.searchsorted(command.t, time, side='right')) - 1, 0)
    return command.values[row, joint]


def moments(signal, a, b, jumps=()):
    """Integral of a signal from a to b, and that of the signal times the time since a."""
    return [
        quad(lambda x, p=power: (x - a)**p * signal(x), a, b, points=jumps or None, limit=200)[0]
        for power in range(2)]


@pytest.mark.parametrize('delay', [0.0, 0.0037, 0.08])
def test_lines_keep_the_impulse_and_its_lever(command, delay):
    lines = command.lines(START, STEP, COUNT, delay)

    def check(step, joint):
        a, b = START + step * STEP, START + (step + 1) * STEP
        jumps = [x + delay for x in command.t if a < x + delay < b]
        begin, end = lines.value[step, :, joint]
        expected = moments(lambda x: held(command, x - delay, joint), a, b, jumps)
        found = moments(lambda x: begin + (end - begin) * (x - a) / STEP, a, b)
        assert found[0] == pytest.approx(expected[0], abs=1e-9)
        assert found[1] == pytest.approx(expected[1], abs=1e-9 * STEP)

    for step in range(COUNT):
        check(step, 0)
        check(step, 1)


@pytest.mark.parametrize('delay', [0.0011, 0.0263])
def test_lines_have_a_derivative_by_the_delay(command, delay):
    change = 1e-7
    before, after = (
        command.lines(START, STEP, COUNT, delay + sign * change) for sign in (-1.0, 1.0))
    by = command.lines(START, STEP, COUNT, delay).by_delay
    np.testing.assert_allclose(
        by, (after.value - before.value) / (2 * change), atol=1e-4 * np.abs(by).max())


def test_a_command_that_stays_is_seen_as_it_is():
    lines = HeldCommand(np.array([0.0]), np.array([[0.7]])).lines(0.3, 0.01, 5, 0.02)
    np.testing.assert_allclose(lines.value, 0.7, rtol=1e-12)
    np.testing.assert_allclose(lines.by_delay, 0.0, atol=1e-9)


def integrated(command, time_constant, t):
    """What a filter makes of the first joint's commands, stamp by stamp by another's integrator."""
    edges, y, found = [*command.t, t[-1] + 1.0], command.values[0, :1], []
    for row, (begin, end) in enumerate(itertools.pairwise(edges)):
        own = t[(t >= begin) & (t < end)]
        u = command.values[row, 0]
        motion = solve_ivp(
            lambda _, y, u=u: (u - y) / time_constant, (begin, end), y, dense_output=True,
            rtol=1e-10, atol=1e-12)
        found += list(motion.sol(own)[0]) if len(own) else []
        y = motion.y[:, -1]
    return np.array(found)


@pytest.mark.parametrize('time_constant', [0.003, 0.08])
def test_a_filter_follows_its_differential_equation_from_rest(command, time_constant):
    t = np.linspace(command.t[0], command.t[-1] + 0.05, 200)
    found = command.filtered(time_constant).at(t)
    np.testing.assert_allclose(found[:, 0], integrated(command, time_constant, t), atol=1e-7)
    before = command.filtered(time_constant).at(command.t[:1] - 5.0)
    np.testing.assert_array_equal(before, command.values[:1])


@pytest.mark.parametrize('delay', [0.0, 0.0137])
def test_lines_of_a_filter_keep_its_impulse_and_its_lever(command, delay):
    filtered = command.filtered(0.02)
    lines = filtered.lines(START, STEP, COUNT, delay)

    def check(step, joint):
        a, b = START + step * STEP, START + (step + 1) * STEP
        kinks = [x + delay for x in command.t if a < x + delay < b]
        begin, end = lines.value[step, :, joint]
        expected = moments(lambda x: filtered.at(np.array([x - delay]))[0, joint], a, b, kinks)
        found = moments(lambda x: begin + (end - begin) * (x - a) / STEP, a, b)
        assert found[0] == pytest.approx(expected[0], abs=1e-10)
        assert found[1] == pytest.approx(expected[1], abs=1e-10 * STEP)

    for step in range(0, COUNT, 3):
        check(step, 0)
        check(step, 1)


@pytest.mark.parametrize('time_constant', [0.004, 0.06])
def test_lines_of_a_filter_have_derivatives_by_delay_and_time_constant(command, time_constant):
    def lines(delay=0.0113, time_constant=time_constant):
        return command.filtered(time_constant).lines(START, STEP, COUNT, delay)

    change = 1e-7
    for found, before, after in (
        (lines().by_delay, lines(delay=0.0113 - change), lines(delay=0.0113 + change)),
        (lines().by_filter, lines(time_constant=time_constant - change),
         lines(time_constant=time_constant + change)),
    ):
        np.testing.assert_allclose(
            found, (after.value - before.value) / (2 * change), atol=1e-5 * np.abs(found).max())


def test_a_filter_without_time_is_none(command):
    fast, none = (each.lines(START, STEP, COUNT, 0.01) for each in (
        command.filtered(1e-9), command))
    np.testing.assert_allclose(fast.value, none.value, atol=1e-5)
    np.testing.assert_allclose(fast.by_delay, none.by_delay, atol=1e-3)
