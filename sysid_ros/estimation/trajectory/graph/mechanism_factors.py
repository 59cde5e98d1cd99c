r"""Factors that a mechanism defines: its constraints and their derivatives, and its dynamics.

With the constraints :math:`\Phi(q)` and their derivatives :math:`J`, velocities fulfil
:math:`J v = 0` and accelerations :math:`\dot J v + J a = 0`; derivatives of these hold for
dependent and independent coordinates alike, since the latter are tied to the former by a
:class:`~sysid_ros.estimation.trajectory.graph.factors.Selection`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sysid_ros.errors import EstimationError
from sysid_ros.estimation.trajectory.graph.factors import Declared, NodeFactor, Sigma
from sysid_ros.estimation.trajectory.graph.mechanism import Mechanism
from sysid_ros.estimation.trajectory.graph.variables import Point

_At = int | slice | Sequence[int] | None


@dataclass(frozen=True, eq=False)
class _Constraints(NodeFactor):
    sigma: Sigma = 0.0
    at: _At = None

    def width(self, mechanism: Mechanism) -> int:
        """How many constraints there are."""
        return len(mechanism.constraints)


@dataclass(frozen=True, eq=False)
class PositionConstraints(_Constraints):
    """Positions fulfil all constraints."""

    @property
    def name(self) -> str:
        """Name in reports and messages."""
        return 'position constraints'

    @property
    def variables(self) -> tuple[str, ...]:
        """Positions."""
        return ('q',)

    def fill(self, point: Point, data: np.ndarray | None, rows: np.ndarray) -> None:
        """Write the constraints; see :class:`NodeFactor`."""
        rows[:, :, point.layout.places['q']] = point.constrained.jacobian
        rows[:, :, -1] = point.constrained.gap


@dataclass(frozen=True, eq=False)
class VelocityConstraints(_Constraints):
    """Velocities keep all constraints fulfilled."""

    @property
    def name(self) -> str:
        """Name in reports and messages."""
        return 'velocity constraints'

    @property
    def variables(self) -> tuple[str, ...]:
        """Positions and velocities."""
        return ('q', 'v')

    def fill(self, point: Point, data: np.ndarray | None, rows: np.ndarray) -> None:
        """Write the rates of the constraints; see :class:`NodeFactor`."""
        here, places = point.constrained, point.layout.places
        rows[:, :, places['q']] = here.rate
        rows[:, :, places['v']] = here.jacobian
        rows[:, :, -1] = (here.jacobian @ point['v'][:, :, None])[:, :, 0]


@dataclass(frozen=True, eq=False)
class AccelerationConstraints(_Constraints):
    """Accelerations keep all constraints fulfilled."""

    @property
    def name(self) -> str:
        """Name in reports and messages."""
        return 'acceleration constraints'

    @property
    def variables(self) -> tuple[str, ...]:
        """Positions, velocities and accelerations."""
        return ('q', 'v', 'a')

    def fill(self, point: Point, data: np.ndarray | None, rows: np.ndarray) -> None:
        """Write the second derivatives of the constraints; see :class:`NodeFactor`."""
        here, places = point.constrained, point.layout.places
        rows[:, :, places['q']] = here.slope
        rows[:, :, places['v']] = 2.0 * here.rate
        rows[:, :, places['a']] = here.jacobian
        rows[:, :, -1] = here.bias + (here.jacobian @ point['a'][:, :, None])[:, :, 0]


def known_torques(declared: Declared, torque: np.ndarray | float, where: str) -> np.ndarray:
    """Known torques at every step, shape ``(N, u)``.

    Args:
        declared: What the factor is declared for.
        torque: In [N·m] or [N], one number, shape ``(u,)`` or ``(N, u)``.
        where: Name of the factor.

    Raises:
        EstimationError: They do not fit the mechanism or the steps, or are not finite.
    """
    found, shape = np.asarray(torque, dtype=float), (
        declared.steps, len(declared.mechanism.torques))
    if found.ndim and found.shape not in (shape, shape[1:]):
        raise EstimationError(
            'torques do not fit the mechanism', where=where, found=found.shape,
            allowed=f'{shape} or {shape[1:]}')
    if not np.isfinite(found).all():
        raise EstimationError('a torque is not finite', where=where)
    return np.broadcast_to(found, shape).copy()


@dataclass(frozen=True, eq=False)
class Dynamics(NodeFactor):
    r"""Accelerations are those that forces cause: forward dynamics, or inverse dynamics.

    The residual is :math:`a - \ddot q(q, v, \tau, \theta)`. Torques are known for forward
    dynamics and a variable of the graph for inverse dynamics.

    Attributes:
        sigma: Standard deviations of accelerations; see ``Factor``.
        at: See ``Factor``.
        torque: Known torques in [N·m], shape ``(u,)`` or ``(N, u)``; None where they are sought.
        independent: Whether it is said for the independent coordinates alone.
    """

    sigma: Sigma
    at: _At = None
    torque: np.ndarray | float | None = 0.0
    independent: bool = False

    tells_parameters: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """Name in reports and messages."""
        return 'inverse dynamics' if self.torque is None else 'forward dynamics'

    @property
    def variables(self) -> tuple[str, ...]:
        """The motion and, for inverse dynamics, torques."""
        motion = ('q', 'v', 'ddz' if self.independent else 'a')
        return (*motion, 'torque') if self.torque is None else motion

    def width(self, mechanism: Mechanism) -> int:
        """How many accelerations it is said for."""
        return len(mechanism.independent) if self.independent else len(mechanism.coordinates)

    def data(self, declared: Declared) -> np.ndarray | None:
        """Known torques at every step, shape ``(N, u)``; see :func:`known_torques`."""
        if self.torque is None:
            return None
        return known_torques(declared, self.torque, self.name)

    def fill(self, point: Point, data: np.ndarray | None, rows: np.ndarray) -> None:
        """Write what accelerations are off by; see :class:`NodeFactor`."""
        n, places = len(point.mechanism.coordinates), point.layout.places
        found = point.response(point['torque'] if data is None else data)
        chosen = point.mechanism.independent if self.independent else slice(0, n)
        variable = 'ddz' if self.independent else 'a'
        rows[:, :, places['q']] = -found.by_position[:, chosen]
        rows[:, :, places['v']] = -found.by_velocity[:, chosen]
        rows[:, :, places[variable]] = np.eye(rows.shape[1])
        if data is None:
            rows[:, :, places['torque']] = -found.by_torque[:, chosen]
        if len(point.values):
            rows[:, :, point.layout.size:-1] = -found.by_parameters[:, chosen]
        rows[:, :, -1] = point[variable] - found.value[:, chosen]
