r"""A simulated robot that tracks a reference under closed-loop control.

The controller knows a nominal model and the robot's state, but not its parameters:

.. math::
    \tau = \tau_0(q_r, \dot q_r, \ddot q_r) + M(q)\,\big(\omega^2 (q_r - q)
        + 2\omega\,(\dot q_r - \dot q)\big),

with gains scaled by the inertia that the joints feel, so that the loop keeps its bandwidth
whatever the parameters (Janot, Vandanjon and Gautier 2014, section III). Rigid bodies and drives
are simulated; friction and springs are assumed to be compensated by the controller. All comes
from the regressor of the inverse dynamics, so coupled joints and geared rotors move as they should.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sysid_ros.errors import ModelError
from sysid_ros.mechanics.regressor.regressor import inertial_regressor
from sysid_ros.mechanics.torque_model import TorqueModel

# Windows are simulated side by side. The transient at the start of one, this many time constants
# of the loop, is simulated before it and thrown away.
_SETTLING = 10.0
# Shortest window in samples, and in lengths of its transient.
_SHORTEST = 64
_LENGTHS = 2
# Velocities beyond this have left every bound.
_RUNAWAY = 1e6


@dataclass(frozen=True, eq=False)
class TrackingRobot:
    """A robot under closed-loop control.

    Args:
        model: Torque model.
        values: Parameters of the robot, shape ``(p,)``.
        nominal: Parameters that its controller knows, shape ``(p,)``.
        bandwidth: Natural frequency of the critically damped loop in [Hz].
    """

    model: TorqueModel
    values: np.ndarray
    nominal: np.ndarray
    bandwidth: float

    def track(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray, rate: float,
        segments: Sequence[tuple[int, int]],
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Track a reference, beginning on it in every segment.

        Integrated by the explicit trapezoidal rule at the samples of the reference.

        Args:
            q: Reference positions in [rad] or [m], shape ``(T, n)``.
            v: Their velocities, shape ``(T, n)``.
            a: Their accelerations, shape ``(T, n)``.
            rate: Samples per second in [Hz].
            segments: Half-open ranges of samples without gaps.

        Returns:
            Simulated positions, velocities and accelerations, ``(T, n)`` each; zero outside
            of all segments.

        Raises:
            ModelError: With these parameters a motion of the robot has no inertia, or it does
                not stay near the reference.
        """
        torque = self._smooth_torque(self.nominal, q, v, a)
        reference = np.stack([q, v, torque], axis=1)
        windows = _windows(segments, int(np.ceil(_SETTLING * rate / self._omega)))
        start, first, stop = np.array(windows).T
        motion = np.zeros((3, *q.shape))
        q, v = q[start], v[start]
        for k in range(int((stop - start).max())):
            here, after = np.minimum(start + k, stop - 1), np.minimum(start + k + 1, stop - 1)
            a = self._acceleration(q, v, reference[here])
            keep = (start + k >= first) & (start + k < stop)
            motion[:, here[keep]] = q[keep], v[keep], a[keep]
            ahead = self._acceleration(q + v / rate, v + a / rate, reference[after])
            q, v = q + (v + 0.5 * a / rate) / rate, v + 0.5 * (a + ahead) / rate
            if not np.abs(v).max() < _RUNAWAY:
                raise ModelError(
                    'the simulated robot does not stay near its reference',
                    found=f'a speed beyond {_RUNAWAY:g} rad/s or m/s',
                    fix='Its parameters are too far from those that its controller knows',
                )
        return motion[0], motion[1], motion[2]

    @property
    def _omega(self) -> float:
        return 2.0 * np.pi * self.bandwidth

    def _acceleration(self, q: np.ndarray, v: np.ndarray, reference: np.ndarray) -> np.ndarray:
        """Accelerations under control at states ``(B, n)``."""
        omega = self._omega
        drive = omega**2 * (reference[:, 0] - q) + 2.0 * omega * (reference[:, 1] - v)
        still = np.zeros_like(q)
        net = reference[:, 2] - self._bodies(self.values, q, v, still)
        return drive + _solve(self._mass_matrix(q), net)

    def _mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """Mass matrices with the inertia of the drives, shape ``(B, n, n)``."""
        count, joints = q.shape
        units = np.vstack([np.zeros_like(q), np.repeat(np.eye(joints), count, axis=0)])
        torque = self.model.torque(
            self.values, np.tile(q, (joints + 1, 1)), np.zeros_like(units), units
        ).reshape(joints + 1, count, joints)
        return np.moveaxis(torque[1:] - torque[0], 0, 2)

    def _smooth_torque(
        self, values: np.ndarray, q: np.ndarray, v: np.ndarray, a: np.ndarray
    ) -> np.ndarray:
        """Torque of bodies and drives, without friction and springs, shape ``(T, n)``."""
        still = np.zeros_like(q)
        inertia = self.model.torque(values, q, still, a)
        inertia -= self.model.torque(values, q, still, still)
        return inertia + self._bodies(values, q, v, still)

    def _bodies(
        self, values: np.ndarray, q: np.ndarray, v: np.ndarray, a: np.ndarray
    ) -> np.ndarray:
        """Torque of the rigid bodies, shape ``(T, n)``."""
        regressor = inertial_regressor(self.model.robot, q, v, a)
        return regressor @ values[:regressor.shape[2]]


def _solve(mass: np.ndarray, torque: np.ndarray) -> np.ndarray:
    """Accelerations of positive definite mass matrices, shape ``(B, n)``."""
    try:
        lower = np.linalg.cholesky(0.5 * (mass + np.swapaxes(mass, 1, 2)))
    except np.linalg.LinAlgError as error:
        raise ModelError(
            'a motion of the simulated robot has no inertia',
            fix='Its parameters are not physically consistent',
        ) from error
    half = np.linalg.solve(lower, torque[..., None])
    return np.linalg.solve(np.swapaxes(lower, 1, 2), half)[..., 0]


def _windows(segments: Sequence[tuple[int, int]], settling: int) -> list[tuple[int, int, int]]:
    """Where each window begins to be simulated, begins to count, and ends."""
    length = max(_SHORTEST, _LENGTHS * settling)
    windows = []
    for start, stop in segments:
        for first in range(start, stop, length):
            windows.append((max(first - settling, start), first, min(first + length, stop)))
    return windows
