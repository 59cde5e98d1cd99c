"""Complementarity problems: against all their solutions and closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from support import kernel_caches as caches
from sysid_ros.errors import EstimationError
from sysid_ros.estimation.trajectory.discrete import complementarity
from sysid_ros.estimation.trajectory.discrete.active_equations import ACCURACY
from sysid_ros.estimation.trajectory.discrete.complementarity import (
    MlcpStatus,
    solve_mlcp,
    solve_mlcps,
)

SIZE, FREE = 8, 3
# Classes of matrices on which Lemke's method is sure to find a solution (Cottle, Pang and Stone
# 1992, sections 3.1, 3.3 and 4.4).
SURE = ('definite', 'P', 'friction', 'hinge')


def definite(rng, n):
    """Positive definite and not symmetric; integers in a third of all cases, for ties."""
    root, turn = rng.normal(size=(2, n, n))
    if rng.random() < 1.0 / 3.0:
        root, turn = np.rint(root), np.rint(turn)
    return root @ root.T + turn - turn.T + np.eye(n)


def positive_minors(rng, n):
    """A P-matrix that need not be definite: rows scaled, or a triangle of integers."""
    if rng.random() < 0.5:
        return np.tril(rng.integers(-3, 4, size=(n, n)), -1) + np.diag(rng.integers(1, 4, n)) * 1.0
    return np.exp(rng.normal(scale=2.0, size=(n, 1))) * definite(rng, n)


def semidefinite(rng, n):
    """Positive semidefinite, of any rank, with the skew part of programs with constraints."""
    root = rng.normal(size=(n, rng.integers(0, n + 1)))
    turn = rng.normal(size=(n, n)) * (rng.random(size=(n, n)) < 0.5)
    if rng.random() < 1.0 / 3.0:
        root, turn = np.rint(root), np.rint(turn)
    return root @ root.T + turn - turn.T


def in_blocks(rng, reduced):
    """A problem whose free block is positive definite, and leaves ``reduced`` when eliminated."""
    m = len(reduced)
    free = int(rng.integers(0, FREE + 1))
    root = rng.normal(size=(free, free))
    block = root @ root.T + 0.1 * np.eye(free)
    right, below = rng.normal(size=(free, m)), rng.normal(size=(m, free))
    matrix = np.block([[block, right], [below, reduced + below @ np.linalg.solve(block, right)]])
    offset = rng.normal(size=free + m)
    if rng.random() < 1.0 / 3.0:
        offset = np.rint(offset)
    return matrix, offset, free


def with_friction(rng, hinge):
    """Contacts of bodies with dry friction, and constraints beside them (eq. 2.24).

    Two contacts, or a hinge: a constraint as two contacts that face each other. Compliance is
    between none to speak of and a lot.
    """
    free, dof = int(rng.integers(0, FREE + 1)), 6
    contacts = 1 if hinge else int(rng.integers(1, 3))
    sides, rays = (2 if hinge else 1), 2
    root = rng.normal(size=(dof, dof))
    inverse = np.linalg.inv(root @ root.T + 0.1 * np.eye(dof))
    normals = rng.normal(size=(contacts, dof))
    normals = np.concatenate([normals, -normals])[:sides * contacts]
    slides = rng.normal(size=(contacts, dof))
    slides = np.stack([slides, -slides], axis=1).reshape(-1, dof)
    rows = np.concatenate([
        rng.normal(size=(free, dof)), normals, slides, np.zeros((contacts, dof))])
    matrix = rows @ inverse @ rows.T
    counts = np.cumsum([0, free, len(normals), len(slides), contacts])
    _, normal, slide, last = (
        slice(a, b) for a, b in zip(counts[:-1], counts[1:], strict=True))
    ones = np.kron(np.eye(contacts), np.ones((rays, 1)))
    friction = np.tile(np.diag(rng.uniform(0.05, 1.5, contacts)), sides)
    matrix[slide, last] += ones
    matrix[last, slide] -= ones.T
    matrix[last, normal] += friction
    softness = np.zeros(counts[-1])
    softness[:normal.stop] = 10.0 ** rng.uniform(-10.0, -2.0, normal.stop)
    if rng.random() < 0.5:
        softness[normal.stop:] = 10.0 ** rng.uniform(-8.0, -2.0, counts[-1] - normal.stop)
    matrix += np.diag(softness)
    offset = rows @ rng.normal(size=dof)
    offset[:free] += rng.normal(size=free)
    gaps = rng.normal(size=contacts)
    offset[normal] += np.concatenate([gaps, -gaps])[:sides * contacts]
    return matrix, offset, free


CLASSES = {
    'definite': lambda rng, n: in_blocks(rng, definite(rng, n)),
    'P': lambda rng, n: in_blocks(rng, positive_minors(rng, n)),
    'semidefinite': lambda rng, n: in_blocks(rng, semidefinite(rng, n)),
    'any': lambda rng, n: in_blocks(rng, rng.normal(size=(n, n))),
    'friction': lambda rng, n: with_friction(rng, False),
    'hinge': lambda rng, n: with_friction(rng, True),
}


def problems(rng, count):
    """``(class, matrix, offset, free)`` of every class, sizes at random."""
    names = ('definite', 'P', 'semidefinite', 'any', 'friction', 'hinge', 'friction', 'any')
    for k in range(count):
        name = names[k % len(names)]
        yield name, *CLASSES[name](rng, int(rng.integers(1, SIZE + 1)))


def all_solutions(matrix, offset, free):
    """Every solution with a regular basis, by trying all sets of active variables, ``(k, n)``.

    Columns of active variables stand beside unit vectors of slacks: -S z + w = b.
    """
    n = len(offset)
    sets = np.arange(2 ** (n - free))[:, None] >> np.arange(-free, n - free).clip(0) & 1 == 1
    sets[:, :free] = True
    columns = np.where(sets[:, None, :], -matrix, np.eye(n))
    sizes = np.linalg.norm(columns, axis=1, keepdims=True)
    columns = columns / np.where(sizes > 0.0, sizes, 1.0)
    singular = np.linalg.det(columns) == 0.0
    columns[singular], sizes[singular] = np.eye(n), 1.0
    inverses = np.linalg.inv(columns)
    regular = ~singular & (n * np.linalg.norm(inverses, axis=(1, 2)) < 1e13)
    found = inverses @ offset / sizes[:, 0]
    scale = np.abs(found).max(axis=1, initial=0.0, keepdims=True)
    good = regular & (found[:, free:] >= -1e-9 * scale).all(axis=1)
    return np.where(sets[good], found[good], 0.0)


def residual(matrix, offset, free, values, slack):
    """Largest error of a row over one and the sum of its terms' sizes."""
    assert (values[free:] >= 0.0).all()
    assert (slack >= 0.0).all()
    assert (values[free:] * slack[free:] == 0.0).all()
    assert (slack[:free] == 0.0).all()
    error = np.abs(matrix @ values + offset - slack)
    size = np.abs(matrix) @ np.abs(values) + np.abs(offset)
    return np.max(error / (1.0 + size), initial=0.0)


