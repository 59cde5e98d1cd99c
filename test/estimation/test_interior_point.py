"""The interior-point method: its pieces against numpy, its steps against finite differences."""

from __future__ import annotations

import ast
import hashlib
import importlib
import inspect
import runpy
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import sysid_ros
from sysid_ros.estimation.estimate import Status
from sysid_ros.estimation.regression import interior_point
from sysid_ros.estimation.regression.feasible_set import Plausibility, feasible_set
from sysid_ros.estimation.regression.interior_point import path
from sysid_ros.estimation.regression.interior_point.program import ConstrainedLeastSquares
from sysid_ros.estimation.regression.weighting import weighted_directions

PartsOf = runpy.run_path(str(Path(__file__).parents[1] / 'compiled_parts.py'))['PartsOf']
dense, matrices, newton, scaling = (
    PartsOf(getattr(interior_point, name)) for name in ('dense', 'matrices', 'newton', 'scaling'))
simulated = SimpleNamespace(**runpy.run_path(str(Path(__file__).parents[1] / 'golden_problems.py')))


def positive(rng, condition=1e3):
    """A positive definite 4×4 matrix."""
    turn = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    return turn @ np.diag(np.geomspace(1.0, 1.0 / condition, 4)) @ turn.T


def symmetric(rng):
    matrix = rng.normal(size=(4, 4))
    return matrix + matrix.T


def program_of(problem, **changes):
    """The objective of the semidefinite fit, or another one on its constraints."""
    directions, _ = weighted_directions(problem)
    allowed = feasible_set(problem, Plausibility())
    weights, known, target = directions.principal_rows
    steps = known.shape[1]
    terms = {'quadratic': np.full(steps, 1e-3), 'linear': np.zeros(steps), **changes}
    return ConstrainedLeastSquares(weights, known, target, allowed=allowed, **terms)


def test_eigenvalues_are_those_of_numpy(rng):
    for matrix in (symmetric(rng), positive(rng, 1e8), np.eye(4), np.zeros((4, 4))):
        found, vectors = matrix.copy(), np.empty((4, 4))
        matrices.eigen_4(found, vectors)
        np.testing.assert_allclose(np.sort(np.diag(found)), np.linalg.eigvalsh(matrix), atol=1e-14)
        np.testing.assert_allclose(
            vectors @ np.diag(np.diag(found)) @ vectors.T, matrix, atol=1e-14)


def test_the_scaling_makes_matrix_and_multiplier_the_same_diagonal(rng):
    for _ in range(10):
        primal, dual = positive(rng), positive(rng, 1e5)
        inverse, values = np.empty((4, 4)), np.empty(4)
        assert matrices.nesterov_todd_4(primal, dual, inverse, values)
        root = np.linalg.inv(inverse)
        np.testing.assert_allclose(inverse @ primal @ inverse.T, np.diag(values), atol=1e-12)
        np.testing.assert_allclose(root.T @ dual @ root, np.diag(values), atol=1e-12)


@pytest.mark.parametrize('which', [0, 1])
def test_there_is_no_scaling_of_a_matrix_that_is_not_positive_definite(rng, which):
    pair = [positive(rng), positive(rng)]
    pair[which] -= 0.5 * np.eye(4)
    assert not matrices.nesterov_todd_4(*pair, np.empty((4, 4)), np.empty(4))


@pytest.mark.parametrize('large', [1.0, 1e4, 1e8])
def test_the_smallest_eigenvalue_is_found(rng, large):
    shifted, factor = np.empty((4, 4)), np.zeros((4, 4))
    for values in ([-1.0, 2.0, 3.0, large], [-1.0, -1.0, -1.0, large], [1.0, 1.0, 1.0, 1.0],
                   [-large, -1.0, 0.0, 1.0], [0.0, 0.0, 0.0, large], [-1.0, -1.0, large, large]):
        turn = np.linalg.qr(rng.normal(size=(4, 4)))[0]
        matrix = turn @ np.diag(values) @ turn.T
        found = matrices.smallest_eigenvalue_4(0.5 * (matrix + matrix.T), shifted, factor)
        # Of several alike, a little less is found.
        assert -1e-8 * abs(min(values)) < found - min(values) + 1e-12 * large
        assert found - min(values) < 1e-12 * large


def test_a_step_reaches_exactly_to_the_boundary(rng):
    values = np.array([0.1, 1.0, 2.0, 5.0])
    for _ in range(20):
        step = symmetric(rng)
        reach = matrices.reach_4(values, step, 1e9)
        moved = np.diag(values) + reach * step
        assert abs(np.linalg.eigvalsh(moved)[0]) < 1e-12 * np.abs(moved).max()
        assert matrices.reach_4(values, step, 0.5 * reach) == 0.5 * reach
    assert matrices.reach_4(values, np.eye(4), 7.0) == 7.0


