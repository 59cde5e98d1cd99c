"""A planar mechanism put together from points, bodies, sliders, angles and forces."""

from __future__ import annotations

import numpy as np

from sysid_ros.errors import ModelError, did_you_mean
from sysid_ros.estimation.trajectory.graph import planar_arrays
from sysid_ros.estimation.trajectory.graph.planar import PlanarMechanism
from sysid_ros.estimation.trajectory.graph.planar_arrays import ConstraintArrays, ForceArrays
from sysid_ros.mechanics.joint_terms.armature import Armature
from sysid_ros.mechanics.joint_terms.coulomb import CoulombFriction
from sysid_ros.mechanics.joint_terms.dispatch import law_arrays
from sysid_ros.mechanics.joint_terms.law import Law
from sysid_ros.mechanics.joint_terms.offset import TorqueOffset
from sysid_ros.mechanics.joint_terms.stiffness import Stiffness
from sysid_ros.mechanics.joint_terms.viscous import ViscousFriction
from sysid_ros.robot.description.planar.mechanism_settings import BodySettings
from sysid_ros.robot.parameters import Parameter, ParameterSet

_Vector = tuple[float, float]

# The first two points are of the ground, along the horizontal that absolute angles start from.
_HORIZON = ((0.0, 0.0), (1.0, 0.0))
# Joint terms that may act along an angle.
_FORCES = {
    term.fields[0]: term
    for term in (ViscousFriction, CoulombFriction, Stiffness, TorqueOffset, Armature)}


