"""The spectrum of torque noise, against those that theory gives."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.signal

from sysid_ros.estimation.regression.spectrum import Autoregression, thinning


def autocovariance(x):
    products = scipy.signal.correlate(x, x, mode='full')[len(x) - 1:]
    return products / np.arange(len(x), 0, -1)


def test_of_an_exact_autocovariance_the_exact_autoregression_is_found():
    rho, variance = 0.7, 2.5
    found = Autoregression.of(variance * rho ** np.arange(50), 1000.0, 1)
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
    found = Autoregression.of(autocovariance(x), len(x), 1).spectrum(frequencies)
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
    found = Autoregression.of(lags, len(x), stride).spectrum(frequencies)
    np.testing.assert_allclose(found, 1.0, rtol=0.3)


def test_white_noise_is_not_thinned(rng):
    assert thinning(autocovariance(rng.normal(size=5000))) == 1


def test_products_of_masked_rows_that_belong_to_no_noise_are_not_followed():
    found = Autoregression.of(np.array([1.0, 0.5, 1.2, 0.3]), 1000.0, 1)
    assert len(found.coefficients) <= 2
    assert found.variance > 0.0


def test_short_white_noise_with_gaps_is_told_to_be_white(rng):
    levels = []
    for _ in range(200):
        x, kept = rng.normal(size=120), np.repeat(rng.random(15) < 0.75, 8)
        products, pairs = (
            scipy.signal.correlate(one, one, mode='full')[119:] for one in (x * kept, 1.0 * kept))
        found = Autoregression.of(products / np.maximum(np.round(pairs), 1.0), kept.sum(), 1)
        levels.append(found.spectrum(np.array([0.05]))[0])
    # The level of 90 samples is told to a seventh; a criterion that follows chance tells it to
    # three tenths (Akaike's, corrected, 0.33).
    assert np.std(np.log(levels)) < 0.25
