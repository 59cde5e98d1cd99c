"""Constants of drives that were told something: as an option says them, or as an MJCF has them."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence

from sysid_ros.errors import ConfigurationError, did_you_mean, listed
from sysid_ros.mechanics.actuators.kind import ActuatorKind, Constant
from sysid_ros.mechanics.actuators.position_servo import PositionServo
from sysid_ros.mechanics.joint_terms.term import driven_joints
from sysid_ros.recording.guess.evidence import Finding, Question
from sysid_ros.recording.guess.options import positive_number
from sysid_ros.robot.description.mjcf.actuators import position_servos
from sysid_ros.runs.guessed_command_unit import is_duty_cycle
from sysid_ros.runs.settings_guess import SettingsGuess

# Constants that people may begin with, 1 where they are not here.
_USUAL = {'kp': 20, 'supply_voltage': 12}
# Damping from which its search begins, by the stiffness, in [s]: drives of hobby servos and of legs
# have 0.02 to 0.07 s.
_DAMPING = 0.04

#: Values of the constants of a joint's drive, by name.
Constants = dict[str, float]


def guessed_constants(
    guess: SettingsGuess, kind: type[ActuatorKind]
) -> tuple[dict[str, Constants], list[str]]:
    """Constants of the drives by joint, and which of them the fit is to find.

    Args:
        guess: The settings; what is left open is noted there.
        kind: What the drives are.

    Raises:
        ConfigurationError: What was said names no constant, or no joint.
    """
    joints = [joint for joint in driven_joints(guess.model) if joint in guess.section['joints']]
    given = _as_said(guess.told.get('constants', ''), kind, joints)
    if not any(given.values()):
        given |= _as_described(guess, kind, joints)
    open_ones = [
        constant for constant in kind.constants
        if any(constant.name not in own for own in given.values()) and (
            (constant.default is None and constant.same_as is None)
            # What a full duty cycle is, no default says.
            or (constant.name == 'supply_voltage' and is_duty_cycle(guess)))]
    if open_ones:
        _ask_for(guess, kind, open_ones)
    sought = _free_constants(guess, kind)
    if 'kd' in sought:
        given = _with_damping(guess, given)
    return given, sought


def _with_damping(
    guess: SettingsGuess, given: Mapping[str, Constants]
) -> dict[str, Constants]:
    """Constants with a first guess of a damping that is sought and of which nothing was said."""
    if any('kp' in own and 'kd' not in own for own in given.values()):
        guess.note(Finding(
            'kd', f'{_DAMPING:g} s of kp where it was not said', 'a first guess: it is sought'))
    return {joint: {'kd': float(f'{_DAMPING * own["kp"]:.3g}')} | own if 'kp' in own else own
            for joint, own in given.items()}


def _as_said(
    text: str, kind: type[ActuatorKind], joints: Sequence[str]
) -> dict[str, Constants]:
    """Constants by joint, as ``kp=20,kd=1; *_calf: kp=40`` says them."""
    found: dict[str, Constants] = {joint: {} for joint in joints}
    for group in filter(None, map(str.strip, text.split(';'))):
        pattern, colon, numbers = group.rpartition(':')
        named = fnmatch.filter(joints, pattern.strip()) if colon else joints
        if not named:
            raise ConfigurationError(
                'there is no such moving joint', where='--constants', found=repr(pattern.strip()),
                allowed=listed(joints), fix=did_you_mean(pattern.strip(), joints))
        constants = _numbers(numbers, kind)
        for joint in named:
            found[joint] |= constants
    return found


def _numbers(text: str, kind: type[ActuatorKind]) -> Constants:
    names = [constant.name for constant in kind.constants]
    given: Constants = {}
    for part in filter(None, map(str.strip, text.split(','))):
        name, _, value = part.partition('=')
        if name not in names:
            raise ConfigurationError(
                f'an actuator of the kind {kind.name} has no such constant', where='--constants',
                found=repr(part), allowed=', '.join(f'{one}=…' for one in names) or 'none',
                fix=did_you_mean(name, names))
        given[name] = positive_number(value, 'constants')
    return given


def _as_described(
    guess: SettingsGuess, kind: type[ActuatorKind], joints: Sequence[str]
) -> Mapping[str, Constants]:
    """Gains of the position servos of an MJCF; empty where it has none of some joint."""
    description = guess.model.description
    if kind is not PositionServo or description.format != 'mjcf':
        return {}
    servos = position_servos(description.compiled)
    if not all(joint in servos for joint in joints):
        return {}
    guess.note(Finding(
        'actuators', 'kp and kd of the MJCF', 'its position servos; --constants says others'))
    filters = {servos[joint].time_constant for joint in joints}
    if len(filters) == 1 and (time_constant := filters.pop()) > 0.0:
        guess.robot['command_time_constant'] = time_constant
        guess.note(Finding(
            'command_time_constant', f'{time_constant:g} s', 'timeconst of these servos'))
    return {joint: {'kp': servos[joint].kp, 'kd': servos[joint].kd} for joint in joints}


def _free_constants(guess: SettingsGuess, kind: type[ActuatorKind]) -> list[str]:
    """Constants that the fit is to find, as the option says them."""
    names = [constant.name for constant in kind.constants]
    sought = [*filter(None, map(str.strip, guess.told.get('sought', '').split(',')))]
    strange = [name for name in sought if name not in names]
    if strange:
        raise ConfigurationError(
            f'an actuator of the kind {kind.name} has no such constant', where='--sought',
            found=strange[0], allowed=', '.join(names), fix=did_you_mean(strange[0], names))
    return sought


def _ask_for(
    guess: SettingsGuess, kind: type[ActuatorKind], open_ones: Sequence[Constant]
) -> None:
    slides = {guess.slides(joint) for joint in guess.section['joints']}
    usual = ','.join(
        f'{constant.name}={_USUAL.get(constant.name, 1)}' for constant in open_ones)
    units = ', '.join(
        f'{constant.name}, the {constant.words}, in ' + ' or, where joints slide, '.join(
            {False: constant.rotational_unit, True: constant.linear_unit}[sliding]
            for sliding in sorted(slides)) for constant in open_ones)
    rest = [constant.name for constant in kind.constants if constant not in open_ones]
    guess.note(Question(
        'constants', 'What are the constants of the drives?',
        'commands were recorded, and no torques that names tell (--effort says which they '
        f'are); {units}' + (f', and where known {", ".join(rest)}' if rest else '')
        + '; a rough number will do of what the fit is to find: --sought '
        f'{open_ones[0].name}', usual))
