r"""One joint's effort beside the torque of the prior: how well each scale explains it.

Parameters may stray from the prior at a price, friction and drive inertia are free but not
negative, so that a wrong prior by itself speaks for no scale but 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from sysid_ros.mechanics.joint_terms.stiffness import Stiffness
from sysid_ros.mechanics.regressor.regressor import inertial_regressor
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.numerics.decomposition import svd
from sysid_ros.numerics.least_squares.nonnegative import nonnegative_least_squares
from sysid_ros.recording.dataset import Dataset
from sysid_ros.recording.processing.low_pass import LowPass
from sysid_ros.recording.processing.resolution import sample_noise
from sysid_ros.robot.inertia import central_inertia, inertial_parameters, is_consistent
from sysid_ros.robot.model import RobotModel

# How far a prior may well be off: masses and inertias in parts, centres of mass in [m].
_MASS, _CENTRE, _INERTIA = 0.2, 0.02, 0.3
#: The model is not better than this, in parts of the torque; and its errors this far apart in [s]
#: are independent.
MISMATCH, STRETCH = 0.05, 0.1
# Rows that are looked at, spread evenly over the recording; filtered ones in parts of the cut-off.
_ROWS, _OFTEN = 2000, 10.0
# Terms of a joint that are not negative: viscous and dry friction, and drive inertia.
_FRICTION = 3


def readings(
    dataset: Dataset, model: TorqueModel, low_pass: LowPass | None = None
) -> Iterator[list[Reading]]:
    """For every joint the effort with gravity and without; none where there is no effort.

    Args:
        dataset: Motion and effort.
        model: Torque model with the prior; its joints must be the dataset's, in order.
        low_pass: What efforts and the model's torques go through, as the rows of a fit; nothing
            where left out.

    Raises:
        ConfigurationError: The filter's cut-off is not below half the sampling rate.
        RecordingError: A segment is not longer than the filter.
    """
    rows, columns = _sampled(dataset, model) if low_pass is None else _filtered(
        dataset, model, low_pass)
    width = columns.shape[-1] - 1 - _FRICTION - _free(model)
    full, gravity, free, friction, efforts = np.split(
        columns, np.cumsum([width // 2, width // 2, _free(model), _FRICTION]), axis=-1)
    # With what carries the weight, and what accelerates the links alone.
    parts = ((full, gravity), (full - gravity, np.zeros_like(gravity)))
    spread = prior_spread(model.robot)
    prior = model.robot.reference_inertials.reshape(-1)
    independent = max(dataset.duration / STRETCH, 10.0)
    for joint in range(len(dataset.joint_names)):
        used = dataset.mask[rows, joint]
        tau = efforts[used, joint, 0]
        if len(tau) <= 2 * len(prior) or np.ptp(tau) == 0:
            yield []
            continue
        white = sample_noise(dataset.tau[dataset.mask[:, joint], joint])
        readings = [
            Reading(
                _spread_out(part[used, joint], spread), part[used, joint] @ prior,
                free[used, joint], friction[used, joint], tau,
                _spread_out(weight[used, joint], spread), weight[used, joint] @ prior, white,
            ) for part, weight in parts
        ]
        least = MISMATCH * float(np.linalg.norm(readings[0].tau))
        noise = max(least, min(reading.misfit for reading in readings))
        for reading in readings:
            reading.scale_rows(np.sqrt(min(independent, len(tau))) / noise)
        yield readings


def _free(model: TorqueModel) -> int:
    """Number of terms of a joint that may have any sign: its offset, and its spring."""
    return 1 + any(isinstance(term, Stiffness) for term in model.terms)


def _columns(
    dataset: Dataset, model: TorqueModel, tau: np.ndarray, rows: slice | np.ndarray
) -> np.ndarray:
    """Regressor, its part that carries weight, the joints' own terms and efforts, ``(T, n, c)``.

    Args:
        dataset: Motion.
        model: Torque model with the prior.
        tau: Efforts, shape ``(N, n)``.
        rows: Which T samples.
    """
    q, v, a = dataset.q[rows], dataset.v[rows], dataset.a[rows]
    full = inertial_regressor(model.robot, q, v, a)
    gravity = inertial_regressor(model.robot, q, np.zeros_like(v), np.zeros_like(a))
    free = np.stack([np.ones_like(q), q][:_free(model)], axis=-1)
    friction = np.stack([v, np.sign(v), a], axis=-1)
    return np.concatenate([full, gravity, free, friction, tau[rows][..., None]], axis=-1)


def _sampled(dataset: Dataset, model: TorqueModel) -> tuple[np.ndarray, np.ndarray]:
    """Samples spread evenly over the recording, and their columns."""
    rows = np.arange(0, len(dataset), max(len(dataset) // _ROWS, 1))
    return rows, _columns(dataset, model, dataset.tau, rows)


def _filtered(
    dataset: Dataset, model: TorqueModel, low_pass: LowPass
) -> tuple[np.ndarray, np.ndarray]:
    """Samples as often as the filter's output needs them, and their filtered columns."""
    tau = _interpolated_efforts(dataset)
    step = max(int(dataset.rate / (_OFTEN * low_pass.cutoff)), 1)
    rows, columns = [], []
    for first, last in dataset.segments:
        keep = np.arange(0, last - first, step)

        def samples(part: slice, first: int = first) -> np.ndarray:
            return _columns(
                dataset, model, tau, slice(first + part.start, first + part.stop, part.step))

        rows.append(first + keep)
        columns.append(low_pass.rows(samples, last - first, dataset.rate, keep))
    return np.concatenate(rows), np.concatenate(columns)


