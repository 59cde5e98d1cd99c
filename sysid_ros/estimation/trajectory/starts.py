r"""Where a solver begins: motion smoothed out of what encoders and tachometers measured.

The motion of joints that are measured together is a cubic spline that minimises
:math:`\sum (y - \hat y)^2 / \sigma^2 + \lambda \sum (\Delta^2 c)^2` over its coefficients c. The
weight is the largest that leaves the misfit what the noise explains, so that measurements of any
rate, combinations of joints, and samples that are missing all enter as what they are.

References:
    Reinsch 1967, Smoothing by spline functions. Eilers and Marx 1996, Flexible smoothing with
    B-splines and penalties.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse
from scipy.linalg import solveh_banded
from scipy.optimize import brentq

from sysid_ros.estimation.trajectory.problem import Segment, TrajectoryProblem
from sysid_ros.estimation.trajectory.sensors import Encoder, Tachometer
from sysid_ros.numerics.decomposition import svd
from sysid_ros.robot.model import RobotModel

# Cubic B-spline: coefficients of u³, u², u and 1 of the four that overlap, u from 0 to 1.
_CUBIC = np.array([[-1, 3, -3, 1], [3, -6, 3, 0], [-3, 0, 3, 0], [1, 4, 1, 0]]) / 6.0
# Weights of smoothness, in parts of those of the measurements, between which one is sought: from
# none that shows to the stiffest that rounding lets a banded matrix have.
_LEAST, _MOST = 1e-4, 1e10
# Natural logarithm of the weight is found to this.
_EXACT = 0.2
# Part of the largest below which a direction changes no encoder.
_TOLD = 1e-9


@dataclass(frozen=True, eq=False)
class _Row:
    """What one number of a sensor is, and its K samples that are not missing.

    Attributes:
        weights: Weight of each joint, shape ``(n,)``.
        order: 0 for positions, 1 for velocities.
        t: Stamps in [s], shape ``(K,)``.
        values: Samples, shape ``(K,)``.
        sigma: Standard deviation of their noise.
    """

    weights: np.ndarray
    order: int
    t: np.ndarray
    values: np.ndarray
    sigma: float


@dataclass(frozen=True)
class _Grid:
    """Cells of a spline, evenly spaced."""

    start: float
    spacing: float
    cells: int

    @property
    def size(self) -> int:
        """How many coefficients a spline has."""
        return self.cells + 3

    def basis(self, t: np.ndarray, order: int) -> tuple[np.ndarray, np.ndarray]:
        """First of the four coefficients at each of K times ``(K,)``, and weights ``(K, 4)``."""
        x = (t - self.start) / self.spacing
        cell = np.clip(np.floor(x), 0, self.cells - 1).astype(np.int64)
        u, one = x - cell, np.ones(len(t))
        if order == 0:
            return cell, np.column_stack([u**3, u**2, u, one]) @ _CUBIC
        slopes = np.column_stack([3.0 * u**2, 2.0 * u, one, 0.0 * one])
        return cell, slopes @ _CUBIC / self.spacing


def initial_states(problem: TrajectoryProblem) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
    """Positions and velocities at the nodes of every segment.

    Those of joints that encoders tell are smoothed (:func:`smoothed_states`), those of others what
    the dynamics make of them (:func:`~.hidden_joints.with_hidden_joints`), with the parameters as
    they are.

    Raises:
        EstimationError: What is measured does not tell the motion of all joints.
        ModelError: A sensor does not fit the robot.
    """
    robot = problem.model.robot
    states = tuple(smoothed_states(robot, part) for part in problem.segments)
    hidden = hidden_joints(problem)
    if not hidden.any():
        return states
    from sysid_ros.estimation.trajectory.hidden_joints import (  # noqa: PLC0415 (its compiled solver)
        with_hidden_joints,
    )

    return with_hidden_joints(problem, states, hidden)


def hidden_joints(problem: TrajectoryProblem) -> np.ndarray:
    """Joints whose positions encoders do not tell in every segment, shape ``(n,)``."""
    robot = problem.model.robot
    return np.any([_hidden(robot, _rows(robot, part)) for part in problem.segments], axis=0)


def smoothed_states(robot: RobotModel, segment: Segment) -> tuple[np.ndarray, np.ndarray]:
    """Positions and velocities at the nodes, from encoders and tachometers.

    Args:
        robot: The robot.
        segment: A segment of its motion.

    Returns:
        Positions in [rad] or [m] and velocities, shape ``(N + 1, n)`` each, zero for joints whose
        positions they do not tell.

    Raises:
        ModelError: A sensor does not fit the robot.
    """
    rows = _rows(robot, segment)
    determined = ~_hidden(robot, rows)
    q, v = np.zeros((2, len(segment.t), len(robot.joint_names)))
    for joints in _groups(rows) if rows else ():
        if len(joints) and determined[joints].all():
            own = [row for row in rows if row.weights[joints].any()]
            q[:, joints], v[:, joints] = _smoothed(segment.t, own, joints)
    return q, v


def _rows(robot: RobotModel, segment: Segment) -> list[_Row]:
    rows = []
    for observation in segment.observations:
        sensor = observation.sensor
        if not isinstance(sensor, Encoder):
            continue
        order = 1 if isinstance(sensor, Tachometer) else 0
        for k, weights in enumerate(sensor.matrix(robot)):
            known = np.isfinite(observation.values[:, k])
            rows.append(_Row(weights, order, observation.t[known], observation.values[known, k],
                             float(observation.sigma[k])))
    return rows


def _hidden(robot: RobotModel, rows: list[_Row]) -> np.ndarray:
    """Joints that move along some direction that changes no encoder, shape ``(n,)``."""
    measured = [row.weights for row in rows if row.order == 0 and len(row.t) > 1]
    matrix = np.array(measured).reshape(-1, len(robot.joint_names))
    _, sizes, axes = svd(matrix)
    rank = int((sizes > _TOLD * sizes.max(initial=1.0)).sum())
    return np.asarray(np.abs(axes[rank:]).max(axis=0, initial=0.0) > _TOLD)


def _groups(rows: list[_Row]) -> list[np.ndarray]:
    """Indices of joints that are measured together, group by group."""
    touched = (np.array([row.weights for row in rows]) != 0.0).astype(float)
    joints = touched.shape[1]
    linked = np.linalg.matrix_power((touched.T @ touched > 0.0).astype(float), joints) > 0.0
    return [np.flatnonzero(group) for group in np.unique(linked, axis=0)]


def _smoothed(
    nodes: np.ndarray, rows: list[_Row], joints: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Positions and velocities of a group of g joints at the nodes, ``(N + 1, g)`` each."""
    # More cells than samples would only be bridged by the penalty.
    cells = min(len(nodes) - 1, *(len(row.t) for row in rows if row.order == 0 and len(row.t) > 1))
    grid = _Grid(float(nodes[0]), float(nodes[-1] - nodes[0]) / cells, cells)
    design, target = _equations(rows, joints, grid)
    coefficients = _fitted(design, target, len(joints)).reshape(grid.size, len(joints))
    q, v = (_at(grid, coefficients, nodes, order) for order in (0, 1))
    return q, v


