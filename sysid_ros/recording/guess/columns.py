"""Which columns of a table are stamps, positions, velocities and torques, joint by joint."""

from __future__ import annotations

import fnmatch
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sysid_ros.errors import RecordingError, did_you_mean, listed
from sysid_ros.recording.guess.column_names import (
    ColumnName,
    as_option,
    column_names,
    in_words,
    preference,
    words_of,
)
from sysid_ros.recording.guess.evidence import Finding, Question
from sysid_ros.recording.guess.options import unpowered_joints
from sysid_ros.recording.guess.stamps import runs, why_not
from sysid_ros.recording.guess.table_head import TableHead
from sysid_ros.recording.units import TIME_UNITS

_GRIPPER = frozenset({'finger', 'fingers', 'gripper', 'hand', 'claw', 'jaw'})
# What commands may be, what drives are told for sure before the others.
_COMMANDED_FIRST = ('', 'duty', 'voltage', 'current', 'effort', 'velocity')
_DUTY = frozenset({'pwm', 'duty'})
_VOLTAGE = _DUTY | {'voltage', 'volt', 'volts'}
# What joints have that something drives.
_OF_DRIVES = frozenset({'effort', 'current'})
_RANGE = re.compile(r'(\d+)\s*-\s*(\d+)')


@dataclass
class TableColumns:
    """Columns by what they hold.

    Attributes:
        joints: Joints of the robot that were recorded.
        time: Column of the stamps; None where there is none.
        nanoseconds: Column of the nanoseconds where that one has whole seconds.
        quantities: Columns by quantity, one for each joint; commands only without any torque.
        unpowered: Joints that nothing drives, which have no efforts.
        commanded: What names of commands say that they are; see :func:`commanded_quantity`.
        findings: What was guessed.
        questions: What is open.
    """

    joints: tuple[str, ...] = ()
    time: ColumnName | None = None
    nanoseconds: ColumnName | None = None
    quantities: dict[str, tuple[ColumnName, ...]] = field(default_factory=dict)
    unpowered: tuple[str, ...] = ()
    commanded: str = ''
    findings: list[Finding] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)

    def joints_of(self, quantity: str) -> tuple[str, ...]:
        """Joints that have a column of a quantity: those that something drives have efforts."""
        if quantity not in _OF_DRIVES:
            return self.joints
        return tuple(joint for joint in self.joints if joint not in self.unpowered)

    def unit_of(self, quantity: str) -> str:
        """Unit in the names of a quantity's columns, if all have the same."""
        units = {column.unit for column in self.quantities[quantity]}
        return units.pop() if len(units) == 1 else ''


def table_columns(
    head: TableHead, moving: Sequence[str], prismatic: Sequence[str] = (),
    told: Mapping[str, str] | None = None,
) -> TableColumns:
    """Guess what the columns of a table are.

    Args:
        head: The table.
        moving: Moving joints of the robot, in order.
        prismatic: Those of them that slide.
        told: Columns and joints that are known, as on the command line: ``joints``, ``time``,
            ``position``, ``velocity``, ``effort``, ``command``; each a list of names separated by
            commas, ranges of numbers (``1-7``), or patterns (``actual_q_*``). And joints that are
            ``unpowered``.

    Returns:
        Columns, findings and questions.

    Raises:
        RecordingError: What was told is not there.
    """
    return _Search(head, tuple(moving), frozenset(prismatic), told or {}).run()


