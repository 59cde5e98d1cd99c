r"""Efforts that are clipped below the noise of their sensor, told by the motion that goes on.

Under noise no two samples of a plateau are equal. The flat top of a sine, the constant torque of a
trapezoidal profile and dry friction stay near one level, too, but then motion asks for no more.
So the effort away from its extremes is regressed on what the joint's motion explains,

.. math:: \tau \approx c_0 + c_1 \hat\tau + c_2 \hat g + c_3 a + c_4 v + c_5 \operatorname{sign} v,

with torque :math:`\hat\tau` and weight :math:`\hat g` of the bodies described, and extrapolated to
the samples near an extreme. Where these are many, and the motion asks for more than the extreme by
far more than the regression is off elsewhere, the effort is clipped.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.mechanics.tree.inverse_dynamics import recursive_newton_euler
from sysid_ros.recording.dataset import Dataset
from sysid_ros.recording.processing.resolution import sample_noise
from sysid_ros.recording.recording import Recording

# Samples within so many standard deviations of the sensor's noise, or this part of the extreme, are
# near it; the extreme is this percentile.
_SIGMAS, _PART, _EXTREME = 6.0, 0.03, 99.0
# Part of the samples that has to be near, and to which the extreme has to be exceeded by as many
# deviations of the regression, and by such a part of itself.
_NEAR, _BEYOND, _LEAST = 0.03, 3.0, 0.15
# A joint with less effort than this part of the largest carries next to nothing but friction.
_CARRIES = 0.02
# Least samples of a regression.
_ENOUGH = 200


@dataclass(frozen=True)
class ClippedEffort:
    """An effort that stays near an extreme while the motion asks for more.

    Attributes:
        joint: Name of the joint.
        level: The extreme in [N·m] or [N].
        part: Part of the samples near it.
        asked: What the motion asks for there at the most (95 %), in [N·m] or [N].
    """

    joint: str
    level: float
    part: float
    asked: float

    @property
    def sentence(self) -> str:
        """The finding in words."""
        return (
            f'the effort of joint {self.joint!r} looks clipped: within its noise it stays at '
            f'{self.level:.4g} in {100.0 * self.part:.2g} % of the samples, where the motion asks '
            f'for up to {self.asked:.3g}; if its drive or sensor saturates, move slower or with a '
            'smaller load'
        )


def clipped_efforts(
    recording: Recording, dataset: Dataset, model: TorqueModel
) -> tuple[ClippedEffort, ...]:
    """Efforts that noise hides the clipping of, the lower extreme of each joint first.

    Args:
        recording: What was recorded, whose samples tell the noise.
        dataset: The same, aligned.
        model: Torque model with the description's bodies; closed loops are not looked at.
    """
    robot = model.robot
    if robot.loops is not None:
        return ()
    phi, still = model.parameters.prior[:10 * len(robot.body_names)], np.zeros_like(dataset.v)
    torque = recursive_newton_euler(robot, phi, dataset.q, dataset.v, dataset.a)
    weight = recursive_newton_euler(robot, phi, dataset.q, still, still)
    found = []
    sizes = [tau[used].std() if used.any() else 0.0
             for tau, used in zip(dataset.tau.T, dataset.mask.T, strict=True)]
    for joint, name in enumerate(dataset.joint_names):
        channel, used = recording.channel_of('effort', name), dataset.mask[:, joint]
        if channel is None or used.sum() < _ENOUGH or not (
                sizes[joint] > _CARRIES * max(sizes)):
            continue
        samples = channel.column(name)
        v, a = dataset.v[used, joint], dataset.a[used, joint]
        columns = np.column_stack([
            np.ones_like(v), torque[used, joint], weight[used, joint], a, v, np.sign(v)])
        found += _clipped(
            name, dataset.tau[used, joint], columns, sample_noise(samples[np.isfinite(samples)]))
    return tuple(found)


def _clipped(
    name: str, effort: np.ndarray, columns: np.ndarray, noise: float
) -> list[ClippedEffort]:
    """Extremes at which one effort, shape ``(T,)``, is clipped.

    Args:
        name: Name of the joint.
        effort: Samples.
        columns: What the motion explains, shape ``(T, k)``.
        noise: Standard deviation of the sensor's noise.
    """
    low, high = np.percentile(effort, [100.0 - _EXTREME, _EXTREME])
    sides = []
    for side, extreme in ((-1.0, low), (1.0, high)):
        band = max(_SIGMAS * noise, _PART * abs(extreme))
        sides.append((side, extreme, side * (extreme - effort) < band))
    inside = ~np.any([near for _, _, near in sides], axis=0)
    if inside.sum() < _ENOUGH:
        return []
    coefficients = np.linalg.lstsq(columns[inside], effort[inside], rcond=None)[0]
    beyond = columns @ coefficients - effort
    deviation = float(np.sqrt(np.mean(beyond[inside] ** 2)))
    found = []
    for side, extreme, near in sides:
        if near.mean() < _NEAR:
            continue
        more = float(np.mean(side * beyond[near]))
        if more > _BEYOND * deviation and more > _LEAST * abs(extreme):
            found.append(ClippedEffort(
                name, float(np.median(effort[near])), float(near.mean()),
                float(np.percentile(side * (columns @ coefficients)[near], 95.0)) * side))
    return found
