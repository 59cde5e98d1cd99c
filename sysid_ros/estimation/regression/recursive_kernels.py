r"""Compiled: one step of recursive least squares with a divergence to a prior.

Kept are the information :math:`\Omega_k` and the vector :math:`b_k`; a step adds a sample to them
and moves the estimate by Newton iterations on

.. math:: \Omega_k \theta - b_k + \alpha \nabla R(\theta) = 0.

Since :math:`b_k` is kept, what an iteration leaves undone is made up for by the next.

Every function that is called from here is in this file, since the compiler's cache looks at no
other. Inner loops that begin anywhere count in unsigned numbers: to test whether an index counts
from the end keeps it from vector instructions. Samples are summed by the dozen, and these sums
with their rounding carried along (Kahan 1965): directions that no motion shows have the prior
alone, which rounding must not drown.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy import uint64

from sysid_ros.estimation.regression import recursive_state as kept
from sysid_ros.estimation.regression.recursive_state import Options, Prior, Room, State

_COMPILED = {
    'cache': True, 'error_model': 'numpy', 'fastmath': {'reassoc', 'contract', 'arcp', 'nsz'},
}
# Near a boundary Newton steps are short. So a step whose squared decrement is far above its weight
# of the prior's curvature gets one as large, which is lowered again near the minimum.
_FAR, _NEAR, _LOWERED = 10.0, 0.5, 0.125
# Below it a full Newton step of a self-concordant function stays inside and converges
# quadratically (Boyd and Vandenberghe 2004, section 9.6).
_SAFE = 0.0625
# What of the decrease that a straight line promises, and of the way to a boundary, a step takes.
_ARMIJO, _PART = 0.1, 0.9
_SHORTEST = 1e-12
# Samples that are summed by themselves first.
_RECENT = 64


@njit(**_COMPILED)
def advance(
    prior: Prior, state: State, room: Room, options: Options, free: np.ndarray, fixed: np.ndarray,
    weights: np.ndarray, rows: np.ndarray, torque: np.ndarray, usable: np.ndarray,
    trace: np.ndarray,
) -> None:
    """Take in some samples, one step each.

    Args:
        prior: The divergence.
        state: Is moved on.
        room: Room for a step.
        options: How a step is done.
        free: Columns of the free parameters, shape ``(f,)``.
        fixed: Values of the others, zero for the free ones, shape ``(p,)``.
        weights: One over the squared noise of each joint, shape ``(n,)``.
        rows: Regressor, shape ``(T, n, p)``.
        torque: Shape ``(T, n)``.
        usable: True where a row counts, shape ``(T, n)``.
        trace: Gets the estimate after each sample, shape ``(T, f)``, or none if ``(0, f)``.
    """
    for t in range(len(torque)):
        if _receive(state, room, free, fixed, weights, rows[t], torque[t], usable[t]):
            state.counts[kept.SAMPLES] += 1
            if options.memory < 1.0:
                for sums in (state.information, state.rounding, state.recent):
                    np.multiply(sums, options.memory, sums)
            _add(state, room)
            if state.counts[kept.SAMPLES] % _RECENT == 0:
                fold(state)
            iterate(prior, state, room, options, options.iterations)
        else:
            state.counts[kept.SKIPPED] += 1
        if t < len(trace):
            for k in range(len(state.theta)):
                trace[t, k] = state.theta[k]


@njit(**_COMPILED)
def _receive(
    state: State, room: Room, free: np.ndarray, fixed: np.ndarray, weights: np.ndarray,
    rows: np.ndarray, torque: np.ndarray, usable: np.ndarray,
) -> bool:
    """Pick out what is free of a sample, and its innovation; False if it is not finite."""
    target, weight, innovation = room.joints[0], room.joints[1], room.joints[2]
    finite = True
    for j in range(len(torque)):
        weight[j] = weights[j] if usable[j] else 0.0
        value, predicted, size = torque[j] if usable[j] else 0.0, 0.0, 0.0
        if usable[j] and len(free) < len(fixed):
            for k in range(len(fixed)):
                value -= rows[j, k] * fixed[k]
        for k in range(len(free)):
            entry = rows[j, free[k]] if usable[j] else 0.0
            room.rows[j, k] = entry
            predicted += entry * state.theta[k]
            size += entry * entry
        target[j], innovation[j] = value, value - predicted
        finite &= np.isfinite((innovation[j] ** 2 + size) * weights[j])
    if finite:
        for j in range(len(torque)):
            if usable[j]:
                state.tally[0, j] += 1.0
                state.tally[1, j] += torque[j] ** 2
                state.tally[2, j] += innovation[j] ** 2
    return finite


@njit(**_COMPILED)
def _add(state: State, room: Room) -> None:
    """Add the weighted products of the sample's rows to the recent sums, four joints at once."""
    count, target, weight = len(state.theta), room.joints[0], room.joints[1]
    for j in range(0, len(weight), 4):
        p, q, r, s = room.rows[j], room.rows[j + 1], room.rows[j + 2], room.rows[j + 3]
        u, v, w, x = weight[j], weight[j + 1], weight[j + 2], weight[j + 3]
        for i in range(count + 1):
            sums, first = state.recent[i], i
            if i < count:
                a, b, c, d = u * p[i], v * q[i], w * r[i], x * s[i]
            else:
                a, b, c, d = u * target[j], v * target[j + 1], w * target[j + 2], x * target[j + 3]
                first = 0
            if a != 0.0 or b != 0.0 or c != 0.0 or d != 0.0:
                for k in range(uint64(first), uint64(count)):
                    sums[k] += a * p[k] + b * q[k] + c * r[k] + d * s[k]


