r"""What a recorded effort really is, told by the prior model.

The torque of a joint should be :math:`\tau = \Gamma\theta + \text{friction}` with parameters
near the prior, and friction that opposes the motion. A current or a motor-side torque is s
times that, a sensor with the wrong sign has s < 0, and a controller that takes gravity off
leaves its part out. The error of the best fit as a function of s, with and without gravity,
decides between them; parameters may stray from the prior at a price, friction and drive
inertia are free but not negative, so that a wrong prior by itself raises no alarm.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sysid_ros.errors import RecordingError
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.recording.checks.effort_reading import Reading, readings
from sysid_ros.recording.checks.effort_scale import EffortScales, agree, effort_scales
from sysid_ros.recording.checks.settings_lines import signal_line
from sysid_ros.recording.dataset import Dataset
from sysid_ros.recording.description import RecordingSettings, per_joint
from sysid_ros.recording.units import torque_units_of

# Scales tried, and those that are no reason for alarm: a wrong prior explains them.
_SCALES = np.geomspace(1e-3, 1e3, 61)
_PLAUSIBLE = (0.35, 3.0)

# Cost, in squared standard deviations, by which another reading has to fit better.
_DECISIVE = 20.0

# Correlation with the prior's prediction, without friction, from which its scale is believed, and
# from which it may be called wrong.
_CORRELATED, _TOLD = 0.5, 0.85

# Scales of joints within this factor of their median are one, and one so near a unit's is its; less
# effort than torque, but more than this part of it, may as well be a current or left out gears.
_ALIKE, _LIKELY, _GEARED = 2.5, 1.3, 0.003

# A joint that moves by more than this, in [rad] or [m], feels a torque that is no constant.
_MOVES = 0.05

# Part of the torque that some reading has to explain, before any is believed.
_EXPLAINED = 0.5

# Part of the torque that the prior as it is has to explain, so that no sensor is accused.
_BY_PRIOR = 0.75


# The slow part of an effort is missing where it is less than this of the fast part, each in parts
# of what the prior predicts; by so many standard deviations that the prior's own make, which are
# those of a prior that is likely wrong; and where the fast part correlates so much.
_MISSING, _SURE, _SEEN = 0.75, 1.3, 0.8
_MASSES = 'the masses of the description are wrong: correct them'
#: Name of the finding of all joints together.
_TOGETHER = 'all joints'

# A joint carries weight where that is this part of its torque.
_CARRIES = 0.3


class EffortKind(enum.Enum):
    """Kinds of effort signals; the values are clauses for sentences."""

    JOINT_TORQUE = 'a torque at the joint'
    WRONG_SIGN = 'a torque at the joint with the wrong sign'
    MOTOR_SIDE = 'a torque at the motor, before the gears'
    SCALED = 'a current or a motor-side torque'
    GRAVITY_COMPENSATED = 'a torque without the part that carries gravity'
    FILTERED = 'a torque whose slow part is missing'
    INCONSISTENT = 'a torque of another scale than the masses of the description'
    OTHER_UNIT = 'a torque in another unit'
    OTHER_CLOCK = 'a torque on another clock than the motion'
    CONSTANT = 'a constant, whatever the joint does'
    UNRELATED = 'nothing the model could make of this motion'
    UNKNOWN = 'something that prior and motion do not settle'

    @property
    def usable(self) -> bool:
        """Whether a fit may go on without asking."""
        return self in (EffortKind.JOINT_TORQUE, EffortKind.UNKNOWN)


@dataclass(frozen=True)
class EffortFinding:
    """Finding on the effort of one joint.

    Attributes:
        joint: Name of the joint, or 'all joints'.
        kind: What it looks like.
        scale: Recorded effort per torque of the best reading, signed; its sign is wrong when
            negative. On another clock, of what accelerates the links beside what carries them.
        explained: Part of the recorded effort that this reading explains, from 0 to 1; NaN of all
            joints.
        correlation: Correlation of the effort with what this reading predicts; NaN of all joints.
        suggestion: What to change in the settings, if anything.
        recording: The recording that shows it; empty where there is but one.
    """

    joint: str
    kind: EffortKind
    scale: float
    explained: float
    correlation: float
    suggestion: str = ''
    recording: str = ''

    @property
    def wrong_sign(self) -> bool:
        """Whether the sign is wrong, whatever else is."""
        return not self.kind.usable and self.kind is not EffortKind.UNRELATED and self.scale < 0

    @property
    def sentence(self) -> str:
        """The finding in words."""
        text = f'{self.joint}: the effort looks like {self.kind.value}'
        if self.kind not in (EffortKind.UNKNOWN, EffortKind.CONSTANT):
            text += f': {self.scale:.2g} of the predicted'
            if np.isfinite(self.correlation):
                text += f', correlation {self.correlation:.2f}'
        return f'{text}. {self.suggestion}' if self.suggestion else text


def effort_findings(
    dataset: Dataset, model: TorqueModel, ratios: Mapping[str, float] | None = None,
    unpowered: Collection[str] = (),
) -> tuple[EffortFinding, ...]:
    """Findings on the efforts, one for each joint.

    Where all efforts have one scale that is not 1, or another clock, one more finding says so.
    Nothing is changed in the data.

    Args:
        dataset: Motion and effort.
        model: Torque model with the prior; its joints must be the dataset's, in order.
        ratios: Motor turns per joint turn by joint, as far as known, which tells a
            motor-side torque from a current.
        unpowered: Joints that nothing drives, whose effort is zero indeed.

    Raises:
        RecordingError: The joints differ.
    """
    if dataset.joint_names != model.robot.joint_names:
        raise RecordingError(
            'the data holds other joints than the model', where=dataset.source,
            found=', '.join(dataset.joint_names), allowed=', '.join(model.robot.joint_names),
        )
    gears, moving = ratios or {}, np.ptp(dataset.q, axis=0) > _MOVES
    read = dict(zip(dataset.joint_names, readings(dataset, model), strict=True))
    findings = [
        _judge(name, own, gears.get(name), bool(moves)) if own or not moves or name in unpowered
        else _constant(name)
        for (name, own), moves in zip(read.items(), moving, strict=True)]
    whole = {name: own[0] for name, own in read.items() if own}
    findings, shared = _in_one_unit(findings, whole)
    usable = {one.joint for one in findings if one.kind.usable} if not shared else set()
    scales = effort_scales({name: own for name, own in whole.items() if name in usable})
    return (*_with_scales(findings, scales), *shared)


def require_right_signs(
    findings: Sequence[EffortFinding], described: RecordingSettings | None = None,
    recording: str = '',
) -> None:
    """Refuse efforts of the wrong sign.

    Args:
        findings: Findings of :func:`effort_findings`.
        described: Description of the recording, whose signs are those to turn; by default all
            are +1, in the order of the findings.
        recording: What the recording is called, for the message.

    Raises:
        RecordingError: The joints, and what to put into the settings.
    """
    wrong = [finding for finding in findings if finding.wrong_sign]
    if wrong:
        raise RecordingError(
            f'the effort of {", ".join(finding.joint for finding in wrong)} has the wrong sign',
            where=f'recording.effort of {recording}' if recording else 'recording.effort',
            found=', '.join(
                f'{finding.joint} {finding.scale:.2g}' for finding in wrong)
            + ' times the predicted torque',
            fix=f'Set {_right_signs(findings, described)}, or, if the model is wrong instead, '
            'processing: {effort_check: warn}',
        )


def _right_signs(
    findings: Sequence[EffortFinding], described: RecordingSettings | None
) -> str:
    """The line of settings with the signs that the findings make right."""
    names = tuple(dict.fromkeys(one.joint for one in findings if one.joint != _TOGETHER))
    listed = described.joints if described is not None else ()
    effort = described.effort if described is not None else None
    order = listed or names
    before = per_joint(effort.sign, len(order)) if effort is not None else [1.0] * len(order)
    wrong = {one.joint for one in findings if one.wrong_sign}
    signs = [
        round(-sign if name in wrong or _TOGETHER in wrong else sign)
        for name, sign in zip(order, before, strict=True)]
    if len(set(signs)) == 1:
        return f'recording: {{effort: {{sign: {signs[0]}}}}}'
    joints = '' if listed else f'joints: [{", ".join(order)}], '
    return f'recording: {{{joints}effort: {{sign: {signs}}}}}'


def _judge(
    name: str, readings: list[Reading], ratio: float | None, moves: bool
) -> EffortFinding:
    if not readings:
        return EffortFinding(name, EffortKind.UNKNOWN, 1.0, 0.0, 0.0)
    scales = np.concatenate([-_SCALES[::-1], _SCALES])
    costs = np.array([[reading.cost(float(scale)) for scale in scales] for reading in readings])
    # Friction opposes motion: it tells the sign even where the prior tells nothing.
    wrong = costs[:, scales > 0].min() - costs[:, scales < 0].min() > _DECISIVE
    sign = -1.0 if wrong else 1.0
    costs[:, sign * scales < 0] = np.inf
    which, at = divmod(int(np.argmin(costs)), len(scales))
    # Without a load of gravity both readings are one: the simple one holds.
    if which == 1 and costs[0].min() - costs[1, at] < _DECISIVE:
        which, at = 0, int(np.argmin(costs[0]))
    size = np.abs(scales)
    plausible = np.where((size >= _PLAUSIBLE[0]) & (size <= _PLAUSIBLE[1]), costs[0], np.inf)
    believed = sign * readings[which].correlation > _CORRELATED
    odd = plausible.min() - costs[which, at] > _DECISIVE
    if not (odd and believed):
        which, at = 0, int(np.argmin(plausible))
    scale = float(scales[at])
    explained, correlation = readings[which].predicted(scale)
    kind = _kind(scale, bool(which), ratio)
    if (odd and not believed and not wrong) or _contradicted(
            kind, scale, readings[which], readings[0], float(scales[int(np.argmin(plausible))])):
        kind = EffortKind.UNKNOWN
    # Nothing explains white noise: where there is much of it, less can be explained.
    elif explained < _EXPLAINED * (1.0 - readings[0].noise_part):
        # A joint that stands still may feel nothing but noise.
        kind = EffortKind.UNRELATED if moves else EffortKind.UNKNOWN
    if kind.usable and _lacks_slow_part(readings[0]):
        kind = EffortKind.FILTERED
    return EffortFinding(name, kind, scale, explained, correlation, _suggestion(name, kind, scale))


def _lacks_slow_part(plain: Reading) -> bool:
    """Whether an effort follows the prior's fast torques, but not its slow ones."""
    slow, fast = plain.slow, plain.fast
    # Without weight, what is slow is friction's.
    if plain.weight < _CARRIES:
        return False
    if not (fast.correlation > _SEEN and fast.slope > 0.0):
        return False
    missing = 1.0 - slow.slope / fast.slope
    return missing > max(1.0 - _MISSING, _SURE * float(np.hypot(slow.doubt, fast.doubt)))


