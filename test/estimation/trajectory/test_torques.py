"""Torques at the nodes: what survives of a signal."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_ros.errors import RecordingError
from sysid_ros.estimation.trajectory.torques import at_nodes

NODES = np.arange(101) / 50.0
FAST = np.arange(2001) / 1000.0


def integral(values, t):
    """Of straight lines between samples."""
    return float(np.sum(0.5 * (values[1:] + values[:-1]) * np.diff(t)))


def test_a_signal_on_the_nodes_stays_as_it_is(rng):
    values = rng.normal(size=len(NODES))
    np.testing.assert_allclose(at_nodes(NODES, NODES, values), values, atol=1e-12)


def test_straight_lines_stay_as_they_are_at_any_stamps(rng):
    t = np.sort(np.concatenate([[0.0, 2.0], rng.uniform(0.0, 2.0, 57)]))
    np.testing.assert_allclose(at_nodes(NODES, t, 3.0 - 2.0 * t), 3.0 - 2.0 * NODES, atol=1e-12)


def test_no_straight_lines_are_nearer_to_a_slow_signal():
    slow = np.sin(2.0 * np.pi * 3.0 * FAST)

    def away(values):
        return np.sqrt(integral((np.interp(FAST, NODES, values) - slow) ** 2, FAST))

    found = at_nodes(NODES, FAST, slow)
    # Lines between samples cut the corners of a curve everywhere, these half of the time.
    assert away(found) < 0.45 * away(slow[::20])
    for change in (1e-2, -1e-2):
        for node in (0, 1, 40, 100):
            assert away(found + change * (np.arange(len(NODES)) == node)) > away(found)


def test_what_is_too_fast_for_the_nodes_does_not_fold_back():
    # Taken at the nodes, 51 Hz would look like 1 Hz of full size.
    fast = np.sin(2.0 * np.pi * 51.0 * FAST + 0.3)
    found = at_nodes(NODES, FAST, fast)
    assert np.abs(found[5:-5]).max() < 0.05
    assert np.abs(fast[::20]).max() > 0.9


@pytest.mark.parametrize('held', [False, True])
def test_impulse_and_moment_of_a_signal_are_kept(held, rng):
    t = np.sort(np.concatenate([[0.0, 2.0], rng.uniform(0.0, 2.0, 30)]))
    values = rng.normal(size=len(t))
    found = at_nodes(NODES, t, values, held=held)
    steps = np.diff(t)
    exact = np.sum(steps * values[:-1]) if held else integral(values, t)
    assert integral(found, NODES) == pytest.approx(exact, abs=1e-10)


def test_a_held_signal_is_that_of_its_last_stamp():
    found = at_nodes(NODES, np.array([-0.3, 1.0]), np.array([2.0, 5.0]), held=True)
    np.testing.assert_allclose(found[:40], 2.0, atol=1e-4)
    np.testing.assert_allclose(found[-40:], 5.0, atol=1e-4)


@pytest.mark.parametrize(('start', 'stop', 'held'), [
    (0.1, 2.0, False), (0.0, 1.9, False), (0.1, 2.0, True)])
def test_a_signal_that_ends_before_the_nodes_is_refused(start, stop, held):
    t = np.linspace(start, stop, 50)
    with pytest.raises(RecordingError, match=r'does not reach .*allowed 0 s to 2 s'):
        at_nodes(NODES, t, 0.0 * t, held=held)
