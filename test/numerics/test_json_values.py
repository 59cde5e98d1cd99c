"""Numbers go through JSON as they are, but for those that it has not."""

import json

import numpy as np

from sysid_ros.numerics.json_values import finite_or_null, null_as_infinite


def test_finite_numbers_come_back_to_the_bit(rng):
    values = rng.normal(size=20) * 10.0**rng.uniform(-300, 300, size=20)
    text = json.dumps(finite_or_null(values), allow_nan=False)
    np.testing.assert_array_equal(null_as_infinite(json.loads(text)), values)


def test_what_is_not_finite_is_null_and_then_infinite():
    values = finite_or_null([np.nan, -np.inf, np.float64(2.0), 3])
    assert values == [None, None, 2.0, 3.0] and all(
        type(value) in (float, type(None)) for value in values)
    np.testing.assert_array_equal(null_as_infinite(values), [np.inf, np.inf, 2.0, 3.0])
