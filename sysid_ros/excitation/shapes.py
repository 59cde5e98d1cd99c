"""Capsules that cover a robot: from its collision shapes, or from the lengths of its links."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from lxml import etree

from sysid_ros.excitation.clearance import Capsule, SelfClearance
from sysid_ros.excitation.constraints import MotionState
from sysid_ros.robot.model import RobotModel
from sysid_ros.robot.numbers import number_of, vector_of

# Bodies without a shape that can be read get a capsule along their length, this thick in parts
# of the length of the whole arm.
_THICKNESS = 0.06


def capsules_of(robot: RobotModel, radius: float | None = None) -> tuple[Capsule, ...]:
    """Capsules around the base and every moving body.

    Spheres, cylinders and boxes among the collision shapes of a URDF are covered exactly or
    from outside. Meshes are not loaded, and neither are the geoms of an MJCF: a body without
    a shape that is read gets capsules from its origin to those of the bodies it carries.

    Args:
        robot: The robot.
        radius: Radius of capsules made from lengths in [m]; 6 % of the arm's by default.

    Returns:
        The capsules, body by body, the base first.
    """
    shapes = _described_shapes(robot)
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
    parent = robot.tree.parent
    pairs = np.array([
        (i, j) for i in range(len(capsules)) for j in range(i)
        if (first := capsules[i].body) != (second := capsules[j].body)
        and parent[first] != second and (second < 0 or parent[second] != first)
    ], dtype=int).reshape(-1, 2)
    clearance = SelfClearance(capsules, pairs, distance)
    motion = np.zeros((5, 1, len(robot.joint_names)))
    motion[0, 0] = rest
    free = clearance.slack(MotionState(robot, motion))[0] > 0.0
    return SelfClearance(capsules, pairs[free], distance)


def _described_shapes(robot: RobotModel) -> dict[int, list[Capsule]]:
    """Capsules of the primitives in the description, by body, -1 for the base."""
    elements = {link.get('name'): link for link in robot.description.root.findall('link')}
    placed = [(-1, link) for link in robot.base_links]
    placed += [(robot.joint_of_body(link.body) - 1, link) for link in robot.links]
    shapes: dict[int, list[Capsule]] = {}
    for body, link in placed:
        element = elements.get(link.name)
        for collision in () if element is None else element.findall('collision'):
            capsule = _capsule(link.name, body, link.pose, collision)
            if capsule is not None:
                shapes.setdefault(body, []).append(capsule)
    return shapes


def _capsule(
    name: str, body: int, link: np.ndarray, collision: etree._Element
) -> Capsule | None:
    """The capsule around a collision shape, or None around one that is not a primitive."""
    geometry, origin = collision.find('geometry'), collision.find('origin')
    shape = None if geometry is None else next(iter(geometry), None)
    if shape is None or shape.tag not in ('sphere', 'cylinder', 'box'):
        return None
    half, radius = np.zeros(3), number_of(shape, 'radius', 0.0)
    if shape.tag == 'cylinder':
        half[2] = 0.5 * number_of(shape, 'length', 0.0)
    elif shape.tag == 'box':
        sides = 0.5 * np.array(vector_of(shape, 'size'))
        longest = int(np.argmax(sides))
        half[longest] = sides[longest]
        radius = float(np.linalg.norm(np.delete(sides, longest)))
    pose = link @ pin.SE3(
        pin.rpy.rpyToMatrix(*vector_of(origin, 'rpy')), np.array(vector_of(origin, 'xyz'))
    ).homogeneous
    start, end = (pose[:3, :3] @ (sign * half) + pose[:3, 3] for sign in (-1.0, 1.0))
    return Capsule(name, body, _triple(start), _triple(end), radius)


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
