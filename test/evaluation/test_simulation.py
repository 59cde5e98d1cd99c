"""Simulated stretches: the truth follows the measured motion, wrong parameters do not."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from support import golden_problems as simulated
from sysid_ros.errors import RecordingError
from sysid_ros.evaluation.simulation import simulate
from sysid_ros.recording.dataset import Dataset


@pytest.fixture(scope='module')
def golden():
    return simulated.golden('arm')


@pytest.fixture(scope='module')
def truth(golden):
    return simulate(golden.model, golden.truth, golden.dataset())


@pytest.mark.parametrize('name', simulated.NAMES)
def test_the_truth_follows_the_measured_motion(name):
    golden = simulated.golden(name)
    result = simulate(golden.model, golden.truth, golden.dataset())
    assert result.candidate.problem() is None
    assert result.relative(result.candidate) < 0.03
    assert result.relative(result.prior) > 3.0 * result.relative(result.candidate)


def test_errors_are_those_of_the_paths_that_are_kept(golden, truth):
    data = golden.dataset()
    assert truth.measured.shape == truth.candidate.path.shape == (11, 51, 3)
    assert truth.horizon == pytest.approx(0.5)
    for k, start in enumerate(truth.starts):
        row = round(start * data.rate)
        np.testing.assert_array_equal(truth.measured[k], data.q[row:row + 51])
        np.testing.assert_array_equal(truth.candidate.path[k, 0], data.q[row])
        np.testing.assert_allclose(
            truth.coasting.path[k], data.q[row] + truth.t[:, None] * data.v[row])
    error = truth.prior.path[:, 1:] - truth.measured[:, 1:]
    np.testing.assert_allclose(truth.prior.position, np.sqrt(np.mean(error**2, axis=(0, 1))))


def resampled(data: Dataset, golden, rate: float) -> Dataset:
    """The same motion at another rate."""
    samples = int(data.duration * rate)
    t = np.arange(samples) / rate
    columns = {
        name: np.stack([np.interp(t, data.t, x) for x in getattr(data, name).T], axis=1)
        for name in ('q', 'v', 'a')
    }
    tau = golden.model.torque(golden.truth, columns['q'], columns['v'], columns['a'])
    return Dataset(
        data.joint_names, t, **columns, tau=tau, mask=np.ones(tau.shape, dtype=bool),
        segments=((0, samples),), rate=rate)


@pytest.mark.parametrize(('rate', 'points'), [(50.0, 26), (100.0, 51), (400.0, 101), (2000.0, 101)])
def test_recordings_of_any_rate_are_simulated_at_a_step_that_suits(golden, rate, points):
    result = simulate(golden.model, golden.truth, resampled(golden.dataset(), golden, rate))
    assert result.measured.shape[1] == points
    assert result.horizon == pytest.approx(0.5)
    assert result.relative(result.candidate) < 0.03


def test_stretches_end_at_gaps_and_leave_masked_torques_out(golden):
    data = golden.dataset()
    mask = data.mask.copy()
    mask[120, 1] = False
    result = simulate(
        golden.model, golden.truth, replace(data, mask=mask, segments=((0, 230), (230, 600))))
    rows = np.round(result.starts * data.rate).astype(int)
    assert rows.tolist() == [0, 50, 150, 230, 280, 330, 380, 430, 480, 530]


def test_long_recordings_are_sampled_evenly(golden):
    result = simulate(golden.model, golden.truth, golden.dataset(), most=3)
    assert np.round(100 * result.starts).astype(int).tolist() == [0, 250, 500]


def test_a_recording_without_a_usable_stretch_is_refused(golden):
    with pytest.raises(RecordingError, match='no stretch of 0.5 s has usable torques'):
        simulate(golden.model, golden.truth, golden.dataset(samples=50))


def test_a_mass_matrix_that_is_not_positive_definite_is_said_in_words(golden):
    values = golden.truth.copy()
    values[golden.model.parameters.index('wrist.armature')] = -5.0
    result = simulate(golden.model, values, golden.dataset())
    assert 'not positive definite in 11 of 11' in result.candidate.problem()
    assert np.isinf(result.candidate.position).all()
    assert result.relative(result.candidate) == np.inf
    assert result.prior.problem() is None


def test_a_stretch_that_runs_away_counts_as_diverged(golden):
    values = golden.truth.copy()
    values[golden.model.parameters.index('wrist.viscous_friction')] = -40.0
    result = simulate(golden.model, values, golden.dataset())
    assert result.candidate.diverged == 11
    assert 'diverge' in result.candidate.problem()
    assert result.candidate.indefinite == 0


def test_a_joint_that_stands_still_says_nothing(golden):
    result = simulate(golden.model, golden.truth, golden.dataset(still=(2,)))
    assert result.moving.tolist() == [True, True, False]
    assert np.isfinite(result.relative(result.candidate))
    still = simulate(golden.model, golden.truth, golden.dataset(still=(0, 1, 2)))
    assert np.isnan(still.relative(still.candidate))


def test_a_simulation_is_plain_values(golden, truth):
    data = truth.to_json()
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert data['candidate']['position_rms'] == truth.candidate.position.tolist()
    values = golden.truth.copy()
    values[golden.model.parameters.index('wrist.armature')] = -5.0
    broken = simulate(golden.model, values, golden.dataset()).to_json()
    assert broken['candidate']['relative_to_coasting'] is None
