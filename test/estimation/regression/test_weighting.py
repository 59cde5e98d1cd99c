"""How much joints and the prior weigh in the consistent estimators."""

from functools import partial

import numpy as np
import pytest

from support.golden_problems import golden
from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.estimator import make_estimator
from sysid_ros.estimation.regression import weighting
from sysid_ros.estimation.regression.least_squares import WeightedLeastSquares


@pytest.mark.parametrize('name', ['lmi', 'entropic'])
@pytest.mark.parametrize('strength', [0.0, -1.0, float('nan')])
def test_a_prior_without_weight_is_refused(name, strength):
    with pytest.raises(ConfigurationError, match='prior_strength'):
        make_estimator(name, prior_strength=strength)


def test_joints_weigh_by_their_noise():
    noise, arm = np.array([0.01, 0.05, 0.2]), golden('arm')
    problem = arm.problem(noise, samples=3000)
    directions, notes = weighting.weighted_directions(problem)
    expected = noise * np.sqrt(np.mean((problem.regressor @ arm.truth) ** 2, axis=0))
    ratio = directions.sigma / expected
    np.testing.assert_allclose(ratio / ratio[0], 1.0, rtol=0.1)
    assert notes == ()


def test_noise_levels_that_do_not_settle_are_said(monkeypatch):
    problem = golden('arm').problem(np.array([0.01, 0.05, 0.2]))
    hasty = partial(WeightedLeastSquares, max_iterations=1)
    monkeypatch.setattr(weighting, 'WeightedLeastSquares', hasty)
    for name in ('lmi', 'entropic'):
        notes = make_estimator(name).fit(problem).notes
        assert any('did not settle in 1 iterations' in note for note in notes), name
