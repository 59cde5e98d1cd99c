"""A robot as a scene of plain values: its tree, its shapes, and ellipsoids of its inertia.

Where the bodies are for positions of the joints is computed by whoever draws it, from the tree; see
:mod:`~sysid_ros.studio.placements`.
"""

from __future__ import annotations

import hashlib
import math
from pathlib import Path
from typing import Any

import numpy as np

from sysid_ros.errors import ModelError
from sysid_ros.excitation.geometry.meshes import hull_triangles
from sysid_ros.mechanics.closures.closed_chain import closed_chain
from sysid_ros.release.atomic import write_atomically
from sysid_ros.robot.description.collision_shapes import CollisionShape, drawn_shapes
from sysid_ros.robot.inertia_ellipsoid import InertiaEllipsoid
from sysid_ros.robot.model import RobotModel
from sysid_ros.studio.stl import binary_stl

# Sliders of joints without limits reach so far, in [rad] or [m].
_FREE = {'revolute': math.pi, 'continuous': math.pi, 'prismatic': 0.5}
# Thinner ellipsoids cannot be seen, in [m].
_THINNEST = 2e-3
# More shapes than a browser draws smoothly.
_MOST = 400


def robot_scene(robot: RobotModel, meshes: Path) -> dict[str, Any]:
    """The scene of a robot.

    Args:
        robot: The robot.
        meshes: Folder that convex hulls of its meshes are written into, as STL files.

    Returns:
        Plain values: ``bodies``, ``joints``, ``shapes``, ``solids`` and ``missing``, names of links
        whose shapes cannot be drawn, with the reason.
    """
    opened, tree = robot.opened, robot.tree
    named = dict(zip(np.flatnonzero(~tree.massless).tolist(), robot.body_names, strict=True))
    bodies = [
        {'name': named.get(k, ''), 'parent': int(tree.parent[k]),
         'rotation': tree.rotation[k].tolist(), 'translation': tree.translation[k].tolist(),
         'axis': tree.axis[k].tolist(), 'revolute': bool(tree.revolute[k]),
         'coupling': tree.coupling[k].tolist(), 'offset': float(tree.coupling_offset[k])}
        for k in range(len(tree.parent))]
    shapes, missing = _shapes(robot, meshes)
    return {
        'bodies': bodies, 'joints': _joints(opened, _positions(robot), robot.loops is None),
        'shapes': shapes, 'solids': _solids(robot), 'missing': missing}


def _positions(robot: RobotModel) -> np.ndarray:
    """Positions that the robot is first shown in: zero or the limit next to it, loops closed."""
    if robot.loops is not None:
        return np.array(closed_chain(robot).assembly)
    limits = robot.limits
    return np.clip(0.0, limits.lower, limits.upper) * np.ones(len(robot.joint_names))


def _joints(robot: RobotModel, positions: np.ndarray, free: bool) -> list[dict[str, Any]]:
    """Joints with the ends of their sliders; what closes loops stays where it is."""
    joints = []
    for k, (name, kind) in enumerate(zip(robot.joint_names, robot.joint_types, strict=True)):
        at, reach = float(positions[k]), _FREE[kind]
        lower, upper = float(robot.limits.lower[k]), float(robot.limits.upper[k])
        joints.append({
            'name': name, 'kind': kind, 'at': at, 'moves': free,
            'lower': lower if math.isfinite(lower) else at - reach,
            'upper': upper if math.isfinite(upper) else at + reach})
    return joints


def _solids(robot: RobotModel) -> list[dict[str, Any]]:
    """Ellipsoids with the mass and inertia of each body, in its frame."""
    found = []
    places = np.flatnonzero(~robot.tree.massless).tolist()
    for k, name, phi in zip(places, robot.body_names, robot.inertial_prior, strict=True):
        ellipsoid = InertiaEllipsoid.of(phi)
        if ellipsoid is not None:
            found.append({
                'body': k, 'name': name, 'mass': ellipsoid.mass, 'possible': ellipsoid.possible,
                'rotation': ellipsoid.axes.tolist(), 'translation': ellipsoid.centre.tolist(),
                'size': np.maximum(2.0 * ellipsoid.semi_axes, _THINNEST).tolist()})
    return found


def _shapes(
    robot: RobotModel, meshes: Path
) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    """Shapes of links in the frames of their bodies, and links that cannot be drawn."""
    places = np.flatnonzero(~robot.tree.massless).tolist()
    index = dict(zip(robot.body_names, places, strict=True))
    links = {link.name: (index.get(link.body, -1), link.pose) for link in robot.links} | {
        link.name: (-1, link.pose) for link in robot.base_links}
    shapes: list[dict[str, Any]] = []
    missing: dict[str, str] = {}
    for shape in drawn_shapes(robot.description):
        if shape.link not in links or len(shapes) == _MOST:
            continue
        body, pose = links[shape.link]
        try:
            size, file = _drawn_size(shape, meshes)
        except (ModelError, OSError) as error:
            missing[shape.link] = str(error)
            continue
        placed = pose @ shape.pose
        shapes.append({
            'body': body, 'link': shape.link, 'kind': shape.kind, 'size': size, 'file': file,
            'rotation': placed[:3, :3].tolist(), 'translation': placed[:3, 3].tolist()})
    return shapes, [{'link': link, 'reason': reason} for link, reason in missing.items()]


def _drawn_size(shape: CollisionShape, meshes: Path) -> tuple[list[float], str]:
    """Size of a shape; of a mesh none, but the name of the file with its hull.

    Raises:
        ModelError: The mesh is not there, or cannot be read.
    """
    if shape.kind != 'mesh':
        return list(shape.size), ''
    if shape.file is None:
        raise ModelError(
            'the file of its mesh was not found',
            fix='Source the workspace that has it (AMENT_PREFIX_PATH), or put it beside the '
            'description')
    status = shape.file.stat()
    key = f'{shape.file}\0{status.st_size}\0{status.st_mtime_ns}\0{shape.size}'
    name = f'{hashlib.sha256(key.encode(errors="surrogateescape")).hexdigest()[:32]}.stl'
    if not (meshes / name).is_file():
        meshes.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomically(meshes / name, binary_stl(hull_triangles(shape.file, shape.size)))
    return [], name