def _interpolated_efforts(dataset: Dataset) -> np.ndarray:
    """Efforts whose masked samples are what lies between their neighbours, shape ``(N, n)``."""
    tau = np.array(dataset.tau)
    for first, last in dataset.segments:
        part, rows = slice(first, last), np.arange(last - first)
        for joint, usable in enumerate(dataset.mask[part].T):
            if usable.any():
                tau[part, joint] = np.interp(rows, rows[usable], tau[part, joint][usable])
    return tau


def prior_spread(robot: RobotModel) -> np.ndarray:
    """How the parameters of each body may stray from the prior by one, shape ``(b, 10, 10)``."""
    return np.array([_body_spread(phi) for phi in robot.reference_inertials])


def _spread_out(regressor: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """Effect of deviations from the prior on a joint's torque, shape ``(T, 10 b)``.

    Args:
        regressor: Of the joint, shape ``(T, 10 b)``.
        spread: How each body's parameters may stray, shape ``(b, 10, 10)``.
    """
    found = np.zeros_like(regressor)
    for body, own in enumerate(spread):
        block = slice(10 * body, 10 * body + 10)
        if regressor[:, block].any():
            found[:, block] = regressor[:, block] @ own
    return found


def _body_spread(phi: np.ndarray) -> np.ndarray:
    if not is_consistent(phi):
        return np.diag(np.abs(phi) + 1e-6)
    mass, centre, inertia = central_inertia(phi)
    columns = [_MASS * phi]
    for axis in range(3):
        moved = centre + _CENTRE * np.eye(3)[axis]
        columns.append(inertial_parameters(mass, moved, inertia) - phi)
    size = np.sqrt(np.diag(inertia)) + np.sqrt(mass) * _CENTRE
    for row, column in ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2)):
        change = np.zeros((3, 3))
        change[row, column] = change[column, row] = _INERTIA * size[row] * size[column]
        columns.append(inertial_parameters(mass, centre, inertia + change) - phi)
    return np.array(columns).T


