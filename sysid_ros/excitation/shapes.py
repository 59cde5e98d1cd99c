"""Capsules that cover a robot: from its collision shapes, or from the lengths of its links."""

from __future__ import annotations

import numpy as np

from sysid_ros.excitation.clearance import Capsule, SelfClearance
from sysid_ros.excitation.constraints import MotionState
from sysid_ros.robot.collision_shapes import CollisionShape, collision_shapes
from sysid_ros.robot.model import RobotModel

# Bodies without a shape that can be read get a capsule along their length, this thick in parts
# of the length of the whole arm.
_THICKNESS = 0.06


def capsules_of(robot: RobotModel, radius: float | None = None) -> tuple[Capsule, ...]:
    """Capsules around the base and every moving body.

    Simple collision shapes are covered exactly or from outside. A body with meshes, or with
    no shape at all, gets capsules from its origin to those of the bodies it carries.

    Args:
        robot: The robot.
        radius: Radius of capsules made from lengths in [m]; 6 % of the arm's by default.

    Returns:
        The capsules, body by body, the base first.
    """
    shapes = _described_capsules(robot)
    lengths = _spans(robot)
    if radius is None:
        radius = _THICKNESS * float(sum(np.linalg.norm(end) for _, end in lengths))
    origin = (0.0, 0.0, 0.0)
    names = {-1: robot.base_links[0].name if robot.base_links else 'base'}
    names |= {robot.joint_of_body(link.body) - 1: link.body for link in reversed(robot.links)}
    capsules = []
    for body in range(-1, len(robot.pinocchio_model.names) - 1):
        name = names.get(body, '')
        capsules += shapes.get(body, []) or [
            Capsule(name, body, origin, _triple(end), radius)
            for carrier, end in lengths if carrier == body and name
        ] or _end_of_arm(name, body, radius)
    return tuple(capsules)


def _end_of_arm(name: str, body: int, radius: float) -> list[Capsule]:
    """A ball where a body begins that carries no other; the base may have no extent at all."""
    origin = (0.0, 0.0, 0.0)
    return [Capsule(name, body, origin, origin, radius)] if name and body >= 0 else []


def self_clearance(
    robot: RobotModel, capsules: tuple[Capsule, ...], rest: np.ndarray, distance: float = 0.02
) -> SelfClearance:
    """Clearance of all pairs of capsules that could meet.

    Bodies joined by a joint are left out, and so are pairs that touch where the robot rests:
    their shapes overlap by construction.

    Args:
        robot: The robot.
        capsules: Its capsules.
        rest: Joint positions in [rad] or [m] at which the robot is known to be free, ``(n,)``.
        distance: Least distance in [m].
    """
    pairs = np.array([
        (i, j) for i in range(len(capsules)) for j in range(i)
        if apart(robot, capsules[i].body, capsules[j].body)
    ], dtype=int).reshape(-1, 2)
    clearance = SelfClearance(capsules, pairs, distance)
    motion = np.zeros((5, 1, len(robot.joint_names)))
    motion[0, 0] = rest
    free = clearance.slack(MotionState(robot, motion))[0] > 0.0
    return SelfClearance(capsules, pairs[free], distance)


def apart(robot: RobotModel, first: int, second: int) -> bool:
    """Whether two bodies, -1 for the base, are neither the same nor joined by a joint."""
    parent = robot.tree.parent
    joined = (first >= 0 and parent[first] == second) or (second >= 0 and parent[second] == first)
    return first != second and not joined


def placed_shapes(robot: RobotModel) -> list[tuple[int, CollisionShape, np.ndarray]]:
    """Collision shapes with the index of their body, -1 for the base, and their pose in it."""
    places = {link.name: (-1, link.pose) for link in robot.base_links}
    places |= {
        link.name: (robot.joint_of_body(link.body) - 1, link.pose) for link in robot.links
    }
    return [
        (places[shape.link][0], shape, places[shape.link][1] @ shape.pose)
        for shape in collision_shapes(robot.description) if shape.link in places
    ]


def _described_capsules(robot: RobotModel) -> dict[int, list[Capsule]]:
    """Capsules of bodies all of whose shapes are known, by body."""
    capsules: dict[int, list[Capsule]] = {}
    placed = placed_shapes(robot)
    for body, shape, pose in placed:
        if shape.kind != 'mesh':
            capsules.setdefault(body, []).append(_covering(shape, body, pose))
    meshed = {body for body, shape, _ in placed if shape.kind == 'mesh'}
    return {body: own for body, own in capsules.items() if body not in meshed}


def _covering(shape: CollisionShape, body: int, pose: np.ndarray) -> Capsule:
    """The capsule along the longest axis that holds a shape, exactly or from outside."""
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
    return Capsule(shape.link, body, _triple(start), _triple(end), radius)


def _spans(robot: RobotModel) -> list[tuple[int, np.ndarray]]:
    """From each body, -1 for the base, to the origins of the bodies it carries, in its frame."""
    tree = robot.tree
    carried = range(len(robot.pinocchio_model.names) - 1)  # geared rotors have no extent
    return [
        (int(tree.parent[i]), tree.translation[i]) for i in carried
        if np.linalg.norm(tree.translation[i]) > 0.0
    ]


def _triple(vector: np.ndarray) -> tuple[float, float, float]:
    x, y, z = (float(value) for value in vector)
    return x, y, z
