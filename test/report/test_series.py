import json

import numpy as np
import pytest

from sysid_ros.report.series import bucket_starts, envelope, finite_or_none, series, some_rows


def test_what_is_not_finite_is_none():
    assert series([1.0, np.nan, np.inf, -np.inf]) == [1.0, None, None, None]
    assert [finite_or_none(value) for value in (None, np.nan, np.inf, 2)] == [None, None, None, 2.0]


@pytest.mark.parametrize('value', [[], {}, 'seven', 10**400])
def test_what_is_no_number_is_an_error_that_validators_answer_to(value):
    with pytest.raises(ValueError, match='number|float'):
        finite_or_none(value)


@pytest.mark.parametrize('scale', [1e-300, 1e-9, 1.0, 12345.678, 1e300])
def test_five_digits_of_the_largest_value_are_kept(scale):
    values = scale * np.array([1.0, -0.123456789, 0.5])
    kept = np.array(series(values))
    assert np.abs(kept - values).max() <= 5e-5 * scale
    assert len(json.dumps(series(values))) < 80


def test_nothing_is_a_series_too():
    assert series([]) == []
    assert series([np.nan]) == [None]


def test_a_bucket_is_shown_by_its_extremes():
    values = np.sin(np.linspace(0.0, 40.0, 10_000))
    values[5000] = 7.0
    starts = bucket_starts(len(values), 100)
    shown = envelope(values, starts)
    assert len(shown) == 200
    assert shown.max() == 7.0
    assert shown.min() == values.min()


def test_few_values_are_shown_as_they_are():
    values = np.arange(10.0)
    assert bucket_starts(10, 5) is None
    assert envelope(values, None) is values


def test_a_gap_stays_a_gap_and_a_value_beside_one_is_shown():
    values = np.ones(1000)
    values[:400] = np.nan
    values[100] = 3.0
    shown = envelope(values, bucket_starts(1000, 100))
    assert np.nanmax(shown) == 3.0
    assert np.isnan(shown[:20]).all()


def test_rows_are_thinned_evenly():
    rows = some_rows(np.arange(1000), 11)
    assert rows.tolist() == [round(k * 99.9) for k in range(11)]
    assert some_rows(np.arange(5), 11).tolist() == [0, 1, 2, 3, 4]
