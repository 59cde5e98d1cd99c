"""Identified parameters written into the file of the planar mechanism that they are of."""

from __future__ import annotations

from typing import Any

import yaml

from sysid_ros.robot.description.planar.mechanism_settings import FORCES
from sysid_ros.robot.description.planar.planar_tree import PlanarLink
from sysid_ros.robot.model import RobotModel
from sysid_ros.robot.parameters import ParameterSet

_HEADER = """\
# The planar mechanism "{name}" as identified: masses, centres and moments of inertia of its bodies,
# and what acts along its angles. Springs rest at zero: where else shows in torque_offset.
"""


def identified_mechanism(
    robot: RobotModel, parameters: ParameterSet
) -> tuple[str, tuple[str, ...]]:
    r"""The file of a planar mechanism with identified parameters, and what it has no place for.

    Moments of inertia go from the joint of a body back to its first point:
    :math:`I_1 = I + 2 s \cdot mc + m s^2`, where s is the way from the first point to the joint.

    Args:
        robot: A robot whose description is a planar mechanism.
        parameters: Its parameters.

    Returns:
        YAML of :class:`.MechanismSettings`, and sentences on parameters that are not in it.
    """
    mechanism = robot.description.mechanism
    assert mechanism is not None
    tree = mechanism.tree
    content = mechanism.settings.model_dump(mode='json', exclude_unset=True)
    for link in tree.links:
        if link.name in parameters.bodies:
            content['bodies'][link.name] |= _body(link, parameters)
    for name in tree.angles:
        content['angles'][name] = _angle(content['angles'][name], name, parameters)
    text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, default_flow_style=None)
    return _HEADER.format(name=tree.name) + text, _notes(robot, parameters)


def _body(link: PlanarLink, parameters: ParameterSet) -> dict[str, Any]:
    """Mass, centre and moment of inertia about the first point."""
    phi = parameters.inertial(link.name)
    mass, (x, y) = float(phi[0]), link.shift
    first_x, first_y = float(phi[1] + mass * x), float(phi[2] + mass * y)
    inertia = phi[9] + 2.0 * (x * phi[1] + y * phi[2]) + mass * (x * x + y * y)
    return {
        'mass': mass, 'center': [first_x / mass, first_y / mass], 'inertia': float(inertia)}


def _angle(given: dict[str, Any], name: str, parameters: ParameterSet) -> dict[str, Any]:
    """An angle with what was identified along it, and nothing else."""
    kept = {key: value for key, value in given.items() if key not in FORCES and key != 'rest'}
    return kept | {
        key: float(parameters[f'{name}.{key}']) for key in FORCES if f'{name}.{key}' in parameters}


def _notes(robot: RobotModel, parameters: ParameterSet) -> tuple[str, ...]:
    mechanism = robot.description.mechanism
    assert mechanism is not None
    missing = [
        name for name in parameters.names
        if not parameters.is_inertial(name) and parameters[name] != 0.0 and not (
            (joint := name.rpartition('.'))[0] in mechanism.tree.angles and joint[2] in FORCES)]
    if not missing:
        return ()
    return (
        f'The file of the mechanism has no place for {", ".join(missing)}: the YAML export holds '
        f'{"it" if len(missing) == 1 else "them"}.',)
