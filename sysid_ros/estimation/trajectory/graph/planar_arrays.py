"""A planar mechanism as arrays, for what is compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sysid_ros.mechanics.joint_terms.dispatch import LawArrays
from sysid_ros.numerics.jit import CACHED, MAKES_ARRAYS

#: How all of a mechanism is compiled. Sums may be reordered; what is not a number stays so.
COMPILED = CACHED | MAKES_ARRAYS
#: Kinds of constraints; their constants are said at :func:`_derivatives`.
DISTANCE, LINE, RIGID_X, RIGID_Y, ANGLE = range(5)


class ConstraintArrays(NamedTuple):
    """The m constraints of a mechanism as arrays.

    Every one depends on at most nine coordinates; what those are of, see ``planar_constraints``.

    Attributes:
        kind: Shape ``(m,)``.
        constants: Shape ``(m, 2)``.
        touched: How many coordinates each depends on, shape ``(m,)``.
        slot: Which, shape ``(m, 9)``.
        part: Which of (d1, d2, angle) each changes, shape ``(m, 9)``.
        sign: How, shape ``(m, 9)``.
        origin: What fixed points make of (d1, d2, angle), shape ``(m, 5)``.
    """

    kind: np.ndarray
    constants: np.ndarray
    touched: np.ndarray
    slot: np.ndarray
    part: np.ndarray
    sign: np.ndarray
    origin: np.ndarray


class ForceArrays(NamedTuple):
    """The b bodies of a mechanism and t forces along its coordinates as arrays.

    Attributes:
        place: Coordinates of each body's first and second point, -1 for none, ``(b, 4)``.
        length: Distance of these points in [m], shape ``(b,)``.
        gravity: In [m/s²], shape ``(2,)``.
        inputs: Coordinates that torques act on, shape ``(u,)``.
        along: Coordinate of each, shape ``(t,)``.
        laws: The laws.
    """

    place: np.ndarray
    length: np.ndarray
    gravity: np.ndarray
    inputs: np.ndarray
    along: np.ndarray
    laws: LawArrays
