r"""Payload identification: what hangs on the last link, from what it changes.

The arm itself is the same with and without the load. With its base parameters
:math:`\beta` and the load :math:`\phi` on a body whose columns are :math:`\Gamma_l`,

.. math::
    \tau_{empty} = \Gamma_b \beta + \epsilon, \qquad
    \tau_{loaded} = \Gamma_b \beta + \Gamma_l \phi + \epsilon,

so :math:`\beta` is eliminated from both recordings together, whatever their motions, and errors
of the robot description do not matter. The load is then the real body nearest to the
least-squares solution in the metric of its information (Khalil, Gautier and Lemoine 2007,
"Identification of the payload inertial parameters of industrial manipulators"; consistency as
in Wensing, Kim and Slotine 2018).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg

from sysid_ros.errors import EstimationError
from sysid_ros.estimation.estimate import Estimate, Status
from sysid_ros.estimation.payload.payload_estimate import PayloadEstimate
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.regression.consistent.feasible_set import FeasibleSet
from sysid_ros.estimation.regression.consistent.interior_point.program import (
    ConstrainedLeastSquares,
)
from sysid_ros.numerics.decomposition import svd
from sysid_ros.numerics.noise import effective_rows
from sysid_ros.robot.inertia import (
    PSEUDO_INERTIA_BASIS,
    log_det_divergence,
    pseudo_inertia,
)
from sysid_ros.robot.load_carriers import last_body
from sysid_ros.robot.model import RobotModel

# Directions of the arm, and of the load, below these parts of the largest are rounding.
_ARM_RANK = 1e-9
_LOAD_RANK = 1e-7
# Weight of "no load", in squared deviations of the noise per change of a whole last link.
_RIDGE = 1e-6
# Smallest consistency margin of the load, measured against the last link.
_MARGIN = 1e-6
# No torque is measured better than this part of its root mean square.
_LEAST_NOISE = 1e-5
_TOLERANCE, _MOST = 1e-6, 100
# How far half the squared deviations may be from their minimum.
_ACCURACY = 1e-5


def identify_payload(
    loaded: RegressionProblem,
    empty: RegressionProblem | Estimate,
    *,
    link: str | None = None,
) -> PayloadEstimate:
    """Estimate the load on the last link.

    Args:
        loaded: Rows recorded with the load.
        empty: Rows recorded without it, with any motion that moves all joints; or the
            estimate of an earlier fit, whose base parameters and covariance stand for them.
        link: A link of the body that carries the load; by default the end of the chain, or what
            holds the fingers of a gripper.

    Returns:
        The load, physically consistent. Its deviations are those of the least-squares
        solution: constraints can only make it better.

    Raises:
        ConfigurationError: The link does not exist, or the end of the robot is not clear.
        EstimationError: The recordings belong to other models, hold too few rows, or tell
            nothing of the load.
    """
    loaded.require_rows()
    body = last_body(loaded.model.robot, link)
    problems = [loaded]
    if isinstance(empty, RegressionProblem):
        empty.require_rows()
        _require_same(loaded.parameters.names, empty.parameters.names)
        problems.append(empty)
        known = None
    else:
        _require_same(loaded.base.equations, empty.base_names)
        known = _information(empty)
    system = _System(tuple(problems), body, known)
    sigma = system.converged_noise()
    solution = system.solve(sigma)
    system.require_determined(solution)
    inflation = system.correlation(solution)
    information = system.solve(sigma, inflation)
    step, status = _nearest_body(information, system.reference)
    return system.estimate(solution, information, step, status)


def in_link_frame(
    robot: RobotModel, name: str | None, estimate: PayloadEstimate
) -> tuple[str, PayloadEstimate]:
    """A load in the frame of a link.

    Args:
        robot: The robot.
        name: A link of the body that carries it; by default the one it is called after.
        estimate: The load, as :func:`identify_payload` gave it.

    Returns:
        The link's name, and the load in its frame.
    """
    link = next(link for link in robot.links if link.name == (name or estimate.body))
    return link.name, estimate.in_frame(link.pose)


def _require_same(ours: tuple[str, ...], theirs: tuple[str, ...]) -> None:
    if ours != theirs:
        differing = next(iter(set(ours) ^ set(theirs)), 'their order')
        raise EstimationError(
            'the two belong to other models, so their difference is not the load',
            where='payload', found=differing,
            fix='Use the same robot: and fit: sections for both',
        )


def _information(estimate: Estimate) -> tuple[np.ndarray, np.ndarray]:
    """Rows that say of the base parameters what a fit knows of them."""
    if not estimate.status.ok:
        raise EstimationError(
            'the fit of the empty arm did not converge', found=estimate.status.value,
            fix='Fit it alone first, and see its summary for what to do')
    finite = np.isfinite(np.diag(estimate.base_covariance))
    covariance = estimate.base_covariance[np.ix_(finite, finite)]
    values, vectors = np.linalg.eigh(covariance)
    kept = values > np.finfo(float).eps * values[-1]
    rows = np.zeros((int(kept.sum()), len(finite)))
    rows[:, finite] = (vectors[:, kept] / np.sqrt(values[kept])).T
    return rows, rows @ estimate.base_values


@dataclass(frozen=True, eq=False)
class _Solution:
    """Least squares with the arm eliminated.

    Attributes:
        rows: Triangular rows of the load's steps, shape ``(10, 10)``.
        target: Shape ``(10,)``.
        step: Steps of the load, undetermined ones zero, shape ``(10,)``.
        known: Orthonormal directions of the steps that are determined, ``(10, k)``.
        arm: Base parameters of the arm, shape ``(r,)``.
    """

    rows: np.ndarray
    target: np.ndarray
    step: np.ndarray
    known: np.ndarray
    arm: np.ndarray


@dataclass(frozen=True, eq=False)
class _System:
    """Rows of all recordings in the arm's base parameters and the load's steps.

    Attributes:
        problems: The loaded recording first.
        body: Body that carries the load.
        known: Rows and values of the arm's base parameters known before, or None.
    """

    problems: tuple[RegressionProblem, ...]
    body: str
    known: tuple[np.ndarray, np.ndarray] | None

    @property
    def reference(self) -> np.ndarray:
        """Prior of the last link, the measure of the load, shape ``(10,)``."""
        parameters = self.problems[0].parameters
        return parameters.prior[parameters.body_slice(self.body)]

    @cached_property
    def scale(self) -> np.ndarray:
        """The load per step, shape ``(10, 10)``: a step is a change of a whole last link."""
        return _scale(self.reference)

    @cached_property
    def _blocks(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Rows per joint, ``(n, p + 1, r + 10)``, and their torque, for each recording."""
        return [self._block(index) for index in range(len(self.problems))]

    def _block(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        problem = self.problems[index]
        factors = problem.factors
        columns = factors[:, :, :-1]
        arm = columns[:, :, problem.base.independent]
        load = columns[:, :, problem.parameters.body_slice(self.body)] @ self.scale
        load = load if index == 0 else np.zeros_like(load)
        fixed = np.where(problem.free, 0.0, problem.parameters.values)
        return np.concatenate([arm, load], axis=2), factors[:, :, -1] - columns @ fixed

    def solve(self, sigma: np.ndarray, inflation: np.ndarray | None = None) -> _Solution:
        """Eliminate the arm and solve for the load.

        Args:
            sigma: Torque noise per joint, shape ``(n,)``.
            inflation: Factor on the noise of each recording and joint because rows resemble
                their neighbours, shape ``(recordings, n)``.
        """
        rows, target = [], []
        for index, (block, torque) in enumerate(self._blocks):
            noise = sigma if inflation is None else sigma * inflation[index]
            rows.append((block / noise[:, None, None]).reshape(-1, block.shape[2]))
            target.append((torque / noise[:, None]).ravel())
        if self.known is not None:
            rows.append(np.pad(self.known[0], ((0, 0), (0, 10))))
            target.append(self.known[1])
        return _eliminated(np.vstack(rows), np.concatenate(target))

    def converged_noise(self) -> np.ndarray:
        """Torque noise per joint, found from the residuals and iterated, shape ``(n,)``.

        Raises:
            EstimationError: It does not settle.
        """
        squares, counts = self._torque_squares()
        floor = _LEAST_NOISE * np.sqrt(squares / np.maximum(counts, 1))
        floor = np.where(floor > 0.0, floor, 1.0)
        sigma = np.ones_like(floor)
        unknowns = len(self.problems[0].base.independent) + 10
        freedom = np.maximum(counts * (1.0 - unknowns / counts.sum()), 1.0)
        for _ in range(_MOST):
            solution = self.solve(sigma)
            unknown = np.concatenate([solution.arm, solution.step])
            residual = sum(
                np.sum((torque - block @ unknown) ** 2, axis=1)
                for block, torque in self._blocks
            )
            updated = np.maximum(np.sqrt(residual / freedom), floor)
            if np.max(np.abs(updated / sigma - 1.0)) < _TOLERANCE:
                return updated
            sigma = updated
        raise EstimationError(
            'the noise levels of the joints do not settle', where='payload',
            fix='Record longer, with motion of all joints',
        )

    def _torque_squares(self) -> tuple[np.ndarray, np.ndarray]:
        squares = sum(
            np.sum(np.where(problem.usable, problem.torque, 0.0) ** 2, axis=0)
            for problem in self.problems
        )
        counts = sum(problem.counts for problem in self.problems)
        return np.asarray(squares), np.asarray(counts)

    def require_determined(self, solution: _Solution) -> None:
        """Refuse recordings that say nothing of the load.

        Raises:
            EstimationError: No direction of the load is determined.
        """
        if solution.known.shape[1] == 0:
            raise EstimationError(
                'the recordings tell nothing of the load', where='payload',
                fix='Move more joints, in the recording without the load as well',
            )

    def theta(self, index: int, solution: _Solution, step: np.ndarray) -> np.ndarray:
        """All parameters of the arm as one recording sees them, shape ``(p,)``."""
        problem = self.problems[index]
        theta = np.where(problem.free, 0.0, problem.parameters.values)
        theta[problem.base.independent] += solution.arm
        if index == 0:
            theta[problem.parameters.body_slice(self.body)] += self.scale @ step
        return theta

    def correlation(self, solution: _Solution) -> np.ndarray:
        """Factor on the noise of each recording and joint, shape ``(recordings, n)``."""
        factors = []
        for index, problem in enumerate(self.problems):
            residual = problem.residuals(self.theta(index, solution, solution.step))
            rows = effective_rows(residual, problem.usable)
            factors.append(np.sqrt(np.maximum(problem.counts, 1) / rows))
        return np.array(factors)

    def estimate(
        self, solution: _Solution, information: _Solution, step: np.ndarray, status: Status
    ) -> PayloadEstimate:
        """The estimate of a load."""
        loaded = self.problems[0]
        torque = np.linalg.norm(np.where(loaded.usable, loaded.torque, 0.0))
        errors = [
            float(np.linalg.norm(loaded.residuals(self.theta(0, solution, load))) / torque)
            for load in (np.zeros(10), step)
        ]
        known = information.rows @ information.known
        covariance = np.linalg.inv(known.T @ known)
        columns = self.scale @ information.known
        unknown = scipy.linalg.null_space(information.known.T)
        return PayloadEstimate(
            body=self.body,
            status=status,
            inertial=self.scale @ step if status.found_values else np.zeros(10),
            unconstrained=self.scale @ information.step,
            covariance=columns @ covariance @ columns.T,
            undetermined=self.scale @ unknown,
            error_without=errors[0],
            error_with=errors[1],
            arm=self.theta(0, solution, np.zeros(10)),
        )


def _eliminated(rows: np.ndarray, target: np.ndarray) -> _Solution:
    """Take the arm's columns out of all rows and solve for what is left."""
    arm, load = rows[:, :-10], rows[:, -10:]
    size = np.linalg.norm(arm, axis=0)
    size[size == 0.0] = 1.0
    basis, triangle, order = scipy.linalg.qr(arm / size, mode='economic', pivoting=True)
    pivots = np.abs(np.diag(triangle))
    rank = int(np.sum(pivots > _ARM_RANK * pivots[0]))
    basis = basis[:, :rank]
    rest = np.column_stack([load, target])
    rest = rest - basis @ (basis.T @ rest)
    reduced = scipy.linalg.qr(rest, mode='r')[0][:10]
    left, values, directions = svd(reduced[:, :10])
    largest = np.linalg.norm(load)
    count = int(np.sum(values > _LOAD_RANK * largest))
    step = directions[:count].T @ ((left[:, :count].T @ reduced[:, 10]) / values[:count])
    solved = scipy.linalg.solve_triangular(
        triangle[:rank, :rank], basis.T @ (target - load @ step)
    )
    own = np.zeros(arm.shape[1])
    own[order[:rank]] = solved
    return _Solution(reduced[:, :10], reduced[:, 10], step, directions[:count].T, own / size)


def _scale(reference: np.ndarray) -> np.ndarray:
    factor = np.linalg.cholesky(log_det_divergence(reference, reference)[2])
    return np.asarray(scipy.linalg.solve_triangular(factor, np.eye(10), lower=True, trans='T'))


def _nearest_body(solution: _Solution, reference: np.ndarray) -> tuple[np.ndarray, Status]:
    """The real body nearest to the solution in the metric of its information."""
    whiten = np.linalg.inv(np.linalg.cholesky(pseudo_inertia(reference)))
    scale = _scale(reference)
    slopes = whiten @ np.einsum('ki,kab->iab', scale, PSEUDO_INERTIA_BASIS) @ whiten.T
    real = FeasibleSet(
        names=('load',), constant=-_MARGIN * np.eye(4)[None], slopes=slopes[None],
        matrix=np.zeros((0, 10)), bound=np.zeros(0), labels=(), steps=np.array([[0, 10]]))
    left, weights, directions = svd(solution.rows)
    told = weights > 0.0
    weights, directions = weights[told], directions[told]
    target = left[:, told].T @ solution.target
    free = directions.T @ (weights * target / (weights**2 + _RIDGE))
    if real.contains(free):
        return free, Status.CONVERGED
    problem = ConstrainedLeastSquares(
        weights, directions, target, np.full(10, _RIDGE), np.zeros(10), real)
    # From a load like the last link itself.
    step, status, _ = problem.minimise(
        np.linalg.solve(scale, reference), barrier=0.0, accuracy=_ACCURACY, max_iterations=_MOST)
    return step, status