@pytest.mark.slow
def test_the_answer_is_one_of_all_solutions_and_missing_ones_are_said(rng, record_property):
    worst, missed, there, most = 0.0, 0, 0, 0
    for name, matrix, offset, free in problems(rng, 4_000):
        found, known = solve_mlcp(matrix, offset, free), all_solutions(matrix, offset, free)
        most = max(most, found.pivots)
        if found.status.ok:
            worst = max(worst, residual(matrix, offset, free, found.values, found.slack))
            far = np.abs(known - found.values).max(axis=1)
            scale = 1.0 + np.abs(found.values).max()
            # Of a basis that is all but singular no other solution is known so well.
            assert far.min(initial=np.inf) <= 1e-6 * scale or scale > 1e9, name
        else:
            assert np.isnan(found.values).all()
            assert name not in SURE
            # On semidefinite matrices Lemke's method finds a solution where there is one.
            assert name != 'semidefinite' or len(known) == 0
        there += name == 'any' and len(known) > 0
        missed += len(known) > 0 and not found.status.ok
    print(f'\nlargest error of a row {worst:.1e}, most pivots {most}; of {there} matrices of no '
          f'class that have solutions, none was found for {missed}')
    record_property('residual', float(worst))
    record_property('missed', int(missed))
    assert worst <= ACCURACY == 1e-10
    assert missed == 0


def test_every_problem_of_the_sure_classes_is_solved(draws):
    worst = 0.0
    for number, rng in draws.numbered(1000):
        name = SURE[number % len(SURE)]
        matrix, offset, free = CLASSES[name](rng, int(rng.integers(1, SIZE + 1)))
        with draws.saved_on_failure(number, matrix=matrix, offset=offset, free=free):
            found = solve_mlcp(matrix, offset, free)
            assert found.status is MlcpStatus.SOLVED, name
            error = residual(matrix, offset, free, found.values, found.slack)
            assert error <= ACCURACY, name
        worst = max(worst, error)
    print(f'\n{number + 1} problems, largest error of a row {worst:.1e}')


