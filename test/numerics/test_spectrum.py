"""Welch's spectral density is that of SciPy."""

import numpy as np
import pytest
import scipy.signal

from sysid_ros.numerics.spectrum import welch


@pytest.mark.parametrize('window', ['hann', 'blackmanharris'])
@pytest.mark.parametrize('length', [16, 63, 64, 501])
def test_densities_are_those_of_scipy(window, length):
    values = 3.0 + np.random.default_rng(length).normal(size=1003).cumsum()
    frequency, density = welch(values, 125.0, length, window)
    expected = scipy.signal.welch(values, 125.0, window=window, nperseg=length)
    np.testing.assert_allclose(frequency, expected[0], rtol=1e-14)
    np.testing.assert_allclose(density[1:], expected[1][1:], rtol=1e-9)


def test_white_noise_has_its_variance_in_the_band():
    values = np.random.default_rng(1).normal(size=20_000)
    frequency, density = welch(values, 100.0, 256)
    assert np.sum(density) * frequency[1] == pytest.approx(1.0, rel=0.03)
