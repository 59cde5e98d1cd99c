r"""Compiled: poses of bodies moved by twists, and the twist between two poses with derivatives.

Quaternions are (x, y, z, w), and turned from the left by rotation vectors in the world's axes.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sysid_ros.numerics.jit import CACHED

# Sums may be reordered, but a value that is not a number must stay one.

# Below this angle in [rad] series replace what would be divided by it.
_SMALL = 1e-3


@njit(**CACHED)
def integrate_poses(h: float, state: np.ndarray, velocity: np.ndarray, after: np.ndarray) -> None:
    """Integrate poses over a step with the next velocity, rotations by the exponential map.

    Args:
        h: Length of the step in [s].
        state: Shape ``(13 b,)``.
        velocity: The next one, shape ``(6 b,)``.
        after: Is filled, shape ``(13 b,)``.
    """
    for body in range(len(velocity) // 6):
        first, own = 13 * body, 6 * body
        for c in range(3):
            after[first + c] = state[first + c] + h * velocity[own + c]
        for c in range(6):
            after[first + 7 + c] = velocity[own + c]
        x, y, z = h * velocity[own + 3], h * velocity[own + 4], h * velocity[own + 5]
        angle = np.sqrt(x * x + y * y + z * z)
        part = 0.5 - angle * angle / 48.0 if angle < _SMALL else np.sin(0.5 * angle) / angle
        w = np.cos(0.5 * angle)
        x, y, z = part * x, part * y, part * z
        a, b, c, d = state[first + 3], state[first + 4], state[first + 5], state[first + 6]
        i, j = w * a + d * x + y * c - z * b, w * b + d * y + z * a - x * c
        k, o = w * c + d * z + x * b - y * a, w * d - x * a - y * b - z * c
        # Rounding would add up over many steps.
        size = 1.0 / np.sqrt(i * i + j * j + k * k + o * o)
        after[first + 3], after[first + 4] = size * i, size * j
        after[first + 5], after[first + 6] = size * k, size * o


@njit(**CACHED)
def twist_between(
    h: float, state: np.ndarray, after: np.ndarray, exact: bool, twist: np.ndarray,
    by_state: np.ndarray, by_after: np.ndarray,
) -> None:
    r"""The constant velocity that leads from one pose to another, and its derivatives.

    Args:
        h: Time in between in [s].
        state: Shape ``(13 b,)``.
        after: Shape ``(13 b,)``.
        exact: Whether rotation vectors are exact, or twice the real times the vector part of
            the quaternion (Discrete multibody dynamics, eq. 3.24).
        twist: Is filled, shape ``(6 b,)``.
        by_state: Derivatives of the angular part by the rotation before, ``(b, 3, 3)``.
        by_after: And by the rotation after.
    """
    for body in range(len(twist) // 6):
        first, own = 13 * body, 6 * body
        for c in range(3):
            twist[own + c] = (after[first + c] - state[first + c]) / h
        a, b, c, d = state[first + 3], state[first + 4], state[first + 5], state[first + 6]
        i, j, k, o = after[first + 3], after[first + 4], after[first + 5], after[first + 6]
        # after times the inverse of the state.
        x, y, z = d * i - o * a - j * c + k * b, d * j - o * b - k * a + i * c, (
            d * k - o * c - i * b + j * a)
        w = o * d + i * a + j * b + k * c
        if w < 0.0:
            x, y, z, w = -x, -y, -z, -w
        if exact:
            _exact(h, body, x, y, z, w, twist, by_state, by_after)
        else:
            _nearly(h, body, x, y, z, w, twist, by_state, by_after)


@njit(**CACHED)
def _exact(
    h: float, body: int, x: float, y: float, z: float, w: float, twist: np.ndarray,
    by_state: np.ndarray, by_after: np.ndarray,
) -> None:
    r"""Rotation vector p of a quaternion.

    Its derivatives are the inverse left Jacobians of SO(3), :math:`1 \mp \tfrac12 [p] + c\,[p]^2`.
    """
    sine = np.sqrt(x * x + y * y + z * z)
    angle = 2.0 * np.arctan2(sine, w)
    factor = 2.0 + sine * sine / 3.0 if sine < _SMALL else angle / sine
    x, y, z = factor * x, factor * y, factor * z
    square = x * x + y * y + z * z
    if angle < 10.0 * _SMALL:
        curve = 1.0 / 12.0 + square / 720.0
    else:
        curve = (1.0 - 0.5 * angle * w / sine) / square
    p = (x, y, z)
    for r in range(3):
        twist[6 * body + 3 + r] = p[r] / h
        for c in range(3):
            even = curve * p[r] * p[c]
            if r == c:
                even += 1.0 - curve * square
            by_after[body, r, c], by_state[body, r, c] = even / h, -even / h
    for r, c, value in ((0, 1, z), (1, 2, x), (2, 0, y)):
        by_after[body, r, c] += 0.5 * value / h
        by_after[body, c, r] -= 0.5 * value / h
        by_state[body, r, c] += 0.5 * value / h
        by_state[body, c, r] -= 0.5 * value / h


@njit(**CACHED)
def _nearly(
    h: float, body: int, x: float, y: float, z: float, w: float, twist: np.ndarray,
    by_state: np.ndarray, by_after: np.ndarray,
) -> None:
    """Twice the real times the vector part."""
    p = (x, y, z)
    for r in range(3):
        twist[6 * body + 3 + r] = 2.0 * w * p[r] / h
        for c in range(3):
            even = -p[r] * p[c]
            if r == c:
                even += w * w
            by_after[body, r, c], by_state[body, r, c] = even / h, -even / h
    for r, c, value in ((0, 1, z), (1, 2, x), (2, 0, y)):
        by_after[body, r, c] += w * value / h
        by_after[body, c, r] -= w * value / h
        by_state[body, r, c] += w * value / h
        by_state[body, c, r] -= w * value / h