@pytest.mark.parametrize(('delassus', 'friction', 'offset'), [
    ([[4.4, -1.0, 2.5, -1.7], [-1.0, 0.7, 0.3, 0.1], [2.5, 0.3, 4.7, -1.6], [-1.7, 0.1, -1.6, 1.2]],
     [0.6, 0.7], [3.6, -2.2, 0.1, 2.5]),
    ([[2.3, 2.5, -2.2, -0.4], [2.5, 5.3, -4.7, -0.3], [-2.2, -4.7, 7.9, -1.8],
      [-0.4, -0.3, -1.8, 1.9]], [0.9, 0.8], [0.2, -3.5, 1.8, 5.6]),
])
def test_a_contact_may_be_without_load_beside_one_that_bears(delassus, friction, offset):
    # Normals, then one direction to slide and its opposite each (eq. 2.24). All impulses of the
    # contact without load are zero in the solution's basis, and rounding gives them a sign.
    both = np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0],
                     [0.0, 0.0, -1.0, 0.0], [0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, -1.0]])
    matrix = np.zeros((8, 8))
    matrix[:6, :6] = both @ np.array(delassus) @ both.T
    matrix[2:6, 6:] = np.kron(np.eye(2), np.ones((2, 1)))
    matrix[6:, 2:6] = -matrix[2:6, 6:].T
    matrix[6:, :2] = np.diag(friction)
    offset = np.concatenate([both @ offset, np.zeros(2)])
    found = solve_mlcp(matrix, offset, 0)
    assert found.status is MlcpStatus.SOLVED
    assert residual(matrix, offset, 0, found.values, found.slack) <= 1e-15
    unloaded = found.values[:2] == 0.0
    assert unloaded.sum() == 1
    assert not found.values[2:6].reshape(2, 2)[unloaded].any()


def sliding_box(speed, *, mass=2.0, weight=0.2, friction=0.3):
    """A box on a plane without compliance, whose impulses are known (eq. 2.24).

    Velocities are along the plane and away from it; the weight is an impulse, as for a step.
    """
    rows = np.array([[0.0, 1.0], [1.0, 0.0], [-1.0, 0.0], [0.0, 0.0]])
    matrix = rows @ rows.T / mass
    matrix[1:3, 3], matrix[3, 1:3], matrix[3, 0] = 1.0, -1.0, friction
    return matrix, rows @ np.array([speed, -weight / mass])


@pytest.mark.parametrize(('speed', 'along'), [
    (1.0, -0.06), (-1.0, 0.06), (0.02, -0.04), (-0.02, 0.04), (0.0, 0.0)])
def test_a_box_slides_under_the_friction_of_its_weight_or_stops(speed, along):
    matrix, offset = sliding_box(speed)
    found = solve_mlcp(matrix, offset, 0)
    assert found.status is MlcpStatus.SOLVED
    normal, forth, back, left = found.values
    assert normal == pytest.approx(0.2)
    assert forth - back == pytest.approx(along, abs=1e-15)
    # The last multiplier is the speed that friction cannot take away.
    assert left == pytest.approx(max(abs(speed) - 0.03, 0.0), abs=1e-15)


def test_ties_in_all_rows_make_no_cycle():
    # A P-matrix on which simple pivoting goes round (Kostreva 1979); all ratios are the same.
    matrix = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 2.0], [2.0, 0.0, 1.0]])
    found = solve_mlcp(matrix, -np.ones(3), 0)
    assert found.status is MlcpStatus.SOLVED
    np.testing.assert_allclose(found.values, 1.0 / 3.0, rtol=1e-15)


def test_exponentially_many_pivots_are_not_taken():
    # On Murty's matrix the pivots of each variable more are twice as many.
    def solved(n):
        matrix = np.eye(n) + 2.0 * np.tril(np.ones((n, n)), -1)
        offset = -np.cumsum(2.0 ** np.arange(n, 0, -1))
        return solve_mlcp(matrix, offset, 0)

    few, more, most = solved(10), solved(12), solved(16)
    print(f'\n{few.pivots} pivots of 10 variables, {more.pivots} of 12')
    assert more.pivots >= 3 * few.pivots
    assert few.status is more.status is MlcpStatus.SOLVED
    assert most.status is MlcpStatus.PIVOT_LIMIT
    assert most.pivots == 100 * 16