def _at(grid: _Grid, coefficients: np.ndarray, t: np.ndarray, order: int) -> np.ndarray:
    first, weights = grid.basis(t, order)
    return np.einsum('kc,kcj->kj', weights, coefficients[first[:, None] + np.arange(4)])


def _equations(
    rows: list[_Row], joints: np.ndarray, grid: _Grid
) -> tuple[scipy.sparse.csr_array, np.ndarray]:
    """Measurements over their noise, linear in the coefficients, those of one cell together."""
    entries, lines, columns, count = [], [], [], 0
    for row in rows:
        weights = row.weights[joints] / row.sigma
        used = np.flatnonzero(weights)
        first, basis = grid.basis(row.t, row.order)
        place = (first[:, None] + np.arange(4))[:, :, None] * len(joints) + used
        entries.append((basis[:, :, None] * weights[used]).ravel())
        columns.append(place.ravel())
        lines.append(np.repeat(count + np.arange(len(row.t)), 4 * len(used)))
        count += len(row.t)
    places = (np.concatenate(lines), np.concatenate(columns))
    design = scipy.sparse.csr_array(
        (np.concatenate(entries), places), shape=(count, grid.size * len(joints)))
    return design, np.concatenate([row.values / row.sigma for row in rows])


def _fitted(design: scipy.sparse.csr_array, target: np.ndarray, joints: int) -> np.ndarray:
    """Coefficients of the smoothest spline that noise explains, shape ``(cells * g,)``."""
    size = design.shape[1]
    second = scipy.sparse.diags(
        [1.0, -2.0, 1.0], offsets=[0, joints, 2 * joints], shape=(size - 2 * joints, size))
    width = 4 * joints
    normal, penalty = (_banded(part.T @ part, width) for part in (design, second))
    right = design.T @ target
    scale = float(normal[0].mean())

    def fit(weight: float) -> np.ndarray:
        return solveh_banded(normal + scale * np.exp(weight) * penalty, right, lower=True)

    def excess(weight: float) -> float:
        return float(np.sum((design @ fit(weight) - target) ** 2)) - len(target)

    low, high = np.log(_LEAST), np.log(_MOST)
    if excess(low) >= 0.0:
        return fit(low)
    if excess(high) <= 0.0:
        return fit(high)
    return fit(brentq(excess, low, high, xtol=_EXACT))


def _banded(matrix: scipy.sparse.csr_array, width: int) -> np.ndarray:
    """Lower diagonals of a symmetric matrix, shape ``(width, size)``."""
    lower = scipy.sparse.tril(matrix).tocoo()
    banded = np.zeros((width, matrix.shape[0]))
    banded[lower.row - lower.col, lower.col] = lower.data
    return banded
