"""Identified parameters as YAML: for people to read, and for programs to read back exactly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import yaml

from sysid_ros.errors import ConfigurationError
from sysid_ros.robot.inertia import central_inertia
from sysid_ros.robot.model import RobotModel
from sysid_ros.robot.parameters import ParameterSet

FORMAT = 'sysid_ros parameters, version 1'

_HEADER = """\
# Identified parameters of the robot "{name}".
# 'bodies' and 'joints' say them in the words of a data sheet: the inertia of a body is about
# its centre of mass, in the axes of the joint frame that carries it. 'parameters' holds the
# same numbers as they enter the torque equation, inertias at the joint-frame origin; it is
# what programs read.
"""
# The one in C, which most builds of PyYAML have, is several times as fast.
_SafeDumper = getattr(yaml, 'CSafeDumper', yaml.SafeDumper)
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
        text = yaml.dump(
            content, Dumper=_SafeDumper, sort_keys=False, allow_unicode=True, width=200,
            default_flow_style=None)
    except yaml.YAMLError as error:
        raise ConfigurationError(
            f'the provenance cannot be written as YAML: {" ".join(str(error).split())}',
            allowed='numbers, strings, booleans, lists and mappings',
        ) from error
    return _HEADER.format(name=' '.join(robot.name.split())) + text


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
