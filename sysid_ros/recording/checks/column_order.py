"""Columns of other joints than named: another order in which the prior explains far more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.optimize import linear_sum_assignment

from sysid_ros.errors import RecordingError
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.mechanics.tree.inverse_dynamics import recursive_newton_euler
from sysid_ros.recording.dataset import Dataset

# Rows that are looked at, spread evenly over the recording.
_ROWS = 500
# Another order is believed that makes what the prior leaves of the efforts, each never counted as
# less than the first, so many times smaller, that explains so much of the effort of two joints, and
# of none clearly less than before.
_FLOOR, _DECISIVE = 0.05, 5.0
_EXPLAINED, _LESS = 0.8, 0.05
# Of damaged files with numbers beyond this, whose squares are none, nothing is explained.
_LARGEST = 1e100
# A joint that moves less than this, in [rad] or [m], says nothing.
_MOVES = 0.05


@dataclass(frozen=True)
class OtherOrder:
    """Columns in whose place others belong.

    Attributes:
        quantities: ``'effort'``, ``'position'`` or ``'position and effort'``.
        joints: The joints whose columns are elsewhere.
        columns: For each of them the joint whose column seems to be its own.
        before: Part of their efforts that the prior explains as described, on average.
        after: The same in the other order.
    """

    quantities: str
    joints: tuple[str, ...]
    columns: tuple[str, ...]
    before: float
    after: float

    @property
    def sentence(self) -> str:
        """The finding in words."""
        swapped = ', '.join(
            f'{joint} fits the column of {column}'
            for joint, column in zip(self.joints, self.columns, strict=True))
        return (
            f'{swapped}: the description then explains {100.0 * self.after:.0f} % of these '
            f'efforts, now {100.0 * self.before:.0f} %')


def other_order(dataset: Dataset, model: TorqueModel) -> OtherOrder | None:
    """The order of columns that the prior speaks for, if it clearly is another one.

    Looked for are any order of efforts, two positions or two joints swapped, and all reversed.

    Args:
        dataset: Motion and effort; its joints are the model's, in order.
        model: Torque model with the prior.
    """
    rows = np.arange(0, len(dataset), max(len(dataset) // _ROWS, 1))
    moving = np.ptp(dataset.q, axis=0) > _MOVES
    named = np.arange(len(moving))
    explained = explained_efforts(dataset, model, rows, named)
    before = np.diag(explained)
    if improvement(before[moving], np.ones(np.count_nonzero(moving))) < _DECISIVE:
        return None
    best, found = _DECISIVE, None
    table, tried = explained, named
    for quantities, motion, effort in _orders(explained, named):
        moved = moving & ((motion != named) | (effort != named))
        if improvement(before[moved], np.ones(np.count_nonzero(moved))) <= best:
            # Not even if all of these efforts were explained.
            continue
        if motion is not tried:
            table, tried = explained_efforts(dataset, model, rows, motion), motion
        after = table[effort, named]
        believed = (
            np.count_nonzero(after[moved] > _EXPLAINED) > 1
            and bool((after > before - _LESS)[moving].all()))
        # What other joints gain by another motion is no evidence for these columns.
        gain = min(improvement(before[of], after[of]) for of in (moving, moved))
        if believed and gain > best:
            source = motion if effort is named else effort
            best, found = gain, OtherOrder(
                quantities, _names(dataset, np.flatnonzero(moved)),
                _names(dataset, source[moved]), float(before[moved].mean()),
                float(after[moved].mean()))
    return found


def improvement(before: np.ndarray, after: np.ndarray) -> float:
    """How many times less is left of all efforts, by the parts of them that are explained."""
    return float(np.prod((1.0 - before + _FLOOR) / (1.0 - after + _FLOOR)))


def _names(dataset: Dataset, joints: np.ndarray) -> tuple[str, ...]:
    return tuple(dataset.joint_names[joint] for joint in joints)


def _orders(
    explained: np.ndarray, named: np.ndarray
) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Orders that mistakes make: of what, and the columns of motion and effort by joint."""
    yield 'effort', named, _assigned(explained, named)
    swaps = [named[::-1].copy()]
    for first, second in combinations(range(len(named)), 2):
        swap = named.copy()
        swap[[first, second]] = second, first
        swaps.append(swap)
    for swap in swaps:
        yield 'position', swap, named
        yield 'position and effort', swap, swap


