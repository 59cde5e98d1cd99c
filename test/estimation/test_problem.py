"""Rows of a problem: compressed without loss, filtered alike on both sides, with a fair metric."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from support import golden_problems as simulated
from sysid_ros.errors import ConfigurationError, EstimationError, RecordingError
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.recording.processing.signals import ParallelFilter


@pytest.fixture(scope='module')
def golden():
    return simulated.golden('arm')


@pytest.fixture(scope='module')
def problem(golden):
    problem = golden.problem(0.05)
    usable = np.random.default_rng(0).random(problem.usable.shape) > 0.3
    return replace(problem, usable=usable)


def test_the_factors_hold_all_of_each_joints_rows(problem):
    for joint, factor in enumerate(problem.factors):
        rows = problem.usable[:, joint]
        stack = np.column_stack([problem.regressor[rows, joint], problem.torque[rows, joint]])
        np.testing.assert_allclose(factor.T @ factor, stack.T @ stack, rtol=1e-9, atol=1e-9)


def test_the_compressed_objective_is_that_of_all_usable_rows(problem, rng):
    sigma = np.array([0.5, 2.0, 0.1])
    rows, torque = problem.weighted(sigma)
    size = len(problem.parameters)
    assert rows.shape == (size + 1, size)
    for _ in range(5):
        theta = problem.parameters.prior + rng.normal(size=size)
        whole = np.sum((problem.residuals(theta) / sigma) ** 2)
        assert np.sum((rows @ theta - torque) ** 2) == pytest.approx(whole, rel=1e-10)


def test_squared_residuals_are_those_of_the_rows(problem, rng):
    theta = problem.parameters.prior + rng.normal(size=len(problem.parameters))
    np.testing.assert_allclose(
        problem.squared_residuals(theta), np.sum(problem.residuals(theta) ** 2, axis=0),
        rtol=1e-10)


def test_squared_residuals_of_exact_data_are_rounding(golden):
    problem = golden.problem()
    found = problem.squared_residuals(golden.truth)
    assert (found < 1e-24 * np.sum(problem.torque**2, axis=0)).all()


def test_fewer_rows_than_columns_are_compressed_too(problem):
    few = replace(
        problem, regressor=problem.regressor[:5], torque=problem.torque[:5],
        usable=problem.usable[:5])
    theta = problem.parameters.prior
    rows, torque = few.weighted(np.ones(3))
    assert np.sum((rows @ theta - torque) ** 2) == pytest.approx(
        np.sum(few.residuals(theta) ** 2))


def test_residuals_are_zero_where_a_row_does_not_count(problem):
    residuals = problem.residuals(np.zeros(len(problem.parameters)))
    np.testing.assert_array_equal(residuals[~problem.usable], 0.0)
    np.testing.assert_array_equal(residuals[problem.usable], problem.torque[problem.usable])
    np.testing.assert_array_equal(problem.counts, problem.usable.sum(axis=0))


def test_rows_that_do_not_count_change_nothing(problem):
    spoilt = replace(
        problem, torque=np.where(problem.usable, problem.torque, 1e6),
        regressor=np.where(problem.usable[:, :, None], problem.regressor, -1e3))
    np.testing.assert_array_equal(spoilt.factors, problem.factors)
    np.testing.assert_allclose(spoilt.scale, problem.scale, rtol=1e-12)


def test_both_sides_pass_the_same_filter(golden):
    exact = golden.dataset()
    filtered = RegressionProblem.from_dataset(
        golden.model, exact,
        parallel_filter=ParallelFilter(cutoff=10.0, decimate_to=25.0))
    assert filtered.rate == pytest.approx(25.0)
    assert len(filtered.torque) < len(exact) / 4
    error = filtered.residuals(golden.truth)
    assert np.abs(error).max() < 1e-10 * np.abs(filtered.torque).max()


def test_slow_rows_of_a_joint_do_not_count(golden):
    data = golden.dataset()
    for slowest in (0.5, (0.5, 0.0, 2.0)):
        problem = RegressionProblem.from_dataset(golden.model, data, minimum_velocity=slowest)
        np.testing.assert_array_equal(
            problem.usable, np.abs(data.v) >= np.broadcast_to(slowest, (3,)))


def test_a_list_of_slowest_velocities_of_the_wrong_length_is_refused(golden):
    with pytest.raises(ConfigurationError, match='wrong length.*found 2 numbers; allowed 3, or'):
        RegressionProblem.from_dataset(
            golden.model, golden.dataset(), minimum_velocity=(0.1, 0.1))


def test_masked_samples_do_not_count(golden):
    data = golden.dataset()
    mask = data.mask.copy()
    mask[100:200, 1] = False
    problem = RegressionProblem.from_dataset(golden.model, replace(data, mask=mask))
    np.testing.assert_array_equal(problem.usable, mask)


def test_data_of_another_robot_is_refused(golden):
    other = simulated.golden('single joint').dataset()
    with pytest.raises(RecordingError, match='other joints.*found pivot; allowed waist, elbow'):
        RegressionProblem.from_dataset(golden.model, other)


def test_rows_and_torques_must_belong_together(problem):
    with pytest.raises(EstimationError, match='regressor and torque'):
        replace(problem, torque=problem.torque[:-1])
    with pytest.raises(EstimationError, match='regressor and parameters'):
        replace(problem, regressor=problem.regressor[:, :, :-1])


def test_a_step_of_the_prior_does_not_depend_on_the_frame(problem):
    turned, change = simulated.turned_frames(problem, seed=2)
    metric = problem.scale @ problem.scale.T
    np.testing.assert_allclose(
        turned.scale @ turned.scale.T, change @ metric @ change.T, rtol=1e-9, atol=1e-12)


def test_a_step_of_a_term_explains_all_torque_of_its_joint(problem):
    k = problem.parameters.index('elbow.viscous_friction')
    used = problem.usable[:, 1]
    step = np.linalg.norm(problem.scale[k])
    assert step * np.linalg.norm(problem.regressor[used, 1, k]) == pytest.approx(
        np.linalg.norm(problem.torque[used, 1]))


def test_a_step_of_a_body_is_one_in_its_divergence(problem):
    # Twice the prior is 100 % more in each of four directions: the norm of z is 2.
    block = problem.parameters.body_slice('hand')
    change = np.zeros(len(problem.parameters))
    change[block] = problem.parameters.prior[block]
    z = np.linalg.lstsq(problem.scale, change, rcond=None)[0]
    assert np.linalg.norm(z) == pytest.approx(2.0)


def test_fixed_parameters_have_no_steps(golden):
    problem = golden.problem(fixed=('upper.*', '*.armature'))
    assert problem.scale.shape == (len(problem.parameters), problem.free.sum())
    np.testing.assert_array_equal(problem.scale[~problem.free], 0.0)
    np.testing.assert_array_equal(problem.base.matrix[:, ~problem.free], 0.0)
