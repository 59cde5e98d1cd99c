"""What a player of a page shows: frames of a motion, and layers of ellipsoids that move along.

A layer may also be shapes of links, or another motion of the same robot at the same times, drawn as
its skeleton.

Plain values, as :mod:`sysid_ros.report.plots` has them for figures; ``player.js`` draws them on a
canvas, orthographically, without any library.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sysid_ros.report.series import Series

if TYPE_CHECKING:
    from sysid_ros.report.link_shapes import LinkShape
    from sysid_ros.report.robot_motion import PlayedMotion, Solid

#: What is played: the motion, its layers, and its paths.
Player = dict[str, Any]

# Longer labels would leave the picture.
_LONGEST = 60


def player(
    motion: PlayedMotion, layers: Sequence[dict[str, Any]], paths: Sequence[list[Series]],
    boxes: Sequence[tuple[str, Series, Series]] = (),
) -> Player:
    """A player.

    Args:
        motion: The frames.
        layers: What moves along, see :func:`layer`.
        paths: Lines that stay, three rows of coordinates in [m] each.
        boxes: Names of boxes that stand still, and two corners of each in [m].
    """
    return {
        **motion.model_dump(), 'layers': list(layers), 'paths': list(paths), 'boxes': [
            {'label': _cut(name), 'corners': [list(lower), list(upper)]}
            for name, lower, upper in boxes]}


def layer(
    name: str, colour: str, solids: Sequence[tuple[int, str, Solid]]
) -> dict[str, Any]:
    """Ellipsoids that are shown and hidden together.

    Args:
        name: What they are.
        colour: Of their outlines.
        solids: Index of the body in the tree that each moves with, its name, and the ellipsoid.
    """
    return {'name': name, 'colour': colour, 'solids': [
        {'body': body, 'centre': solid.centre, 'shape': solid.shape,
         'label': _cut(text if solid.mass is None else f'{text}: {solid.mass:.4g} kg')}
        for body, text, solid in solids]}


def skeleton_layer(name: str, colour: str, origin: Series) -> dict[str, Any]:
    """Another motion of the robot, which is shown and hidden as a layer.

    Args:
        name: Whose it is.
        colour: Of its lines.
        origin: Origins of the joint frames in [m]: x, y, z of each body, frame by frame.
    """
    return {'name': name, 'colour': colour, 'solids': [], 'origin': origin}


def shape_layer(name: str, colour: str, shapes: Sequence[LinkShape]) -> dict[str, Any]:
    """Shapes of links, as convex hulls, which are shown and hidden as a layer.

    Args:
        name: What they are.
        colour: Of them.
        shapes: The shapes.
    """
    return {'name': name, 'colour': colour, 'solids': [], 'hulls': [
        {'body': shape.tree_index, 'corners': shape.corners} for shape in shapes]}


def _cut(text: str) -> str:
    half = (_LONGEST - 1) // 2
    return text if len(text) <= _LONGEST else f'{text[:half]}…{text[-half:]}'
