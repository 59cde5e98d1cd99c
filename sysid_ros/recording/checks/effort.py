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
    clock_seen_in,
    effort_scales_together,
    without_noise,
)
from sysid_ros.recording.checks.gravity_direction import GravityDirection, gravity_direction
from sysid_ros.recording.checks.single_effort import EXPLAINED, TOLD, judge_effort
from sysid_ros.recording.dataset import Dataset
from sysid_ros.recording.processing.low_pass import LowPass
from sysid_ros.recording.units import torque_units_of

# Scales of joints within this factor of their median are one, and one so near a unit's is its; less
# effort than torque, but more than this part of it, may as well be a current or left out gears.
_ALIKE, _LIKELY, _GEARED = 2.5, 1.3, 0.003

# A joint that moves by more than this, in [rad] or [m], feels a torque that is no constant.
_MOVES = 0.05


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
            scale, and no recording of another clock, where one of them shows that it is not. Of
            their own scales nothing is said.

    Returns:
        The findings of each recording, then those of each one beside.

    Raises:
        RecordingError: The joints of a recording are others than the model's.
    """
    turned = next(filter(None, (_turned(one.dataset, model) for one in recordings)), None)
    if turned is not None:
        # What else speaks against the efforts is told by a robot that stands as it does.
        stands = replace(model, robot=replace(model.robot, gravity=turned.gravity))
        return _with_gravity(turned, _under_gravity(recordings, stands, beside), len(recordings))
    return _under_gravity(recordings, model, beside)


def _turned(dataset: Dataset, model: TorqueModel) -> GravityDirection | None:
    """The direction of gravity, if it is beyond doubt another one than the description's."""
    if dataset.joint_names != model.robot.joint_names:
        return None
    found = gravity_direction(dataset, model)
    return found if found is not None and found.is_another else None


def _with_gravity(
    turned: GravityDirection, found: Sequence[tuple[EffortFinding, ...]], count: int
) -> tuple[tuple[EffortFinding, ...], ...]:
    """Findings, and that on gravity for the first recordings."""
    said = EffortFinding(
        TOGETHER, EffortKind.OTHER_GRAVITY, np.nan, np.nan, np.nan, turned.advice)
    return tuple((*one, said) if k < count else one for k, one in enumerate(found))


def _under_gravity(
    recordings: Sequence[RecordedEfforts], model: TorqueModel, beside: Sequence[RecordedEfforts],
) -> tuple[tuple[EffortFinding, ...], ...]:
    """Findings on efforts under the gravity of the model; see :func:`effort_findings_together`."""
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
    scales = [
        _with_seen_clock(
            _without_noise(told, one, model, joints), one, model,
            (joints - told.odd.keys(), compared[count:]))
        for told, one, joints in zip(
            effort_scales_together(compared[:count], compared[count:]), recordings, usable[:count],
            strict=True)]
    unsaid = [NO_SCALES] * len(beside)
    return tuple(
        (*_with_one_current(list(_with_scales(findings, told)), plain), *shared)
        for (findings, shared), told, plain in zip(
            in_units, (*scales, *unsaid), whole, strict=True))


def _without_noise(
    told: EffortScales, recorded: RecordedEfforts, model: TorqueModel, joints: Collection[str]
) -> EffortScales:
    """Scales, without those that noise of the encoders makes; see :func:`.without_noise`.

    Args:
        told: Scales of the recording.
        recorded: The recording.
        model: Torque model with the prior.
        joints: Those whose efforts tell.
    """
    if not (told.all_off or told.odd):
        return told
    return without_noise(told, {
        name: own[0] for name, own in _filtered(recorded, model).items() if own and name in joints})


def _with_seen_clock(
    told: EffortScales, recorded: RecordedEfforts, model: TorqueModel,
    by: tuple[Collection[str], Sequence[Mapping[str, Reading]]],
) -> EffortScales:
    """Scales, without a clock that a half of the recording, or one beside it, does not show.

    Args:
        told: Scales of the recording.
        recorded: The recording.
        model: Torque model with the prior.
        by: Joints that tell, and efforts beside the prior's torques of recordings beside.
    """
    if not told.clock_off:
        return told
    joints, beside = by
    halves = [
        {name: own[0] for name, own in _read(
            recorded._replace(dataset=recorded.dataset.subset(*part)), model).items() if own}
        for part in ((0.0, 0.5), (0.5, 1.0))]
    shown = [
        {name: one for name, one in those.items() if name in joints}
        for those in (*halves, *beside)]
    seen = clock_seen_in(shown, told.inertial)
    return told if seen else replace(told, inertial_deviation=np.inf)


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
        judge_effort(name, own, recorded.ratios.get(name), bool(moves))
        if own or not moves or name in recorded.unpowered
        else EffortFinding(name, EffortKind.CONSTANT, 1.0, 0.0, 0.0)
        for (name, own), moves in zip(read.items(), moving, strict=True)]
    if any(one.kind is EffortKind.UNRELATED for one in findings):
        findings = list(_related(findings, recorded, model))
    if any(one.kind is EffortKind.GRAVITY_COMPENSATED for one in findings):
        # What takes gravity off one effort takes the slow part off the others.
        findings = [
            replace(one, kind=EffortKind.GRAVITY_COMPENSATED)
            if one.kind is EffortKind.FILTERED else one for one in findings]
    return [
        replace(one, suggestion=advice(one.kind, {one.joint: one.scale}, tuple(read)))
        for one in findings]


def _related(
    findings: Sequence[EffortFinding], recorded: RecordedEfforts, model: TorqueModel
) -> Iterator[EffortFinding]:
    """Findings; of efforts that nothing explains, by what a fit's filter leaves of them.

    Kicks of a controller, of one sample or two, may hold most of an effort's power, and no encoder
    shows their motion; noise of the encoders foretells torques that are none. What a fit filters
    out accuses nobody, if the rest is explained.
    """
    smooth = _filtered(recorded, model)
    for one in findings:
        if one.kind is EffortKind.UNRELATED and smooth.get(one.joint):
            again = judge_effort(one.joint, smooth[one.joint], recorded.ratios.get(one.joint), True)
            yield again if again.explained >= EXPLAINED else one
        else:
            yield one


def _filtered(recorded: RecordedEfforts, model: TorqueModel) -> dict[str, list[Reading]]:
    """The efforts beside the prior's torques, filtered as rows of a fit; none where it cannot be.

    Where a segment is too short for the filter, or nothing says which one it is, there are none.
    """
    if recorded.low_pass is None:
        return {}
    try:
        return dict(zip(model.robot.joint_names, readings(
            recorded.dataset, model, recorded.low_pass), strict=True))
    except (ConfigurationError, RecordingError):
        return {}


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
    sizes = [one.slope for one in whole.values() if one.correlation > TOLD]
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
    sizes = _alike([own.slope for own in whole.values() if own.correlation > TOLD])
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
