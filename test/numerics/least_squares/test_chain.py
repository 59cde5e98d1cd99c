"""The chain's linear algebra against dense matrices."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_ros.numerics.least_squares.chain import NormalEquations, Residuals


def random_chain(rng, nodes=7, n=5, p=3, m=6, breaks=(3,)):
    """Residuals of a chain with breaks, and the Jacobian and residual of all of them, dense."""
    links = np.array([k for k in range(nodes - 1) if k not in breaks])
    pairs = Residuals(links, rng.normal(size=(len(links), m, 2 * n + p + 1)), True)
    alone = Residuals(np.arange(nodes), rng.normal(size=(nodes, m - 1, n + p + 1)), False)
    lines, right = [], []
    for part, width in ((pairs, 2 * n), (alone, n)):
        for node, block in zip(part.nodes, part.rows, strict=True):
            for row in block:
                line = np.zeros(nodes * n + p)
                line[node * n:node * n + width] = row[:width]
                line[nodes * n:] = row[width:-1]
                lines.append(line)
                right.append(row[-1])
    return [pairs, alone], np.array(lines), np.array(right)


def everywhere(p):
    """Bounds that hold nothing."""
    return np.full(p, -np.inf), np.full(p, np.inf)


@pytest.mark.parametrize('n', [1, 4, 5, 9])
@pytest.mark.parametrize('p', [0, 1, 3])
def test_the_step_is_that_of_the_dense_system(rng, n, p):
    parts, jacobian, residual = random_chain(rng, n=n, p=p, m=n + 3)
    equations = NormalEquations.of(7, n, p, parts)
    states, values = equations.eliminated().step(*everywhere(p))
    wanted = -np.linalg.lstsq(jacobian, residual, rcond=None)[0]
    np.testing.assert_allclose(np.append(states.ravel(), values), wanted, rtol=1e-9, atol=1e-12)
    assert equations.cost == pytest.approx(0.5 * residual @ residual)


def test_gradient_curvature_and_bend_are_those_of_the_dense_system(rng):
    parts, jacobian, residual = random_chain(rng)
    equations = NormalEquations.of(7, 5, 3, parts)
    gradient, slope = equations.gradient
    np.testing.assert_allclose(np.append(gradient.ravel(), slope), jacobian.T @ residual)
    curvature, own = equations.curvature
    np.testing.assert_allclose(np.append(curvature.ravel(), own), np.sum(jacobian**2, axis=0))
    states, values = rng.normal(size=(7, 5)), rng.normal(size=3)
    along = jacobian @ np.append(states.ravel(), values)
    assert equations.second_derivative(states, values) == pytest.approx(along @ along)


def test_damping_is_added_to_the_diagonal(rng):
    parts, jacobian, residual = random_chain(rng)
    states, values = rng.uniform(0.1, 5.0, size=(7, 5)), rng.uniform(0.1, 5.0, size=3)
    found = NormalEquations.of(7, 5, 3, parts).eliminated(states, values).step(*everywhere(3))
    damped = jacobian.T @ jacobian + np.diag(np.append(states.ravel(), values))
    wanted = -np.linalg.solve(damped, jacobian.T @ residual)
    np.testing.assert_allclose(np.append(found[0].ravel(), found[1]), wanted, rtol=1e-9)


def test_residuals_may_come_in_parts(rng):
    (pairs, alone), _, _ = random_chain(rng)
    parts = [
        Residuals(part.nodes[chosen], part.rows[chosen], part.pairs)
        for part in (pairs, alone) for chosen in (slice(0, 2), slice(2, None))]
    whole, cut = (NormalEquations.of(7, 5, 3, given) for given in ([pairs, alone], parts))
    np.testing.assert_allclose(cut.chain, whole.chain)
    np.testing.assert_allclose(cut.corner, whole.corner)
    np.testing.assert_array_equal(cut.linked, whole.linked)


def test_information_and_covariances_are_those_of_the_dense_inverse(rng):
    parts, jacobian, _ = random_chain(rng)
    eliminated = NormalEquations.of(7, 5, 3, parts).eliminated()
    inverse = np.linalg.inv(jacobian.T @ jacobian)
    np.testing.assert_allclose(eliminated.information, np.linalg.inv(inverse[35:, 35:]), rtol=1e-8)
    blocks = eliminated.state_covariances(inverse[35:, 35:])
    known = eliminated.state_covariances()
    states_alone = np.linalg.inv((jacobian.T @ jacobian)[:35, :35])
    for k in range(7):
        place = slice(5 * k, 5 * k + 5)
        np.testing.assert_allclose(blocks[k], inverse[place, place], rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(known[k], states_alone[place, place], rtol=1e-8, atol=1e-12)


def test_scores_are_the_gradient_with_states_adapted(rng):
    parts, jacobian, residual = random_chain(rng)
    eliminated = NormalEquations.of(7, 5, 3, parts).eliminated()
    scores = eliminated.scores(parts)
    states, values = jacobian[:, :35], jacobian[:, 35:]
    left = values - states @ np.linalg.lstsq(states, values, rcond=None)[0]
    np.testing.assert_allclose(scores.sum(axis=0), left.T @ residual, rtol=1e-9, atol=1e-11)
    node = np.concatenate([
        np.repeat(part.nodes, part.rows.shape[1]) for part in parts])
    for k in range(7):
        np.testing.assert_allclose(
            scores[k], (left * residual[:, None])[node == k].sum(axis=0), rtol=1e-8, atol=1e-11)


def test_a_state_that_nothing_determines_is_noticed(rng):
    rows = rng.normal(size=(4, 1, 2 + 1 + 1))
    alone = Residuals(np.arange(4), rows, False)
    assert NormalEquations.of(4, 2, 1, [alone]).eliminated() is None


def test_large_residuals_count_by_their_size():
    rows = np.array([[[1.0, 0.5]], [[1.0, 7.0]]])
    part = Residuals(np.arange(2), rows, False, huber=2.0)
    assert part.cost == pytest.approx(0.125 + 2.0 * 7.0 - 2.0)
    equations = NormalEquations.of(2, 1, 0, [part])
    assert equations.gradient[0].ravel() == pytest.approx([0.5, 2.0])
    step = 1e-6
    moved = Residuals(np.arange(2), rows + [0.0, step], False, huber=2.0)
    assert (moved.cost - part.cost) / step == pytest.approx(2.5, abs=1e-5)
