"""How far the motions go that the model was fitted to and judged by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

from sysid_ros.evaluation.evaluation import FITTED_RANGE, JUDGED_RANGE
from sysid_ros.evaluation.faster_motion import FASTER_MOTION, FasterMotion
from sysid_ros.report.report_model import ReportModel
from sysid_ros.report.report_source import ReportSource
from sysid_ros.report.sections.section import Section
from sysid_ros.report.series import Number


class JointReach(ReportModel):
    """Largest speed, acceleration and torque of a joint, fitted and judged, and its positions."""

    joint: str
    lower: Number
    upper: Number
    speed: Number
    judged_speed: Number
    acceleration: Number
    judged_acceleration: Number
    torque: Number
    judged_torque: Number


class ValiditySection(Section):
    """Where the model is known to hold."""

    section: Literal['validity'] = 'validity'
    title: ClassVar[str] = 'Where it is known to hold'
    joints: list[JointReach]
    faster: str

    @classmethod
    def of(cls, source: ReportSource) -> Self | None:
        """Ranges of a run; None where none were noted."""
        provenance = source.estimate.provenance
        fitted: Mapping[str, Any] = provenance.get(FITTED_RANGE) or {}
        judged: Mapping[str, Any] = provenance.get(JUDGED_RANGE) or {}
        if not fitted:
            return None
        faster = FasterMotion.from_json(provenance.get(FASTER_MOTION))
        return cls(
            joints=[_reach(joint, own, judged.get(joint) or {}) for joint, own in fitted.items()],
            faster='' if faster is None else faster.sentence)


def _reach(joint: str, own: Mapping[str, Any], judged: Mapping[str, Any]) -> JointReach:
    lower, upper = own['position']
    return JointReach(
        joint=joint, lower=lower, upper=upper, **{
            f'{prefix}{key}': data.get(key)
            for prefix, data in (('', own), ('judged_', judged))
            for key in ('speed', 'acceleration', 'torque')})
