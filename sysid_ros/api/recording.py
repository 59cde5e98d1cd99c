"""A recording to fit or to judge by: arrays, a table, a data frame or a bag, in any units."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sysid_ros.api.arrays import put_sensors, require_shapes, seconds_of, table_of
from sysid_ros.api.guess_answers import answers_of, as_keyword
from sysid_ros.errors import RecordingError, did_you_mean
from sysid_ros.recording.description import RecordingSettings
from sysid_ros.recording.guess.evidence import OpenQuestionsError
from sysid_ros.release.atomic import write_atomically
from sysid_ros.settings import parse_settings

#: Columns of one quantity: a pattern such as ``'q_{joint}'``, or one column for each joint.
Columns = str | Sequence[str | int]

_JOINT = '{joint}'
# Arrays by quantity, as papers call them.
_SYMBOLS = {'position': 'q', 'velocity': 'v', 'acceleration': 'a', 'effort': 'tau'}


@dataclass(frozen=True, eq=False)
class Recording:
    """What was recorded, and in which units; made by one of the ``from_…`` methods.

    Joints that are not named are all that move, in the order of the robot description. Of a file
    of which nothing is said, columns, joints and units are guessed when the robot is known, as by
    ``sysid init``.

    Attributes:
        section: What a settings file says in its ``recording:`` section.
        arrays: Samples in memory: ``t`` of shape ``(T,)`` and ``q, v, a, tau``, ``(T, n)``; of a
            sensor ``sensor_<name>``, ``(T, 3)``.
        patterns: Columns of a table by quantity, where ``{joint}`` stands for the joint.
        answers: Of a file whose section is to be guessed, what is known of it, by the options of
            ``sysid init``; None where the section says all.
        findings: What was guessed, and why.
        actuators: What was guessed of the drives, as ``robot: actuators:`` says it, where no torque
            was recorded.
        base: ``'fixed'`` where a free joint of the description was guessed to be held.
        folder: Folder that file names of the section are relative to; None where they are
            absolute, or the recording is arrays.

    Raises:
        ConfigurationError: A key of the section is not known, or a value is not right.
    """

    section: Mapping[str, Any]
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)
    patterns: Mapping[str, str] = field(default_factory=dict)
    answers: Mapping[str, str] | None = None
    findings: tuple[str, ...] = ()
    actuators: Mapping[str, Any] = field(default_factory=dict)
    base: str = ''
    folder: Path | None = None

    def __post_init__(self) -> None:
        # A misspelt key is said where it was written, unless it takes the joints to know.
        if self.arrays:
            self.described([f'joint {k}' for k in range(self.arrays['q'].shape[1])])
        elif not self.needs_joints and self.answers is None:
            self.described(())

    def __repr__(self) -> str:
        joints = 'all joints' if self.joints is None else ', '.join(self.joints)
        if not self.arrays:
            return f'Recording of {joints} in {self.section["file"]}'
        return f'Recording of {joints}, {len(self.arrays["t"])} samples'

    @classmethod
    def from_arrays(
        cls, t: ArrayLike, q: ArrayLike, tau: ArrayLike | None = None, *,
        v: ArrayLike | None = None, a: ArrayLike | None = None,
        joints: Sequence[str] | None = None,
        units: Mapping[str, str | Sequence[str]] | None = None,
        sensors: Mapping[str, Mapping[str, Any]] | None = None, **section: Any,
    ) -> Recording:
        """A recording in memory.

        Args:
            t: Stamps in [s], or of NumPy's kinds of time, shape ``(T,)``.
            q: Positions in [rad] or [m], shape ``(T, n)``.
            tau: Torques in [N·m] or forces in [N], shape ``(T, n)``; NaN where there is none.
            v: Velocities, if they were measured.
            a: Accelerations, if they were measured.
            joints: Names of the columns.
            units: Other units of ``time``, ``position``, ``velocity``, ``acceleration`` or
                ``effort``, one or one per joint.
            sensors: Sensors on links by names of their own, with the keys of ``sensors:`` and what
                they measured, ``{'kind': 'gyroscope', 'link': 'trunk', 'values': gyro}``, shape
                ``(T, 3)``.
            section: More keys of the ``recording:`` section, such as
                ``effort={'sign': -1}`` or ``transmission={'ratios': […]}``.

        Raises:
            ConfigurationError: A key or a value is not right.
            RecordingError: Shapes disagree, or something is not numbers.
        """
        arrays = {'t': seconds_of(t)}
        given = {'q': q, 'v': v, 'a': a, 'tau': tau}
        for name, values in given.items():
            if values is not None:
                arrays[name] = table_of(name, values)
        require_shapes(arrays, joints)
        section |= {'sensors': put_sensors(sensors, arrays)} if sensors else {}
        described: dict[str, Any] = {'format': 'npz', 'time': {'array': 't'}} | {
            quantity: {'array': name} for quantity, name in _SYMBOLS.items() if name in arrays}
        return cls(_completed(described, joints, units, section), arrays)

    @classmethod
    def from_dataframe(
        cls, frame: Any, *, joints: Sequence[str] | None = None, time: str | None = 't',
        position: Columns = 'q_{joint}', effort: Columns | None = 'tau_{joint}',
        velocity: Columns | None = None, acceleration: Columns | None = None,
        units: Mapping[str, str | Sequence[str]] | None = None, **section: Any,
    ) -> Recording:
        """A recording in a data frame of pandas or polars, or a mapping of columns.

        Args:
            frame: Columns by name.
            joints: Names of the joints; by default those that ``position`` finds.
            time: Column of the stamps; None for the index of the frame.
            position: Columns of the positions.
            effort: Columns of the torques; None where there are none.
            velocity: Columns of the velocities, if they were measured.
            acceleration: Columns of the accelerations, if they were measured.
            units: See :meth:`from_arrays`.
            section: See :meth:`from_arrays`.

        Raises:
            ConfigurationError: A key or a value is not right.
            RecordingError: There is no such column (the nearest is named), or as for
                :meth:`from_arrays`.
        """
        existing = list(getattr(frame, 'columns', frame))
        if joints is None and isinstance(position, str):
            joints = _joints_found(position, existing)
        chosen = {'q': position, 'tau': effort, 'v': velocity, 'a': acceleration}
        arrays: dict[str, Any] = {
            name: np.column_stack([
                _column(frame, column, existing) for column in _columns(columns, joints)])
            for name, columns in chosen.items() if columns is not None}
        t = np.asarray(frame.index) if time is None else _column(frame, time, existing)
        return cls.from_arrays(t, **arrays, joints=joints, units=units, **section)

    @classmethod
    def from_csv(
        cls, path: str | Path, *, joints: Sequence[str] | None = None, time: str | int = 't',
        position: Columns = 'q_{joint}', effort: Columns | None = 'tau_{joint}',
        velocity: Columns | None = None, acceleration: Columns | None = None,
        units: Mapping[str, str | Sequence[str]] | None = None, **section: Any,
    ) -> Recording:
        """A recording in a CSV file, which is read when it is needed.

        Where nothing but the joints is said, or what the guess has asked for, what the columns are
        is guessed.

        Args:
            path: The file.
            joints: Names of the joints.
            time: Column of the stamps.
            position: Columns of the positions.
            effort: Columns of the torques; None where there are none.
            velocity: Columns of the velocities, if they were measured.
            acceleration: Columns of the accelerations, if they were measured.
            units: See :meth:`from_arrays`.
            section: More keys of the ``recording:`` section, such as ``delimiter=';'``; or answers
                to what the guess asks for, as ``rate=500`` and ``effort_scale=[13.3, 9.5]``.

        Raises:
            ConfigurationError: A key or a value is not right.
        """
        said = (time, position, effort, velocity, acceleration, units)
        plain = said == ('t', 'q_{joint}', 'tau_{joint}', None, None, None)
        if plain and (answers := answers_of(joints, section)) is not None:
            return cls({'format': 'csv', 'file': str(Path(path).absolute())}, answers=answers)
        given = {
            'position': position, 'velocity': velocity, 'acceleration': acceleration,
            'effort': effort}
        chosen = {name: columns for name, columns in given.items() if columns is not None}
        described: dict[str, Any] = {
            'format': 'csv', 'file': str(Path(path).absolute()), 'time': {'column': time}}
        for quantity, columns in chosen.items():
            described[quantity] = {} if isinstance(columns, str) else {'columns': list(columns)}
        return cls(_completed(described, joints, units, section), patterns={
            name: columns for name, columns in chosen.items() if isinstance(columns, str)})

    @classmethod
    def from_bag(
        cls, path: str | Path, *, joints: Sequence[str] | None = None, **section: Any
    ) -> Recording:
        """A recording in a bag of ROS 2, which is read when it is needed.

        Where nothing but the joints is said, or what the guess has asked for, topic, names and
        units are guessed.

        Args:
            path: Folder of the bag, or its only file.
            joints: The joints that are wanted.
            section: More keys of the ``recording:`` section, such as ``topic='/joint_states'`` or
                ``rename={'j1': 'shoulder'}``; or answers to what the guess asks for, as
                ``effort_scale=[13.3, 9.5]``.

        Raises:
            ConfigurationError: A key or a value is not right.
        """
        return cls._in_file('rosbag', path, joints, section)

    @classmethod
    def from_parquet(
        cls, path: str | Path, *, joints: Sequence[str] | None = None, **section: Any
    ) -> Recording:
        """A recording in a Parquet file, as an episode of LeRobot, read when it is needed.

        Where nothing but the joints is said, or what the guess has asked for, what the columns are
        is guessed.

        Args:
            path: The file.
            joints: Names of the joints.
            section: Keys of the ``recording:`` section, such as ``time={'array': 't'}``,
                ``position={'array': 'q'}`` and ``effort={'array': 'tau'}``; or answers to what the
                guess asks for, as ``constants='kp=20'``.

        Raises:
            ConfigurationError: A key or a value is not right.
        """
        return cls._in_file('parquet', path, joints, section)

    @classmethod
    def _in_file(
        cls, format: str, path: str | Path, joints: Sequence[str] | None, section: Mapping[str, Any]
    ) -> Recording:
        """A recording in a file or folder, guessed where its section says nothing."""
        described = {'format': format, 'file': str(Path(path).absolute())}
        if (answers := answers_of(joints, section)) is not None:
            return cls(described, answers=answers)
        return cls(_completed(described, joints, None, section))

    @property
    def joints(self) -> tuple[str, ...] | None:
        """Names of the joints; None where they are those of the robot."""
        named = self.section.get('joints')
        return None if named is None else tuple(named)

    @property
    def needs_joints(self) -> bool:
        """Whether the robot has to say what the columns are; a bag names its joints."""
        known = self.section['format'] == 'rosbag' or self.answers is not None
        return self.joints is None and not known

    def guessed(self, robot: Mapping[str, Any], folder: str | Path = '.') -> Recording:
        """The recording with a section that is guessed, where that is left to a guess.

        Args:
            robot: The ``robot:`` section of settings.
            folder: Folder that its file names are relative to.

        Returns:
            The recording, whose ``findings`` say what speaks for each guess; the same one where its
            section says all.

        Raises:
            RecordingError: The file leaves open what no default may decide; the keyword that
                answers it is named.
            SysidError: Robot or file cannot be read.
        """
        if self.answers is None:
            return self
        from sysid_ros.runs.guessed_recording import GuessedRecording

        file = Path(self.section['file'])
        try:
            guess = GuessedRecording.of(robot, file, Path(folder), self.answers)
        except OpenQuestionsError as error:
            raise as_keyword(error, file) from error
        drives = {} if 'actuators' in robot else guess.robot.get('actuators', {})
        return Recording(
            guess.section | {'file': str(file)}, findings=tuple(map(str, guess.findings)),
            actuators=drives, base=guess.robot.get('base', ''))

    def described(self, joints: Sequence[str], file: str = 'recording.npz') -> dict[str, Any]:
        """The ``recording:`` section of settings.

        Args:
            joints: Names of the columns, where the recording does not name them.
            file: File that arrays are in.

        Raises:
            ConfigurationError: A key or a value is not right.
            RecordingError: There is another number of columns than joints.
        """
        section = dict(self.section)
        if self.arrays:
            section['file'] = file
        if self.needs_joints:
            if self.arrays and self.arrays['q'].shape[1] != len(joints):
                raise RecordingError(
                    'the robot has another number of moving joints than q has columns',
                    where='Recording', found=f'{self.arrays["q"].shape[1]} columns',
                    allowed=f'{len(joints)}: {", ".join(joints)}',
                    fix="Name the columns by joints=[…], and lock joints that were not recorded: "
                    "robot={'urdf': …, 'locked_joints': 'rest'}")
            section['joints'] = list(joints)
        for quantity, pattern in self.patterns.items():
            columns = _columns(pattern, section['joints'])
            section[quantity] = {'columns': columns} | section[quantity]
        parse_settings(RecordingSettings, section, 'Recording')
        return section

    def write(self, path: Path) -> None:
        """Write the arrays, if there are some, as an NPZ file.

        Raises:
            ReleaseError: It cannot be written.
        """
        if not self.arrays:
            return
        stream, arrays = io.BytesIO(), dict[str, Any](self.arrays)
        np.savez(stream, **arrays)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, stream.getvalue())


def _completed(
    described: Mapping[str, Any], joints: Sequence[str] | None,
    units: Mapping[str, str | Sequence[str]] | None, section: Mapping[str, Any],
) -> dict[str, Any]:
    """A section with names, units and all else that was said of it."""
    completed = dict(described)
    if joints is not None:
        completed['joints'] = list(joints)
    told = {
        name: {'unit': unit if isinstance(unit, str) else list(unit)}
        for name, unit in (units or {}).items()}
    for more in (told, section):
        for key, value in more.items():
            under = completed.get(key)
            both = isinstance(under, Mapping) and isinstance(value, Mapping)
            completed[key] = {**under, **value} if both and under is not None else value
    return completed


def _columns(columns: Columns, joints: Sequence[str] | None) -> list[str | int]:
    """One column for each joint."""
    if not isinstance(columns, str):
        return list(columns)
    if joints is None:
        raise RecordingError(
            'it is not said which joints the columns are of', where='Recording',
            found=repr(columns), fix='Name them: joints=[…]')
    if _JOINT not in columns:
        if len(joints) == 1:
            return [columns]
        raise RecordingError(
            'one column cannot be that of several joints', where='Recording', found=repr(columns),
            allowed="a pattern such as 'q_{joint}', or a list of columns",
            fix="Name one for each joint, as position=['q1', 'q2']")
    return [columns.replace(_JOINT, joint) for joint in joints]


def _joints_found(pattern: str, columns: Sequence[Any]) -> list[str]:
    """Joints whose columns a pattern finds, in their order."""
    before, _, after = pattern.partition(_JOINT)
    expression = re.compile(f'{re.escape(before)}(.+){re.escape(after)}')
    found = [match[1] for match in map(expression.fullmatch, map(str, columns)) if match]
    if not found or _JOINT not in pattern:
        raise RecordingError(
            'no column holds a position', where='Recording.from_dataframe',
            found=', '.join(map(str, columns)) or 'no columns', allowed=f'columns as {pattern}',
            fix="Say which: position='angle_{joint}', or position=[…] with joints=[…]")
    return found


def _column(frame: Any, name: str | int, existing: Sequence[Any]) -> np.ndarray:
    """Samples of one column of a frame."""
    if name not in existing:
        raise RecordingError(
            f'there is no column {name!r}', where='Recording.from_dataframe',
            found=', '.join(map(str, existing)), fix=did_you_mean(str(name), map(str, existing)))
    return np.asarray(frame[name])
