from dataclasses import replace

import numpy as np
import pytest

from support.report_runs import finished_run
from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.estimate import Estimate
from sysid_ros.evaluation.run_comparison import compare_parameters


@pytest.fixture
def estimate():
    return Estimate.load(finished_run() / 'estimate.json')


def moved(estimate, rng, steps):
    """The estimate with every known value moved by noise, and by steps of σ by name."""
    deviation = np.where(
        np.isfinite(estimate.standard_deviation), estimate.standard_deviation, 0.0)
    values = estimate.parameters.values + deviation * rng.standard_normal(len(deviation))
    for name, step in steps.items():
        k = estimate.parameters.index(name)
        values[k] += step * deviation[k]
    return replace(estimate, parameters=estimate.parameters.with_values(values))


def test_runs_that_differ_by_their_noise_agree(estimate):
    false = sum(
        any(row.differs or row.drifts for row in compare_parameters(
            [moved(estimate, np.random.default_rng([seed, k]), {}) for k in range(4)]))
        for seed in range(40))
    # Two families of tests at 5 % each.
    assert false <= 10


def test_a_parameter_that_has_changed_is_found(estimate, rng):
    name = 'elbow_pitch.viscous_friction'
    rows = compare_parameters([moved(estimate, rng, {}), moved(estimate, rng, {name: 12.0})])
    assert [row.name for row in rows if row.differs] == [name]
    assert not any(row.drifts for row in rows)
    assert all(np.isnan(row.drift) for row in rows)


def test_a_parameter_that_changes_from_run_to_run_drifts(estimate, rng):
    name = 'elbow_pitch.coulomb_friction'
    rows = compare_parameters(
        [moved(estimate, rng, {name: 4.0 * k}) for k in range(5)])
    drifting = [row for row in rows if row.drifts]
    assert [row.name for row in drifting] == [name]
    k = estimate.parameters.index(name)
    expected = 4.0 * estimate.standard_deviation[k]
    assert drifting[0].drift == pytest.approx(expected, rel=0.5)


def test_one_run_is_no_comparison(estimate):
    with pytest.raises(ConfigurationError, match='two or more'):
        compare_parameters([estimate])


def test_runs_without_intervals_cannot_be_compared(estimate):
    vague = replace(estimate, standard_deviation=np.full(len(estimate.parameters), np.inf))
    with pytest.raises(ConfigurationError, match='no parameter has an interval'):
        compare_parameters([estimate, vague])
