r"""Delay between torque and motion, to a fraction of a sample.

A torque that arrives late by :math:`d` fits the motion best when it is moved back by d. For
every joint the squared error of the best fit, :math:`J(d) = \min_\theta \|\tau_j(t + d) -
\Gamma_j(t)\,\theta\|^2`, is the profile likelihood of its delay. No parameter of the prior
enters, and every joint has parameters of its own, so that a wrong prior or a delay of another
joint does no harm.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.linalg

from sysid_ros.errors import RecordingError
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.recording.dataset import Dataset
from sysid_ros.recording.processing.shift import HALF_WIDTH, sampled_at
from sysid_ros.recording.processing.signals import ParallelFilter
from sysid_ros.recording.processing.torque_delays import TorqueDelays

# Above this frequency in [Hz] accelerations from encoders are more noise than motion (measured
# with 16 bits at 1 kHz: 10 Hz gave half the errors of 50 Hz); and below this part of the
# sampling rate the interpolation between samples is exact to 1e-4.
_CUTOFF = 10.0
_HIGHEST = 0.2

# Delays looked for on either side: so many samples, and no less than so many seconds.
_SAMPLES, _SECONDS = 25, 0.05

# Numbers of the regressor held at once while it is built, and kept for the fits.
_BLOCK = 4_000_000
_KEPT = 40_000_000
# Lags that are tried at once: each reads the rows once more.
_TOGETHER = 16

# Directions of scaled columns below this are dependent on the others.
_RANK = 1e-8
# Rows per column below which a fit says nothing about the delay.
_ROWS = 3
# Rows per column from which those without standstill and reversals suffice, and the part of its
# largest speed below which a joint may stick.
_SLIDING, _SLOW = 5, 0.03
# Samples by which the rough delay may be off.
_TURN = 3
# Errors this far apart are independent, in [s].
_STRETCH = 0.25
# Smallest spread of a residual that is divided by.
_TINY = 1e-12


@dataclass(frozen=True, eq=False)
class _Rows:
    """Filtered and decimated rows of the regressor, and the filtered full-rate torque.

    ``index`` are their samples, ``usable`` says which torques may be moved by any delay
    looked for, ``smooth`` which rows are far from a reversal, shape ``(T', n)``.
    """

    index: np.ndarray
    columns: np.ndarray
    torque: np.ndarray
    usable: np.ndarray
    smooth: np.ndarray


def estimate_delays(
    dataset: Dataset, model: TorqueModel, *, longest: float | None = None,
    cutoff: float | None = None,
) -> TorqueDelays:
    """Estimate the delay of every joint's torque against its motion.

    Regressor and torque go through the same low-pass first. Viscous and dry friction, an
    offset and a drive inertia are added to whatever terms the model has.

    Args:
        dataset: Motion and torque, before any delay was applied (or to see what is left).
        model: Torque model; its joints must be the dataset's, in order.
        longest: Longest delay to look for, either way, in [s]; by default 25 samples or
            50 ms, whichever is more.
        cutoff: Cut-off of the low-pass in [Hz]; by default 10 Hz, or a fifth of the
            sampling rate when that is less.

    Returns:
        The delays. A joint whose fit gets better up to the longest delay, or that moves too
        little, has an infinite deviation.

    Raises:
        RecordingError: The joints differ, or no segment is long enough.
    """
    if dataset.joint_names != model.robot.joint_names:
        raise RecordingError(
            'the data holds other joints than the model', where=dataset.source,
            found=', '.join(dataset.joint_names), allowed=', '.join(model.robot.joint_names),
            fix='Name the joints of the model in recording: {joints: […]}',
        )
    reach = int(np.ceil(longest * dataset.rate)) if longest is not None else max(
        _SAMPLES, round(_SECONDS * dataset.rate))
    rows = _rows(dataset, model, reach, cutoff or min(_CUTOFF, _HIGHEST * dataset.rate))
    stretch = max(int(_STRETCH * dataset.rate), 1)
    found = np.array([
        _delay(rows, joint, reach, stretch) for joint in range(len(dataset.joint_names))
    ])
    return TorqueDelays(
        dataset.joint_names, found[:, 0] / dataset.rate, found[:, 1] / dataset.rate,
        found[:, 2], found[:, 3], dataset.rate,
    )


def _rows(dataset: Dataset, model: TorqueModel, reach: int, cutoff: float) -> _Rows:
    step = max(int(dataset.rate / (4 * cutoff)), 1)
    parallel = ParallelFilter(cutoff=cutoff, decimate_to=dataset.rate / step)
    low_pass = parallel.low_pass
    assert low_pass is not None  # it has a cut-off
    margin = reach + HALF_WIDTH + low_pass.half_length(dataset.rate)
    torque = np.zeros(dataset.tau.shape)
    for start, stop in dataset.segments:
        if stop - start > margin:
            torque[start:stop] = low_pass.apply(dataset.tau[start:stop], dataset.rate)
    width = (len(model.parameters) + 4) * len(dataset.joint_names)
    blocks = _blocks(dataset, margin, _BLOCK // width, _KEPT // width * step, parallel)
    pieces = [_columns(model, dataset, block, parallel) for block in blocks]
    if not pieces:
        needed = 2 * margin + parallel.trimmed(dataset.rate)
        raise RecordingError(
            'no segment is long enough to look for a delay', where=dataset.source,
            found=f'{max(stop - start for start, stop in dataset.segments)} samples',
            allowed=f'more than {needed} samples ({needed / dataset.rate:.3g} s)',
            fix='Record longer without gaps, or look for shorter delays',
        )
    rows = np.concatenate([index for index, _ in pieces])
    spoiled = reach + low_pass.support(dataset.rate)
    # Torque jumps with dry friction between two samples: rows that feel it fit less well.
    turns = np.zeros(dataset.v.shape, dtype=bool)
    turns[:-1] = np.sign(dataset.v[1:]) != np.sign(dataset.v[:-1])
    speed = np.abs(dataset.v)
    turns |= speed < _SLOW * speed.max(axis=0)
    near = low_pass.support(dataset.rate) + _TURN
    return _Rows(
        rows, np.concatenate([columns for _, columns in pieces]), torque,
        _free_of(~dataset.mask, rows, spoiled), _free_of(turns, rows, near),
    )


def _free_of(events: np.ndarray, rows: np.ndarray, distance: int) -> np.ndarray:
    """Rows with no event within a distance, shape ``(T', n)``."""
    count = np.cumsum(events, axis=0, dtype=np.int64)
    count = np.concatenate([np.zeros_like(count[:1]), count])
    return count[rows + distance + 1] == count[rows - distance]


def _blocks(
    dataset: Dataset, margin: int, longest: int, most: int, parallel: ParallelFilter
) -> Iterator[tuple[int, int]]:
    """Stretches to build the regressor for: far from the ends, of bounded length and number."""
    trimmed = parallel.trimmed(dataset.rate)
    longest = max(longest, 20 * trimmed)
    blocks = []
    for start, stop in dataset.segments:
        first, last = start + margin - trimmed, stop - margin + trimmed
        for begin in range(first, last - 2 * trimmed, longest):
            blocks.append((begin, min(begin + longest, last)))
    blocks = [(begin, end) for begin, end in blocks if end - begin > 2 * trimmed]
    # A recording too long to be kept is thinned out evenly.
    keep = min(len(blocks), max(most // longest, 1))
    chosen = np.unique(np.linspace(0, len(blocks) - 1, keep).round().astype(int))
    return (blocks[k] for k in chosen)


def _columns(
    model: TorqueModel, dataset: Dataset, block: tuple[int, int], parallel: ParallelFilter
) -> tuple[np.ndarray, np.ndarray]:
    """Samples and filtered rows of a block: the regressor and friction of our own."""
    rows = slice(*block)
    q, v, a = dataset.q[rows], dataset.v[rows], dataset.a[rows]
    friction = np.stack([v, _direction(v), np.ones_like(v), a], axis=-1)
    more, index, _ = parallel.apply(friction, dataset.rate, ((0, len(q)),))
    filtered = parallel.rows_of(
        lambda part: model.regressor(q[part], v[part], a[part]), len(q), dataset.rate, index)
    return index + block[0], np.concatenate([filtered, more], axis=-1)


def _direction(v: np.ndarray) -> np.ndarray:
    """Sign of a velocity, averaged over each sampling period: it turns between samples."""
    direction = np.sign(v)
    row, joint = np.nonzero(direction[1:] * direction[:-1] < 0)
    before, after = v[row, joint], v[row + 1, joint]
    turn = before / (before - after)
    early = turn < 0.5
    late = ~early
    direction[row[early], joint[early]] *= 2 * turn[early]
    direction[row[late] + 1, joint[late]] *= 2 - 2 * turn[late]
    return direction


@dataclass(frozen=True, eq=False)
class _Profile:
    """Error of the best fit of one joint as a function of the delay in samples.

    The rows of the basis and of the torque are weighted.
    """

    index: np.ndarray
    weight: np.ndarray
    basis: np.ndarray
    torque: np.ndarray

    @classmethod
    def of(cls, rows: _Rows, joint: int, usable: np.ndarray, weight: np.ndarray) -> _Profile:
        """The profile of a joint's usable rows, weighted, shape ``(R,)`` both."""
        columns = rows.columns[usable, joint] * weight[:, None]
        size = np.linalg.norm(columns, axis=0)
        columns = columns[:, size > _RANK * size.max(initial=0.0)]
        basis = _orthonormal(columns / np.linalg.norm(columns, axis=0))
        return cls(rows.index[usable], weight, basis, rows.torque[:, joint])

    def tells(self, rows_per_column: int) -> bool:
        """Whether there are enough rows, and a torque at all."""
        enough = len(self.index) > rows_per_column * max(self.basis.shape[1], 1)
        return enough and float(np.ptp(self.torque[self.index])) > 0.0

    def residual(self, lag: float) -> np.ndarray:
        """Weighted torque at a lag in samples, less its projection on the basis, shape ``(R,)``."""
        torque = self.weight * sampled_at(self.torque, self.index, lag)
        return torque - self.basis @ (self.basis.T @ torque)

    def errors(self, reach: int) -> np.ndarray:
        """Errors at every whole lag from ``-reach`` to ``reach``."""
        errors = []
        for lags in np.array_split(np.arange(-reach, reach + 1), 2 * reach // _TOGETHER + 1):
            torque = self.weight[:, None] * self.torque[self.index[:, None] + lags]
            residual = torque - self.basis @ (self.basis.T @ torque)
            errors.append(np.einsum('ij,ij->j', residual, residual))
        return np.concatenate(errors)

    def error(self, lag: float) -> float:
        """Sum of the squared residuals at a lag in samples."""
        residual = self.residual(lag)
        return float(residual @ residual)


class _Found(NamedTuple):
    """Delay of a joint and its standard deviation in samples, gain and likelihood ratio."""

    lag: float
    deviation: float
    gain: float
    ratio: float


def _orthonormal(columns: np.ndarray) -> np.ndarray:
    if not columns.size:
        return np.zeros((len(columns), 0))
    # By pivots, not singular values: LAPACK's search for these may not converge.
    q, r, _ = scipy.linalg.qr(columns, mode='economic', pivoting=True)
    size = np.abs(np.diag(r))
    return q[:, size > _RANK * size[0]]


def _delay(rows: _Rows, joint: int, reach: int, period: int) -> _Found:
    """Delay of a joint.

    Friction that sticks follows the velocity late, which looks like a delay: where rows of a
    sliding joint contradict by a sample, only these count. Else dry friction tells it best.
    """
    usable = rows.usable[:, joint]
    every = _delay_of(rows, joint, usable, reach, period, _ROWS)
    smooth = _delay_of(rows, joint, usable & rows.smooth[:, joint], reach, period, _SLIDING)
    alike = abs(smooth.lag - every.lag) <= 1.0
    known = np.isfinite(every.deviation) and (alike or not np.isfinite(smooth.deviation))
    return every if known else smooth


def _delay_of(
    rows: _Rows, joint: int, usable: np.ndarray, reach: int, period: int, rows_per_column: int
) -> _Found:
    """Delay of a joint from some rows, mask of shape ``(T',)``.

    Unknown unless there are more than ``rows_per_column`` of them for each column that this joint
    feels: those of other legs are none of its.
    """
    unknown = _Found(0.0, float('inf'), 0.0, 0.0)
    profile = _Profile.of(rows, joint, usable, np.ones(int(usable.sum())))
    if not profile.tells(rows_per_column):
        return unknown
    errors = profile.errors(reach)
    best = int(np.argmin(errors))
    if best in (0, 2 * reach):
        return unknown
    residual = profile.residual(float(best - reach))
    weighted = _Profile.of(rows, joint, usable, _weights(residual, rows.smooth[usable, joint]))
    return _refined(weighted, float(best - reach), period) or unknown


def _weights(residual: np.ndarray, smooth: np.ndarray) -> np.ndarray:
    """Weights of the rows, from how well those near a reversal and the others fit."""
    weight = np.ones(len(residual))
    for group in (smooth, ~smooth):
        if group.any():
            weight[group] = 1.0 / max(float(np.sqrt(np.mean(residual[group] ** 2))), _TINY)
    return weight / weight.max()


def _refined(profile: _Profile, lag: float, period: int) -> _Found | None:
    for step in (2.0, 1.0, 0.5, 0.5):
        before, here, after = (profile.error(lag + k * step) for k in (-1, 0, 1))
        curvature = (before - 2 * here + after) / step**2
        if curvature <= 0.0:
            return None
        lag += float(np.clip((before - after) / (2 * step * curvature), -_TURN, _TURN))
    left, most = profile.error(lag), profile.error(0.0)
    # Errors within a stretch go together: each counts as one look.
    looks = len(np.unique(profile.index // period))
    ratio = looks * (most / left - 1.0) if left > 0.0 else np.inf
    return _Found(
        lag, _deviation(profile, lag, curvature / 2, period), float(1.0 - np.sqrt(left / most)),
        float(ratio))


def _deviation(profile: _Profile, lag: float, information: float, period: int) -> float:
    # Errors of rows near each other go together, and not all rows err alike: what counts is how
    # much the pull of independent stretches on the delay varies.
    pull = profile.residual(lag) * (profile.residual(lag + 0.5) - profile.residual(lag - 0.5))
    stretch = np.unique(profile.index // period, return_inverse=True)[1]
    pulls = np.bincount(stretch, weights=pull)
    rows = len(profile.index)
    lost = rows / max(rows - profile.basis.shape[1], 1)
    return float(np.sqrt(pulls @ pulls * lost) / information)
