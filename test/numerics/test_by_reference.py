"""Named tuples by reference: compiled code reads what Python put there."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from numba import njit

from sysid_ros.numerics.by_reference import Referred
from sysid_ros.numerics.jit import COMPILED, INSIDE


class Inner(NamedTuple):
    rows: np.ndarray
    yes: bool
    count: int


class Outer(NamedTuple):
    line: np.ndarray
    inner: Inner
    no: bool
    pile: np.ndarray
    last: np.ndarray


@njit(**INSIDE)
def _sum_of(inner, scale):
    total = 0.0
    for i in range(inner.rows.shape[0]):
        for j in range(inner.rows.shape[1]):
            total += scale * inner.rows[i, j]
    return total


@njit(**COMPILED)
def _state_derivative(outer, found):
    found[0], found[1] = _sum_of(outer.inner, 2.0), outer.inner.count
    found[2], found[3] = outer.inner.yes, outer.no
    found[4], found[5] = outer.pile[1, 0, 2], outer.line[len(outer.line) - 1]
    found[6] = outer.last.shape[0]
    outer.line[0] = -7.0


def _outer(rows):
    rng = np.random.default_rng(3)
    return Outer(
        rng.normal(size=4), Inner(rows, True, 11), False, rng.normal(size=(2, 3, 5)),
        np.zeros((0, 2), dtype=np.int64))


@pytest.mark.parametrize('change', [
    np.ascontiguousarray, lambda rows: rows[::2, 1:], np.asfortranarray])
def test_compiled_code_reads_every_field_and_writes_into_the_arrays(change):
    rows = change(np.random.default_rng(5).normal(size=(6, 4)))
    outer, found = _outer(rows), np.zeros(7)
    last = outer.line[-1]
    _state_derivative(Referred(outer), found)
    np.testing.assert_allclose(
        found, [2.0 * rows.sum(), 11.0, 1.0, 0.0, outer.pile[1, 0, 2], last, 0.0], rtol=1e-14)
    assert outer.line[0] == -7.0


def test_arrays_that_cannot_be_written_are_another_type():
    outer = _outer(np.ones((2, 2)))
    fixed = outer._replace(pile=outer.pile.copy())
    fixed.pile.flags.writeable = False
    kinds = {Referred(record)._numba_type_ for record in (outer, _outer(np.zeros((9, 9))), fixed)}
    assert len(kinds) == 2


def test_fields_of_other_names_are_another_type():
    one, other = (
        NamedTuple('Pair', [(name, np.ndarray), ('last', np.ndarray)]) for name in ('x', 'y'))
    line = np.ones(3)
    assert Referred(one(line, line))._numba_type_ != Referred(other(line, line))._numba_type_


def test_what_compiled_code_could_not_read_is_refused():
    with pytest.raises(TypeError, match='str cannot be handed over'):
        Referred(_outer(np.ones((2, 2)))._replace(no='no'))
