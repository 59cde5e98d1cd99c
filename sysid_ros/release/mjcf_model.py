"""The identified robot as an MJCF model, as MuJoCo reads it: bodies, joints, friction, actuators.

For robots whose description is none; the MJCF of one that is keeps all that is in it. Every moving
body is a body with the joint that carries it; links that are fixed to one another are one. Shapes
are in no robot model and not written.

References:
    MJCF, https://mujoco.readthedocs.io/en/stable/XMLreference.html
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pinocchio as pin
from lxml import etree

from sysid_ros.release.drive_table import DriveTable, JointDrive, wrapped
from sysid_ros.release.mjcf_actuators import actuator_tag, actuators_left_out
from sysid_ros.release.mjcf_document import HARD_FRICTION
from sysid_ros.release.plain_tree import link_inertia, require_plain_tree
from sysid_ros.robot.description.numbers import written_numbers

# Terms of a joint with a place; of delay and torque that falls with speed sentences tell.
_HELD = (
    'viscous_friction', 'coulomb_friction', 'armature', 'stall_torque', 'delay', 'time_constant')
_WORLD = 'world'


def mjcf_model(table: DriveTable) -> str:
    """An MJCF with the identified inertias, joints and actuators of a robot, its base held.

    Args:
        table: Its drives, with its parameters.

    Raises:
        ReleaseError: Joints follow others, close loops, come several on a body or carry the base,
            or a body is not consistent.
    """
    require_plain_tree(table.robot, 'an MJCF', 'MuJoCo loads a URDF')
    robot = table.robot
    root = etree.Element('mujoco', model=robot.name)
    root.append(etree.Comment(_comment(table)))
    etree.SubElement(root, 'compiler', angle='radian', autolimits='true')
    etree.SubElement(root, 'option', gravity=written_numbers(robot.gravity))
    base = etree.SubElement(root, 'worldbody')
    if robot.base_name != _WORLD:
        base = etree.SubElement(base, 'body', name=robot.base_name)
        if robot.base_inertial[0] > 0.0:
            _add_inertial(base, robot.base_name, robot.base_inertial)
    bodies: list[etree._Element] = []
    for k, drive in enumerate(table.drives):
        parent = robot.tree.parent[k]
        bodies.append(_add_body(base if parent < 0 else bodies[parent], table, k, drive))
    if table.actuators is not None:
        section = etree.SubElement(root, 'actuator')
        for each in table.actuators.joints:
            section.append(etree.fromstring(actuator_tag(each, table.parameters)))
    etree.indent(root)
    return etree.tostring(root, xml_declaration=True, encoding='utf-8').decode() + '\n'


def _add_body(
    parent: etree._Element, table: DriveTable, k: int, drive: JointDrive
) -> etree._Element:
    robot, name = table.robot, table.robot.body_names[k]
    x, y, z, w = pin.Quaternion(robot.tree.rotation[k]).coeffs()
    body = etree.SubElement(
        parent, 'body', name=name, pos=written_numbers(robot.tree.translation[k]),
        quat=written_numbers([w, x, y, z]))
    slides = robot.joint_types[k] == 'prismatic'
    etree.SubElement(body, 'joint', {
        'name': drive.joint, 'type': 'slide' if slides else 'hinge',
        'axis': written_numbers(robot.tree.axis[k]), **_limits(table, drive),
        'damping': repr(drive.viscous_friction), 'frictionloss': repr(drive.coulomb_friction),
        'armature': repr(drive.armature), **HARD_FRICTION})
    _add_inertial(body, name, table.parameters.inertial(name))
    return body


def _limits(table: DriveTable, drive: JointDrive) -> dict[str, str]:
    """Limits of a joint; that of its torque where no actuator says it."""
    found = {}
    if np.isfinite([drive.lower, drive.upper]).all():
        found['range'] = written_numbers([drive.lower, drive.upper])
    if drive.kind is None and np.isfinite(drive.effort_limit):
        found['actuatorfrcrange'] = written_numbers([-drive.effort_limit, drive.effort_limit])
    return found


def _add_inertial(body: etree._Element, name: str, phi: np.ndarray) -> None:
    mass, com, inertia = link_inertia(name, phi)
    entries = [inertia[row, column] for row, column in (
        (0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
    etree.SubElement(
        body, 'inertial', pos=written_numbers(com), mass=repr(mass),
        fullinertia=written_numbers(entries))


def _comment(table: DriveTable) -> str:
    lines = [
        f'Model of the robot "{table.robot.name}", {table.source}, in [kg], [m], [rad] and [s], '
        'without shapes; its base is held.']
    left = [f'- {line}' for line in _left_out(table)]
    lines += ['What has no place here:', *left] if left else ['Nothing is left out.']
    # Two hyphens end a comment.
    text = '\n'.join(part for line in lines for part in wrapped(line)).replace('--', '- -')
    return f'\n{text}\n'


def _left_out(table: DriveTable) -> Iterator[str]:
    for drive in table.drives:
        if np.isfinite(drive.velocity_limit):
            yield f'{drive.joint}: velocity limit {drive.velocity_limit:.6g}'
    if table.actuators is not None:
        yield from actuators_left_out(table.actuators, table.parameters)
    yield from table.left_out(_HELD)
