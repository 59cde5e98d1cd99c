r"""Kernels behind closed loops: one sample after the other, since each begins at the one before.

Rows of the closures are in world axes. The columns of a step come in this order: the u passive
joints, the driven joints that any loop depends on, and one more for what is to be solved with.
Only the bodies between a closure's places and their common ancestor are walked; all else moves
both places alike, and that ancestor counts as the world.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sysid_ros.dynamics.loop_arrays import FRAME, ROD, LoopArrays

#: How a move ended: at its target, where the loops do not close, or where they are singular.
CLOSED, OUT_OF_REACH, SINGULAR = range(3)

# Newton's steps double their digits: after one this small the next would be below rounding.
_LAST_STEP = 1e-8
_MOST_STEPS = 12
# A pivot below this fraction of its column is rounding.
_DEPENDENT = 1e-9
# The tangent must tell where a step ends, up to this fraction of the step: else it is halved.
_TRUST = 0.3
_ROUNDING = 1e-7
_SHORTEST = 1e-7
# Steps above this size, and pivots below, are checked for a singular configuration on the way.
_LARGE_STEP = 0.05
_SMALL_PIVOT = 0.1


@njit(cache=True)
def _workspace(loops: LoopArrays) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Axes, origins and screw axes, rates of the bodies, and ends of a closure.

    The common ancestor is the last body: index -1.
    """
    bodies = len(loops.parent) + 1
    frame = np.zeros((bodies, 3, 3))
    for i in range(3):
        frame[-1, i, i] = 1.0
    return frame, np.zeros((bodies, 2, 3)), np.zeros((bodies, 4, 3)), np.empty((2, 3))


@njit(cache=True)
def _joint_poses(loops: LoopArrays, q: np.ndarray, frame: np.ndarray, pose: np.ndarray) -> None:
    """Axes ``(b, 3, 3)``, origins and screw axes ``(b, 2, 3)`` of the bodies."""
    for k in range(len(loops.parent)):
        angle = loops.ratio[k] * q[loops.source[k]] + loops.offset[k]
        p, x, f = loops.rotation[k], loops.axis[k], frame[k]
        c, s = (np.cos(angle), np.sin(angle)) if loops.revolute[k] else (1.0, 0.0)
        for i in range(3):
            along = (1.0 - c) * (p[i, 0] * x[0] + p[i, 1] * x[1] + p[i, 2] * x[2])
            f[i, 0] = c * p[i, 0] + x[0] * along + s * (x[2] * p[i, 1] - x[1] * p[i, 2])
            f[i, 1] = c * p[i, 1] + x[1] * along + s * (x[0] * p[i, 2] - x[2] * p[i, 0])
            f[i, 2] = c * p[i, 2] + x[2] * along + s * (x[1] * p[i, 0] - x[0] * p[i, 1])
        g, before = frame[loops.parent[k]], pose[loops.parent[k], 0]
        o0, o1, o2 = loops.translation[k, 0], loops.translation[k, 1], loops.translation[k, 2]
        for i in range(3):
            pose[k, 0, i] = before[i] + g[i, 0] * o0 + g[i, 1] * o1 + g[i, 2] * o2
        for j in range(3):
            y0, y1, y2 = f[0, j], f[1, j], f[2, j]
            for i in range(3):
                f[i, j] = g[i, 0] * y0 + g[i, 1] * y1 + g[i, 2] * y2
        for i in range(3):
            pose[k, 1, i] = f[i, 0] * x[0] + f[i, 1] * x[1] + f[i, 2] * x[2]
            if not loops.revolute[k]:
                pose[k, 0, i] += angle * pose[k, 1, i]


@njit(cache=True)
def _ends(
    loops: LoopArrays, frame: np.ndarray, pose: np.ndarray, c: int, ends: np.ndarray
) -> None:
    """Write where the two ends of a closure are, shape ``(2, 3)``."""
    for end in range(2):
        x, body = loops.point[c, end], loops.ends[c, end]
        f, o = frame[body], pose[body, 0]
        for i in range(3):
            ends[end, i] = o[i] + f[i, 0] * x[0] + f[i, 1] * x[1] + f[i, 2] * x[2]


