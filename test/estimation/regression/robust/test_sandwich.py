"""The middle of the sandwich against sums over all pairs of rows."""

from __future__ import annotations

import os
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg
import scipy.signal

from support import golden_problems as simulated
from sysid_ros.estimation.estimator import make_estimator
from sysid_ros.estimation.regression.robust import sandwich
from sysid_ros.estimation.regression.robust.sandwich import _JointSpectra, noise_information
from sysid_ros.numerics import forked


def test_rows_are_weighed_as_by_the_covariance_of_all_pairs_of_rows(rng):
    rho, samples = 0.5, 401
    residual = scipy.signal.lfilter([1.0], [1.0, -rho], rng.normal(size=samples))
    usable = rng.uniform(size=samples) > 0.1
    rows = rng.normal(size=(samples, 3)) * usable[:, None]
    joint = _JointSpectra.of(lambda: rows, 3, residual * usable, usable)
    spectrum = 1.0 / np.abs(1.0 - rho * np.exp(-2j * np.pi * joint.frequencies)) ** 2
    expected = rows.T @ scipy.linalg.toeplitz(rho ** np.arange(samples)) @ rows / (1 - rho**2)
    # A stride above one would leave out the frequencies of least noise.
    assert joint.stride == 1
    np.testing.assert_allclose(joint.weighted(joint.transform(), spectrum), expected, rtol=1e-8)
    assert joint.pairs[0] == usable.sum()
    assert joint.pairs[1] == np.sum(usable[1:] & usable[:-1])


def test_spectra_too_large_to_be_kept_are_made_again(monkeypatch):
    problem = simulated.golden('arm').problem(0.02)
    kept = make_estimator('wls').fit(problem)
    monkeypatch.setattr(sandwich, '_KEPT', 0)
    again = make_estimator('wls').fit(problem)
    np.testing.assert_array_equal(again.base_covariance, kept.base_covariance)


def test_blocks_of_signals_and_frequencies_give_the_same_covariance(monkeypatch):
    problem = simulated.golden('arm').problem(0.02)
    at_once = make_estimator('wls').fit(problem)
    monkeypatch.setattr(sandwich, '_BLOCK', 20_000)
    in_blocks = make_estimator('wls').fit(problem)
    scale = np.abs(at_once.base_covariance).max()
    np.testing.assert_allclose(
        in_blocks.base_covariance, at_once.base_covariance, rtol=1e-9, atol=1e-12 * scale)


def test_no_more_than_rows_and_their_spectrum_are_in_memory(rng, monkeypatch):
    monkeypatch.setattr(sandwich, '_KEPT', 0)
    monkeypatch.setattr(sandwich, '_BLOCK', 1_000_000)
    samples, width = 20_000, 40
    rows, residual = rng.normal(size=(samples, width)), rng.normal(size=samples)
    joint = _JointSpectra.of(rows.copy, width, residual, np.ones(samples, dtype=bool))
    tracemalloc.start()
    joint.weighted(joint.transform(), np.ones_like(joint.frequencies))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # Three blocks: a part of the spectrum, its real and its imaginary numbers in a piece.
    assert peak < rows.nbytes + 16 * width * len(joint.frequencies) + 3_000_000


def test_joints_are_shared_among_forks_with_the_same_result(monkeypatch):
    problem = simulated.golden('arm').problem(0.02)
    alone = make_estimator('wls').fit(problem)
    monkeypatch.setattr(sandwich, '_KEPT', 0)
    monkeypatch.setattr(sandwich, 'processors', lambda: 2)
    monkeypatch.setattr(forked, 'processors', lambda: 2)
    forks = []
    fork = os.fork
    monkeypatch.setattr(os, 'fork', lambda: forks.append(fork()) or forks[-1])
    shared = make_estimator('wls').fit(problem)
    assert forks
    np.testing.assert_array_equal(shared.base_covariance, alone.base_covariance)


def test_noise_the_fit_has_taken_is_put_back():
    # At the low frequencies of a motion this short the fit leaves hardly any residual.
    golden = simulated.golden('arm')
    problem = golden.problem(samples=150)
    exact = problem.torque
    size = 0.1 * np.sqrt(np.mean(exact**2, axis=0))
    ratios = []
    for seed in range(40):
        noise = size * np.random.default_rng(seed).normal(size=exact.shape)
        noisy = simulated.with_torque(problem, exact + noise)
        estimate = make_estimator('ols').fit(noisy)
        columns = np.eye(problem.base.rank)
        rows = problem.regressor[:, :, problem.base.independent]
        gram = np.einsum('tjk,tjl->kl', rows, rows)
        exactly = np.einsum('tjk,j,tjl->kl', rows, size**2, rows)
        found = noise_information(
            noisy, estimate.parameters.values, np.ones(3), columns, np.linalg.inv(gram))
        ratios.append(np.diag(found) / np.diag(exactly))
    assert np.median(ratios) == pytest.approx(1.0, abs=0.08)


def test_a_joint_without_residual_or_rows_adds_nothing():
    golden = simulated.golden('arm')
    problem = golden.problem()
    columns, inverse = np.eye(problem.base.rank), np.eye(problem.base.rank)
    exact = simulated.with_torque(problem, problem.regressor @ golden.truth)
    none = noise_information(exact, golden.truth, np.ones(3), columns, inverse)
    assert not none.any()
    silent = replace(golden.problem(0.1), usable=np.zeros_like(problem.usable))
    assert not noise_information(silent, golden.truth, np.ones(3), columns, inverse).any()