def _contradicted(
    kind: EffortKind, scale: float, read: Reading, plain: Reading, plausible: float
) -> bool:
    """Whether the prior speaks against an accusation: by itself, or with likely deviations.

    Args:
        kind: What the effort is taken for.
        scale: At which scale.
        read: How it is read then.
        plain: The effort with gravity.
        plausible: The best scale that is no reason for alarm.
    """
    if kind.usable:
        return False
    if plain.by_prior > _BY_PRIOR:
        return True
    if scale < 0.0:
        return plain.correlation > _CORRELATED
    # A wrong prior explains it as well.
    if plain.deviance(plausible) < read.deviance(scale) + _DECISIVE:
        return True
    if kind is not EffortKind.SCALED:
        return False
    return plain.correlation < _TOLD or not agree(
        float(np.log(max(plain.slope, 1e-9))), float(np.log(scale)))


def _constant(name: str) -> EffortFinding:
    return EffortFinding(
        name, EffortKind.CONSTANT, 1.0, 0.0, 0.0,
        f'Check what the drive reports; {_undriven(name)}')


def _undriven(name: str) -> str:
    return f'if nothing drives the joint, say so: recording: {{unpowered: [{name}]}}'


def _in_one_unit(
    findings: Sequence[EffortFinding], whole: Mapping[str, Reading]
) -> tuple[list[EffortFinding], list[EffortFinding]]:
    """Findings, and one for all joints in the place of those whose efforts are of one scale.

    Args:
        findings: One for each joint.
        whole: The efforts with gravity, by joint.
    """
    scaled = [one for one in findings if one.kind is EffortKind.SCALED]
    if len(scaled) < 2 or any(not one.kind.usable for one in findings if one not in scaled):
        return list(findings), []
    sizes = np.array([one.slope for one in whole.values() if one.correlation > _TOLD])
    scale = float(np.median(sizes))
    units = torque_units_of(scale, _LIKELY)
    alike = np.all((sizes > scale / _ALIKE) & (sizes < scale * _ALIKE))
    if not units or not alike or _GEARED < scale < 1.0:
        return list(findings), []
    everywhere = EffortFinding(
        _TOGETHER, EffortKind.OTHER_UNIT, scale, np.nan, np.nan,
        f'Set recording.effort.unit to {" or ".join(units)}, or recording.effort.scale to '
        f'{1.0 / scale:.2g}, the torque per unit; or {_MASSES}')
    return [
        replace(one, kind=EffortKind.UNKNOWN, suggestion='') if one in scaled else one
        for one in findings], [everywhere]


