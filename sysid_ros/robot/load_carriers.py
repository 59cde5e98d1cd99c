"""Bodies that carry loads: the end of a chain, or what holds the fingers of a gripper."""

from __future__ import annotations

import numpy as np

from sysid_ros.errors import ConfigurationError
from sysid_ros.robot.model import RobotModel


def load_carriers(robot: RobotModel) -> tuple[str, ...]:
    """Bodies at the ends of a robot, in the order of its joints.

    Ends that one moving body holds next to each other are the fingers of a gripper: the load is
    between them, and moves with that body.

    Args:
        robot: The robot.
    """
    parents = robot.pinocchio_model.parents
    bodies = {robot.joint_of_body(link.body): link.body for link in robot.links}
    ends = [joint for joint in bodies if joint not in set(parents)]
    children = {
        joint: [own for own in bodies if parents[own] == joint] for joint in bodies}
    hands = {
        joint for joint, held in children.items() if len(held) > 1 and set(held) <= set(ends)}
    carriers = dict.fromkeys(
        parents[joint] if parents[joint] in hands else joint for joint in sorted(ends))
    return tuple(bodies[joint] for joint in carriers)


def chain_to(robot: RobotModel, body: str) -> tuple[tuple[str, ...], float]:
    """Bodies from the base to one of them, and how far it is from joint to joint.

    Args:
        robot: The robot.
        body: The last of them.

    Returns:
        Their names, the last first, and the sum of the distances of their joints in [m].
    """
    model = robot.pinocchio_model
    bodies = {robot.joint_of_body(link.body): link.body for link in robot.links}
    joint, names, length = robot.joint_of_body(body), list[str](), 0.0
    while joint > 0:
        names += [bodies[joint]] if joint in bodies else []
        length += float(np.linalg.norm(model.jointPlacements[joint].translation))
        joint = model.parents[joint]
    return tuple(names), length


def last_body(robot: RobotModel, name: str | None = None) -> str:
    """The body a payload hangs on.

    Args:
        robot: The robot.
        name: A link; by default the end of the chain, or what holds the fingers of a gripper.

    Returns:
        The body that the link is part of.

    Raises:
        ConfigurationError: There is no such moving link, or the robot has several ends.
    """
    bodies = {link.name: link.body for link in robot.links}
    if name is not None:
        if name not in bodies:
            raise ConfigurationError(
                'there is no such moving link', where='payload', found=repr(name),
                allowed=', '.join(bodies), fix='Name the link that holds the load')
        return bodies[name]
    carriers = load_carriers(robot)
    if len(carriers) != 1:
        raise ConfigurationError(
            'the robot has more than one end', where='payload', found=', '.join(carriers),
            fix='Name the link that carries the load',
        )
    return carriers[0]
