"""Planar mechanisms as the MBDS files of Blanco-Claraco, Leanza and Reina describe them.

Points, bodies and coordinates are lists, addressed by their numbers, and numbers are expressions of
parameters: https://github.com/MBDS/multibody-state-estimation, ``config/mechanisms``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from pydantic import Field

from sysid_ros.errors import ModelError
from sysid_ros.robot.description.planar.expressions import evaluate
from sysid_ros.robot.description.planar.mechanism_settings import (
    AngleSettings,
    BodySettings,
    MechanismSettings,
    PointSettings,
)
from sysid_ros.settings import StrictSettings, parse_settings

_Number = float | str
# The one kind of coordinates that these files have.
_ANGLE = 'RelativeAngleAbsoluteDOF'
# A length that is written differs from that of the points by rounding alone.
_SAME_LENGTH = 1e-6


class MbdsPoint(StrictSettings):
    """An entry of ``points:``.

    Attributes:
        x: Position in [m], a number or an expression.
        y: The other.
        fixed: Whether it belongs to the ground.
    """

    x: _Number
    y: _Number
    fixed: bool = False


class MbdsBody(StrictSettings):
    """An entry of ``planar_bodies:``.

    Attributes:
        points: Numbers of its points, two at least.
        length: From its first point to its second in [m], ``auto`` for what the points say.
        mass: In [kg].
        I0: Moment of inertia about its first point in [kg·m²].
        cog: Centre of mass in [m], along and across the way from the first point to the second.
    """

    points: tuple[_Number, ...] = Field(min_length=2)
    length: _Number = 'auto'
    mass: _Number
    I0: _Number
    cog: tuple[_Number, _Number]


class MbdsCoordinate(StrictSettings):
    """An entry of ``relative_coordinates:``.

    Attributes:
        type: ``RelativeAngleAbsoluteDOF``: an angle against the horizontal.
        points: Numbers of two points.
    """

    type: str
    points: tuple[int, int]


class MbdsSettings(StrictSettings):
    """An MBDS file.

    Attributes:
        parameters: Numbers by their names, or expressions of those before.
        points: The points, P0 first.
        planar_bodies: The bodies, body0 first.
        relative_coordinates: Angles, angle0 first; these are what motors drive and encoders read.
    """

    parameters: dict[str, _Number] = {}
    points: tuple[MbdsPoint, ...]
    planar_bodies: tuple[MbdsBody, ...]
    relative_coordinates: tuple[MbdsCoordinate, ...] = ()


def is_mbds(data: Mapping[str, Any]) -> bool:
    """Whether a YAML mapping is an MBDS file: its bodies are ``planar_bodies``."""
    return 'planar_bodies' in data


def mechanism_of_mbds(data: dict[str, Any], name: str, where: str) -> MechanismSettings:
    """The mechanism of an MBDS file.

    Args:
        data: The file as plain Python values.
        name: What the mechanism is to be called: its file has no name for it.
        where: The file, for messages.

    Returns:
        Points P0, P1, …, bodies body0, …, and angles angle0, …, all of them driven.

    Raises:
        ConfigurationError: A key is unknown or missing.
        ModelError: An expression cannot be computed, a number is of no point, or a length is not
            that of the points.
    """
    given = parse_settings(MbdsSettings, data, where)
    names: dict[str, float] = {}
    for parameter, text in given.parameters.items():
        names[parameter] = evaluate(text, names, f'{where}: parameters: {parameter}')
    at: list[tuple[float, float]] = []
    for k, point in enumerate(given.points):
        place = f'{where}: points: {k}'
        at.append((evaluate(point.x, names, place), evaluate(point.y, names, place)))
        names[f'x{k}'], names[f'y{k}'] = at[-1]
    angles = {
        f'angle{k}': _angle(entry, len(at), f'{where}: relative_coordinates: {k}')
        for k, entry in enumerate(given.relative_coordinates)}
    return MechanismSettings(
        name=name,
        points={
            f'P{k}': PointSettings(at=at[k], fixed=point.fixed)
            for k, point in enumerate(given.points)},
        bodies={
            f'body{k}': _body(body, at, names | {'index': k}, f'{where}: planar_bodies: {k}')
            for k, body in enumerate(given.planar_bodies)},
        angles=angles, torques=tuple(angles), independent=tuple(angles))


def _body(
    body: MbdsBody, at: list[tuple[float, float]], names: dict[str, float], where: str
) -> BodySettings:
    """A body, whose expressions may use its length, mass and moment of inertia, in this order."""
    points = [_point(evaluate(text, names, where), len(at), where) for text in body.points]
    lengths = {
        f'length{i + 1}{j + 1}': math.dist(at[first], at[second])
        for i, first in enumerate(points) for j, second in enumerate(points) if i != j}
    names = names | lengths
    length = lengths['length12']
    if len(points) == 2:
        written = evaluate(body.length, names | {'auto': length}, f'{where}: length')
        if abs(written - length) > _SAME_LENGTH * max(length, 1.0):
            raise ModelError(
                'the length is not the distance of the points', where=where, found=f'{written:g}',
                allowed=f'{length:g}', fix='Write length: auto, or move a point')
    names['length'] = length
    for key in ('mass', 'I0'):
        names[key] = evaluate(getattr(body, key), names, f'{where}: {key}')
        if names[key] < 0.0:
            raise ModelError(
                'is negative', where=f'{where}: {key}', found=f'{names[key]:g}',
                allowed='zero or more', fix='Correct its sign')
    x, y = (evaluate(text, names, f'{where}: cog') for text in body.cog)
    return BodySettings(
        points=tuple(f'P{k}' for k in points), mass=names['mass'], center=(x, y),
        inertia=names['I0'])


def _angle(entry: MbdsCoordinate, count: int, where: str) -> AngleSettings:
    if entry.type != _ANGLE:
        raise ModelError(
            'there is no such kind of coordinate', where=where, found=entry.type, allowed=_ANGLE,
            fix='Describe the mechanism in the YAML of sysid_ros, whose angles may be measured '
            'against any two points')
    first, second = (_point(float(k), count, where) for k in entry.points)
    return AngleSettings(of=(f'P{first}', f'P{second}'))


def _point(number: float, count: int, where: str) -> int:
    """A number that is one of the points."""
    if number not in range(count):
        raise ModelError(
            'there is no such point', where=where, found=f'{number:g}',
            allowed=f'0 to {count - 1}', fix='Count the points from 0 on')
    return int(number)
