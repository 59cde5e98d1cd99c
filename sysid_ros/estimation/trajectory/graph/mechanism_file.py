"""Planar mechanisms as files for people: points, bodies, angles, sliders and motors in YAML."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from sysid_ros.estimation.trajectory.graph.planar import PlanarMechanism
from sysid_ros.estimation.trajectory.graph.planar_assembly import Assembly
from sysid_ros.settings import StrictSettings, load_yaml, parse_settings, parse_yaml

_Vector = tuple[float, float]


class PointSettings(StrictSettings):
    """A point.

    Attributes:
        at: Where it is when the mechanism is assembled, in [m].
        fixed: Whether it belongs to the ground.
    """

    at: _Vector
    fixed: bool = False


class BodySettings(StrictSettings):
    """A rigid body, whose axes are along and across the way from its first point to its second.

    Attributes:
        points: Names of its points, two at least.
        mass: In [kg].
        center: Centre of mass in its axes in [m]; half-way to the second point if left out.
        inertia: Moment of inertia about the first point in [kg·m²]; that of a uniform rod if
            left out.
    """

    points: tuple[str, ...] = Field(min_length=2)
    mass: float = Field(ge=0)
    center: _Vector | None = None
    inertia: float | None = Field(default=None, ge=0)


class AngleSettings(StrictSettings):
    """An angle as a coordinate, with what acts along it.

    Attributes:
        of: Two points; it turns with the way from the first to the second.
        against: Two points from whose way it is measured; the horizontal if left out.
        viscous_friction: In [N·m·s/rad].
        coulomb_friction: In [N·m].
        coulomb_smoothing: Velocity within which dry friction reverses in [rad/s].
        stiffness: Of a spring in [N·m/rad].
        rest: Angle at which the spring rests in [rad].
        torque_offset: In [N·m].
        armature: Inertia of a rotor in [kg·m²].
    """

    of: tuple[str, str]
    against: tuple[str, str] | None = None
    viscous_friction: float | None = Field(default=None, ge=0)
    coulomb_friction: float | None = Field(default=None, ge=0)
    coulomb_smoothing: float = Field(default=0.05, gt=0)
    stiffness: float | None = None
    rest: float = 0.0
    torque_offset: float | None = None
    armature: float | None = Field(default=None, ge=0)


class SliderSettings(StrictSettings):
    """A point that slides along a line.

    Attributes:
        point: The point.
        line: Two points of the line, fixed or moving.
    """

    point: str
    line: tuple[str, str]


class MechanismSettings(StrictSettings):
    """A planar mechanism.

    Attributes:
        name: Name in reports and messages.
        gravity: In [m/s²].
        points: By their names.
        bodies: By their names.
        angles: By their names.
        sliders: By their names.
        torques: Angles that motors drive.
        independent: Coordinates that are to determine all others; chosen if left out.
    """

    name: str = 'mechanism'
    gravity: _Vector = (0.0, -9.80665)
    points: dict[str, PointSettings]
    bodies: dict[str, BodySettings]
    angles: dict[str, AngleSettings] = {}
    sliders: dict[str, SliderSettings] = {}
    torques: tuple[str, ...] = ()
    independent: tuple[str, ...] = ()

    def mechanism(self) -> PlanarMechanism:
        """The mechanism.

        Raises:
            ModelError: A name is unknown, points coincide, or nothing can move.
        """
        build = Assembly(self.name, self.gravity)
        for name, point in self.points.items():
            build.add_point(name, point.at, point.fixed)
        for name, body in self.bodies.items():
            build.add_body(name, body.points, body.mass, body.center, body.inertia)
        for name, slider in self.sliders.items():
            build.add_slider(name, slider.point, slider.line)
        for name, angle in self.angles.items():
            build.add_angle(name, angle.of, angle.against)
            for term, shape in _TERMS.items():
                value = getattr(angle, term)
                if value is not None:
                    build.add_force(name, term, value, getattr(angle, shape) if shape else 0.0)
        return build.mechanism(self.torques, self.independent)


# What may act along an angle, with the constant of its shape.
_TERMS = {
    'viscous_friction': None, 'coulomb_friction': 'coulomb_smoothing', 'stiffness': 'rest',
    'torque_offset': None, 'armature': None,
}


def read_mechanism(path: str | Path) -> PlanarMechanism:
    """Read a planar mechanism.

    Args:
        path: A YAML file of :class:`MechanismSettings`.

    Raises:
        ConfigurationError: The file cannot be read as such.
        ModelError: As for :meth:`MechanismSettings.mechanism`.
    """
    return parse_settings(MechanismSettings, load_yaml(path), str(path)).mechanism()


def parse_mechanism(text: str, where: str = 'mechanism') -> PlanarMechanism:
    """Read a planar mechanism from a text; see :func:`read_mechanism`."""
    return parse_settings(MechanismSettings, parse_yaml(text, where), where).mechanism()
