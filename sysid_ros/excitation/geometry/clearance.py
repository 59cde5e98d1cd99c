"""Clearance: bodies keep away from each other and from boxes, and the tool stays in its own.

Bodies are covered by capsules, points within a radius of a segment, for which distances and
their derivatives are closed formulas.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from pydantic import ConfigDict

from sysid_ros.errors import ConfigurationError
from sysid_ros.excitation.design.constraints import MotionState
from sysid_ros.excitation.geometry.segments import nearest_points, nearest_to_box
from sysid_ros.mechanics.tree.kinematics import BodyPoses

#: Distances are judged in this unit in [m]: the slack of a constraint this far away is 1.
UNIT = 0.1
#: No pair of shapes.
NO_PAIRS = np.zeros((0, 2), dtype=int)


@dataclass(frozen=True)
class Capsule:
    """All points within a radius of a segment that is fixed to a body.

    Attributes:
        name: What it covers, for messages.
        body: Index of the body, -1 for the base.
        start: One end of the segment in the body's frame in [m].
        end: The other end.
        radius: The radius in [m].
        covers: Whether it holds a described shape, which tells more exactly what it touches.
    """

    name: str
    body: int
    start: tuple[float, float, float]
    end: tuple[float, float, float]
    radius: float
    covers: bool = False


@dataclass(frozen=True)
class Box:
    """A box along the axes of the base frame.

    Attributes:
        name: What it is, for messages.
        lower: Corner with the smallest coordinates in [m].
        upper: Corner with the largest.

    Raises:
        ConfigurationError: The corners are not in order, or not finite.
    """

    name: str
    lower: tuple[float, float, float]
    upper: tuple[float, float, float]

    # Read by the validation of settings files.
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra='forbid')

    def __post_init__(self) -> None:
        corners = np.array([self.lower, self.upper])
        if not (np.isfinite(corners).all() and (corners[0] < corners[1]).all()):
            raise ConfigurationError(
                'the corners do not make a box', where=self.name,
                found=f'{self.lower}, {self.upper}', allowed='finite numbers, lower < upper',
                fix='Give the lower corner first, as --box table=-0.5,-0.5,0.0,0.5,0.5,0.1',
            )

    def grown(self, distance: float) -> Box:
        """The box with every side so much farther out in [m]."""
        (x, y, z), (right, back, top) = self.lower, self.upper
        return Box(
            self.name, (x - distance, y - distance, z - distance),
            (right + distance, back + distance, top + distance))


@dataclass(frozen=True, eq=False)
class SelfClearance:
    """Pairs of capsules keep a distance.

    Attributes:
        capsules: Its capsules.
        pairs: Indices of the pairs that could meet, shape ``(k, 2)``.
        distance: Least distance in [m], one for all or of each pair, shape ``(k,)``.
    """

    capsules: tuple[Capsule, ...]
    pairs: np.ndarray
    distance: float | np.ndarray = 0.02

    def labels(self) -> tuple[str, ...]:
        """Names of the pairs."""
        return tuple(
            f'clearance of {self.capsules[i].name} and {self.capsules[j].name}'
            for i, j in self.pairs
        )

    def bodies(self) -> list[tuple[int, int]]:
        """Bodies of each pair, -1 for the base."""
        return [(self.capsules[i].body, self.capsules[j].body) for i, j in self.pairs]

    def rough(self) -> np.ndarray:
        """Pairs of capsules that both cover a described shape, shape ``(k,)``."""
        covers = np.array([capsule.covers for capsule in self.capsules], dtype=bool)
        return covers[self.pairs].all(axis=1)

    def keeping(self, distance: np.ndarray) -> SelfClearance:
        """The pairs that keep a distance.

        Args:
            distance: Of each pair in [m], zero for one that does not count, shape ``(k,)``.
        """
        return replace(self, pairs=self.pairs[distance > 0.0], distance=distance[distance > 0.0])

    def slack(self, motion: MotionState) -> np.ndarray:
        """Clearance beyond the distance in units of 0.1 m, shape ``(T, k)``."""
        return self._nearest(_ends(self.capsules, motion.poses))[0]

    def gradient(self, motion: MotionState, weights: np.ndarray) -> np.ndarray:
        """Derivative of weighted slacks, shape ``(5, T, n)``."""
        poses = motion.poses
        _, first, second, normal = self._nearest(_ends(self.capsules, poses))
        bodies = np.array([capsule.body for capsule in self.capsules])[self.pairs]
        push = weights[:, :, None] * normal / UNIT
        gradient = np.zeros_like(motion.values)
        gradient[0] = poses.joint_forces(bodies[:, 0], first, push)
        gradient[0] -= poses.joint_forces(bodies[:, 1], second, push)
        return gradient

    def _nearest(
        self, ends: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Slack, nearest points, and direction from the second to the first, per pair."""
        one, other = ends[:, :, self.pairs[:, 0]], ends[:, :, self.pairs[:, 1]]
        first, second = nearest_points(one[0], one[1], other[0], other[1])
        apart = first - second
        size = np.linalg.norm(apart, axis=-1)
        normal = apart / np.where(size > 0.0, size, 1.0)[..., None]
        radius = np.array([capsule.radius for capsule in self.capsules])
        room = size - radius[self.pairs].sum(axis=1) - self.distance
        return room / UNIT, first, second, normal


