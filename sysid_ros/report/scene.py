"""Coloured shapes in the frames of links: what viewers in three dimensions are told.

Plain values, in the colours of the report's figures; ``nodes/markers.py`` makes messages of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from sysid_ros.errors import ParameterError

# Thinner shapes cannot be seen, and viewers refuse those without any thickness; in [m].
_THINNEST = 1e-3


@dataclass(frozen=True, eq=False)
class Shape:
    """A shape that moves with a link.

    Attributes:
        kind: An ellipsoid or a box by its size; a path through points, or segments between pairs
            of them.
        group: What is shown and hidden together.
        frame: The link.
        colour: As ``#rrggbb``.
        opacity: From 0 to 1.
        pose: Pose of the shape, or of the frame of the points, in the link's frame, ``(4, 4)``.
        size: Lengths along its axes in [m], shape ``(3,)``; the first is the width of lines.
        points: Points in [m], shape ``(k, 3)``, none for solids.

    Raises:
        ParameterError: A number is not finite.
    """

    kind: Literal['ellipsoid', 'box', 'path', 'segments']
    group: str
    frame: str
    colour: str
    opacity: float
    pose: np.ndarray
    size: np.ndarray
    points: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))

    def __post_init__(self) -> None:
        for name in ('pose', 'size', 'points'):
            array = np.array(getattr(self, name), dtype=float)
            if not np.isfinite(array).all():
                raise ParameterError(
                    'a shape is not finite', where=f'{self.group} of {self.frame}: {name}',
                    found=array.tolist(), allowed='finite numbers')
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @property
    def quaternion(self) -> tuple[float, float, float, float]:
        """Orientation of the pose as a unit quaternion: x, y, z, w."""
        import pinocchio as pin  # noqa: PLC0415 (pages and films do without it)

        x, y, z, w = pin.Quaternion(np.array(self.pose[:3, :3])).normalized().coeffs().tolist()
        return x, y, z, w

    @property
    def rgb(self) -> tuple[float, float, float]:
        """Red, green and blue, from 0 to 1."""
        red, green, blue = bytes.fromhex(self.colour.removeprefix('#'))
        return red / 255.0, green / 255.0, blue / 255.0


def solid(
    kind: Literal['ellipsoid', 'box'], group: str, frame: str, colour: str, *, opacity: float,
    pose: np.ndarray, size: np.ndarray,
) -> Shape:
    """A solid with three lengths, none of them too thin to be drawn.

    Args:
        kind: Which one.
        group: As in :class:`Shape`.
        frame: As in :class:`Shape`.
        colour: As in :class:`Shape`.
        opacity: As in :class:`Shape`.
        pose: Pose of its centre and axes in the link's frame, shape ``(4, 4)``.
        size: Lengths along its axes in [m], shape ``(3,)``.
    """
    return Shape(
        kind, group, frame, colour, opacity, pose, np.maximum(size, _THINNEST))


def lines(
    kind: Literal['path', 'segments'], group: str, frame: str, colour: str, *, width: float,
    pose: np.ndarray, points: np.ndarray,
) -> Shape:
    """Lines through points of a link's frame.

    Args:
        kind: A path through all of them, or segments between pairs.
        group: As in :class:`Shape`.
        frame: As in :class:`Shape`.
        colour: As in :class:`Shape`.
        width: Of the lines in [m].
        pose: Pose of the frame of the points in the link's frame, shape ``(4, 4)``.
        points: The points in [m], shape ``(k, 3)``.
    """
    return Shape(
        kind, group, frame, colour, 1.0, pose, np.array([max(width, _THINNEST), 0.0, 0.0]), points)


def box_edges(lower: ArrayLike, upper: ArrayLike) -> np.ndarray:
    """The twelve edges of a box along the axes, both ends of each, shape ``(12, 2, 3)``.

    Args:
        lower: Corner with the smallest coordinates, shape ``(3,)``.
        upper: Corner with the largest.
    """
    corners = np.array([lower, upper], dtype=float)
    places = np.array([[bits >> axis & 1 for axis in range(3)] for bits in range(8)])
    points = corners[places, np.arange(3)]
    return np.array([
        points[[bits, bits | 1 << axis]]
        for bits in range(8) for axis in range(3) if not bits >> axis & 1])