def test_flattened_matrices_keep_their_products(rng):
    first, second = symmetric(rng), symmetric(rng)
    flat, other, back = np.empty(10), np.empty(10), np.empty((4, 4))
    matrices.flatten_4(first, flat)
    matrices.flatten_4(second, other)
    matrices.unflatten_4(flat, back)
    assert flat @ other == pytest.approx(np.trace(first @ second))
    np.testing.assert_allclose(back, first, rtol=1e-15)
    result = np.empty((4, 4))
    matrices.congruence_4(second, first, result)
    np.testing.assert_allclose(result, second @ first @ second.T, rtol=1e-12)


@pytest.mark.parametrize('size', [1, 2, 5, 10])
def test_the_triangle_is_that_of_numpys_qr(rng, size):
    rows = rng.normal(size=(size, 15)) * np.geomspace(1.0, 1e-12, size)[:, None]
    expected = np.linalg.qr(rows[:, :12].T, mode='r')
    expected *= np.sign(np.diag(expected))[:, None]
    triangle = np.zeros((size, size))
    assert dense.triangle_of(rows.copy(), 12, triangle)
    np.testing.assert_allclose(triangle, expected, rtol=1e-9, atol=1e-15)
    right = rng.normal(size=(size, 7))
    scratch, result = np.empty((size, 7)), np.empty((7, size))
    dense.divide(triangle, right, scratch, result)
    np.testing.assert_allclose(triangle.T @ result.T, right, atol=1e-12)


def test_a_column_of_zeros_has_no_triangle():
    assert not dense.triangle_of(np.zeros((2, 5)), 5, np.zeros((2, 2)))


@pytest.mark.parametrize(('count', 'size'), [(1, 1), (3, 2), (4, 7), (30, 20), (91, 66)])
def test_squares_are_factored_as_by_numpy(rng, count, size):
    rows = rng.normal(size=(size, count))
    square = np.eye(size) + rows @ rows.T
    matrix = np.eye(size)
    dense.add_square(rows, matrix)
    np.testing.assert_allclose(np.triu(matrix), np.triu(square), rtol=1e-12, atol=1e-12)
    assert dense.cholesky(matrix)
    np.testing.assert_allclose(np.triu(matrix), np.linalg.cholesky(square).T, atol=1e-11)
    right = rng.normal(size=size)
    x = right.copy()
    dense.solve_cholesky(matrix, x)
    np.testing.assert_allclose(square @ x, right, atol=1e-10)


@pytest.mark.parametrize(('size', 'count'), [(1, 1), (3, 2), (4, 7), (66, 91)])
def test_products_with_vectors_are_those_of_numpy(rng, size, count):
    matrix, x, y = rng.normal(size=(size, count)), rng.normal(size=count), rng.normal(size=size)
    result = np.full(size, np.nan)
    dense.product(matrix, x, result)
    np.testing.assert_allclose(result, matrix @ x, atol=1e-12)
    total = x.copy()
    dense.add_product(matrix, y, total)
    np.testing.assert_allclose(total, x + matrix.T @ y, atol=1e-12)


def test_an_indefinite_matrix_has_no_factor():
    assert not dense.cholesky(np.diag([1.0, -1.0]))
    assert not dense.cholesky(np.array([[1.0, 2.0], [2.0, 1.0]]))


@pytest.mark.parametrize('robot', simulated.NAMES)
def test_on_the_central_path_a_step_is_newtons(robot, rng):
    problem = simulated.golden(robot).problem(0.05)
    allowed = feasible_set(problem, Plausibility())
    steps, weight = allowed.matrix.shape[1], 1e4
    unbounded = weight * allowed.unbounded
    start = allowed.interior()
    slope = -weight * allowed.barrier_gradient(start) - unbounded * start
    wanted = program_of(problem, quadratic=unbounded, linear=slope)
    objective = simulated.Divergence(
        wanted.weights[:, None] * wanted.directions, wanted.target, allowed)
    z = start + 0.02 * rng.normal(size=steps)
    structure = wanted._program()
    point, step = wanted._workspace(structure, z)
    assert scaling.begin(structure, point, weight, weight)[0]
    assert newton.factor(structure, point, 0.0)
    decrement = newton.direction(structure, point, weight, step)

    def slope_of(z):
        gradient = objective.matrix.T @ (objective.matrix @ z - objective.target)
        return gradient + weight * objective.divergence_gradient(z)

    h = 1e-5
    units = h * np.eye(steps)
    values = [objective.value(z + e, weight) - objective.value(z - e, weight) for e in units]
    gradient = slope_of(z)
    np.testing.assert_allclose(
        np.array(values) / (2 * h), gradient, atol=1e-6 * np.abs(gradient).max())
    hessian = np.array([slope_of(z + e) - slope_of(z - e) for e in units]) / (2 * h)
    expected = -np.linalg.solve(hessian, gradient)
    np.testing.assert_allclose(step.z, expected, atol=1e-6 * np.abs(expected).max())
    assert decrement == pytest.approx(-gradient @ expected, rel=1e-6)


