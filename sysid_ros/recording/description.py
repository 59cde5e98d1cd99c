"""The small YAML section that says what a recording holds and in which units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeVar

import numpy as np
from pydantic import Field, model_validator

from sysid_ros.errors import ConfigurationError
from sysid_ros.recording.by_joint import listed_by_joint
from sysid_ros.recording.link_sensors import LinkSensorSettings
from sysid_ros.recording.time_settings import TimeSettings
from sysid_ros.recording.transmission_settings import TransmissionSettings, check_length
from sysid_ros.recording.units import UNITS, nearest_unit
from sysid_ros.settings import StrictSettings

#: Memory for the samples of a recording in [MB], where the settings do not say it.
MEMORY_LIMIT = 300.0
QUANTITIES = ('position', 'velocity', 'acceleration', 'effort', 'command')
# Bytes that a part of a bag may hold, unpacked, whatever the memory allowed.
_LEAST_UNPACKED = 16e6

#: Which wrenches from outside sensors measured; see :class:`RecordingSettings`.
Contacts = Literal['measured', 'unmeasured', 'none']

# Keys that say something about one format only.
_FORMAT_KEYS: Mapping[str, frozenset[str]] = {
    'csv': frozenset({'time', 'delimiter', 'decimal'}),
    'npz': frozenset({'time', 'memory_limit'}),
    'parquet': frozenset({'time', 'memory_limit'}),
    'rosbag': frozenset({
        'topic', 'effort_topic', 'rename', 'stamps', 'clock_warning', 'clock_limit', 'salvage',
        'memory_limit',
    }),
}
# Keys of commands that say something about topics only.
_TOPIC_KEYS = ('topic', 'field', 'joints', 'between_points')

Value = TypeVar('Value', float, str)


class QuantitySettings(StrictSettings):
    """Where one quantity comes from, and how it becomes SI at the joints.

    A raw sample becomes ``sign · scale · unit · raw``, goes through the
    transmission when ``side`` is ``motor``, and then gets ``offset`` added. A position that is
    ``wrapped`` is then taken from -π to π. What is one for each joint is a list in the order of
    the joints, or said by their names, as ``scale: {elbow: 0.5}``; joints that are not named have
    what they have where nothing is said, and no samples where columns are named.

    Attributes:
        file: File name; the recording's ``file`` where left out.
        columns: CSV columns by header name or index, or column indices of an
            NPZ array; all of them, in order, where left out. By joint where some have none, as
            efforts of ``unpowered`` joints: ``columns: {elbow: tau_2}``.
        prefix: What CSV columns are called before the names of the joints, in place of
            ``columns``.
        array: NPZ array of shape ``(T, n)``, or column of a Parquet file, of lists of n numbers.
        unit: One unit, or one per joint; SI angles where left out.
        side: Whether the signal was taken at the joints or at the motors.
        sign: +1 or -1, one or one per joint.
        scale: Factor on the recorded side, one or one per joint (a motor's
            torque constant in [N·m] per raw unit, say).
        offset: Added at the joint in SI units, one or one per joint.
        wrapped: Whether positions are counted within one turn, as from 0 to 360 degrees, by joints
            whose limits lie within half a turn of zero, or that turn without end; one or one per
            joint.
        time: Stamps of this quantity alone; the recording's where left out.
    """

    file: str | None = None
    columns: tuple[str | int | None, ...] | None = None
    prefix: str | None = None
    array: str | None = None
    unit: str | tuple[str, ...] | None = None
    side: Literal['joint', 'motor'] = 'joint'
    sign: float | tuple[float, ...] = 1.0
    scale: float | tuple[float, ...] = 1.0
    offset: float | tuple[float, ...] = 0.0
    wrapped: bool | tuple[bool, ...] = False
    time: TimeSettings | None = None

    def columns_of(self, joints: Sequence[str]) -> tuple[str | int | None, ...] | None:
        """The columns of the joints, None for one without; None for all there are."""
        if self.prefix is None:
            return self.columns
        return tuple(f'{self.prefix}{joint}' for joint in joints)


class CommandSettings(QuantitySettings):
    """Where commands come from: a table, as other quantities do, or a topic of a bag.

    A command holds until the next one comes.

    Attributes:
        topic: Topic of a bag, of ``trajectory_msgs/msg/JointTrajectory``,
            ``std_msgs/msg/Float64MultiArray`` or ``sensor_msgs/msg/JointState``; the only one of
            these types beside the joint states where left out, or else the only one of
            ``control_msgs/msg/JointTrajectoryControllerState``. Where it is named, of
            ``control_msgs/msg/DynamicJointState``, too, whose interface is the ``field``.
        field: Field of the messages that is the command.
        joints: Joints of the numbers of a ``Float64MultiArray``, by their names in the model; those
            of the recording where left out.
        between_points: Whether positions of a trajectory, or of a controller's states, go from
            point to point by splines, as ``joint_trajectory_controller`` plays them, or each point
            holds until the next.
    """

    topic: str | None = None
    field: Literal['position', 'velocity', 'effort'] = 'position'
    joints: tuple[str, ...] = ()
    between_points: Literal['splines', 'hold'] = 'splines'


class RecordingSettings(StrictSettings):
    """The ``recording:`` section of a settings file.

    Attributes:
        format: ``csv``, ``npz``, ``parquet`` or ``rosbag``.
        joints: Names in the robot model, in the order of the columns; for a bag
            the wanted joints, all where left out.
        file: Default file of every quantity; for a bag its folder or file.
        delimiter: Separator of CSV columns.
        decimal: Decimal mark of the numbers in a CSV file.
        time: Stamps of tables.
        position: Joint positions; needed for tables.
        velocity: Joint velocities, optional.
        acceleration: Joint accelerations, optional.
        effort: Joint torques or forces, optional.
        command: What the actuators of ``robot: actuators`` were told.
        transmission: Needed when a quantity is on the motor side.
        unpowered: Joints that nothing drives in this recording, as in a free swing: their effort
            is zero, recorded or not.
        sensors: Sensors on links, by names of their own; estimators of states and parameters take
            what they measured, and of a base that floats (``robot: {base: floating}``) the fit
            takes its IMU and the forces on links.
        contacts: Whether sensors of kind ``force`` have all that pushes the robot from outside:
            ``measured``, which is so where there are any, ``unmeasured``, or ``none`` for a robot
            that nothing touches, as in flight.
        topic: JointState topic of a bag.
        effort_topic: JointState topic that carries the efforts, if another one.
        rename: Joint names in the bag to names in the model.
        stamps: Stamps of a bag: from the messages' headers, or of their reception.
        clock_warning: Distance of stamps from reception that is warned of, in [s].
        clock_limit: Distance of stamps from reception that is refused, in [s].
        reset_tolerance: Stamps that jump back further are a reset clock, in [s].
        salvage: Read what is left of a damaged bag.
        memory_limit: Memory for the samples of a bag in [MB]; one that needs more is read in
            windows of time. Nor may a compressed part of a bag, or what a recording takes of an
            NPZ archive, unpack to far more.
    """

    format: Literal['csv', 'npz', 'parquet', 'rosbag']
    joints: tuple[str, ...] = ()
    file: str | None = None
    delimiter: str = Field(default=',', min_length=1, max_length=1)
    decimal: Literal['.', ','] = '.'
    time: TimeSettings | None = None
    position: QuantitySettings | None = None
    velocity: QuantitySettings | None = None
    acceleration: QuantitySettings | None = None
    effort: QuantitySettings | None = None
    command: CommandSettings | None = None
    transmission: TransmissionSettings | None = None
    unpowered: tuple[str, ...] = ()
    sensors: dict[str, LinkSensorSettings] = {}
    contacts: Contacts | None = None
    topic: str = '/joint_states'
    effort_topic: str | None = None
    rename: dict[str, str] = Field(default_factory=dict)
    stamps: Literal['header', 'receive'] = 'header'
    clock_warning: float = Field(default=1.0, gt=0)
    clock_limit: float = Field(default=10.0, gt=0)
    reset_tolerance: float = Field(default=0.5, gt=0)
    salvage: bool = False
    memory_limit: float = Field(default=MEMORY_LIMIT, gt=0)

    @property
    def most_unpacked(self) -> float:
        """Bytes that a part of a bag may hold, unpacked; what recorders write is far below."""
        return max(1e6 * self.memory_limit, _LEAST_UNPACKED)

    @property
    def quantities(self) -> dict[str, QuantitySettings]:
        """The quantities that are described, by name."""
        described = {name: getattr(self, name) for name in QUANTITIES}
        return {name: value for name, value in described.items() if value is not None}

    @model_validator(mode='before')
    @classmethod
    def _by_joint(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        joints = data.get('joints') or ()
        if not isinstance(joints, Sequence) or not all(isinstance(one, str) for one in joints):
            return data
        return {
            key: listed_by_joint(key, value, joints) if key in QUANTITIES else value
            for key, value in data.items()}

    @model_validator(mode='after')
    def _check(self) -> RecordingSettings:
        _check_format_keys(self)
        if self.decimal == self.delimiter:
            raise ConfigurationError(
                'separator and decimal mark are the same', where='decimal', found=self.decimal,
                fix="Set delimiter: ';', or what stands between the cells")
        if len(set(self.joints)) != len(self.joints):
            raise ConfigurationError(
                'a joint is named twice', where='joints', found=', '.join(self.joints),
                fix='Name the joint of each column, once')
        for quantity, settings in self.quantities.items():
            _check_quantity(self, quantity, settings)
        for name, sensor in self.sensors.items():
            sensor.check(name, self.format)
            if self.format != 'rosbag':
                _check_source_of(self, f'sensors.{name}', sensor.file, sensor.time)
        if self.transmission is not None:
            self.transmission.check(len(self.joints))
        return self


def per_joint(value: Value | Sequence[Value], joints: int) -> list[Value]:
    """A scalar or per-joint setting as one value per joint."""
    return [value] * joints if isinstance(value, (str, float, int)) else list(value)


def unit_factors(quantity: str, settings: QuantitySettings, joints: int) -> tuple[
    np.ndarray, tuple[str, ...]
]:
    """Factors to SI, shape ``(n,)``, and the SI unit of every joint."""
    units = per_joint(settings.unit or next(iter(UNITS[quantity])), joints)
    factors, names = zip(*(UNITS[quantity][unit] for unit in units), strict=True)
    return np.array(factors), names


def _check_format_keys(settings: RecordingSettings) -> None:
    special = frozenset().union(*_FORMAT_KEYS.values()) - _FORMAT_KEYS[settings.format]
    misplaced = sorted(settings.model_fields_set & special)
    if misplaced:
        raise ConfigurationError(
            f'{misplaced[0]!r} means nothing for the format {settings.format!r}',
            where='recording', fix='Remove it or change the format',
        )
    if settings.format == 'rosbag':
        if settings.file is None:
            raise ConfigurationError(
                "the key 'file' is missing", where='recording',
                fix='Add file: with the folder of the bag')
        return
    if not settings.joints or settings.position is None:
        key = 'position' if settings.joints else 'joints'
        line = 'position: {columns: [q1, q2]}' if settings.format == 'csv' else (
            'position: {array: q}')
        raise ConfigurationError(
            f'the key {key!r} is missing', where='recording',
            fix=f'Add {line if settings.joints else "joints: [shoulder, elbow]"}')


def _check_quantity(
    recording: RecordingSettings, quantity: str, settings: QuantitySettings
) -> None:
    lists = ('columns', 'unit', 'sign', 'scale', 'offset', 'wrapped')
    for key in lists:
        value = getattr(settings, key)
        if isinstance(value, tuple):
            check_length(value, len(recording.joints), f'{quantity}.{key}', _by_names(
                recording, quantity) if key == 'columns' else '')
    if any(abs(sign) != 1 for sign in per_joint(settings.sign, 1)):
        raise ConfigurationError(
            'a sign is not +1 or -1', where=f'{quantity}.sign', found=settings.sign,
            fix='Put other factors into scale',
        )
    if not all(per_joint(settings.scale, 1)):
        raise ConfigurationError(
            'a scale of zero leaves nothing of what was recorded', where=f'{quantity}.scale',
            found=settings.scale, allowed='factors other than 0',
            fix='Remove it, or leave the quantity out where a joint has none')
    if quantity != 'position' and any(per_joint(settings.wrapped, 1)):
        raise ConfigurationError(
            'positions alone are counted within one turn', where=f'{quantity}.wrapped',
            found=settings.wrapped, fix='Remove it')
    if settings.side == 'motor' and quantity == 'command':
        raise ConfigurationError(
            'a command is taken as the actuator of a joint gets it', where='command.side',
            found='motor', fix='Remove it; put a gear ratio into scale, or into the gear of the '
            'actuator')
    if settings.side == 'motor' and recording.transmission is None:
        raise ConfigurationError(
            'a motor-side signal needs the transmission', where=f'{quantity}.side',
            fix='Add transmission: {ratios: [...]} or {motor_per_joint: [[...]]}',
        )
    for unit in per_joint(settings.unit or (), len(recording.joints)):
        if unit not in UNITS[quantity]:
            raise ConfigurationError(
                'unknown unit', where=f'{quantity}.unit', found=repr(unit),
                allowed=', '.join(UNITS[quantity]), fix=nearest_unit(unit, UNITS[quantity]),
            )
    _check_source(recording, quantity, settings)


def _by_names(recording: RecordingSettings, quantity: str) -> str:
    """What to do where only some joints have a column of a quantity."""
    if quantity == 'position' or not recording.joints:
        return ''
    *others, last = recording.joints
    line = f'recording: {{{quantity}: {{columns: {{{last}: …}}}}}}'
    if quantity == 'effort' and others:
        line += f', and recording: {{unpowered: [{", ".join(others)}]}} for joints nothing drives'
    return f'; or say by their names which joints have one: {line}'


def _check_source(
    recording: RecordingSettings, quantity: str, settings: QuantitySettings
) -> None:
    needed, useless = {
        'csv': ((), ('array',)),
        'npz': (('array',), ('prefix',)),
        'parquet': (('array',), ('prefix',)),
        'rosbag': ((), ('file', 'columns', 'prefix', 'array', 'time')),
    }[recording.format]
    if quantity == 'command' and recording.format != 'rosbag':
        useless += _TOPIC_KEYS
    if settings.columns is not None and settings.prefix is not None:
        raise ConfigurationError(
            'columns and prefix say the same', where=quantity, fix='Remove one of them')
    for key in useless:
        if getattr(settings, key) != type(settings).model_fields[key].default:
            raise ConfigurationError(
                f'{key!r} means nothing for the format {recording.format!r}', where=quantity,
                fix='Remove it or change the format',
            )
    for key in needed:
        if getattr(settings, key) is None:
            raise ConfigurationError(
                f'the key {key!r} is missing', where=quantity,
                fix=f'Add {key}: with the name of one in the archive')
    if recording.format != 'rosbag':
        _check_source_of(recording, quantity, settings.file, settings.time)


def _check_source_of(
    recording: RecordingSettings, where: str, file: str | None, time: TimeSettings | None
) -> None:
    """Refuse what a table cannot be read from: no file, or no stamps."""
    if (file or recording.file) is None:
        raise ConfigurationError("the key 'file' is missing", where=where, fix='Add it')
    _check_time(recording, time or recording.time)


def _check_time(recording: RecordingSettings, time: TimeSettings | None) -> None:
    if time is None:
        raise ConfigurationError(
            "the key 'time' is missing", where='recording',
            fix='Add time: {rate: ...} or {column: ...} or {array: ...}',
        )
    key = 'column' if recording.format == 'csv' else 'array'
    if time.rate is None and getattr(time, key) is None:
        raise ConfigurationError(
            f'the time of the format {recording.format!r} comes from a rate or {key}',
            where='recording.time', fix=f'Write time: {{{key}: t}}, or time: {{rate: 500}} in Hz',
        )
    if time.rate is None and (time.file or recording.file) is None:
        raise ConfigurationError("the key 'file' is missing", where='recording.time', fix='Add it')
