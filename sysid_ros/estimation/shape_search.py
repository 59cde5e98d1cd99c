r"""Shapes of nonlinear joint terms by variable projection.

For given shapes s the amplitudes and inertial parameters follow by linear least squares, which
leaves a residual :math:`r(s)` of the shapes alone. It is minimised by a trust-region
Gauss-Newton method with bounds; the Jacobian is Kaufman's: the slopes, less their part in the
space of the linear columns (Golub and Pereyra 2003).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.optimize import least_squares

from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.regression.least_squares import WeightedLeastSquares
from sysid_ros.estimation.regression.noise import noise_level
from sysid_ros.estimation.row_source import RowSource
from sysid_ros.mechanics.joint_terms.shaped import NonlinearTerm, ShapedFriction
from sysid_ros.numerics.decomposition import svd
from sysid_ros.numerics.least_squares.nonnegative import nonnegative_least_squares

# Values per shape that are tried first, evenly spaced on a logarithmic scale, and shapes that
# have more than one local best: the velocities.
_TRIED = 6
_SCANNED = ('coulomb_smoothing', 'stribeck_velocity')
# Friction that changes over a velocity is seen to settle when this is within a part of the
# fastest motion; a range is at least so wide.
_SETTLES = 0.5
_NARROWEST = 2.0
# Friction at low speed acts on this part of the samples in motion, at least.
_SLOW = 0.02
# A sign that is smoothed over this part of the slowest speed that is fitted is settled there, to a
# part in a thousand.
_SIGN_SETTLED = 0.25
# Directions of the columns below this part of the largest carry rounding only.
_RANK_TOLERANCE = 1e-9
# The weights of the joints are settled when they change by less than this part.
_SETTLED = 1e-2
_ROUNDS = 3
# Most evaluations of the misfit in one search.
_MAX_EVALUATIONS = 30


def held(
    problem: RegressionProblem, theta: np.ndarray, names: tuple[str, ...]
) -> RegressionProblem:
    """The linear problem at parameter values, some parameters fixed there.

    Args:
        problem: A problem whose model need not be linear.
        theta: Parameter values, shape ``(p,)``.
        names: Parameters to fix, the shapes at least.
    """
    here = problem.at(theta)
    fixed = np.array([name in names for name in here.parameters.names])
    parameters = replace(
        here.parameters, values=np.where(fixed, theta, here.parameters.values),
        free=here.parameters.free & ~fixed,
    )
    # Shapes have zero columns, fixed or free: the base parameters are the same.
    return here.replaced('base', parameters=parameters, source=None)


def find_shapes(
    problem: RegressionProblem, start: np.ndarray | None = None, tolerance: float = 1e-6
) -> np.ndarray:
    """Search the shapes with the smallest weighted misfit, amplitudes not below zero.

    Args:
        problem: The problem.
        start: Parameter values to start at, shape ``(p,)``; by default several values of
            every shape are tried.
        tolerance: Relative change of shapes and of the misfit at which the search ends.

    Returns:
        Parameter values, shape ``(p,)``: the free shapes as found, those whose friction
        vanishes at the prior; weighted least squares for all else.

    Raises:
        EstimationError: There are too few rows.
    """
    model, parameters = problem.model, problem.parameters
    theta, sigma = _weighted(problem, problem.reference if start is None else start)
    free = tuple(name for name in model.shapes if problem.free[parameters.index(name)])
    if not free:
        return theta
    ranges = _ranges(problem)
    if start is None:
        theta = _tried(problem, sigma, theta, ranges)
    for _ in range(_ROUNDS if start is None else 1):
        theta = _Projection(problem, sigma, theta, free, ranges).minimise(tolerance)
        updated = noise_level(held(problem, theta, model.shapes), theta)
        if np.abs(updated / sigma - 1.0).max() < _SETTLED:
            break
        sigma = updated
    slopes = _source(problem).shape_slopes(problem.at(theta), theta)
    for k, name in enumerate(model.shapes):
        if not slopes[:, :, k].any():
            theta[parameters.index(name)] = problem.reference[parameters.index(name)]
    return theta


def _source(problem: RegressionProblem) -> RowSource:
    if problem.source is None:
        raise TypeError('a linear problem has no shapes')
    return problem.source


def _weighted(problem: RegressionProblem, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weighted least squares with the shapes as they are, and the noise of the joints."""
    linear = held(problem, values, problem.model.shapes)
    theta, sigma, _ = WeightedLeastSquares().iterate(linear)
    return theta, sigma


