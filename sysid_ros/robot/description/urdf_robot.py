"""A URDF in the words that all formats share."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from lxml import etree

from sysid_ros.errors import ModelError
from sysid_ros.robot.couplings import read_mimics
from sysid_ros.robot.description.described import DescribedJoint, DescribedRobot
from sysid_ros.robot.description.numbers import number_of, vector_of
from sysid_ros.robot.description.planar.mechanism_urdf import with_mechanism
from sysid_ros.robot.description.safe_xml import attribute
from sysid_ros.robot.description.urdf import (
    RobotDescription,
    inertial_is_readable,
    kinematic_description,
)
from sysid_ros.robot.inertia import inertial_parameters


def urdf_robot(description: RobotDescription) -> DescribedRobot:
    """Read a checked URDF.

    Args:
        description: A URDF without fatal findings.

    Raises:
        ModelError: Pinocchio cannot load it.
    """
    root = description.root
    try:
        model = pin.buildModelFromXML(kinematic_description(description))
    except (RuntimeError, ValueError) as error:
        raise ModelError(
            f'the description cannot be loaded: {error}', where=description.where,
            fix='See the findings of the model check',
        ) from error
    mimics, held = read_mimics(root)
    robot = DescribedRobot(
        name=root.get('name', 'robot'),
        model=model,
        joints={
            attribute(joint, 'name'): _joint(joint)
            for joint in root.findall('joint') if joint.get('type') != 'fixed'
        },
        inertials={
            attribute(link, 'name'): described_inertial(link) for link in root.findall('link')
        },
        mimics=mimics,
        held=held,
    )
    mechanism = description.mechanism
    return robot if mechanism is None else with_mechanism(robot, mechanism.tree)


def _joint(joint: etree._Element) -> DescribedJoint:
    """Limits as written; Pinocchio's own have no way to say that one is missing."""
    limit, dynamics = joint.find('limit'), joint.find('dynamics')
    kind = attribute(joint, 'type')
    endless = kind == 'continuous' or limit is None
    return DescribedJoint(
        kind=kind,
        lower=-np.inf if endless else number_of(limit, 'lower', 0.0),
        upper=np.inf if endless else number_of(limit, 'upper', 0.0),
        velocity=number_of(limit, 'velocity', np.nan),
        effort=number_of(limit, 'effort', np.nan),
        damping=number_of(dynamics, 'damping', 0.0),
        friction=number_of(dynamics, 'friction', 0.0),
    )


def described_inertial(link: etree._Element) -> np.ndarray:
    """Inertial parameters in the link frame as written, shape ``(10,)``.

    Zeros where ``<inertial>`` is absent or not readable; the preflight check names those.
    """
    inertial = link.find('inertial')
    if inertial is None or not inertial_is_readable(inertial):
        return np.zeros(10)
    mass = number_of(inertial.find('mass'), 'value', 0.0)
    entries = inertial.find('inertia')
    xx, xy, xz, yy, yz, zz = (
        number_of(entries, entry, 0.0) for entry in ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')
    )
    origin = inertial.find('origin')
    com = vector_of(origin, 'xyz')
    rotation = pin.rpy.rpyToMatrix(*vector_of(origin, 'rpy'))
    central = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return inertial_parameters(mass, np.array(com), rotation @ central @ rotation.T)
