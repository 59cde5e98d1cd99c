"""Options of ``sysid init``: what a recording does not tell, and values as options say them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from sysid_ros.errors import RecordingError, did_you_mean

#: What may be known of a recording, by the name of the option of ``sysid init``: placeholder of its
#: value, and what it is.
OPTIONS: Mapping[str, tuple[str, str]] = {
    'joints': ('JOINT,…', 'joints of the robot, in the order of the columns'),
    'time': ('COLUMN', 'column or array of the stamps'),
    'rate': ('HZ', 'rows a second, where there are no stamps'),
    'time-unit': ('UNIT', 's, ms, us or ns'),
    'position': ('COLUMNS', "columns of the positions: names, a pattern ('q_*') or numbers (1-7)"),
    'velocity': ('COLUMNS', 'columns of the velocities'),
    'effort': ('COLUMNS', 'columns of the torques, or of the currents'),
    'unpowered': ('JOINT,…', 'joints that nothing drives, which need no torque; all: a free swing'),
    'command': ('COLUMNS', 'columns, or topic, of what drives were told, where no torque was '
                'recorded'),
    'actuator': ('KIND', 'what drives make of commands: position_servo, velocity_servo, current, '
                 'dc_motor or torque'),
    'constants': ('NAME=VALUE,…', "constants of the drives, as kp=20,kd=0.5, or by joints, as "
                  "'kp=20,kd=0.5; *_calf: kp=40'; those of an MJCF where it has them"),
    'command-unit': ('UNIT', 'unit of what drives were told: rad, deg, rad/s, A, mA, V, 1 for a '
                     'duty cycle, %, …'),
    'command-scale': ('NUMBER,…', 'rad, rad/s, A, or part of a full duty cycle, of one count of '
                      'the commands, one or one for each joint'),
    'sought': ('NAME,…', 'those of them that the fit is to find'),
    'position-unit': ('UNIT', "rad, deg, rev, or % of each joint's range"),
    'position-scale': ('RAD,…', 'radians or metres of one count of the positions, one or one for '
                       'each joint'),
    'position-offset': ('RAD,…', 'what is added to positions, one or one for each joint'),
    'effort-unit': ('UNIT', 'N·m, N·mm, kgf·cm, …'),
    'effort-scale': ('N·m,…', 'torque at the joint of one unit of effort, one or one for each '
                     "joint; 'description': as its masses make it"),
    'topic': ('TOPIC', "topic of a bag's joint states"),
}


#: What is said of joints that nothing drives where that is all of them.
ALL_JOINTS = 'all'


def unpowered_joints(told: Mapping[str, str], joints: Sequence[str]) -> tuple[str, ...]:
    """Joints of a recording that nothing drives, as the option says them.

    Args:
        told: What is known, by option.
        joints: Joints that were recorded.

    Raises:
        RecordingError: One of them was not recorded.
    """
    text = told.get('unpowered', '')
    if text == ALL_JOINTS:
        return tuple(joints)
    said = tuple(filter(None, map(str.strip, text.split(','))))
    strange = [joint for joint in said if joint not in joints]
    if strange:
        raise RecordingError(
            '--unpowered names no joint that was recorded', found=', '.join(strange),
            allowed=', '.join((*joints, ALL_JOINTS)), fix=did_you_mean(strange[0], joints)
            or 'Name joints of the robot whose positions were recorded')
    return tuple(joint for joint in joints if joint in said)


def one_or_each(values: Sequence[Any]) -> Any:
    """Values as settings say them: one for all joints that have the same, or one for each."""
    return values[0] if len(set(values)) == 1 else list(values)


def positive_number(text: str, option: str) -> float:
    """A number above zero, as an option says it.

    Raises:
        RecordingError: It is none.
    """
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.0 < value < math.inf:
        raise RecordingError(
            f'--{option} is no number above 0', found=text, fix=f'Say a number, as --{option} 100')
    return value


def numbers(text: str, option: str, count: int) -> list[float]:
    """One number, or one for each joint, as an option says them.

    Raises:
        RecordingError: They are no such numbers.
    """
    try:
        values = [float(part) for part in text.split(',')]
    except ValueError:
        values = []
    values = values * count if len(values) == 1 else values
    if len(values) != count or not all(map(math.isfinite, values)):
        raise RecordingError(
            f'--{option} is not one number or one for each joint', found=text,
            allowed=f'{count} numbers, separated by commas',
            fix=f'Say one for all, as --{option} 1.0')
    return values