def _ranges(problem: RegressionProblem) -> dict[str, tuple[float, float]]:
    """Range of every shape to search in.

    A velocity beyond half of the fastest motion is not seen to settle: its friction would be
    told apart from other friction by extrapolation only. Friction that decays before nearly all
    of the motion could have any size, and so could friction that has decayed to less than 1/e at
    the slowest rows that are fitted. How a sign changes where rows are left out is not told by
    others: a curve that they ask for, of which the beginning alone is seen, would take nearly all
    dry friction away at low speed.
    """
    parameters, robot = problem.parameters, problem.model.robot
    data = _source(problem).dataset
    slowest = _slowest(problem)
    ranges = {}
    for term in problem.model.terms:
        if not isinstance(term, NonlinearTerm):
            continue
        directions = term.directions(robot) if isinstance(term, ShapedFriction) else []
        speeds = {name: np.abs(data.v @ w) for name, w in directions}
        for name in term.shapes(robot):
            k = parameters.index(name)
            owner, _, field = name.rpartition('.')
            lower, upper = float(parameters.lower[k]), float(parameters.upper[k])
            if field in _SCANNED:
                upper = min(upper, max(_SETTLES * speeds[owner].max(), _NARROWEST * lower))
            if field == 'coulomb_smoothing' and slowest.get(owner, 0.0) > 0.0:
                upper = min(upper, max(_SIGN_SETTLED * slowest[owner], _NARROWEST * lower))
            if field == 'stribeck_velocity':
                moving = speeds[owner][speeds[owner] > lower]
                slow = float(np.quantile(moving, _SLOW)) if len(moving) else lower
                lower = min(
                    max(lower, slow, slowest.get(owner, 0.0)), upper / _NARROWEST)
            ranges[name] = (lower, upper)
    return ranges


def _slowest(problem: RegressionProblem) -> dict[str, float]:
    """Lowest speed of each joint among its rows that are fitted, in [rad/s] or [m/s].

    Zero where next to none is slower: there the fit looks at all speeds.
    """
    speeds, usable = _source(problem).speeds(), problem.usable
    found = {}
    for k, name in enumerate(problem.model.robot.joint_names):
        slowest = float(speeds[usable[:, k], k].min(initial=np.inf))
        found[name] = slowest if np.mean(speeds[:, k] < slowest) > _SLOW and (
            np.isfinite(slowest)) else 0.0
    return found


def _tried(
    problem: RegressionProblem, sigma: np.ndarray, theta: np.ndarray,
    ranges: dict[str, tuple[float, float]],
) -> np.ndarray:
    """The best of a grid of shapes of every axis, the joints of each fitted by themselves."""
    best = theta.copy()
    parameters = problem.parameters
    shapes = [n for n in problem.model.shapes
              if problem.free[parameters.index(n)] and n.rpartition('.')[2] in _SCANNED]
    fields = tuple(dict.fromkeys(name.rpartition('.')[2] for name in shapes))
    owners = tuple(dict.fromkeys(name.rpartition('.')[0] for name in shapes))
    splits = {owner: _axis_split(problem, sigma, owner) for owner in owners}
    lowest = dict.fromkeys(owners, np.inf)
    for parts in itertools.product(np.linspace(0.0, 1.0, _TRIED), repeat=len(fields)):
        here = theta.copy()
        for name in shapes:
            lower, upper = ranges[name]
            part = parts[fields.index(name.rpartition('.')[2])]
            here[parameters.index(name)] = lower ** (1.0 - part) * upper**part
        moved = problem.at(here)
        for owner, (split, joints, own) in splits.items():
            columns = _weighted_rows(moved, sigma, joints, own)
            residual = split.solve(columns)[1]
            misfit = float(residual @ residual)
            if misfit < lowest[owner]:
                lowest[owner] = misfit
                for name in (n for n in shapes if n.rpartition('.')[0] == owner):
                    best[parameters.index(name)] = here[parameters.index(name)]
    return best


