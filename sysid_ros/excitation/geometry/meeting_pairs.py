"""Which shapes of a robot have to keep how far apart, and a pose in which none of them touch.

Shapes of neighbours overlap by construction. They are told from others by how far apart all pairs
are where the robot rests, and in many random poses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np

from sysid_ros.errors import ConfigurationError
from sysid_ros.excitation.design.constraints import Check, MotionState
from sysid_ros.excitation.geometry.clearance import UNIT, Capsule, SelfClearance
from sysid_ros.excitation.geometry.shapes import joints_between, joints_moving, may_meet
from sysid_ros.mechanics.closures.closed_chain import closed_chain
from sysid_ros.robot.description.srdf import AllowedCollisions
from sysid_ros.robot.model import RobotModel

# Bodies with so many joints between them may overlap by construction.
_NEIGHBOURS = 2
# Random poses in which shapes that overlap by construction are told from others.
_POSES, _SEED = 100, 0
# Changes that are tried for a pose in which nothing touches, the first ones small.
_TRIED = 400
# In [m]: a distance of zero is kept, too.
_TINY = 1e-9


class Pairs(Check, Protocol):
    """Pairs of shapes, and how far apart they are."""

    def bodies(self) -> list[tuple[int, int]]:
        """Bodies of each of the k pairs, -1 for the base."""

    def rough(self) -> np.ndarray:
        """Pairs whose shapes are told more exactly by other pairs, shape ``(k,)``."""

    def keeping(self, distance: np.ndarray) -> Self:
        """Those of them that keep a distance above zero, of each in [m], shape ``(k,)``."""


AnyPairs = TypeVar('AnyPairs', bound=Pairs)


@dataclass(frozen=True, eq=False)
class MeetingPairs(Generic[AnyPairs]):
    """Pairs of a robot's shapes that could meet.

    Attributes:
        robot: The robot.
        pairs: The k pairs; no distance is asked of them yet.
    """

    robot: RobotModel
    pairs: AnyPairs

    @cached_property
    def far(self) -> np.ndarray:
        """Pairs that must not touch at rest, shape ``(k,)``.

        They are too far apart along the robot to overlap by construction, and no other part tells
        their distance more exactly.
        """
        apart = [
            joints_between(self.robot, *pair) > _NEIGHBOURS for pair in self.pairs.bodies()]
        return np.array(apart, dtype=bool) & ~self.pairs.rough()

    @cached_property
    def elsewhere(self) -> np.ndarray:
        """Distances in random poses in [m], shape ``(T, k)``."""
        return np.vstack([self.at(q) for q in random_poses(self.robot)])

    def at(self, q: np.ndarray) -> np.ndarray:
        """Distances in [m] in a pose ``(n,)``, shape ``(k,)``."""
        return UNIT * self.pairs.slack(standing(self.robot, q))[0]

    def counted(self, usual: np.ndarray) -> np.ndarray:
        """Pairs that have to be clear where the robot rests, shape ``(k,)``.

        Args:
            usual: A pose, in which neighbours may overlap by construction, ``(n,)``.
        """
        always = (self.elsewhere <= 0.0).all(axis=0)
        neighbours = (self.at(usual) <= 0.0) & ~self.far
        counted: np.ndarray = ~(always | neighbours | self.pairs.rough())
        return counted

    def keeping(self, rest: np.ndarray, distance: float) -> AnyPairs:
        """Those that keep a distance; see :func:`distances_to_keep`.

        Args:
            rest: Joint positions in [rad] or [m] at which the robot is known to be clear, ``(n,)``.
            distance: Least distance in [m].

        Raises:
            ConfigurationError: Bodies far apart along the robot touch where it rests.
        """
        room = np.vstack([self.at(rest), self.elsewhere])
        return self.pairs.keeping(distances_to_keep(
            self.robot, self.far, room, distance, self.pairs.labels()))


def capsule_pairs(
    robot: RobotModel, capsules: tuple[Capsule, ...], allowed: AllowedCollisions | None = None
) -> SelfClearance:
    """All pairs of capsules that could meet, at no distance.

    Args:
        robot: The robot.
        capsules: Its capsules.
        allowed: Pairs of links that an SRDF lets touch.
    """
    places = [(capsule.body, capsule.name) for capsule in capsules]
    pairs = [
        (i, j) for i in range(len(capsules)) for j in range(i)
        if may_meet(robot, places[i], places[j], allowed)]
    return SelfClearance(capsules, np.array(pairs, dtype=int).reshape(-1, 2), 0.0)


def self_clearance(
    robot: RobotModel, capsules: tuple[Capsule, ...], rest: np.ndarray, distance: float = 0.02,
    allowed: AllowedCollisions | None = None,
) -> SelfClearance:
    """Clearance of all pairs of capsules that could meet; see :func:`distances_to_keep`.

    Args:
        robot: The robot.
        capsules: Its capsules.
        rest: Joint positions in [rad] or [m] at which the robot is known to be free, ``(n,)``.
        distance: Least distance in [m].
        allowed: Pairs of links that an SRDF lets touch.

    Raises:
        ConfigurationError: Bodies far apart along the robot touch where it rests.
    """
    return MeetingPairs(robot, capsule_pairs(robot, capsules, allowed)).keeping(rest, distance)


def standing(robot: RobotModel, q: np.ndarray) -> MotionState:
    """The robot standing at positions ``(n,)``."""
    values = np.zeros((5, 1, len(q)))
    values[0, 0] = q
    return MotionState(robot, values)


def random_poses(robot: RobotModel) -> np.ndarray:
    """Many poses within the limits, shape ``(T, n)``."""
    random = np.random.default_rng(_SEED)
    if robot.loops is not None:
        return closed_chain(robot).random_positions(_POSES, random)
    lower, upper = _range(robot)
    return random.uniform(lower, upper, (_POSES, len(lower)))


def _range(robot: RobotModel) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest positions; half a turn from zero for joints without an end."""
    lower, upper = (
        np.where(np.isfinite(limit), limit, sign * np.pi)
        for limit, sign in ((robot.limits.lower, -1.0), (robot.limits.upper, 1.0)))
    return lower, upper


