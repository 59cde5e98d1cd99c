"""What commands tell drives, and the ``actuators:`` that follow, where no torque was recorded."""

from __future__ import annotations

import numpy as np

from sysid_ros.errors import ConfigurationError, RecordingError, did_you_mean, listed
from sysid_ros.mechanics.actuators.command import HeldCommand
from sysid_ros.mechanics.actuators.kind import ActuatorKind
from sysid_ros.mechanics.actuators.kinds import KINDS, kind_named
from sysid_ros.mechanics.joint_terms.term import driven_joints
from sysid_ros.recording.checks.followed_commands import Followed, followed
from sysid_ros.recording.guess.evidence import Finding, Question
from sysid_ros.recording.guess.options import one_or_each, positive_number
from sysid_ros.recording.units import DEGREE
from sysid_ros.runs.guessed_efforts import lock_others
from sysid_ros.runs.settings_guess import SettingsGuess

# Kind of the actuator by the quantity that names of columns, or a field of messages, say.
_BY_QUANTITY = {
    'velocity': 'velocity_servo', 'effort': 'torque', 'current': 'current', 'voltage': 'dc_motor'}
# Joints that follow their command this much alike, and whose gain is within so many times of one,
# or of a degree's, are told where to be. Of those that move by more than this in [rad] or [m].
_FOLLOWS, _ABOUT, _MOVES = 0.8, 2.0, 0.01


def describe_commands(guess: SettingsGuess, quantity: str) -> None:
    """Complete settings by the kind and the constants of drives that were told something.

    Args:
        guess: The settings, with positions and the place of the commands; what they say of
            actuators stays.
        quantity: What names of the columns say that commands are, or empty.

    Raises:
        OpenQuestionsError: The recording leaves open what no default may decide.
        ConfigurationError: What was told of the drives is not there.
    """
    lock_others(guess)
    if 'actuators' in guess.robot:
        return
    kind = _kind(guess, quantity)
    guess.require_answers()
    assert kind is not None
    constants, sought = _constants(guess, kind)
    guess.require_answers()
    limits = _limits(guess)
    said = {'kind': kind.name, **constants} | ({'sought': sought} if sought else {})
    each = {joint: said | (
        {'torque_limit': limits[joint]} if joint in limits else {})
        for joint in driven_joints(guess.model) if joint in guess.section['joints']}
    first, *others = each.values()
    alike = all(one == first for one in others) and len(each) == len(driven_joints(guess.model))
    guess.robot['actuators'] = {'*': first} if alike else each


def _kind(guess: SettingsGuess, quantity: str) -> type[ActuatorKind] | None:
    """Kind of the drives: as told, by the names of columns, or by what joints do."""
    names = [kind.name for kind in KINDS]
    told = guess.told.get('actuator', _BY_QUANTITY.get(quantity, ''))
    if told and told not in names:
        raise ConfigurationError(
            'there is no such kind of actuator', where='--actuator', found=repr(told),
            allowed=', '.join(names), fix=did_you_mean(told, names))
    if told and told != 'position_servo':
        guess.note(Finding('actuators', told, 'as was said' if 'actuator' in guess.told else (
            f'commands are {quantity}s, by their names')))
        return kind_named(told)
    found = _followed(guess)
    if found is None:
        follow, words = False, 'no joint moves'
    else:
        alike, gain, follow = found
        words = f'joints follow at a correlation of {alike:.2f} and {gain:.3g} of the command'
        if follow and abs(np.log(gain / DEGREE)) < np.log(_ABOUT):
            guess.section['command']['unit'] = one_or_each([
                'rad' if guess.slides(joint) else 'deg' for joint in guess.section['joints']])
            guess.note(Finding('command', 'in degrees', words))
    if follow or told:
        guess.note(Finding('actuators', 'position_servo', words))
        return kind_named('position_servo')
    guess.note(Question(
        'actuator', 'What do the commands tell the drives?',
        f'{", ".join(f"{kind.command} ({kind.name})" for kind in KINDS)}; {words}',
        'position_servo'))
    return None


