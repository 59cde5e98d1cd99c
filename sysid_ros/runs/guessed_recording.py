"""The ``recording:`` section of settings, guessed from a recording and a robot's description."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sysid_ros.errors import ConfigurationError, RecordingError, listed
from sysid_ros.mechanics.configuration import RobotSettings
from sysid_ros.recording.description import (
    QuantitySettings,
    RecordingSettings,
    per_joint,
    unit_factors,
)
from sysid_ros.recording.file_kind import file_kind
from sysid_ros.recording.guess.bag_topics import bag_topics
from sysid_ros.recording.guess.column_names import is_of_motor
from sysid_ros.recording.guess.columns import TableColumns, table_columns
from sysid_ros.recording.guess.evidence import Finding, Question
from sysid_ros.recording.guess.options import (
    numbers,
    one_or_each,
    positive_number,
    unpowered_joints,
)
from sysid_ros.recording.guess.percent import PERCENT, percent_of_range, percent_question
from sysid_ros.recording.guess.table_head import TableHead, read_head
from sysid_ros.recording.guess.units import position_guess, time_unit, velocity_unit
from sysid_ros.recording.recording import Recording
from sysid_ros.recording.units import TIME_UNITS, UNITS, nearest_unit
from sysid_ros.runs.guessed_commands import describe_commands
from sysid_ros.runs.guessed_efforts import describe_efforts
from sysid_ros.runs.settings_guess import SettingsGuess
from sysid_ros.settings import parse_settings


class GuessedRecording(SettingsGuess):
    """Settings of a recording, guessed from what it holds."""

    @classmethod
    def of(
        cls, robot: Mapping[str, Any], recording: Path, folder: Path, told: Mapping[str, str]
    ) -> GuessedRecording:
        """Guess what a recording holds.

        Args:
            robot: The ``robot:`` section of settings.
            recording: CSV or NPZ file, or bag.
            folder: Folder that file names of the settings are relative to.
            told: What is known, by the names of
            :data:`~sysid_ros.recording.guess.options.OPTIONS`.

        Raises:
            OpenQuestionsError: The recording leaves open what no default may decide.
            SysidError: Robot or recording cannot be read.
        """
        # Which joints are locked because they were not recorded is what is sought.
        # Columns are those of joints, whatever the base does.
        known = {key: value for key, value in robot.items()
                 if (key, value) != ('locked_joints', 'rest') and key != 'base'}
        model = parse_settings(RobotSettings, known, 'robot').build(folder).robot
        form, floats = _format_of(recording), bool(model.free_joint)
        held = {'base': 'fixed'} if floats and 'base' not in robot else {}
        guess = cls(
            {**robot, **held}, replace(model, free_joint=''), recording, folder, told)
        if held:
            guess.note(Finding(
                'base', 'fixed', f'the free joint {model.free_joint} of the description is taken '
                'to be held, as of a robot that hangs up; of one that walks say floating, and '
                'where its IMU and the forces at its feet are, in recording: sensors'))
        if form == 'rosbag':
            guess._describe_bag()
        else:
            guess._describe_table(form)
        return guess

    def _describe_table(self, form: str) -> None:
        """Settings of a CSV or NPZ file."""
        head, moving = read_head(self.recording, form), self.model.joint_names
        sliding = [joint for joint in moving if self.slides(joint)]
        columns = table_columns(head, moving, sliding, self.told)
        self.note(*columns.findings, *columns.questions)
        self.require_answers()
        self.section = {'format': form, 'file': self._file(), 'joints': [*columns.joints]}
        if head.delimiter != ',':
            self.section['delimiter'] = head.delimiter
        if head.decimal != '.':
            self.section['decimal'] = head.decimal
            self.note(Finding('decimal', 'a comma', 'cells are numbers then'))
        stamps = self._add_stamps(head, columns)
        for quantity, own in columns.quantities.items():
            self.section[quantity] = _source(head, [column.column for column in own])
            if len(own) < len(columns.joints):
                self._name_columns(quantity, columns)
        if columns.unpowered:
            self.section['unpowered'] = [*columns.unpowered]
        raw = _samples(head, columns, 'position')
        self._ask_for_motors(columns)
        self._ask_for_percent(columns, raw)
        self._set_positions([*raw.T], columns.unit_of('position'))
        self.require_answers()
        q = self._angles(raw)
        self._set_time_unit(stamps, q, columns, _samples(head, columns, 'velocity'))
        self.require_answers()
        if 'velocity' in self.section and stamps is not None:
            t = stamps * TIME_UNITS[self.section['time'].get('unit', 's')]
            self._check_velocity(t, q, _samples(head, columns, 'velocity'))
        if 'command' in columns.quantities:
            describe_commands(self, columns.commanded, columns.unit_of('command'))
            return
        efforts = columns.quantities.get('effort', ())
        describe_efforts(
            self, current=any(
                one.quantity == 'current' or is_of_motor(one.name) for one in efforts),
            named=columns.unit_of('effort') if efforts else '')

    def _name_columns(self, quantity: str, columns: TableColumns) -> None:
        """Say by their names which joints have a column of a quantity."""
        own = self.section[quantity]
        numbers = own.get('columns', range(len(columns.quantities[quantity])))
        own['columns'] = dict(zip(columns.joints_of(quantity), numbers, strict=True))

    def _describe_bag(self) -> None:
        """Settings of a bag."""
        plain = RecordingSettings(format='rosbag', file=str(self.recording.resolve()))
        topics = bag_topics(
            self.recording, self.model.joint_names, plain.most_unpacked, self.told)
        self.note(*topics.findings, *topics.questions)
        self.require_answers()
        self.section = {
            'format': 'rosbag', 'file': self._file(), 'topic': topics.topic,
            'joints': [*topics.joints]}
        if topics.effort_topic:
            self.section['effort_topic'] = topics.effort_topic
        if topics.rename:
            self.section['rename'] = topics.rename
        if not topics.stamped:
            self.section['stamps'] = 'receive'
        recording = self.loaded()
        found = [
            (recording.channel_of('position', joint), joint) for joint in self.section['joints']]
        self._set_positions([
            np.zeros(1) if channel is None else channel.column(joint) for channel, joint in found],
            '')
        self.require_answers()
        self._check_velocity_of_bag(recording)
        if topics.command_topic:
            self.section['command'] = {'topic': topics.command_topic}
            describe_commands(self, topics.commanded)
            return
        unpowered = unpowered_joints(self.told, self.section['joints'])
        if unpowered:
            self.section['unpowered'] = [*unpowered]
        describe_efforts(self, current=False, named='')

    def _check_velocity_of_bag(self, recording: Recording) -> None:
        """Unit of the velocities, where all joints have some at the stamps of the positions."""
        joints = self.section['joints']
        channels = [
            (recording.channel_of('position', joint), recording.channel_of('velocity', joint))
            for joint in joints]
        t = channels[0][0].t if channels and channels[0][0] is not None else np.zeros(0)
        samples = [
            (q.column(joint), v.column(joint))
            for joint, (q, v) in zip(joints, channels, strict=True)
            if q is not None and v is not None and len(q.t) == len(v.t) == len(t)]
        if len(t) > 1 and len(samples) == len(joints):
            q, v = np.transpose(np.array(samples), (1, 2, 0))
            self._check_velocity(t, self._angles(q), v)

    def _add_stamps(self, head: TableHead, columns: TableColumns) -> np.ndarray | None:
        """Where stamps come from; the stamps themselves, or None where only a rate is known."""
        if 'rate' in self.told:
            self.section['time'] = {'rate': positive_number(self.told['rate'], 'rate')}
            return None
        if columns.time is None:
            self.note(Question(
                'rate', 'How many rows were recorded in a second?', 'no column of the time',
                '1000'))
            return None
        key = 'column' if head.format == 'csv' else 'array'
        self.section['time'] = {key: head.key_of(columns.time.column)}
        stamps = head.values[columns.time.column]
        if columns.nanoseconds is not None:
            rest = columns.nanoseconds.column
            self.section['time']['nanoseconds'] = head.key_of(rest)
            stamps = stamps + TIME_UNITS['ns'] * head.values[rest]
        return stamps

    def _ask_for_motors(self, columns: TableColumns) -> None:
        """Ask what positions of motors are at the joints, which limits cannot tell from degrees."""
        names = [column.name for column in columns.quantities['position']]
        known = {'position-scale', 'position-unit'} & set(self.told)
        if any(map(is_of_motor, names)) and not known:
            self.note(Question(
                'position-scale', 'How many radians (or metres) at the joint is one unit of the '
                'positions (for radians of a motor, one over its gear ratio)?',
                f'{listed(names)} are of the motors, by their names; with coupled gears write '
                'recording: {position: {side: motor}, transmission: …} by hand', '0.01'))

    def _ask_for_percent(self, columns: TableColumns, raw: np.ndarray) -> None:
        """Ask whether positions that may be degrees or percent of a range are degrees."""
        names = [column.name for column in columns.quantities['position']]
        question = percent_question(names, raw)
        if question is not None and not {'position-scale', 'position-unit'} & set(self.told):
            self.note(question)

    def _set_positions(self, q: Sequence[np.ndarray], named: str) -> None:
        """Unit, scale and offset of the positions, and which are counted within one turn."""
        joints = self.section['joints']
        unit, said = self.told.get('position-unit'), dict[str, Any]()
        if unit is not None and unit not in (PERCENT, *UNITS['position']):
            raise ConfigurationError(
                'unknown unit', where='--position-unit', found=repr(unit),
                allowed=', '.join((*UNITS['position'], PERCENT)),
                fix=nearest_unit(unit, UNITS['position']))
        if unit == PERCENT:
            scales, offsets = percent_of_range(joints, self.model)
            said |= {'scale': one_or_each(scales), 'offset': one_or_each(offsets)}
            self.note(Finding(
                'position', 'in percent of the range between limits of the description',
                'as was said; calibrated ranges may differ from these by some percent'))
        for option, key in (('position-scale', 'scale'), ('position-offset', 'offset')):
            if option in self.told:
                said[key] = one_or_each(numbers(self.told[option], option, len(joints)))
        if 'scale' not in said:
            guess = position_guess(
                q, joints, self.model, unit or named)
            self.note(*guess.findings, *guess.questions)
            if set(guess.units) - {'rad', 'm'}:
                said['unit'] = one_or_each(guess.units)
            if any(guess.wrapped):
                said['wrapped'] = one_or_each(guess.wrapped)
        if said:
            self.section['position'] = {**self.section.get('position', {}), **said}

    def _angles(self, raw: np.ndarray) -> np.ndarray:
        """Positions in SI units without jumps of a turn, shape ``(T, n)``."""
        settings = self.parsed().position or QuantitySettings()
        joints = self.section['joints']
        factors = unit_factors('position', settings, len(joints))[0]
        q = raw * factors * np.array(per_joint(settings.scale, len(joints)))
        turning = np.array([not self.slides(joint) for joint in joints])
        # Tables merged from several topics have rows without positions.
        rows = np.isfinite(q).all(axis=1)
        q[np.ix_(rows, turning)] = np.unwrap(q[np.ix_(rows, turning)], axis=0)
        return q

    def _set_time_unit(
        self, stamps: np.ndarray | None, q: np.ndarray, columns: TableColumns, v: np.ndarray
    ) -> None:
        if stamps is None or columns.time is None or columns.nanoseconds is not None:
            return
        limits = np.array([
            self.model.limits.velocity[self.model.joint_index(joint)]
            for joint in columns.joints])
        unit, told = time_unit(
            stamps, q, limits, self.told.get('time-unit') or columns.time.unit,
            v if v.size else None)
        self.note(told)
        if unit is not None and unit != 's':
            self.section['time']['unit'] = unit

    def _check_velocity(self, t: np.ndarray, q: np.ndarray, v: np.ndarray) -> None:
        """Keep recorded velocities that are the derivative of the positions."""
        factor, finding = velocity_unit(t, q, v, 'these columns')
        self.note(finding)
        if not np.isfinite(factor):
            self.section.pop('velocity', None)
        elif factor != 1.0:
            self.section.setdefault('velocity', {})['unit'] = one_or_each([
                'm/s' if self.slides(joint) else 'deg/s' for joint in self.section['joints']])

    def _file(self) -> str:
        return os.path.relpath(self.recording.resolve(), self.folder.resolve())


def _format_of(recording: Path) -> str:
    """The format of a recording.

    Raises:
        RecordingError: It is none.
    """
    kind = file_kind(recording)
    if kind is None or kind[1] is None:
        raise RecordingError(
            'is no recording', where=str(recording),
            found=kind[0] if kind is not None else (
                'no such file' if not recording.exists() else 'a file of another kind'),
            allowed='a CSV, NPZ or Parquet file, or a bag (its folder, .mcap or .db3)',
            fix='Save it as a table with a header: in MATLAB by writetable(T, "a.csv"), in Python '
            'by numpy.savez("a.npz", t=t, q=q, tau=tau) or frame.to_csv("a.csv")'
            if recording.is_file() else None)
    return kind[1]


def _source(head: TableHead, columns: Sequence[int]) -> dict[str, Any]:
    """Where a quantity is, as settings say it."""
    if head.format == 'csv':
        keys = [head.key_of(k) for k in columns]
        by_name = all(isinstance(key, str) for key in keys)
        return {'columns': keys if by_name else list(columns)}
    arrays = {head.arrays[k][0] for k in columns}
    if len(arrays) > 1:
        raise RecordingError(
            'each joint has an array of its own', where=str(head.path),
            found=listed(sorted(arrays)), allowed='one array of shape (T, joints)',
            fix='Stack them: numpy.stack([…], axis=1)')
    (array,) = arrays
    width = sum(name == array for name, _ in head.arrays)
    own = [head.arrays[k][1] for k in columns]
    return {'array': array} | ({} if own == list(range(width)) else {'columns': own})


def _samples(head: TableHead, columns: TableColumns, quantity: str) -> np.ndarray:
    """Samples of a quantity, shape ``(T, n)``; of one that is not there, ``(0, 0)``."""
    own = columns.quantities.get(quantity)
    if own is None:
        return np.empty((0, 0))
    return np.column_stack([head.values[column.column] for column in own])
