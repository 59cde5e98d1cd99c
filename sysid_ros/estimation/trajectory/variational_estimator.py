"""The estimator by shooting with a variational integrator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sysid_ros.estimation.trajectory.shooting import Integrator
from sysid_ros.estimation.trajectory.shooting_estimator import ShootingEstimator
from sysid_ros.mechanics.integrators.variational.integrator import Rule


@dataclass(frozen=True)
class VariationalEstimator(ShootingEstimator):
    """Shooting by a variational integrator, whose energy does not drift whatever the step.

    Args:
        prior_strength, estimate_noise: As for all.
        starts, horizon, max_iterations, tolerance: As for :class:`ShootingEstimator`.
        substeps: Steps of the integrator from node to node; since errors are of second order,
            more than Runge-Kutta needs.
        rule: How the Lagrangian of a step is integrated.

    Raises:
        ConfigurationError: A setting is out of range.
    """

    substeps: int | None = 4
    rule: Rule = 'midpoint'

    name: ClassVar[str] = 'variational'
    simulates_actuators: ClassVar[bool] = False

    @property
    def _integrator(self) -> Integrator:
        return self.rule
