r"""Which way gravity pulls, by the efforts: whether a robot stands as its description says.

Torques are linear in the gravity vector g in the frame of the base: with inertial parameters
:math:`\theta_0 + P z` near the prior's every joint's effort is

.. math:: \tau_j = \Bigl(Y_j(q, \dot q, \ddot q) + \sum_k g_k W_{jk}(q)\Bigr)(\theta_0 + P z)
                   + F_j c_j,

with Y for no gravity, W for a unit of it along an axis of the base, and friction, drive inertia and
offset :math:`F_j c_j` of the joint's own. Deviations z of masses and their centres cost
:math:`\|z\|^2`. Weights turn with the joints: signs and scales of efforts, zeros, springs, and
masses that are described wrong are not made up for by another direction.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg
from scipy.optimize import minimize

from sysid_ros.mechanics.regressor.regressor import inertial_regressor
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.recording.checks.effort_reading import MISMATCH, STRETCH, prior_spread
from sysid_ros.recording.dataset import Dataset
from sysid_ros.robot.model import RobotModel

# Rows that are looked at: of all joints together, and of each at least.
_ROWS, _FEWEST = 3000, 200
# A direction is another one from this angle in [rad] on, where it explains efforts better by so
# many squared standard deviations, leaves no more than this part of the squared errors, and bodies
# as described explain at least so much of the efforts.
_TURNED, _DECISIVE, _LEFT, _EXPLAINED = 0.05, 30.0, 0.75, 0.4
# Directions that a search begins with beside the description's, and the slope at which it ends.
_STARTS, _ACCURACY = 3, 1e-2
# Angle in [rad] from an axis of the base within which a direction is along it: robots stand on
# walls more often than nearly on walls.
_ALONG = 0.09
# Part of an effort that is rounding.
_ROUNDED = 1e-6
# Deviations of each body that change what it weighs, the first ones: mass and centre of mass.
_WEIGHING = 4


@dataclass(frozen=True, eq=False)
class GravityDirection:
    """A direction of gravity by efforts, beside that of the description.

    Attributes:
        gravity: In the frame of the base in [m/s²], shape ``(3,)``.
        described: That of the description.
        evidence: How much better it explains the efforts, in squared standard deviations.
        left: Part of the squared errors of the description's direction that it leaves.
        explained: Part of the squared efforts that the bodies as described explain, standing so;
            less where the efforts are no torques.
    """

    gravity: np.ndarray
    described: np.ndarray
    evidence: float
    left: float
    explained: float

    @property
    def angle(self) -> float:
        """From that of the description in [rad]."""
        return _angle(self.gravity, self.described)

    @property
    def is_another(self) -> bool:
        """Whether the robot does not stand as described, beyond doubt."""
        return (
            self.angle > _TURNED and self.evidence > _DECISIVE and self.left < _LEFT
            and self.explained > _EXPLAINED)

    @property
    def setting(self) -> list[float]:
        """The vector for settings: along an axis of the base where it nearly is, two decimals."""
        largest, axis = int(np.argmax(np.abs(self.gravity))), np.zeros(3)
        axis[largest] = np.copysign(np.linalg.norm(self.gravity), self.gravity[largest])
        along = _angle(self.gravity, axis) < _ALONG < _angle(self.described, axis)
        return [round(float(one), 2) + 0.0 for one in (axis if along else self.gravity)]

    @property
    def advice(self) -> str:
        """What to change, in words with the line to paste."""
        return (
            'Look how the robot is mounted: by the efforts gravity pulls '
            f'{np.degrees(self.angle):.0f}° from where the description has it; set '
            f'robot: {{gravity: {self.setting}}}, in the frame of the base, or what you measure')


def _angle(a: np.ndarray, b: np.ndarray) -> float:
    """Angle between two vectors in [rad]."""
    return float(np.arccos(np.clip(a @ b / np.linalg.norm(a) / np.linalg.norm(b), -1.0, 1.0)))


def gravity_direction(dataset: Dataset, model: TorqueModel) -> GravityDirection | None:
    """The direction of gravity that agrees best with the efforts of a recording.

    Args:
        dataset: Motion and effort.
        model: Torque model with the prior; its joints must be the dataset's, in order.

    Returns:
        None where loops are closed, the base floats, nothing weighs, or there are no efforts.
    """
    robot, size = model.robot, float(np.linalg.norm(model.robot.gravity))
    if robot.loops is not None or robot.base_joints or not size > 0.0:
        return None
    rows = _weighted_rows(dataset, robot)
    if not rows:
        return None
    given = robot.gravity / size
    ways = [given, *(np.array(way) / np.linalg.norm(way)
                     for way in itertools.product((-1.0, 0.0, 1.0), repeat=3) if any(way))]
    first = _Misfit(rows, size)
    best = first.least(ways)
    # What no direction explains is noise, as far as the better of both leaves it.
    noise = np.minimum(first.errors(rows, best), first.errors(rows, given))
    misfit = _Misfit([part / max(one, 1.0) for part, one in zip(rows, noise, strict=True)], size)
    best = misfit.least([best, given])
    before, after = misfit.at(given)[0], misfit.at(best)[0]
    return GravityDirection(
        size * best, robot.gravity, before - after, after / max(before, np.finfo(float).tiny),
        misfit.explained(best))


def _weighted_rows(dataset: Dataset, robot: RobotModel) -> list[np.ndarray]:
    """Rows of each joint that has efforts, without its own terms, in standard deviations.

    Returns:
        Shape ``(T, 4 (4 b + 1) + 1)`` each: without gravity and for a unit of it along each axis
        the effect of deviations and the torque of the prior, then the effort.
    """
    joints = len(robot.joint_names)
    step = max(len(dataset) // max(_ROWS // joints, _FEWEST), 1)
    q, v, a = dataset.q[::step], dataset.v[::step], dataset.a[::step]
    mask, tau, still = dataset.mask[::step], dataset.tau[::step], np.zeros_like(v)
    parts = [
        inertial_regressor(replace(robot, gravity=np.zeros(3)), q, v, a),
        *(inertial_regressor(replace(robot, gravity=unit), q, still, still) for unit in np.eye(3))]
    spread = scipy.linalg.block_diag(*prior_spread(robot)[:, :, :_WEIGHING])
    columns = np.column_stack([spread, robot.reference_inertials.reshape(-1)])
    independent = max(dataset.duration / STRETCH, 10.0)
    rows = []
    for joint in range(joints):
        used = mask[:, joint]
        own = np.column_stack([np.ones(len(q)), v[:, joint], np.sign(v[:, joint]), a[:, joint]])
        basis = scipy.linalg.orth(own[used])
        stack = np.column_stack([
            *(part[used, joint] @ columns for part in parts), tau[used, joint]])
        whole = float(np.linalg.norm(stack[:, -1]))
        stack -= basis @ (basis.T @ stack)
        size = float(np.linalg.norm(stack[:, -1]))
        error = MISMATCH * size
        # Of an effort that is all friction, or a constant, rounding is left.
        if size > _ROUNDED * whole:
            rows.append(stack * np.sqrt(min(independent, len(stack))) / error)
    return rows


class _Misfit:
    """Squared misfit of all efforts, deviations of the prior included, by the way gravity pulls.

    Args:
        rows: Those of :func:`_weighted_rows`.
        size: Of gravity in [m/s²].
    """

    def __init__(self, rows: Sequence[np.ndarray], size: float) -> None:
        products = sum(part.T @ part for part in rows)
        width = (len(products) - 1) // 4
        factors = np.repeat([1.0, size, size, size], width)
        self._square = (products[:-1, :-1] * np.outer(factors, factors)).reshape(4, width, 4, width)
        self._mixed = (products[:-1, -1] * factors).reshape(4, width)
        self._total, self._factors = float(products[-1, -1]), factors

    def at(self, way: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """The misfit for a unit vector ``(3,)``, its slope by that, and the best deviations."""
        half, square, mixed = self._products(way)
        normal = square[:-1, :-1] + np.eye(len(square) - 1)
        z = np.append(scipy.linalg.solve(
            normal, mixed[:-1] - square[:-1, -1], assume_a='pos'), 1.0)
        value = self._total - 2.0 * mixed @ z + z @ square @ z + z[:-1] @ z[:-1]
        slope = 2.0 * (np.tensordot(z, half, axes=1) - self._mixed) @ z
        return float(value), slope[1:], z

    def _products(self, way: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Products of the columns for a unit vector: with each part's, themselves, the efforts.

        Returns:
            Shapes ``(w, 4, w)``, ``(w, w)`` and ``(w,)``.
        """
        c = np.array([1.0, *way])
        half = np.tensordot(c, self._square, axes=1)
        return half, np.tensordot(c, half, axes=(0, 1)), c @ self._mixed

    def explained(self, way: np.ndarray) -> float:
        """Part of the squared efforts that the prior itself explains, for a unit vector."""
        _, square, mixed = self._products(way)
        return float(2.0 * mixed[-1] - square[-1, -1]) / self._total

    def least(self, ways: Sequence[np.ndarray]) -> np.ndarray:
        """The unit vector of least misfit, sought from the first of some and the best of them."""
        def on_sphere(point: np.ndarray) -> tuple[float, np.ndarray]:
            size = float(np.linalg.norm(point))
            way = point / size
            value, slope, _ = self.at(way)
            return value, (slope - way * (way @ slope)) / size

        begin = [ways[0], *sorted(ways, key=lambda way: self.at(way)[0])[:_STARTS]]
        found = min((
            minimize(on_sphere, way, jac=True, method='BFGS', options={'gtol': _ACCURACY})
            for way in begin), key=lambda one: float(one.fun)).x
        return np.asarray(found / np.linalg.norm(found))

    def errors(self, rows: Sequence[np.ndarray], way: np.ndarray) -> np.ndarray:
        """Root mean squares of each joint's rows for a unit vector, in standard deviations."""
        z = self.at(way)[2]
        combined = np.append(np.kron([1.0, *way], z) * self._factors, -1.0)
        sizes = [np.linalg.norm(part @ combined) for part in rows]
        return np.array(sizes) / np.sqrt([len(part) for part in rows])
