"""URDFs as MuJoCo can load them: without shapes, with locked joints fixed."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pinocchio as pin
from lxml import etree

from sysid_ros.robot.couplings import held_positions, read_mimics
from sysid_ros.robot.description.safe_xml import attribute, parse_xml


def urdf_for_mujoco(
    xml: bytes, locked: Mapping[str, float] | None = None, *, inertials: bool = True
) -> str:
    """A URDF without shapes, whose meshes MuJoCo could not read, and with every link kept.

    Inertias of links that stand still go, too: nobody needs them, and MuJoCo refuses wrong ones.

    Args:
        xml: A URDF that was checked.
        locked: Positions of joints to fix in [rad] or [m]; what follows them is fixed, too.
        inertials: Whether links that move keep their inertias; else they have next to none.
    """
    root = parse_xml(xml, 'the robot description')
    _fix_joints(root, locked or {})
    moving = _moving_links(root)
    for link in root.findall('link'):
        still = () if inertials and link.get('name') in moving else ('inertial',)
        for kind in ('visual', 'collision', *still):
            for element in link.findall(kind):
                link.remove(element)
    for element in [e for e in root if e.tag not in ('link', 'joint')]:
        root.remove(element)
    options = etree.SubElement(root, 'mujoco')
    # Links without mass get next to none: MuJoCo refuses those that move.
    etree.SubElement(options, 'compiler', {
        'fusestatic': 'false', 'boundmass': '1e-12', 'boundinertia': '1e-12'})
    return str(etree.tostring(root, encoding='unicode'))


def _fix_joints(root: etree._Element, locked: Mapping[str, float]) -> None:
    """Put locked joints at their positions, and make them fixed."""
    mimics, _ = read_mimics(root)
    held = held_positions(mimics, locked)
    for joint in root.findall('joint'):
        name = attribute(joint, 'name')
        if name not in held:
            continue
        pose = _pose(joint) * _displacement(joint, held[name])
        for part in list(joint):
            if part.tag not in ('parent', 'child'):
                joint.remove(part)
        joint.set('type', 'fixed')
        etree.SubElement(joint, 'origin', {
            'xyz': _numbers(pose.translation), 'rpy': _numbers(pin.rpy.matrixToRpy(pose.rotation))})


def _pose(joint: etree._Element) -> pin.SE3:
    """Where a joint is in its parent's frame."""
    origin = joint.find('origin')
    xyz, rpy = (
        np.array((origin.get(key, '0 0 0') if origin is not None else '0 0 0').split(), dtype=float)
        for key in ('xyz', 'rpy'))
    return pin.SE3(pin.rpy.rpyToMatrix(*rpy), xyz)


def _displacement(joint: etree._Element, position: float) -> pin.SE3:
    """What a joint does at a position in [rad] or [m]."""
    element = joint.find('axis')
    axis = np.array(
        ('1 0 0' if element is None else element.get('xyz', '1 0 0')).split(), dtype=float)
    axis /= np.linalg.norm(axis)
    if joint.get('type') == 'prismatic':
        return pin.SE3(np.eye(3), position * axis)
    return pin.SE3(pin.exp3(position * axis), np.zeros(3))


def _numbers(values: np.ndarray) -> str:
    return ' '.join(map(repr, values.tolist()))


def _moving_links(root: etree._Element) -> set[str]:
    """Links below a joint that moves."""
    joints = {_link(joint, 'child'): joint for joint in root.findall('joint')}

    def moves(link: str) -> bool:
        joint = joints.get(link)
        if joint is None:
            return False
        return joint.get('type') != 'fixed' or moves(_link(joint, 'parent'))

    return {link for link in joints if moves(link)}


def _link(joint: etree._Element, end: str) -> str:
    return str(joint.xpath(f'string({end}/@link)'))
