r"""Gains that keep a playback near what was measured, and whether they suit.

Measured torques alone do not repeat a motion: errors of models and sensors add up. Feedback of
measured positions keeps the arm near; but too weak it lets the simulation wander off, and too
strong it hides what is sought: the arm then moves as measured, whatever it holds.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.linalg

from sysid_ros.errors import EstimationError
from sysid_ros.estimation.trajectory.playback.identified import Identified
from sysid_ros.mechanics.integrators.variational.driven_trajectory import Hold
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.mechanics.tree.acceleration import linearised_accelerations

# Residuals beyond so many standard deviations of the sensors' noise: the playback wanders off.
_WANDERS = 5.0
# Relative deviation of a parameter beyond which it is hidden.
_HIDDEN = 0.2


def lqr_hold(
    arm: TorqueModel, values: np.ndarray, joints: Sequence[int], reference: np.ndarray,
    torque: np.ndarray, step: float, *, position: np.ndarray, velocity: np.ndarray,
    effort: np.ndarray,
) -> Hold:
    r"""Finite-horizon linear-quadratic feedback of the arm about its measured motion.

    It minimises :math:`\sum |q - r|^2/\sigma_q^2 + |\dot q - \dot r|^2/\sigma_v^2
    + |u - \bar u|^2/\sigma_u^2`, the arm alone being linearised at every node.

    Args:
        arm: Torque model of the arm without what it holds, a joints.
        values: Its parameter values.
        joints: Indices of its joints in the system that is played back, shape ``(a,)``.
        reference: Measured positions, smoothed, shape ``(N + 1, a)``.
        torque: Measured torques, shape ``(N + 1, a)``.
        step: Time from node to node in [s].
        position: The sizes :math:`\sigma_q` in [rad] or [m], shape ``(a,)``.
        velocity: The sizes :math:`\sigma_v`.
        effort: The sizes :math:`\sigma_u` in [N·m] or [N].

    Returns:
        The feedback, with gains for every interval.

    Raises:
        EstimationError: The gains cannot be computed, since the motion is not finite.
    """
    speed = np.gradient(reference, step, axis=0)
    found = linearised_accelerations(
        arm, values, reference, speed, torque, np.zeros(0, dtype=int))
    count, size = reference.shape
    change = np.zeros((count, 3 * size, 3 * size))
    change[:, :size, size:2 * size] = np.eye(size)
    change[:, size:2 * size] = np.concatenate(
        [found.by_position, found.by_velocity, found.by_torque], axis=2)
    if not np.isfinite(change).all():
        raise EstimationError('the motion to hold the arm near is not finite')
    moved = scipy.linalg.expm(step * change)[:, :2 * size]
    a, b = moved[:, :, :2 * size], moved[:, :, 2 * size:]
    state = np.diag(np.concatenate([1.0 / position**2, 1.0 / velocity**2]))
    control, rest = np.diag(1.0 / np.asarray(effort) ** 2), state
    gains = np.zeros((count - 1, size, 2 * size))
    for k in range(count - 2, -1, -1):
        pull = b[k].T @ rest
        gains[k] = np.linalg.solve(control + pull @ b[k], pull @ a[k])
        rest = state + a[k].T @ rest @ (a[k] - b[k] @ gains[k])
        rest = 0.5 * (rest + rest.T)
    return Hold(
        np.asarray(joints), reference, np.ascontiguousarray(gains[:, :, :size]),
        np.ascontiguousarray(gains[:, :, size:]))


def gain_advice(result: Identified) -> tuple[str, ...]:
    """Whether feedback was too weak or too strong, in words; nothing where it suits.

    Args:
        result: What was identified with it.
    """
    words, point = [], result.found.point
    for number, parts in enumerate(point.compared, start=1):
        rows = np.concatenate([part.values for part in parts], axis=1)
        size = float(np.sqrt(np.mean(rows**2)))
        if size > _WANDERS:
            words.append(
                f'Recording {number} is off by {size:.1f} standard deviations of the noise on '
                'average: the feedback is too weak to keep the simulation near, or the model is '
                'wrong. Raise the gains and see whether the parameters stay.')
    hidden = [
        name for name, deviation in zip(
            result.names, result.relative_deviation, strict=True) if deviation > _HIDDEN]
    if hidden and not words:
        words.append(
            f'{", ".join(hidden)}: known to no better than {100 * _HIDDEN:.0f} %. The feedback '
            'is so strong that the arm moves as measured whatever it holds, or the motion bends '
            'the object too little. Lower the gains, or move further.')
    return tuple(words)
