r"""Compiled: one step of recursive least squares with a divergence to a prior.

Kept are the information :math:`\Omega_k` and the vector :math:`b_k`; a step adds a sample to them
and moves the estimate by Newton iterations on

.. math:: \Omega_k \theta - b_k + \alpha \nabla R(\theta) = 0.

Since :math:`b_k` is kept, what an iteration leaves undone is made up for by the next.

Parameters of which R is quadratic come first: to eliminate them takes the same from the matrix in
all iterations of a step, so only the first one does. Inner loops that begin anywhere count in
unsigned numbers: to test whether an index counts from the end keeps it from vector instructions.
Samples are summed by the dozen, and these sums with their rounding carried along (Kahan 1965):
directions that no motion shows have the prior alone, which rounding must not drown.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import njit
from numpy import uint64

from sysid_ros.estimation.regression.recursive import barrier as recursive_barrier
from sysid_ros.estimation.regression.recursive import state as recursive_state
from sysid_ros.estimation.regression.recursive.barrier import add_barrier_derivatives, barrier
from sysid_ros.estimation.regression.recursive.state import Options, Prior, State, Workspace
from sysid_ros.numerics import register_tile, tiled_ldl
from sysid_ros.numerics.jit import CACHED, COMPILED, digest
from sysid_ros.numerics.tiled_ldl import factorise, schur_complement, solve

#: Files that are compiled into a step.
SOURCES = (recursive_barrier, register_tile, tiled_ldl, recursive_state)

# What calls functions of other files is not cached by itself: the step is, as a whole. Arrays come
# in and none is made: counting references to them would take longer than the mathematics.
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


@njit(**COMPILED)
def _innovation(
    state: State, work: Workspace, free: np.ndarray, fixed: np.ndarray, weights: np.ndarray,
    rows: np.ndarray, torque: np.ndarray, usable: np.ndarray,
) -> bool:
    """Free columns and innovation of a sample; False if it is not finite."""
    target, weight, innovation = work.joints[0], work.joints[1], work.joints[2]
    finite = True
    for j in range(len(torque)):
        weight[j] = weights[j] if usable[j] else 0.0
        value, predicted, size = torque[j] if usable[j] else 0.0, 0.0, 0.0
        if usable[j] and len(free) < len(fixed):
            for k in range(len(fixed)):
                value -= rows[j, k] * fixed[k]
        for k in range(len(free)):
            entry = rows[j, free[k]] if usable[j] else 0.0
            work.rows[j, k] = entry
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


@njit(**COMPILED)
def _add_information(state: State, work: Workspace) -> None:
    """Rank-n update of the recent sums by the weighted rows of a sample, four joints at once."""
    count, target, weight = len(state.theta), work.joints[0], work.joints[1]
    for j in range(0, len(weight), 4):
        p, q, r, s = work.rows[j], work.rows[j + 1], work.rows[j + 2], work.rows[j + 3]
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


@njit(cache=True, _nrt=False, fastmath=False)  # said, as it would be that of the caller otherwise
def fold(state: State) -> None:
    """Add the recent sums by compensated summation, which the compiler must not reorder."""
    for i in range(len(state.information)):
        recent, rounding, sums = state.recent[i], state.rounding[i], state.information[i]
        first = i if i < len(sums) else 0
        for k in range(uint64(first), uint64(len(sums))):
            part = recent[k] - rounding[k]
            total = sums[k] + part
            rounding[k] = (total - sums[k]) - part
            sums[k] = total
            recent[k] = 0.0


@njit(**COMPILED)
def _reduced_information(
    prior: Prior, state: State, work: Workspace, rest: np.ndarray, damping: float
) -> bool:
    """The information with the first parameters eliminated, and the gradient of the data's part.

    Rows of these are written to the matrix, all others to ``rest``, of the same shape.
    """
    count, theta, slope, first = len(state.theta), state.theta, work.slope, prior.eliminated
    for k in range(count):
        slope[k] = -(state.information[count, k] + state.recent[count, k])
    for i in range(count):
        before, recent = state.information[i], state.recent[i]
        row = work.system.matrix[i] if i < first else rest[i]
        row[count] = 0.0
        if before[i] + recent[i] == 0.0:  # nothing was seen of it
            for k in range(uint64(i & -8), uint64(count)):
                row[k] = 0.0
        else:
            here, total = theta[i], 0.0
            for k in range(uint64(i & -8), uint64(count)):
                entry = before[k] + recent[k]
                row[k] = entry
                total += entry * theta[k]
                slope[k] += entry * here
            slope[i] += total - row[i] * here
        if i < first:
            row[i] += damping * prior.quadratic_weight[i]
    if first == 0:
        return True
    if not factorise(work.system, 0, 0, first):
        return False
    schur_complement(work.system, rest, first, count)
    return True


@njit(**COMPILED)
def _newton_step(
    prior: Prior, state: State, work: Workspace, copied: bool, alpha: float, damping: float
) -> float:
    """Newton step from the reduced information; its squared decrement, infinite if there is none.

    The reduced information is in the matrix itself, or has to be copied there.
    """
    count, first, right = len(state.theta), prior.eliminated, work.right
    matrix, inverse = work.system.matrix, work.system.inverse
    if copied:
        for i in range(first, count):
            row, other = matrix[i], work.rest[i]
            for k in range(uint64(i & -8), uint64(len(row))):
                row[k] = other[k]
    for k in range(count):
        right[k] = -work.slope[k]
    add_barrier_derivatives(prior, state.theta, work, alpha, damping, first)
    for i in range(first):
        row, share = matrix[i], right[i] * inverse[i]
        for k in range(uint64(i + 1), uint64(count)):
            right[k] -= share * row[k]
    for i in range(count):
        matrix[i, count] = right[i]
    if not factorise(work.system, first, first, count):
        return np.inf
    return solve(work.system, count, work.step)


@njit(**COMPILED)
def _information_times(state: State, vector: np.ndarray, out: np.ndarray) -> None:
    """Product of the information and a vector."""
    count = len(vector)
    for k in range(count):
        out[k] = 0.0
    for i in range(count):
        before, recent, here, total = state.information[i], state.recent[i], vector[i], 0.0
        if before[i] + recent[i] != 0.0:
            for k in range(uint64(i + 1), uint64(count)):
                entry = before[k] + recent[k]
                total += entry * vector[k]
                out[k] += entry * here
            out[i] += total + (before[i] + recent[i]) * here


@njit(**COMPILED)
def _line_search(
    prior: Prior, state: State, work: Workspace, alpha: float, damping: float, decrement: float
) -> float:
    """Backtracking line search for a step strictly inside, by Armijo's rule; 0 if there is none."""
    theta, step, trial = state.theta, work.step, work.trial
    count, large = len(theta), decrement > _SAFE * damping
    slope, curvature, start = 0.0, 0.0, 0.0
    if large:
        start = barrier(prior, theta, False)
        _information_times(state, step, trial)
        for i in range(count):
            weight = alpha * prior.quadratic_weight[i]
            curvature += step[i] * (trial[i] + weight * step[i])
            slope += step[i] * (
                work.slope[i] + weight * (theta[i] - prior.reference[i])
                - alpha * prior.slope[i])
    length = 1.0
    while length > _SHORTEST:
        # Large steps go no more than part of the way to the boundary.
        reach = length / _PART if large else length
        for k in range(count):
            trial[k] = theta[k] + reach * step[k]
        inside = barrier(prior, trial, True) < np.inf
        if inside and not large:
            return length
        if inside:
            for k in range(count):
                trial[k] = theta[k] + length * step[k]
            change = alpha * (barrier(prior, trial, False) - start)
            change += length * (slope + 0.5 * length * curvature)
            if change <= -_ARMIJO * length * decrement:
                return length
        length *= 0.5
    return 0.0


