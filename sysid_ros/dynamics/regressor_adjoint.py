r"""Gradient of any linear function of the regressor with respect to the motion.

For weights W of the shape of the regressor Y this is the gradient of
:math:`\sum_{tjp} W_{tjp} Y_{tjp}(q, v, a)`: what the gradient of an information criterion
needs, without a derivative of Y ever being stored. The entry of joint j and body i is the
torque of body i alone with the "inertial parameters" :math:`W_{ji}`, so the chain of motion is
walked outwards once and its derivatives are collected walking back, in world axes.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sysid_ros.dynamics.closed_chain import closed_chain
from sysid_ros.dynamics.closed_gradient import closed_gradient
from sysid_ros.dynamics.regressor import inertial_regressor, tree_motion
from sysid_ros.errors import ParameterError
from sysid_ros.robot.model import RobotModel

_Vector = tuple[float, float, float]


def regressor_gradient(
    robot: RobotModel, q: np.ndarray, v: np.ndarray, a: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    r"""Gradient of :math:`\sum_{tjp} W_{tjp} Y_{tjp}(q, v, a)` of the inertial regressor.

    Args:
        robot: The robot, with b bodies and n independent joints.
        q: Joint positions in [rad] or [m], shape ``(T, n)``.
        v: Joint velocities, shape ``(T, n)``.
        a: Joint accelerations, shape ``(T, n)``.
        weights: The weights W, shape ``(T, n, 10 b)``.

    Returns:
        Derivatives with respect to q, v and a, shape ``(T, n)`` each.

    Raises:
        ParameterError: The arrays do not belong together.
    """
    if robot.loops is not None:
        return closed_gradient(
            closed_chain(robot), (q, v, a), weights,
            lambda *moved: inertial_regressor(robot.opened, *moved),
            lambda *moved: regressor_gradient(robot.opened, *moved))
    tree = robot.tree
    motion = tree_motion(robot, q, v, a)
    shape = (*q.shape, np.count_nonzero(tree.columns))
    if weights.shape != shape:
        raise ParameterError(
            'motion and weights do not belong together', found=weights.shape, allowed=shape
        )
    if tree.massless.any():
        some, weights = weights, np.zeros((*q.shape, len(tree.columns)))
        weights[:, :, tree.columns] = some
    if tree.is_coupled:
        weights = np.einsum('kj,tjp->tkp', tree.coupling, weights, optimize=True)
    gradients = np.empty((3, *motion[0].shape))
    _walk(
        tree.parent, tree.rotation, tree.translation, tree.axis, tree.revolute, robot.gravity,
        *motion, np.ascontiguousarray(weights), gradients,
    )
    if tree.is_coupled:
        gradients = gradients @ tree.coupling
    return gradients[0], gradients[1], gradients[2]


@njit(cache=True)
def _walk(
    parent: np.ndarray, rotation: np.ndarray, translation: np.ndarray, axis: np.ndarray,
    revolute: np.ndarray, gravity: np.ndarray, q: np.ndarray, v: np.ndarray, a: np.ndarray,
    weights: np.ndarray, gradients: np.ndarray,
) -> None:
    """Fill ``gradients`` (3, T, b) sample by sample; other arguments as for the regressor."""
    samples, bodies = q.shape
    frame = np.empty((bodies, 3, 3))
    # Axis z, origin p, lever d from the parent, angular velocity, angular acceleration and
    # acceleration of the origin; in the second array the derivatives with respect to them.
    state = np.empty((bodies, 6, 3))
    adjoint = np.empty((bodies, 6, 3))
    turn = np.empty((bodies, 3))
    work = np.empty((3, 3))
    for t in range(samples):
        for i in range(bodies):
            _outwards(
                i, parent[i], rotation[i], translation[i], axis[i], revolute[i], gravity,
                q[t, i], v[t, i], a[t, i], frame, state, work,
            )
        adjoint[:] = 0.0
        turn[:] = 0.0
        for i in range(bodies):
            j = i
            while j >= 0:
                _pair(i, j, revolute[j], weights[t, j, 10 * i:10 * i + 10], frame[i], state,
                      adjoint, turn)
                j = parent[j]
        for i in range(bodies - 1, -1, -1):
            gradients[0, t, i], gradients[1, t, i], gradients[2, t, i] = _inwards(
                i, parent[i], revolute[i], v[t, i], a[t, i], state, adjoint, turn
            )


_Z, _P, _D, _OMEGA, _ALPHA, _ACC = range(6)


@njit(cache=True)
def _cross(a: _Vector, b: _Vector) -> _Vector:
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


@njit(cache=True)
def _dot(a: _Vector, b: _Vector) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@njit(cache=True)
def _plus(a: _Vector, b: _Vector, factor: float = 1.0) -> _Vector:
    return (a[0] + factor * b[0], a[1] + factor * b[1], a[2] + factor * b[2])


@njit(cache=True)
def _times(matrix: np.ndarray, x: _Vector) -> _Vector:
    return (
        matrix[0, 0] * x[0] + matrix[0, 1] * x[1] + matrix[0, 2] * x[2],
        matrix[1, 0] * x[0] + matrix[1, 1] * x[1] + matrix[1, 2] * x[2],
        matrix[2, 0] * x[0] + matrix[2, 1] * x[1] + matrix[2, 2] * x[2],
    )


@njit(cache=True)
def _inertia_times(phi: np.ndarray, frame: np.ndarray, x: _Vector) -> _Vector:
    """World components of inertia times x, the inertia given in the body's frame."""
    b0 = frame[0, 0] * x[0] + frame[1, 0] * x[1] + frame[2, 0] * x[2]
    b1 = frame[0, 1] * x[0] + frame[1, 1] * x[1] + frame[2, 1] * x[2]
    b2 = frame[0, 2] * x[0] + frame[1, 2] * x[1] + frame[2, 2] * x[2]
    return _times(frame, (
        phi[4] * b0 + phi[5] * b1 + phi[7] * b2,
        phi[5] * b0 + phi[6] * b1 + phi[8] * b2,
        phi[7] * b0 + phi[8] * b1 + phi[9] * b2,
    ))