def _axis_split(
    problem: RegressionProblem, sigma: np.ndarray, owner: str
) -> tuple[_Split, np.ndarray, np.ndarray]:
    """Rows of the joints that an axis acts on, its own amplitudes apart from all else."""
    names = problem.parameters.names
    own = [k for k in _amplitudes(problem) if names[k].rpartition('.')[0] == owner]
    joints = np.flatnonzero(problem.regressor[:, :, own].any(axis=(0, 2)))
    others = np.setdiff1d(problem.base.independent, own)
    rows = _weighted_rows(problem, sigma, joints, others)
    torque = (problem.torque / sigma)[:, joints][problem.usable[:, joints]]
    return _Split.of(rows, torque), joints, np.array(own)


def _amplitudes(problem: RegressionProblem) -> np.ndarray:
    """Free parameters whose columns depend on shapes, indices."""
    own = []
    stop = len(problem.parameters)
    for term in reversed(problem.model.terms):
        start = stop - len(term.parameters(problem.model.robot))
        if isinstance(term, NonlinearTerm):
            own += [k for k in range(start, stop) if k in problem.base.independent]
        stop = start
    return np.array(sorted(own), dtype=int)


def _weighted_rows(
    problem: RegressionProblem, sigma: np.ndarray, joints: np.ndarray, columns: np.ndarray
) -> np.ndarray:
    """Usable rows of some joints and columns, over the noise, shape ``(N, k)``."""
    rows = problem.regressor[:, joints[:, None], columns] / sigma[joints, None]
    return rows[problem.usable[:, joints]]


@dataclass(eq=False)
class _Projection:
    """The misfit as a function of the logarithms of the free shapes.

    Attributes:
        problem: The problem.
        sigma: Torque noise per joint, shape ``(n,)``.
        start: Parameter values to start at; loads are those of these values throughout.
        names: The free shapes.
        ranges: Range of every shape.
    """

    problem: RegressionProblem
    sigma: np.ndarray
    start: np.ndarray
    names: tuple[str, ...]
    ranges: dict[str, tuple[float, float]]
    _last: tuple[np.ndarray, _Solution] | None = field(default=None, init=False)
    _split: tuple[np.ndarray, _Split] | None = field(default=None, init=False)

    def minimise(self, tolerance: float) -> np.ndarray:
        """Parameter values with the smallest misfit, shape ``(p,)``."""
        lower, upper = np.log([self.ranges[name] for name in self.names]).T
        span = 1e-6 * (upper - lower)
        start = np.clip(np.log(self.start[self._columns]), lower + span, upper - span)
        found = least_squares(
            lambda x: self._at(x).residual, start, jac=self._jacobian,
            bounds=(lower, upper), xtol=tolerance, ftol=tolerance, gtol=tolerance,
            max_nfev=_MAX_EVALUATIONS,
        )
        return self._at(found.x).theta

    @property
    def _columns(self) -> list[int]:
        return [self.problem.parameters.index(name) for name in self.names]

    def _at(self, x: np.ndarray) -> _Solution:
        if self._last is None or not np.array_equal(self._last[0], x):
            values = self.start.copy()
            values[self._columns] = np.exp(x)
            self._last = x.copy(), self._solve(self.problem.at(values), values)
        return self._last[1]

    def _solve(self, problem: RegressionProblem, values: np.ndarray) -> _Solution:
        """Least squares at given shapes."""
        joints = np.arange(len(self.sigma))
        amplitudes = _amplitudes(problem)
        others = np.setdiff1d(problem.base.independent, amplitudes)
        theta = np.where(problem.free, problem.parameters.prior, values)
        shapes = [problem.parameters.index(name) for name in problem.model.shapes]
        theta[shapes] = values[shapes]
        theta[amplitudes] = 0.0
        if self._split is None or not np.array_equal(self._split[0], problem.model.gains):
            rows = _weighted_rows(problem, self.sigma, joints, others)
            rest = (problem.torque - problem.regressor @ theta) / self.sigma
            self._split = problem.model.gains, _Split.of(rows, rest[problem.usable])
        split = self._split[1]
        columns = _weighted_rows(problem, self.sigma, joints, amplitudes)
        sizes, residual, space = split.solve(columns)
        theta[amplitudes] = sizes
        theta[others] += split.steps(columns @ sizes)
        return _Solution(problem, theta, residual, space)

    def _jacobian(self, x: np.ndarray) -> np.ndarray:
        solution = self._at(x)
        slopes = _source(self.problem).shape_slopes(solution.problem, solution.theta)
        order = [self.problem.model.shapes.index(name) for name in self.names]
        rows = (slopes[:, :, order] / self.sigma[:, None])[self.problem.usable]
        for space in solution.space:
            rows -= space @ (space.T @ rows)
        return -rows * np.exp(x)