@njit(cache=True, fastmath=False)  # said, as it would be that of the caller otherwise
def fold(state: State) -> None:
    """Add the recent sums, zero afterwards, to all others; the compiler must not reorder these."""
    for i in range(len(state.information)):
        recent, rounding, sums = state.recent[i], state.rounding[i], state.information[i]
        first = i if i < len(sums) else 0
        for k in range(uint64(first), uint64(len(sums))):
            part = recent[k] - rounding[k]
            total = sums[k] + part
            rounding[k] = (total - sums[k]) - part
            sums[k] = total
            recent[k] = 0.0


@njit(**_COMPILED)
def iterate(prior: Prior, state: State, room: Room, options: Options, most: int) -> bool:
    """Newton iterations on the estimate; returns whether the last decrement was small enough.

    Args:
        prior: The divergence.
        state: Its estimate is moved, and its outcome written.
        room: Room for a step.
        options: How a step is done.
        most: Iterations at most.
    """
    count, outcome, alpha = len(state.theta), state.outcome, options.strength
    outcome[kept.STRENGTH] = alpha
    for _ in range(most):
        state.counts[kept.ITERATIONS] += 1
        damping = max(alpha, outcome[kept.DAMPING])
        _assemble(prior, state, room, alpha, damping)
        length, decrement = 0.0, np.inf
        if _factor(room.matrix, count):
            decrement = _direction(room, count)
            if len(prior.place) + len(prior.bound) > 0 and decrement > _FAR * damping:
                outcome[kept.DAMPING] = decrement
                continue
            length = _search(prior, state, room, alpha, damping, decrement)
        outcome[kept.DECREMENT], outcome[kept.LENGTH] = decrement, length
        if length == 0.0:
            state.counts[kept.FAILED] += 1
            return False
        for k in range(count):
            state.theta[k] += length * room.step[k]
        near = decrement <= _NEAR * damping
        outcome[kept.DAMPING] = max(alpha, _LOWERED * damping) if near else damping
        if damping == alpha and decrement <= 2.0 * options.tolerance * alpha:
            return True
    return False


@njit(**_COMPILED)
def _assemble(prior: Prior, state: State, room: Room, alpha: float, damping: float) -> None:
    """The Hessian's upper triangle, and the gradient with the other sign behind it."""
    count, theta, matrix, lean = len(state.theta), state.theta, room.matrix, room.lean
    for k in range(count):
        lean[k] = -(state.information[count, k] + state.recent[count, k])
    for i in range(count):
        before, recent, row = state.information[i], state.recent[i], matrix[i]
        here, total = theta[i], 0.0
        if before[i] + recent[i] == 0.0:  # nothing was seen of it
            row[i & -4:] = 0.0
            continue
        for k in range(uint64(i & -4), uint64(count)):
            entry = before[k] + recent[k]
            row[k] = entry
            total += entry * theta[k]
            lean[k] += entry * here
        lean[i] += total - row[i] * here
        row[count] = -lean[i]
    bend(prior, theta, room, alpha, damping)


