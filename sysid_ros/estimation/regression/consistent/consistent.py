"""What the estimators share that keep every body physically consistent."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from sysid_ros.estimation.estimate import Estimate, Status
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.regression.assessment import assess
from sysid_ros.estimation.regression.consistent.feasible_set import FeasibleSet, feasible_set
from sysid_ros.estimation.regression.consistent.plausibility import Plausibility
from sysid_ros.estimation.regression.directions import DataDirections
from sysid_ros.estimation.regression.weighting import require_prior, weighted_directions

# What a solution may violate a constraint by, as a ratio, before it is not believed.
_VIOLATION = 1e-6
# How often the way from the prior to a point that is not allowed is halved.
_HALVINGS = 20


@dataclass(frozen=True)
class ConsistentLeastSquares(ABC):
    """Weighted least squares over what physics allows, with a prior.

    Args:
        prior_strength: Weight of the prior, in squared standard deviations of the torque
            noise; what it multiplies is each estimator's own.
        plausibility: Margins and ranges of masses.
        max_iterations: Most iterations of the solver.
    """

    prior_strength: float
    plausibility: Plausibility = field(default_factory=Plausibility)
    max_iterations: int = 200

    name: ClassVar[str]
    #: What the intervals of a fit that leans on bounds are, in words.
    near_bounds: ClassVar[str]

    def __post_init__(self) -> None:
        require_prior(self.prior_strength)
        # Arrays are made of it: those of an integer would cut what is added to them.
        object.__setattr__(self, 'prior_strength', float(self.prior_strength))

    def fit(self, problem: RegressionProblem) -> Estimate:
        """Fit the problem.

        Args:
            problem: Rows and prior.

        Returns:
            The estimate. Unless the solver converged and the solution satisfies every
            constraint when checked again, its values are the best that were found and are
            allowed. The bounds it leans on are among its notes.
        """
        directions, notes = weighted_directions(problem)
        allowed = feasible_set(problem, self.plausibility)
        z, status, iterations = self.checked(directions, allowed)
        return assess(
            problem, parameters_of(problem, z), directions.sigma, estimator=self.name,
            settings=self.describe(), status=status, iterations=iterations,
            curvature=(
                self.prior_curvature(directions, allowed, z) if status.ok else self.prior_strength
            ),
            notes=(
                *notes, *allowed.notes, *(self._active_bounds(allowed, z) if status.ok else ())),
        )

    def values(
        self, problem: RegressionProblem, sigma: np.ndarray | None = None
    ) -> tuple[np.ndarray, Status]:
        """Fitted values alone, without intervals.

        Args:
            problem: Rows and prior.
            sigma: Torque noise per joint in [N·m] or [N], shape ``(n,)``, where it is known;
                otherwise what weighted least squares finds.

        Returns:
            Values, shape ``(p,)``, and how the solver ended.
        """
        if sigma is None:
            directions, _ = weighted_directions(problem)
        else:
            problem.require_rows()
            directions = DataDirections(problem, sigma)
        z, status, _ = self.checked(directions, feasible_set(problem, self.plausibility))
        return parameters_of(problem, z), status

    def minimise_each(
        self, directions: DataDirections, allowed: FeasibleSet, strengths: Sequence[float]
    ) -> Iterator[tuple[np.ndarray, Status]]:
        """Constrained minima for several strengths of the prior.

        Args:
            directions: What the weighted rows tell.
            allowed: What physics allows.
            strengths: Falling strengths, in place of the estimator's own.

        Yields:
            Steps z, shape ``(f,)``, and how the solver ended, for each strength.
        """
        for strength in strengths:
            yield replace(self, prior_strength=strength).checked(directions, allowed)[:2]

    def checked(
        self, directions: DataDirections, allowed: FeasibleSet
    ) -> tuple[np.ndarray, Status, int]:
        """The constrained minimum, or the prior where the minimum violates a constraint."""
        z, status, iterations = self.minimise(directions, allowed)
        return *verified(allowed, z, status), iterations

    @abstractmethod
    def minimise(
        self, directions: DataDirections, allowed: FeasibleSet
    ) -> tuple[np.ndarray, Status, int]:
        """The allowed steps of the prior with the smallest objective.

        Args:
            directions: What the weighted rows tell.
            allowed: What physics allows.

        Returns:
            Steps z, the best that were found if the solver did not converge, shape ``(f,)``;
            how it ended; its iterations.
        """

    @abstractmethod
    def prior_curvature(
        self, directions: DataDirections, allowed: FeasibleSet, z: np.ndarray
    ) -> np.ndarray | float:
        """Hessian of the prior's part of the objective at the solution, shape ``(f, f)``.

        Args:
            directions: What the weighted rows tell.
            allowed: What physics allows.
            z: The solution, shape ``(f,)``.

        Returns:
            In the prior's steps, shape ``(f, f)``, or a multiple of the unit matrix.
        """

    def describe(self) -> dict[str, Any]:
        """Settings as plain values."""
        return {
            'prior_strength': self.prior_strength,
            'plausibility': self.plausibility.model_dump(),
            'max_iterations': self.max_iterations,
        }

    def _active_bounds(self, allowed: FeasibleSet, z: np.ndarray) -> tuple[str, ...]:
        """The bounds the solution leans on, and what that does to intervals, in words."""
        labels = dict.fromkeys(allowed.active(z).labels)
        return (
            f'The fit leans on these bounds: {", ".join(labels)}. {self.near_bounds}',
        ) if labels else ()


def verified(
    allowed: FeasibleSet, z: np.ndarray, status: Status
) -> tuple[np.ndarray, Status]:
    """Steps z, shape ``(f,)``, that are allowed indeed, and a status that says so.

    Returns:
        Both as they are; or the farthest allowed point found on the way from the prior, and a
        status that is not good.
    """
    if np.isfinite(z).all() and allowed.contains(z, _VIOLATION):
        return z, status
    ended = Status.INACCURATE if status.ok else status
    if np.isfinite(z).all() and ended.found_values:
        for part in 0.5 ** np.arange(1.0, _HALVINGS):
            if allowed.contains(part * z, _VIOLATION):
                return part * z, ended
    return np.zeros_like(z), ended


def parameters_of(problem: RegressionProblem, z: np.ndarray) -> np.ndarray:
    """Parameters ``(p,)`` at steps of the prior ``(f,)``, inside their bounds."""
    theta = problem.reference + problem.scale @ z
    # Rounding may leave a hair of a violation; a drive's inertia of -1e-12 is refused later.
    bounds = problem.parameters
    return np.where(problem.free, np.clip(theta, bounds.lower, bounds.upper), theta)
