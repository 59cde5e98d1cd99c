"""The motion of a robot as poses of its bodies over time, and its inertia as ellipsoids.

What players on a page and films are made from: few enough frames to be mailed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sysid_ros.mechanics.tree.kinematics import BodyPoses, body_poses
from sysid_ros.mechanics.tree.tip_paths import leaf_bodies
from sysid_ros.numerics.rotations import quaternions
from sysid_ros.report.report_model import ReportModel
from sysid_ros.report.series import Matrix, Number, Point, Series, series
from sysid_ros.robot.inertia_ellipsoid import InertiaEllipsoid
from sysid_ros.robot.model import RobotModel

# Frames per second, longest motion that is played in [s], numbers of all frames together, and
# fewest frames whatever the number of bodies.
_RATE, _LONGEST, _MOST_NUMBERS, _FEWEST = 20.0, 30.0, 120_000, 20
# Numbers of one pose: a point and a quaternion.
_POSE = 7
# Poses of the path that is drawn, and poses whose skeleton is drawn.
_PATH, _GHOSTS = 400, 5


class Solid(ReportModel):
    """The ellipsoid of uniform density that has a body's mass and inertia, in the base frame.

    Attributes:
        mass: In [kg].
        centre: Centre of mass in [m].
        shape: The matrix C of the ellipsoid (x − c)ᵀ C⁻¹ (x − c) ≤ 1 in [m²], row by row.
        possible: Whether a mass distribution has this inertia.
    """

    mass: Number
    centre: Point
    shape: Matrix
    possible: bool


class PlayedMotion(ReportModel):
    """Poses of the b bodies of a robot at F times, in the base frame.

    Attributes:
        time: Times from the first frame on in [s], F numbers.
        duration: Length of the whole motion in [s], of which this may be the longest stretch
            without gaps, or the beginning of it.
        parent: Body that carries each body, -1 for the base.
        shown: The frame in whose pose the ellipsoids of the section are.
        origin: Origins of the joint frames in [m]: x, y, z of each body, frame by frame.
        turn: Orientations as unit quaternions: x, y, z, w of each body, frame by frame.
    """

    time: Series
    duration: Number
    parent: list[int]
    shown: int
    origin: Series
    turn: Series


@dataclass(frozen=True, eq=False)
class MotionPoses:
    """Poses of a motion: those that are played, and those along its whole path.

    Attributes:
        robot: The robot.
        played: The frames.
        poses: Poses of the frames, and after them those of the path.
        bodies: Index in the tree of each body with parameters, shape ``(b,)``.
    """

    robot: RobotModel
    played: PlayedMotion
    poses: BodyPoses
    bodies: np.ndarray

    @classmethod
    def of(
        cls, robot: RobotModel, t: np.ndarray, q: np.ndarray,
        segments: Sequence[tuple[int, int]] = (),
    ) -> MotionPoses:
        """Poses of a motion.

        Args:
            robot: The robot.
            t: Times in [s], shape ``(T,)``.
            q: Positions in [rad] or [m], shape ``(T, n)``.
            segments: Half-open ranges of rows without gaps; one of all rows by default.

        Raises:
            SysidError: The robot cannot be there, as where loops cannot close.
        """
        frames = _frames(t, segments or ((0, len(t)),), len(robot.tree.parent))
        path = np.unique(np.linspace(0, len(q) - 1, _PATH).round().astype(int))
        poses = body_poses(robot, q[np.concatenate([frames, path])])
        played = PlayedMotion(
            time=series(t[frames] - t[frames[0]]), duration=float(t[-1] - t[0]),
            parent=robot.tree.parent.tolist(), shown=len(frames) // 2,
            origin=series(poses.origin[:len(frames)]),
            turn=series(quaternions(poses.rotation[:len(frames)])))
        return cls(robot, played, poses, np.flatnonzero(~robot.tree.massless))

    def solid(self, body: int, phi: np.ndarray) -> Solid | None:
        """The ellipsoid of a body in the frame that is shown; None for one without mass.

        Args:
            body: Index of the body among those with parameters.
            phi: Its inertial parameters, shape ``(10,)``.
        """
        ellipsoid = InertiaEllipsoid.of(phi)
        if ellipsoid is None:
            return None
        row, k = self.played.shown, self.bodies[body]
        rotation = self.poses.rotation[row, k]
        return Solid(
            mass=ellipsoid.mass,
            centre=series(rotation @ ellipsoid.centre + self.poses.origin[row, k]),
            shape=series(rotation @ ellipsoid.shape @ rotation.T),
            possible=ellipsoid.possible)

    def skeletons(self) -> list[list[Series]]:
        """Skeletons of some poses, the one that is shown first; see :func:`_skeleton`."""
        frames = len(self.played.time)
        ghosts = np.linspace(frames, len(self.poses.origin) - 1, _GHOSTS).round().astype(int)
        return [_skeleton(self.robot, self.poses, int(k)) for k in (self.played.shown, *ghosts)]

    def ends(self) -> list[int]:
        """Bodies that carry no other, by their indices in the tree."""
        return leaf_bodies(self.robot.tree)

    def end_names(self) -> list[str]:
        """What the bodies of :meth:`ends` are called."""
        names = dict(zip(self.bodies.tolist(), self.robot.body_names, strict=False))
        return [names.get(k, '') for k in self.ends()]

    def paths(self) -> list[list[Series]]:
        """Paths of the origins of :meth:`ends` in the whole motion, three rows of each in [m]."""
        first = len(self.played.time)
        return [
            [series(self.poses.origin[first:, k, i]) for i in range(3)] for k in self.ends()]


def _frames(t: np.ndarray, segments: Sequence[tuple[int, int]], bodies: int) -> np.ndarray:
    """Rows of the frames: evenly spread over the longest segment, or its beginning."""
    start, stop = max(segments, key=lambda each: each[1] - each[0])
    stop = min(stop, start + int(np.searchsorted(t[start:stop] - t[start], _LONGEST, 'right')))
    length = float(t[stop - 1] - t[start])
    most = max(_MOST_NUMBERS // (_POSE * max(bodies, 1)), _FEWEST)
    count = min(int(np.ceil(_RATE * length)) + 1, most, stop - start)
    return np.unique(np.linspace(start, stop - 1, max(count, 1)).round().astype(int))


def _skeleton(robot: RobotModel, poses: BodyPoses, row: int) -> list[Series]:
    """Lines from each joint to the ones that it carries, three rows of coordinates.

    None, where one line ends and the next begins, lifts the pen.
    """
    hole = np.full(3, np.nan)
    points = []
    for k, parent in enumerate(robot.tree.parent):
        start = np.zeros(3) if parent < 0 else poses.origin[row, parent]
        points += [start, poses.origin[row, k], hole]
    return [series(column) for column in np.array(points).reshape(-1, 3).T]