@njit(**COMPILED)
def _iterate(prior: Prior, state: State, work: Workspace, options: Options, most: int) -> bool:
    """Damped Newton iterations on the estimate; whether the last decrement was small enough."""
    count, outcome, alpha = len(state.theta), state.outcome, options.strength
    again, gathered = most > 1, 0.0
    rest = work.rest if again else work.system.matrix
    outcome[recursive_state.STRENGTH] = alpha
    for _ in range(most):
        state.counts[recursive_state.ITERATIONS] += 1
        damping = max(alpha, outcome[recursive_state.DAMPING])
        length, decrement, regular = 0.0, np.inf, True
        if damping != gathered:
            regular, gathered = _reduced_information(prior, state, work, rest, damping), damping
        if regular:
            decrement = _newton_step(prior, state, work, again, alpha, damping)
        if decrement < np.inf:
            if len(prior.place) + len(prior.bound) > 0 and decrement > _FAR * damping:
                outcome[recursive_state.DAMPING] = decrement
                continue
            length = _line_search(prior, state, work, alpha, damping, decrement)
        outcome[recursive_state.DECREMENT], outcome[recursive_state.LENGTH] = decrement, length
        if length == 0.0:
            state.counts[recursive_state.FAILED] += 1
            return False
        for k in range(count):
            work.step[k] *= length
            state.theta[k] += work.step[k]
        near = decrement <= _NEAR * damping
        outcome[recursive_state.DAMPING] = max(alpha, _LOWERED * damping) if near else damping
        if damping == alpha and decrement <= 2.0 * options.tolerance * alpha:
            return True
        if again:
            _information_times(state, work.step, work.trial)
            for k in range(count):
                work.slope[k] += work.trial[k]
    return False


