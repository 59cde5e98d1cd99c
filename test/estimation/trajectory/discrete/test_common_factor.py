"""Motion without torques tells all parameters but a common factor, in maximal coordinates too."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from support import trajectory_problems as problems
from sysid_ros.estimation.trajectory.assessment import determined_parameters
from sysid_ros.estimation.trajectory.discrete.common_factor import (
    factor_is_free,
    without_common_factor,
)
from sysid_ros.estimation.trajectory.discrete.estimator import MaximalCoordinatesEstimator


@pytest.fixture(scope='module')
def free_swing():
    """A pendulum that swings freely, guessed nearly half as heavy again; and its true values."""
    problem, truth, _ = problems.swinging()
    guess = replace(problem.parameters, values=1.4 * truth, prior=1.4 * truth)
    return replace(problem, parameters=guess), truth


def test_a_known_torque_or_a_known_parameter_tells_the_factor(free_swing):
    problem, _ = free_swing
    assert factor_is_free(problem)
    # No motion about one axis tells the mass.
    for name, told in (('rod.mass', False), ('rod.inertia_yy', True)):
        known = replace(problem, parameters=problem.parameters.fixed(name))
        assert factor_is_free(known) is not told
    first, *others = problem.segments
    driven = replace(first, torque=np.full_like(first.torque, 0.1))
    assert not factor_is_free(replace(problem, segments=(driven, *others)))


def test_information_on_the_factor_is_taken_out_and_on_all_else_stays(free_swing):
    problem, _ = free_swing
    rng = np.random.default_rng(0)
    base = problem.base.matrix[:, problem.free]
    root = rng.normal(size=(len(base), len(base)))
    full = base.T @ root @ root.T @ base
    left = without_common_factor(problem, full)
    values = problem.parameters.values[problem.free]
    assert np.abs(left @ values).max() < 1e-9 * np.abs(full @ values).max()
    across = rng.normal(size=len(values))
    # What does not go along with the factor is as well known as before.
    across -= values * (values @ full @ across) / (values @ full @ values)
    np.testing.assert_allclose(left @ across, full @ across, atol=1e-9 * np.abs(full).max())


def test_one_parameter_of_a_free_swing_is_held_and_named(free_swing):
    problem, truth = free_swing
    estimate, found = MaximalCoordinatesEstimator().fitted(problem)
    assert estimate.status.ok
    assert 'was held, since this motion tells only how it' in ' '.join(estimate.notes)
    known = determined_parameters(problem, found.information)
    assert np.count_nonzero(known.mask) == len(problem.base.independent) - 1
    scale = found.values / np.where(truth == 0.0, np.nan, truth)
    acting = [problem.parameters.names.index(name) for name in (
        'rod.inertia_yy', 'rod.first_moment_z', 'swing.viscous_friction')]
    # The factor stays that of the guess.
    np.testing.assert_allclose(scale[acting], 1.4, rtol=0.03)