class Assembly:
    """What a mechanism is made of, while it is put together.

    Args:
        name: Name in reports and messages.
        gravity: In [m/s²].
    """

    def __init__(self, name: str, gravity: _Vector) -> None:
        self.name = name
        self._gravity = gravity
        self._coordinates: list[str] = []
        self._assembly: list[float] = []
        self._points: dict[str, int] = {}
        self._at = [np.array(point) for point in _HORIZON]
        self._place = [(-1, -1)] * len(_HORIZON)
        self._constraints: list[tuple[str, int, tuple[int, ...], int, float, float]] = []
        self._bodies: list[tuple[int, int, float]] = []
        self._rods: dict[tuple[str, str], tuple[int, int]] = {}
        self._forces: list[tuple[Law, int, float]] = []
        self._parameters: list[Parameter] = []
        self._force_parameters: list[Parameter] = []

    def add_point(self, name: str, at: _Vector, fixed: bool) -> None:
        """Add a point at a position in [m]."""
        self._points[name] = len(self._at)
        self._at.append(np.array(at))
        if fixed:
            self._place.append((-1, -1))
            return
        self._place.append((len(self._coordinates), len(self._coordinates) + 1))
        self._coordinates += [f'{name}.x', f'{name}.y']
        self._assembly += list(at)

    def add_body(self, name: str, body: BodySettings) -> None:
        """Add a rigid body.

        Raises:
            ModelError: A point is unknown, or its first two coincide.
        """
        points = body.points
        first, second, *others = [self._point(point, f'body {name}') for point in points]
        length, along, across = self._way(first, second, f'body {name}')
        self._bodies.append((first, second, length))
        middle = body.center_at(length)
        self._parameters += [
            Parameter(f'{name}.mass', 'kg', body.mass, lower=0.0),
            Parameter(f'{name}.first_moment_x', 'kg·m', body.mass * middle[0]),
            Parameter(f'{name}.first_moment_y', 'kg·m', body.mass * middle[1]),
            Parameter(f'{name}.inertia', 'kg·m²', body.inertia_at(length), lower=0.0)]
        if not others:
            self._rods[points[0], points[1]] = len(self._bodies) - 1, len(self._constraints)
        self._constrain(
            f'length of {name}', planar_arrays.DISTANCE, (first, second, first, second), length)
        for label, point in zip(points[2:], others, strict=True):
            way = (self._at[point] - self._at[first]) / length
            for axis, kind in (('x', planar_arrays.RIGID_X), ('y', planar_arrays.RIGID_Y)):
                self._constrain(
                    f'{axis} of {label} on {name}', kind,
                    (first, second, first, point), float(way @ along), float(way @ across))

    def add_slider(self, name: str, point: str, line: tuple[str, str]) -> None:
        """Keep a point on the line through two others.

        Raises:
            ModelError: A point is unknown, or those of the line coincide.
        """
        where = f'slider {name}'
        first, second = (self._point(each, where) for each in line)
        length = self._way(first, second, where)[0]
        self._constrain(
            name, planar_arrays.LINE, (first, second, first, self._point(point, where)),
            1.0 / length)

    def add_angle(self, name: str, of: tuple[str, str], against: tuple[str, str] | None) -> None:
        r"""Add the angle of one way of two points against another, or the horizontal.

        One equation, :math:`d_1 \times d_2 \cos\vartheta - d_1 \cdot d_2 \sin\vartheta = 0`,
        holds it everywhere; the other angle that fulfils it is half a turn away.

        Raises:
            ModelError: A point is unknown, or two coincide.
        """
        where = f'angle {name}'
        a, b = (0, 1) if against is None else (
            self._point(each, where) for each in against)
        c, d = (self._point(each, where) for each in of)
        (one, along, across), (other, way, _) = self._way(a, b, where), self._way(c, d, where)
        self._constrain(
            name, planar_arrays.ANGLE, (a, b, c, d), 1.0 / (one * other),
            angle=len(self._coordinates))
        for pair in (of, against or of):
            for rod in (pair, pair[::-1]):
                self._rods.pop(rod, None)
        self._coordinates.append(name)
        self._assembly.append(float(np.arctan2(way @ across, way @ along)))

    def add_force(self, angle: str, kind: str, value: float, shape: float) -> None:
        """Add friction, a spring, an offset or a rotor along an angle.

        Args:
            angle: Its name.
            kind: As in ``AngleSettings``.
            value: Of its parameter.
            shape: Velocity of dry friction, or rest of a spring.
        """
        term = _FORCES[kind]
        # A spring of negative stiffness may stand for weight that is not modelled.
        lower = -np.inf if term is Stiffness else term.lower
        self._forces.append((term.law, self._coordinates.index(angle), shape))
        self._force_parameters.append(
            Parameter(f'{angle}.{kind}', term.rotational_unit, value, lower=lower))

    def mechanism(self, torques: tuple[str, ...], independent: tuple[str, ...]) -> PlanarMechanism:
        """The mechanism that was put together.

        Args:
            torques: Angles that motors drive.
            independent: Coordinates that determine all others; chosen where empty.

        Raises:
            ModelError: A name is unknown, nothing can move, or as for ``PlanarMechanism``.
        """
        for name in (*torques, *independent):
            if name not in self._coordinates:
                raise ModelError(
                    'there is no such coordinate', where=self.name, found=repr(name),
                    allowed=', '.join(self._coordinates),
                    fix=did_you_mean(name, self._coordinates))
        if not self._coordinates or not self._bodies:
            raise ModelError('the mechanism has nothing that moves', where=self.name)
        return PlanarMechanism(
            self.name, tuple(self._coordinates), tuple(row[0] for row in self._constraints),
            torques, ParameterSet.of([*self._parameters, *self._force_parameters]),
            np.array(self._assembly), self._loops(), self._acting(torques),
            {name: (self._place[k], (float(self._at[k][0]), float(self._at[k][1])))
             for name, k in self._points.items()},
            self._rods, independent)

    def _loops(self) -> ConstraintArrays:
        """The constraints, each with the coordinates it depends on."""
        m = len(self._constraints)
        count, origin = np.zeros(m, dtype=np.int64), np.zeros((m, 5))
        slot, part = np.zeros((2, m, 9), dtype=np.int64)
        sign = np.zeros((m, 9))
        for row, (_, _, points, angle, _, _) in enumerate(self._constraints):
            # The angle is the fifth entry, the differences of points are the first four.
            found = [(angle, 4, 1.0)] if angle >= 0 else []
            for k, point in enumerate(points):
                for axis, place in enumerate(self._place[point]):
                    own, way = 2 * (k // 2) + axis, 1.0 if k % 2 else -1.0
                    if place >= 0:
                        found.append((place, own, way))
                    else:
                        origin[row, own] += way * self._at[point][axis]
            count[row] = len(found)
            for k, entry in enumerate(found):
                slot[row, k], part[row, k], sign[row, k] = entry
        return ConstraintArrays(
            _integers([row[1] for row in self._constraints]),
            np.array([row[4:] for row in self._constraints], dtype=float), count, slot, part,
            sign, origin)

    def _acting(self, torques: tuple[str, ...]) -> ForceArrays:
        return ForceArrays(
            _integers([
                self._place[first] + self._place[second] for first, second, _ in self._bodies]),
            np.array([length for _, _, length in self._bodies]),
            np.array(self._gravity, dtype=float),
            _integers([self._coordinates.index(name) for name in torques]),
            _integers([along for _, along, _ in self._forces]),
            law_arrays([(law, (constant,)) for law, _, constant in self._forces]))

    def _constrain(
        self, name: str, kind: int, points: tuple[int, ...], p: float, r: float = 0.0,
        angle: int = -1,
    ) -> None:
        self._constraints.append((name, kind, points, angle, p, r))

    def _point(self, name: str, where: str) -> int:
        if name not in self._points:
            raise ModelError(
                'there is no such point', where=where, found=repr(name),
                allowed=', '.join(self._points),
                fix=did_you_mean(name, self._points))
        return self._points[name]

    def _way(self, first: int, second: int, where: str) -> tuple[float, np.ndarray, np.ndarray]:
        """Length of the way from a point to another, and the directions along and across it."""
        way = self._at[second] - self._at[first]
        length = float(np.hypot(*way))
        if not length > 0.0:
            raise ModelError(
                'two points are at the same place', where=where, found=way.tolist(),
                fix='Give them different positions')
        along = way / length
        return length, along, np.array([-along[1], along[0]])


def _integers(values: object) -> np.ndarray:
    return np.array(values, dtype=np.int64)
