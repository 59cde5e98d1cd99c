"""Parameters by link and joint, as those who get them use them: the same numbers as the export."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sysid_ros.errors import ParameterError, ReleaseError, did_you_mean
from sysid_ros.mechanics.actuators.actuators import is_actuator_parameter
from sysid_ros.release.description_export import body_shares
from sysid_ros.release.link_shares import Inertial
from sysid_ros.robot.inertia import central_inertia, inertia_matrix, transform_inertial
from sysid_ros.robot.links import LinkPlacement
from sysid_ros.robot.model import RobotModel
from sysid_ros.robot.parameters import ParameterSet

#: Joint terms that are handed over with the links.
JOINT_FIELDS = (
    'viscous_friction', 'coulomb_friction', 'torque_offset', 'armature', 'stiffness')


def link_inertias(robot: RobotModel, parameters: ParameterSet) -> dict[str, Inertial]:
    """Inertia of every link on a moving body that has one, or had one as described.

    Args:
        robot: The robot that was identified.
        parameters: Its parameters; bodies that are not in it stay as described.

    Returns:
        Numbers as the exported description holds them, by link; zeros for a link whose inertia
        another link has got.

    Raises:
        ReleaseError: A body is physically inconsistent.
    """
    shares = body_shares(robot, parameters)
    written = dict(share.first for share in shares)
    removed = {link for share in shares for link in share.removed}
    found: dict[str, Inertial] = {}
    for link in robot.links:
        if link.name in written:
            found[link.name] = written[link.name]
        elif link.name in removed:
            found[link.name] = Inertial(0.0, np.zeros(3), np.zeros((3, 3)))
        elif link.inertial.any():
            found[link.name] = _described(link)
    return found


def body_inertials(
    robot: RobotModel, inertias: Mapping[str, Inertial]
) -> dict[str, np.ndarray]:
    """Inertial parameters of the moving bodies that links make up.

    Args:
        robot: The robot.
        inertias: Inertia of its links, of all that are described with one.

    Returns:
        Parameters at the joint-frame origin, shape ``(10,)``, by body.

    Raises:
        ParameterError: A link is not on a moving body of the robot, a link or body is missing, or
            a number is not finite.
    """
    placed = {link.name: link for link in robot.links}
    bodies: dict[str, np.ndarray] = {}
    for name, inertial in inertias.items():
        if name not in placed:
            raise ParameterError(
                'there is no such link on a moving body', found=repr(name),
                fix=did_you_mean(name, placed))
        link = placed[name]
        phi = transform_inertial(inertial.parameters, link.pose)
        bodies[link.body] = bodies.get(link.body, np.zeros(10)) + phi
    missing = [body for body in robot.body_names if body not in bodies]
    missing += [
        link.name for link in robot.links if link.inertial.any() and link.name not in inertias]
    if missing:
        raise ParameterError(
            'nothing is known of a link', found=', '.join(dict.fromkeys(missing)))
    return bodies


def require_joint_terms_known(robot: RobotModel, parameters: ParameterSet) -> None:
    """Refuse parameters that links and joints have no place for.

    Whoever gets the others alone would compute other torques. Those of actuators need no place:
    what torque a motion takes does not depend on what makes it.

    Args:
        robot: The robot.
        parameters: Its parameters.

    Raises:
        ReleaseError: The parameters without a place, unless they are zero.
    """
    bodies = {link.body for link in robot.links}
    homeless = [
        name for name, value in zip(parameters.names, parameters.values, strict=True)
        if value != 0.0 and not is_actuator_parameter(name)
        and not _has_place(name, robot, parameters, bodies)
    ]
    if homeless:
        raise ReleaseError(
            'there is no place for parameters that the torques depend on',
            found=', '.join(homeless[:8]) + (', …' if len(homeless) > 8 else ''),
            allowed=f'inertias of links, and of joints {", ".join(JOINT_FIELDS)}',
            fix='Fit with these joint terms and without rotors, or export the YAML',
        )


def _has_place(
    name: str, robot: RobotModel, parameters: ParameterSet, bodies: set[str]
) -> bool:
    owner, _, field = name.rpartition('.')
    if parameters.is_inertial(name):
        return owner in bodies
    return owner in robot.joint_names and field in JOINT_FIELDS


def _described(link: LinkPlacement) -> Inertial:
    phi = transform_inertial(link.inertial, np.linalg.inv(link.pose))
    if phi[0] == 0.0:
        return Inertial(0.0, np.zeros(3), inertia_matrix(phi))
    mass, com, inertia = central_inertia(phi)
    return Inertial(mass, com, 0.5 * (inertia + inertia.T))
