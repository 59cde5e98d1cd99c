r"""What a recorded effort really is, told by the prior model.

The torque of a joint should be :math:`\tau = \Gamma\theta + \text{friction}` with parameters
near the prior, and friction that opposes the motion. A current or a motor-side torque is s
times that, a sensor with the wrong sign has s < 0, and a controller that takes gravity off
leaves its part out. The error of the best fit as a function of s, with and without gravity,
decides between them; parameters may stray from the prior at a price, friction and drive
inertia are free but not negative, so that a wrong prior by itself raises no alarm.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sysid_ros.errors import ConfigurationError, RecordingError
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.recording.checks.effort_finding import (
    MASSES,
    TOGETHER,
    EffortFinding,
    EffortKind,
    advice,
)
from sysid_ros.recording.checks.effort_reading import Reading, readings
from sysid_ros.recording.checks.effort_scale import (
    NO_SCALES,
    EffortScales,
    agree,
    effort_scales_together,
)
from sysid_ros.recording.dataset import Dataset
from sysid_ros.recording.processing.low_pass import LowPass
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

# A joint carries weight where that is this part of its torque.
_CARRIES = 0.3


class RecordedEfforts(NamedTuple):
    """Efforts of a recording, and what is known of them.

    Attributes:
        dataset: Motion and effort; its joints must be the model's, in order.
        ratios: Motor turns per joint turn by joint, as far as known, which tells a
            motor-side torque from a current.
        unpowered: Joints that nothing drives, whose effort is zero indeed.
        low_pass: What a fit filters efforts by, if by anything.
    """

    dataset: Dataset
    ratios: Mapping[str, float] = {}
    unpowered: Collection[str] = ()
    low_pass: LowPass | None = None


def effort_findings(
    dataset: Dataset, model: TorqueModel, ratios: Mapping[str, float] | None = None,
    unpowered: Collection[str] = (),
) -> tuple[EffortFinding, ...]:
    """Findings on the efforts of one recording; see :func:`effort_findings_together`.

    Args:
        dataset: Motion and effort.
        model: Torque model with the prior; its joints must be the dataset's, in order.
        ratios: Motor turns per joint turn by joint, as far as known.
        unpowered: Joints that nothing drives, whose effort is zero indeed.

    Raises:
        RecordingError: The joints differ.
    """
    found, = effort_findings_together(
        [RecordedEfforts(dataset, ratios or {}, unpowered)], model)
    return found


def effort_findings_together(
    recordings: Sequence[RecordedEfforts], model: TorqueModel,
    beside: Sequence[RecordedEfforts] = (),
) -> tuple[tuple[EffortFinding, ...], ...]:
    """Findings on the efforts of recordings of one robot, one for each joint of each.

    Where all efforts have one scale that is not 1, or another clock, one more finding says so.
    Scales are those of one fit over all joints and recordings. Nothing is changed in the data.

    Args:
        recordings: The recordings.
        model: Torque model with the prior.
        beside: Further recordings by the same sensors, to judge by: no joint's effort is of another
            scale where one of them shows that it is not. Of their own scales nothing is said.

    Returns:
        The findings of each recording, then those of each one beside.

    Raises:
        RecordingError: The joints of a recording are others than the model's.
    """
    every = (*recordings, *beside)
    read = [_read(one, model) for one in every]
    whole = [{name: own[0] for name, own in those.items() if own} for those in read]
    in_units = [
        _in_one_unit(_judged(one, those, model), plain)
        for one, those, plain in zip(every, read, whole, strict=True)]
    usable = [
        {one.joint for one in findings if one.kind.usable and not shared}
        for findings, shared in in_units]
    compared = [
        {name: own for name, own in plain.items() if name in those}
        for plain, those in zip(whole, usable, strict=True)]
    count = len(recordings)
    scales = effort_scales_together(compared[:count], compared[count:])
    unsaid = [NO_SCALES] * len(beside)
    return tuple(
        (*_with_one_current(list(_with_scales(findings, told)), plain), *shared)
        for (findings, shared), told, plain in zip(
            in_units, (*scales, *unsaid), whole, strict=True))


def _read(recorded: RecordedEfforts, model: TorqueModel) -> dict[str, list[Reading]]:
    """The efforts of a recording beside the prior's torques, with gravity and without."""
    names, dataset = model.robot.joint_names, recorded.dataset
    if dataset.joint_names != names:
        raise RecordingError(
            'the data holds other joints than the model', where=dataset.source,
            found=', '.join(dataset.joint_names), allowed=', '.join(names),
            fix='Name the joints of the model, recording: {joints: […]}, and lock others')
    return dict(zip(names, readings(dataset, model), strict=True))


def _judged(
    recorded: RecordedEfforts, read: Mapping[str, list[Reading]], model: TorqueModel
) -> list[EffortFinding]:
    """Findings on each effort by itself."""
    moving = np.ptp(recorded.dataset.q, axis=0) > _MOVES
    findings = [
        _judge(name, own, recorded.ratios.get(name), bool(moves))
        if own or not moves or name in recorded.unpowered
        else EffortFinding(name, EffortKind.CONSTANT, 1.0, 0.0, 0.0)
        for (name, own), moves in zip(read.items(), moving, strict=True)]
    if any(one.kind is EffortKind.UNRELATED for one in findings):
        findings = list(_without_kicks(findings, recorded, model))
    return [
        replace(one, suggestion=advice(one.kind, {one.joint: one.scale}, tuple(read)))
        for one in findings]


