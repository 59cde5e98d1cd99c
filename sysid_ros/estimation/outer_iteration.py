r"""Any regression estimator for models that are linear only given some of their values.

Three steps, each made of linear problems that the estimator itself or weighted least squares
solves:

1. *Shapes* of friction curves (Stribeck velocity, smoothing, ...) by variable projection.
2. *Loads and drive gains*, with the shapes held: the estimator is run again and again, with
   the load of friction at its last inertial parameters and linearised about its last gains,
   until predicted torques no longer change. For loads this is a fixed point: the solution of
   the estimating equations with the load as it is, which is consistent but does not use what
   the size of the load friction tells about the inertial parameters.
3. *Uncertainty*: the estimator is run once more on the problem linearised in everything at
   the result. Its values are not used; its covariance, and what it knows, are those of
   shapes, gains, amplitudes and inertial parameters together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.estimate import Estimate, Knowledge, Status
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.regression.consistent.consistent import ConsistentLeastSquares
from sysid_ros.estimation.regression.noise import residual_statistics
from sysid_ros.estimation.shape_search import find_shapes, held
from sysid_ros.mechanics.joint_terms.load_friction import LoadFriction
from sysid_ros.robot.parameters import ParameterSet

# Steps are halved, down to a shortest one, when changes do not fall below this part of the last:
# loads near zero, whose sign turns, make full steps go round in a circle.
_STALLED = 0.7
_SHORTEST = 1.0 / 16.0
# A shape this near to a bound, on a logarithmic scale, leans on it.
_AT_BOUND = 1e-2


class LinearEstimator(Protocol):
    """Estimator of problems that are linear in their parameters."""

    def fit(self, problem: RegressionProblem) -> Estimate:
        """Infer the parameters of a problem that is linear in them."""


@dataclass(frozen=True)
class OuterIteration:
    """An estimator for linear problems, made one for nonlinear joint terms, too.

    A problem without such terms goes to the estimator as it is.

    Args:
        estimator: The estimator.
        tolerance: Change of the predicted torque, relative to the torque, at which loads and
            gains are fixed_point.
        max_iterations: Most runs of the estimator for that.
        search_tolerance: Relative change of shapes and of the misfit at which the search for
            shapes ends.
    """

    estimator: LinearEstimator
    tolerance: float = 1e-6
    max_iterations: int = 50
    search_tolerance: float = 1e-6

    def __post_init__(self) -> None:
        if not (self.tolerance > 0.0 and self.max_iterations >= 1):
            raise ConfigurationError(
                'the iteration cannot end', where='outer iteration',
                found=f'tolerance {self.tolerance}, max_iterations {self.max_iterations}',
                allowed='tolerance above 0 and at least one iteration',
                fix='Leave both out for their defaults',
            )

    def values(
        self, problem: RegressionProblem, start: np.ndarray | None = None,
        sigma: np.ndarray | None = None,
    ) -> np.ndarray | None:
        """Fitted values alone, shape ``(p,)``, for many fits of parts of the same data.

        Args:
            problem: Rows and prior.
            start: As for :meth:`fit`.
            sigma: Torque noise per joint in [N·m] or [N], shape ``(n,)``, by which estimators
                with consistent bodies then weigh the joints.

        Returns:
            The values; None when the fit did not converge.
        """
        if problem.source is None:
            values, status = self._values(problem, sigma)
        else:
            fixed_point = self._fixed_point(
                problem, find_shapes(problem, start, self.search_tolerance), sigma)
            values, status = fixed_point.values, fixed_point.status
        return values if status.ok else None

    def _values(
        self, problem: RegressionProblem, sigma: np.ndarray | None
    ) -> tuple[np.ndarray, Status]:
        """Fitted values of a linear problem, and how the fit ended."""
        if isinstance(self.estimator, ConsistentLeastSquares):
            return self.estimator.values(problem, sigma)
        estimate = self.estimator.fit(problem)
        return estimate.parameters.values, estimate.status

    def fit(self, problem: RegressionProblem, start: np.ndarray | None = None) -> Estimate:
        """Fit the problem.

        Args:
            problem: Rows and prior.
            start: Parameter values to search shapes from, shape ``(p,)``; by default several
                values of every shape are tried.

        Returns:
            The estimate; ``ITERATION_LIMIT`` when loads or gains did not settle.
        """
        if problem.source is None:
            return self.estimator.fit(problem)
        found = find_shapes(problem, start, self.search_tolerance)
        fixed_point = self._fixed_point(problem, found)
        estimate = self.estimator.fit(fixed_point.linear)
        if fixed_point.status is not estimate.status:
            estimate = estimate.with_status(fixed_point.status)
        estimate = replace(
            estimate, iterations=fixed_point.iterations,
            notes=(*estimate.notes, *fixed_point.notes),
            parameters=estimate.parameters.with_values(fixed_point.values),
            settings={**estimate.settings, 'outer_tolerance': self.tolerance},
        )
        if estimate.status.ok:
            values = estimate.parameters.values
            estimate = self._with_joint_uncertainty(problem, estimate)
        else:
            found_values = estimate.status.found_values
            values = estimate.parameters.values if found_values else problem.reference
            deviation, knowledge = _undetermined(problem, estimate)
            estimate = replace(estimate, standard_deviation=deviation, knowledge=knowledge)
        return replace(
            estimate, parameters=problem.parameters.with_values(values),
            residuals=residual_statistics(problem, values),
        )

    def _fixed_point(
        self, problem: RegressionProblem, theta: np.ndarray, sigma: np.ndarray | None = None
    ) -> _FixedPoint:
        """Fixed-point iteration of loads and drive gains, until predicted torques do not change."""
        gains = tuple(name for name in problem.model.shapes if name.endswith('.drive_gain'))
        once = not gains and not any(
            isinstance(term, LoadFriction) for term in problem.model.terms)
        size = max(_size(problem, problem.torque), np.finfo(float).tiny)
        predicted, last, step = problem.predicted(theta), np.inf, 1.0
        for iteration in range(1, self.max_iterations + 1):
            linear = _linear(problem, theta, gains)
            values, status = self._values(linear, sigma)
            if once or not status.found_values:
                return _FixedPoint(linear, values, status, iteration)
            found = _updated(problem, theta, values, gains)
            if not status.ok:
                return _FixedPoint(linear, found, status, iteration)
            change = _size(problem, problem.predicted(found) - predicted)
            if change <= self.tolerance * size:
                # At the values themselves, so that load and inertial parameters agree.
                return _FixedPoint(linear, found, status, iteration)
            if change > _STALLED * last:
                step = max(0.5 * step, _SHORTEST)
            theta, last = theta + step * (found - theta), change
            predicted = problem.predicted(theta)
        note = (
            f'Loads or drive gains did not settle in {self.max_iterations} iterations; the last '
            f'changed predicted torques by {100.0 * last / size:.2g} %.'
        )
        return _FixedPoint(linear, theta, Status.ITERATION_LIMIT, self.max_iterations, (note,))

    def _with_joint_uncertainty(
        self, problem: RegressionProblem, estimate: Estimate
    ) -> Estimate:
        """Covariance and knowledge of shapes and all else together."""
        values = estimate.parameters.values
        point = linearised_at(problem, values)
        judged = self.estimator.fit(point)
        notes = (*estimate.notes, *_at_bounds(problem, values))
        if not judged.status.ok:
            note = (
                'The uncertainty of the friction shapes could not be told; intervals and '
                'standard deviations take them as known.'
            )
            return replace(estimate, notes=(*notes, note))
        gains = [name for name in problem.model.shapes if name.endswith('.drive_gain')]
        unsure = [
            name for name in gains
            if judged.knowledge[problem.parameters.index(name)] is Knowledge.COMBINATION
        ]
        if unsure:
            notes = (*notes, (
                f'The data does not tell the common scale of {", ".join(unsure)} and of masses '
                'and frictions: the prior decided on it. A gain held fixed, or the fixed '
                'inertial parameters of a known payload, would settle it.'
            ))
        deviation, knowledge = _shape_knowledge(problem, judged)
        return replace(
            estimate,
            standard_deviation=deviation,
            knowledge=knowledge,
            base_names=judged.base_names,
            base_values=point.base.values(np.where(point.free, values, 0.0)),
            base_covariance=judged.base_covariance,
            unidentified=judged.unidentified,
            between=judged.between,
            notes=notes,
        )


def frozen_at(problem: RegressionProblem, theta: np.ndarray) -> RegressionProblem:
    """Linear problem with shapes, loads and drive gains frozen at parameter values ``(p,)``."""
    return problem if problem.source is None else _linear(problem, theta, ())


@dataclass(frozen=True, eq=False)
class _FixedPoint:
    """Fixed point of loads and drive gains, or how the iteration failed.

    Attributes:
        linear: The linear problem that was solved last.
        values: Parameter values, shape ``(p,)``.
        status: How it ended.
        iterations: Linear problems solved.
        notes: Why it did not converge, in words.
    """

    linear: RegressionProblem
    values: np.ndarray
    status: Status
    iterations: int
    notes: tuple[str, ...] = ()


def _updated(
    problem: RegressionProblem, theta: np.ndarray, values: np.ndarray, gains: tuple[str, ...]
) -> np.ndarray:
    """Values after a run of the estimator; gains, which it gives as changes, in their range."""
    values = values.copy()
    bounds = problem.parameters
    for column in (bounds.index(name) for name in gains):
        # An estimator without bounds may step outside; a gain of zero divides torques.
        values[column] = np.clip(
            theta[column] + values[column], bounds.lower[column], bounds.upper[column])
    return values


def _size(problem: RegressionProblem, torque: np.ndarray) -> float:
    """Norm of the rows of a torque ``(T, n)`` that count."""
    return float(np.linalg.norm(np.where(problem.usable, torque, 0.0)))


def _linear(
    problem: RegressionProblem, theta: np.ndarray, gains: tuple[str, ...]
) -> RegressionProblem:
    """A problem at fixed shapes and loads, in small changes of the free drive gains."""
    point = held(problem, theta, problem.model.shapes)
    if not gains:
        return point
    parameters = problem.parameters
    regressor = point.regressor.copy()
    torque = point.regressor @ theta
    free = point.parameters.free.copy()
    for joint, name in enumerate(problem.model.robot.joint_names):
        if f'{name}.drive_gain' in gains:
            column = parameters.index(f'{name}.drive_gain')
            regressor[:, joint, column] = -torque[:, joint] / theta[column]
            free[column] = parameters.free[column]
    changed = replace(point.parameters, free=free)
    return replace(
        point, model=point.model.linearised(theta), regressor=regressor,
        parameters=_as_changes(changed, theta, gains),
    )


def linearised_at(problem: RegressionProblem, theta: np.ndarray) -> RegressionProblem:
    """The problem to first order in all parameters, in small changes of shapes and gains."""
    source = problem.source
    if source is None:
        return problem
    here = problem.at(theta)
    jacobian = source.jacobian(here.model, theta)
    shapes = problem.model.shapes
    shape = np.array([name in shapes for name in problem.parameters.names])
    # Steps of shapes are large beside their ranges, so that their bounds would act as data.
    parameters = _as_changes(problem.parameters, theta, shapes)
    parameters = replace(
        parameters, lower=np.where(shape, -np.inf, parameters.lower),
        upper=np.where(shape, np.inf, parameters.upper),
    )
    linear = np.where(shape, 0.0, theta)
    return replace(
        here, model=here.model.linearised(theta), regressor=jacobian, parameters=parameters,
        torque=here.torque + jacobian @ linear - here.regressor @ theta, source=None,
    )


def _as_changes(
    parameters: ParameterSet, theta: np.ndarray, names: tuple[str, ...]
) -> ParameterSet:
    """Parameters of which some stand for the change from the values, shape ``(p,)``.

    So written, shapes take no part in the torque at the values themselves.
    """
    shift = np.where([name in names for name in parameters.names], theta, 0.0)
    held_here = parameters.free | (shift == 0.0)
    return replace(
        parameters, prior=parameters.prior - shift, lower=parameters.lower - shift,
        upper=parameters.upper - shift,
        values=np.where(held_here, parameters.values - shift, 0.0),
    )


def _shape_knowledge(
    problem: RegressionProblem, judged: Estimate
) -> tuple[np.ndarray, tuple[Knowledge, ...]]:
    """Deviations and knowledge, where a shape less sure than its whole range is not told."""
    deviation, knowledge = judged.standard_deviation.copy(), list(judged.knowledge)
    parameters = problem.parameters
    for k in (parameters.index(name) for name in problem.model.shapes):
        vague = deviation[k] > parameters.upper[k] - parameters.lower[k]
        if knowledge[k] is Knowledge.DATA and vague:
            deviation[k], knowledge[k] = np.inf, Knowledge.PRIOR
    return deviation, tuple(knowledge)


def _undetermined(
    problem: RegressionProblem, estimate: Estimate
) -> tuple[np.ndarray, tuple[Knowledge, ...]]:
    """Deviations and knowledge of a fit that failed, which held the free shapes at the prior."""
    deviation, knowledge = estimate.standard_deviation.copy(), list(estimate.knowledge)
    for k in (problem.parameters.index(name) for name in problem.model.shapes):
        if problem.free[k]:
            deviation[k], knowledge[k] = np.inf, Knowledge.PRIOR
    return deviation, tuple(knowledge)


def _at_bounds(problem: RegressionProblem, values: np.ndarray) -> tuple[str, ...]:
    """Shapes at the end of their range, in words."""
    parameters = problem.parameters
    at_bounds = []
    for name in problem.model.shapes:
        k = parameters.index(name)
        ends = np.array([parameters.lower[k], parameters.upper[k]])
        near = np.abs(np.log(values[k] / ends)) < _AT_BOUND
        if parameters.free[k] and near.any():
            at_bounds.append(f'{name} at {values[k]:.3g}')
    return (
        f'At the end of their range, where the data hardly shows them: {", ".join(at_bounds)}.',
    ) if at_bounds else ()
