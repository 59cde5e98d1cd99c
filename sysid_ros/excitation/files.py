"""Motions as files: YAML to play them again exactly, CSV, and the fields of a JointTrajectory."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from sysid_ros.errors import ConfigurationError, did_you_mean, listed, unreadable
from sysid_ros.excitation.design.basis import Basis, ChirpBasis, FourierBasis, QuinticBasis
from sysid_ros.excitation.design.strokes import CruiseBasis, LiftAndDropBasis, TriangleBasis
from sysid_ros.excitation.excitation import Excitation, Motion
from sysid_ros.settings import load_yaml, parse_yaml

FORMAT = 'sysid_ros excitation, version 1'
#: Families of motions by name.
FAMILIES: dict[str, type[Basis]] = {
    family.name: family for family in (
        FourierBasis, QuinticBasis, ChirpBasis, TriangleBasis, CruiseBasis, LiftAndDropBasis)
}

_KEYS = ('format', 'joints', 'family', 'coefficients', 'speed', 'design')
# So many columns are named where a table has others.
_NAMED = 4
_QUANTITIES = ('position', 'velocity', 'acceleration')


def excitation_yaml(excitation: Excitation) -> str:
    """Write an excitation as YAML, from which it is read back bit by bit."""
    said = {
        'format': FORMAT,
        'joints': list(excitation.joint_names),
        'family': {'name': excitation.basis.name, **_plain(asdict(excitation.basis))},  # type: ignore[call-overload]
        'coefficients': excitation.coefficients.tolist(),
        'speed': excitation.speed,
        'design': _plain(dict(excitation.design)),
    }
    return yaml.safe_dump(said, sort_keys=False, allow_unicode=True, default_flow_style=None)


def load_excitation(path: str | Path) -> Excitation:
    """Read what :func:`excitation_yaml` wrote.

    Raises:
        ConfigurationError: The file is none of ours, or a value cannot be used.
    """
    return _excitation(load_yaml(path), str(path))


def parse_excitation(text: str, where: str) -> Excitation:
    """Read the text that :func:`excitation_yaml` wrote.

    Args:
        text: The text.
        where: Name of the source for messages.

    Raises:
        ConfigurationError: The text is none of ours, or a value cannot be used.
    """
    return _excitation(parse_yaml(text, where), where)


def _excitation(data: dict[str, Any], where: str) -> Excitation:
    if data.get('format') != FORMAT:
        raise ConfigurationError(
            'is not an excitation', where=where, found=repr(data.get('format')),
            allowed=FORMAT, fix="Name a file that 'sysid excite' wrote",
        )
    missing = [key for key in _KEYS if key not in data]
    if missing or len(data) > len(_KEYS):
        raise ConfigurationError(
            'the keys are not those of an excitation', where=where,
            found=', '.join(map(str, data)), allowed=', '.join(_KEYS),
            fix="Name a file that 'sysid excite' wrote",
        )
    try:
        return Excitation(
            tuple(map(str, data['joints'])), _family(data['family']),
            np.array(data['coefficients'], dtype=float), float(data['speed']), data['design'],
        )
    except (TypeError, ValueError, OverflowError) as error:
        raise ConfigurationError(
            f'cannot be read: {error}', where=where,
            fix="Name a file that 'sysid excite' wrote") from error
    except ConfigurationError as error:
        raise ConfigurationError(
            error.problem, where=f'{where}: {error.where}', found=error.found,
            allowed=error.allowed, fix=error.fix,
        ) from error


def motion_csv(joint_names: tuple[str, ...], motion: Motion, torque: np.ndarray) -> str:
    """A table with a header: time, then position, velocity, acceleration and torque.

    Args:
        joint_names: The n joints.
        motion: The motion, T samples.
        torque: Predicted torques in [N·m] or [N], shape ``(T, n)``.

    Returns:
        T + 1 lines; numbers in full precision.
    """
    header = ['time'] + [
        f'{quantity}.{joint}' for quantity in (*_QUANTITIES, 'effort') for joint in joint_names
    ]
    rows = np.hstack([motion.t[:, None], motion.q, motion.v, motion.a, torque])
    lines = [','.join(header), *(','.join(map(repr, row)) for row in rows.tolist())]
    return '\n'.join(lines) + '\n'


def load_motion_csv(path: str | Path, joint_names: tuple[str, ...]) -> Motion:
    """Read a planned motion, ours or another planner's, from a table with a header.

    Args:
        path: Table with the columns ``time`` and ``position.<joint>``,
            ``velocity.<joint>``, ``acceleration.<joint>`` of every joint, in SI units.
        joint_names: The joints, in the order that is wanted.

    Returns:
        The motion, its jerk from differences of the accelerations.

    Raises:
        ConfigurationError: A column is missing or the numbers cannot be read.
    """
    path = Path(path)
    header, lines = _table_of(path)
    try:
        values = np.array([[float(x) for x in line.split(',')] for line in lines if line])
    except ValueError as error:
        raise unreadable(ConfigurationError, path, error) from error
    wanted = ['time'] + [f'{name}.{joint}' for name in _QUANTITIES for joint in joint_names]
    missing = [name for name in wanted if name not in header]
    if missing or len(values) < 2 or values.shape[1] != len(header):
        raise ConfigurationError(
            'is not a table of a motion', where=str(path), found=listed(header, _NAMED),
            allowed=listed(wanted, _NAMED),
            fix=f'Add {listed(missing, _NAMED)}' if missing else None,
        )
    columns = values[:, [header.index(name) for name in wanted]]
    t, motion = columns[:, 0], columns[:, 1:].reshape(len(values), 3, -1)
    if not (np.diff(t) > 0.0).all():
        raise ConfigurationError(
            'the times do not rise from row to row', where=f'{path}: time',
            fix='Sort the rows by time, and leave out those that repeat a time')
    jerk = np.gradient(motion[:, 2], t, axis=0)
    return Motion(t, motion[:, 0], motion[:, 1], motion[:, 2], jerk)


def motion_csv_joints(path: str | Path) -> tuple[str, ...]:
    """Joints that a table of a motion has positions of, in its order.

    Raises:
        ConfigurationError: There are none, or the file cannot be read.
    """
    header, _ = _table_of(Path(path))
    prefix = f'{_QUANTITIES[0]}.'
    names = tuple(name.removeprefix(prefix) for name in header if name.startswith(prefix))
    if not names:
        raise ConfigurationError(
            'is not a table of a motion', where=str(path), found=listed(header, _NAMED),
            allowed=f'columns time and {prefix}<joint>',
            fix="Name a motion that 'sysid excite' wrote, or give the columns these names")
    return names


def _table_of(path: Path) -> tuple[list[str], list[str]]:
    """Names of the columns, and the lines below."""
    try:
        header, *lines = path.read_text(encoding='utf-8').split('\n')
    except (OSError, ValueError) as error:
        raise unreadable(ConfigurationError, path, error) from error
    return header.strip().split(','), lines


def joint_trajectory(
    joint_names: tuple[str, ...], motion: Motion, torque: np.ndarray | None = None
) -> dict[str, Any]:
    """The fields of a ``trajectory_msgs/JointTrajectory`` as plain values.

    Args:
        joint_names: The n joints.
        motion: The motion, T samples.
        torque: Predicted torques for the field ``effort``, shape ``(T, n)``.

    Returns:
        ``joint_names`` and ``points``, times as seconds and nanoseconds.
    """
    points = []
    for k, t in enumerate(motion.t):
        nanoseconds = round(float(t) * 1e9)
        points.append({
            'positions': motion.q[k].tolist(), 'velocities': motion.v[k].tolist(),
            'accelerations': motion.a[k].tolist(),
            'effort': [] if torque is None else torque[k].tolist(),
            'time_from_start': {
                'sec': nanoseconds // 10**9, 'nanosec': nanoseconds % 10**9,
            },
        })
    return {'joint_names': list(joint_names), 'points': points}


def _family(said: dict[str, Any]) -> Basis:
    values = dict(said)
    name = values.pop('name', None)
    if name not in FAMILIES:
        raise ConfigurationError(
            'there is no such family of motions', where='family', found=repr(name),
            allowed=', '.join(FAMILIES), fix=did_you_mean(str(name), FAMILIES),
        )
    values = {key: tuple(x) if isinstance(x, list) else x for key, x in values.items()}
    for number in values.values():
        np.array(number, dtype=float)  # numbers beyond those of the processor end here
    return FAMILIES[name](**values)


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """Values that YAML has a word for."""
    return {
        key: value.item() if isinstance(value, np.generic)
        else list(value) if isinstance(value, tuple) else value
        for key, value in values.items()
    }
