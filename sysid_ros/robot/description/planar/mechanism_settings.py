"""Files of planar mechanisms: points, bodies, angles, sliders and motors in YAML."""

from __future__ import annotations

from pydantic import Field

from sysid_ros.settings import StrictSettings

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

    def center_at(self, length: float) -> _Vector:
        """Centre of mass in the axes of the body in [m].

        Args:
            length: Distance of its first two points in [m].
        """
        return (0.5 * length, 0.0) if self.center is None else self.center

    def inertia_at(self, length: float) -> float:
        """Moment of inertia about the first point in [kg·m²].

        Args:
            length: Distance of its first two points in [m].
        """
        return self.mass * length**2 / 3.0 if self.inertia is None else self.inertia


class AngleSettings(StrictSettings):
    """An angle as a coordinate, with what acts along it.

    Attributes:
        of: Two points; it turns with the way from the first to the second.
        against: Two points from whose way it is measured; the horizontal if left out.
        viscous_friction: In [N·m·s/rad].
        coulomb_friction: In [N·m].
        coulomb_smoothing: Velocity within which dry friction reverses in [rad/s], for factor
            graphs; a fit has it of `robot: terms:`.
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

    @property
    def forces(self) -> dict[str, float]:
        """What acts along it, by the names of the parameters."""
        return {name: value for name in FORCES if (value := getattr(self, name)) is not None}


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
        gravity: In [m/s²], in the plane of the mechanism, whose y axis stands upright.
        points: By their names.
        bodies: By their names.
        angles: By their names.
        sliders: By their names.
        torques: Angles that motors drive.
        independent: Coordinates that are to determine all others; chosen if left out. For a fit,
            those that are angles are the joints that are recorded, with those that motors drive.
    """

    name: str = 'mechanism'
    gravity: _Vector = (0.0, -9.80665)
    points: dict[str, PointSettings]
    bodies: dict[str, BodySettings]
    angles: dict[str, AngleSettings] = {}
    sliders: dict[str, SliderSettings] = {}
    torques: tuple[str, ...] = ()
    independent: tuple[str, ...] = ()


#: What may act along an angle, with the constant of its shape.
FORCES = {
    'viscous_friction': None, 'coulomb_friction': 'coulomb_smoothing', 'stiffness': 'rest',
    'torque_offset': None, 'armature': None,
}
