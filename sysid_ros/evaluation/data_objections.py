"""What recordings show that speaks against a model found from them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sysid_ros.errors import listed
from sysid_ros.estimation.estimate import Estimate
from sysid_ros.estimation.payload.known import LoadFinding
from sysid_ros.estimation.payload.weighing import Weighing
from sysid_ros.evaluation.bound_cost import BoundCost
from sysid_ros.evaluation.common_scale import CommonScale
from sysid_ros.evaluation.contradictions import FaultKind
from sysid_ros.evaluation.data_findings import DataFindings
from sysid_ros.evaluation.disturbances import Disturbances
from sysid_ros.evaluation.objection import Objection, held_at_prior
from sysid_ros.evaluation.residual_patterns import Pattern, ResidualPattern
from sysid_ros.evaluation.supported_links import SupportedLink
from sysid_ros.evaluation.undeclared_load import UndeclaredLoad
from sysid_ros.recording.checks.effort_finding import EffortFinding, EffortKind
from sysid_ros.recording.checks.effort_statements import effort_statements
from sysid_ros.recording.checks.quality import DataQuality
from sysid_ros.recording.processing.torque_delays import TorqueDelays

# A torque that is held, or taken in turn with the position, is up to one sample away from its
# stamp, by chance in each recording: no driver's delay, up to so many seconds.
_HELD_SAMPLES, _HELD = 1.0, 0.008
# An effort may be frozen for so much of the time, and come in steps of this part of itself.
_FROZEN, _COARSE = 0.2, 0.4
# Wider ranges, by what is in the labels of bounds.
_WIDER = {
    '.mass ': 'mass_factor: 10.0', 'moving mass': 'total_mass: 3.0',
    ' within ': 'shape_margin: null, size_factor: 30.0'}
# Bounds that a sentence names; the rest of many is counted.
_NAMED = 6
# Efforts that lack what carries weight.
_WEIGHTLESS = (EffortKind.GRAVITY_COMPENSATED, EffortKind.FILTERED)
# Terms of a joint that stood still and differ from the prior by less were not found.
_UNMOVED = 1e-3


def data_objections(estimate: Estimate, data: DataFindings) -> Iterator[Objection]:
    """Objections to the recordings, in the order in which they should be mended.

    Args:
        estimate: What was found from them.
        data: What they show by themselves.
    """
    yield from _motion(estimate, data.still)
    yield from _encoders(data.coarse)
    yield from _signals(data.qualities)
    stands = all(one.kind is not EffortKind.OTHER_GRAVITY for one in data.efforts)
    if data.reversed_position is not None and stands:
        yield Objection(data.reversed_position.sentence, data.reversed_position.next_step)
    yield from _efforts(data.efforts)
    if not stands:
        # All that follows compares with the torques of a robot that stands otherwise.
        return
    if data.touched is not None:
        # All that follows takes the torques for those of the drives alone.
        if not estimate.outliers:
            yield from _touched(data.touched)
        return
    yield from _common_scale(data)
    yield from _scale_of_bodies(data.scale_of_bodies)
    yield from _contradictions(data)
    yield from _delays(data.delays)
    yield from _load(data.load)
    yield from _weighing(data.weighing)
    yield from _undeclared_load(data.undeclared_load)
    yield from _disturbed(data.disturbed)
    yield from _supported(data.supported)
    yield from _bounds(data.bounds)


def _motion(estimate: Estimate, still: Sequence[str]) -> Iterator[Objection]:
    """Terms found for joints that stood still: encoders that flicker tell no friction."""
    parameters = estimate.parameters
    moved = parameters.free & (np.abs(parameters.values - parameters.prior) > _UNMOVED * np.maximum(
        np.abs(parameters.prior), 1.0))
    found = {name.rpartition('.')[0] for name, other in zip(parameters.names, moved, strict=True)
             if other and not parameters.is_inertial(name)}
    guessed = [joint for joint in still if joint in found]
    if guessed:
        every = {name.rpartition('.')[0] for name in parameters.names
                 if not parameters.is_inertial(name)}
        hold = f', or hold what cannot be told at the prior: {held_at_prior(guessed)}'
        yield Objection(
            f'{", ".join(guessed)} did not move, so that nothing tells the friction found for '
            f'{"it" if len(guessed) == 1 else "them"}.',
            f'Record a motion that moves every joint{hold if every - set(guessed) else ""}.',
        )


def _encoders(coarse: Sequence[str]) -> Iterator[Objection]:
    """Positions too coarse or too noisy to be differentiated twice."""
    if coarse:
        yield Objection(
            f'The positions of {", ".join(coarse)} are too coarse: what they say of accelerations '
            'is mostly noise, which biases inertia and friction.',
            'Record positions of higher resolution (encoder counts, not rounded angles), or faster '
            'motion; or take an estimator that differentiates none: fit: {estimator: collocation}.',
        )


def _signals(qualities: Sequence[DataQuality]) -> Iterator[Objection]:
    """Efforts that repeat themselves, or come in steps as large as themselves."""
    joints = [
        (joint, f' in {quality.source}' if len(qualities) > 1 else '')
        for quality in qualities for joint in quality.joints]
    frozen = [
        f'{joint.name} ({100.0 * joint.torque_frozen:.0f} %{where})' for joint, where in joints
        if joint.torque_frozen > _FROZEN]
    if frozen:
        yield Objection(
            f'Efforts stay at one value for a part of the time, while nothing in the motion does: '
            f'{", ".join(frozen)}.',
            'Check what the driver reports while it has nothing new, and record again.')
    coarse = [
        f'{joint.name} ({joint.torque_step:.2g} of {joint.torque_rms:.2g} RMS{where})'
        for joint, where in joints
        if joint.torque_step is not None and joint.torque_step > _COARSE * joint.torque_rms]
    if coarse:
        yield Objection(
            f'Efforts come in steps nearly as large as themselves: {", ".join(coarse)}.',
            'Record efforts of higher resolution: raw currents in place of rounded torques.')


def _efforts(efforts: Sequence[EffortFinding]) -> Iterator[Objection]:
    """Efforts that are not joint torques; other recordings of the robot would not show it."""
    for one in effort_statements(efforts):
        where = ', '.join(one.recordings)
        yield Objection(
            f'{", ".join(one.joints)}: the effort looks like {one.kind.value}'
            f'{f" in {where}" if where else ""}, so the masses and frictions found from it are as '
            'wrong.',
            f'{f"In the settings of {where}: " if where else ""}{one.next_step}.' if one.next_step
            else 'Check what the drive reports as effort.')


def _common_scale(data: DataFindings) -> Iterator[Objection]:
    """Efforts that are one multiple of the description's torques, unless that is said already."""
    found = data.common_scale
    if found is None or any(not one.kind.usable for one in data.efforts):
        return
    line = f'recording: {{effort: {{scale: {1.0 / found.scale:.3g}}}}}'
    yield Objection(
        f'The effort looks like {found.scale:.2g} times what the description predicts, much the '
        f'same at joints that tell it ({found.least:.2g} to {found.most:.2g}).',
        f'Check unit and torque constants: {line}, times what is there now, would fit. If the '
        'masses and frictions of the description are wrong instead, correct them, or set '
        'processing: {effort_check: warn}.')


