"""A settings file for a recording that nobody has described yet, guessed from the recording."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from sysid_ros.errors import RecordingError, SysidError
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.estimation.identification import Identification, IdentificationSettings
from sysid_ros.recording.checks.effort import effort_findings
from sysid_ros.recording.dataset import Dataset
from sysid_ros.recording.description import TIME_UNITS, RecordingSettings, unit_factors
from sysid_ros.recording.file_kind import file_kind
from sysid_ros.recording.guess.bag_topics import bag_topics
from sysid_ros.recording.guess.columns import TableColumns, table_columns
from sysid_ros.recording.guess.efforts import EffortGuess, effort_guess
from sysid_ros.recording.guess.evidence import Finding, OpenQuestionsError, Question
from sysid_ros.recording.guess.table_head import TableHead, read_head
from sysid_ros.recording.guess.units import position_units, time_unit, velocity_unit
from sysid_ros.recording.load import load_recording
from sysid_ros.robot.model import RobotModel
from sysid_ros.settings import parse_settings

# How recordings are filtered while efforts are compared with the description, in [Hz].
_CUTOFF = 8.0


@dataclass
class InitialSettings:
    """A settings file, and what speaks for it.

    Attributes:
        sections: What it says.
        findings: What was guessed, and why.
    """

    sections: dict[str, Any] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    def text(self) -> str:
        """The file, with the evidence as comments."""
        comments: dict[str, list[str]] = {}
        for finding in self.findings:
            comments.setdefault(finding.subject, []).append(f'{finding.value}: {finding.evidence}')
        lines = [
            '# Settings for `sysid fit`. Comments say what speaks for each guess: correct what is',
            '# wrong. What is left out here, the data decides.', 'robot:']
        lines += _written(self.sections['robot'], {'locked_joints': comments.get('locked', [])})
        lines += ['', 'recording:']
        lines += _written(self.sections['recording'], comments)
        return '\n'.join(lines) + '\n'


def initial_settings(
    description: Path, recording: Path, folder: Path, told: Mapping[str, str] | None = None
) -> InitialSettings:
    """Guess the settings file of a recording.

    Args:
        description: URDF, xacro or MJCF of the robot.
        recording: CSV or NPZ file, or bag.
        folder: Folder of the settings file, which its file names are relative to.
        told: What is known, by the name of the option: ``joints``, ``time``, ``rate``,
            ``time-unit``, ``position``, ``velocity``, ``effort``, ``position-unit``,
            ``effort-unit``, ``effort-scale``, ``topic``.

    Returns:
        Settings that read the recording.

    Raises:
        OpenQuestionsError: The recording leaves open what no default may decide.
        SysidError: Robot or recording cannot be read.
    """
    told = dict(told or {})
    robot = RobotModel.from_description(description)
    kind = file_kind(recording)
    form = kind[1] if kind is not None else None
    if form is None:
        raise RecordingError(
            'is no recording', where=str(recording),
            found=kind[0] if kind is not None else (
                'no such file' if not recording.exists() else 'a file of another kind'),
            allowed='a CSV or NPZ file, or a bag (its folder, .mcap or .db3)')
    guess = _Guess(robot, description, recording, folder, told)
    return guess.of_bag() if form == 'rosbag' else guess.of_table(form)


class _Guess:
    """The settings on their way; see :func:`initial_settings`."""

    def __init__(
        self, robot: RobotModel, description: Path, recording: Path, folder: Path,
        told: Mapping[str, str],
    ) -> None:
        self._robot, self._recording, self._told = robot, recording, told
        self._folder = folder
        self._settings = InitialSettings({'robot': {'urdf': _relative(description, folder)}})
        self._questions: list[Question] = []

    def of_table(self, form: str) -> InitialSettings:
        """Settings of a CSV or NPZ file."""
        head = read_head(self._recording, form)
        robot = self._robot
        moving = robot.joint_names
        sliding = [
            joint for joint, kind in zip(moving, robot.joint_types, strict=True)
            if kind == 'prismatic']
        columns = table_columns(head, moving, sliding, self._told)
        self._note(columns.findings, columns.questions)
        self._require_answers()
        section: dict[str, Any] = {'format': form, 'file': self._file(), 'joints': [
            *columns.joints]}
        if head.delimiter != ',':
            section['delimiter'] = head.delimiter
        self._settings.sections['recording'] = section
        stamps = self._add_stamps(section, head, columns)
        for quantity, own in columns.quantities.items():
            section[quantity] = _source(head, [column.column for column in own])
        q = _samples(head, columns, 'position')
        self._set_position_unit(section, q, columns)
        self._require_answers()
        q = q * self._factors('position', section)
        self._set_time_unit(section, stamps, q, columns)
        self._require_answers()
        if 'velocity' in section and stamps is not None:
            t = stamps * TIME_UNITS[section['time'].get('unit', 's')]
            self._check_velocity(section, t, q, _samples(head, columns, 'velocity'))
        current = 'effort' in columns.quantities and (
            columns.quantities['effort'][0].quantity == 'current')
        named = columns.unit_of('effort') if 'effort' in columns.quantities else ''
        return self._with_efforts(section, current=current, named=named)

    def of_bag(self) -> InitialSettings:
        """Settings of a bag."""
        plain = RecordingSettings(format='rosbag', file=str(self._recording.resolve()))
        topics = bag_topics(
            self._recording, self._robot.joint_names, plain.most_unpacked, self._told)
        self._note(topics.findings, topics.questions)
        self._require_answers()
        section: dict[str, Any] = {
            'format': 'rosbag', 'file': self._file(), 'topic': topics.topic,
            'joints': [*topics.joints]}
        if topics.effort_topic:
            section['effort_topic'] = topics.effort_topic
        if topics.rename:
            section['rename'] = topics.rename
        if not topics.stamped:
            section['stamps'] = 'receive'
        self._settings.sections['recording'] = section
        ends = self._ends_of_positions(topics.joints)
        units, told = position_units(ends, topics.joints, self._robot, self._told.get(
            'position-unit', ''))
        self._note_one(told)
        self._require_answers()
        if units is not None and set(units) - {'rad', 'm'}:
            section['position'] = {'unit': _one_or_each(units)}
        return self._with_efforts(section, current=False, named='')

    def _ends_of_positions(self, joints: Sequence[str]) -> np.ndarray:
        """Least and largest position of each joint, as recorded, shape ``(2, n)``."""
        recording = load_recording(self._parsed(), self._folder)
        ends = []
        for joint in joints:
            channel = recording.channel_of('position', joint)
            values = np.array([0.0]) if channel is None else channel.column(joint)
            ends.append([np.nanmin(values), np.nanmax(values)])
        return np.array(ends).T

    def _add_stamps(
        self, section: dict[str, Any], head: TableHead, columns: TableColumns
    ) -> np.ndarray | None:
        """Where stamps come from; the stamps themselves, or None where only a rate is known."""
        if 'rate' in self._told:
            section['time'] = {'rate': _number(self._told['rate'], 'rate')}
            return None
        if columns.time is None:
            self._questions.append(Question(
                'rate', 'How many rows were recorded in a second?', 'no column of the time',
                '1000'))
            return None
        key = 'column' if head.format == 'csv' else 'array'
        name: str | int = columns.time.name or columns.time.column
        section['time'] = {key: name}
        return head.values[columns.time.column]

    def _set_position_unit(
        self, section: dict[str, Any], q: np.ndarray, columns: TableColumns
    ) -> None:
        named = self._told.get('position-unit') or columns.unit_of('position')
        units, told = position_units(q, columns.joints, self._robot, named)
        self._note_one(told)
        if units is not None and set(units) - {'rad', 'm'}:
            section['position']['unit'] = _one_or_each(units)

    def _set_time_unit(
        self, section: dict[str, Any], stamps: np.ndarray | None, q: np.ndarray,
        columns: TableColumns,
    ) -> None:
        if stamps is None or columns.time is None:
            return
        named = self._told.get('time-unit') or columns.time.unit
        limits = np.array([
            self._robot.limits.velocity[self._robot.joint_index(joint)]
            for joint in columns.joints])
        unit, told = time_unit(stamps, q, limits, named)
        self._note_one(told)
        if unit is not None and unit != 's':
            section['time']['unit'] = unit

    def _check_velocity(
        self, section: dict[str, Any], t: np.ndarray, q: np.ndarray, v: np.ndarray
    ) -> None:
        """Keep recorded velocities that are the derivative of the positions."""
        factor, finding = velocity_unit(t, q, v, 'these columns')
        self._note_one(finding)
        if not np.isfinite(factor):
            del section['velocity']
        elif factor != 1.0:
            kinds = [
                self._robot.joint_types[self._robot.joint_index(joint)]
                for joint in section['joints']]
            section['velocity']['unit'] = _one_or_each([
                'm/s' if kind == 'prismatic' else 'deg/s' for kind in kinds])

    def _with_efforts(
        self, section: dict[str, Any], *, current: bool, named: str
    ) -> InitialSettings:
        """Settings with sign, unit and scale of the efforts."""
        self._lock_others(section)
        if section['format'] != 'rosbag' and 'effort' not in section:
            self._questions.append(Question(
                'effort', 'Which columns are the torques of the joints?',
                'no column is called torque, effort, tau or current; if another file has them, add '
                'recording: {effort: {file: …}} by hand', '8-14'))
        self._require_answers()
        unit = self._told.get('effort-unit', named)
        if 'effort-unit' in self._told:
            section.setdefault('effort', {})['unit'] = unit
            self._parsed()
            del section['effort']['unit']
        setup, dataset = self._aligned()
        if not (dataset.tau[dataset.mask] != 0.0).any():
            raise RecordingError(
                'no torque was recorded', where=str(self._recording),
                found='efforts that are empty or zero', fix='Record efforts, too; joints that '
                'nothing drives are named by recording: {unpowered: […]}')
        found = effort_findings(dataset, setup.model)
        guess = effort_guess(
            found, section['joints'], current=current, named=unit,
            told=self._told.get('effort-scale', ''))
        self._note(guess.findings, guess.questions)
        self._require_answers()
        _add_effort(section, guess)
        self._aligned()
        return self._settings

    def _lock_others(self, section: dict[str, Any]) -> None:
        """Hold joints that were not recorded."""
        rest = [joint for joint in self._robot.joint_names if joint not in section['joints']]
        if rest:
            self._settings.sections['robot']['locked_joints'] = 'rest'
            self._settings.findings.append(Finding(
                'locked', 'held fixed', f'{", ".join(rest)} were not recorded'))

    def _aligned(self) -> tuple[FitSetup, Dataset]:
        """The recording as a fit reads it, filtered for a look at its efforts."""
        processing = {'position_filter': {'cutoff': _CUTOFF}, 'effort_check': 'warn'}
        settings = parse_settings(
            IdentificationSettings, self._settings.sections | {'processing': processing},
            'settings')
        setup = FitSetup.of(Identification(settings, self._folder))
        return setup, setup.align(load_recording(settings.recording, self._folder))

    def _parsed(self) -> RecordingSettings:
        return parse_settings(RecordingSettings, self._settings.sections['recording'], 'recording')

    def _factors(self, quantity: str, section: Mapping[str, Any]) -> np.ndarray:
        settings = getattr(self._parsed(), quantity)
        return unit_factors(quantity, settings, len(section['joints']))[0]

    def _file(self) -> str:
        return _relative(self._recording, self._folder)

    def _note(self, findings: Sequence[Finding], questions: Sequence[Question]) -> None:
        self._settings.findings += findings
        self._questions += questions

    def _note_one(self, told: Finding | Question) -> None:
        if isinstance(told, Finding):
            self._settings.findings.append(told)
        else:
            self._questions.append(told)

    def _require_answers(self) -> None:
        if self._questions:
            raise OpenQuestionsError(self._questions, str(self._recording))


def _source(head: TableHead, columns: Sequence[int]) -> dict[str, Any]:
    """Where a quantity is, as settings say it."""
    if head.format == 'csv':
        names = [head.names[k] for k in columns]
        by_name = all(names) and all(head.names.count(name) == 1 for name in names)
        return {'columns': names if by_name else list(columns)}
    arrays = {head.arrays[k][0] for k in columns}
    if len(arrays) > 1:
        raise RecordingError(
            'each joint has an array of its own', where=str(head.path),
            found=', '.join(sorted(arrays)), allowed='one array of shape (T, joints)',
            fix='Stack them: numpy.stack([…], axis=1)')
    (array,) = arrays
    width = sum(name == array for name, _ in head.arrays)
    own = [head.arrays[k][1] for k in columns]
    return {'array': array} | ({} if own == list(range(width)) else {'columns': own})


def _samples(head: TableHead, columns: TableColumns, quantity: str) -> np.ndarray:
    return np.column_stack([
        head.values[column.column] for column in columns.quantities[quantity]])


def _add_effort(section: dict[str, Any], guess: EffortGuess) -> None:
    said: dict[str, Any] = {}
    if guess.unit:
        said['unit'] = guess.unit
    if any(sign < 0 for sign in guess.signs):
        said['sign'] = _one_or_each(guess.signs)
    if guess.scales:
        said['scale'] = _one_or_each(guess.scales)
    if said:
        section['effort'] = {**section.get('effort', {}), **said}


def _one_or_each(values: Sequence[Any]) -> Any:
    return values[0] if len(set(values)) == 1 else list(values)


def _relative(path: Path, folder: Path) -> str:
    return os.path.relpath(path.resolve(), folder.resolve())


def _number(text: str, option: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.0 < value < np.inf:
        raise SysidError(f'--{option} is no number above 0', found=text)
    return value


def _written(section: Mapping[str, Any], comments: Mapping[str, Sequence[str]]) -> list[str]:
    """Lines of a section, each key with its comments above it."""
    lines = []
    for key, value in section.items():
        lines += [f'  # {comment}' for comment in comments.get(key, ())]
        if isinstance(value, dict) and len(value) > 1:
            lines.append(f'  {key}:')
            lines += [f'  {line}' for line in _written(value, {})]
        else:
            written = yaml.safe_dump(
                value, default_flow_style=True, allow_unicode=True, sort_keys=False, width=80)
            first, *more = written.removesuffix('...\n').rstrip().splitlines()
            lines += [f'  {key}: {first}', *(f'    {line}' for line in more)]
    return lines