@dataclass(frozen=True, eq=False)
class _Solution:
    """Linear least squares at given shapes.

    Attributes:
        problem: The problem at the shapes.
        theta: Parameter values, shape ``(p,)``.
        residual: Weighted residual of the N usable rows, shape ``(N,)``.
        space: Orthonormal bases of the columns that were used, one after the other.
    """

    problem: RegressionProblem
    theta: np.ndarray
    residual: np.ndarray
    space: tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class _Split:
    """Columns that do not depend on shapes, taken out of the rows once for all.

    Attributes:
        space: Orthonormal basis of these columns, shape ``(N, k)``.
        steps_of: From parts in the space to values of the columns' parameters, ``(c, k)``.
        target: The torque, shape ``(N,)``.
    """

    space: np.ndarray
    steps_of: np.ndarray
    target: np.ndarray

    @classmethod
    def of(cls, rows: np.ndarray, target: np.ndarray) -> _Split:
        """Columns ``(N, c)`` and torque ``(N,)``; directions of rounding are left out."""
        size = np.linalg.norm(rows, axis=0)
        size = np.where(size > 0.0, size, 1.0)
        orthonormal, triangle = np.linalg.qr(rows / size)
        left, values, right = svd(triangle, full_matrices=False)
        independent = values > _RANK_TOLERANCE * values.max(initial=0.0)
        steps_of = (right[independent] / values[independent, None]).T / size[:, None]
        return cls(orthonormal @ left[:, independent], steps_of, target)

    def solve(
        self, columns: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray]]:
        """Least squares with further columns, whose amplitudes are at least zero.

        Returns:
            Their amplitudes, the residual, and bases of the space of all columns used.
        """
        target = self.target - self.space @ (self.space.T @ self.target)
        if not columns.shape[1]:
            return np.zeros(0), target, (self.space, columns)
        rows = columns - self.space @ (self.space.T @ columns)
        orthonormal, triangle = np.linalg.qr(rows)
        # A column that lies in the space of the others but for rounding has no amplitude.
        sizes = np.linalg.norm(columns, axis=0)
        rounding = np.linalg.norm(rows, axis=0) <= _RANK_TOLERANCE * sizes
        triangle[:, rounding] = 0.0
        amplitudes = nonnegative_least_squares(triangle, orthonormal.T @ target)
        used = np.linalg.qr(rows[:, amplitudes > 0.0])[0]
        return amplitudes, target - rows @ amplitudes, (self.space, used)

    def steps(self, explained: np.ndarray) -> np.ndarray:
        """Values of the columns' parameters when others explain a part of the torque."""
        return self.steps_of @ (self.space.T @ (self.target - explained))
