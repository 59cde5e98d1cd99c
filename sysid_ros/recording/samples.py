"""Rows as they were read, turned into SI at the joints, then into clean channels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from sysid_ros.errors import ConfigurationError, RecordingError
from sysid_ros.recording.checks.faults import order_samples
from sysid_ros.recording.description import RecordingSettings, per_joint, unit_factors
from sysid_ros.recording.recording import Channel


@dataclass(frozen=True, eq=False)
class Samples:
    """Rows of some joints that share their stamps; not yet ordered or checked.

    Attributes:
        names: Joints, by name.
        t: Stamps in [s], shape ``(T,)``, in the order of arrival.
        values: Quantity to samples, shape ``(T, n)`` each; NaN where there is none.
        units: Quantity to SI unit of every joint; filled by :func:`to_joint_side`.
    """

    names: tuple[str, ...]
    t: np.ndarray
    values: Mapping[str, np.ndarray]
    units: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def to_joint_side(samples: Samples, settings: RecordingSettings) -> Samples:
    """Apply signs, scales, units, the transmission and offsets of the settings.

    Args:
        samples: Raw rows; quantities without a description are taken as SI at
            the joints, with the unit decided by the joint's type.
        settings: Description of the recording.

    Returns:
        The rows in SI at the joints, with units.

    Raises:
        ConfigurationError: Motor-side signals of coupled joints do not share their stamps.
    """
    joints = settings.joints or samples.names
    pick = [joints.index(name) for name in samples.names]
    values, units = {}, {}
    for quantity, raw in samples.values.items():
        described = settings.quantities.get(quantity)
        if described is None:
            values[quantity] = raw
            units[quantity] = (_untyped_unit(quantity),) * len(samples.names)
            continue
        factors, names = unit_factors(quantity, described, len(joints))
        sign = np.array(per_joint(described.sign, len(joints)))
        scale = np.array(per_joint(described.scale, len(joints)))
        scaled = raw * (sign * scale * factors)[pick]
        if described.side == 'motor':
            scaled = _through_transmission(scaled, quantity, samples.names, settings)
        values[quantity] = scaled + np.array(per_joint(described.offset, len(joints)))[pick]
        wrapped = np.array(per_joint(described.wrapped, len(joints)), dtype=bool)[pick]
        if wrapped.any():
            values[quantity][:, wrapped] = within_half_a_turn(values[quantity][:, wrapped])
        # What a command is, is not for the type of the joint to say.
        untyped = settings.format == 'rosbag' and described.unit is None and quantity != 'command'
        units[quantity] = tuple(
            _untyped_unit(quantity) if untyped else names[index] for index in pick
        )
    return replace(samples, values=values, units=units)


def within_half_a_turn(q: np.ndarray) -> np.ndarray:
    """Angles from -π to π.

    Args:
        q: Angles of any number of turns in [rad], any shape.
    """
    return q - 2.0 * np.pi * np.rint(q / (2.0 * np.pi))


def clean_channels(samples: Samples, counts: Counter[str]) -> tuple[Channel, ...]:
    """Drop bad rows, order the stamps, and split into channels.

    Args:
        samples: Rows in SI at the joints.
        counts: Updated with what was dropped or mended.

    Returns:
        One channel per quantity and unit; quantities without a single sample are left out.

    Raises:
        RecordingError: A joint has no finite position at all, or a stamp is not finite.
    """
    keep = _usable_rows(samples, counts)
    order, t = order_samples(samples.t[keep], _telling(samples)[keep], counts)
    chosen = np.flatnonzero(keep)[order]
    # Rows that are all there and in order, as they mostly are, need not be copied.
    whole = len(chosen) == len(keep) and bool((np.diff(chosen) == 1).all())
    rows = slice(None) if whole else chosen
    channels: list[Channel] = []
    for quantity, values in samples.values.items():
        finite = values[rows]
        there = np.isfinite(finite)
        if not there.all():
            finite = np.where(there, finite, np.nan)
        some = there.any(axis=0)
        units = samples.units[quantity]
        for unit in dict.fromkeys(units):
            columns = [index for index, own in enumerate(units) if own == unit and some[index]]
            if columns:
                names = tuple(samples.names[index] for index in columns)
                taken = finite if len(columns) == len(units) else finite[:, columns]
                channels.append(Channel(quantity, names, unit, t, taken))
    return tuple(channels)


def _telling(samples: Samples) -> np.ndarray:
    """The samples whose smoothness tells their order: positions, or else what there is."""
    return samples.values.get('position', next(iter(samples.values.values())))


def _usable_rows(samples: Samples, counts: Counter[str]) -> np.ndarray:
    if not np.isfinite(samples.t).all():
        raise RecordingError(
            'a stamp is not finite', where=', '.join(samples.names),
            found=f'{np.count_nonzero(~np.isfinite(samples.t))} of {len(samples.t)} stamps',
            fix='Leave these rows out, or name another column, recording: {time: {column: …}}')
    if 'position' not in samples.values:
        return np.ones(len(samples.t), dtype=bool)
    finite = np.isfinite(samples.values['position'])
    if len(finite) and not finite.any(axis=0).all():
        silent = [samples.names[index] for index in np.flatnonzero(~finite.any(axis=0))]
        raise RecordingError(
            'a joint has no finite position', where=', '.join(silent),
            found=f'NaN in all {len(finite)} samples',
            fix='Record its position, or leave the joint out of recording.joints',
        )
    keep = finite.all(axis=1)
    dropped = int(np.count_nonzero(~keep))
    if dropped:
        counts['samples with a NaN position dropped'] += dropped
    return keep


def _through_transmission(
    values: np.ndarray, quantity: str, names: tuple[str, ...], settings: RecordingSettings
) -> np.ndarray:
    if settings.transmission is None or names != settings.joints:
        raise ConfigurationError(
            'motor-side signals can only be turned into joint-side ones when all joints share '
            'their stamps', where=quantity, found=', '.join(names),
            allowed=', '.join(settings.joints),
            fix='Put all joints into one table or topic, or take signals of the joints')
    transmission = settings.transmission.build()
    convert = transmission.joint_torque if quantity == 'effort' else transmission.joint_motion
    # One joint's missing sample is missing for every joint it is coupled with.
    rows = np.isfinite(values).all(axis=1)
    converted = np.full_like(values, np.nan)
    converted[rows] = convert(values[rows])
    return converted


def _untyped_unit(quantity: str) -> str:
    return {
        'position': 'rad or m', 'velocity': 'rad/s or m/s',
        'acceleration': 'rad/s² or m/s²', 'effort': 'N·m or N',
    }[quantity]
