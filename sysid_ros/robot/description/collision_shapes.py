"""Collision shapes of a robot description, in the same words whatever its format."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pinocchio as pin
from lxml import etree

from sysid_ros.robot.description.mjcf.bodies import pose_of
from sysid_ros.robot.description.mjcf.source import CompiledMjcf
from sysid_ros.robot.description.numbers import number_of, vector_of
from sysid_ros.robot.description.urdf import RobotDescription

_PACKAGE = 'package://'
# MuJoCo's numbers of geoms that are bodies in space.
_MJCF_KINDS = {2: 'sphere', 3: 'capsule', 4: 'ellipsoid', 5: 'cylinder', 6: 'box', 7: 'mesh'}


@dataclass(frozen=True, eq=False)
class CollisionShape:
    """A shape that is fixed to a link.

    Attributes:
        link: Name of the link.
        kind: ``sphere``, ``capsule``, ``cylinder``, ``box``, ``ellipsoid`` or ``mesh``.
        size: Radius of a sphere; radius and half the length of a capsule, without its ends,
            or of a cylinder; half axes of a box or an ellipsoid; scale of a mesh; in [m].
        pose: Pose in the link's frame, shape ``(4, 4)``; capsules and cylinders along z.
        file: Of a mesh, where it was found; None where it was not.
    """

    link: str
    kind: str
    size: tuple[float, ...]
    pose: np.ndarray
    file: Path | None = None

    def __post_init__(self) -> None:
        self.pose.setflags(write=False)


def collision_shapes(description: RobotDescription) -> tuple[CollisionShape, ...]:
    """All collision shapes, link by link.

    Args:
        description: A description that was checked. Meshes are looked for, not read; those
            of an MJCF are not even looked for. Planes and height fields do not count.
    """
    if description.format == 'mjcf':
        return _of_mjcf(description.compiled, colliding=True)
    return _all_of_urdf(description, 'collision')


def drawn_shapes(description: RobotDescription) -> tuple[CollisionShape, ...]:
    """Shapes that say where links are: those for collisions, or where a link has none, visual ones.

    Args:
        description: As for :func:`collision_shapes`, which says what is left out.
    """
    colliding = collision_shapes(description)
    if description.format == 'mjcf':
        seen = _of_mjcf(description.compiled, colliding=False)
    else:
        seen = _all_of_urdf(description, 'visual')
    links = {shape.link for shape in colliding}
    return (*colliding, *(shape for shape in seen if shape.link not in links))


def _all_of_urdf(description: RobotDescription, purpose: str) -> tuple[CollisionShape, ...]:
    folder = Path() if description.path is None else description.path.parent
    return tuple(
        shape for link in description.root.findall('link')
        for element in link.findall(purpose)
        if (shape := _of_urdf(str(link.get('name')), element, folder)) is not None
    )


def _of_urdf(link: str, collision: etree._Element, folder: Path) -> CollisionShape | None:
    geometry, origin = collision.find('geometry'), collision.find('origin')
    element = None if geometry is None else next(geometry.iterchildren('*'), None)
    if element is None:
        return None
    pose = pin.SE3(
        pin.rpy.rpyToMatrix(*vector_of(origin, 'rpy')), np.array(vector_of(origin, 'xyz'))
    ).homogeneous
    radius = number_of(element, 'radius', 0.0)
    if element.tag == 'sphere':
        return CollisionShape(link, 'sphere', (radius,), pose)
    if element.tag in ('cylinder', 'capsule'):
        half = 0.5 * number_of(element, 'length', 0.0)
        return CollisionShape(link, str(element.tag), (radius, half), pose)
    if element.tag == 'box':
        x, y, z = vector_of(element, 'size')
        return CollisionShape(link, 'box', (0.5 * x, 0.5 * y, 0.5 * z), pose)
    scale = vector_of(element, 'scale') if element.get('scale') else (1.0, 1.0, 1.0)
    file = mesh_file(element.get('filename', ''), folder)
    return CollisionShape(link, 'mesh', tuple(scale), pose, file)


def mesh_file(written: str, folder: Path) -> Path | None:
    """The file that a description means by the name of a mesh; None where there is none.

    Args:
        written: A path, a ``file://`` address, or ``package://<package>/<path>``, looked for
            in ``share`` of every prefix of ``AMENT_PREFIX_PATH`` and in ``ROS_PACKAGE_PATH``.
        folder: Folder that relative paths start from.
    """
    if not written.startswith(_PACKAGE):
        path = folder / written.removeprefix('file://')
        return path if path.is_file() else None
    # Some write package:///<package>/<path>; joined to a folder, what begins with / replaces it.
    inside = written.removeprefix(_PACKAGE).lstrip('/')
    folders = [
        *(Path(prefix) / 'share' for prefix in _paths('AMENT_PREFIX_PATH')),
        *map(Path, _paths('ROS_PACKAGE_PATH')),
    ]
    return next((path for base in folders if (path := base / inside).is_file()), None)


def _paths(variable: str) -> list[str]:
    return [path for path in os.environ.get(variable, '').split(os.pathsep) if path]


def _of_mjcf(source: CompiledMjcf, *, colliding: bool) -> tuple[CollisionShape, ...]:
    """Solid shapes of bodies that collide, or do not, and a name for each mesh that does."""
    model, shapes = source.model, []
    for k in range(model.ngeom):
        kind = _MJCF_KINDS.get(int(model.geom_type[k]))
        collides = bool(model.geom_contype[k] or model.geom_conaffinity[k])
        if kind is None or collides != colliding:
            continue
        sizes = tuple(float(size) for size in model.geom_size[k])
        count = {'sphere': 1, 'capsule': 2, 'cylinder': 2}.get(kind, 3)
        link = source.name('body', model.geom_bodyid[k])
        pose = pose_of(model.geom_pos[k], model.geom_quat[k])
        shapes.append(CollisionShape(
            link, kind, (1.0, 1.0, 1.0) if kind == 'mesh' else sizes[:count], pose))
    meshes = [
        CollisionShape(link, 'mesh', (1.0, 1.0, 1.0), np.eye(4)) for link in source.mesh_collisions
        if colliding]
    return (*shapes, *meshes)
