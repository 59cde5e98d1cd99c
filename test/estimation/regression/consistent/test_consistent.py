"""What the consistent estimators share."""

from __future__ import annotations

import pytest

from support import golden_problems as simulated
from sysid_ros.estimation.estimator import make_estimator


@pytest.mark.parametrize('name', ['lmi', 'entropic', 'log_cholesky'])
def test_an_integer_strength_is_the_same_number(name):
    # Noisy and short enough for the fit to lean on bounds, where it iterates.
    problem = simulated.golden('arm').problem(0.5, seed=1, samples=150)
    whole, real = (
        make_estimator(name, prior_strength=strength).fit(problem) for strength in (1, 1.0))
    assert whole.to_json() == real.to_json()
