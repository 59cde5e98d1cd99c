"""The best of the parameters that physics allows, near a fit of states and parameters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from support import trajectory_problems as made
from sysid_ros.errors import SysidError
from sysid_ros.estimation.estimate import Status
from sysid_ros.estimation.trajectory.consistency import QuadraticModel, consistent_values


def quadratic(problem):
    free = len(problem.free)
    return QuadraticModel(np.eye(free), np.eye(free), np.zeros(free))


def with_inertia(parameters, values):
    """Parameters whose rod could only be a body if its moment of inertia were larger."""
    values = values.copy()
    values[parameters.index('rod.inertia_yy')] = 1e-9
    return values


def test_parameters_held_where_no_body_is_left_end_a_fit_early():
    problem, _, _ = made.swinging()
    parameters = problem.parameters.fixed('rod.inertia_yy')
    held = replace(problem, parameters=parameters.with_values(
        with_inertia(parameters, parameters.values)))
    values, status = consistent_values(held, held.parameters.values, quadratic(held), 0.1)
    assert status is Status.INACCURATE
    np.testing.assert_array_equal(values, held.parameters.values)


def test_a_prior_that_is_no_body_is_refused():
    problem, _, _ = made.swinging()
    parameters = problem.parameters.fixed('rod.inertia_yy')
    wrong = replace(parameters, prior=with_inertia(parameters, parameters.prior))
    wrong = replace(problem, parameters=wrong.with_values(wrong.prior))
    with pytest.raises(SysidError, match='inconsistent|not strictly inside'):
        consistent_values(wrong, wrong.parameters.values, quadratic(wrong), 0.1)
