"""The tree of a planar mechanism as a URDF, and what a URDF has no words for."""

from __future__ import annotations

from dataclasses import replace
from math import pi

from lxml import etree

from sysid_ros.robot.description.described import DescribedRobot
from sysid_ros.robot.description.numbers import written_numbers
from sysid_ros.robot.description.planar.planar_tree import PlanarJoint, PlanarLink, PlanarTree
from sysid_ros.robot.loops import WORLD

# Parts of a body's moment of inertia that its mass makes along its first axis, across it, and,
# beside both, out of the plane. A plane tells the sum of the first two alone.
_ALONG, _ACROSS, _THROUGH = 0.7, 0.3, 0.1


def mechanism_urdf(tree: PlanarTree) -> bytes:
    """URDF of the tree of a planar mechanism.

    The plane stands upright: its y axis is z of the world, its z axis -y. Moments of inertia out of
    the plane, which nothing in the plane shows, are those of a body 70 % of whose moment comes from
    along its first axis, 30 % from across, and that is as thick as makes 10 % more.

    Args:
        tree: The tree.
    """
    robot = etree.Element('robot', name=tree.name)
    etree.SubElement(robot, 'link', name=WORLD)
    etree.SubElement(robot, 'link', name=tree.ground)
    upright = etree.SubElement(robot, 'joint', name=f'{tree.ground}_upright', type='fixed')
    etree.SubElement(upright, 'parent', link=WORLD)
    etree.SubElement(upright, 'child', link=tree.ground)
    etree.SubElement(upright, 'origin', xyz='0 0 0', rpy=written_numbers((pi / 2, 0.0, 0.0)))
    for link in tree.links:
        _add_link(robot, link)
    for joint in tree.joints:
        _add_joint(robot, joint, tree)
    etree.indent(robot)
    return etree.tostring(robot, xml_declaration=True, encoding='UTF-8') + b'\n'


def with_mechanism(robot: DescribedRobot, tree: PlanarTree) -> DescribedRobot:
    """A robot that was read from :func:`mechanism_urdf`, with what a URDF cannot say.

    Args:
        robot: What the URDF says.
        tree: The tree that it was made from.

    Returns:
        The robot with gravity, closures, driven joints, where it is assembled, and springs, drives
        and offsets of its angles.
    """
    joints = dict(robot.joints)
    for name, angle in tree.angles.items():
        joints[name] = replace(
            joints[name], armature=angle.armature or 0.0, stiffness=angle.stiffness or 0.0,
            rest=angle.rest, offset=angle.torque_offset or 0.0)
    along, up = tree.gravity
    return replace(
        robot, joints=joints, gravity=(along, 0.0, up), closures=tree.closures,
        actuated=tree.actuated, assembly=tree.assembly, massless=tree.massless)


def _add_link(robot: etree._Element, link: PlanarLink) -> None:
    element = etree.SubElement(robot, 'link', name=link.name)
    if not link.mass:
        return
    inertial = etree.SubElement(element, 'inertial')
    etree.SubElement(inertial, 'origin', xyz=written_numbers((*link.center, 0.0)), rpy='0 0 0')
    etree.SubElement(inertial, 'mass', value=repr(link.mass))
    moments = {
        'ixx': (_ACROSS + _THROUGH) * link.inertia, 'iyy': (_ALONG + _THROUGH) * link.inertia,
        'izz': link.inertia}
    etree.SubElement(inertial, 'inertia', {
        **{name: repr(value) for name, value in moments.items()},
        'ixy': '0', 'ixz': '0', 'iyz': '0'})


def _add_joint(robot: etree._Element, joint: PlanarJoint, tree: PlanarTree) -> None:
    element = etree.SubElement(robot, 'joint', name=joint.name, type=joint.kind)
    etree.SubElement(element, 'parent', link=joint.parent)
    etree.SubElement(element, 'child', link=joint.child)
    x, y, turn = joint.origin
    etree.SubElement(
        element, 'origin', xyz=written_numbers((x, y, 0.0)), rpy=written_numbers((0.0, 0.0, turn)))
    etree.SubElement(element, 'axis', xyz=written_numbers(joint.axis))
    angle = tree.angles.get(joint.name)
    if angle is not None and (angle.viscous_friction or angle.coulomb_friction):
        etree.SubElement(
            element, 'dynamics', damping=repr(angle.viscous_friction or 0.0),
            friction=repr(angle.coulomb_friction or 0.0))