def _compiled(sources: str) -> tuple[Callable[..., bool], Callable[..., None]]:
    """Newton iterations, and steps, as one call each.

    Args:
        sources: Digest of the files whose functions are called. The compiler's cache looks at
            what a function closes over, but not at other files: without it, a change there
            would leave old code in use.
    """

    @njit(**CACHED)
    def iterate(prior: Prior, state: State, work: Workspace, options: Options, most: int) -> bool:
        sources  # noqa: B018
        return _iterate(prior, state, work, options, most)

    @njit(**CACHED)
    def advance(
        prior: Prior, state: State, work: Workspace, options: Options, free: np.ndarray,
        fixed: np.ndarray, weights: np.ndarray, rows: np.ndarray, torque: np.ndarray,
        usable: np.ndarray, trace: np.ndarray,
    ) -> None:
        sources  # noqa: B018
        for t in range(len(torque)):
            if _innovation(state, work, free, fixed, weights, rows[t], torque[t], usable[t]):
                state.counts[recursive_state.SAMPLES] += 1
                if options.memory < 1.0:
                    for sums in (state.information, state.rounding, state.recent):
                        np.multiply(sums, options.memory, sums)
                _add_information(state, work)
                if state.counts[recursive_state.SAMPLES] % _RECENT == 0:
                    fold(state)
                _iterate(prior, state, work, options, options.iterations)
            else:
                state.counts[recursive_state.SKIPPED] += 1
            if t < len(trace):
                for k in range(len(state.theta)):
                    trace[t, k] = state.theta[k]

    return iterate, advance


#: Newton iterations on the estimate of a state with a prior, in some workspace and with options, so
#: many at most; says whether the last decrement was small enough.
#: Then steps: takes in samples by prior, state, workspace and options, columns of the free
#: parameters ``(f,)``, values of the others, zero for the free ones, ``(p,)``, one over the squared
#: noise of each joint ``(n,)``, rows ``(T, n, p)``, torque ``(T, n)``, where it counts ``(T, n)``;
#: writes the estimate after each sample ``(T, f)``, or none where that is ``(0, f)``.
iterate, advance = _compiled(digest(*SOURCES))