def test_how_it_ended_is_said(rng):
    one = np.eye(1)
    assert solve_mlcp(-one, -np.ones(1), 0).status is MlcpStatus.RAY
    many = np.eye(12), -np.ones(12), 0
    assert solve_mlcp(*many, max_pivots=13).status is MlcpStatus.SOLVED
    assert solve_mlcp(*many, max_pivots=12).status is MlcpStatus.PIVOT_LIMIT
    assert solve_mlcp(0.0 * one, np.ones(1), 1).status is MlcpStatus.INDEFINITE
    assert solve_mlcp(np.ones((2, 2)), np.ones(2), 2).status is MlcpStatus.INDEFINITE
    assert solve_mlcp(one, np.array([np.nan]), 0).status is MlcpStatus.NOT_FINITE
    assert solve_mlcp(np.inf * one, np.ones(1), 1).status is MlcpStatus.NOT_FINITE
    # A free block that is not symmetric, which the elimination takes it for. With fewer variables
    # all active sets would be tried.
    matrix, offset = np.eye(13), np.ones(13)
    matrix[:3, :3] = [[2.0, 1.0, 0.0], [-1.0, 2.0, 0.0], [0.0, 1.0, 1.0]]
    offset[:3] = [1.0, 0.0, 0.0]
    assert solve_mlcp(matrix, offset, 2).status is MlcpStatus.INACCURATE
    for status in MlcpStatus:
        assert status.value.endswith('.')
        assert status.ok == (status is MlcpStatus.SOLVED)


def test_without_variables_or_without_free_ones_there_is_nothing_to_pivot(rng):
    assert solve_mlcp(np.empty((0, 0)), np.empty(0), 0).status is MlcpStatus.SOLVED
    matrix, offset = definite(rng, 4), rng.normal(size=4)
    matrix = matrix + matrix.T
    found = solve_mlcp(matrix, offset, 4)
    np.testing.assert_allclose(found.values, -np.linalg.solve(matrix, offset), rtol=1e-12)
    assert found.pivots == 0
    found = solve_mlcp(matrix, np.abs(offset), 0)
    assert not found.values.any()
    np.testing.assert_array_equal(found.slack, np.abs(offset))


def test_units_do_not_matter(rng):
    for _ in range(200):
        matrix, offset, free = with_friction(rng, rng.random() < 0.5)
        rows = 10.0 ** rng.uniform(-6.0, 6.0, len(offset))
        columns = 10.0 ** rng.uniform(-6.0, 6.0, len(offset))
        # The free block stays symmetric.
        columns[:free] = rows[:free]
        scaled = rows[:, None] * matrix * columns
        found = solve_mlcp(scaled, rows * offset, free)
        assert found.status is MlcpStatus.SOLVED
        assert residual(scaled, rows * offset, free, found.values, found.slack) <= 1e-10
        assert residual(
            matrix, offset, free, columns * found.values, found.slack / rows) <= 1e-10


def test_a_right_guess_saves_the_pivots_and_a_wrong_one_does_no_harm(rng):
    for _ in range(200):
        matrix, offset, free = in_blocks(rng, definite(rng, 6))
        plain = solve_mlcp(matrix, offset, free)
        again = solve_mlcp(matrix, offset, free, guess=plain.active)
        assert again.pivots == 0
        np.testing.assert_array_equal(again.values, plain.values)
        other = solve_mlcp(matrix, offset, free, guess=~plain.active)
        assert other.status is MlcpStatus.SOLVED
        np.testing.assert_allclose(other.values, plain.values, rtol=1e-9, atol=1e-12)


def test_many_problems_are_solved_as_each_alone(rng):
    matrices = np.array([definite(rng, 5) for _ in range(20)])
    offsets = rng.normal(size=(20, 5))
    offsets[3, 2] = np.nan
    found = solve_mlcps(matrices, offsets, 0)
    for k in range(20):
        alone = solve_mlcp(matrices[k], offsets[k], 0)
        np.testing.assert_array_equal(found.values[k], alone.values)
        np.testing.assert_array_equal(found.active[k], alone.active)
        assert found.statuses[k] is alone.status
        assert found.pivots[k] == alone.pivots
    assert found.statuses[3] is MlcpStatus.NOT_FINITE


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(EstimationError, match='matrix'):
        solve_mlcp(np.eye(3), np.ones(2), 0)
    with pytest.raises(EstimationError, match='guess'):
        solve_mlcp(np.eye(2), np.ones(2), 0, guess=np.ones(3))
    with pytest.raises(EstimationError, match='free variables'):
        solve_mlcp(np.eye(2), np.ones(2), 3)


def test_the_cache_of_the_solver_looks_at_the_files_it_calls():
    caches.assert_cache_looks_at_its_sources(complementarity, complementarity._solve_each)