@pytest.mark.parametrize('seed', range(12))
def test_random_trees_end_where_clarabel_does(seed):
    golden = simulated.golden_of(simulated.tree_urdf(seed, joints=2 + seed % 3))
    problem = golden.problem(0.5, seed=seed, samples=120)
    wanted = program_of(problem)
    start = wanted.allowed.interior()
    z, status, _ = wanted.minimise(start, barrier=0.0, accuracy=1e-9, max_iterations=100)
    assert status is Status.CONVERGED
    assert wanted.allowed.contains(z)
    best = minimum_of_cvxpy(wanted)
    assert halved_objective(wanted, z) == pytest.approx(halved_objective(wanted, best), rel=1e-6)


def halved_objective(wanted, z):
    misfit = wanted.weights * (wanted.directions @ z) - wanted.target
    return 0.5 * (misfit @ misfit + 1e-3 * z @ z)


def minimum_of_cvxpy(wanted):
    import cvxpy as cp

    # As the point nearest to the free minimiser in the metric of the objective, and each
    # matrix as one variable: so the solver is most accurate.
    rows = wanted.weights[:, None] * wanted.directions
    hessian = rows.T @ rows + 1e-3 * np.eye(rows.shape[1])
    free = np.linalg.solve(hessian, rows.T @ wanted.target)
    u = cp.Variable(len(free))
    values, vectors = np.linalg.eigh(hessian)
    z = free + (vectors / np.sqrt(values)) @ vectors.T @ u
    constraints = [wanted.allowed.matrix @ z <= wanted.allowed.bound]
    for constant, slopes in zip(wanted.allowed.constant, wanted.allowed.slopes, strict=True):
        pseudo = cp.Variable((4, 4), PSD=True)
        constraints.append(
            cp.vec(pseudo, order='C') == slopes.reshape(len(slopes), 16).T @ z + constant.ravel())
    cp.Problem(cp.Minimize(cp.sum_squares(u)), constraints).solve(
        solver=cp.CLARABEL, tol_gap_abs=1e-8, tol_gap_rel=1e-8, tol_feas=1e-8)
    return z.value


def test_an_accuracy_that_rounding_forbids_is_not_claimed():
    # Exact data, so that the misfit itself allows nothing, and no error is below zero.
    wanted = program_of(simulated.golden('arm').problem(0.0))
    start = wanted.allowed.interior()
    _, status, iterations = wanted.minimise(
        start, barrier=0.0, accuracy=-1.0, max_iterations=1000)
    assert status in (Status.INACCURATE, Status.FAILED)
    assert iterations < 200


def test_running_out_of_iterations_is_said():
    wanted = program_of(simulated.golden('arm').problem(0.02))
    start = wanted.allowed.interior()
    options = {'barrier': 0.1, 'accuracy': 1e-9}
    _, status, needed = wanted.minimise(start, max_iterations=99, **options)
    assert status is Status.CONVERGED
    _, status, used = wanted.minimise(start, max_iterations=needed - 1, **options)
    assert status is Status.ITERATION_LIMIT
    assert used == needed - 1


def compiled_modules():
    """The compiled modules that each module whose compiled functions are cached calls, sorted."""
    package = Path(sysid_ros.__file__).parent
    texts = {
        '.'.join(('sysid_ros', *file.relative_to(package).with_suffix('').parts)): text
        for file in package.rglob('*.py') if '@njit' in (text := file.read_text(encoding='utf-8'))
    }
    imported = {
        name: texts.keys() & {
            node.module for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)
        } for name, text in texts.items()
    }

    def called(name):
        return imported[name].union(*(called(other) for other in imported[name]))

    for name, text in sorted(texts.items()):
        if any(word in text for word in ('cache=True', "'cache': True", '**ENTRY')):
            yield name, sorted(called(name))


@pytest.mark.parametrize(('name', 'others'), list(compiled_modules()), ids=str)
def test_what_is_cached_depends_on_no_other_file_that_it_does_not_name(name, others):
    # The cache of a compiled function knows of changes in its own file only: after a change of
    # another one it would go on with the old code of what it calls, laid out for old arguments.
    # What a function closes over it knows too; there a digest of other files may be.
    named = getattr(importlib.import_module(name), 'SOURCES', ())
    assert set(others) <= {module.__name__ for module in named}


def test_the_cache_of_the_iteration_looks_at_the_files_it_calls():
    # Numba's own key of a cached function: other contents of the closure, another entry.
    first, second = path._compiled('one digest'), path._compiled('another')
    key = inspect.getattr_static(type(first._cache), '_index_key')
    codegen = first.targetctx.codegen()
    assert key(first._cache, (), codegen) != key(second._cache, (), codegen)
    digest = hashlib.sha256(b''.join(
        Path(module.__file__).read_bytes() for module in path.SOURCES)).hexdigest()
    same = path._compiled(digest)
    assert key(same._cache, (), codegen) == key(path._iterate._cache, (), codegen)


def test_a_start_outside_is_a_failure():
    wanted = program_of(simulated.golden('arm').problem(0.02))
    outside = 100.0 * np.ones(wanted.directions.shape[1])
    _, status, _ = wanted.minimise(outside, barrier=0.1, accuracy=1e-9, max_iterations=9)
    assert status is Status.FAILED
