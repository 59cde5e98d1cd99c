"""Sensors on the links of planar mechanisms that are not linear in variables, as factors.

An encoder reads an angle, a tachometer its rate and a torque sensor a torque: for these a
:class:`~sysid_ros.estimation.trajectory.graph.factors.Prior` does. A gyroscope, an accelerometer
and a load cell read what the points of a link say together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from sysid_ros.errors import ModelError, did_you_mean
from sysid_ros.estimation.trajectory.graph.factors import Declared, SensorFactor, Sigma
from sysid_ros.estimation.trajectory.graph.mechanism import Mechanism, Response
from sysid_ros.estimation.trajectory.graph.mechanism_factors import known_torques
from sysid_ros.estimation.trajectory.graph.planar import PlanarMechanism
from sysid_ros.estimation.trajectory.graph.variables import Point

_At = int | slice | Sequence[int] | None
# A quarter turn of row vectors.
_QUARTER = np.array([[0.0, 1.0], [-1.0, 0.0]])


class _Place(NamedTuple):
    """Where a point is: ``matrix @ q + offset``, shapes ``(2, n)`` and ``(2,)``."""

    matrix: np.ndarray
    offset: np.ndarray


def _place(mechanism: Mechanism, name: str, where: str) -> _Place:
    """Where a point is.

    Raises:
        ModelError: There is no such point, or the mechanism is not planar.
    """
    points = mechanism.points if isinstance(mechanism, PlanarMechanism) else {}
    if name not in points:
        raise ModelError(
            'there is no such point', where=where, found=repr(name), allowed=', '.join(points),
            fix=did_you_mean(name, points))
    place, at = points[name]
    matrix = np.zeros((2, len(mechanism.coordinates)))
    if place[0] < 0:
        return _Place(matrix, np.array(at))
    matrix[[0, 1], list(place)] = 1.0
    return _Place(matrix, np.zeros(2))


@dataclass(frozen=True, eq=False)
class _LinkSensor(SensorFactor):
    """A sensor on the link of two points, whose axes are along and across the way between them."""

    link: tuple[str, str]
    value: np.ndarray
    sigma: Sigma
    at: _At = None

    def _way(self, mechanism: Mechanism) -> tuple[np.ndarray, np.ndarray, float]:
        """The link as a linear function of coordinates, and one over its length."""
        first, second = (_place(mechanism, name, self.name) for name in self.link)
        matrix, offset = second.matrix - first.matrix, second.offset - first.offset
        length = float(np.linalg.norm(matrix @ mechanism.assembly + offset))
        if not length > 0.0:
            raise ModelError('the points of a link are one', where=self.name)
        return matrix, offset, 1.0 / length


@dataclass(frozen=True, eq=False)
class Gyroscope(_LinkSensor):
    """Rate of a link, in [rad/s].

    Attributes:
        link: Two of its points.
        value: Readings, NaN where they are missing, shape ``(N, 1)``.
        sigma: Standard deviation of its noise.
        at: See ``Factor``.
    """

    @property
    def name(self) -> str:
        """Name in reports and messages."""
        return f'gyroscope on {"-".join(self.link)}'

    @property
    def variables(self) -> tuple[str, ...]:
        """Positions and velocities."""
        return ('q', 'v')

    def width(self, mechanism: Mechanism) -> int:
        """One number."""
        return 1

    def fill(self, point: Point, data: np.ndarray | None, rows: np.ndarray) -> None:
        """Write what the rate is off by; see ``NodeFactor``."""
        assert data is not None
        matrix, offset, scale = self._way(point.mechanism)
        way = scale * (point['q'] @ matrix.T + offset)
        change = scale * (point['v'] @ matrix.T)
        # way x change, and its derivatives.
        rows[:, 0, point.layout.places['q']] = scale * (change @ _QUARTER.T) @ matrix
        rows[:, 0, point.layout.places['v']] = scale * (way @ _QUARTER) @ matrix
        rows[:, 0, -1] = way[:, 0] * change[:, 1] - way[:, 1] * change[:, 0] - data[:, 0]


@dataclass(frozen=True, eq=False)
class Accelerometer(_LinkSensor):
    """Acceleration of a point less gravity, in [m/s²], along a link and across it.

    Attributes:
        link: Two points of the link.
        value: Readings, NaN where they are missing, shape ``(N, 2)``.
        sigma: Standard deviation of its noise.
        at: See ``Factor``.
        point: Where it sits; at the second point of the link if left out.
    """

    point: str | None = None

    @property
    def name(self) -> str:
        """Name in reports and messages."""
        return f'accelerometer on {"-".join(self.link)}'

    @property
    def variables(self) -> tuple[str, ...]:
        """Positions and accelerations."""
        return ('q', 'a')

    def width(self, mechanism: Mechanism) -> int:
        """Two numbers."""
        return 2

    def fill(self, point: Point, data: np.ndarray | None, rows: np.ndarray) -> None:
        """Write what specific forces are off by; see ``NodeFactor``."""
        assert data is not None and isinstance(point.mechanism, PlanarMechanism)
        matrix, offset, scale = self._way(point.mechanism)
        seat = _place(point.mechanism, self.point or self.link[1], self.name).matrix
        way = scale * (point['q'] @ matrix.T + offset)
        felt = point['a'] @ seat.T - point.mechanism.forces.gravity
        places = point.layout.places
        for row, axis in enumerate((way, way @ _QUARTER)):
            turned = felt if row == 0 else felt @ _QUARTER.T
            rows[:, row, places['q']] = scale * turned @ matrix
            rows[:, row, places['a']] = axis @ seat
            rows[:, row, -1] = np.sum(axis * felt, axis=1) - data[:, row]


@dataclass(frozen=True, eq=False)
class LoadCell(_LinkSensor):
    """Force on a rod at the pin of its second point, in [N], along the rod and across it.

    It is what the rod's inertia and weight take at that end, less the force of its length
    constraint; what acts at its angle is not part of it, so that the rod has no motor.

    Attributes:
        link: The first and the second point of a body, in its order.
        value: Readings, NaN where they are missing, shape ``(N, 2)``.
        sigma: Standard deviation of its noise.
        at: See ``Factor``.
        torque: Known torques of the motors in [N·m], shape ``(N, u)``; None where the graph
            seeks them.
    """

    torque: np.ndarray | None = None

    tells_parameters: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """Name in reports and messages."""
        return f'load cell on {"-".join(self.link)}'

    @property
    def variables(self) -> tuple[str, ...]:
        """Positions and velocities and, where they are sought, torques."""
        return ('q', 'v', 'torque') if self.torque is None else ('q', 'v')

    def width(self, mechanism: Mechanism) -> int:
        """Two numbers."""
        return 2

    def data(self, declared: Declared) -> np.ndarray:
        """What was read and known torques, shape ``(N, 2 + u)``; see ``SensorFactor``.

        Raises:
            EstimationError: Readings or torques do not fit the mechanism or the steps.
        """
        read = super().data(declared)
        if self.torque is None:
            return read
        return np.hstack([read, known_torques(declared, self.torque, self.name)])

    def fill(self, point: Point, data: np.ndarray | None, rows: np.ndarray) -> None:
        """Write what forces are off by; see ``NodeFactor``."""
        assert data is not None and isinstance(point.mechanism, PlanarMechanism)
        mechanism, places = point.mechanism, point.layout.places
        torque = point['torque'] if self.torque is None else data[:, 2:]
        response = point.response(torque)
        force, by_q, by_others = self._force(point, response)
        matrix, offset, scale = self._way(mechanism)
        way = scale * (point['q'] @ matrix.T + offset)
        by_v, by_torque, by_values = by_others
        for row, axis in enumerate((way, way @ _QUARTER)):
            turned = force if row == 0 else force @ _QUARTER.T
            along = axis[:, None, :]
            rows[:, row, places['q']] = scale * turned @ matrix + (along @ by_q)[:, 0]
            rows[:, row, places['v']] = (along @ by_v)[:, 0]
            if self.torque is None:
                rows[:, row, places['torque']] = (along @ by_torque)[:, 0]
            if len(point.values):
                rows[:, row, point.layout.size:-1] = (along @ by_values)[:, 0]
            rows[:, row, -1] = np.sum(axis * force, axis=1) - data[:, row]

    def _force(
        self, point: Point, response: Response
    ) -> tuple[np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """The pin's force in the axes of the world, and its derivatives."""
        mechanism = point.mechanism
        assert isinstance(mechanism, PlanarMechanism)
        n, (body, row) = len(mechanism.coordinates), self._rod(mechanism)
        first, second = (_place(mechanism, name, self.name) for name in self.link)
        matrix, offset, scale = self._way(mechanism)
        way = scale * (point['q'] @ matrix.T + offset)
        # Second row of the rod's mass matrix and weight: linear in its parameters.
        columns = slice(4 * body, 4 * body + 4)
        _, hx, hy, inertia = point.free_parameters.values(point.values)[columns]
        turn = np.array([[0.0, -1.0], [1.0, 0.0]])
        near = (hx * scale - inertia * scale**2) * np.eye(2) - hy * scale * turn
        far, gravity = inertia * scale**2, mechanism.forces.gravity
        lever = near @ first.matrix + far * second.matrix
        slopes = [
            lever @ part[:, :n] + way[:, :, None] * part[:, None, n + row]
            for part in response[1:]]
        start, end = (
            response.value[:, :n] @ place.matrix.T - gravity for place in (first, second))
        force = start @ near.T + far * end + way * response.value[:, n + row, None]
        by_q = slopes[0] + scale * response.value[:, n + row, None, None] * matrix
        if len(point.values):
            own = np.stack([
                np.zeros_like(start), scale * start, -scale * start @ turn.T,
                scale**2 * (end - start)], axis=2)
            slopes[3] = slopes[3] + own @ point.free_parameters.matrix[columns]
        return force, by_q, (slopes[1], slopes[2], slopes[3])

    def _rod(self, mechanism: PlanarMechanism) -> tuple[int, int]:
        """Which body the rod is, and which constraint its length.

        Raises:
            ModelError: The points are not the first two of a body of two points that no motor
                or friction acts on, or constraints repeat each other.
        """
        if self.link not in mechanism.rods or mechanism.rank < len(mechanism.constraints):
            raise ModelError(
                'a load cell needs a rod of two points without an angle, in loops whose forces '
                'are determined', where=self.name, found='-'.join(self.link),
                allowed=', '.join('-'.join(rod) for rod in mechanism.rods))
        return mechanism.rods[self.link]