@njit(**_COMPILED)
def bend(
    prior: Prior, theta: np.ndarray, room: Room, alpha: float, damping: float
) -> None:
    r"""Add the curvature of R to the matrix, and take its gradient off the last column.

    Args:
        prior: The divergence.
        theta: Where, strictly inside, shape ``(f,)``.
        room: Holds the matrix, shape ``(f, f + 1)``.
        alpha: Weight of the gradient.
        damping: Weight of the curvature.
    """
    count, matrix = len(theta), room.matrix
    for k in range(count):
        away = prior.stretch[k] * (theta[k] - prior.reference[k])
        matrix[k, k] += damping * prior.stretch[k]
        matrix[k, count] -= alpha * (away - prior.slope[k])
    for i in range(len(prior.bound)):
        start, stop, row = prior.span[i, 0], prior.span[i, 1], prior.matrix[i]
        pull = 1.0 / _gap(prior, i, theta)
        for j in range(start, stop):
            if row[j] != 0.0:
                matrix[j, count] -= alpha * pull * row[j]
                for k in range(j, stop):
                    matrix[j, k] += damping * pull * pull * row[j] * row[k]
    for c, place in enumerate(prior.place):
        _bend_body(prior, c, theta, room)
        for m, i in enumerate(place):
            if i >= 0:
                matrix[i, count] -= alpha * room.gradient[m]
                for n in range(m, 10):
                    k = place[n]
                    if k >= 0:
                        matrix[min(i, k), max(i, k)] += damping * room.hessian[m, n]


@njit(**_COMPILED)
def _gap(prior: Prior, i: int, theta: np.ndarray) -> float:
    """Distance to a linear bound."""
    gap = prior.bound[i]
    for k in range(prior.span[i, 0], prior.span[i, 1]):
        gap -= prior.matrix[i, k] * theta[k]
    return gap


@njit(**_COMPILED)
def _body(prior: Prior, c: int, theta: np.ndarray, room: Room) -> float:
    """Factor the pseudo-inertia of a body; its determinant, or zero if it is not positive."""
    x, root = room.ten, room.four[0]
    for m in range(10):
        i = prior.place[c, m]
        x[m] = theta[i] - prior.floor[c, m] if i >= 0 else prior.held[c, m]
    half = 0.5 * (x[4] + x[6] + x[9])
    root[0, 0], root[1, 0], root[1, 1] = half - x[4], -x[5], half - x[6]
    root[2, 0], root[2, 1], root[2, 2] = -x[7], -x[8], half - x[9]
    root[3, 0], root[3, 1], root[3, 2], root[3, 3] = x[1], x[2], x[3], x[0]
    determinant = 1.0
    for i in range(4):
        for j in range(i + 1):
            value = root[i, j]
            for k in range(j):
                value -= root[i, k] * root[j, k]
            if j < i:
                root[i, j] = value / root[j, j]
            else:
                if not value > 0.0:
                    return 0.0
                determinant *= value
                root[i, i] = np.sqrt(value)
    return determinant


@njit(**_COMPILED)
def _bend_body(prior: Prior, c: int, theta: np.ndarray, room: Room) -> None:
    """Gradient and Hessian of minus the logarithm of a body's determinant, eq. (26) and (27)."""
    _body(prior, c, theta, room)
    root, p, square = room.four[0], room.four[1], room.four[2]
    # First the inverse of the triangular root, then of the matrix.
    for j in range(4):
        for i in range(4):
            value = 1.0 if i == j else 0.0
            for k in range(j, i):
                value -= root[i, k] * square[k, j]
            square[i, j] = value / root[i, i] if i >= j else 0.0
    for i in range(4):
        for j in range(i + 1):
            value = 0.0
            for k in range(i, 4):
                value += square[k, i] * square[k, j]
            p[i, j] = p[j, i] = value
    _traces(p, room.gradient)
    for m in range(10):
        room.gradient[m] = -room.gradient[m]
        _sandwich(p, m, square)
        _traces(square, room.hessian[m])


@njit(**_COMPILED)
def _traces(s: np.ndarray, out: np.ndarray) -> None:
    """Traces of a symmetric matrix with the derivatives of the pseudo-inertia."""
    half = 0.5 * (s[0, 0] + s[1, 1] + s[2, 2])
    out[0], out[1], out[2], out[3] = s[3, 3], 2.0 * s[0, 3], 2.0 * s[1, 3], 2.0 * s[2, 3]
    out[4], out[5], out[6] = half - s[0, 0], -2.0 * s[0, 1], half - s[1, 1]
    out[7], out[8], out[9] = -2.0 * s[0, 2], -2.0 * s[1, 2], half - s[2, 2]


