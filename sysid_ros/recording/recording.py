"""What came in: measured channels with their own stamps, units and provenance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from sysid_ros.errors import RecordingError
from sysid_ros.recording.link_sensors import LinkSensorChannel

# ROS joint states carry no unit: a joint's type decides between rad and m.
SI_UNITS: Mapping[str, tuple[str, ...]] = MappingProxyType({
    'position': ('rad', 'm', 'rad or m'),
    'velocity': ('rad/s', 'm/s', 'rad/s or m/s'),
    'acceleration': ('rad/s²', 'm/s²', 'rad/s² or m/s²'),
    'effort': ('N·m', 'N', 'N·m or N'),
    'command': ('rad', 'm', 'rad/s', 'm/s', 'N·m', 'N', 'A', 'V', '1'),
})


def frozen_array(values: object, dtype: type = float) -> np.ndarray:
    """A write-locked C-order copy of ``values``."""
    array: np.ndarray = np.array(values, dtype=dtype, order='C')
    array.setflags(write=False)
    return array


@dataclass(frozen=True, eq=False)
class Channel:
    """One measured quantity of some joints, with its own stamps.

    Attributes:
        quantity: ``'position'``, ``'velocity'``, ``'acceleration'``, ``'effort'`` or ``'command'``,
            what the actuators were told.
        names: Joints, by name, one per column.
        unit: SI unit of all columns, as listed in :data:`SI_UNITS`.
        t: Seconds since the recording's start, shape ``(T,)``, strictly increasing.
        values: Samples, shape ``(T, n)``. Positions are finite; in other
            quantities NaN says that a joint has no sample at that stamp.

    Raises:
        RecordingError: Shapes disagree, names repeat, stamps are not finite or
            not strictly increasing, the unit is not SI, or a position is not finite.
    """

    quantity: str
    names: tuple[str, ...]
    unit: str
    t: np.ndarray
    values: np.ndarray

    def __post_init__(self) -> None:
        object.__setattr__(self, 'names', tuple(self.names))
        object.__setattr__(self, 't', frozen_array(self.t))
        object.__setattr__(self, 'values', frozen_array(self.values))
        self._check_labels()
        self._check_shapes()
        self._check_stamps()
        self._check_values()

    @property
    def where(self) -> str:
        """The channel in words, for messages."""
        return f'{self.quantity} of {", ".join(self.names)}'

    @property
    def period(self) -> float:
        """Median time between samples in [s]; ``nan`` with fewer than two samples."""
        return float(np.median(np.diff(self.t))) if len(self.t) > 1 else float('nan')

    def column(self, name: str) -> np.ndarray:
        """Samples of one joint, shape ``(T,)``."""
        return self.values[:, self.names.index(name)]

    def _check_labels(self) -> None:
        if self.quantity not in SI_UNITS:
            raise RecordingError(
                'unknown quantity', found=repr(self.quantity), allowed=', '.join(SI_UNITS)
            )
        if self.unit not in SI_UNITS[self.quantity]:
            raise RecordingError(
                'the unit is not SI', where=self.where, found=repr(self.unit),
                allowed=', '.join(SI_UNITS[self.quantity]),
                fix='Convert the samples, or read them by a settings file, which takes other units',
            )
        if len(set(self.names)) != len(self.names):
            raise RecordingError(
                'a joint is named twice', where=self.where,
                fix='Name each joint once')

    def _check_shapes(self) -> None:
        expected = (*self.t.shape, len(self.names))
        if self.t.ndim != 1 or self.values.shape != expected:
            raise RecordingError(
                'stamps, names and samples do not fit together', where=self.where,
                found=f'{self.t.shape} stamps, {self.values.shape} samples',
                allowed=f'(T,) stamps, (T, {len(self.names)}) samples',
            )

    def _check_stamps(self) -> None:
        if not np.isfinite(self.t).all():
            raise RecordingError(
                'a stamp is not finite', where=self.where,
                fix='Remove the rows whose stamp is NaN or infinite')
        steps = np.diff(self.t)
        if (steps <= 0).any():
            at = int(np.argmax(steps <= 0))
            raise RecordingError(
                'stamps are not strictly increasing', where=self.where,
                found=f'{self.t[at + 1]:.6f} s after {self.t[at]:.6f} s',
                fix='Sort the rows by their stamps, and remove the second of two with the same',
            )

    def _check_values(self) -> None:
        bad = np.isinf(self.values)
        if self.quantity == 'position':
            bad |= np.isnan(self.values)
        if bad.any():
            row, column = np.argwhere(bad)[0]
            raise RecordingError(
                f'the {self.quantity} of joint {self.names[column]!r} is not finite',
                found=f'{self.values[row, column]} at {self.t[row]:.6f} s',
                fix='Remove the row, or leave the cell empty',
            )


@dataclass(frozen=True, eq=False)
class Recording:
    """Channels of one recording and where they came from.

    Attributes:
        channels: Channels; one quantity may be spread over several, with other
            joints or units in each, but a joint appears once per quantity.
        source: Where the recording was read from, for people.
        sha256: Hash of the source files.
        start: Absolute time of ``t = 0`` in [s].
        counts: How often each fault was found and mended.
        warnings: What a reader of the result has to know, as sentences.
        breaks: Times in [s] across which nothing may be interpolated, because
            the clock was reset there.
        sensors: What sensors on links measured.

    Raises:
        RecordingError: There is no channel, or a joint has two channels of one quantity.
    """

    channels: tuple[Channel, ...]
    source: str
    sha256: str
    start: float = 0.0
    counts: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    breaks: tuple[float, ...] = ()
    sensors: tuple[LinkSensorChannel, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, 'channels', tuple(self.channels))
        object.__setattr__(self, 'counts', MappingProxyType(dict(self.counts)))
        object.__setattr__(self, 'warnings', tuple(self.warnings))
        object.__setattr__(self, 'breaks', tuple(sorted(self.breaks)))
        if not self.channels:
            raise RecordingError(
                'there are no channels', where=self.source,
                fix='Name at least the positions of a joint')
        seen: set[tuple[str, str]] = set()
        for channel in self.channels:
            for name in channel.names:
                if (channel.quantity, name) in seen:
                    raise RecordingError(
                        f'joint {name!r} has two channels of {channel.quantity}',
                        where=self.source,
                        fix='Leave one of them out',
                    )
                seen.add((channel.quantity, name))

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Joints with a position, in the order of the channels."""
        return tuple(name for channel in self.channels_of('position') for name in channel.names)

    @property
    def duration(self) -> float:
        """Time from the first to the last sample of any channel in [s]."""
        spans = [(channel.t[0], channel.t[-1]) for channel in self.channels if len(channel.t)]
        return max(stop for _, stop in spans) - min(start for start, _ in spans) if spans else 0.0

    def channels_of(self, quantity: str) -> tuple[Channel, ...]:
        """Every channel of one quantity; empty when it was not recorded."""
        return tuple(channel for channel in self.channels if channel.quantity == quantity)

    def channel(self, quantity: str) -> Channel:
        """The only channel of a quantity.

        Raises:
            RecordingError: The quantity was not recorded (what exists is listed),
                or it is spread over several channels.
        """
        found = self.channels_of(quantity)
        if len(found) != 1:
            raise RecordingError(
                f'there is no single channel of {quantity!r}', where=self.source,
                found='; '.join(channel.where for channel in self.channels),
                fix='Use channels_of, or channel_of one joint' if found else 'Record it',
            )
        return found[0]

    def channel_of(self, quantity: str, joint: str) -> Channel | None:
        """The channel that holds one joint's quantity; None when it was not recorded."""
        for channel in self.channels_of(quantity):
            if joint in channel.names:
                return channel
        return None
