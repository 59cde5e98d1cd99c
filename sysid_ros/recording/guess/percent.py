"""Positions in percent of each joint's range, which data sets of LeRobot may have for degrees."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sysid_ros.errors import RecordingError
from sysid_ros.recording.guess.evidence import Question
from sysid_ros.robot.model import RobotModel

#: What ``--position-unit`` calls them.
PERCENT = '%'
# End of the names of positions in data sets of LeRobot, and the joint that is counted from 0 to 100
# in place of -100 to 100 there.
_LEROBOT, _FROM_ZERO = '.pos', 'gripper'
# Percents end here, and begin there at zero, with what rounding adds; positions that stay below the
# last are radians.
_MOST, _BELOW, _RADIANS = 100.5, -0.5, 7.0


def percent_question(names: Sequence[str], q: np.ndarray) -> Question | None:
    """What to ask of positions that may be degrees or percent of the range alike.

    Args:
        names: Their columns.
        q: Positions as they were recorded, shape ``(T, n)``.

    Returns:
        None where they are not of LeRobot, or can be but one of both.
    """
    largest = float(np.nanmax(np.abs(q), initial=0.0))
    below = [np.nanmin(own, initial=0.0) for name, own in zip(names, q.T, strict=True)
             if name.removesuffix(_LEROBOT).rpartition('.')[2] == _FROM_ZERO]
    if (not all(name.endswith(_LEROBOT) for name in names) or not _RADIANS < largest <= _MOST
            or min(below, default=0.0) < _BELOW):
        return None
    return Question(
        'position-unit', 'Are the positions degrees, deg, or percent of the range of a joint, %?',
        f'a data set of LeRobot, which has either; positions go to {largest:.4g}, as both may (its '
        "robots have use_degrees; % takes the limits of the description for each joint's range)",
        'deg')


def percent_of_range(
    joints: Sequence[str], robot: RobotModel
) -> tuple[list[float], list[float]]:
    """Scale and offset in [rad] or [m] that make positions of percent, by joint.

    Args:
        joints: The joints.
        robot: The robot, whose limits are the ranges.

    Raises:
        RecordingError: A joint has no limits.
    """
    scales, offsets = [], []
    for joint in joints:
        k = robot.joint_index(joint)
        lower, upper = float(robot.limits.lower[k]), float(robot.limits.upper[k])
        if not (np.isfinite(lower) and np.isfinite(upper) and lower < upper):
            raise RecordingError(
                'a joint has no limits that positions could be percent of',
                where='--position-unit %', found=joint,
                fix='Say the radians of one percent, --position-scale, and --position-offset')
        size = upper - lower
        scales.append(size / (100.0 if joint == _FROM_ZERO else 200.0))
        offsets.append(lower if joint == _FROM_ZERO else round(0.5 * (lower + upper), 9))
    return scales, offsets
