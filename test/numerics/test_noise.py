"""Noise that is correlated in time, against what theory says of it."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.signal

from support.autoregressive_noise import autoregressive
from sysid_ros.numerics.noise import (
    Autoregression,
    correlated_squares,
    correlation_time,
    effective_rows,
    products_by_lag,
    sandwich,
    squared_spectrum,
    thinning,
)


def autocovariance(x):
    products = scipy.signal.correlate(x, x, mode='full')[len(x) - 1:]
    return products / np.arange(len(x), 0, -1)


def test_of_an_exact_autocovariance_the_exact_autoregression_is_found():
    rho, variance = 0.7, 2.5
    found = Autoregression.of(variance * rho ** np.arange(50), np.full(50, 1000.0), 1)
    np.testing.assert_allclose(found.coefficients, [1.0, -rho], atol=1e-12)
    assert found.variance == pytest.approx(variance * (1.0 - rho**2))
    frequencies = np.linspace(0.0, 0.5, 11)
    expected = found.variance / np.abs(1.0 - rho * np.exp(-2j * np.pi * frequencies)) ** 2
    np.testing.assert_allclose(found.spectrum(frequencies), expected, rtol=1e-10)


@pytest.mark.parametrize('zeros', [[1.0], [1.0, -0.95], [1.0, 0.9, 0.2]])
def test_noise_of_any_colour_has_its_spectrum_found(rng, zeros):
    # White, blue as the noise of differentiated encoders, and red.
    x = scipy.signal.lfilter(zeros, [1.0], rng.normal(size=20_000))
    frequencies = np.linspace(0.02, 0.48, 24)
    pairs = np.arange(len(x), 0.0, -1.0)
    found = Autoregression.of(autocovariance(x), pairs, 1).spectrum(frequencies)
    _, response = scipy.signal.freqz(zeros, worN=2 * np.pi * frequencies)
    exact = np.abs(response) ** 2
    np.testing.assert_allclose(found, exact, rtol=0.2, atol=0.02 * exact.max())


def test_low_passed_noise_is_thinned_and_keeps_its_level_in_its_band(rng):
    sections = scipy.signal.butter(4, 10.0, fs=1000.0, output='sos')
    x = scipy.signal.sosfiltfilt(sections, rng.normal(size=60_000))
    lags = autocovariance(x)
    stride = thinning(lags)
    # Its band ends at a hundredth of the rate, so every 50th sample just shows all of it.
    assert 15 <= stride <= 45
    frequencies = np.linspace(0.0, 0.004, 5)
    found = Autoregression.of(lags, np.arange(len(x), 0.0, -1.0), stride).spectrum(frequencies)
    np.testing.assert_allclose(found, 1.0, rtol=0.3)


def test_white_noise_is_not_thinned(rng):
    assert thinning(autocovariance(rng.normal(size=5000))) == 1


def test_products_of_masked_rows_that_belong_to_no_noise_are_not_followed():
    found = Autoregression.of(np.array([1.0, 0.5, 1.2, 0.3]), np.full(4, 1000.0), 1)
    assert len(found.coefficients) <= 2
    assert found.variance > 0.0


def test_short_white_noise_with_gaps_is_told_to_be_white(rng):
    levels = []
    for _ in range(200):
        x, kept = rng.normal(size=120), np.repeat(rng.random(15) < 0.75, 8)
        products, pairs = (
            scipy.signal.correlate(one, one, mode='full')[119:] for one in (x * kept, 1.0 * kept))
        pairs = np.maximum(np.round(pairs), 1.0)
        found = Autoregression.of(products / pairs, pairs, 1)
        levels.append(found.spectrum(np.array([0.05]))[0])
    # The level of 90 samples is told to a seventh; a criterion that follows chance tells it to
    # three tenths (Akaike's, corrected, 0.33).
    assert np.std(np.log(levels)) < 0.25


def test_blue_noise_seen_in_short_stretches_has_no_dips_of_chance(rng):
    """Encoders differentiated twice, of which rows count only while a joint slides."""
    white, frequencies, ratios = 0.7, np.array([0.03, 0.06]), []
    for _ in range(200):
        x = np.diff(rng.normal(size=242), 2) + white * rng.normal(size=240)
        kept = np.concatenate([
            np.arange(sum(ends)) < ends[0] for ends in rng.integers(4, 12, (60, 2))])[:240]
        products, pairs = (
            scipy.signal.correlate(one, one, mode='full')[239:] for one in (x * kept, 1.0 * kept))
        pairs = np.maximum(np.round(pairs), 1.0)
        found = Autoregression.of(products / pairs, pairs, 1).spectrum(frequencies)
        ratios.append(found / (white**2 + 16.0 * np.sin(np.pi * frequencies) ** 4))
    # Where autocovariances of few pairs are believed, a tenth is below a fiftieth.
    assert np.quantile(ratios, 0.1) > 0.5
    assert np.median(ratios) < 2.0


@pytest.mark.parametrize('shape', [(1,), (2,), (97,), (60, 3)])
def test_products_by_lag_are_the_sums_that_a_loop_makes(rng, shape):
    x = rng.normal(size=shape)
    found = products_by_lag(squared_spectrum(x), len(x))
    expected = [np.vdot(x[lag:], x[:len(x) - lag]) for lag in range(len(x))]
    np.testing.assert_allclose(found, expected, atol=1e-12 * found[0])


def test_squares_of_rows_that_resemble_their_neighbours_count_as_often(rng):
    white = rng.normal(size=6000)
    # Sums of nine neighbours: nine rows tell as much as one.
    smooth = np.convolve(white, np.ones(9) / 3.0, 'same')
    total, rows = correlated_squares([smooth[:, None], np.zeros((10, 1))])
    assert rows == 6000
    assert total / (smooth @ smooth) == pytest.approx(9.0, rel=0.3)


def test_the_correlation_time_ends_at_the_first_zero():
    assert correlation_time(np.array([2.0, 1.0, 0.5, -0.1, 1.0])) == pytest.approx(2.5)
    assert correlation_time(np.array([1.0, 0.5])) == pytest.approx(2.0)
    assert correlation_time(np.zeros(4)) == 1.0


@pytest.mark.parametrize('rho', [0.0, 0.5, 0.9])
def test_effective_rows_of_autoregressive_noise_are_those_of_theory(rng, rho):
    samples = 50_000
    noise = autoregressive(rng, (samples, 4), rho)
    found = effective_rows(noise, np.ones(noise.shape, dtype=bool))
    expected = samples * (1.0 - rho) / (1.0 + rho)
    np.testing.assert_allclose(found, expected, rtol=0.25)
    assert found.mean() == pytest.approx(expected, rel=0.12)


def test_rows_that_do_not_count_are_left_out_of_the_effective_ones(rng):
    samples, rho = 50_000, 0.8
    usable = np.ones((samples, 1), dtype=bool)
    usable[10_000:35_000] = False
    noise = np.where(usable, autoregressive(rng, (samples, 1), rho), 0.0)
    found = effective_rows(noise, usable)[0]
    assert found == pytest.approx(25_000 * (1.0 - rho) / (1.0 + rho), rel=0.3)


def test_a_residual_of_zero_or_without_rows_has_some_effective_rows():
    usable = np.ones((100, 2), dtype=bool)
    usable[:, 1] = False
    np.testing.assert_array_equal(effective_rows(np.zeros((100, 2)), usable), [100.0, 1.0])


def test_a_constant_residual_counts_as_one_row():
    assert effective_rows(np.ones((100, 1)), np.ones((100, 1), dtype=bool))[0] < 2.0


def linear_fit(rng, colour, segments, count):
    """Scores and information of a straight fit under noise of a colour, and its true error."""
    design = np.cumsum(rng.normal(size=(count, 2)), axis=0)
    design /= np.abs(design).max(axis=0)
    noise = rng.normal(size=count)
    for start, stop in segments:
        for k in range(start + 1, stop):
            noise[k] += colour * noise[k - 1]
    information = design.T @ design
    error = np.linalg.solve(information, design.T @ noise)
    scores = design * (noise - design @ error)[:, None]
    return information, scores, error


@pytest.mark.parametrize(('colour', 'least'), [(0.0, 0.90), (0.8, 0.80)])
def test_intervals_cover_under_noise_of_any_colour(colour, least):
    rng = np.random.default_rng(7)
    segments, inside, naive = [(0, 1500), (1500, 3000)], 0, 0
    for _ in range(100):
        information, scores, error = linear_fit(rng, colour, segments, 3000)
        covariance = sandwich(information, scores, segments)
        inside += (np.abs(error) < 1.96 * np.sqrt(np.diag(covariance))).sum()
        naive += (np.abs(error) < 1.96 * np.sqrt(np.diag(np.linalg.inv(information)))).sum()
    assert inside / 200 >= least
    if colour:
        assert naive / 200 < 0.6


def test_segments_have_nothing_in_common(rng):
    information, scores, _ = linear_fit(rng, 0.0, [(0, 50)], 50)
    apart = sandwich(information, scores, [(k, k + 1) for k in range(50)])
    inverse = np.linalg.inv(information)
    np.testing.assert_allclose(apart, inverse @ (scores.T @ scores) @ inverse, rtol=1e-9)


@pytest.mark.parametrize('periods', [2.0, 3.4])
def test_what_is_said_twice_is_known_once(periods, rng):
    own = np.cumsum(rng.normal(size=(400, 2)), axis=0)
    wave, noise = own / np.abs(own).max(axis=0), rng.normal(size=400)
    count = round(400 * periods)
    design, said = (np.tile(part, (4, 1))[:count] for part in (wave, noise[:, None]))
    information = design.T @ design
    error = np.linalg.solve(information, design.T @ said)
    scores = design * (said - design @ error)
    repeated = sandwich(information, scores, [(0, count)])
    # The same motion, with noise that does not repeat.
    fresh = rng.normal(size=(count, 1))
    other = design * (fresh - design @ np.linalg.solve(information, design.T @ fresh))
    apart = sandwich(information, other, [(0, count)])
    growth = np.sqrt(np.diag(repeated) / np.diag(apart))
    # Rows that count once in place of so many times.
    np.testing.assert_allclose(growth, np.sqrt(periods), rtol=0.25)
