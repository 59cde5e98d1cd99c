r"""What a simulated motion is compared with: sums of squares over its nodes.

Half the sum of squared residuals that are divided by the noise is, but for a constant, the
negative log-likelihood; with unit noise it is the cost of Caldwell, Coleman and Correll.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from sysid_ros.errors import RecordingError


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

    @property
    def terminal(self) -> float:
        """How often the last node counts."""

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
        RecordingError: The arrays do not belong together, noise is not above zero, or the last
            node counts less than nothing.
    """

    joints: np.ndarray
    measured: np.ndarray
    sigma: np.ndarray
    terminal: float = 1.0

    def __post_init__(self) -> None:
        require_noise(self.measured, self.sigma, len(self.joints), self.terminal)

    @property
    def nodes(self) -> int:
        """The number N + 1."""
        return len(self.measured)

    def compare(self, positions: np.ndarray) -> Compared:
        """Residuals; see :class:`Cost`."""
        slopes = np.zeros((len(positions), len(self.joints), positions.shape[1]))
        slopes[:, np.arange(len(self.joints)), self.joints] = 1.0
        return weighted(
            positions[:, self.joints] - self.measured, slopes, self.sigma, self.terminal)


def require_noise(
    measured: np.ndarray, sigma: np.ndarray, width: int, terminal: float
) -> None:
    """Refuse measurements that cannot be weighed.

    Args:
        measured: Measured at the nodes, shape ``(N + 1, width)``.
        sigma: Standard deviation of the noise, shape ``(width,)``.
        width: How many numbers are measured at a node.
        terminal: How often the last node counts.

    Raises:
        RecordingError: The arrays do not belong together, infinity was measured, noise is not
            above zero, or the last node counts less than nothing.
    """
    if measured.ndim != 2 or measured.shape[1] != width or np.shape(sigma) != (width,):
        raise RecordingError(
            'measurements and their noise do not belong together',
            found=f'{measured.shape} and {np.shape(sigma)}', allowed=f'(nodes, {width})')
    if not (np.isfinite(sigma).all() and (np.asarray(sigma) > 0.0).all()):
        raise RecordingError('the noise of a measurement is not above zero', found=sigma)
    if np.isinf(measured).any():
        raise RecordingError('infinity was measured', allowed='numbers, NaN where missing')
    if not 0.0 <= terminal < np.inf:
        raise RecordingError(
            'the last node cannot count so often', where='terminal', found=terminal,
            allowed='zero or more')


def weighted(
    error: np.ndarray, slopes: np.ndarray, sigma: np.ndarray, terminal: float
) -> Compared:
    """Errors over the noise.

    Args:
        error: Predicted less measured, NaN where missing, shape ``(N + 1, m)``.
        slopes: Its derivatives by joint positions, shape ``(N + 1, m, n)``.
        sigma: Standard deviation of the noise, shape ``(m,)``.
        terminal: How often the last node counts.
    """
    known = np.isfinite(error)
    weight = np.where(known, 1.0 / np.asarray(sigma), 0.0)
    weight[-1] *= np.sqrt(terminal)
    return Compared(np.where(known, error, 0.0) * weight, slopes * weight[:, :, None])
