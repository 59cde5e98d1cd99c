"""Recordings of a real Furuta pendulum: what they hold, without any estimator."""

from __future__ import annotations

import numpy as np
import pytest

from support import furuta_recordings as recordings

FREE, DRIVEN = recordings.FREE, recordings.DRIVEN


@pytest.fixture(scope='module')
def furuta(shared_data):
    folder = recordings.folder_of(shared_data)
    if not folder.is_dir():
        pytest.skip(f'no furuta_pendulum in {shared_data}')
    return {name: recordings.load(folder, name) for name in (FREE, *DRIVEN)} | {
        'author': recordings.author_parameters(folder)}


@pytest.mark.parametrize('name', [FREE, *DRIVEN])
def test_samples_are_two_milliseconds_apart(furuta, name):
    steps = np.diff(furuta[name].t)
    assert np.median(steps) == pytest.approx(2e-3, rel=0.01)
    # The free swing has one gap, of 43 ms.
    assert np.sum(steps > 5e-3) == (name == FREE)
    assert steps.min() > 1.3e-3


@pytest.mark.parametrize('name', [FREE, *DRIVEN])
def test_angles_are_smooth_to_a_milliradian(furuta, name):
    recording = furuta[name]
    moving = np.abs(recording.speeds[:, 1]) > 0.5
    assert np.abs(np.diff(recording.angles, axis=0)).max() < 0.05
    rest = []
    for first in range(0, len(recording.t) - 25, 25):
        k = slice(first, first + 25)
        if moving[k].all():
            t = recording.t[k] - recording.t[first]
            fit = np.polynomial.Polynomial.fit(t, recording.angles[k, 1], 4)
            rest.append(recording.angles[k, 1] - fit(t))
    assert np.std(np.concatenate(rest)) < 5e-4


@pytest.mark.parametrize('name', DRIVEN)
def test_the_arm_goes_off_a_few_milliseconds_after_the_first_command(furuta, name):
    recording = furuta[name]
    begins = recording.t[np.flatnonzero(recording.u)[0]]
    # A sine is small at first.
    moves = recording.t[np.flatnonzero(np.abs(recording.angles[:, 0]) > 2e-3)[0]]
    assert 0.0 < moves - begins < (0.05 if 'sin' in name else 0.01)
    assert np.abs(recording.angles[recording.t < begins]).max() <= 1e-12


def test_commands_are_those_that_the_names_say(furuta):
    for name, largest, values in zip(
            DRIVEN, (2.0, 4.0, 1.0, 2.0), (2, 2, None, None), strict=True):
        u = furuta[name].u
        assert np.abs(u).max() == pytest.approx(largest, rel=1e-6)
        assert values is None or len(np.unique(u)) == values
    assert not furuta[FREE].u.any()


def test_free_swings_last_as_long_as_the_authors_parameters_say(furuta):
    swing, author = furuta[FREE], furuta['author']
    found = recordings.stiffness_per_inertia(swing.t, swing.angles[:, 1])
    # Below, encoder counts show; in the first swing, what speed makes of friction.
    good = (found[:, 0] > 0.1) & (found[:, 0] < 2.1)
    amplitudes, values = found[good].T
    print(f'\nm g l / J from {len(values)} periods: {values.mean():.2f} ± {values.std():.2f} 1/s²')
    assert amplitudes.max() > 2.0
    assert len(values) > 30
    assert np.ptp(values) < 0.01 * values.mean()
    # 86.1 to 86.8 is said of free oscillations of these recordings.
    assert values.mean() == pytest.approx(86.5, rel=0.02)
    moment = author['J2'] + author['m2'] * author['l2'] ** 2
    assert values.mean() == pytest.approx(author['m2'] * 9.81 * author['l2'] / moment, rel=0.005)


def test_the_arm_hardly_moves_while_the_rod_swings_freely(furuta):
    swing = furuta[FREE]
    assert np.ptp(swing.angles[swing.t < 34.0, 0]) < 5e-3
