"""Normal equations with a border, against the dense ones."""

from __future__ import annotations

import numpy as np
from scipy.optimize import lsq_linear

from sysid_ros.numerics.least_squares.bordered import Bordered, _triangle


def bordered(rng, pieces=3, starts=4, shared=5):
    rows = rng.normal(size=(pieces, 30, starts + shared))
    right = rng.normal(size=(pieces, 30))
    equations = Bordered.of(
        np.einsum('pri,prj->pij', rows, rows), np.einsum('pri,pr->pi', rows, right), starts)
    dense = np.zeros((pieces * 30, shared + pieces * starts))
    dense[:, :shared] = rows[:, :, starts:].reshape(-1, shared)
    for p in range(pieces):
        there = slice(shared + p * starts, shared + (p + 1) * starts)
        dense[30 * p:30 * (p + 1), there] = rows[p, :, :starts]
    return equations, dense, right.reshape(-1)


def test_eliminated_equations_give_the_step_of_the_dense_ones(rng):
    equations, dense, right = bordered(rng)
    bound = np.full(5, np.inf)
    shared, own = equations.step(-bound, bound)
    expected = np.linalg.lstsq(dense, -right, rcond=None)[0]
    np.testing.assert_allclose(np.concatenate([shared, own.reshape(-1)]), expected, rtol=1e-8)
    taken = 0.5 * (right @ right - np.sum((right + dense @ expected) ** 2))
    np.testing.assert_allclose(equations.promised(shared, own), taken, rtol=1e-9)


def test_rows_of_any_number_give_the_step_of_the_dense_ones(rng):
    # From fewer rows than columns to several blocks of blocks.
    lengths = (3, 40, 1501, 30011)
    pieces = [rng.normal(size=(length, 4 + 5 + 1)) for length in lengths]
    bound = np.full(5, np.inf)
    shared, own = Bordered.of_rows(pieces, 4).step(-bound, bound)
    dense, first = np.zeros((sum(lengths), 5 + 4 * len(pieces))), 0
    for p, rows in enumerate(pieces):
        here, first = slice(first, first + len(rows)), first + len(rows)
        dense[here, :5], dense[here, 5 + 4 * p:9 + 4 * p] = rows[:, 4:9], rows[:, :4]
    right = np.concatenate([rows[:, -1] for rows in pieces])
    expected = np.linalg.lstsq(dense, -right, rcond=None)[0]
    np.testing.assert_allclose(shared, expected[:5], rtol=1e-8)
    np.testing.assert_allclose(own[1:].reshape(-1), expected[9:], rtol=1e-8)


def test_eliminated_equations_within_bounds_give_the_step_of_the_dense_ones(rng):
    equations, dense, right = bordered(rng)
    upper, lower = rng.uniform(0.0, 0.02, (2, 5)) * [[1.0], [-1.0]]
    upper[0], lower[0] = 0.0, 0.0
    shared, own = equations.step(lower, upper)
    wide = np.concatenate([upper, np.full(12, np.inf)])
    narrow = np.concatenate([lower, np.full(12, -np.inf)])
    wide[0], narrow[0] = 1e-14, -1e-14
    expected = lsq_linear(dense, -right, bounds=(narrow, wide), method='bvls').x
    np.testing.assert_allclose(
        np.concatenate([shared, own.reshape(-1)]), expected, rtol=1e-7, atol=1e-10)


def test_damping_shortens_the_step_along_the_scale(rng):
    equations, dense, right = bordered(rng)
    bound = np.full(5, np.inf)
    shared, own = equations.step(-bound, bound, 0.7)
    square = dense.T @ dense
    square += 0.7 * np.diag(np.diag(square))
    expected = -np.linalg.solve(square, dense.T @ right)
    np.testing.assert_allclose(np.concatenate([shared, own.reshape(-1)]), expected, rtol=1e-8)


def test_rows_of_pieces_give_the_step_of_their_normal_equations(rng):
    equations, dense, right = bordered(rng)
    pieces = [
        np.column_stack([dense[part, 5 + 4 * p:9 + 4 * p], dense[part, :5], right[part]])
        for p, part in enumerate(slice(30 * p, 30 * p + 30) for p in range(3))]
    by_rows = Bordered.of_rows(pieces, 4)
    bound = np.full(5, np.inf)
    for damping in (0.0, 0.7):
        for one, other in zip(
                by_rows.step(-bound, bound, damping), equations.step(-bound, bound, damping),
                strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9)
    np.testing.assert_allclose(by_rows.reduced, equations.reduced, rtol=1e-9)


def test_starts_on_which_all_depends_leave_the_information_of_parameters_as_it_is(rng):
    # Motion whose dependence on its start grows by 1e8: squares of that keep nothing else.
    growth = 1e8
    own, shared = rng.normal(size=(60, 2)), rng.normal(size=(60, 3))
    own[:, 0] *= growth
    shared = shared + own @ rng.normal(size=(2, 3))
    right = rng.normal(size=60)
    equations = Bordered.of_rows([np.column_stack([own, shared, right])], 2)
    orthogonal = shared - own @ np.linalg.lstsq(own, shared, rcond=None)[0]
    np.testing.assert_allclose(equations.reduced, orthogonal.T @ orthogonal, rtol=1e-5)
    bound = np.full(3, np.inf)
    expected = np.linalg.lstsq(np.column_stack([own, shared]), -right, rcond=None)[0]
    found, start = equations.step(-bound, bound)
    np.testing.assert_allclose(found, expected[2:], rtol=1e-5)
    np.testing.assert_allclose(own @ start[0], own @ expected[:2], atol=1e-5 * growth)


def test_a_start_that_nothing_tells_and_a_piece_of_few_rows_leave_all_else_as_it_is(rng):
    rows = rng.normal(size=(30, 5))
    silent, few = np.insert(rows, 1, 0.0, axis=1), np.zeros((1, 6))
    equations = Bordered.of_rows([silent, few], 2)
    bound = np.full(3, np.inf)
    found, start = equations.step(-bound, bound)
    expected = np.linalg.lstsq(rows[:, :4], -rows[:, 4], rcond=None)[0]
    np.testing.assert_allclose(found, expected[1:], rtol=1e-9)
    np.testing.assert_allclose(start, [[expected[0], 0.0], [0.0, 0.0]], rtol=1e-9, atol=1e-12)
    none = Bordered.of_rows([rows], 0)
    assert none.step(-np.full(4, np.inf), np.full(4, np.inf))[1].shape == (1, 0)
    alone = Bordered.of_rows([rows], 4)
    found, start = alone.step(np.zeros(0), np.zeros(0))
    np.testing.assert_allclose(start[0], expected, rtol=1e-9)
    assert found.shape == (0,) and alone.damped_step(0.1, found, found).deviations == 0.0


def test_the_factor_of_rows_without_columns_is_empty():
    assert _triangle(np.zeros((9000, 0))).shape == (0, 0)