@njit(cache=True)
def _get(row: np.ndarray) -> _Vector:
    return (row[0], row[1], row[2])


@njit(cache=True)
def _put(row: np.ndarray, x: _Vector) -> None:
    row[0], row[1], row[2] = x[0], x[1], x[2]


@njit(cache=True)
def _add(row: np.ndarray, x: _Vector, factor: float = 1.0) -> None:
    row[0] += factor * x[0]
    row[1] += factor * x[1]
    row[2] += factor * x[2]


@njit(cache=True)
def _outwards(
    i: int, parent: int, placement: np.ndarray, shift: np.ndarray, axis: np.ndarray,
    revolute: bool, gravity: np.ndarray, q: float, v: float, a: float,
    frame: np.ndarray, state: np.ndarray, work: np.ndarray,
) -> None:
    """World frame and motion of body i; gravity counts as acceleration of the base."""
    angle = q if revolute else 0.0
    if parent < 0:
        _turned(placement, axis, angle, frame[i])
        d, p = _get(shift), (0.0, 0.0, 0.0)
        omega, alpha = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        acceleration = (-gravity[0], -gravity[1], -gravity[2])
    else:
        for k in range(3):
            column = _times(frame[parent], (placement[0, k], placement[1, k], placement[2, k]))
            work[0, k], work[1, k], work[2, k] = column
        _turned(work, axis, angle, frame[i])
        d, p = _times(frame[parent], _get(shift)), _get(state[parent, _P])
        omega, alpha = _get(state[parent, _OMEGA]), _get(state[parent, _ALPHA])
        acceleration = _get(state[parent, _ACC])
    z = _times(frame[i], _get(axis))
    if not revolute:
        d = _plus(d, z, q)
    acceleration = _plus(acceleration, _cross(alpha, d))
    acceleration = _plus(acceleration, _cross(omega, _cross(omega, d)))
    swing = _cross(omega, z)
    if revolute:
        alpha = _plus(_plus(alpha, z, a), swing, v)
        omega = _plus(omega, z, v)
    else:
        acceleration = _plus(_plus(acceleration, z, a), swing, 2.0 * v)
    _put(state[i, _Z], z)
    _put(state[i, _P], _plus(p, d))
    _put(state[i, _D], d)
    _put(state[i, _OMEGA], omega)
    _put(state[i, _ALPHA], alpha)
    _put(state[i, _ACC], acceleration)


@njit(cache=True)
def _turned(placement: np.ndarray, axis: np.ndarray, angle: float, frame: np.ndarray) -> None:
    """Write ``placement`` times the rotation about a unit axis (Rodrigues)."""
    x, y, z = axis[0], axis[1], axis[2]
    c, s = np.cos(angle), np.sin(angle)
    k = 1.0 - c
    for row in range(3):
        p0, p1, p2 = placement[row, 0], placement[row, 1], placement[row, 2]
        along = k * (x * p0 + y * p1 + z * p2)
        frame[row, 0] = c * p0 + x * along + s * (z * p1 - y * p2)
        frame[row, 1] = c * p1 + y * along + s * (x * p2 - z * p0)
        frame[row, 2] = c * p2 + z * along + s * (y * p0 - x * p1)


