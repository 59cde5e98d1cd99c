"""The estimator by shooting: segments are simulated until parameters and starts fit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from sysid_ros.dynamics.variational.integrator import Rule
from sysid_ros.estimation.estimate import Status
from sysid_ros.estimation.trajectory.least_squares import Progress, TrajectoryLeastSquares
from sysid_ros.estimation.trajectory.problem import TrajectoryProblem
from sysid_ros.estimation.trajectory.shooting import Integrator, Shooting
from sysid_ros.estimation.trajectory.solution import TrajectorySolution

# A first pass over pieces so short in [s] that no guess is too wrong, and its accuracy.
_ROUGH, _ROUGHLY = 0.3, 1e-3


@dataclass(frozen=True)
class SimulatedLeastSquares(TrajectoryLeastSquares):
    """Least squares for the starts of segments and the parameters, motion being simulated.

    Args:
        prior_strength: As for all.
        estimate_noise: As for all.
        starts: Whether starts are ``'estimated'`` or taken as ``'recorded'``.
        substeps: Steps of the integration from node to node.
        horizon: Longest piece to simulate in [s]; None for whole segments.
        max_iterations: Most simulations with derivatives.
        tolerance: Relative decrease of the cost that ends it.

    Raises:
        ConfigurationError: A setting is out of range.
    """

    starts: Literal['estimated', 'recorded'] = 'estimated'
    substeps: int = 1
    horizon: float | None = None
    max_iterations: int = 100
    tolerance: float = 1e-8

    name: ClassVar[str] = 'shooting'

    def __post_init__(self) -> None:
        super().__post_init__()
        self._solver()

    def at(
        self, problem: TrajectoryProblem, motion: TrajectorySolution | None
    ) -> TrajectorySolution:
        """What is known with the starts as they are; see :class:`TrajectoryLeastSquares`."""
        if motion is None:
            return self._rough().here(problem)
        return self._solver().here(self._from(problem, motion))

    def search(
        self, problem: TrajectoryProblem, start: TrajectorySolution, progress: Progress | None
    ) -> TrajectorySolution:
        """The best starts and free parameters; see :class:`TrajectoryLeastSquares`."""
        if not len(problem.free) and self.starts == 'recorded':
            return replace(self.at(problem, start), status=Status.CONVERGED)
        if start.iterations:
            return self._solver().solve(self._from(problem, start), progress)
        near = self._rough().solve(problem, progress)
        there = replace(problem, parameters=problem.parameters.with_values(near.values))
        found = self._solver().solve(there, progress)
        return replace(found, iterations=(*near.iterations, *found.iterations))

    def _solver(self) -> Shooting:
        return Shooting(
            self.starts, self.substeps, self.horizon, self.max_iterations, self.tolerance,
            self._integrator)

    def _rough(self) -> Shooting:
        horizon = _ROUGH if self.horizon is None else min(_ROUGH, self.horizon)
        return Shooting(
            substeps=self.substeps, horizon=horizon, max_iterations=self.max_iterations,
            tolerance=max(_ROUGHLY, self.tolerance), integrator=self._integrator)

    @property
    def _integrator(self) -> Integrator:
        return 'runge_kutta'

    def _from(self, problem: TrajectoryProblem, motion: TrajectorySolution) -> TrajectoryProblem:
        """The problem with the starts of a motion, unless recorded ones are to be taken."""
        if self.starts == 'recorded':
            return problem
        return replace(problem, segments=tuple(
            replace(segment, start=np.array([q[0], v[0]]))
            for segment, q, v in zip(
                problem.segments, motion.positions, motion.velocities, strict=True)))


@dataclass(frozen=True)
class VariationalLeastSquares(SimulatedLeastSquares):
    """The same by a variational integrator, whose energy does not drift whatever the step.

    Args:
        prior_strength: As for all.
        estimate_noise: As for all.
        starts: As for :class:`SimulatedLeastSquares`, with the next four.
        substeps: As there; since errors are of second order, more than Runge-Kutta needs.
        horizon: As there.
        max_iterations: As there.
        tolerance: As there.
        rule: How the Lagrangian of a step is integrated.

    Raises:
        ConfigurationError: A setting is out of range.
    """

    substeps: int = 4
    rule: Rule = 'midpoint'

    name: ClassVar[str] = 'variational'

    @property
    def _integrator(self) -> Integrator:
        return self.rule
