"""The interior-point method: its pieces against numpy, its steps against finite differences."""

from __future__ import annotations

import ast
import hashlib
import importlib
import inspect
from pathlib import Path

import numba
import numpy as np
import pytest

import sysid_ros
from support import golden_problems as simulated
from support.compiled_parts import PartsOf
from sysid_ros.estimation.estimate import Status
from sysid_ros.estimation.estimator import make_estimator
from sysid_ros.estimation.regression.consistent import interior_point
from sysid_ros.estimation.regression.consistent.feasible_set import feasible_set
from sysid_ros.estimation.regression.consistent.interior_point import path
from sysid_ros.estimation.regression.consistent.interior_point.path import iterate
from sysid_ros.estimation.regression.consistent.interior_point.program import (
    ConstrainedLeastSquares,
    _smallest,
)
from sysid_ros.estimation.regression.consistent.plausibility import Plausibility
from sysid_ros.estimation.regression.weighting import weighted_directions

products, newton, scaling = (
    PartsOf(getattr(interior_point, name)) for name in ('products', 'newton', 'scaling'))


def program_of(problem, **changes):
    """The objective of the semidefinite fit, or another one on its constraints."""
    directions, _ = weighted_directions(problem)
    allowed = feasible_set(problem, Plausibility())
    weights, known, target = directions.principal_rows
    steps = known.shape[1]
    terms = {'quadratic': np.full(steps, 1e-3), 'linear': np.zeros(steps), **changes}
    return ConstrainedLeastSquares(weights, known, target, allowed=allowed, **terms)


@pytest.mark.parametrize(('count', 'size'), [(1, 1), (3, 2), (4, 7), (30, 20), (91, 66)])
def test_squares_are_those_of_numpy(rng, count, size):
    rows = rng.normal(size=(size, count))
    square = np.eye(size) + rows @ rows.T
    matrix = np.eye(size)
    products.add_square(rows, matrix)
    np.testing.assert_allclose(np.triu(matrix), np.triu(square), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(('size', 'count'), [(1, 1), (3, 2), (4, 7), (66, 91)])
def test_products_with_vectors_are_those_of_numpy(rng, size, count):
    matrix, x, y = rng.normal(size=(size, count)), rng.normal(size=count), rng.normal(size=size)
    result = np.full(size, np.nan)
    products.product(matrix, x, result)
    np.testing.assert_allclose(result, matrix @ x, atol=1e-12)
    total = x.copy()
    products.add_product(matrix, y, total)
    np.testing.assert_allclose(total, x + matrix.T @ y, atol=1e-12)


@pytest.mark.slow
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
    assert scaling.initialise(structure, point, step, weight, weight)[0]
    assert newton.factor(structure, point, step, 0.0)
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


def test_the_iteration_is_compiled_ahead_for_the_types_that_fits_call_it_with():
    make_estimator('entropic').fit(simulated.golden('arm').problem(0.05))
    ahead = tuple(map(numba.typeof, _smallest()))
    assert path._iterate.signatures == [ahead]


def test_the_smallest_problem_is_one_that_the_iteration_solves():
    program, point, step, *numbers = _smallest()
    status, _ = iterate(program.record, point.record, step.record, *numbers[:-1], 50)
    assert status is Status.CONVERGED