class _Search:
    """The search for columns; see :func:`table_columns`."""

    def __init__(
        self, head: TableHead, moving: tuple[str, ...], prismatic: frozenset[str],
        told: Mapping[str, str],
    ) -> None:
        self._head, self._moving, self._prismatic, self._told = head, moving, prismatic, told
        self._columns = list(column_names(head.names, moving))
        self._found = TableColumns()
        if 'joints' in told:
            self._found.joints = _known_joints(told['joints'], moving)

    def run(self) -> TableColumns:
        """Stamps first, then positions, which say the joints, then all else."""
        found = self._found
        self._find_time()
        position = self._columns_of('position')
        if position is None:
            if not found.questions:
                found.questions.append(self._question(
                    'position', 'Which columns are the positions of the joints?'))
            return found
        found.quantities['position'] = position
        found.unpowered = unpowered_joints(self._told, found.joints)
        driven = found.joints_of('effort')
        for quantity in ('velocity', 'effort') if driven else ('velocity',):
            columns = self._columns_of(quantity)
            if columns is not None:
                found.quantities[quantity] = columns
        if driven and 'effort' not in found.quantities and not any(
                one.option == 'effort' for one in found.questions):
            currents = self._columns_of('current')
            if currents is not None:
                found.quantities['effort'] = currents
        if driven and 'effort' not in found.quantities and not found.questions:
            self._find_commands()
        return found

    def _find_commands(self) -> None:
        """Columns of what drives were told, positions before other quantities."""
        if 'command' in self._told:
            self._found.quantities['command'] = self._named('command', len(self._found.joints))
            return
        groups: dict[object, list[ColumnName]] = defaultdict(list)
        for column in self._columns:
            if column.column in self._head.values and _may_be_told(column):
                groups[column.group].append(column)
        likely = sorted(
            (group for group in groups.values() if len(group) == len(self._found.joints)),
            key=lambda group: _COMMANDED_FIRST.index(commanded_quantity(group[0])))
        if not likely:
            return
        mapped = self._by_joint(likely[0])
        if mapped is None:
            return
        ordered, evidence = mapped
        left = '; '.join(in_words(group) for group in likely[1:4])
        self._found.quantities['command'] = ordered
        self._found.commanded = commanded_quantity(ordered[0])
        self._found.findings.append(Finding(
            'command', in_words(ordered), 'no torque was recorded; ' + evidence
            + (f'; not {left}' if left else '')))

    def _find_time(self) -> None:
        if 'time' in self._told:
            (self._found.time,) = self._named('time', 1)
            return
        stamps = [
            column for column in self._columns
            if column.quantity == 'time' and column.column in self._head.values]
        running = [column for column in stamps if runs(self._head.values[column.column])]
        if stamps and not running and 'rate' not in self._told:
            if self._find_seconds(stamps):
                return
            self._found.questions.append(Question(
                'rate', 'How many rows were recorded in a second?',
                f'no column that grows from row to row: {in_words(stamps)}; '
                f'{why_not(stamps[0], self._head.values[stamps[0].column])}', '1000'))
        if not running:
            return
        stamps = sorted(running, key=lambda column: preference('time', column.stem))
        self._found.time = stamps[0]
        others = ', '.join(column.name for column in stamps[1:])
        self._found.findings.append(Finding(
            'time', f'column {stamps[0].name!r}',
            'by its name' + (f'; not {others}' if others else '')))

    def _find_seconds(self, stamps: Sequence[ColumnName]) -> bool:
        """Whether seconds and nanoseconds have a column each, which together run."""
        values = self._head.values
        for seconds in (column for column in stamps if column.unit == 's'):
            for rest in (column for column in stamps if column.unit == 'ns'):
                if runs(values[seconds.column] + TIME_UNITS['ns'] * values[rest.column]):
                    self._found.time, self._found.nanoseconds = seconds, rest
                    self._found.findings.append(Finding(
                        'time', f'{seconds.name!r} and {rest.name!r}',
                        'seconds and nanoseconds, by their names; together they run'))
                    return True
        return False

    def _columns_of(self, quantity: str) -> tuple[ColumnName, ...] | None:
        """Columns of a quantity, one for each joint; None where there are none."""
        if quantity in self._told:
            columns = self._named(quantity, len(self._found.joints_of(quantity)) or None)
            self._take_joints(columns)
            return columns
        groups = self._groups(quantity)
        if not groups:
            return None
        chosen, *others = groups
        if others and self._rank(quantity, others[0]) == self._rank(quantity, chosen):
            self._found.questions.append(self._question(
                quantity, f'Which columns are the {quantity}?', chosen, others[0]))
            return None
        mapped = self._by_joint(chosen)
        if mapped is None:
            return None
        ordered, evidence = mapped
        if others:
            left = '; '.join(in_words(group) for group in others[:3])
            evidence += f'; not {left}'
        self._found.findings.append(Finding(quantity, in_words(ordered), evidence))
        return ordered

    def _groups(self, quantity: str) -> list[list[ColumnName]]:
        """Groups of columns that may be a quantity, the likeliest first."""
        groups: dict[object, list[ColumnName]] = defaultdict(list)
        for column in self._columns:
            if column.quantity == quantity and column.column in self._head.values:
                groups[column.group].append(column)
        likely = [group for group in groups.values() if group[0].role != 'commanded']
        return sorted(likely, key=lambda group: self._rank(quantity, group))

    def _rank(self, quantity: str, group: Sequence[ColumnName]) -> tuple[object, ...]:
        one = group[0]
        count = min(len(group), len(self._found.joints_of(quantity)) or len(self._moving))
        return (
            -count, one.role != 'measured', preference(quantity, one.stem),
            len(one.stem))

    def _by_joint(
        self, group: Sequence[ColumnName]
    ) -> tuple[tuple[ColumnName, ...], str] | None:
        """Columns of a group in the order of the joints, and how they were told apart."""
        quantity = group[0].quantity
        joints = self._found.joints_of(quantity)
        by_name = {column.joint: column for column in group if column.joint}
        if len(by_name) == len(group):
            if not joints:
                self._found.joints = joints = tuple(
                    joint for joint in self._moving if joint in by_name)
            missing = [joint for joint in joints if joint not in by_name]
            if missing:
                self._found.questions.append(self._missing(group, missing))
                return None
            return tuple(by_name[joint] for joint in joints), 'joints by name'
        ordered = sorted(group, key=lambda column: (
            column.number if column.number is not None else column.column, column.column))
        if not joints:
            self._found.joints = joints = self._joints_in_order(ordered) or ()
        if not joints:
            return None
        if len(ordered) != len(joints):
            self._found.questions.append(self._question(
                quantity, f'There are {len(ordered)} columns of {quantity} for '
                f'{len(joints)} joints: which are theirs?', group))
            return None
        return tuple(ordered), f'in the order of the joints, {joints[0]} first'

    def _joints_in_order(self, columns: Sequence[ColumnName]) -> tuple[str, ...] | None:
        """Joints that numbered columns are of; None, and a question, where it is not sure."""
        count, moving = len(columns), self._moving
        if count == len(moving):
            return moving
        rest = moving[count:]
        if rest and all(
                joint in self._prismatic or _GRIPPER.intersection(words_of(joint))
                for joint in rest):
            self._found.findings.append(Finding(
                'joints', listed(moving[:count]), f'{listed(rest)} looks like a gripper'))
            return moving[:count]
        self._found.questions.append(Question(
            'joints', f'Which joints are the {count} columns {in_words(columns)}?',
            f'{len(moving)} moving joints: {listed(moving)}', ','.join(moving[:count])))
        return None

    def _take_joints(self, columns: Sequence[ColumnName]) -> None:
        """Joints of positions that were named on the command line."""
        if self._found.joints:
            return
        names = tuple(column.joint for column in columns)
        if all(names) and len(set(names)) == len(names):
            self._found.joints = names
        else:
            self._found.joints = self._joints_in_order(columns) or ()

    def _named(self, quantity: str, count: int | None) -> tuple[ColumnName, ...]:
        """Columns that were told, in the order they were told in."""
        found: list[ColumnName] = []
        for text in map(str.strip, self._told[quantity].split(',')):
            found += self._matching(text, quantity)
        wrong = [column.name or str(column.column) for column in found
                 if column.column not in self._head.values]
        if wrong or (count is not None and len(found) != count):
            raise RecordingError(
                'columns are no numbers' if wrong else f'--{quantity} names another number of '
                'columns than there are joints', where=str(self._head.path),
                found=listed(wrong) or f'{len(found)} columns', allowed=count and f'{count}',
                fix=f'Name one column of numbers for each joint, as --{quantity} a,b,c')
        return tuple(found)

    def _matching(self, text: str, quantity: str) -> list[ColumnName]:
        span = _RANGE.fullmatch(text)
        numbers = range(int(span[1]), int(span[2]) + 1) if span else (
            [int(text)] if text.isdigit() else [])
        found = [self._columns[k] for k in numbers if k < len(self._columns)]
        if not numbers:
            found = [column for column in self._columns if column.name == text] or [
                column for column in self._columns
                if fnmatch.fnmatchcase(column.name, text)] or [
                column for column in self._columns if column.name.startswith(f'{text}[')]
        if not found or len(found) < len(numbers):
            there = listed(self._head.names, 30) if self._head.has_header else (
                f'{len(self._head.names)} columns without a header')
            raise RecordingError(
                f'--{quantity} names no column: {text}', where=str(self._head.path), found=there,
                allowed='names, patterns such as q_*, or numbers from 0 on such as 1-6',
                fix=did_you_mean(text, self._head.names) or f'Name columns, as --{quantity} 1-6')
        return found

    def _missing(self, group: Sequence[ColumnName], joints: Sequence[str]) -> Question:
        """A question about joints that no column of a quantity names."""
        quantity = group[0].quantity
        if quantity not in _OF_DRIVES:
            return self._question(
                quantity, f'No column of {quantity} names {listed(joints)}: which are theirs?',
                group)
        drives = [column for column in self._columns
                  if column.joint in joints and _may_be_told(column)]
        commanded = (
            f'; {in_words(drives)} tell drives: where these have no torque sensor, write robot: '
            '{actuators: …} for them by hand, as for robots without torque sensors'
        ) if drives else ''
        return Question(
            'unpowered',
            f'No column of {quantity} names {listed(joints)}: does nothing drive them?',
            f'{in_words(group)}; where something does, --effort names the columns of all that are '
            f'driven{commanded}', ','.join(joints))

    def _question(
        self, quantity: str, text: str, *groups: Sequence[ColumnName]
    ) -> Question:
        shown = ' or '.join(map(in_words, groups))
        if not shown:
            shown = listed(self._head.names, 20) if self._head.has_header else (
                f'{len(self._head.names)} columns without a header')
        option = 'effort' if quantity == 'current' else quantity
        first = 0 if self._found.time is None and self._head.has_header else 1
        last = first + max(len(self._moving), 1) - 1
        example = as_option(groups[0]) if groups else f'{first}-{last}'
        return Question(option, text, shown, example)