def _scale_of_bodies(found: CommonScale | None) -> Iterator[Objection]:
    """Masses as large as gains in another unit make them."""
    if found is not None and found.beyond_descriptions:
        yield Objection(
            f'Torques of all bodies came out {found.scale:.2g} times those described, much the '
            f'same at joints that tell it ({found.least:.2g} to {found.most:.2g}).',
            'Check the units of the constants of the actuators: wrong by one factor, they make '
            'all masses wrong by it. If the description is wrong instead, or lacks a heavy tool, '
            'correct it, or set processing: {effort_check: warn}.')


def _contradictions(data: DataFindings) -> Iterator[Objection]:
    """Scales, zeros and clocks that no masses make up for, or none that the description has."""
    accused = {finding.joint for finding in data.efforts if not finding.kind.usable}
    # Without weight in the efforts nothing compares it with accelerations.
    weightless = any(finding.kind in _WEIGHTLESS for finding in data.efforts)
    for found in data.contradictions:
        if found.joint not in accused and not (weightless and found.kind is FaultKind.CLOCK):
            clock = found.kind is FaultKind.CLOCK and data.qualities
            yield Objection(found.sentence, found.next_step + (
                f' In a table, recording: {{time: {{rate: '
                f'{data.qualities[0].rate * found.value:.4g}}}}} would agree.' if clock else ''))
    accused |= {found.joint for found in data.contradictions}
    for departure in data.departures:
        if departure.joint not in accused:
            yield Objection(departure.sentence, departure.next_step)


def _delays(delays: Sequence[TorqueDelays]) -> Iterator[Objection]:
    """Torques that arrive late, or early, on all joints alike: a driver's doing, not friction's."""
    late = list(filter(None, map(_late, delays)))
    if late:
        # Of several recordings the values differ by chance: the first ones stand for all.
        said, setting = late[0]
        of = f' (in {len(late)} of {len(delays)} recordings)' if len(delays) > 1 else ''
        yield Objection(
            f'The torques arrive {said} than the motion they belong to{of}, so inertia and '
            'friction are found wrong.', f'Set processing: {{torque_delay: {{{setting}}}}}.')