def _followed(guess: SettingsGuess) -> tuple[float, float, bool] | None:
    """Correlation and gain of positions on commands, and whether joints are told where to be.

    Medians over the joints that move; None where none does.
    """
    recording, joints = guess.loaded(), guess.section['joints']
    found = [
        (q, u) for joint in joints
        for q, u in [(recording.channel_of('position', joint),
                      recording.channel_of('command', joint))]
        if q is not None and u is not None]
    if len(found) < len(joints):
        raise RecordingError(
            'there are no commands of a joint', where=str(guess.recording), found=listed([
                joint for joint in joints if recording.channel_of('command', joint) is None]),
            fix='Say which joints were recorded: --joints JOINT,…')
    t = found[0][0].t
    x = np.column_stack([
        np.interp(t, q.t, q.column(joint)) for joint, (q, _) in zip(joints, found, strict=True)])
    holding = [_held(u.t, u.column(joint)) for joint, (_, u) in zip(joints, found, strict=True)]
    moves = np.ptp(x, axis=0) > _MOVES
    if not moves.any() or len(t) < 3:
        return None
    result: Followed = followed(
        t, x, lambda times: np.column_stack([held.at(times)[:, 0] for held in holding]))
    alike = np.diagonal(result.correlation)[moves]
    gain = float(np.median(np.diagonal(result.gain)[moves]))
    near = any(
        gain > 0.0 and abs(np.log(gain / size)) < np.log(_ABOUT) for size in (1.0, DEGREE))
    return float(np.median(alike)), gain, bool(near and np.median(alike) > _FOLLOWS)


def _held(t: np.ndarray, values: np.ndarray) -> HeldCommand:
    """A joint's command; what was not told anew is what was told before."""
    told = np.isfinite(values)
    if not told.any():
        return HeldCommand(t[:1], np.zeros((1, 1)))
    return HeldCommand(t[told], values[told][:, None])


def _constants(
    guess: SettingsGuess, kind: type[ActuatorKind]
) -> tuple[dict[str, float], list[str]]:
    """Constants of the drives, and which of them the fit is to find."""
    names = [constant.name for constant in kind.constants]
    given: dict[str, float] = {}
    for part in filter(None, map(str.strip, guess.told.get('constants', '').split(','))):
        name, _, value = part.partition('=')
        if name not in names:
            raise ConfigurationError(
                f'an actuator of the kind {kind.name} has no such constant', where='--constants',
                found=repr(part), allowed=', '.join(f'{one}=…' for one in names) or 'none',
                fix=did_you_mean(name, names))
        given[name] = positive_number(value, 'constants')
    sought = [*filter(None, map(str.strip, guess.told.get('sought', '').split(',')))]
    strange = [name for name in sought if name not in names]
    if strange:
        raise ConfigurationError(
            f'an actuator of the kind {kind.name} has no such constant', where='--sought',
            found=strange[0], allowed=', '.join(names), fix=did_you_mean(strange[0], names))
    open_ones = [
        constant for constant in kind.constants if constant.name not in given
        and constant.default is None and constant.same_as is None]
    if open_ones:
        usual = ','.join(f'{constant.name}=20' if constant.name == 'kp' else f'{constant.name}=1'
                         for constant in open_ones)
        units = ', '.join(
            f'{constant.name}, the {constant.words}, in {constant.rotational_unit}'
            for constant in open_ones)
        rest = [name for name in names if name not in {one.name for one in open_ones}]
        guess.note(Question(
            'constants', 'What are the constants of the drives?',
            'commands were recorded, and no torques that names tell (--effort says which they '
            f'are); {units}' + (f', and where known {", ".join(rest)}' if rest else '')
            + '; a rough number will do of what the fit is to find: --sought '
            f'{open_ones[0].name}', usual))
    return given, sought


def _limits(guess: SettingsGuess) -> dict[str, float]:
    """Torque limits by joint, as the description gives them."""
    limits = {
        joint: float(limit) for joint, limit in zip(
            guess.model.joint_names, guess.model.limits.effort, strict=True)
        if np.isfinite(limit) and limit > 0.0 and joint in guess.section['joints']}
    if limits:
        guess.note(Finding(
            'torque_limit', listed([f'{value:g}' for value in dict.fromkeys(limits.values())]),
            'the effort limits of the description; remove them if the drives have others'))
    return limits
