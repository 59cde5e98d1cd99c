r"""What a simulated motion is compared with: sums of squares over its nodes.

Half the sum of squared residuals that are divided by the noise is, but for a constant, the
negative log-likelihood; with unit noise it is the cost of Caldwell, Coleman and Correll.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import pinocchio as pin

from sysid_ros.errors import RecordingError
from sysid_ros.robot.model import RobotModel


class Compared(NamedTuple):
    """Residuals at the nodes, predicted less measured and over the noise.

    Attributes:
        values: Zero where nothing was measured, shape ``(N + 1, m)``.
        by_position: Their derivatives, shape ``(N + 1, m, n)``.
    """

    values: np.ndarray
    by_position: np.ndarray

    @property
    def cost(self) -> float:
        """Half the sum of squares."""
        return 0.5 * float(np.sum(self.values**2))

    @property
    def gradient(self) -> np.ndarray:
        """Derivatives of the cost by the positions, shape ``(N + 1, n)``."""
        return np.einsum('tm,tmn->tn', self.values, self.by_position)


class Cost(Protocol):
    """What a motion is compared with."""

    @property
    def nodes(self) -> int:
        """The number N + 1."""

    def compare(self, positions: np.ndarray) -> Compared:
        """Residuals of positions at the nodes, shape ``(N + 1, n)``."""


@dataclass(frozen=True, eq=False)
class JointAngles:
    """Measured joint positions.

    Attributes:
        joints: Indices of the m joints, shape ``(m,)``.
        measured: In [rad] or [m], NaN where missing, shape ``(N + 1, m)``.
        sigma: Standard deviation of the noise, shape ``(m,)``.
        terminal: How often the last node counts.

    Raises:
        RecordingError: The arrays do not belong together, or noise is not above zero.
    """

    joints: np.ndarray
    measured: np.ndarray
    sigma: np.ndarray
    terminal: float = 1.0

    def __post_init__(self) -> None:
        _require_noise(self.measured, self.sigma, len(self.joints))

    @property
    def nodes(self) -> int:
        """The number N + 1."""
        return len(self.measured)

    def compare(self, positions: np.ndarray) -> Compared:
        """Residuals; see :class:`Cost`."""
        slopes = np.zeros((len(positions), len(self.joints), positions.shape[1]))
        slopes[:, np.arange(len(self.joints)), self.joints] = 1.0
        return _weighted(
            positions[:, self.joints] - self.measured, slopes, self.sigma, self.terminal)


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
        RecordingError: As for :class:`JointAngles`.
    """

    robot: RobotModel
    link: str
    point: np.ndarray
    measured: np.ndarray
    sigma: np.ndarray
    terminal: float = 1.0

    def __post_init__(self) -> None:
        self.robot.place_of(self.link)
        _require_noise(self.measured, self.sigma, 3)

    @property
    def nodes(self) -> int:
        """The number N + 1."""
        return len(self.measured)

    def places(self, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where the point is, ``(N + 1, 3)``, and its derivatives, ``(N + 1, 3, n)``."""
        body, pose = self.robot.place_of(self.link)
        tree, local = self.robot.tree, pose[:3, :3] @ self.point + pose[:3, 3]
        chain = []
        while body >= 0:
            chain.append(body)
            body = int(tree.parent[body])
        count = len(positions)
        turn, place = np.broadcast_to(np.eye(3), (count, 3, 3)), np.zeros((count, 3))
        screws = []
        for k in reversed(chain):
            angle = positions @ tree.coupling[k] + tree.coupling_offset[k]
            place, turn = place + turn @ tree.translation[k], turn @ tree.rotation[k]
            axis = turn @ tree.axis[k]
            if tree.revolute[k]:
                screws.append((k, axis, place))
                turn = turn @ _rotations(tree.axis[k], angle)
            else:
                screws.append((k, axis, None))
                place = place + axis * angle[:, None]
        found = place + turn @ local
        slopes = np.zeros((count, 3, positions.shape[1]))
        for k, axis, origin in screws:
            motion = axis if origin is None else np.cross(axis, found - origin)
            slopes += motion[:, :, None] * tree.coupling[k]
        return found, slopes

    def compare(self, positions: np.ndarray) -> Compared:
        """Residuals; see :class:`Cost`."""
        found, slopes = self.places(positions)
        return _weighted(found - self.measured, slopes, self.sigma, self.terminal)


def _rotations(axis: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """Rotations about a unit axis, shape ``(T, 3, 3)``."""
    skew = pin.skew(axis)
    s, c = np.sin(angle)[:, None, None], np.cos(angle)[:, None, None]
    return np.eye(3) + s * skew + (1.0 - c) * (skew @ skew)


def _require_noise(measured: np.ndarray, sigma: np.ndarray, width: int) -> None:
    if measured.ndim != 2 or measured.shape[1] != width or np.shape(sigma) != (width,):
        raise RecordingError(
            'measurements and their noise do not belong together',
            found=f'{measured.shape} and {np.shape(sigma)}', allowed=f'(nodes, {width})')
    if not (np.isfinite(sigma).all() and (np.asarray(sigma) > 0.0).all()):
        raise RecordingError('the noise of a measurement is not above zero', found=sigma)
    if np.isinf(measured).any():
        raise RecordingError('infinity was measured', allowed='numbers, NaN where missing')


def _weighted(
    error: np.ndarray, slopes: np.ndarray, sigma: np.ndarray, terminal: float
) -> Compared:
    known = np.isfinite(error)
    weight = np.where(known, 1.0 / sigma, 0.0)
    weight[-1] *= np.sqrt(terminal)
    return Compared(np.where(known, error, 0.0) * weight, slopes * weight[:, :, None])