def _assigned(explained: np.ndarray, named: np.ndarray) -> np.ndarray:
    """The column of effort of every joint by which the prior explains the most.

    Joints that exchange columns among themselves, and of which none is explained well, keep theirs:
    what is mostly noise fits one column about as badly as another.
    """
    columns = np.array(linear_sum_assignment(explained.T, maximize=True)[1])
    for first in named:
        cycle = [first]
        while (following := columns[cycle[-1]]) != first:
            cycle.append(following)
        if explained[columns[cycle], cycle].max() <= _EXPLAINED:
            columns[cycle] = cycle
    return columns


def explained_efforts(
    dataset: Dataset, model: TorqueModel, rows: np.ndarray, motion: np.ndarray
) -> np.ndarray:
    """Part of the effort in every column that the prior's torque of every joint explains.

    Offset and friction of the joint are free.

    Args:
        dataset: Motion and effort.
        model: Torque model with the prior.
        rows: Rows to look at.
        motion: Columns of the motion, by joint.

    Returns:
        Shape ``(n, n)``, by column of effort and joint.
    """
    q, v, a = (values[rows][:, motion] for values in (dataset.q, dataset.v, dataset.a))
    prior = recursive_newton_euler(
        model.robot, model.robot.reference_inertials.reshape(-1), q, v, a)
    mask, efforts = dataset.mask[rows], dataset.tau[rows]
    explained = np.zeros((prior.shape[1],) * 2)
    # Efforts that are usable in the same rows are explained together.
    for used in np.unique(mask[:, mask.any(axis=0)], axis=1).T:
        columns = np.flatnonzero((used == mask.T).all(axis=1))
        tau = efforts[np.ix_(used, columns)]
        size = np.sum((tau - tau.mean(axis=0)) ** 2, axis=0)
        columns, tau, size = columns[size > 0.0], tau[:, size > 0.0], size[size > 0.0]
        explained[columns] = _explained_parts(prior[used], v[used], tau).T
    return explained


def _explained_parts(prior: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """Part of each effort that the prior's torque of each joint explains, beside its friction.

    Args:
        prior: Torques of the prior by joint, shape ``(T, n)``.
        v: Velocities by joint, shape ``(T, n)``.
        tau: Efforts, shape ``(T, k)``.

    Returns:
        Shape ``(n, k)``.
    """
    if not all((np.abs(values) < _LARGEST).all() for values in (prior, v, tau)):
        return np.zeros((prior.shape[1], tau.shape[1]))
    speed = v.T
    friction = np.stack([np.ones_like(speed), speed, np.sign(speed)], axis=-1)
    gain, part, _ = _least_squares(np.concatenate([friction, prior.T[..., None]], axis=-1), tau)
    _, alone, torque = _least_squares(friction, tau)
    # A negative gain is a wrong sign, and no other joint's effort; but where little more than
    # friction shows, which takes power, errors of the prior decide its sign.
    takes = np.einsum('nt,ntk->nk', speed, torque) > 0.0
    return np.where(gain > 0.0, part, np.where(takes, np.maximum(alone, 0.0), 0.0))


def _least_squares(
    known: np.ndarray, tau: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Efforts by known ones, of all joints at once as a least-squares solver would of each.

    Args:
        known: Regressors by joint, shape ``(n, T, m)``; the first is an offset.
        tau: Efforts, shape ``(T, k)``.

    Returns:
        The factor of the last regressor ``(n, k)``, the explained part ``(n, k)``, and what the
        regressors but the offset make of the effort ``(n, T, k)``.
    """
    values = np.linalg.pinv(known, rcond=np.finfo(float).eps * max(known.shape[1:])) @ tau
    size = np.sum((tau - tau.mean(axis=0)) ** 2, axis=0)
    part = 1.0 - np.sum((tau - known @ values) ** 2, axis=1) / size
    return values[:, -1], part, known[..., 1:] @ values[:, 1:]


def require_named_order(dataset: Dataset, model: TorqueModel) -> None:
    """Refuse columns in another order than named.

    Args:
        dataset: Motion and effort; its joints are the model's, in order.
        model: Torque model with the prior.

    Raises:
        RecordingError: The joints, and which columns seem to be theirs.
    """
    other = other_order(dataset, model)
    if other is None:
        return
    setting = {
        'effort': 'recording.effort.columns', 'position': 'recording.position.columns',
    }.get(other.quantities, 'recording.joints')
    raise RecordingError(
        f'columns of {other.quantities} look like those of other joints',
        where=f'{setting} of {dataset.source}' if dataset.source else setting,
        found=other.sentence, fix=f'Correct {setting} (in a bag the names, by recording.rename), '
        'or set processing.effort_check to warn if the order is right')
