"""A planar mechanism as arrays, for what is compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

#: How all of a mechanism is compiled. Sums may be reordered; what is not a number stays so.
COMPILED = {
    'cache': True, 'error_model': 'numpy', 'fastmath': {'reassoc', 'contract', 'arcp', 'nsz'},
}
#: Kinds of constraints; their constants are said at :func:`_derivatives`.
DISTANCE, LINE, RIGID_X, RIGID_Y, ANGLE = range(5)
#: Kinds of forces along one coordinate.
VISCOUS, COULOMB, STIFFNESS, OFFSET, ARMATURE = range(5)


class PlanarArrays(NamedTuple):
    """A mechanism of n coordinates, m constraints, b bodies and t forces as arrays.

    Attributes:
        place: Coordinates of each point, -1 where it is fixed, shape ``(P, 2)``.
        ground: Positions of fixed points in [m], shape ``(P, 2)``.
        kind: Kinds of constraints, shape ``(m,)``.
        points: Points a, b, c and d of each, shape ``(m, 4)``.
        angle: Coordinate of the angle of each, -1 without, shape ``(m,)``.
        constants: Shape ``(m, 2)``.
        frame: First and second point of each body, shape ``(b, 2)``.
        length: Distance of these in [m], shape ``(b,)``.
        gravity: In [m/s²], shape ``(2,)``.
        inputs: Coordinates that torques act on, shape ``(u,)``.
        force: Kinds of forces, shape ``(t,)``.
        along: Coordinate of each, shape ``(t,)``.
        shape: Constant of each: a velocity of dry friction, the rest of a spring, ``(t,)``.
    """

    place: np.ndarray
    ground: np.ndarray
    kind: np.ndarray
    points: np.ndarray
    angle: np.ndarray
    constants: np.ndarray
    frame: np.ndarray
    length: np.ndarray
    gravity: np.ndarray
    inputs: np.ndarray
    force: np.ndarray
    along: np.ndarray
    shape: np.ndarray


