"""Data sets of robots whose base moves: base motion from poses, wrenches moved to the joints.

What sensors of a recording measured comes from
:mod:`~sysid_ros.recording.floating_base_sensors`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sysid_ros.errors import ModelError, RecordingError
from sysid_ros.mechanics.tree.base_motion import BaseMotion
from sysid_ros.mechanics.tree.kinematics import body_poses
from sysid_ros.numerics.rotations import rotation_matrices
from sysid_ros.recording.dataset import Dataset
from sysid_ros.recording.processing.differentiation import SavitzkyGolay, Spline
from sysid_ros.robot.model import STANDARD_GRAVITY, RobotModel


@dataclass(frozen=True, eq=False)
class MeasuredWrench:
    """External wrench on a link, as a force-torque sensor at a foot or hand measures it.

    Attributes:
        link: The link; force and moment are given in its frame, the moment about its origin.
        force: In [N], shape ``(T, 3)``.
        moment: In [N·m], shape ``(T, 3)``.
    """

    link: str
    force: np.ndarray
    moment: np.ndarray


def base_motion_from_poses(
    position: np.ndarray,
    quaternion: np.ndarray,
    rate: float,
    *,
    smoothing: SavitzkyGolay | Spline | None = None,
    gravity: tuple[float, float, float] = STANDARD_GRAVITY,
) -> BaseMotion:
    """Motion of a base from its poses, as motion capture or a state estimator gives them.

    Args:
        position: Origin of the base frame in the world in [m], one gap-free segment at a
            constant rate, shape ``(T, 3)``.
        quaternion: Orientation as x, y, z, w; either sign of each will do, shape ``(T, 4)``.
        rate: Sampling rate in [Hz].
        smoothing: How positions and quaternions are smoothed and differentiated; local
            polynomials by default.
        gravity: In the world in [m/s²].

    Raises:
        RecordingError: Shapes do not fit, a quaternion is zero or not finite, or neighbours
            are more than a quarter turn apart.
    """
    position, quaternion = (np.asarray(x, dtype=float) for x in (position, quaternion))
    smooth, slope, bend = (smoothing or SavitzkyGolay()).motion(
        np.hstack([position, _continuous(quaternion, len(position))]), rate
    )
    turn, turning, bending = (x[:, 3:] for x in (smooth, slope, bend))
    square = np.sum(turn**2, axis=1, keepdims=True)
    omega = 2.0 * _relative(turn, turning) / square
    # Derivative of the line above, where the length of a smoothed quaternion may change.
    drift = 2.0 * np.sum(turn * turning, axis=1, keepdims=True) / square
    alpha = 2.0 * _relative(turn, bending) / square - drift * omega
    orientation = rotation_matrices(turn)
    felt = np.einsum('tji,tj->ti', orientation, bend[:, :3] - np.asarray(gravity))
    return BaseMotion(omega, alpha, felt)


def _continuous(quaternion: np.ndarray, samples: int) -> np.ndarray:
    """Unit quaternions with signs that do not jump."""
    if quaternion.shape != (samples, 4) or not np.isfinite(quaternion).all():
        raise RecordingError(
            'the orientation of the base cannot be used', found=quaternion.shape,
            allowed=f'({samples}, 4), finite',
            fix='Record a unit quaternion (x, y, z, w) for every sample',
        )
    length = np.linalg.norm(quaternion, axis=1, keepdims=True)
    if not (length > 0.0).all():
        raise RecordingError(
            'a quaternion of the base is zero',
            fix='Remove the samples without an orientation')
    unit = quaternion / length
    dots = np.sum(unit[1:] * unit[:-1], axis=1)
    if (np.abs(dots) < np.cos(np.pi / 8.0)).any():
        worst = int(np.argmin(np.abs(dots)))
        raise RecordingError(
            'the base turns more than a quarter turn from one sample to the next',
            found=f'samples {worst} and {worst + 1}', fix='Record faster',
        )
    return unit * np.cumprod(np.concatenate([[1.0], np.where(dots < 0.0, -1.0, 1.0)]))[:, None]


def _relative(turn: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Vector part of the conjugate of one quaternion times another, shape ``(T, 3)``."""
    vector, scalar = turn[:, :3], turn[:, 3:]
    return scalar * other[:, :3] - other[:, 3:] * vector - np.cross(vector, other[:, :3])


