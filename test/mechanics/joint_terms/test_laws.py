"""Every law: its derivatives by differences, and compiled what it is in NumPy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numba import njit

import sysid_ros
from sysid_ros.mechanics.joint_terms.dispatch import (
    NUMBER,
    SLOPE_AT,
    VALUE_AT,
    _slope_at,
    _value_at,
    law_arrays,
    law_slope,
    law_value,
)
from sysid_ros.mechanics.joint_terms.law import ACCELERATION, Law, proportional
from sysid_ros.mechanics.joint_terms.terms import joint_terms
from sysid_ros.numerics.jit import COMPILED

LAWS = [(term.__name__, law) for term in joint_terms() for law in term.laws]
SHAPE = (0.4, 1.3, 0.2)
# Away from zero, where some have a corner.
X = np.concatenate([np.linspace(-1.5, -0.05, 7), np.linspace(0.05, 1.5, 7)])
every_law = pytest.mark.parametrize('law', [law for _, law in LAWS], ids=[name for name, _ in LAWS])


@njit(**COMPILED)
def evaluate(laws, x, found):
    for i in range(len(x)):
        found[0, i] = law_value(laws, 0, x[i])
        found[1, i] = law_slope(laws, 0, x[i], found[0, i])


def compiled(law, by_address=False):
    arrays, found = law_arrays([(law, SHAPE)]), np.empty((2, len(X)))
    if by_address:
        arrays.code[0, NUMBER] = -1
        arrays.code[0, VALUE_AT] = _value_at(law.value).address
        arrays.code[0, SLOPE_AT] = _slope_at(law.slope).address
    evaluate(arrays, X, found)
    return found


@every_law
def test_slopes_are_differences(law):
    step = 1e-6
    value = law.value(X, SHAPE)
    expected = (law.value(X + step, SHAPE) - law.value(X - step, SHAPE)) / (2.0 * step)
    np.testing.assert_allclose(
        law.slope(X, value, SHAPE) * np.ones_like(X), expected, rtol=1e-6, atol=1e-8)


@every_law
def test_derivatives_by_constants_are_differences(law):
    value = law.value(X, SHAPE)
    for k, slope in enumerate(law.by_shape):
        pair = []
        for sign in (1.0, -1.0):
            moved = np.array(SHAPE)
            moved[k] += sign * 1e-6
            pair.append(law.value(X, tuple(moved)))
        np.testing.assert_allclose(
            slope(X, value, SHAPE), (pair[0] - pair[1]) / 2e-6, rtol=1e-6, atol=1e-8)


@every_law
@pytest.mark.parametrize('by_address', [False, True])
def test_compiled_it_is_the_same(law, by_address):
    value = law.value(X, SHAPE)
    found = compiled(law, by_address)
    np.testing.assert_allclose(found[0], value, rtol=1e-13)
    np.testing.assert_allclose(
        found[1], law.slope(X, value, SHAPE) * np.ones_like(X), rtol=1e-12, atol=1e-15)


def test_dry_friction_jumps_without_a_smoothing_alone():
    dry = [law for _, law in LAWS if law.smoothing is not None]
    assert len(dry) == 5
    for law in dry:
        sharp = tuple(0.0 if k == law.smoothing else c for k, c in enumerate(SHAPE))
        assert law.jumps(sharp) and not law.jumps(SHAPE)
        found = law.slope(X, law.value(X, sharp), sharp)
        # Stribeck's decays, the others are constant on either side.
        assert np.any(found) == (len(law.by_shape) == 3)


def test_what_depends_on_accelerations_is_proportional():
    assert all(law.value is proportional for _, law in LAWS if law.variable == ACCELERATION)
    with pytest.raises(TypeError, match='proportional'):
        law_arrays([(Law(ACCELERATION, lambda a, shape: a * a), ())])


def test_the_smoothed_sign_of_coulomb_friction_is_written_in_one_file():
    source = Path(sysid_ros.__file__).parent
    written = [
        path.name for path in source.rglob('*.py')
        if 'np.tanh' in (text := path.read_text(encoding='utf-8')) or 'np.cosh' in text]
    assert written == ['coulomb.py']
