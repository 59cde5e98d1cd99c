"""Sign, unit and scale of recorded efforts, by the torques that the description predicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from sysid_ros.errors import RecordingError, listed
from sysid_ros.recording.checks.effort_finding import EffortFinding, EffortKind
from sysid_ros.recording.checks.effort_statements import effort_statements
from sysid_ros.recording.guess.evidence import Finding, Question
from sysid_ros.recording.units import TORQUE_UNITS, UNITS, torque_units_of

#: What a user says who has no torque constants: the masses of the description decide.
BY_DESCRIPTION = 'description'
# Digits of scales that the description gives, and how near a unit of torque has to be.
_DIGITS, _NEAR = 3, 1.3
_UNKNOWN_SCALE = (EffortKind.SCALED, EffortKind.MOTOR_SIDE)
# What shows of an effort that it is a torque.
_TORQUES = frozenset({
    EffortKind.JOINT_TORQUE, EffortKind.WRONG_SIGN, EffortKind.OTHER_UNIT,
    EffortKind.GRAVITY_COMPENSATED, EffortKind.FILTERED, EffortKind.INCONSISTENT})
# Masses of a description are hardly wrong by more, all of them; torque constants are.
_SIZES = (0.6, 1.7)
# Efforts in N·m may seem to be so many: single bodies are worse known than all together.
_PLAIN = (0.35, 3.0)
# Units of so many N·m are nothing that torque constants with gears could not be as well.
_CONSTANTS = (0.2, 20.0)
# Units of torques and of currents that names of columns have.
_TORQUE_UNITS, _CURRENT_UNITS = ('N·m', 'N·mm', 'mN·m', 'N·cm'), ('A', 'mA')


@dataclass
class EffortGuess:
    """Settings that turn recorded efforts into joint torques.

    Attributes:
        unit: Unit of all of them; empty for SI.
        signs: +1 or -1 for each joint.
        scales: Torque for one unit of effort, for each joint; empty where that is the unit's.
        findings: What was guessed.
        questions: What is open.
    """

    unit: str = ''
    signs: list[int] = field(default_factory=list)
    scales: list[float] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)


def effort_guess(
    found: Sequence[EffortFinding], joints: Sequence[str], *, current: bool, named: str,
    said: bool = False, told: str = '', size: float = 1.0,
) -> EffortGuess:
    """Guess what turns recorded efforts into torques.

    Args:
        found: What they look like beside the torques of the description, as they were recorded.
        joints: Joints in the order of the columns.
        current: Whether the names of the columns say that they are currents, or of the motors.
        named: Unit in the names of the columns, or empty.
        said: Whether that unit was said by who knows it.
        told: Torque for one unit of effort, one or one for each joint, separated by commas, or
            :data:`BY_DESCRIPTION`.
        size: How many times as large as the description's torques they are, by and large.

    Raises:
        RecordingError: What was told are no such numbers.
    """
    by_joint = {one.joint: one for one in found if one.joint in joints}
    guess = EffortGuess(signs=[
        -1 if joint in by_joint and by_joint[joint].wrong_sign else 1 for joint in joints])
    turned = [joint for joint, sign in zip(joints, guess.signs, strict=True) if sign < 0]
    if turned:
        guess.findings.append(Finding(
            'effort', f'the sign of {listed(turned)} is turned',
            'the description predicts the opposite'))
    implied = [
        float(f'{1.0 / abs(by_joint[joint].scale):.{_DIGITS}g}') if joint in by_joint else 1.0
        for joint in joints]
    if told:
        _take_scales(guess, told, implied, len(joints))
    elif said or (named in _TORQUE_UNITS and not current):
        guess.unit = '' if named == 'N·m' else named
        guess.findings.append(Finding(
            'effort', f'in {named}', 'as told' if said else 'by the names of the columns'))
    elif current or named in _CURRENT_UNITS or not _are_torques(found) or (
            not _SIZES[0] < size < _SIZES[1] and not _explain_size(found)):
        what = 'no torques at the joints in a usual unit'
        if current or named in _CURRENT_UNITS:
            what = 'currents or torques of motors, by their names'
        elif _are_torques(found):
            what = (
                f'{size:.2g} times what the description predicts: currents, or wrong masses (if '
                'they are torques at the joints, say so by effort-unit, N·m)')
        # Of what is odd in sign and size, the size is no sign of a unit.
        unit_of = {} if current or turned else _of_another_unit(implied, joints)
        guess.questions.append(_scale_question(
            f'{what}{_opposite(turned)}', implied, joints, unit_of))
    else:
        _take_unit(guess, found, size, turned)
    odd = (EffortKind.CONSTANT, EffortKind.UNRELATED, EffortKind.GRAVITY_COMPENSATED,
           EffortKind.FILTERED)
    guess.findings += [
        Finding('effort', 'look at it before the fit', one.sentence)
        for one in effort_statements([one for one in found if one.kind in odd])]
    return guess


def _scale_question(
    what: str, implied: Sequence[float], joints: Sequence[str], mixed: dict[str, str]
) -> Question:
    """Asks for the torque of one unit of effort, with what it looks like and an answer.

    Args:
        what: What the efforts are.
        implied: Torque in [N·m] for one unit of effort of each joint, by the description.
        joints: The joints.
        mixed: Joints whose efforts look like torques in another unit than those of the others.
    """
    answer = f'{BY_DESCRIPTION}, to let its masses decide'
    if mixed:
        others = ' and '.join(f'{joint} in {unit}' for joint, unit in mixed.items())
        what = f'in N·m, it seems, but for {others}'
        sizes = [UNITS['effort'][mixed[joint]][0] if joint in mixed else 1.0 for joint in joints]
        example = f'{_listed(sizes)}, or {answer}'
    else:
        example = f'{answer}, or numbers of the drives, as {_listed([0.1] * len(joints))}'
    return Question(
        'effort-scale',
        'How much torque at the joint, in N·m, is one unit of effort (torque constant times gear '
        'ratio)?',
        f'the efforts are {what}; the masses of the description would make it '
        f'{", ".join(f"{scale:g}" for scale in implied)}', example)


def _listed(scales: Sequence[float]) -> str:
    """Scales of all joints as one says them."""
    return ','.join(f'{scale:g}' for scale in scales)


def _of_another_unit(implied: Sequence[float], joints: Sequence[str]) -> dict[str, str]:
    """Unit of the joints whose efforts look like one of torque other than that of the others.

    Args:
        implied: Torque in [N·m] for one unit of effort of each joint, by the description.
        joints: The joints.

    Returns:
        Units by joint; empty where no effort is in N·m, all are, or one is in no unit of torque.
    """
    units = {}
    for joint, scale in zip(joints, implied, strict=True):
        if _PLAIN[0] < scale < _PLAIN[1]:
            continue
        likely = [
            unit for unit in torque_units_of(1.0 / scale, _NEAR)
            if not _CONSTANTS[0] < TORQUE_UNITS[unit] < _CONSTANTS[1]]
        if not likely:
            return {}
        units[joint] = likely[0]
    return units if len(units) < len(joints) else {}


def _explain_size(found: Sequence[EffortFinding]) -> bool:
    """Whether something else than currents or masses explains the size of efforts."""
    return any(one.kind in (
        EffortKind.OTHER_UNIT, EffortKind.GRAVITY_COMPENSATED, EffortKind.FILTERED)
        for one in found)


def _are_torques(found: Sequence[EffortFinding]) -> bool:
    """Whether an effort is a torque, in whatever usual unit, and none is one of unknown scale."""
    kinds = {one.kind for one in found}
    return bool(kinds & _TORQUES) and not kinds & set(_UNKNOWN_SCALE)


def _take_scales(
    guess: EffortGuess, told: str, implied: Sequence[float], joints: int
) -> None:
    if told == BY_DESCRIPTION:
        guess.scales = list(implied)
        guess.findings.append(Finding(
            'effort', 'scaled to the masses of the description',
            'identified masses are as right as these in the mean'))
        return
    try:
        scales = [float(text) for text in told.split(',')]
    except ValueError:
        scales = []
    scales = scales * joints if len(scales) == 1 else scales
    if len(scales) != joints or not (np.array(scales) > 0.0).all():
        raise RecordingError(
            '--effort-scale is not one number or one for each joint', found=told,
            allowed=f'{joints} numbers above 0, separated by commas, or {BY_DESCRIPTION!r}',
            fix='Say one for all, as --effort-scale 0.1')
    guess.scales = scales
    guess.findings.append(Finding(
        'effort', 'scaled as told',
        f'the description would make it {", ".join(f"{scale:g}" for scale in implied)}'))


def _opposite(turned: Sequence[str]) -> str:
    """What a question says of joints whose sign is turned whatever the answer."""
    return f', with the opposite sign at {listed(turned)} (turned)' if turned else ''


def _take_unit(
    guess: EffortGuess, found: Sequence[EffortFinding], size: float, turned: Sequence[str]
) -> None:
    other = next((one for one in found if one.kind is EffortKind.OTHER_UNIT), None)
    if other is None:
        guess.findings.append(Finding(
            'effort', 'in N·m, or N', f'{size:.2g} times what the description predicts'))
        return
    # As many milliamperes may make as much torque.
    units = torque_units_of(other.scale, _NEAR)
    like = f', as {" or ".join(units)} would be, or some currents' if units else ''
    guess.questions.append(Question(
        'effort-scale', 'How much torque at the joint, in N·m, is one unit of effort?',
        f'the efforts are {other.scale:.3g} times what the description '
        f'predicts{like}{_opposite(turned)}; no name says a unit',
        ' or '.join(f'{UNITS["effort"][unit][0]:g} for {unit}' for unit in units) or '0.1'))
