"""Clearance of the described collision shapes themselves, by coal; meshes as convex hulls.

Distances between hulls take too long for a search. It goes by capsules; what it finds is
verified here where the description has shapes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import coal
import numpy as np

from sysid_ros.excitation.design.constraints import MotionState
from sysid_ros.excitation.geometry.clearance import UNIT, Box, SelfClearance
from sysid_ros.excitation.geometry.meeting_pairs import MeetingPairs, standing
from sysid_ros.excitation.geometry.meshes import load_hull
from sysid_ros.excitation.geometry.shapes import covering, may_meet, placed_shapes
from sysid_ros.robot.description.collision_shapes import CollisionShape
from sysid_ros.robot.description.srdf import AllowedCollisions
from sysid_ros.robot.model import RobotModel


@dataclass(frozen=True, eq=False)
class _Solid:
    """A shape as coal knows it: its body, -1 for what stands still, and its pose in it.

    What it was made from is kept for shapes of the robot.
    """

    name: str
    body: int
    shape: coal.CollisionGeometry
    pose: np.ndarray
    source: CollisionShape | None = None


@dataclass(frozen=True, eq=False)
class GeometryClearance:
    """Pairs of collision shapes keep a distance.

    Attributes:
        solids: The shapes.
        pairs: Indices of those that could meet, k of them.
        distance: Least distance of each pair in [m], shape ``(k,)``.
        missing: Meshes that were not found, which do not count, by link.
    """

    solids: tuple[_Solid, ...]
    pairs: tuple[tuple[int, int], ...]
    distance: np.ndarray
    missing: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, robot: RobotModel, rest: np.ndarray, *, boxes: Sequence[Box] = (),
        self_collision: bool = True, distance: float = 0.02,
        allowed: AllowedCollisions | None = None,
    ) -> GeometryClearance:
        """All pairs of a robot that could meet, and of what moves with what stands around.

        Which pairs keep how much:
        :func:`~sysid_ros.excitation.geometry.meeting_pairs.distances_to_keep`.

        Args:
            robot: The robot.
            rest: Joint positions in [rad] or [m] at which it is clear, shape ``(n,)``.
            boxes: Boxes that stand still, in the base frame.
            self_collision: Whether shapes of the robot keep clear of each other.
            distance: Least distance in [m].
            allowed: Pairs of links that an SRDF lets touch.

        Raises:
            ModelError: A mesh cannot be read.
            ConfigurationError: Bodies far apart along the robot touch where it rests.
        """
        bare = cls.all_pairs(robot, allowed) if self_collision else cls.without_pairs(robot)
        return MeetingPairs(robot, bare).keeping(rest, distance).among(boxes, distance)

    @classmethod
    def without_pairs(cls, robot: RobotModel) -> GeometryClearance:
        """The shapes of a robot that were found.

        Raises:
            ModelError: A mesh cannot be read.
        """
        placed = placed_shapes(robot)
        own = tuple(
            _Solid(shape.link, body, _of_shape(shape), pose, shape) for body, shape, pose in placed
            if shape.kind != 'mesh' or shape.file is not None)
        missing = {
            shape.link for _, shape, _ in placed if shape.kind == 'mesh' and shape.file is None}
        return cls(own, (), np.zeros(0), tuple(sorted(missing)))

    @classmethod
    def all_pairs(
        cls, robot: RobotModel, allowed: AllowedCollisions | None = None
    ) -> GeometryClearance:
        """All pairs of a robot that could meet, at no distance.

        Args:
            robot: The robot.
            allowed: Pairs of links that an SRDF lets touch.

        Raises:
            ModelError: A mesh cannot be read.
        """
        bare = cls.without_pairs(robot)
        places = [(solid.body, solid.name) for solid in bare.solids]
        pairs = tuple(
            (i, j) for i in range(len(places)) for j in range(i)
            if may_meet(robot, places[i], places[j], allowed))
        return replace(bare, pairs=pairs, distance=np.zeros(len(pairs)))

    def rough(self) -> np.ndarray:
        """No pair: shapes are as they are described, shape ``(k,)``."""
        return np.zeros(len(self.pairs), dtype=bool)

    def keeping(self, distance: np.ndarray) -> GeometryClearance:
        """The pairs that keep a distance.

        Args:
            distance: Of each pair in [m], zero for one that does not count, shape ``(k,)``.
        """
        kept = tuple(
            pair for pair, least in zip(self.pairs, distance, strict=True) if least > 0.0)
        return replace(self, pairs=kept, distance=distance[distance > 0.0])

    def among(self, boxes: Sequence[Box], distance: float) -> GeometryClearance:
        """The pairs, and those of what moves with what stands around.

        Args:
            boxes: Boxes that stand still, in the base frame.
            distance: Least distance from them in [m].
        """
        outside = tuple(
            (i, len(self.solids) + j) for i, solid in enumerate(self.solids) if solid.body >= 0
            for j in range(len(boxes)))
        return replace(
            self, solids=(*self.solids, *map(_of_box, boxes)), pairs=(*self.pairs, *outside),
            distance=np.append(self.distance, np.full(len(outside), distance)))

    def bodies(self) -> list[tuple[int, int]]:
        """Bodies of each pair, -1 for what stands still."""
        return [(self.solids[i].body, self.solids[j].body) for i, j in self.pairs]

    def hidden(self, robot: RobotModel, rest: np.ndarray) -> GeometryClearance:
        """The pairs of the robot whose capsules overlap at rest, though they do not themselves.

        Capsules cannot speak for them.

        Args:
            robot: The robot.
            rest: As for :meth:`of`.
        """
        covers = {
            k: covering(solid.source, solid.body, solid.pose)
            for k, solid in enumerate(self.solids) if solid.source is not None
        }
        own = [k for k, (i, j) in enumerate(self.pairs) if i in covers and j in covers]
        if not own:
            return replace(self, pairs=(), distance=np.zeros(0))
        pairs = np.array([self.pairs[k] for k in own], dtype=int).reshape(-1, 2)
        order = {k: index for index, k in enumerate(covers)}
        rows = np.array([[order[i], order[j]] for i, j in pairs], dtype=int).reshape(-1, 2)
        capsules = SelfClearance(tuple(covers.values()), rows, 0.0)
        overlap = capsules.slack(standing(robot, rest))[0] <= 0.0
        kept = [k for k, is_hidden in zip(own, overlap, strict=True) if is_hidden]
        return replace(
            self, pairs=tuple(self.pairs[k] for k in kept), distance=self.distance[kept])

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
                room = self._nearest(i, j, placed, t).min_distance - self.distance[k]
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

    def _nearest(
        self, i: int, j: int, placed: list[tuple[np.ndarray, np.ndarray]], t: int
    ) -> coal.DistanceResult:
        first, second = (
            coal.Transform3s(placed[k][0][t], placed[k][1][t]) for k in (i, j)
        )
        result = coal.DistanceResult()
        coal.distance(
            self.solids[i].shape, first, self.solids[j].shape, second, coal.DistanceRequest(),
            result,
        )
        return result

    def nearest(self, motion: MotionState) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Every distance, and between which points.

        Args:
            motion: T samples.

        Returns:
            Distances in [m], shape ``(T, k)``, negative where shapes overlap; points on the
            first and the second shape in the base frame, shape ``(2, T, k, 3)``; directions
            from the second to the first, shape ``(T, k, 3)``.
        """
        placed = [self._placed(solid, motion) for solid in self.solids]
        samples, count = motion.values.shape[1], len(self.pairs)
        distance, points = np.empty((samples, count)), np.empty((2, samples, count, 3))
        normal = np.empty((samples, count, 3))
        for t in range(samples):
            for k, (i, j) in enumerate(self.pairs):
                result = self._nearest(i, j, placed, t)
                distance[t, k] = result.min_distance
                points[:, t, k] = result.getNearestPoint1(), result.getNearestPoint2()
                normal[t, k] = -result.normal
        return distance, points, normal


