"""Clocks: periods, gaps, and stamps made even."""

import numpy as np
import pytest

from sysid_ros.recording.processing.grid import clock, covered, even_stamps, intersect, mean_period

PERIOD = 0.005


@pytest.mark.parametrize('jitter', [0.0, 0.4, 0.9])
def test_the_period_is_found_in_spite_of_jitter_and_missing_samples(rng, jitter):
    number = np.delete(np.arange(4000), [70, 71, 900, 3000])
    t = PERIOD * (number + rng.uniform(0, jitter, len(number)))
    assert mean_period(t) == pytest.approx(PERIOD, rel=1e-3)


def test_the_period_is_found_where_jitter_is_as_long_as_it(rng):
    t = np.sort(PERIOD * (np.arange(4000) + rng.normal(0.0, 0.5, 4000)))
    assert mean_period(t) == pytest.approx(PERIOD, rel=2e-3)


@pytest.mark.parametrize('missing', [0.02, 0.1, 0.2])
@pytest.mark.parametrize('jitter', [0.0, 0.02, 0.1])
def test_the_period_is_found_where_samples_are_missing_all_the_time(rng, missing, jitter):
    number = np.flatnonzero(rng.uniform(size=4000) > missing)
    t = PERIOD * (number + rng.normal(0.0, jitter, len(number)))
    assert mean_period(t) == pytest.approx(PERIOD, rel=1e-3)


@pytest.mark.parametrize('jitter', [0.0, 0.4, 0.8])
def test_even_stamps_number_the_samples_around_missing_ones(rng, jitter):
    number = np.delete(np.arange(4000), [700, 701, 2000, 3000])
    t = PERIOD * (number + rng.uniform(0, jitter, len(number)))
    even = even_stamps(t, mean_period(t), [(t[0], t[-1])])
    np.testing.assert_allclose(even / PERIOD - number, jitter / 2, atol=0.05)


def test_a_missing_sample_that_jitter_hides_is_found(rng):
    # The first stamp is late and the last one early, by more than half a period together.
    number = np.delete(np.arange(1000), 500)
    shift = rng.uniform(0, 0.7, len(number))
    shift[0], shift[-1] = 0.69, 0.01
    even = even_stamps(PERIOD * (number + shift), PERIOD, [(0.0, 1e9)])
    np.testing.assert_allclose(even / PERIOD - number, 0.35, atol=0.05)


def test_a_transport_that_stalls_and_catches_up_loses_no_sample():
    t = PERIOD * np.arange(2000.0)
    t[1000:1020] = t[1020] - 1e-4 * np.arange(20, 0, -1)
    even = even_stamps(t, mean_period(t), [(t[0], t[-1])])
    assert np.abs(np.diff(even) - PERIOD).max() < 0.01 * PERIOD


def test_gaps_and_breaks_end_an_interval():
    t = np.concatenate([np.arange(10) * 0.1, 2.0 + np.arange(10) * 0.1])
    assert np.array(covered(t, 0.15, ())) == pytest.approx(np.array([(0.0, 0.9), (2.0, 2.9)]))
    assert np.array(covered(t, 0.15, (2.45,))) == pytest.approx(
        np.array([(0.0, 0.9), (2.0, 2.4), (2.5, 2.9)]))
    assert covered(np.empty(0), 0.15, ()) == []


def test_intervals_are_intersected():
    first, second = [(0.0, 2.0), (3.0, 5.0)], [(1.0, 3.5), (4.0, 9.0)]
    assert intersect(first, second) == [(1.0, 2.0), (3.0, 3.5), (4.0, 5.0)]


def test_a_clock_reaches_the_end_of_its_interval_in_spite_of_rounding():
    assert len(clock((0.1, 0.1 + 999 * PERIOD), 1 / PERIOD)) == 1000
