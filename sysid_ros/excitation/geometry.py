"""Clearance of the described collision shapes themselves, meshes among them, by coal.

Distances between meshes take too long for a search. It goes by capsules; what it finds is
verified here where the description has shapes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import coal
import numpy as np

from sysid_ros.errors import ModelError
from sysid_ros.excitation.clearance import UNIT, Box
from sysid_ros.excitation.constraints import MotionState
from sysid_ros.excitation.shapes import apart, placed_shapes
from sysid_ros.robot.collision_shapes import CollisionShape
from sysid_ros.robot.model import RobotModel

# Larger meshes are refused rather than read, in [bytes].
_LARGEST_MESH = 200_000_000


@dataclass(frozen=True, eq=False)
class _Solid:
    """A shape as coal knows it: its body, -1 for what stands still, and its pose in it."""

    name: str
    body: int
    shape: coal.CollisionGeometry
    pose: np.ndarray


@dataclass(frozen=True, eq=False)
class GeometryClearance:
    """Pairs of collision shapes keep a distance.

    Attributes:
        solids: The shapes.
        pairs: Indices of those that could meet, shape ``(k, 2)``.
        distance: Least distance in [m].
        missing: Meshes that were not found, which do not count, by link.
    """

    solids: tuple[_Solid, ...]
    pairs: tuple[tuple[int, int], ...]
    distance: float
    missing: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, robot: RobotModel, rest: np.ndarray, *, boxes: Sequence[Box] = (),
        self_collision: bool = True, distance: float = 0.02,
    ) -> GeometryClearance:
        """All pairs of a robot that could meet, and of what moves with what stands around.

        Bodies joined by a joint are left out, and so are pairs that touch where it rests.

        Args:
            robot: The robot.
            rest: Joint positions in [rad] or [m] at which it is clear, shape ``(n,)``.
            boxes: Boxes that stand still, in the base frame.
            self_collision: Whether shapes of the robot keep clear of each other.
            distance: Least distance in [m].

        Raises:
            ModelError: A mesh cannot be read.
        """
        placed = placed_shapes(robot)
        own = [
            _Solid(shape.link, body, _of_shape(shape), pose) for body, shape, pose in placed
            if shape.kind != 'mesh' or shape.file is not None
        ]
        around = [_of_box(box) for box in boxes]
        pairs = [
            (i, j) for i in range(len(own)) for j in range(i)
            if self_collision and apart(robot, own[i].body, own[j].body)
        ]
        missing = {shape.link for _, shape, _ in placed if shape.kind == 'mesh'
                   and shape.file is None}
        clearance = cls((*own, *around), tuple(pairs), distance, tuple(sorted(missing)))
        values = np.zeros((5, 1, len(robot.joint_names)))
        values[0, 0] = rest
        free = clearance.slack(MotionState(robot, values))[0] > 0.0
        kept = [pair for pair, is_free in zip(pairs, free, strict=True) if is_free]
        kept += [
            (i, len(own) + j) for i, solid in enumerate(own) if solid.body >= 0
            for j in range(len(around))
        ]
        return replace(clearance, pairs=tuple(kept))

    def labels(self) -> tuple[str, ...]:
        """Names of the pairs."""
        return tuple(
            f'clearance of {self.solids[i].name} and {self.solids[j].name}' for i, j in self.pairs
        )

    def slack(self, motion: MotionState) -> np.ndarray:
        """Clearance beyond the distance in units of 0.1 m, or less, shape ``(T, k)``.

        After a distance was found, no other is asked for until the two shapes have travelled
        as far together; in between, what is left of it is what is sure.
        """
        placed = [self._placed(solid, motion) for solid in self.solids]
        travelled = [
            _travelled(solid, *where) for solid, where in zip(self.solids, placed, strict=True)
        ]
        samples = motion.values.shape[1]
        found = np.empty((samples, len(self.pairs)))
        for k, (i, j) in enumerate(self.pairs):
            way, t = travelled[i] + travelled[j], 0
            while t < samples:
                room = self._distance(i, j, placed, t) - self.distance
                end = max(t + 1, int(np.searchsorted(way, way[t] + max(room, 0.0), 'right')))
                found[t:end, k] = room - (way[t:end] - way[t])
                t = end
        return found / UNIT

    @staticmethod
    def _placed(solid: _Solid, motion: MotionState) -> tuple[np.ndarray, np.ndarray]:
        """Orientations ``(T, 3, 3)`` and positions ``(T, 3)`` of a shape."""
        local, origin = solid.pose[:3, :3], solid.pose[:3, 3]
        if solid.body < 0:
            samples = motion.values.shape[1]
            return np.broadcast_to(local, (samples, 3, 3)), np.broadcast_to(origin, (samples, 3))
        rotation = motion.poses.rotation[:, solid.body]
        return rotation @ local, rotation @ origin + motion.poses.origin[:, solid.body]

    def _distance(
        self, i: int, j: int, placed: list[tuple[np.ndarray, np.ndarray]], t: int
    ) -> float:
        first, second = (
            coal.Transform3s(placed[k][0][t], placed[k][1][t]) for k in (i, j)
        )
        return float(coal.distance(
            self.solids[i].shape, first, self.solids[j].shape, second,
            coal.DistanceRequest(), coal.DistanceResult(),
        ))


def _travelled(solid: _Solid, rotation: np.ndarray, origin: np.ndarray) -> np.ndarray:
    """Way that no point of a shape exceeds, from the first sample on in [m], shape ``(T,)``."""
    solid.shape.computeLocalAABB()
    centre, radius = solid.shape.aabb_center, float(solid.shape.aabb_radius)
    path = rotation @ centre + origin
    # The chord that a turn of the frame moves its unit vectors by is at most its angle's.
    turn = np.linalg.norm(np.diff(rotation, axis=0), axis=(1, 2)) / np.sqrt(2.0)
    steps = np.linalg.norm(np.diff(path, axis=0), axis=1) + radius * turn
    return np.append(0.0, np.cumsum(steps))


def _of_box(box: Box) -> _Solid:
    lower, upper = np.array(box.lower), np.array(box.upper)
    pose = np.eye(4)
    pose[:3, 3] = 0.5 * (lower + upper)
    return _Solid(box.name, -1, coal.Box(*(upper - lower)), pose)


def _of_shape(shape: CollisionShape) -> coal.CollisionGeometry:
    size = shape.size
    if shape.kind == 'sphere':
        return coal.Sphere(size[0])
    if shape.kind == 'capsule':
        return coal.Capsule(size[0], 2.0 * size[1])
    if shape.kind == 'cylinder':
        return coal.Cylinder(size[0], 2.0 * size[1])
    if shape.kind == 'box':
        return coal.Box(*(2.0 * half for half in size))
    if shape.kind == 'ellipsoid':
        return coal.Ellipsoid(*size)
    return _of_mesh(shape)


def _of_mesh(shape: CollisionShape) -> coal.CollisionGeometry:
    assert shape.file is not None
    bytes_found = shape.file.stat().st_size
    if bytes_found > _LARGEST_MESH:
        raise ModelError(
            'the mesh is too large', where=str(shape.file), found=f'{bytes_found} bytes',
            allowed=f'{_LARGEST_MESH} bytes',
        )
    try:
        return coal.MeshLoader().load(str(shape.file), np.array(shape.size))
    except (RuntimeError, ValueError) as error:
        raise ModelError(
            f'the mesh cannot be read: {error}', where=str(shape.file),
            fix=f'Repair it, or remove it from the collision shapes of link {shape.link!r}',
        ) from error