@njit(cache=True)
def _pair(
    i: int, j: int, revolute: bool, phi: np.ndarray, frame: np.ndarray, state: np.ndarray,
    adjoint: np.ndarray, turn: np.ndarray,
) -> None:
    r"""Derivatives of the power of body i's wrench on joint j, with parameters ``phi``.

    With :math:`f = m a + \alpha \times h + \omega \times (\omega \times h)` and
    :math:`n = I\alpha + \omega \times I\omega + h \times a` the power is
    :math:`u \cdot f + w \cdot n`.
    """
    m, h = phi[0], _times(frame, (phi[1], phi[2], phi[3]))
    omega, alpha, a = _get(state[i, _OMEGA]), _get(state[i, _ALPHA]), _get(state[i, _ACC])
    z = _get(state[j, _Z])
    lever = _plus(_get(state[i, _P]), _get(state[j, _P]), -1.0)
    u, w = (_cross(z, lever), z) if revolute else (z, (0.0, 0.0, 0.0))
    spin = _inertia_times(phi, frame, omega)
    along, across, square = _dot(omega, h), _dot(omega, u), _dot(u, h)
    force = _plus(_cross(alpha, h), omega, along)
    force = _plus(_plus(force, h, -_dot(omega, omega)), a, m)
    moment = _plus(_plus(_inertia_times(phi, frame, alpha), _cross(omega, spin)), _cross(h, a))
    d_a = _plus(_cross(w, h), u, m)
    d_alpha = _plus(_cross(h, u), _inertia_times(phi, frame, w))
    d_omega = _plus(_inertia_times(phi, frame, _cross(w, omega)), _cross(spin, w))
    d_omega = _plus(_plus(_plus(d_omega, u, along), h, across), omega, -2.0 * square)
    _add(adjoint[i, _ACC], d_a)
    _add(adjoint[i, _ALPHA], d_alpha)
    _add(adjoint[i, _OMEGA], d_omega)
    # Turning the body alone is turning all other vectors the other way.
    for x, y in ((a, d_a), (alpha, d_alpha), (omega, d_omega), (u, force), (w, moment)):
        _add(turn[i], _cross(x, y), -1.0)
    if revolute:
        _add(adjoint[j, _Z], _plus(moment, _cross(lever, force)))
        pull = _cross(force, z)
        _add(adjoint[i, _P], pull)
        _add(adjoint[j, _P], pull, -1.0)
    else:
        _add(adjoint[j, _Z], force)


@njit(cache=True)
def _inwards(
    i: int, parent: int, revolute: bool, v: float, a: float, state: np.ndarray,
    adjoint: np.ndarray, turn: np.ndarray,
) -> _Vector:
    """Hand the derivatives of body i to its parent; returns those of its joint's q, v, a."""
    z, d = _get(state[i, _Z]), _get(state[i, _D])
    omega, alpha = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    if parent >= 0:
        omega, alpha = _get(state[parent, _OMEGA]), _get(state[parent, _ALPHA])
    d_a, d_alpha = _get(adjoint[i, _ACC]), _get(adjoint[i, _ALPHA])
    d_omega = _get(adjoint[i, _OMEGA])
    swing = _cross(omega, z)
    # What multiplies v omega x z in the motion of the body, and what multiplies a z.
    swung, driven = (d_alpha, d_alpha) if revolute else (_plus(d_a, d_a), d_a)
    d_v = _dot(swung, swing)
    d_z = _plus((a * driven[0], a * driven[1], a * driven[2]), _cross(swung, omega), v)
    if revolute:
        d_v += _dot(d_omega, z)
        d_z = _plus(d_z, d_omega, v)
    d_d = _plus(_get(adjoint[i, _P]), _cross(d_a, alpha))
    d_d = _plus(_plus(d_d, omega, _dot(d_a, omega)), d_a, -_dot(omega, omega))
    _add(turn[i], _cross(z, _plus(d_z, _get(adjoint[i, _Z]))))
    if parent >= 0:
        _add(adjoint[parent, _P], _get(adjoint[i, _P]))
        _add(adjoint[parent, _ACC], d_a)
        _add(adjoint[parent, _ALPHA], _plus(d_alpha, _cross(d, d_a)))
        carried = _plus(_plus(d_omega, _cross(z, swung), v), d_a, _dot(omega, d))
        carried = _plus(_plus(carried, d, _dot(d_a, omega)), omega, -2.0 * _dot(d_a, d))
        _add(adjoint[parent, _OMEGA], carried)
        _add(turn[parent], _plus(_get(turn[i]), _cross(d, d_d)))
    d_q = _dot(_get(turn[i]), z) if revolute else _dot(d_d, z)
    return (d_q, d_v, _dot(driven, z))
