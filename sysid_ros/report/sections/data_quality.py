"""Traffic lights of what was recorded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal, Self

import numpy as np

from sysid_ros.recording.checks.motion_content import MotionContent
from sysid_ros.recording.checks.quality import (
    LEAST_BITS,
    LEAST_MOVING,
    LEAST_RANGE,
    LOUD,
    DataQuality,
    JointQuality,
)
from sysid_ros.report.report_model import ReportModel
from sysid_ros.report.report_source import ReportSource, file_names
from sysid_ros.report.sections.section import Section
from sysid_ros.report.series import Number

#: Good, worth a look, or a reason against the data.
Light = Literal['good', 'look', 'bad']
#: Stamps that stray further, in periods, were made on arrival; fewer usable samples are missed.
MOST_JITTER, _LEAST_USABLE = 0.2, 0.9
# A joint that moves in fewer of the samples tells nothing of itself.
_STILL = 0.02
# Jitter below this is rounding.
_EVEN = 1e-6
# Different loads for each combination of parameters: fewer are worth a look, and too few for a fit.
_FEW_LOADS, _TOO_FEW_LOADS = 1.0, 0.5
# Lights of what torque sensors say, and of whether it belongs to the motion.
_EFFORTS = 'Efforts'
_OF_TORQUE = frozenset({'Torques', _EFFORTS})


class Check(ReportModel):
    """One light: what was looked at, what was found."""

    name: str
    light: Light
    text: str


class JointRecord(ReportModel):
    """What one joint did, and how well it was seen; see :class:`JointQuality` for the units."""

    joint: str
    lowest: Number
    highest: Number
    range_used: Number
    range_light: Light
    fastest: Number
    moving: Number
    moving_light: Light
    usable: Number
    usable_light: Light
    encoder_bits: Number
    encoder_light: Light
    torque_rms: Number
    torque_noise: Number
    torque_light: Light


class RecordingQuality(ReportModel):
    """Lights of one recording, which may be one that the fit is judged by."""

    judged_by: bool = False
    source: str
    duration: Number
    rate: Number
    checks: list[Check]
    joints: list[JointRecord]
    notes: list[str]

    @classmethod
    def of(
        cls, quality: DataQuality, *, torque_measured: bool = True,
        content: MotionContent | None = None, judged_by: bool = False,
    ) -> Self:
        """Lights of what is known of a recording.

        Args:
            quality: What is known.
            torque_measured: Whether efforts were measured; what drives are computed to have done
                says nothing of sensors.
            content: How much the motion shows, where that was counted.
            judged_by: Whether the fit is judged by it. What its efforts are is a matter of the
                verdict then, which compares them with the fit.
        """
        unseen = () if torque_measured else _OF_TORQUE
        joints = [_joint(joint) for joint in quality.joints]
        return cls(
            source=file_names(quality.source), duration=quality.duration, rate=quality.rate,
            checks=[*_information(content), *(
                check for check in _checks(quality, joints)
                if check.name not in (*unseen, *((_EFFORTS,) if judged_by else ())))],
            joints=joints, judged_by=judged_by,
            notes=[*quality.efforts, *quality.warnings, *quality.delays])


class DataQualitySection(Section):
    """Traffic lights of every recording that was fitted, or that it is judged by."""

    section: Literal['data_quality'] = 'data_quality'
    title: ClassVar[str] = 'The data'
    recordings: list[RecordingQuality]

    @classmethod
    def of(cls, source: ReportSource) -> Self | None:
        """Lights of the recordings of a run; None where nothing is known of any."""
        if not source.qualities:
            return None
        measured = source.prediction.what != 'motion'
        return cls(recordings=[
            RecordingQuality.of(quality, torque_measured=measured, judged_by=judged_by)
            for judged_by, qualities in (
                (False, source.qualities), (True, source.judged_qualities))
            for quality in qualities])


def _information(content: MotionContent | None) -> Iterator[Check]:
    if content is None:
        return
    each = content.per_combination
    yield Check(
        name='Content', light='bad' if each < _TOO_FEW_LOADS else _light(each >= _FEW_LOADS),
        text=f'{content.loads:.0f} different loads for {content.combinations} combinations of '
        'parameters')


def _checks(quality: DataQuality, joints: list[JointRecord]) -> Iterator[Check]:
    plural = '' if quality.gaps == 1 else 's'
    gaps = (f', {quality.gaps} gap{plural} up to {quality.longest_gap:.3g} s'
            if quality.gaps else '')
    jitter = (f'jitter {100.0 * quality.jitter:.2g} % of the period'
              if quality.jitter > _EVEN else 'evenly')
    yield Check(
        name='Stamps', light=_light(quality.jitter < MOST_JITTER and not quality.gaps),
        text=f'{quality.duration:.3g} s at {quality.rate:.4g} Hz, {jitter}{gaps}')
    for name, field, good, bad in (
        ('Range', 'range_light', 'every joint used enough of its range',
         'little of the range was used by'),
        ('Motion', 'moving_light', 'every joint moved much of the time',
         'at rest most of the time:'),
        ('Encoders', 'encoder_light', 'fine enough for accelerations',
         'coarse for accelerations:'),
        ('Torques', 'torque_light', 'little noise', 'much noise beside the torque of'),
        ('Samples', 'usable_light', 'nearly all can be used', 'many cannot be used of'),
    ):
        poor = [joint.joint for joint in joints if getattr(joint, field) != 'good']
        hopeless = any(getattr(joint, field) == 'bad' for joint in joints)
        yield Check(
            name=name, light='bad' if hopeless else _light(not poor),
            text=f'{bad} {", ".join(poor)}' if poor else good)
    yield Check(
        name=_EFFORTS, light='bad' if quality.efforts else 'good',
        text='; '.join(quality.efforts) or 'they belong to the motion')


def _joint(joint: JointQuality) -> JointRecord:
    return JointRecord(
        joint=joint.name, lowest=joint.lowest, highest=joint.highest,
        range_used=joint.range_used,
        range_light=_light(joint.range_used is None or joint.range_used >= LEAST_RANGE),
        fastest=joint.fastest, moving=joint.moving,
        moving_light='bad' if joint.moving < _STILL else _light(joint.moving >= LEAST_MOVING),
        usable=joint.usable,
        usable_light=_light(joint.usable >= _LEAST_USABLE), encoder_bits=joint.encoder_bits,
        encoder_light=_light(joint.encoder_bits is None or joint.encoder_bits >= LEAST_BITS),
        torque_rms=joint.torque_rms, torque_noise=joint.torque_noise,
        torque_light=_light(
            np.isfinite(joint.torque_noise) and joint.torque_noise <= LOUD * joint.torque_rms))


def _light(good: bool) -> Light:
    return 'good' if good else 'look'
