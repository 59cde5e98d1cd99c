"""What commands tell drives, and the ``actuators:`` that follow, where no torque was recorded."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sysid_ros.errors import ConfigurationError, RecordingError, did_you_mean, listed
from sysid_ros.mechanics.actuators.command import HeldCommand
from sysid_ros.mechanics.actuators.kind import ActuatorKind
from sysid_ros.mechanics.actuators.kinds import KINDS, kind_named
from sysid_ros.mechanics.joint_terms.term import driven_joints
from sysid_ros.recording.checks.followed_commands import Followed, followed
from sysid_ros.recording.guess.evidence import Finding, Question
from sysid_ros.recording.guess.options import one_or_each
from sysid_ros.recording.units import DEGREE
from sysid_ros.runs.guessed_command_unit import (
    describe_command_unit,
    set_told_unit,
)
from sysid_ros.runs.guessed_constants import guessed_constants
from sysid_ros.runs.guessed_efforts import lock_others
from sysid_ros.runs.settings_guess import SettingsGuess

# Kind of the actuator by the quantity that names of columns, or a field of messages, say.
_BY_QUANTITY = {
    'velocity': 'velocity_servo', 'effort': 'torque', 'current': 'current', 'voltage': 'dc_motor',
    'duty': 'dc_motor'}
# Joints that follow their command this much alike, and whose gain is within so many times of one,
# or of a degree's, are told where to be, or how fast to move: damped joints move about as torques
# do, too, so that these have to be nearer. Of those that move by more than this in [rad] or [m].
_FOLLOWS, _ABOUT, _MOVES = 0.8, 2.0, 0.01
_FOLLOWS_SPEED, _ABOUT_SPEED = 0.9, 1.3


def describe_commands(guess: SettingsGuess, quantity: str, named: str = '') -> None:
    """Complete settings by the kind and the constants of drives that were told something.

    Args:
        guess: The settings, with positions and the place of the commands; what they say of
            actuators stays.
        quantity: What names of the columns, or of the topic, say that commands are, or empty.
        named: Unit in the names of the columns, or empty.

    Raises:
        OpenQuestionsError: The recording leaves open what no default may decide.
        ConfigurationError: What was told of the drives is not there.
    """
    lock_others(guess)
    if 'actuators' in guess.robot:
        return
    set_told_unit(guess)
    _take_counts_of_positions(guess)
    kind = _kind(guess, quantity)
    guess.require_answers()
    assert kind is not None
    describe_command_unit(guess, kind, quantity, named)
    guess.require_answers()
    constants, sought = guessed_constants(guess, kind)
    guess.require_answers()
    limits, common = _limits(guess), {'sought': sought} if sought else {}
    each = {joint: {'kind': kind.name, **own, **common} | (
        {'torque_limit': limits[joint]} if joint in limits else {})
        for joint, own in constants.items()}
    first, *others = each.values()
    alike = all(one == first for one in others) and len(each) == len(driven_joints(guess.model))
    guess.robot['actuators'] = {'*': first} if alike else each


def _take_counts_of_positions(guess: SettingsGuess) -> None:
    """Scale and offset of the positions for commands that joints follow in the same counts."""
    counts = {key: value for key, value in guess.section.get('position', {}).items()
              if key in ('scale', 'offset')}
    command = guess.section['command']
    if 'scale' not in counts or {'scale', 'unit'} & set(command):
        return
    plain = dict(command)
    command |= counts
    found = _followed(guess)
    if found is not None and found.alike > _FOLLOWS and 1.0 / _ABOUT < found.gain < _ABOUT:
        guess.note(Finding('command', 'in the counts of the positions', str(found)))
    else:
        guess.section['command'] = plain


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
            f'by the names of the commands: {quantity}')))
        return kind_named(told)
    position, velocity = _followed(guess), _followed(guess, rates=True)
    if position is None or velocity is None:
        found, words = '', 'no joint moves'
    else:
        found = 'position_servo' if position.within(_FOLLOWS, _ABOUT) else (
            'velocity_servo' if velocity.within(_FOLLOWS_SPEED, _ABOUT_SPEED) else '')
        words = f'{velocity} as velocities' if found == 'velocity_servo' else str(position)
        follows = velocity if found == 'velocity_servo' else position
        if found and follows.in_degrees and 'unit' not in guess.section['command']:
            _say_degrees(guess, '/s' if found == 'velocity_servo' else '', words)
    if found or told:
        guess.note(Finding('actuators', found or told, words))
        return kind_named(found or told)
    guess.note(Question(
        'actuator', 'What do the commands tell the drives?',
        f'{", ".join(f"{kind.command} ({kind.name})" for kind in KINDS)}; {words}'
        + (f', {velocity} as velocities' if velocity is not None else ''), 'position_servo'))
    return None


def _say_degrees(guess: SettingsGuess, rate: str, words: str) -> None:
    guess.section['command']['unit'] = one_or_each([
        f'{"m" if guess.slides(joint) else "deg"}{rate}' for joint in guess.section['joints']])
    guess.note(Finding('command', 'in degrees' + (' a second' if rate else ''), words))


class _Following(NamedTuple):
    """How joints follow their commands, by the median over those that move.

    Attributes:
        alike: Correlation.
        gain: Change of the joint per change of the command.
    """

    alike: float
    gain: float

    def within(self, least: float, about: float) -> bool:
        """Whether they follow by one, or by a degree in radians, within a factor."""
        return self.alike > least and any(self._is(size, about) for size in (1.0, DEGREE))

    @property
    def in_degrees(self) -> bool:
        """Whether they follow by about a degree in radians."""
        return self._is(DEGREE, _ABOUT)

    def _is(self, size: float, about: float) -> bool:
        return self.gain > 0.0 and abs(np.log(self.gain / size)) < np.log(about)

    def __str__(self) -> str:
        alike, gain = f'{self.alike:.2f}', f'{self.gain:.3g}'
        return f'joints follow at a correlation of {alike} and {gain} of the command'


def _followed(guess: SettingsGuess, *, rates: bool = False) -> _Following | None:
    """How positions, or their rates, follow the commands; None where no joint moves."""
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
    if rates:
        x = np.asarray(np.gradient(x, t, axis=0))
    result: Followed = followed(
        t, x, lambda times: np.column_stack([held.at(times)[:, 0] for held in holding]))
    return _Following(
        float(np.median(np.diagonal(result.correlation)[moves])),
        float(np.median(np.diagonal(result.gain)[moves])))


def _held(t: np.ndarray, values: np.ndarray) -> HeldCommand:
    """A joint's command; what was not told anew is what was told before."""
    told = np.isfinite(values)
    if not told.any():
        return HeldCommand(t[:1], np.zeros((1, 1)))
    return HeldCommand(t[told], values[told][:, None])


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
