"""Loops that an MJCF closes by ``connect`` and ``weld``, and the joints it drives."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pinocchio as pin
from lxml import etree

from sysid_ros.robot.loops import WORLD, ClosureKind, LoopClosure
from sysid_ros.robot.mjcf_tree import MjcfBody
from sysid_ros.robot.mjcf_values import Classes, plain_attributes, values_of


def read_closures(root: etree._Element, bodies: Sequence[MjcfBody]) -> tuple[LoopClosure, ...]:
    """Active ``connect`` and ``weld`` equalities of a checked MJCF.

    MuJoCo holds the bodies as they are drawn: the anchor in the second body of a ``connect``, and
    the pose of a ``weld`` that gives none, are those at the reference positions of all joints.

    Args:
        root: The ``<mujoco>`` element.
        bodies: All bodies, parents first, the world at the beginning.
    """
    drawn: dict[int, np.ndarray] = {-1: np.eye(4)}
    for body in bodies:
        drawn[body.index] = drawn[body.parent] @ body.pose
    poses = {body.name: drawn[body.index] for body in bodies}
    found: list[LoopClosure] = []
    for group in root.findall('equality'):
        for element in group.iterchildren('connect', 'weld'):
            given = plain_attributes(element)
            if given.get('active', 'true') == 'true':
                found.append(_closure(element, given, poses, len(found)))
    return tuple(found)


def _closure(
    element: etree._Element, given: dict[str, str], poses: dict[str, np.ndarray], index: int
) -> LoopClosure:
    links = given['body1'], given.get('body2', WORLD)
    second_from_first = np.linalg.inv(poses[links[1]]) @ poses[links[0]]
    place = np.eye(4)
    if element.tag == 'connect':
        place[:3, 3] = values_of(given, 'anchor', (0.0, 0.0, 0.0))
        pair = place, second_from_first @ place
    else:
        # The pose of the second body in the first; a quaternion of zeros asks for the drawn one.
        *position, w, x, y, z = values_of(given, 'relpose', (0.0,) * 7)
        if any((w, x, y, z)):
            turn = pin.Quaternion(w, x, y, z).normalized().matrix()
            place = pin.SE3(turn, np.array(position)).homogeneous
            pair = place, np.eye(4)
        else:
            pair = place, second_from_first
    name = element.get('name') or f'{element.tag} {index + 1}'
    kind: ClosureKind = 'point' if element.tag == 'connect' else 'frame'
    return LoopClosure(name, kind, links, np.array(pair))


def actuated_joints(root: etree._Element) -> tuple[str, ...]:
    """Joints that an actuator acts on, each once, in the order of the document.

    Args:
        root: The ``<mujoco>`` element.
    """
    classes = Classes(root)
    names: dict[str, None] = {}
    for group in root.findall('actuator'):
        for element in group.iterchildren(etree.Element):
            given = classes.attributes(element)
            name = given.get('joint', given.get('jointinparent'))
            if name:
                names[name] = None
    return tuple(names)