class Reading:
    r"""One way to read an effort: its cost as a function of the scale s.

    With :math:`\tau = s\,(P z + p_0 + F c)`, deviations z of the prior cost
    :math:`\|z\|^2`, the friction c is free but not negative, offsets are free.
    """

    def __init__(
        self, spread: np.ndarray, prior: np.ndarray, free: np.ndarray, friction: np.ndarray,
        tau: np.ndarray, weight_spread: np.ndarray, weight: np.ndarray, white: float = 0.0,
    ) -> None:
        own = np.column_stack(
            [weight_spread, spread - weight_spread, weight, prior - weight, tau])
        # A joint does not feel bodies that it does not carry.
        felt, carried = own.any(axis=0), spread[:, spread.any(axis=0)]
        # Offsets and springs take what they can of everything else.
        stack = _without(free, np.column_stack([carried, friction, prior, tau]))
        triangle = _triangle(_without(np.column_stack([free, friction]), own[:, felt]))
        # Without offset, friction and drive inertia: effect of deviations, first on what carries
        # the weight, then on what accelerates; the same two of the prior; and the effort.
        self._bare = np.zeros((len(triangle), own.shape[1]))
        self._bare[:, felt] = triangle
        triangle = _triangle(stack)
        width = carried.shape[1]
        left, gains, _ = svd(triangle[:, :width])
        self._gains = np.pad(gains, (0, len(triangle) - len(gains)))
        turned = left.T @ triangle[:, width:]
        #: Part of the effort that white noise of the sensor makes, where the prior's torque is no
        #: larger than such noise.
        self.noise_part = _noise_part(
            white**2 * len(tau), *np.sum(stack[:, -2:] ** 2, axis=0))
        drag, self._prior, self.tau = turned[:, :-2], turned[:, -2], turned[:, -1]
        size = np.linalg.norm(drag, axis=0)
        self._friction = drag / np.where(size > 0, size, 1.0)
        #: What even parameters without any prior leave of the effort, its norm.
        self.misfit = float(abs(triangle[-1, -1]))
        self._compare_with_prior(carried, prior, free, friction, tau)
        weight_size = float(np.linalg.norm(self._bare[:, -3]))
        total_size = float(np.linalg.norm(self._bare[:, -3] + self._bare[:, -2]))
        #: Prior torque that carries weight, in parts of all of it, without friction and offset.
        self.weight = weight_size / total_size if total_size > 0.0 else 0.0

    def _compare_with_prior(
        self, carried: np.ndarray, prior: np.ndarray, free: np.ndarray, friction: np.ndarray,
        tau: np.ndarray,
    ) -> None:
        """Correlation and slope of the effort with the prior's torque."""
        # Viscous and dry friction are taken out, drive inertia is not: it moves like the links.
        bare = _without(
            np.column_stack([free, friction[:, :2]]),
            np.column_stack([prior, tau, carried]))
        norms = np.linalg.norm(bare[:, :2], axis=0)
        mixed = float(bare[:, 0] @ bare[:, 1])
        #: Correlation of effort and prior prediction, both without friction and offset.
        self.correlation = mixed / norms.prod() if norms.all() else 0.0
        #: Effort per prior prediction, both without friction and offset.
        self.slope = mixed / norms[0] ** 2 if norms.all() else 1.0
        #: Part of the effort that the prior explains as it is, both without friction and offset.
        self.by_prior = (
            1.0 - float(np.sum((bare[:, 1] - bare[:, 0]) ** 2)) / norms[1] ** 2
            if norms.all() else 0.0)
        #: Correlation and slope of the slow half of the prior's power and of the fast half.
        self.slow, self.fast = _halves(bare[:, 0], bare[:, 1], bare[:, 2:])

    def rows(self, ratio: float = 1.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Weighted effect of deviations, prior and effort, without the joint's own terms.

        Args:
            ratio: What accelerates the links counts so many times, beside what carries them.
        """
        width = (self._bare.shape[1] - 3) // 2
        weight, inertia = self._bare[:, :width], self._bare[:, width:2 * width]
        prior = self._bare[:, -3] + ratio * self._bare[:, -2]
        return weight + ratio * inertia, prior, self._bare[:, -1]

    def scale_rows(self, weight: float) -> None:
        """Count the misfit in standard deviations of independent errors."""
        self._gains, self._prior, self.tau, self._bare = (
            weight * part for part in (self._gains, self._prior, self.tau, self._bare)
        )

    def cost(self, scale: float) -> float:
        """Minus twice the logarithm of the evidence for a scale, up to a constant.

        Beside the misfit it counts the room for deviations, so that a scale at which the
        prior could be bent to any torque does not win by that.
        """
        misfit, shrink = self._fit(scale)
        return float((misfit * shrink) @ (misfit * shrink) - 2.0 * np.log(shrink).sum())

    def deviance(self, scale: float) -> float:
        """Squared misfit and deviations of the best fit at a scale, in standard deviations."""
        misfit, shrink = self._fit(scale)
        return float((misfit * shrink) @ (misfit * shrink))

    def _fit(self, scale: float) -> tuple[np.ndarray, np.ndarray]:
        # Deviations from the prior, taken out in closed form, only shrink the misfit.
        shrink = 1.0 / np.sqrt(1.0 + (scale * self._gains) ** 2)
        target = self.tau - scale * self._prior
        friction = nonnegative_least_squares(
            np.sign(scale) * self._friction * shrink[:, None], target * shrink)
        return target - np.sign(scale) * self._friction @ friction, shrink

    def predicted(self, scale: float) -> tuple[float, float]:
        """Explained part of the effort, and correlation with the prediction.

        Of an effort whose squares are zero nothing is explained.
        """
        misfit, shrink = self._fit(scale)
        predicted = self.tau - misfit * shrink**2
        size = float(self.tau @ self.tau)
        if size == 0.0:
            return 0.0, 0.0
        explained = 1.0 - float((self.tau - predicted) @ (self.tau - predicted)) / size
        norm = float(np.linalg.norm(predicted)) * np.sqrt(size)
        return max(explained, 0.0), float(predicted @ self.tau) / norm if norm > 0 else 0.0


class Band(NamedTuple):
    """An effort beside the prior's prediction in a band of frequencies.

    Attributes:
        slope: Effort per prediction.
        correlation: Correlation of both.
        doubt: Standard deviation of the slope that deviations of the prior make.
    """

    slope: float
    correlation: float
    doubt: float


def _halves(prior: np.ndarray, tau: np.ndarray, spread: np.ndarray) -> tuple[Band, Band]:
    """Slow and fast parts of an effort: each holds half of the power of the prior's prediction."""
    spectra = np.fft.rfft(np.column_stack([prior, tau, spread]), axis=0)
    power = np.cumsum(np.abs(spectra[:, 0]) ** 2)
    middle = int(np.searchsorted(power, 0.5 * power[-1])) + 1
    return _band(spectra[:middle]), _band(spectra[middle:])


def _band(spectra: np.ndarray) -> Band:
    prior, tau, spread = spectra[:, 0], spectra[:, 1], spectra[:, 2:]
    predicted, felt = float(np.linalg.norm(prior)), float(np.linalg.norm(tau))
    if not (predicted > 0.0 and felt > 0.0):
        return Band(1.0, 0.0, np.inf)
    mixed = float(np.real(np.vdot(prior, tau)))
    doubt = float(np.linalg.norm(np.real(prior.conj() @ spread))) / predicted**2
    return Band(mixed / predicted**2, mixed / (predicted * felt), doubt)


def _noise_part(noise: float, prior: float, effort: float) -> float:
    """Part of an effort that noise accounts for, by the powers of noise, prior and effort.

    An effort that is noise where the prior foretells far more is not excused by its noise.
    """
    return float(min(noise / effort, noise / (noise + prior), 1.0)) if noise > 0.0 else 0.0


def _without(columns: np.ndarray, values: np.ndarray) -> np.ndarray:
    basis = np.linalg.qr(columns)[0]
    return values - basis @ (basis.T @ values)


def _triangle(columns: np.ndarray) -> np.ndarray:
    return np.asarray(np.linalg.qr(columns, mode='r'))
