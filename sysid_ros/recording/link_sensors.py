"""Sensors on links: what settings say of them, and what they measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import Field

from sysid_ros.errors import ConfigurationError, RecordingError
from sysid_ros.recording.time_settings import TimeSettings
from sysid_ros.recording.units import TORQUE_UNITS, nearest_unit
from sysid_ros.settings import StrictSettings

#: What a sensor on a link measures, three numbers at a time.
LinkSensorKind = Literal['gyroscope', 'accelerometer', 'position', 'force', 'moment']
#: Accepted units of each kind, with their factors to SI; SI first.
SENSOR_UNITS: Mapping[str, Mapping[str, float]] = {
    'gyroscope': {'rad/s': 1.0, 'deg/s': np.pi / 180.0},
    'accelerometer': {'m/s²': 1.0, 'm/s^2': 1.0, 'm/s2': 1.0, 'g': 9.80665},
    'position': {'m': 1.0, 'mm': 1e-3},
    'force': {'N': 1.0, 'kN': 1e3, 'kgf': 9.80665},
    'moment': TORQUE_UNITS,
}
#: What a force-torque sensor measures of what pushes a link from outside.
WRENCH_KINDS = ('force', 'moment')
_Vector = tuple[float, float, float]


class LinkSensorSettings(StrictSettings):
    """A sensor on a link, of three numbers at a time.

    Attributes:
        kind: ``gyroscope``: angular velocity of the link in the axes of the sensor;
            ``accelerometer``: acceleration less gravity at the sensor, in its axes; ``position``:
            where the sensor is in the base frame of the robot, as cameras and trackers see it;
            ``force`` and ``moment``: what pushes the link from outside, in the axes of the sensor
            and about its place.
        link: Link of the robot that it is fixed to.
        origin: Its place in the frame of that link in [m].
        rpy: Its orientation in that frame as roll, pitch, yaw in [rad].
        noise: Standard deviation of the noise of each number, in the unit of what is read; told
            from the samples where left out.
        sign: -1 for a force or moment that the link exerts in place of what it gets.
        topic: Topic of a bag: ``sensor_msgs/msg/Imu`` for a gyroscope or accelerometer,
            ``geometry_msgs/msg/PoseStamped`` or ``PointStamped`` for a position,
            ``geometry_msgs/msg/WrenchStamped`` for a force or moment.
        file: File of a table; the recording's where left out.
        columns: Three columns of a CSV file by header name or index, or column indices of an array.
        array: NPZ array of shape ``(T, 3)``, or column of a Parquet file, of lists of 3 numbers.
        unit: ``rad/s`` or ``deg/s``, ``m/s²`` or ``g``, ``m`` or ``mm``, ``N``, ``N·m`` and other
            units of these; SI where left out.
        time: Stamps of this sensor alone, in its file; the recording's where left out.
    """

    kind: LinkSensorKind
    link: str
    origin: _Vector = (0.0, 0.0, 0.0)
    rpy: _Vector = (0.0, 0.0, 0.0)
    noise: float | None = Field(default=None, gt=0)
    sign: Literal[1, -1] = 1
    topic: str | None = None
    file: str | None = None
    columns: tuple[str | int, str | int, str | int] | None = None
    array: str | None = None
    unit: str | None = None
    time: TimeSettings | None = None

    @property
    def factor(self) -> float:
        """From the unit of what is read, and its sign, to SI."""
        units = SENSOR_UNITS[self.kind]
        return self.sign * units[self.unit or next(iter(units))]

    def check(self, name: str, format: str) -> None:
        """Refuse keys that do not belong to the format of the recording.

        Args:
            name: Name of the sensor, for messages.
            format: As in ``recording: format``.

        Raises:
            ConfigurationError: A key is missing or means nothing, or a unit is not known.
        """
        where = f'recording: sensors: {name}'
        units = SENSOR_UNITS[self.kind]
        if self.unit is not None and self.unit not in units:
            raise ConfigurationError(
                'unknown unit', where=f'{where}: unit', found=repr(self.unit),
                allowed=', '.join(units), fix=nearest_unit(self.unit, units))
        if self.sign < 0 and self.kind not in WRENCH_KINDS:
            raise ConfigurationError(
                'forces and moments alone have a sign', where=where, found=f'kind: {self.kind}',
                fix='Remove it; say with rpy how the sensor is turned')
        needed = {'csv': 'columns', 'rosbag': 'topic'}.get(format, 'array')
        keys = {
            'csv': ('columns', 'file', 'time', 'unit'), 'rosbag': ('topic',),
        }.get(format, ('array', 'columns', 'file', 'time', 'unit'))
        if getattr(self, needed) is None:
            line = {'columns': 'columns: [wx, wy, wz]', 'topic': 'topic: /imu/data',
                    'array': 'array: gyro'}[needed]
            raise ConfigurationError(
                f'the key {needed!r} is missing', where=where, fix=f'Add {line}')
        for key in ('topic', 'array', 'columns', 'file', 'time', 'unit'):
            if key not in keys and getattr(self, key) is not None:
                raise ConfigurationError(
                    f'{key!r} means nothing for the format {format!r}', where=where,
                    fix='Remove it')


@dataclass(frozen=True, eq=False)
class LinkSensorChannel:
    """What a sensor on a link measured.

    Attributes:
        name: Its name.
        mounting: What kind of sensor it is, where it sits, and its noise.
        t: Seconds since the recording's start, shape ``(T,)``, strictly increasing.
        values: In SI units, shape ``(T, 3)``; NaN where there is no sample.

    Raises:
        RecordingError: Shapes disagree, stamps do not increase, or nothing was measured.
    """

    name: str
    mounting: LinkSensorSettings
    t: np.ndarray
    values: np.ndarray

    def __post_init__(self) -> None:
        for name in ('t', 'values'):
            array = np.array(getattr(self, name), dtype=float, order='C')
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        where = f'sensor {self.name}'
        if self.t.ndim != 1 or self.values.shape != (len(self.t), 3):
            raise RecordingError(
                'stamps and samples do not fit together', where=where,
                found=f'{self.t.shape} stamps, {self.values.shape} samples',
                allowed='(T,) stamps, (T, 3) samples')
        if not np.isfinite(self.t).all() or (np.diff(self.t) <= 0.0).any():
            raise RecordingError(
                'stamps are not strictly increasing', where=where,
                fix='Sort the rows by their stamps, and remove the second of two with the same')
        if not np.isfinite(self.values).any():
            raise RecordingError(
                'there is no finite sample', where=where,
                fix='Name other columns, or leave the sensor out')

    @classmethod
    def of_samples(
        cls, name: str, mounting: LinkSensorSettings, t: np.ndarray, raw: np.ndarray
    ) -> LinkSensorChannel:
        """What was measured, from rows as they were read.

        Rows without a stamp, and all but the first of one stamp, are left out.

        Args:
            name: Name of the sensor.
            mounting: What settings say of it.
            t: Stamps in [s], shape ``(T,)``, NaN where a row has none.
            raw: In the unit of the settings, shape ``(T, 3)``.

        Raises:
            RecordingError: As for the class.
        """
        stamped = np.flatnonzero(np.isfinite(t))
        times, first = np.unique(t[stamped], return_index=True)
        values = mounting.factor * raw[stamped][first]
        return cls(name, mounting, times, np.where(np.isfinite(values), values, np.nan))