@njit(cache=True)
def _angle_between(first: np.ndarray, second: np.ndarray, e: np.ndarray) -> None:
    """Write the rotation vector from one frame to another, in world axes."""
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        e[i] = 0.0
        for axis in range(3):
            e[i] += 0.5 * (first[j, axis] * second[k, axis] - first[k, axis] * second[j, axis])
    sine = np.sqrt(e[0] ** 2 + e[1] ** 2 + e[2] ** 2)
    cosine = -0.5
    for i in range(9):
        cosine += 0.5 * first[i // 3, i % 3] * second[i // 3, i % 3]
    angle = np.arctan2(sine, cosine)
    factor = angle / sine if sine > 1e-12 else 1.0
    for i in range(3):
        e[i] *= factor


@njit(cache=True)
def _gap(
    loops: LoopArrays, frame: np.ndarray, c: int, ends: np.ndarray, axes: np.ndarray,
    gap: np.ndarray,
) -> None:
    """Write the residuals of a closure whose ends are known."""
    size, square = loops.length[c], 0.0
    for i in range(3):
        square += (ends[1, i] - ends[0, i]) ** 2
    if loops.kind[c] == ROD:
        gap[0] = 0.5 * (square - size * size) / size
        return
    for i in range(3):
        gap[i] = ends[1, i] - ends[0, i]
    if loops.kind[c] == FRAME:
        for end in range(2):
            f, x = frame[loops.ends[c, end]], loops.turn[c, end]
            for i in range(3):
                for j in range(3):
                    axes[end, i, j] = f[i, 0] * x[0, j] + f[i, 1] * x[1, j] + f[i, 2] * x[2, j]
        _angle_between(axes[0], axes[1], gap[3:])
        for i in range(3):
            gap[3 + i] *= size


@njit(cache=True)
def _equations(
    loops: LoopArrays, frame: np.ndarray, pose: np.ndarray, rows: np.ndarray, gap: np.ndarray,
    ends: np.ndarray,
) -> None:
    """Write the Jacobian of all closures into the first columns of ``rows``, and their gaps."""
    rows[:, :len(loops.coordinate)] = 0.0
    axes, u = np.empty((2, 3, 3)), np.empty(3)
    for c in range(len(loops.kind)):
        _ends(loops, frame, pose, c, ends)
        r, kind, size = loops.row[c], loops.kind[c], loops.length[c]
        _gap(loops, frame, c, ends, axes, gap[r:loops.row[c + 1]])
        for entry in range(loops.first[c], loops.first[c + 1]):
            k, sign = loops.path[entry], loops.sign[entry]
            j, by = loops.column[k], sign * loops.ratio[k]
            z, o, p = pose[k, 1], pose[k, 0], ends[1 if sign > 0.0 else 0]
            for i in range(3):
                n, m = (i + 1) % 3, (i + 2) % 3
                u[i] = z[i] if not loops.revolute[k] else (
                    z[n] * (p[m] - o[m]) - z[m] * (p[n] - o[n]))
            for i in range(3):
                if kind == ROD:
                    rows[r, j] += by * (ends[1, i] - ends[0, i]) * u[i] / size
                else:
                    rows[r + i, j] += by * u[i]
                if kind == FRAME and loops.revolute[k]:
                    rows[r + 3 + i, j] += by * size * z[i]


@njit(cache=True)
def least_squares(rows: np.ndarray, unknowns: int, solution: np.ndarray) -> float:
    """Least squares of the last columns in the first ones, by Householder; ``rows`` is used up.

    Returns the smallest pivot in parts of its column, 0 where columns depend on each other.
    """
    count, columns = rows.shape
    smallest = 1.0
    for k in range(unknowns):
        whole, below = 0.0, 0.0
        for i in range(count):
            square = rows[i, k] * rows[i, k]
            whole += square
            if i >= k:
                below += square
        if k >= count or below <= _DEPENDENT**2 * whole:
            return 0.0
        smallest = min(smallest, np.sqrt(below / whole))
        pivot = -np.copysign(np.sqrt(below), rows[k, k])
        head = rows[k, k] - pivot
        scale = -1.0 / (pivot * head)
        for j in range(k + 1, columns):
            along = head * rows[k, j]
            for i in range(k + 1, count):
                along += rows[i, k] * rows[i, j]
            along *= scale
            rows[k, j] -= along * head
            for i in range(k + 1, count):
                rows[i, j] -= along * rows[i, k]
        rows[k, k] = pivot
    for j in range(columns - unknowns):
        for k in range(unknowns - 1, -1, -1):
            value = rows[k, unknowns + j]
            for i in range(k + 1, unknowns):
                value -= rows[k, i] * solution[i, j]
            solution[k, j] = value / rows[k, k]
    return smallest


@njit(cache=True)
def _same_side(size: int, before: np.ndarray, after: np.ndarray) -> bool:
    """Whether no singular configuration lies between two Jacobians of the passive joints."""
    product = np.zeros((size, size))
    for i in range(len(before)):
        for j in range(size):
            for k in range(size):
                product[j, k] += before[i, j] * after[i, k]
    return bool(np.linalg.det(product) > 0.0)


@njit(cache=True)
def close(
    loops: LoopArrays, unknowns: int, tolerance: float, q: np.ndarray, solution: np.ndarray,
    jacobian: np.ndarray,
) -> tuple[int, float, float]:
    """Move the passive joints until the loops are closed, by Newton's method.

    Args:
        loops: The loops.
        unknowns: The number u of passive joints.
        tolerance: Largest gap in [m] that counts as closed.
        q: Positions of all joints, shape ``(m,)``; passive ones are written.
        solution: Written: minus the passive joints' motion per driven one, ``(u, d + 1)``.
        jacobian: Written: the Jacobian of the last step, shape ``(rows, u + d)``.

    Returns:
        How it ended, the smallest pivot, and the largest gap in [m].
    """
    count, columns = loops.row[-1], len(loops.coordinate)
    frame, pose, _, ends = _workspace(loops)
    rows, gap = np.empty((count, columns + 1)), np.empty(count)
    pivot, largest = 0.0, np.inf
    for _ in range(_MOST_STEPS):
        _joint_poses(loops, q, frame, pose)
        _equations(loops, frame, pose, rows, gap, ends)
        rows[:, columns] = gap
        jacobian[:] = rows[:, :columns]
        largest = np.max(np.abs(gap))
        pivot = least_squares(rows, unknowns, solution)
        if pivot == 0.0:
            return SINGULAR, pivot, largest
        step = 0.0
        for k in range(unknowns):
            q[loops.coordinate[k]] -= solution[k, columns - unknowns]
            step = max(step, abs(solution[k, columns - unknowns]))
        if not step < 1e3:
            break
        if step < _LAST_STEP:
            return (CLOSED if largest <= tolerance else OUT_OF_REACH), pivot, largest
    return OUT_OF_REACH, pivot, largest


@njit(cache=True)
def _predict(
    loops: LoopArrays, unknowns: int, tangent: np.ndarray, here: np.ndarray, trial: np.ndarray
) -> float:
    """Move the passive joints of ``trial`` along the tangent; returns the size of the step."""
    size = 0.0
    for j in range(unknowns, len(loops.coordinate)):
        change = trial[loops.coordinate[j]] - here[loops.coordinate[j]]
        size += change * change
        for k in range(unknowns):
            trial[loops.coordinate[k]] -= tangent[k, j - unknowns] * change
    for k in range(unknowns):
        size += (trial[loops.coordinate[k]] - here[loops.coordinate[k]]) ** 2
    return float(np.sqrt(size))


@njit(cache=True)
def follow(
    loops: LoopArrays, unknowns: int, tolerance: float, start: np.ndarray, driven: np.ndarray,
    targets: np.ndarray, q: np.ndarray, status: np.ndarray,
) -> None:
    """Follow the driven joints from a closed configuration, staying on its branch.

    After a sample that cannot be reached it goes on from the last configuration on the way there.

    Args:
        loops: As for :func:`close`, like the next two.
        unknowns: The number u of passive joints.
        tolerance: Largest gap in [m].
        start: A closed configuration, shape ``(m,)``.
        driven: Indices of the n driven joints.
        targets: Where they go, one sample after the other, shape ``(T, n)``.
        q: Written: positions of all joints, shape ``(T, m)``.
        status: Written: how the way to each sample ended, shape ``(T,)``.
    """
    columns = len(loops.coordinate)
    here, trial = start.copy(), start.copy()
    tangent, old = np.empty((unknowns, columns - unknowns + 1)), np.empty((loops.row[-1], columns))
    solution, new = np.empty_like(tangent), np.empty_like(old)
    pivot = close(loops, unknowns, tolerance, here, tangent, old)[1]
    for t in range(len(targets)):
        done, step, begin = 0.0, 1.0, here.copy()
        status[t] = CLOSED
        while done < 1.0 and status[t] == CLOSED:
            part = min(done + step, 1.0)
            trial[:] = here
            for k, joint in enumerate(driven):
                trial[joint] = begin[joint] + part * (targets[t, k] - begin[joint])
            size, predicted = _predict(loops, unknowns, tangent, here, trial), trial.copy()
            ended, found, _ = close(loops, unknowns, tolerance, trial, solution, new)
            if ended == CLOSED:
                risky = size > _LARGE_STEP or min(found, pivot) < _SMALL_PIVOT
                if not np.linalg.norm(trial - predicted) <= _TRUST * size + _ROUNDING:
                    ended = OUT_OF_REACH
                elif risky and not _same_side(unknowns, old, new):
                    ended = SINGULAR
            if ended == CLOSED:
                here[:], tangent[:], old[:] = trial, solution, new
                pivot, done, step = found, part, 2.0 * step
            else:
                step *= 0.5
                status[t] = ended if step < _SHORTEST else CLOSED
        q[t] = here


@njit(cache=True)
def _at_lever(rates: np.ndarray, d: np.ndarray, moved: np.ndarray) -> None:
    """Turning, spin-up, velocity and acceleration of a point at a lever from a body's origin."""
    o, up = rates[0], rates[1]
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        moved[0, i], moved[1, i] = o[i], up[i]
        moved[2, i] = o[j] * d[k] - o[k] * d[j]
    c = moved[2]
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        moved[3, i] = rates[3, i] + up[j] * d[k] - up[k] * d[j] + o[j] * c[k] - o[k] * c[j]
    for i in range(3):
        c[i] += rates[2, i]


@njit(cache=True)
def _accelerations(
    loops: LoopArrays, v: np.ndarray, frame: np.ndarray, pose: np.ndarray, rates: np.ndarray,
    bias: np.ndarray, ends: np.ndarray,
) -> None:
    r"""Write :math:`\dot J v`: how the closures accelerate while no joint does."""
    moved, d = np.empty((2, 4, 3)), np.empty(3)
    for k in range(len(loops.parent)):
        before, speed = loops.parent[k], loops.ratio[k] * v[loops.source[k]]
        z, o = pose[k, 1], rates[before, 0]
        for i in range(3):
            d[i] = pose[k, 0, i] - pose[before, 0, i]
        _at_lever(rates[before], d, rates[k])
        turn, up = (0, 1) if loops.revolute[k] else (2, 3)
        factor = speed if loops.revolute[k] else 2.0 * speed
        for i in range(3):
            n, m = (i + 1) % 3, (i + 2) % 3
            rates[k, up, i] += factor * (o[n] * z[m] - o[m] * z[n])
            rates[k, turn, i] += speed * z[i]
    for c in range(len(loops.kind)):
        r = loops.row[c]
        _ends(loops, frame, pose, c, ends)
        for end in range(2):
            body = loops.ends[c, end]
            for i in range(3):
                d[i] = ends[end, i] - pose[body, 0, i]
            _at_lever(rates[body], d, moved[end])
        if loops.kind[c] == ROD:
            bias[r] = 0.0
        for i in range(3):
            up = moved[1, 3, i] - moved[0, 3, i]
            if loops.kind[c] == ROD:
                speed = moved[1, 2, i] - moved[0, 2, i]
                bias[r] += ((ends[1, i] - ends[0, i]) * up + speed * speed) / loops.length[c]
            else:
                bias[r + i] = up
            if loops.kind[c] == FRAME:
                bias[r + 3 + i] = loops.length[c] * (moved[1, 1, i] - moved[0, 1, i])


@njit(cache=True)
def carry(
    loops: LoopArrays, unknowns: int, q: np.ndarray, v: np.ndarray, a: np.ndarray,
    coupling: np.ndarray,
) -> int:
    """Velocities and accelerations of the passive joints from those of the driven ones.

    Writes them into v and a, shape ``(T, m)``, and the passive joints' motion per driven column
    into ``coupling``, shape ``(T, u, d)``. Returns the first singular sample, T for none.
    """
    count, columns = loops.row[-1], len(loops.coordinate)
    frame, pose, rates, ends = _workspace(loops)
    rows, bias = np.empty((count, columns + 1)), np.empty(count)
    solution = np.empty((unknowns, columns - unknowns + 1))
    jacobian = np.empty((count, columns))
    for t in range(len(q)):
        _joint_poses(loops, q[t], frame, pose)
        _equations(loops, frame, pose, rows, bias, ends)
        jacobian[:] = rows[:, :columns]
        rows[:, columns] = 0.0
        if least_squares(rows, unknowns, solution) == 0.0:
            return t
        for k in range(unknowns):
            joint = loops.coordinate[k]
            v[t, joint] = 0.0
            for j in range(columns - unknowns):
                coupling[t, k, j] = -solution[k, j]
                v[t, joint] -= solution[k, j] * v[t, loops.coordinate[unknowns + j]]
        _accelerations(loops, v[t], frame, pose, rates, bias, ends)
        rows[:, :columns] = jacobian
        rows[:, columns] = bias
        least_squares(rows, unknowns, solution)
        for k in range(unknowns):
            joint = loops.coordinate[k]
            a[t, joint] = -solution[k, columns - unknowns]
            for j in range(columns - unknowns):
                a[t, joint] -= solution[k, j] * a[t, loops.coordinate[unknowns + j]]
    return len(q)


@njit(cache=True)
def equations(
    loops: LoopArrays, q: np.ndarray, v: np.ndarray, gap: np.ndarray, rows: np.ndarray,
    bias: np.ndarray,
) -> None:
    r"""Write gaps ``(T, r)``, Jacobians ``(T, r, u + d)`` and :math:`\dot J v`, ``(T, r)``."""
    frame, pose, rates, ends = _workspace(loops)
    for t in range(len(q)):
        _joint_poses(loops, q[t], frame, pose)
        _equations(loops, frame, pose, rows[t], gap[t], ends)
        _accelerations(loops, v[t], frame, pose, rates, bias[t], ends)