@dataclass(frozen=True, eq=False)
class BoxClearance:
    """Capsules keep a distance from boxes that stand still.

    Where a segment itself runs through a box, the derivative is one of several: it leads out,
    but not by the shortest way.

    Attributes:
        capsules: Its capsules; those of the base do not move and do not count.
        boxes: The boxes.
        distance: Least distance in [m].
    """

    capsules: tuple[Capsule, ...]
    boxes: tuple[Box, ...]
    distance: float = 0.02

    @cached_property
    def _moving(self) -> tuple[Capsule, ...]:
        return tuple(capsule for capsule in self.capsules if capsule.body >= 0)

    def labels(self) -> tuple[str, ...]:
        """Names of the pairs, box by box."""
        return tuple(
            f'clearance of {capsule.name} and {box.name}'
            for box in self.boxes for capsule in self._moving
        )

    def slack(self, motion: MotionState) -> np.ndarray:
        """Clearance beyond the distance in units of 0.1 m, shape ``(T, k)``."""
        return self._nearest(motion.poses)[0]

    def gradient(self, motion: MotionState, weights: np.ndarray) -> np.ndarray:
        """Derivative of weighted slacks, shape ``(5, T, n)``."""
        poses = motion.poses
        _, points, normal = self._nearest(poses)
        bodies = np.tile([capsule.body for capsule in self._moving], len(self.boxes))
        gradient = np.zeros_like(motion.values)
        gradient[0] = poses.joint_forces(bodies, points, weights[:, :, None] * normal / UNIT)
        return gradient

    def _nearest(self, poses: BodyPoses) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Slack, nearest point of the capsule's segment, and direction away from the box."""
        start, end = _ends(self._moving, poses)
        radius = np.array([capsule.radius for capsule in self._moving])
        parts = []
        for box in self.boxes:
            size, points, normal = nearest_to_box(
                start, end, np.array(box.lower), np.array(box.upper)
            )
            parts.append(((size - radius - self.distance) / UNIT, points, normal))
        slack, points, normal = (np.concatenate(part, axis=1) for part in zip(*parts, strict=True))
        return slack, points, normal


@dataclass(frozen=True, eq=False)
class KeepIn:
    """A point of the robot stays inside a box.

    Attributes:
        body: Index of the body the point is fixed to.
        point: The point in the body's frame in [m].
        box: The box.
    """

    body: int
    point: tuple[float, float, float]
    box: Box

    def labels(self) -> tuple[str, ...]:
        """The six sides of the box."""
        return tuple(
            f'{side} {axis} of {self.box.name}' for side in ('lower', 'upper') for axis in 'xyz'
        )

    def slack(self, motion: MotionState) -> np.ndarray:
        """Distance to the six sides in units of 0.1 m, shape ``(T, 6)``."""
        points = self._points(motion.poses)[:, 0]
        lower, upper = np.array(self.box.lower), np.array(self.box.upper)
        return np.hstack([points - lower, upper - points]) / UNIT

    def gradient(self, motion: MotionState, weights: np.ndarray) -> np.ndarray:
        """Derivative of weighted slacks, shape ``(5, T, n)``."""
        poses = motion.poses
        push = (weights[:, :3] - weights[:, 3:])[:, None] / UNIT
        gradient = np.zeros_like(motion.values)
        gradient[0] = poses.joint_forces(np.array([self.body]), self._points(poses), push)
        return gradient

    def _points(self, poses: BodyPoses) -> np.ndarray:
        return poses.points(np.array([self.body]), np.array([self.point], dtype=float))


@dataclass(frozen=True)
class Surroundings:
    """Boxes in the base frame that a motion has to do with.

    Attributes:
        obstacles: Boxes that stand still, and must not be touched.
        kept_free: The same, grown by the distance that is kept from them.
        kept_in: Boxes that a point of the robot stays in.
    """

    obstacles: tuple[Box, ...] = ()
    kept_free: tuple[Box, ...] = ()
    kept_in: tuple[Box, ...] = ()

    @classmethod
    def of(cls, constraints: Iterable[object]) -> Surroundings:
        """The boxes of constraints on a motion; others have none.

        Args:
            constraints: Clearances to keep.
        """
        free: dict[str, tuple[Box, Box]] = {}
        inside: dict[str, Box] = {}
        for check in constraints:
            if isinstance(check, BoxClearance):
                free |= {box.name: (box, box.grown(check.distance)) for box in check.boxes}
            elif isinstance(check, KeepIn):
                inside[check.box.name] = check.box
        return cls(
            tuple(box for box, _ in free.values()), tuple(box for _, box in free.values()),
            tuple(inside.values()))


def _ends(capsules: tuple[Capsule, ...], poses: BodyPoses) -> np.ndarray:
    """Both ends of every segment in the base frame, shape ``(2, T, k, 3)``."""
    bodies = np.array([capsule.body for capsule in capsules])
    return np.array([
        poses.points(bodies, np.array([getattr(capsule, end) for capsule in capsules]))
        for end in ('start', 'end')
    ])
