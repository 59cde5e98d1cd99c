"""The log-Cholesky chart of inertial parameters, both ways and with its derivatives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sysid_ros.errors import ParameterError
from sysid_ros.robot.inertia import (
    central_inertia,
    inertial_parameters,
    is_consistent,
    pseudo_inertia,
)
from sysid_ros.robot.log_cholesky import (
    from_log_cholesky,
    log_cholesky,
    log_cholesky_curvature,
    log_cholesky_jacobian,
    upper_cholesky,
)

STEP = 1e-6
charts = arrays(float, 10, elements=st.floats(-3.0, 3.0))


@settings(max_examples=100, deadline=None, derandomize=True)
@given(charts)
def test_every_ten_numbers_are_one_consistent_body_and_come_back(eta):
    phi = from_log_cholesky(eta)
    np.testing.assert_allclose(log_cholesky(phi), eta, atol=1e-6)
    np.testing.assert_allclose(from_log_cholesky(log_cholesky(phi)), phi, rtol=1e-9, atol=1e-12)


def test_bodies_come_back_in_batches(rng):
    eta = rng.uniform(-1.0, 1.0, (3, 4, 10))
    phi = from_log_cholesky(eta)
    assert phi.shape == (3, 4, 10)
    assert is_consistent(phi)
    np.testing.assert_allclose(log_cholesky(phi), eta, atol=1e-12)
    np.testing.assert_array_equal(phi[1, 2], from_log_cholesky(eta[1, 2]))
    np.testing.assert_array_equal(
        log_cholesky_jacobian(eta)[1, 2], log_cholesky_jacobian(eta[1, 2]))


def test_mass_and_centre_of_mass_are_what_the_paper_says(rng):
    eta = rng.normal(size=10)
    mass, com, _ = central_inertia(from_log_cholesky(eta))
    assert mass == pytest.approx(np.exp(2.0 * eta[0]), rel=1e-14)
    np.testing.assert_allclose(com, eta[7:], atol=1e-14)


def test_the_expressions_of_the_paper_are_met(rng):
    # Rucker and Wensing 2022, eq. (21): the ten parameters written out.
    eta = rng.normal(size=10)
    alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3 = eta
    e1, e2, e3 = np.exp([d1, d2, d3])
    expected = np.exp(2 * alpha) * np.array([
        1.0, t1, t2, t3,
        s23**2 + t2**2 + t3**2 + e2**2 + e3**2,
        -s12 * e2 - s13 * s23 - t1 * t2,
        s12**2 + s13**2 + t1**2 + t3**2 + e1**2 + e3**2,
        -s13 * e3 - t1 * t3,
        -s23 * e3 - t2 * t3,
        s12**2 + s13**2 + s23**2 + t1**2 + t2**2 + e1**2 + e2**2,
    ])
    np.testing.assert_allclose(from_log_cholesky(eta), expected, rtol=1e-12)


def test_the_jacobian_is_that_of_finite_differences(rng):
    for _ in range(5):
        eta = rng.normal(size=10)
        expected = np.transpose([
            (from_log_cholesky(eta + STEP * e) - from_log_cholesky(eta - STEP * e)) / (2 * STEP)
            for e in np.eye(10)
        ])
        found = log_cholesky_jacobian(eta)
        np.testing.assert_allclose(found, expected, atol=1e-8 * np.abs(expected).max())
        assert np.linalg.matrix_rank(found) == 10


def test_the_curvature_is_that_of_finite_differences(rng):
    for _ in range(5):
        eta, gradient = rng.normal(size=10), rng.normal(size=10)
        expected = np.array([
            gradient @ (log_cholesky_jacobian(eta + STEP * e)
                        - log_cholesky_jacobian(eta - STEP * e)) / (2 * STEP)
            for e in np.eye(10)
        ])
        found = log_cholesky_curvature(eta, gradient)
        np.testing.assert_allclose(found, expected, atol=1e-7 * np.abs(expected).max())
        np.testing.assert_allclose(found, found.T, atol=1e-13 * np.abs(found).max())


def test_the_factor_is_upper_triangular_and_gives_the_pseudo_inertia(rng):
    phi = from_log_cholesky(rng.normal(size=(6, 10)))
    U = upper_cholesky(phi)
    np.testing.assert_array_equal(U, np.triu(U))
    np.testing.assert_allclose(U @ np.swapaxes(U, 1, 2), pseudo_inertia(phi), rtol=1e-11,
                               atol=1e-12)


def test_an_inconsistent_body_has_no_chart():
    thin = inertial_parameters(1.0, np.zeros(3), np.diag([1.0, 1.0, 2.5]))
    with pytest.raises(ParameterError, match='not physically consistent'):
        log_cholesky(thin)


@pytest.mark.parametrize('eta', [np.zeros(9), np.full(10, np.nan)])
def test_other_than_ten_finite_numbers_are_refused(eta):
    with pytest.raises(ParameterError, match='ten finite numbers'):
        from_log_cholesky(eta)
