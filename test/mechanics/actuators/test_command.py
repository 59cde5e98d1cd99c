"""Held commands as steps of an integration see them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad

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
