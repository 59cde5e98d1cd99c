"""The compiled parts of a recursive step against NumPy, and what steps share."""

from __future__ import annotations

import hashlib
import inspect
from pathlib import Path

import numpy as np
import pytest

from support import golden_problems as golden
from sysid_ros.estimation.regression.recursive import kernels as recursive_kernels
from sysid_ros.estimation.regression.recursive.barrier import barrier
from sysid_ros.estimation.regression.recursive.recursive import RecursiveLeastSquares
from sysid_ros.estimation.regression.recursive.recursive_prior import quadratic
from sysid_ros.estimation.regression.weighting import weighted_directions
from sysid_ros.robot.inertia import pseudo_inertia


def started(**settings):
    rows = golden.golden('arm').problem(0.02)
    return RecursiveLeastSquares(**settings).start(rows, weighted_directions(rows)[0].sigma), rows


def test_the_barrier_is_minus_the_logarithms_of_the_determinants(rng):
    state, _ = started(regulariser='log_det')
    theta = state.prior.reference.copy()
    for k in rng.integers(0, 30, 10):
        theta[k] *= 1.02
    pseudo = pseudo_inertia(theta[:30].reshape(3, 10))
    assert barrier(state.prior, theta, False) == pytest.approx(
        -np.linalg.slogdet(pseudo)[1].sum(), rel=1e-12)
    assert barrier(state.prior, theta, True) == 0.0
    for k in (0, 4, 6, 9, 10, 24):
        outside = theta.copy()
        outside[k] = -1e-3
        assert barrier(state.prior, outside, False) == np.inf
        assert barrier(state.prior, outside, True) == np.inf


@pytest.mark.parametrize(
    ('regulariser', 'eliminated'), [('plausible', 3), ('log_det', 12), ('l2', 42)])
def test_parameters_of_which_the_prior_is_quadratic_come_first(regulariser, eliminated):
    state, rows = started(regulariser=regulariser)
    assert state._prior.eliminated == quadratic(state.prior).sum() == eliminated
    # What no torque sees follows: of the first link all but the moment about its axis.
    told = (rows.base.matrix[:, state._columns] != 0.0).any(axis=0)
    assert not told[eliminated:eliminated + 9].any() or regulariser == 'l2'


@pytest.mark.parametrize('regulariser', ['plausible', 'log_det', 'l2'])
def test_iterations_of_one_step_are_those_of_several(regulariser):
    together, rows = started(regulariser=regulariser, max_iterations=4, tolerance=1e-300)
    apart, _ = started(regulariser=regulariser, max_iterations=1, tolerance=1e-300)
    together.extend_rows(rows.regressor[:1], rows.torque[:1])
    apart.extend_rows(rows.regressor[:1], rows.torque[:1])
    for _ in range(3):
        recursive_kernels.iterate(apart._prior, apart._state, apart._workspace, apart._options, 1)
    step = np.linalg.norm(rows.scale, axis=1)
    assert together.iterations == apart.iterations == 4
    # One sample of weight 1e4 beside a prior of 0.1: eight digits are left of the rest.
    np.testing.assert_allclose(together.theta / step, apart.theta / step, rtol=1e-6, atol=1e-6)


def test_the_cache_of_the_steps_looks_at_the_files_they_call():
    digest = hashlib.sha256(b''.join(
        Path(module.__file__).read_bytes() for module in recursive_kernels.SOURCES)).hexdigest()
    for ours, same, other in zip(
            (recursive_kernels.iterate, recursive_kernels.advance),
            recursive_kernels._compiled(digest), recursive_kernels._compiled('another'),
            strict=True):
        key = inspect.getattr_static(type(ours._cache), '_index_key')
        codegen = ours.targetctx.codegen()
        assert key(ours._cache, (), codegen) == key(same._cache, (), codegen)
        assert key(ours._cache, (), codegen) != key(other._cache, (), codegen)