def _late(found: TorqueDelays) -> tuple[str, str] | None:
    """How late torques arrive in words, and the setting; None where that is no driver's doing."""
    shared = found.shared
    if shared is None or abs(shared) <= min(_HELD_SAMPLES / found.rate, _HELD):
        return None
    return (
        f'{1e3 * abs(shared):.3g} ms {"later" if shared > 0.0 else "earlier"}',
        ', '.join(f'{name}: {seconds:g}' for name, seconds in found.setting().items()))


def _load(load: LoadFinding | None) -> Iterator[Objection]:
    """A load of known mass that the torques make heavier or lighter."""
    if load is not None and load.off:
        yield Objection(
            f'The known load of {load.mass:.4g} kg is {load.found:.3g} kg by the torques: the '
            f'efforts are {load.scale:.3g} ± {load.deviation:.1g} of the torques.',
            'If the load is what known.payload.mass says, set recording: {effort: {scale: '
            f'{1.0 / load.scale:.3g}}}}}, times what is there now.' if load.scale > 0.0 else
            'Check the signs of the efforts, and which recording has the load.',
        )


def _weighing(weighing: Weighing | None) -> Iterator[Objection]:
    """Slides whose torques move another mass than was weighed."""
    for slide in () if weighing is None else weighing.slides:
        if slide.off:
            yield Objection(
                f'{slide.joint} moves {slide.found:.3g} ± {slide.deviation:.1g} kg by its effort, '
                f'and {slide.mass:.4g} kg were weighed.',
                f'Check the weighing, or scale the effort: {slide.line}, times what is there now.'
                if slide.scale > 0.0 else 'Check sign and columns of the effort.')


def _undeclared_load(load: UndeclaredLoad | None) -> Iterator[Objection]:
    """A load in one of the recordings alone, which makes them recordings of two robots."""
    if load is not None:
        yield Objection(
            load.sentence,
            'Fit and judge by recordings of one robot; `sysid payload` finds what it carries.')


def _touched(found: Disturbances) -> Iterator[Objection]:
    """Something that touched the robot where it was fitted, and is in the fit."""
    yield Objection(
        f'Of the data that was fitted, {found.spans} hold {100.0 * found.squares:.3g} % of the '
        'squared error of a model that explains the rest, as where something touches the robot.',
        f'If so, leave it out, {found.line}, which automatic: true does by itself; or fit with an '
        'estimator that leaves rows out: fit: {estimator: irls_lmi}.')


def _disturbed(found: Disturbances | None) -> Iterator[Objection]:
    """Something that touched the robot where it was judged."""
    if found is not None:
        yield Objection(
            f'Of the data to judge by, {found.spans} hold {100.0 * found.squares:.3g} % of the '
            'squared error, as where something touches the robot: the rest is explained.',
            f'If so, leave it out, {found.line}, and judge again; or judge by other data.')


def _supported(links: Sequence[SupportedLink]) -> Iterator[Objection]:
    """A robot that stands on something, and is simulated as if it was held."""
    if links:
        weights = ', '.join(
            f'{link.body} ({link.weight:.3g} ± {link.deviation:.1g} kg)' for link in links)
        yield Objection(
            f'Something holds the robot up: by the torques of the drives less than nothing hangs '
            f'from {weights}, and whatever pushes there is not simulated.',
            'Record the robot with its base held and its links free of the ground and of '
            'anything else; if it was, check that the description has gravity in the right '
            'direction (robot: {gravity: [x, y, z]}).')


def _bounds(cost: BoundCost | None) -> Iterator[Objection]:
    """Bounds of plausibility that the recordings ask to overstep."""
    if cost is None:
        return
    wider = ', '.join(line for word, line in _WIDER.items()
                      if any(word in label for label in cost.labels))
    yield Objection(
        'The recordings ask for what is not plausible: without the bounds '
        f'{listed(cost.labels, _NAMED)} the error on held-out data is '
        f'{100.0 * cost.free:.2f} % in place of {100.0 * cost.bounded:.2f} %.',
        'Check scale, signs and delays of the efforts and the stamps, and the masses of the '
        'description.' + (
            f' If the description is what is rough, fit: {{plausibility: {{{wider}}}}}.'
            if wider else ''))


def pattern_objections(patterns: Sequence[ResidualPattern]) -> Iterator[Objection]:
    """Residuals that follow time or torque: no motion and no friction does that.

    Args:
        patterns: What the residuals of what was fitted follow.
    """
    for pattern in Pattern:
        joints = [one.joint for one in patterns if one.pattern is pattern]
        if joints:
            yield Objection(
                f'{", ".join(joints)}: the effort {pattern.value}; that is what most of the error '
                'follows.', pattern.next_step)
