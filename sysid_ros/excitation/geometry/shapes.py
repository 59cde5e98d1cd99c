"""Capsules that cover a robot: from its collision shapes, or from the lengths of its links."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sysid_ros.excitation.geometry.clearance import Capsule
from sysid_ros.excitation.geometry.meshes import covering_segment, load_hull
from sysid_ros.robot.description.collision_shapes import CollisionShape, collision_shapes
from sysid_ros.robot.description.srdf import AllowedCollisions
from sysid_ros.robot.model import RobotModel

# Bodies without a shape that can be read get a capsule along their length, this thick in parts
# of the length of the longest chain from the base.
_THICKNESS = 0.06


def capsules_of(robot: RobotModel, radius: float | None = None) -> tuple[Capsule, ...]:
    """Capsules around the base and every moving body.

    Collision shapes are covered exactly or from outside. A body with a mesh that was not
    found, or with no shape at all, gets capsules from its origin to those of the links fixed
    to it and of the bodies it carries.

    Args:
        robot: The robot.
        radius: Radius of capsules made from lengths in [m]; by default 6 % of the longest chain's
            from the base.

    Returns:
        The capsules, body by body, the base first.

    Raises:
        ModelError: A mesh cannot be read.
    """
    placed = placed_shapes(robot)
    lengths = _spans(robot)
    if radius is None:
        radius = _THICKNESS * _longest_chain(robot, lengths)
    names = {-1: robot.base_links[0].name if robot.base_links else 'base'}
    names |= {robot.joint_of_body(link.body) - 1: link.body for link in reversed(robot.links)}
    capsules = []
    for body in range(-1, len(robot.pinocchio_model.names) - 1):
        own = [(shape, pose) for index, shape, pose in placed if index == body]
        known = [(shape, pose) for shape, pose in own if shape.kind != 'mesh' or shape.file]
        capsules += [covering(shape, body, pose) for shape, pose in known]
        if body in names and (len(known) < len(own) or not own):
            capsules += _along(names[body], body, lengths, radius)
    return tuple(capsules)


def _along(
    name: str, body: int, lengths: list[tuple[int, np.ndarray]], radius: float
) -> list[Capsule]:
    """Capsules to what a body carries; a ball where it carries nothing."""
    origin = (0.0, 0.0, 0.0)
    along = [
        Capsule(name, body, origin, _triple(end), radius)
        for carrier, end in lengths if carrier == body
    ]
    return along or ([Capsule(name, body, origin, origin, radius)] if body >= 0 else [])


def may_meet(
    robot: RobotModel, first: tuple[int, str], second: tuple[int, str],
    allowed: AllowedCollisions | None,
) -> bool:
    """Whether two shapes have to keep clear of each other.

    Args:
        robot: The robot.
        first: Body, -1 for the base, and link of one.
        second: Those of the other.
        allowed: What an SRDF says. Without one, shapes of bodies next to each other do not count.
    """
    if allowed is None:
        return apart(robot, first[0], second[0])
    return first[0] != second[0] and allowed.counts(first[1], second[1])


def apart(robot: RobotModel, first: int, second: int) -> bool:
    """Whether two bodies, -1 for the base, are neither the same nor next to each other."""
    return joints_between(robot, first, second) > 1


def joints_between(robot: RobotModel, first: int, second: int) -> int:
    """Joints on the shortest way between two bodies, -1 for the base.

    Joints in a row count as one. What closes a loop is a joint, too; a way leads over one of them
    at most.
    """
    ways = [_along_tree(robot, first, second)]
    for one, other in closed_bodies(robot):
        for here, there in ((one, other), (other, one)):
            ways.append(
                _along_tree(robot, first, here) + 1 + _along_tree(robot, there, second))
    return min(ways)


def closed_bodies(robot: RobotModel) -> list[tuple[int, int]]:
    """Bodies that closures hold together, -1 for the base; a rod counts as part of the first."""
    if robot.loops is None:
        return []
    places = {link.name: robot.joint_of_body(link.body) - 1 for link in robot.links}
    return [
        (places.get(closure.links[0], -1), places.get(closure.links[1], -1))
        for closure in robot.loops.closures
    ]


def joints_moving(robot: RobotModel, first: int, second: int) -> np.ndarray:
    """Indices of the joints that move one body against another; -1 for the base."""
    between = sorted(set(_way_to_base(robot, first)) ^ set(_way_to_base(robot, second)))
    return np.flatnonzero((robot.tree.coupling[between] != 0.0).any(axis=0))


def _along_tree(robot: RobotModel, first: int, second: int) -> int:
    only_one = set(_way_to_base(robot, first)) ^ set(_way_to_base(robot, second))
    return sum(not robot.tree.massless[body] for body in only_one)


def _way_to_base(robot: RobotModel, body: int) -> list[int]:
    parent = robot.tree.parent
    return [] if body < 0 else [body, *_way_to_base(robot, int(parent[body]))]


def placed_shapes(
    robot: RobotModel, shapes: Sequence[CollisionShape] | None = None
) -> list[tuple[int, CollisionShape, np.ndarray]]:
    """Shapes with the index of their body, -1 for the base, and their pose in it.

    Args:
        robot: The robot.
        shapes: Shapes of its description; by default those for collisions.
    """
    places = {link.name: (-1, link.pose) for link in robot.base_links}
    places |= {
        link.name: (robot.joint_of_body(link.body) - 1, link.pose) for link in robot.links
    }
    return [
        (places[shape.link][0], shape, places[shape.link][1] @ shape.pose)
        for shape in (collision_shapes(robot.description) if shapes is None else shapes)
        if shape.link in places
    ]


def covering(shape: CollisionShape, body: int, pose: np.ndarray) -> Capsule:
    """The capsule along the longest axis that holds a shape, exactly or from outside.

    Args:
        shape: The shape; a mesh must have been found.
        body: Index of its body, -1 for the base.
        pose: Its pose in the body's frame, shape ``(4, 4)``.

    Raises:
        ModelError: A mesh cannot be read.
    """
    if shape.file is not None:
        vertices = load_hull(shape.file, shape.size).points()
        start, end, radius = covering_segment(vertices @ pose[:3, :3].T + pose[:3, 3])
        return Capsule(shape.link, body, _triple(start), _triple(end), radius, covers=True)
    half = np.zeros(3)
    if shape.kind in ('box', 'ellipsoid'):
        longest = int(np.argmax(shape.size))
        others = np.delete(shape.size, longest)
        # Of a box the edges are farthest out.
        radius = float(np.linalg.norm(others) if shape.kind == 'box' else others.max())
        half[longest] = shape.size[longest] - (radius if shape.kind == 'ellipsoid' else 0.0)
    else:
        radius = shape.size[0]
        half[2] = shape.size[1] if len(shape.size) > 1 else 0.0
    start, end = (pose[:3, :3] @ (sign * half) + pose[:3, 3] for sign in (-1.0, 1.0))
    return Capsule(shape.link, body, _triple(start), _triple(end), radius, covers=True)


def _spans(robot: RobotModel) -> list[tuple[int, np.ndarray]]:
    """From each body, -1 for the base, to the links fixed to it and the bodies it carries."""
    tree = robot.tree
    carried = range(len(robot.pinocchio_model.names) - 1)  # geared rotors have no extent
    spans = [(int(tree.parent[i]), tree.translation[i]) for i in carried]
    spans += [(robot.joint_of_body(link.body) - 1, link.pose[:3, 3]) for link in robot.links]
    return [(body, end) for body, end in spans if np.linalg.norm(end) > 0.0]


def _longest_chain(robot: RobotModel, spans: list[tuple[int, np.ndarray]]) -> float:
    """Length of the longest way along bodies from the base in [m]."""
    parent, translation = robot.tree.parent, robot.tree.translation
    reached = {-1: 0.0}
    for body, before in enumerate(parent):
        reached[body] = reached[int(before)] + float(np.linalg.norm(translation[body]))
    return max((reached[body] + float(np.linalg.norm(end)) for body, end in spans), default=0.0)


def _triple(vector: np.ndarray) -> tuple[float, float, float]:
    x, y, z = (float(value) for value in vector)
    return x, y, z