def _without_kicks(
    findings: Sequence[EffortFinding], recorded: RecordedEfforts, model: TorqueModel
) -> Iterator[EffortFinding]:
    """Findings; of efforts that nothing explains, by what a fit's filter leaves of them.

    Kicks of a controller, of one sample or two, may hold most of an effort's power, and no encoder
    shows their motion. What a fit filters out accuses nobody, if the rest is explained.
    """
    fitted = _fitted_efforts(recorded)
    smooth = {} if fitted is None else _read(recorded._replace(dataset=fitted), model)
    for one in findings:
        if one.kind is EffortKind.UNRELATED and smooth.get(one.joint):
            again = _judge(one.joint, smooth[one.joint], recorded.ratios.get(one.joint), True)
            yield again if again.explained >= _EXPLAINED else one
        else:
            yield one


def _fitted_efforts(recorded: RecordedEfforts) -> Dataset | None:
    """A recording whose efforts are filtered as those of a fit; None where a segment is too short.

    Masked samples are replaced by what lies between their neighbours.
    """
    dataset = recorded.dataset
    if recorded.low_pass is None:
        return None
    tau = np.array(dataset.tau)
    try:
        for first, last in dataset.segments:
            part = slice(first, last)
            rows = np.arange(last - first)
            for joint, usable in enumerate(dataset.mask[part].T):
                if usable.any():
                    tau[part, joint] = np.interp(rows, rows[usable], tau[part, joint][usable])
            tau[part] = recorded.low_pass.apply(tau[part], dataset.rate)
    except (ConfigurationError, RecordingError):
        return None
    return replace(dataset, tau=tau)


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
    return EffortFinding(name, kind, scale, explained, correlation)


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
    sizes = [one.slope for one in whole.values() if one.correlation > _TOLD]
    scale = float(np.median(sizes))
    units = torque_units_of(scale, _LIKELY)
    if not units or not _alike(sizes) or _GEARED < scale < 1.0:
        return list(findings), []
    everywhere = EffortFinding(
        TOGETHER, EffortKind.OTHER_UNIT, scale, np.nan, np.nan,
        f'Set recording.effort.unit to {" or ".join(units)}, or recording.effort.scale to '
        f'{1.0 / scale:.2g}, the torque per unit; or {MASSES}')
    return [
        replace(one, kind=EffortKind.UNKNOWN, suggestion='') if one in scaled else one
        for one in findings], [everywhere]


def _with_one_current(
    findings: Sequence[EffortFinding], whole: Mapping[str, Reading]
) -> Iterator[EffortFinding]:
    """Findings, with one of all joints where all efforts look like one current, however scaled.

    Args:
        findings: One for each joint, and what is already said of all together.
        whole: The efforts with gravity, by joint.
    """
    scaled = [one for one in findings if one.kind is EffortKind.SCALED and one.scale > 0.0]
    every = [one for one in findings
             if one.joint == TOGETHER and one.kind is EffortKind.INCONSISTENT]
    sizes = _alike([own.slope for own in whole.values() if own.correlation > _TOLD])
    others = [one for one in findings if one not in scaled and one.joint != TOGETHER]
    if len(scaled) + len(every) < 2 or not scaled or not sizes or not all(
            one.kind.usable for one in others) or not _alike([*sizes, *(
                one.scale for one in every)]):
        yield from findings
        return
    yield from (one for one in findings if one not in every)
    scale = float(np.median(sizes))
    yield EffortFinding(
        TOGETHER, EffortKind.SCALED, scale, np.nan, np.nan,
        advice(EffortKind.SCALED, {TOGETHER: scale}, [one.joint for one in findings]))


def _alike(sizes: Sequence[float]) -> Sequence[float]:
    """Scales that are all near their median; none where one is not."""
    middle = float(np.median(sizes)) if sizes else 0.0
    alike = all(middle / _ALIKE < size < middle * _ALIKE for size in sizes)
    return sizes if alike else ()


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
        said = advice(EffortKind.INCONSISTENT, {finding.joint: scale}, joints)
        if len(scales.agreeing) == 1:
            # Two joints contradict each other, and nobody can tell which is right.
            said += f'; or the scale of {scales.agreeing[0]} to {scale:.3g} if that sensor is wrong'
        yield replace(finding, kind=EffortKind.INCONSISTENT, scale=scale, suggestion=said)
    if scales.all_off:
        scale = float(np.exp(scales.common))
        yield EffortFinding(
            TOGETHER, EffortKind.INCONSISTENT, scale, np.nan, np.nan,
            f'Check torque constants and units (recording.effort.scale: {1.0 / scale:.3g} would '
            'fit), and the masses of the description; if these are wrong, set '
            'processing.effort_check to warn')
    if scales.clock_off:
        yield EffortFinding(
            TOGETHER, EffortKind.OTHER_CLOCK, float(np.exp(scales.inertial)), np.nan, np.nan,
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
