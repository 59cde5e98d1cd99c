"""Planar mechanisms in natural coordinates from their files."""

from __future__ import annotations

from pathlib import Path

from sysid_ros.estimation.trajectory.graph.planar import PlanarMechanism
from sysid_ros.estimation.trajectory.graph.planar_assembly import Assembly
from sysid_ros.robot.description.planar.mechanism_file import (
    mechanism_of_text,
    read_mechanism_file,
)
from sysid_ros.robot.description.planar.mechanism_settings import FORCES, MechanismSettings


def planar_mechanism(settings: MechanismSettings) -> PlanarMechanism:
    """Put a mechanism together in natural coordinates.

    Raises:
        ModelError: A name is unknown, points coincide, or nothing can move.
    """
    build = Assembly(settings.name, settings.gravity)
    for name, point in settings.points.items():
        build.add_point(name, point.at, point.fixed)
    for name, body in settings.bodies.items():
        build.add_body(name, body)
    for name, slider in settings.sliders.items():
        build.add_slider(name, slider.point, slider.line)
    for name, angle in settings.angles.items():
        build.add_angle(name, angle.of, angle.against)
        for term, value in angle.forces.items():
            shape = FORCES[term]
            build.add_force(name, term, value, getattr(angle, shape) if shape else 0.0)
    return build.mechanism(settings.torques, settings.independent)


def read_mechanism(path: str | Path) -> PlanarMechanism:
    """Read a planar mechanism, in the YAML of this package or of MBDS.

    Args:
        path: A YAML file of :class:`.MechanismSettings` or :class:`.MbdsSettings`.

    Raises:
        ConfigurationError: The file cannot be read as such.
        ModelError: As for :func:`planar_mechanism`.
    """
    return planar_mechanism(read_mechanism_file(Path(path)).settings)


def parse_mechanism(text: str, where: str = 'mechanism') -> PlanarMechanism:
    """Read a planar mechanism from a text; see :func:`read_mechanism`."""
    return planar_mechanism(mechanism_of_text(text, 'mechanism', where))