def _is_voltage(name: str) -> bool:
    return bool(_VOLTAGE.intersection(words_of(name)))


def _may_be_told(column: ColumnName) -> bool:
    """Whether a column may be what a drive was told."""
    words = words_of(column.name)
    return bool(_DUTY.intersection(words)) or (
        column.role == 'commanded' and (
            column.quantity not in ('time', 'other') or _is_voltage(column.name)))


def commanded_quantity(column: ColumnName) -> str:
    """What a commanded quantity is, by the name of its column or topic.

    Returns:
        ``velocity``, ``effort``, ``current``, ``voltage`` or ``duty``; empty for positions and
        where the name does not say.
    """
    if _DUTY.intersection(words_of(column.name)):
        return 'duty'
    if _is_voltage(column.name):
        return 'voltage'
    return column.quantity if column.quantity in _COMMANDED_FIRST else ''


def _known_joints(text: str, moving: Sequence[str]) -> tuple[str, ...]:
    joints = tuple(filter(None, map(str.strip, text.split(','))))
    unknown = [joint for joint in joints if joint not in moving]
    if unknown or not joints:
        raise RecordingError(
            '--joints names no moving joint of the robot', found=listed(unknown) or 'nothing',
            allowed=listed(moving, 20),
            fix=(did_you_mean(unknown[0], moving) if unknown else None)
            or 'Name joints of the robot, in the order of the columns')
    return joints