def _with_scales(
    findings: Sequence[EffortFinding], scales: EffortScales
) -> Iterator[EffortFinding]:
    """Findings of joints, and of all together, whose scale is not the one of the others, or 1."""
    joints = [finding.joint for finding in findings]
    for finding in findings:
        logarithm = scales.odd.get(finding.joint)
        if logarithm is None:
            yield finding
            continue
        scale = float(np.exp(logarithm))
        # Two joints contradict each other, and nobody can tell which is right.
        other = f'{scales.agreeing[0]} to {scale:.3g}' if len(scales.agreeing) == 1 else ''
        yield replace(
            finding, kind=EffortKind.INCONSISTENT, scale=scale,
            suggestion='If its sensor is wrong, set '
            f'{signal_line("effort", "scale", joints, {finding.joint: 1.0 / scale}, 1.0)}'
            + (f', or the scale of {other} if that one is' if other else '')
            + ', times what is there now; if the masses of the description are, correct them, or '
            'set processing: {effort_check: warn}')
    if scales.all_off:
        scale = float(np.exp(scales.common))
        yield EffortFinding(
            _TOGETHER, EffortKind.INCONSISTENT, scale, np.nan, np.nan,
            f'Check torque constants and units (recording.effort.scale: {1.0 / scale:.3g} would '
            'fit), and the masses of the description; if these are wrong, set '
            'processing.effort_check to warn')
    if scales.clock_off:
        yield EffortFinding(
            _TOGETHER, EffortKind.OTHER_CLOCK, float(np.exp(scales.inertial)), np.nan, np.nan,
            f'Check unit and rate of the stamps (recording.time; a clock {scales.clock:.3g} times '
            'as fast would explain it), and the units of the positions; if the inertias of the '
            'description are wrong instead, set processing.effort_check to warn')


