"""Inertias of MJCF bodies: as written, or from geoms as MuJoCo computes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from sysid_ros.robot.inertia import central_inertia, inertial_parameters, transform_inertial
from sysid_ros.robot.mjcf_values import Compiler, value_of, values_of

_WATER = 1000.0
#: Shapes whose inertia follows from their sizes.
SHAPES = ('sphere', 'capsule', 'cylinder', 'ellipsoid', 'box')
#: Shapes that carry no mass, whatever their density.
WEIGHTLESS = ('plane', 'hfield')


def written_inertial(attributes: Mapping[str, str], compiler: Compiler) -> np.ndarray:
    """Inertial parameters of an ``<inertial>`` in the body frame, shape ``(10,)``."""
    mass = value_of(attributes, 'mass', 0.0)
    com = np.array(values_of(attributes, 'pos', (0.0, 0.0, 0.0)))
    if 'fullinertia' in attributes:
        xx, yy, zz, xy, xz, yz = values_of(attributes, 'fullinertia', (0.0,) * 6)
        central = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    else:
        rotation = compiler.rotation(attributes)
        diagonal = values_of(attributes, 'diaginertia', (0.0, 0.0, 0.0))
        central = (rotation * diagonal) @ rotation.T
    return inertial_parameters(mass, com, central)


def geom_has_mass(attributes: Mapping[str, str], compiler: Compiler) -> bool:
    """Whether a geom counts for the inertia of its body."""
    first, last = compiler.groups
    return (
        first <= value_of(attributes, 'group', 0.0) <= last
        and attributes.get('type', 'sphere') not in WEIGHTLESS
        and value_of(attributes, 'mass', value_of(attributes, 'density', _WATER)) != 0.0
    )


def geom_is_simple(attributes: Mapping[str, str]) -> bool:
    """Whether the inertia of a geom follows from its sizes alone."""
    return (
        attributes.get('type', 'sphere') in SHAPES and 'mesh' not in attributes
        and attributes.get('shellinertia', 'false') != 'true'
    )


def inertial_of_geoms(
    geoms: Iterable[tuple[Mapping[str, str], np.ndarray]], compiler: Compiler
) -> np.ndarray:
    """Inertial parameters of solid geoms in the body frame, shape ``(10,)``.

    Args:
        geoms: Attributes of each, and the pose of the frame it is written in, ``(4, 4)``.
        compiler: What the numbers mean.
    """
    total = np.zeros(10)
    for attributes, frame in geoms:
        total += transform_inertial(*_geom_inertial(attributes, frame, compiler))
    return total


def _geom_inertial(
    attributes: Mapping[str, str], frame: np.ndarray, compiler: Compiler
) -> tuple[np.ndarray, np.ndarray]:
    """Parameters in the geom's own frame, and its pose in the body."""
    kind, sizes, pose = placed_geom(attributes, frame, compiler)
    volume, moments = _volume_and_moments(kind, sizes)
    mass = value_of(attributes, 'mass', value_of(attributes, 'density', _WATER) * volume)
    return inertial_parameters(mass, np.zeros(3), mass * np.diag(moments)), pose


def placed_geom(
    attributes: Mapping[str, str], frame: np.ndarray, compiler: Compiler
) -> tuple[str, tuple[float, ...], np.ndarray]:
    """Kind, half sizes in [m] and pose in the body, ``(4, 4)``, of a simple geom.

    Args:
        attributes: Its attributes.
        frame: Pose of the frame it is written in, shape ``(4, 4)``.
        compiler: What the numbers mean.
    """
    kind = attributes.get('type', 'sphere')
    sizes = values_of(attributes, 'size', (0.0, 0.0, 0.0))
    local = dict(attributes)
    if 'fromto' in attributes:
        ends = np.array(values_of(attributes, 'fromto', (0.0,) * 6)).reshape(2, 3)
        half = 0.5 * float(np.linalg.norm(ends[0] - ends[1]))
        thick = sizes[0]
        sizes = (thick, thick, half) if kind in ('ellipsoid', 'box') else (thick, half, 0.0)
        local = {
            'pos': ' '.join(repr(float(x)) for x in ends.mean(axis=0)),
            'zaxis': ' '.join(repr(float(x)) for x in ends[0] - ends[1]),
        }
    return kind, sizes, frame @ compiler.pose(local)


def _volume_and_moments(kind: str, sizes: tuple[float, ...]) -> tuple[float, np.ndarray]:
    """Volume in [m³], and principal moments per unit of mass in [m²], of a solid shape."""
    a, b, c = sizes
    if kind == 'box':
        return 8.0 * a * b * c, np.array([b * b + c * c, a * a + c * c, a * a + b * b]) / 3.0
    if kind in ('sphere', 'ellipsoid'):
        a, b, c = (a, a, a) if kind == 'sphere' else (a, b, c)
        moments = np.array([b * b + c * c, a * a + c * c, a * a + b * b]) / 5.0
        return 4.0 / 3.0 * np.pi * a * b * c, moments
    height = 2.0 * b
    along = 0.5 * a * a
    across = (3.0 * a * a + height * height) / 12.0
    if kind == 'cylinder':
        return np.pi * a * a * height, np.array([across, across, along])
    # A capsule: a cylinder, and a ball that is cut in two and moved to its ends.
    ball = 4.0 * a / (4.0 * a + 3.0 * height)
    round_along = 0.4 * a * a
    round_across = round_along + height * (3.0 * a + 2.0 * height) / 8.0
    across = (1.0 - ball) * across + ball * round_across
    along = (1.0 - ball) * along + ball * round_along
    return np.pi * a * a * (height + 4.0 / 3.0 * a), np.array([across, across, along])


def bounded(phi: np.ndarray, compiler: Compiler) -> np.ndarray:
    """Inertial parameters after the bounds of the compiler, shape ``(10,)``.

    Masses and principal moments are raised to their bounds; principal moments that belong
    to no real body become their mean where the compiler balances them.

    Args:
        phi: Parameters as written, shape ``(10,)``.
        compiler: The bounds.
    """
    mass, moment = compiler.bound_mass, compiler.bound_inertia
    if phi[0] == 0.0 or not (mass > 0.0 or moment > 0.0 or compiler.balance):
        return phi
    own, com, central = central_inertia(phi)
    values, axes = np.linalg.eigh(central)
    values = np.maximum(values, moment)
    if compiler.balance and values[0] + values[1] < values[2]:
        values = np.full(3, values.mean())
    return inertial_parameters(max(own, mass), com, (axes * values) @ axes.T)