def floating_base_dataset(
    robot: RobotModel,
    joints: Dataset,
    base: BaseMotion,
    *,
    wrenches: Sequence[MeasuredWrench] = (),
    all_measured: bool,
) -> Dataset:
    r"""A dataset of a robot with a floating base, for the estimators of every robot.

    Its torques are :math:`[0, \tau] + \sum J^T f`: what has to explain the motion.

    Args:
        robot: What :func:`~sysid_ros.robot.floating_base.with_floating_base` gave.
        joints: Motion and torques of the other joints.
        base: Motion of the base at the same samples.
        wrenches: External wrenches that were measured, one per link that is touched.
        all_measured: Whether these are all there are (none, for a robot that flies freely).
            Otherwise the six rows of the base do not count, and the rows of joints that
            carry a touched link are only right if its wrench was measured.

    Raises:
        RecordingError: The joints, the number of samples, or a link do not fit.
    """
    if not robot.base_joints or (*robot.base_joints, *joints.joint_names) != robot.joint_names:
        raise RecordingError(
            'the data does not belong to this robot with a floating base',
            where=joints.source or None, found=', '.join(joints.joint_names),
            allowed=', '.join(robot.joint_names),
        )
    q, v, a = base.with_joints(joints.q, joints.v, joints.a)
    tau = np.hstack([np.zeros((len(joints), 6)), joints.tau])
    told = np.full((len(joints), 6), all_measured)
    return with_wrenches(robot, replace(
        joints, joint_names=robot.joint_names, q=q, v=v, a=a, tau=tau,
        mask=np.hstack([told, joints.mask])), wrenches)


def with_wrenches(
    robot: RobotModel, dataset: Dataset, wrenches: Sequence[MeasuredWrench]
) -> Dataset:
    """A dataset whose torques hold what wrenches from outside do at the joints, too.

    Args:
        robot: The robot, whose joints are those of the dataset.
        dataset: Motion and torques.
        wrenches: External wrenches that were measured.

    Raises:
        RecordingError: There is no such link, or the samples do not fit.
    """
    if not wrenches:
        return dataset
    poses, found = body_poses(robot, dataset.q), np.zeros_like(dataset.tau)
    for wrench in wrenches:
        body, pose = _place(robot, wrench, len(dataset))
        turn = poses.rotation[:, body] @ pose[:3, :3] if body >= 0 else np.broadcast_to(
            pose[:3, :3], (len(dataset), 3, 3))
        force, moment = (np.einsum('tij,tj->ti', turn, vector)[:, None] for vector in (
            wrench.force, wrench.moment))
        bodies = np.array([body])
        found += poses.joint_forces(
            bodies, poses.points(bodies, pose[None, :3, 3]), force, moment)
    return replace(dataset, tau=dataset.tau + found)


def _place(robot: RobotModel, wrench: MeasuredWrench, samples: int) -> tuple[int, np.ndarray]:
    """Body and pose in it of the link that a wrench acts on."""
    values = np.hstack([wrench.force, wrench.moment])
    if values.shape != (samples, 6) or not np.isfinite(values).all():
        raise RecordingError(
            'the wrench does not fit the samples', where=wrench.link, found=values.shape,
            allowed=f'({samples}, 6), finite',
        )
    try:
        return robot.place_of(wrench.link)
    except ModelError as error:
        raise RecordingError(
            'there is no such link to exert a wrench on', found=error.found, fix=error.fix
        ) from error
