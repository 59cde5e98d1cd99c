"""Filtering for every D-th sample gives what filtering every sample gives."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import signal

from sysid_ros.errors import RecordingError
from sysid_ros.recording.processing import decimation, low_pass
from sysid_ros.recording.processing.low_pass import LowPass
from sysid_ros.recording.processing.signals import ParallelFilter

RATE = 1000.0


def random_walk(rng, samples):
    """Signals far from zero at either end, two of them in each of three joints."""
    return 5.0 + np.cumsum(rng.normal(size=(samples, 3, 2)), axis=0)


def assert_same(found, expected):
    assert np.abs(found - expected).max() < 1e-12 * np.abs(expected).max()


@pytest.fixture(autouse=True)
def blocks_of_few_columns(monkeypatch):
    monkeypatch.setattr(low_pass, 'LEAST_BLOCK', 1)


@pytest.mark.parametrize('order', [1, 2, 3, 4, 7, 10])
@pytest.mark.parametrize(('step', 'first'), [(8, 0), (13, 3), (40, 41), (97, 0)])
def test_rows_are_those_of_scipy(rng, order, step, first):
    filter_ = LowPass(cutoff=10.0, order=order)
    pad = filter_.half_length(RATE)
    sections = signal.butter(order, 10.0, fs=RATE, output='sos')
    for samples in (pad + 101, 3 * pad + 1201):
        values, keep = random_walk(rng, samples), np.arange(first, samples, step)
        expected = signal.sosfiltfilt(
            sections, values, axis=0, padtype='odd', padlen=pad)[keep]
        found = filter_.rows(lambda part, own=values: own[part], samples, RATE, keep)
        assert np.abs(found - expected).max() < 1e-9 * np.abs(expected).max()


def test_one_sample_in_forty_is_that_of_the_filter_at_every_sample(rng):
    values, filter_ = random_walk(rng, 5000), LowPass(cutoff=10.0)
    keep = np.arange(130, 4800, 40)
    assert_same(filter_.apply(values, RATE, keep), filter_.apply(values, RATE)[keep])


def test_few_columns_are_filtered_whole_with_the_same_result(rng, monkeypatch):
    values, keep = random_walk(rng, 5000), np.arange(130, 4800, 40)
    blocks = LowPass(cutoff=10.0).apply(values, RATE, keep)
    monkeypatch.setattr(low_pass, 'LEAST_BLOCK', 40 * 6 + 1)
    monkeypatch.setattr(low_pass, 'Decimation', None)
    assert_same(LowPass(cutoff=10.0).apply(values, RATE, keep), blocks)


def test_the_number_of_samples_that_are_held_is_bounded(rng, monkeypatch):
    monkeypatch.setattr(decimation, '_HELD', 8 * 6 * 40 * 3)
    values, filter_ = random_walk(rng, 20_000), LowPass(cutoff=10.0)
    keep = np.arange(130, 19_000, 40)
    most = 0

    def samples(part):
        nonlocal most
        most = max(most, part.stop - part.start)
        return values[part]

    found = filter_.rows(samples, len(values), RATE, keep)
    assert most <= max(3 * 40, filter_.half_length(RATE))
    assert_same(found, filter_.apply(values, RATE)[keep])


def test_samples_at_uneven_distances_are_filtered_as_well(rng):
    values, filter_ = random_walk(rng, 3000), LowPass(cutoff=10.0)
    keep = np.array([200, 210, 250, 900])
    found = filter_.rows(lambda part: values[part], len(values), RATE, keep)
    assert_same(found, filter_.apply(values, RATE)[keep])


@pytest.mark.parametrize('step', [2, 40])
@pytest.mark.parametrize('at', [0, 1234, 2999])
def test_a_sample_that_is_no_number_is_refused_wherever_it_is(rng, step, at):
    values = random_walk(rng, 3000)
    values[at, 1, 0] = np.nan
    parallel = ParallelFilter(cutoff=10.0)
    with pytest.raises(RecordingError, match='non-finite'):
        parallel.rows_of(
            lambda part: values[part], len(values), RATE, np.arange(200, 2800, step))


@pytest.mark.parametrize('step', [2, 40])
def test_a_segment_that_is_shorter_than_the_filter_is_refused(rng, step):
    values, filter_ = random_walk(rng, 100), LowPass(cutoff=10.0)
    with pytest.raises(RecordingError, match='too short for the filter'):
        filter_.rows(lambda part: values[part], 100, RATE, np.arange(0, 100, step))