@dataclass(frozen=True, eq=False)
class ShapeClearance:
    """Clearance of a few pairs of shapes as a differentiable constraint.

    Attributes:
        geometry: The pairs.
    """

    geometry: GeometryClearance

    def labels(self) -> tuple[str, ...]:
        """Names of the pairs."""
        return self.geometry.labels()

    def slack(self, motion: MotionState) -> np.ndarray:
        """Clearance beyond the distance in units of 0.1 m, shape ``(T, k)``."""
        return (self.geometry.nearest(motion)[0] - self.geometry.distance) / UNIT

    def gradient(self, motion: MotionState, weights: np.ndarray) -> np.ndarray:
        """Derivative of weighted slacks, shape ``(5, T, n)``."""
        _, points, normal = self.geometry.nearest(motion)
        push = weights[:, :, None] * normal / UNIT
        bodies = np.array(self.geometry.bodies())
        gradient = np.zeros_like(motion.values)
        gradient[0] = motion.poses.joint_forces(bodies[:, 0], points[0], push)
        gradient[0] -= motion.poses.joint_forces(bodies[:, 1], points[1], push)
        return gradient


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
    lower, upper = np.array(box.lower, dtype=float), np.array(box.upper, dtype=float)
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
    assert shape.file is not None
    return load_hull(shape.file, size)