def _kind(scale: float, without_gravity: bool, ratio: float | None) -> EffortKind:
    if without_gravity:
        return EffortKind.GRAVITY_COMPENSATED
    if _PLAUSIBLE[0] <= abs(scale) <= _PLAUSIBLE[1]:
        return EffortKind.JOINT_TORQUE if scale > 0 else EffortKind.WRONG_SIGN
    if ratio is not None and _PLAUSIBLE[0] <= abs(scale * ratio) <= _PLAUSIBLE[1]:
        return EffortKind.MOTOR_SIDE
    return EffortKind.SCALED


def _suggestion(name: str, kind: EffortKind, scale: float) -> str:
    sign = ' and recording.effort.sign to -1' if scale < 0 else ''
    return {
        EffortKind.WRONG_SIGN: 'Set recording.effort.sign to -1 for this joint',
        EffortKind.MOTOR_SIDE:
            f'Set recording.effort.side to motor{sign}, with the transmission; or {_MASSES}',
        EffortKind.SCALED:
            'Set recording.effort.scale to the torque per unit at this joint, about '
            f'{1 / abs(scale):.2g}{sign}, or side to motor if the gears are left out; or {_MASSES}',
        EffortKind.GRAVITY_COMPENSATED:
            'Record the whole torque: masses cannot be told without the load of gravity',
        EffortKind.FILTERED:
            'Record the whole torque: a driver or a filter takes off what changes slowly',
        EffortKind.UNRELATED:
            "Check that the columns are in the order of recording.joints, and the robot's base; "
            f'{_undriven(name)}',
    }.get(kind, '')