@njit(**_COMPILED)
def _sandwich(p: np.ndarray, m: int, out: np.ndarray) -> None:
    """The symmetric matrix p E p with the m-th derivative E of the pseudo-inertia."""
    a, b = kept.ENTRIES[m]
    for i in range(4):
        for j in range(i, 4):
            if m == 0:
                value = p[i, 3] * p[j, 3]
            elif a == b:
                value = 0.5 * (p[i, 0] * p[j, 0] + p[i, 1] * p[j, 1] + p[i, 2] * p[j, 2])
                value -= p[i, a] * p[j, a]
            else:
                value = p[i, a] * p[j, b] + p[i, b] * p[j, a]
                value = value if m < 4 else -value
            out[i, j] = value


@njit(**_COMPILED)
def _factor(matrix: np.ndarray, count: int) -> bool:
    """Upper Cholesky factor in place, four rows at a time; the last columns are solved for."""
    # Rows are done from a multiple of four on: what is left of the diagonal counts for nothing.
    width = uint64(matrix.shape[1])
    for first in range(0, count, 4):
        last = min(first + 4, count)
        for k in range(first, last):
            row = matrix[k]
            if not (row[k] > 0.0 and row[k] < np.inf):
                return False
            scale = 1.0 / np.sqrt(row[k])
            for j in range(uint64(first), width):
                row[j] *= scale
            for i in range(k + 1, last):
                factor, other = row[i], matrix[i]
                for j in range(uint64(first), width):
                    other[j] -= factor * row[j]
        if last < count:
            p, q, r, s = matrix[first], matrix[first + 1], matrix[first + 2], matrix[first + 3]
            for i in range(last, count):
                a, b, c, d, row = p[i], q[i], r[i], s[i], matrix[i]
                if a != 0.0 or b != 0.0 or c != 0.0 or d != 0.0:
                    for j in range(uint64(i & -4), width):
                        row[j] -= a * p[j] + b * q[j] + c * r[j] + d * s[j]
    return True


@njit(**_COMPILED)
def _direction(room: Room, count: int) -> float:
    """The Newton step from the factor; returns its squared decrement."""
    decrement, step = 0.0, room.step
    for i in range(count - 1, -1, -1):
        row, value = room.matrix[i], room.matrix[i, count]
        decrement += value * value
        for j in range(uint64(i + 1), uint64(count)):
            value -= row[j] * step[j]
        step[i] = value / row[i]
    return decrement


@njit(**_COMPILED)
def _barrier(prior: Prior, theta: np.ndarray, room: Room, inside_only: bool) -> float:
    """Sum of all barriers, infinite outside."""
    value = 0.0
    for c in range(len(prior.place)):
        determinant = _body(prior, c, theta, room)
        if not determinant > 0.0:
            return np.inf
        value -= 0.0 if inside_only else np.log(determinant)
    for i in range(len(prior.bound)):
        gap = _gap(prior, i, theta)
        if not gap > 0.0:
            return np.inf
        value -= 0.0 if inside_only else np.log(gap)
    return value


@njit(**_COMPILED)
def _search(
    prior: Prior, state: State, room: Room, alpha: float, damping: float, decrement: float
) -> float:
    """Length of the step that stays strictly inside and brings its decrease; 0 if none does."""
    theta, step, trial = state.theta, room.step, room.trial
    count, large = len(theta), decrement > _SAFE * damping
    slope, bow, start = 0.0, 0.0, 0.0
    if large:
        start = _barrier(prior, theta, room, False)
        for i in range(count):
            before, recent, total = state.information[i], state.recent[i], 0.0
            for k in range(uint64(i + 1), uint64(count)):
                total += (before[k] + recent[k]) * step[k]
            stretch = alpha * prior.stretch[i]
            bow += step[i] * ((before[i] + recent[i] + stretch) * step[i] + 2.0 * total)
            slope += step[i] * (
                room.lean[i] + stretch * (theta[i] - prior.reference[i])
                - alpha * prior.slope[i])
    length = 1.0
    while length > _SHORTEST:
        # Large steps go no more than part of the way to the boundary.
        reach = length / _PART if large else length
        for k in range(count):
            trial[k] = theta[k] + reach * step[k]
        inside = _barrier(prior, trial, room, True) < np.inf
        if inside and not large:
            return length
        if inside:
            for k in range(count):
                trial[k] = theta[k] + length * step[k]
            change = alpha * (_barrier(prior, trial, room, False) - start)
            if change + length * (slope + 0.5 * length * bow) <= -_ARMIJO * length * decrement:
                return length
        length *= 0.5
    return 0.0
