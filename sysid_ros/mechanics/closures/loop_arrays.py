"""The loops of a robot alone as the plain arrays that kernels walk, without what carries them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sysid_ros.mechanics.closures.closure_arrays import Closures, closures_of_joints
from sysid_ros.robot.loops import Loops
from sysid_ros.robot.model import RobotModel


class LoopArrays(NamedTuple):
    """The bodies between the ends of closures and their common ancestors, and the closures.

    Attributes:
        parent: As in :class:`~sysid_ros.robot.tree.KinematicTree` with the next four, but -1 for a
            body on the common ancestor, which counts as the world.
        rotation: Shape ``(b, 3, 3)``.
        translation: Shape ``(b, 3)``.
        axis: Shape ``(b, 3)``.
        revolute: Shape ``(b,)``.
        source: Joint of the robot that a body follows, shape ``(b,)``.
        ratio: Its motion per motion of that joint, shape ``(b,)``.
        offset: Its position in [rad] or [m] where that is zero, shape ``(b,)``.
        coordinate: Joints of the columns: the u passive ones, then the d driven ones that any
            loop depends on, shape ``(u + d,)``.
        closures: What closes the loops, with these columns.
    """

    parent: np.ndarray
    rotation: np.ndarray
    translation: np.ndarray
    axis: np.ndarray
    revolute: np.ndarray
    source: np.ndarray
    ratio: np.ndarray
    offset: np.ndarray
    coordinate: np.ndarray
    closures: Closures


def loop_arrays(robot: RobotModel, loops: Loops) -> LoopArrays:
    """Read the loops of a robot into arrays.

    Args:
        robot: The robot.
        loops: Its loops.

    Raises:
        ModelError: As for :func:`~sysid_ros.mechanics.closures.closure_arrays.closures_of_joints`.
    """
    tree, closures = robot.tree, closures_of_joints(robot, loops.closures)
    bodies = np.unique(closures.body)
    coordinate = np.concatenate(
        [loops.passive, np.intersect1d(loops.actuated, closures.column)])
    # What is no body of a loop, -1 among it, carries loops as a whole.
    among_loops = np.full(len(tree.parent) + 1, -1)
    among_loops[bodies] = np.arange(len(bodies))
    column_of = np.zeros(len(loops.joint_names), dtype=np.int64)
    column_of[coordinate] = np.arange(len(coordinate))
    source = np.argmax(np.abs(tree.coupling[bodies]), axis=1)
    return LoopArrays(
        parent=among_loops[tree.parent[bodies]], rotation=tree.rotation[bodies],
        translation=tree.translation[bodies], axis=tree.axis[bodies],
        revolute=tree.revolute[bodies], source=source, ratio=tree.coupling[bodies, source],
        offset=tree.coupling_offset[bodies], coordinate=coordinate,
        closures=closures._replace(
            ends=among_loops[closures.ends], body=among_loops[closures.body],
            column=column_of[closures.column]))
