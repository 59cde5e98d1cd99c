"""The identified robot as an SDF model, as Gazebo reads it: links, inertias, joints, friction.

Every moving body is a link with the joint that carries it; links that are fixed to one another are
one. Shapes are in no robot model and not written: the model moves as the robot, and looks like
nothing.

References:
    SDFormat 1.9, http://sdformat.org/spec
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pinocchio as pin
from lxml import etree

from sysid_ros.release.drive_table import DriveTable, JointDrive, wrapped
from sysid_ros.release.plain_tree import carrier_of, link_inertia, require_plain_tree
from sysid_ros.robot.description.numbers import written_numbers
from sysid_ros.robot.model import RobotModel

_VERSION = '1.9'
# Terms of a joint with a place in <dynamics>.
_HELD = ('viscous_friction', 'coulomb_friction')
_MOMENTS = (('ixx', 0, 0), ('ixy', 0, 1), ('ixz', 0, 2), ('iyy', 1, 1), ('iyz', 1, 2),
            ('izz', 2, 2))


def sdf_model(table: DriveTable) -> str:
    """An SDF with the identified inertias and joint frictions of a robot, its base held.

    Args:
        table: Its drives, with its parameters.

    Raises:
        ReleaseError: Joints follow others, close loops, come several on a body or carry the base,
            or a body is not consistent.
    """
    require_plain_tree(table.robot, 'an SDF', 'sdformat converts a URDF')
    robot = table.robot
    root = etree.Element('sdf', version=_VERSION)
    root.append(etree.Comment(_comment(table)))
    model = etree.SubElement(root, 'model', name=robot.name)
    base = etree.SubElement(model, 'link', name=robot.base_name)
    if robot.base_inertial[0] > 0.0:
        _add_inertial(base, robot.base_name, robot.base_inertial)
    held = etree.SubElement(model, 'joint', name='held_base', type='fixed')
    _add(held, 'parent', 'world')
    _add(held, 'child', robot.base_name)
    for body, drive in enumerate(table.drives):
        _add_joint(model, robot, body, drive)
        link = etree.SubElement(model, 'link', name=robot.body_names[body])
        etree.SubElement(link, 'pose', relative_to=drive.joint)
        _add_inertial(
            link, robot.body_names[body], table.parameters.inertial(robot.body_names[body]))
    etree.indent(root)
    return etree.tostring(root, xml_declaration=True, encoding='utf-8').decode() + '\n'


def _add(parent: etree._Element, tag: str, text: str, **attributes: str) -> None:
    etree.SubElement(parent, tag, attributes).text = text


def _add_joint(model: etree._Element, robot: RobotModel, body: int, drive: JointDrive) -> None:
    tree, kind = robot.tree, robot.joint_types[body]
    carrier = carrier_of(robot, body)
    joint = etree.SubElement(
        model, 'joint', name=drive.joint, type='prismatic' if kind == 'prismatic' else 'revolute')
    turned = pin.Quaternion(tree.rotation[body]).coeffs()
    _add(joint, 'pose', written_numbers([*tree.translation[body], *turned]),
         relative_to=carrier, rotation_format='quat_xyzw')
    _add(joint, 'parent', carrier)
    _add(joint, 'child', robot.body_names[body])
    axis = etree.SubElement(joint, 'axis')
    _add(axis, 'xyz', written_numbers(tree.axis[body]))
    limit = etree.SubElement(axis, 'limit')
    for word, value in (
            ('lower', drive.lower), ('upper', drive.upper), ('effort', drive.effort_limit),
            ('velocity', drive.velocity_limit)):
        if np.isfinite(value):
            _add(limit, word, repr(float(value)))
    dynamics = etree.SubElement(axis, 'dynamics')
    _add(dynamics, 'damping', repr(float(drive.viscous_friction)))
    _add(dynamics, 'friction', repr(float(drive.coulomb_friction)))


def _add_inertial(link: etree._Element, name: str, phi: np.ndarray) -> None:
    mass, com, inertia = link_inertia(name, phi)
    inertial = etree.SubElement(link, 'inertial')
    _add(inertial, 'pose', f'{written_numbers(com)} 0 0 0')
    _add(inertial, 'mass', repr(mass))
    moments = etree.SubElement(inertial, 'inertia')
    for word, row, column in _MOMENTS:
        _add(moments, word, repr(float(inertia[row, column])))


def _comment(table: DriveTable) -> str:
    lines = [
        f'Model of the robot "{table.robot.name}", {table.source}, in [kg], [m], [rad] and [s], '
        'without shapes; its base is held by the joint held_base.',
        f'Gravity of the world has to be {written_numbers(table.robot.gravity)}.']
    left = [f'- {line}' for line in (*_gains(table), *table.left_out(_HELD))]
    lines += ['What has no place here:', *left] if left else ['Nothing is left out.']
    # Two hyphens end a comment.
    text = '\n'.join(part for line in lines for part in wrapped(line)).replace('--', '- -')
    return f'\n{text}\n'


def _gains(table: DriveTable) -> Iterator[str]:
    """What drives resist motion with; plugins of a simulator have gains."""
    for drive in table.drives:
        if drive.kind is not None and (drive.stiffness or drive.damping):
            yield (
                f'{drive.joint}: stiffness {drive.stiffness:.6g} and damping {drive.damping:.6g} '
                f'of the drive, {drive.kind.name}')