def clear_pose(
    usual: np.ndarray, lower: np.ndarray, upper: np.ndarray, parts: Sequence[MeetingPairs[Any]]
) -> np.ndarray:
    """A pose in which a robot without closed loops is clear of itself, near a usual one.

    Joints between bodies that touch are moved at random, farther and farther from the usual pose;
    what makes bodies overlap less is kept. Pairs that touch in every pose do not count, nor do
    those of neighbours that touch in the usual pose, as in :func:`distances_to_keep`; others of
    neighbours do.

    Args:
        usual: The pose that is taken if it is clear, ``(n,)``.
        lower: Lowest positions, ``-inf`` where a joint turns without end, ``(n,)``.
        upper: Highest positions.
        parts: The pairs.

    Returns:
        Joint positions in [rad] or [m]; the usual ones, too, where none were found.
    """
    if not any(np.any((part.at(usual) <= 0.0) & part.far) for part in parts):
        return usual
    counted = [part.counted(usual) for part in parts]

    def overlaps(q: np.ndarray) -> list[np.ndarray]:
        """How far the pairs of each part overlap that count, in [m]."""
        return [np.where(counts, np.maximum(_TINY - part.at(q), 0.0), 0.0)
                for part, counts in zip(parts, counted, strict=True)]

    random = np.random.default_rng(_SEED)
    lower = np.where(np.isfinite(lower), lower, usual - np.pi)
    upper = np.where(np.isfinite(upper), upper, usual + np.pi)
    pose, found = usual, overlaps(usual)
    for reach in np.linspace(0.0, 1.0, _TRIED + 1)[1:]:
        touching = [(part, k) for part, own in zip(parts, found, strict=True)
                    for k in np.flatnonzero(own)]
        if not touching:
            return pose
        part, pair = touching[random.integers(len(touching))]
        joints = joints_moving(part.robot, *part.pairs.bodies()[pair])
        tried = pose.copy()
        aim = random.uniform(lower[joints], upper[joints])
        tried[joints] = usual[joints] + reach * (aim - usual[joints])
        others = overlaps(tried)
        if sum(map(np.sum, others)) < sum(map(np.sum, found)):
            pose, found = tried, others
    return usual


def distances_to_keep(
    robot: RobotModel, far: np.ndarray, room: np.ndarray, distance: float, labels: Sequence[str],
) -> np.ndarray:
    """Least distances of pairs of shapes, where some are near each other by construction.

    Pairs that touch in every pose do not count, nor do those that are not far apart and touch at
    rest: their shapes overlap. Any that are nearer at rest than twice the distance keep half of
    their own.

    Args:
        robot: The robot.
        far: Which pairs must not touch at rest, shape ``(k,)``; see :attr:`MeetingPairs.far`.
        room: Distance of each pair in [m] at rest, and in other poses, shape ``(T, k)``.
        distance: Least distance in [m].
        labels: Names of the pairs.

    Returns:
        Least distance of each pair in [m], zero for one that does not count, ``(k,)``.

    Raises:
        ConfigurationError: Bodies farther apart touch at rest.
    """
    touching = (room[0] <= 0.0) & (room > 0.0).any(axis=0) & far
    wrong = [label for label, bad in zip(labels, touching, strict=True) if bad]
    if wrong:
        raise ConfigurationError(
            'the robot touches itself where it is said to be clear', where='rest',
            found=', '.join(tuple(dict.fromkeys(wrong))[:5]), fix='Give a pose at which it is '
            f'clear, as rest: {{{robot.joint_names[0]}: 0.3}}; where meshes were not found '
            '(ROS_PACKAGE_PATH), capsules stand for them: clearance: {capsule_radius: 0.03} makes '
            'them thinner; an SRDF says which links may touch: clearance: {srdf: robot.srdf}',
        )
    own = 0.5 * np.abs(room[0])
    return np.where(room[0] > 0.0, np.minimum(distance, own) + _TINY, 0.0)
