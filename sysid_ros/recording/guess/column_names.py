"""What the name of a column says: quantity, joint, unit, measured or commanded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

# Words by quantity, those that mean joint positions and torques for sure before the others.
_WORDS: dict[str, tuple[str, ...]] = {
    'position': (
        'q', 'qs', 'qpos', 'jpos', 'pos', 'position', 'positions', 'angle', 'angles', 'ang',
        'theta', 'phi'),
    'velocity': (
        'dq', 'qd', 'qdot', 'qvel', 'jvel', 'v', 'vel', 'velocity', 'velocities', 'speed',
        'speeds', 'omega', 'dtheta'),
    'acceleration': ('ddq', 'qdd', 'qddot', 'qacc', 'acc', 'accel', 'acceleration',
                     'accelerations'),
    'effort': (
        'tau', 'taus', 'torque', 'torques', 'trq', 'eff', 'effort', 'efforts', 'moment',
        'moments', 'force', 'forces', 'load'),
    'current': ('current', 'currents', 'cur', 'curr', 'amps', 'ampere', 'amperes', 'iq', 'i'),
    'time': (
        't', 'time', 'times', 'timestamp', 'timestamps', 'stamp', 'stamps', 'clock', 'duration',
        'elapsed'),
}
_QUANTITY = {word: quantity for quantity, words in _WORDS.items() for word in words}
# What is in recordings, but not asked for.
_OTHER = frozenset({
    'temp', 'temperature', 'temperatures', 'voltage', 'volt', 'volts', 'pwm', 'status', 'mode',
    'error', 'errors', 'tcp', 'pose', 'wrench', 'imu', 'gyro', 'tool', 'cartesian', 'digital',
    'analog', 'safety', 'frame', 'seq', 'index', 'sample', 'count', 'id', 'scaling', 'std',
    'covariance', 'variance', 'ext', 'external', 'gravity', 'coriolis', 'friction', 'inertial',
    'model', 'modelled', 'modeled', 'predicted', 'feedforward', 'ff', 'residual', 'residuals',
    'disturbance', 'limit', 'limits', 'max', 'min'})
_MEASURED = frozenset({
    'actual', 'act', 'meas', 'measured', 'msr', 'fb', 'feedback', 'real', 'sensor', 'sensed'})
_COMMANDED = frozenset({
    'target', 'desired', 'des', 'cmd', 'command', 'commands', 'commanded', 'ref', 'reference',
    'setpoint', 'goal', 'd', 'nominal', 'action', 'actions', 'control'})
_UNITS = {
    'deg': 'deg', 'degree': 'deg', 'degrees': 'deg', 'rad': 'rad', 'radian': 'rad',
    'radians': 'rad', 'rev': 'rev', 'revs': 'rev', 'turn': 'rev', 'turns': 'rev',
    'revolutions': 'rev', 'mm': 'mm', 'm': 'm', 's': 's', 'sec': 's', 'secs': 's', 'seconds': 's',
    'ms': 'ms', 'msec': 'ms', 'millis': 'ms', 'milliseconds': 'ms', 'us': 'us', 'usec': 'us',
    'micros': 'us', 'microseconds': 'us', 'ns': 'ns', 'nsec': 'ns', 'nsecs': 'ns',
    'nanosec': 'ns', 'nanosecs': 'ns', 'nanos': 'ns', 'nanoseconds': 'ns',
    'nm': 'N·m', 'nmm': 'N·mm', 'mnm': 'mN·m',
    'ncm': 'N·cm', 'a': 'A', 'ma': 'mA', 'rpm': 'rpm'}
# Units that stand for a quantity where no word does.
_UNITS_OF = {
    'position': frozenset({'deg', 'rad', 'rev', 'mm'}), 'velocity': frozenset({'rpm'}),
    'effort': frozenset({'N·m', 'N·mm', 'mN·m', 'N·cm'}), 'current': frozenset({'mA'}),
    'time': frozenset({'s', 'ms', 'us', 'ns'})}
_GENERIC = frozenset({'joint', 'joints', 'j', 'jnt', 'axis', 'motor', 'state', 'states', 'data'})
_MOTOR = frozenset({'motor', 'motors', 'rotor', 'rotors'})
_TOKEN = re.compile(r'[a-z]+|\d+')


@dataclass(frozen=True)
class ColumnName:
    """Quantity, joint and unit that a column's name tells.

    Attributes:
        column: Its 0-based number.
        name: Its name; empty where there is none.
        quantity: ``position``, ``velocity``, ``acceleration``, ``effort``, ``current``, ``time``;
            ``other`` for what is not asked for, empty where the name does not say.
        role: ``measured``, ``commanded``, or empty.
        unit: Unit in the name, or empty.
        joint: Joint of the robot that it names, or empty.
        number: Number of the joint, where it has one.
        stem: All else, which columns of one group share.
    """

    column: int
    name: str
    quantity: str
    role: str
    unit: str
    joint: str
    number: int | None
    stem: tuple[str, ...]

    @cached_property
    def group(self) -> tuple[str, str, tuple[str, ...]]:
        """Key that columns of the same quantity from the same source share."""
        return self.quantity, self.role, self.stem


def words_of(name: str) -> list[str]:
    """Words and numbers of a name, in lower case: ``'qPos_12'`` is q, pos and 12."""
    whole = re.sub(r'(?i)(nano|micro|milli)_?(?=s)', r'\1', name.replace('°', 'deg'))
    units = re.sub(r'(?<![a-z])mA(?![a-z])', 'ma', whole.replace('Nm', 'nm').replace('N·m', 'nm'))
    apart = re.sub(r'([a-z])([A-Z])', r'\1_\2', units)
    return _TOKEN.findall(apart.lower())


def column_names(names: Sequence[str], joints: Sequence[str]) -> Iterator[ColumnName]:
    """Parse the names of a table's header.

    Args:
        names: Names of the columns.
        joints: Moving joints of the robot.
    """
    by_words = sorted(
        ((words, joint) for joint in joints for words in (_own_words(joint),) if words),
        key=lambda pair: -len(pair[0]))
    for column, name in enumerate(names):
        yield _parsed(column, name, by_words)


def is_of_motor(name: str) -> bool:
    """Whether a name says that it is of the motor, before the gears."""
    return bool(_MOTOR.intersection(words_of(name)))


def is_commanded(name: str) -> bool:
    """Whether a name says that it is of what was commanded, not of what was measured."""
    return bool(_COMMANDED.intersection(words_of(name)))


def _own_words(joint: str) -> list[str]:
    words = words_of(joint)
    return [word for word in words if word not in ('joint', 'joints')] or words


def _parsed(
    column: int, name: str, by_words: Sequence[tuple[list[str], str]]
) -> ColumnName:
    words = words_of(name)
    joint, rest = _named_joint(words, by_words)
    if joint and not any(word in _QUANTITY for word in rest):
        # A joint that is called q1 or theta_2 takes the word for the quantity with it.
        rest = [*rest, *(word for word in words if word in _QUANTITY)]
    quantity = _quantity(rest)
    role = (
        'commanded' if _COMMANDED.intersection(rest)
        else 'measured' if _MEASURED.intersection(rest) else '')
    # The 2 of rad_s2 is no joint's.
    numbers = [
        word for before, word in zip(['', *rest], rest, strict=False)
        if word.isdigit() and before != 's']
    units = [_UNITS[word] for word in rest if word in _UNITS and word != 'm' and not (
        # As in A1 … A7, which are axes and not amperes.
        word == 'a' and numbers and words[words.index('a') + 1:][:1] == numbers[-1:])]
    if not joint:
        joint = _joint_of_words(
            [word for word in rest if word not in _QUANTITY and not _said_of_all(word)], by_words)
    stem = tuple(
        word for word in rest if not (
            word.isdigit() or word in _GENERIC or word in _UNITS or word in _own_words(joint)))
    return ColumnName(
        column, name, quantity, role, units[-1] if units else '', joint,
        int(numbers[-1]) if numbers and not joint else None, stem)


def _named_joint(
    words: list[str], by_words: Sequence[tuple[list[str], str]]
) -> tuple[str, list[str]]:
    """The joint whose words stand in a name one after the other, and the other words."""
    for own, joint in by_words:
        if all(word.isdigit() for word in own):
            continue
        length = len(own)
        for at in range(len(words) - length + 1):
            if words[at:at + length] == own:
                return joint, words[:at] + words[at + length:]
    # With the word joint in between, as in panda_joint1 for the words panda and 1.
    plain = [word for word in words if word not in ('joint', 'joints')]
    if len(plain) < len(words):
        return _named_joint(plain, by_words)
    return '', words


def _joint_of_words(
    words: Sequence[str], by_words: Sequence[tuple[list[str], str]]
) -> str:
    """The only joint whose words are these and more, if they are not numbers alone."""
    if not words or all(word.isdigit() for word in words):
        return ''
    fitting = [joint for own, joint in by_words if set(words) <= set(own)]
    return fitting[0] if len(fitting) == 1 else ''


def _said_of_all(word: str) -> bool:
    return word in _MEASURED or word in _COMMANDED or word in _GENERIC or word in _UNITS


def _quantity(words: Sequence[str]) -> str:
    if _OTHER.intersection(words):
        return 'other'
    found = [_QUANTITY[word] for word in words if word in _QUANTITY]
    if not found:
        return _quantity_of_unit(words)
    # The word for time is in current_time and in time_position, that of one letter in i_time.
    longer = [quantity for quantity, word in zip(
        found, (word for word in words if word in _QUANTITY), strict=True) if len(word) > 1]
    return (longer or found)[-1] if len(set(longer or found)) > 1 else found[0]


def _quantity_of_unit(words: Sequence[str]) -> str:
    """The quantity that a name's unit alone tells: shoulder_deg, elbow_rad_s, elbow_Nm, t_ms."""
    units = {_UNITS[word] for word in words if word in _UNITS}
    for quantity, measured_in in _UNITS_OF.items():
        if units & measured_in:
            if quantity == 'position' and 's' in units:
                return 'acceleration' if '2' in words else 'velocity'
            return quantity
    return ''


def preference(quantity: str, stem: Sequence[str]) -> int:
    """How far behind in the list of words for a quantity a name's word is; small is sure."""
    words = _WORDS[quantity]
    return min((words.index(word) for word in stem if word in words), default=len(words))


def in_words(columns: Sequence[ColumnName]) -> str:
    """Columns in a few words: the first and the last.

    Args:
        columns: One at least.
    """
    names = [column.name or f'column {column.column}' for column in columns]
    return names[0] if len(names) == 1 else f'{names[0]} … {names[-1]}'


def as_option(columns: Sequence[ColumnName]) -> str:
    """What names columns on the command line, by their names or else their numbers.

    Args:
        columns: The columns.
    """
    if all(column.name for column in columns):
        return ','.join(column.name for column in columns)
    return ','.join(str(column.column) for column in columns)
