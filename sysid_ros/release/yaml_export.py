"""Identified parameters as YAML: for people to read, and to be read back exactly."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import yaml

from sysid_ros.errors import ConfigurationError, ParameterError
from sysid_ros.robot.inertia import INERTIAL_FIELDS, central_inertia
from sysid_ros.robot.model import RobotModel
from sysid_ros.robot.parameters import ParameterSet
from sysid_ros.settings import parse_yaml

FORMAT = 'sysid_ros parameters, version 1'

_HEADER = """\
# Identified parameters of the robot "{name}".
# 'bodies' and 'joints' say them in the words of a data sheet: the inertia of a body is about
# its centre of mass, in the axes of the joint frame that carries it. 'parameters' holds the
# same numbers as they enter the torque equation, inertias at the joint-frame origin; it is
# what programs read.
"""
_FIELDS = ('value', 'unit', 'prior', 'lower', 'upper', 'free')
_ARRAYS = {'value': 'values', 'unit': 'units'}


def export_yaml(
    robot: RobotModel, parameters: ParameterSet, provenance: Mapping[str, Any] | None = None,
    intervals: Mapping[str, Mapping[str, float]] | None = None,
) -> str:
    """Write parameters as YAML.

    Args:
        robot: The robot they belong to.
        parameters: The parameters.
        provenance: Plain values on where they come from: recordings, estimator, versions.
        intervals: Half-widths of 95 % intervals by kind and parameter; a parameter that is not
            known by itself has none.

    Returns:
        YAML that a safe loader reads; floats are written so that they come back exactly.

    Raises:
        ConfigurationError: The provenance holds something other than plain values.
    """
    content = {
        'format': FORMAT,
        'robot': {'name': robot.name, 'description_sha256': robot.description.sha256},
        'provenance': dict(provenance or {}),
        'units': {
            'mass': 'kg', 'center_of_mass': 'm', 'inertia_about_center_of_mass': 'kg·m²',
            'joints': 'as in parameters',
        },
        'bodies': {body: _body(robot, parameters, body) for body in parameters.bodies},
        'joints': _joints(parameters),
        'parameters': {
            name: {field: _plain(parameters, field, k) for field in _FIELDS}
            for k, name in enumerate(parameters.names)
        },
    }
    if intervals is not None:
        content['intervals_95'] = {kind: dict(widths) for kind, widths in intervals.items()}
    try:
        text = yaml.safe_dump(
            content, sort_keys=False, allow_unicode=True, width=200, default_flow_style=None
        )
    except yaml.YAMLError as error:
        raise ConfigurationError(
            f'the provenance cannot be written as YAML: {" ".join(str(error).split())}',
            allowed='numbers, strings, booleans, lists and mappings',
        ) from error
    return _HEADER.format(name=' '.join(robot.name.split())) + text


def parameters_from_yaml(text: str) -> ParameterSet:
    """Read back what :func:`export_yaml` wrote.

    Args:
        text: The YAML, at most 1 MB.

    Returns:
        The parameters, equal to the exported ones.

    Raises:
        ConfigurationError: The text is too large, not plain YAML, or of another format.
        ParameterError: An entry is missing or is not a number, or ``bodies`` and ``joints``
            disagree with ``parameters`` (somebody edited the copy that programs do not read).
    """
    content = _loaded(text)
    try:
        entries = content['parameters']
        columns: dict[str, Any] = {
            _ARRAYS.get(field, field): [entry[field] for entry in entries.values()]
            for field in _FIELDS
        }
        parameters = ParameterSet(names=tuple(entries), **columns | {
            'units': tuple(columns['units'])
        })
        shown_bodies, shown_joints = content['bodies'], content['joints']
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ParameterError(
            f'the parameters cannot be read: {error!r}', where='parameters',
            allowed=f'a mapping of names to {", ".join(_FIELDS)}',
        ) from error
    _check_order(parameters)
    bodies = {body: _quantities(parameters, body) for body in parameters.bodies}
    if not (_agrees(shown_bodies, bodies) and _agrees(shown_joints, _joints(parameters))):
        raise ParameterError(
            "'bodies' or 'joints' disagree with 'parameters'", where='parameters',
            fix="Change the numbers under 'parameters' and export again",
        )
    return parameters


def _check_order(parameters: ParameterSet) -> None:
    """The ten numbers of a body are read as one block, so a sorted file must not pass."""
    for body in parameters.bodies:
        start = parameters.index(f'{body}.{INERTIAL_FIELDS[0]}')
        expected = tuple(f'{body}.{field}' for field in INERTIAL_FIELDS)
        if parameters.names[start:start + len(expected)] != expected:
            raise ParameterError(
                'the inertial parameters of a body are missing or out of order', where=body,
                allowed=', '.join(INERTIAL_FIELDS), fix='Export again without sorting the keys',
            )


def _agrees(shown: Any, expected: Any) -> bool:
    """Whether what is shown says what is expected, up to the rounding of another machine."""
    if isinstance(expected, dict):
        return isinstance(shown, dict) and all(
            _agrees(shown.get(key), value) for key, value in expected.items()
        )
    if isinstance(expected, list):
        return isinstance(shown, list) and len(shown) == len(expected) and all(
            map(_agrees, shown, expected)
        )
    if isinstance(expected, float) and isinstance(shown, (int, float)):
        return math.isclose(shown, expected, rel_tol=1e-6, abs_tol=1e-9)
    return bool(shown == expected)


def _loaded(text: str) -> dict[str, Any]:
    content = parse_yaml(text, 'parameters')
    found = content.get('format')
    if found != FORMAT:
        raise ConfigurationError(
            'is not an export of parameters', found=repr(found), allowed=repr(FORMAT)
        )
    return content


def _body(robot: RobotModel, parameters: ParameterSet, body: str) -> dict[str, Any]:
    links = [link.name for link in robot.links if link.body == body]
    return {'links': links, **_quantities(parameters, body)}


def _quantities(parameters: ParameterSet, body: str) -> dict[str, Any]:
    phi = parameters.inertial(body)
    if phi[0] == 0.0:
        return {'mass': 0.0, 'center_of_mass': None, 'inertia_about_center_of_mass': None}
    mass, com, inertia = central_inertia(phi)
    entries = {
        f'{"xyz"[row]}{"xyz"[column]}': float(inertia[row, column])
        for row, column in zip(*np.triu_indices(3), strict=True)
    }
    return {
        'mass': mass, 'center_of_mass': [float(x) for x in com],
        'inertia_about_center_of_mass': entries,
    }


def _joints(parameters: ParameterSet) -> dict[str, dict[str, float]]:
    joints: dict[str, dict[str, float]] = {}
    inertial = {
        index for body in parameters.bodies
        for index in range(*parameters.body_slice(body).indices(len(parameters)))
    }
    for k, name in enumerate(parameters.names):
        if k not in inertial:
            owner, _, field = name.rpartition('.')
            joints.setdefault(owner, {})[field] = float(parameters.values[k])
    return joints


def _plain(parameters: ParameterSet, field: str, index: int) -> Any:
    column = getattr(parameters, _ARRAYS.get(field, field))
    return column[index] if field == 'unit' else column[index].item()
