r"""Measured places and poses of a point of a link, as costs of a simulated motion.

How far an orientation R is from a measured one :math:`\hat R` is the shortest rotation vector
:math:`\varphi` with :math:`R = \exp([\varphi]_\times)\,\hat R`, in the world's axes. Where the
link turns by :math:`\delta\omega`, it changes by
:math:`\delta\varphi = J(\varphi)^{-1}\delta\omega` with

.. math:: J(\varphi)^{-1} = 1 - \tfrac12 [\varphi]_\times
          + \frac{1 - \tfrac{\theta}{2}\cot\tfrac{\theta}{2}}{\theta^2}\,[\varphi]_\times^2,
          \qquad \theta = |\varphi|,

the inverse of the left Jacobian of rotations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from sysid_ros.errors import RecordingError
from sysid_ros.estimation.trajectory.playback.costs import (
    Compared,
    require_noise,
    weighted,
)
from sysid_ros.mechanics.tree.kinematics import body_poses
from sysid_ros.numerics.rotations import inverse_left_jacobians
from sysid_ros.robot.model import RobotModel

# A quaternion's norm may differ from one by this, since logs are rounded.
_ROUNDED = 1e-3


class Places(NamedTuple):
    """A point of a link and the link's orientation at T samples, and their derivatives.

    Attributes:
        position: Of the point in the world in [m], shape ``(T, 3)``.
        rotation: Of the link's frame, shape ``(T, 3, 3)``.
        slide: Derivatives of the position by joint positions, shape ``(T, 3, n)``.
        turn: How the frame turns with them, in the world's axes, shape ``(T, 3, n)``.
    """

    position: np.ndarray
    rotation: np.ndarray
    slide: np.ndarray
    turn: np.ndarray


def link_places(
    robot: RobotModel, link: str, point: np.ndarray, positions: np.ndarray
) -> Places:
    """Where a point of a link is.

    Args:
        robot: The tree.
        link: The link.
        point: The point in its frame in [m], shape ``(3,)``.
        positions: Joint positions in [rad] or [m], shape ``(T, n)``.

    Raises:
        ModelError: There is no such link.
    """
    body, pose = robot.place_of(link)
    tree, poses = robot.tree, body_poses(robot, positions)
    local = pose[:3, :3] @ point + pose[:3, 3]
    place = poses.points(np.array([body]), local[None])[:, 0]
    carrier = poses.rotation[:, body] if body >= 0 else np.eye(3)
    rotation = np.broadcast_to(carrier @ pose[:3, :3], (len(positions), 3, 3))
    slide, turn = np.zeros((2, len(positions), 3, positions.shape[1]))
    while body >= 0:
        axis = poses.rotation[:, body] @ tree.axis[body]
        if tree.revolute[body]:
            lever = np.cross(axis, place - poses.origin[:, body])
            slide += lever[:, :, None] * tree.coupling[body]
            turn += axis[:, :, None] * tree.coupling[body]
        else:
            slide += axis[:, :, None] * tree.coupling[body]
        body = int(tree.parent[body])
    return Places(place, rotation, slide, turn)


@dataclass(frozen=True, eq=False)
class EndEffectorPosition:
    """Measured places of a point of a link in the world.

    Attributes:
        robot: The tree.
        link: The link.
        point: The point in its frame in [m], shape ``(3,)``.
        measured: In [m], NaN where missing, shape ``(N + 1, 3)``.
        sigma: Standard deviation of the noise in [m], shape ``(3,)``.
        terminal: How often the last node counts; 2 in the paper.

    Raises:
        ModelError: There is no such link.
        RecordingError: The arrays do not belong together, noise is not above zero, or the last
            node counts less than nothing.
    """

    robot: RobotModel
    link: str
    point: np.ndarray
    measured: np.ndarray
    sigma: np.ndarray
    terminal: float = 1.0

    def __post_init__(self) -> None:
        self.robot.place_of(self.link)
        require_noise(self.measured, self.sigma, 3, self.terminal)

    @property
    def nodes(self) -> int:
        """The number N + 1."""
        return len(self.measured)

    def compare(self, positions: np.ndarray) -> Compared:
        """Residuals; see :class:`~sysid_ros.estimation.trajectory.playback.costs.Cost`."""
        found = link_places(self.robot, self.link, self.point, positions)
        return weighted(found.position - self.measured, found.slide, self.sigma, self.terminal)


@dataclass(frozen=True, eq=False)
class EndEffectorPose:
    """Measured poses of a link in the world: where a point of it is, and how the link is turned.

    Attributes:
        robot: The tree.
        link: The link.
        point: The point in its frame in [m], shape ``(3,)``.
        measured: Places of the point in [m], NaN where missing, shape ``(N + 1, 3)``.
        orientation: Of the link's frame as unit quaternions x, y, z, w, NaN where missing, shape
            ``(N + 1, 4)``.
        sigma: Standard deviation of the noise of places in [m], then of rotation vectors in
            [rad], shape ``(6,)``.
        terminal: How often the last node counts.

    Raises:
        ModelError: There is no such link.
        RecordingError: As for :class:`EndEffectorPosition`, or a quaternion is none of a
            rotation.
    """

    robot: RobotModel
    link: str
    point: np.ndarray
    measured: np.ndarray
    orientation: np.ndarray
    sigma: np.ndarray
    terminal: float = 1.0

    def __post_init__(self) -> None:
        self.robot.place_of(self.link)
        if self.orientation.shape != (len(self.measured), 4):
            raise RecordingError(
                'orientations do not belong to the places', where=self.link,
                found=self.orientation.shape, allowed=f'({len(self.measured)}, 4)')
        require_noise(
            np.hstack([self.measured, self.orientation[:, :3]]), self.sigma, 6, self.terminal)
        norms = np.linalg.norm(self.orientation[self._turned], axis=1)
        wrong = ~(np.abs(norms - 1.0) <= _ROUNDED)
        if wrong.any():
            raise RecordingError(
                'a quaternion is none of a rotation', where=self.link,
                found=f'a norm of {norms[wrong][0]:.4g}', allowed='1, or NaN where missing')

    @property
    def nodes(self) -> int:
        """The number N + 1."""
        return len(self.measured)

    @property
    def _turned(self) -> np.ndarray:
        """Whether an orientation was measured, shape ``(N + 1,)``."""
        return np.asarray(~np.isnan(self.orientation).any(axis=1))

    def compare(self, positions: np.ndarray) -> Compared:
        """Residuals; see :class:`~sysid_ros.estimation.trajectory.playback.costs.Cost`."""
        found, known = link_places(self.robot, self.link, self.point, positions), self._turned
        away = np.full((len(positions), 3), np.nan)
        slopes = np.zeros_like(found.turn)
        if known.any():
            measured = Rotation.from_quat(self.orientation[known])
            away[known] = (
                Rotation.from_matrix(found.rotation[known]) * measured.inv()).as_rotvec()
            slopes[known] = inverse_left_jacobians(away[known]) @ found.turn[known]
        return weighted(
            np.hstack([found.position - self.measured, away]),
            np.concatenate([found.slide, slopes], axis=1), self.sigma, self.terminal)
