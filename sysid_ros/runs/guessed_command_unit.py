"""Unit and scale of what drives were told, by the kind of the drives, names and sizes."""

from __future__ import annotations

import numpy as np

from sysid_ros.errors import ConfigurationError
from sysid_ros.mechanics.actuators.kind import ActuatorKind
from sysid_ros.recording.guess.evidence import Finding, Question
from sysid_ros.recording.guess.options import numbers, one_or_each
from sysid_ros.recording.units import UNITS, nearest_unit
from sysid_ros.runs.settings_guess import SettingsGuess

_UNITS = UNITS['command']
# Currents beyond this in [A] are no joint's; a full duty cycle, with what rounding adds.
_MOST_AMPERES, _FULL = 100.0, 1.001
# What a count of a firmware's duty cycle may be, for people.
_COUNT = '0.00113'


def set_told_unit(guess: SettingsGuess) -> None:
    """Take unit and scale of the commands as they were said.

    Args:
        guess: The settings, with the place of the commands.

    Raises:
        ConfigurationError: There is no such unit.
        RecordingError: The scale is not one number, or one for each joint.
    """
    command, told = guess.section['command'], guess.told
    if 'command-unit' in told:
        unit = told['command-unit']
        if unit not in _UNITS:
            raise ConfigurationError(
                'unknown unit', where='--command-unit', found=repr(unit), allowed=', '.join(_UNITS),
                fix=nearest_unit(unit, _UNITS))
        command['unit'] = unit
    if 'command-scale' in told:
        command['scale'] = one_or_each(
            numbers(told['command-scale'], 'command-scale', len(guess.section['joints'])))


def describe_command_unit(
    guess: SettingsGuess, kind: type[ActuatorKind], quantity: str, named: str
) -> None:
    """Complete settings by the unit of the commands, which has to be one of the kind of drives.

    Args:
        guess: The settings, with positions and the place of the commands.
        kind: What the drives are.
        quantity: What names say that commands are, or empty.
        named: Unit in the names of the columns, or empty.

    Raises:
        ConfigurationError: What was told is no unit of commands for such drives.
    """
    command = guess.section['command']
    if 'unit' in command:
        _require_fitting(command['unit'], kind)
        return
    if 'command-scale' in guess.told:
        units, evidence = _plain(guess, kind), 'what its scale makes'
    elif named and (by_name := _of_kind(named, kind)):
        units, evidence = [by_name] * len(guess.section['joints']), 'by names'
    else:
        found = _by_size(guess, kind, quantity)
        if isinstance(found, Question):
            guess.note(found)
            return
        units, evidence = found
    if set(units) - {'rad', 'm'}:
        command['unit'] = one_or_each(units)
        guess.note(Finding('command', f'in {", ".join(dict.fromkeys(units))}', evidence))


def is_duty_cycle(guess: SettingsGuess) -> bool:
    """Whether commands are parts of the supply's voltage."""
    return guess.section['command'].get('unit') in ('1', '%')


def _of_kind(unit: str, kind: type[ActuatorKind]) -> str:
    """A unit, or that of its rate, where commands of a kind of drives may have it; else empty."""
    return next((
        one for one in (unit, f'{unit}/s') if one in _UNITS and _UNITS[one][1] in kind.units), '')


def _require_fitting(unit: str | list[str], kind: type[ActuatorKind]) -> None:
    for one in [unit] if isinstance(unit, str) else unit:
        if _UNITS[one][1] not in kind.units:
            raise ConfigurationError(
                f'no {kind.command} is in {one}', where='--command-unit', found=one,
                allowed=', '.join(
                    name for name, (_, si) in _UNITS.items() if si in kind.units),
                fix=f'Mend it, or the kind of the drives, --actuator {kind.name}')


def _plain(guess: SettingsGuess, kind: type[ActuatorKind]) -> list[str]:
    """The unit without a prefix of each joint's commands; a duty cycle rather than a voltage."""
    at_slides, at_turns = kind.units[-1], kind.units[0]
    if kind.name == 'dc_motor':
        at_turns = at_slides
    return [at_slides if guess.slides(joint) else at_turns for joint in guess.section['joints']]


def _by_size(
    guess: SettingsGuess, kind: type[ActuatorKind], quantity: str
) -> tuple[list[str], str] | Question:
    """Units by how large commands are, or what has to be asked."""
    joints = guess.section['joints']
    recording = guess.loaded()
    largest = max((
        float(np.nanmax(np.abs(channel.column(joint)), initial=0.0)) for joint in joints
        for channel in [recording.channel_of('command', joint)] if channel is not None),
        default=0.0)
    words = f'commands go to {largest:.3g}'
    if kind.name == 'dc_motor':
        return _of_motor(quantity, largest, words, len(joints))
    if kind.name == 'current' and largest > _MOST_AMPERES:
        return Question(
            'command-unit', 'What unit do the commanded currents have?',
            f'{words}, which are no amperes; counts are said by --command-scale, the amperes of '
            'one', 'mA')
    return _plain(guess, kind), f'{words}; --command-unit says another'


def _of_motor(
    quantity: str, largest: float, words: str, count: int
) -> tuple[list[str], str] | Question:
    """Volts or parts of a duty cycle."""
    if quantity == 'voltage':
        return ['V'] * count, 'by names'
    if 0.0 < largest <= _FULL:
        return ['1'] * count, f'{words}, as parts of a full duty cycle do'
    if quantity == 'duty' and largest <= 100.0 * _FULL:
        return ['%'] * count, f'{words}, as a duty cycle in per cent does'
    if quantity == 'duty':
        return Question(
            'command-scale', 'What part of a full duty cycle is one count of the commands?',
            f'{words}; one over the count of a full duty cycle', _COUNT)
    return Question(
        'command-unit', 'Are the commands voltages or duty cycles?',
        f'{words}; V, 1 or %; counts are said by --command-scale, the part of a full duty cycle '
        'that one is', 'V')
