"""A tree and what closes its loops, made one robot whose passive joints follow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pinocchio as pin

from sysid_ros.errors import ModelError, did_you_mean
from sysid_ros.robot.description.described import DescribedRobot
from sysid_ros.robot.loops import WORLD, LoopClosure, Loops, LoopSettings

if TYPE_CHECKING:
    from sysid_ros.robot.model import RobotModel


def with_loops(
    robot: RobotModel,
    closures: Sequence[LoopClosure],
    actuated: Sequence[str],
    assembly: Mapping[str, float] | None = None,
) -> RobotModel:
    """The robot with loops closed: the driven joints are its joints, the others follow.

    Args:
        robot: The tree that is left when the loops are cut; joints of a floating base count as
            driven.
        closures: What closes the loops.
        actuated: The driven joints, in any order.
        assembly: Positions in [rad] or [m] of joints near which the loops are closed.

    Returns:
        The robot, whose ``opened`` is the tree again. Whether its loops can be closed is found
        out when its motion is asked for, and when a torque model is made of it.

    Raises:
        ModelError: A link or joint does not exist, a name is used twice, no closure or no
            passive joint is there, or the loops are closed already.
    """
    if robot.loops is not None:
        raise ModelError(
            'the loops of the robot are closed already', where=robot.name,
            fix='Name the loops once, in the MJCF or in robot: {loops: loops.yaml}')
    names = robot.joint_names
    driven = {robot.joint_index(name) for name in (*actuated, *robot.base_joints)}
    if not closures:
        raise ModelError(
            'nothing closes a loop', where=robot.name, found='no closures',
            fix='Name a closure, or use the robot as the tree it is',
        )
    if len(driven) == len(names):
        raise ModelError(
            'all joints are driven, so none can follow a loop', where=robot.name,
            found=', '.join(names), fix='List only the joints with motors as actuated',
        )
    if not driven:
        raise ModelError(
            'no joint is driven', where=robot.name, allowed=', '.join(names),
            fix='Name those with a drive in the file of the loops, actuated: [joint_1]')
    _check_names(robot, closures)
    start = np.zeros(len(names))
    for name, position in (assembly or {}).items():
        start[robot.joint_index(name)] = position
    loops = Loops(tuple(closures), names, np.array(sorted(driven)), start)
    return replace(
        robot,
        joint_names=tuple(names[k] for k in loops.actuated),
        joint_types=tuple(robot.joint_types[k] for k in loops.actuated),
        limits=robot.limits.of(loops.actuated),
        passive_joints=loops.passive_names,
        loops=loops,
    )


def with_described_loops(
    robot: RobotModel, described: DescribedRobot, settings: LoopSettings | None
) -> RobotModel:
    """The robot with the loops closed that its description and a settings file name.

    Args:
        robot: The tree as described.
        described: Its description.
        settings: Further closures, driven joints and where to assemble; None for none.

    Raises:
        ModelError: As for :func:`with_loops`, or nobody says which joints are driven.
    """
    chosen = settings or LoopSettings()
    closures = [*described.closures, *(entry.closure() for entry in chosen.closures)]
    if not closures and settings is None:
        return robot
    actuated = chosen.actuated
    if actuated is None:
        actuated = tuple(name for name in described.actuated if name in robot.joint_names)
        if not actuated:
            raise ModelError(
                'the robot has closed loops, and it is not said which joints are driven',
                where=robot.name, allowed=', '.join(robot.joint_names),
                fix='Name them under actuated in the settings of the loops, or give an MJCF '
                'actuators',
            )
    return with_loops(
        robot, closures, actuated, {**described.assembly, **chosen.assembly})


def _check_names(robot: RobotModel, closures: Sequence[LoopClosure]) -> None:
    seen: set[str] = set()
    for closure in closures:
        if closure.name in seen:
            raise ModelError(
                'two closures have the same name', where='closures', found=repr(closure.name),
                fix='Give each closure a name of its own')
        seen.add(closure.name)
        # Also links without mass, which are none of a moving body.
        known = {
            frame.name for frame in robot.pinocchio_model.frames
            if frame.type == pin.FrameType.BODY} | {WORLD}
        for link in closure.links:
            if link not in known:
                raise ModelError(
                    'there is no such link to close a loop at', where=f'closure {closure.name!r}',
                    found=repr(link), allowed=', '.join(sorted(known)),
                    fix=did_you_mean(link, known),
                )
