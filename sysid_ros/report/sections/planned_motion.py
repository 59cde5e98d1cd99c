"""A planned motion in a few words: how long, how far within its limits, how much it will tell."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

import numpy as np

from sysid_ros.estimation.regression.conditioning import WARNED
from sysid_ros.report.excitation_summary import WELL_KNOWN, expected_knowledge
from sysid_ros.report.planned_motion import PlannedMotion
from sysid_ros.report.sections.section import Section
from sysid_ros.report.series import Number


class PlannedMotionSection(Section):
    """What is known of a motion before it is played.

    Attributes:
        allowed: Whether it may be played.
        findings: What forbids it.
        sentences: What it will tell.
        duration: In [s].
        speed: Played so many times as fast as designed.
        seed: Of the random beginnings of the search; empty where it is not known.
        condition: Condition number of the base regressor of the motion alone.
        good_below: Condition number above which people are warned.
        base_parameters: Number of base parameters.
        well_known: How many will be known to better than ``well_below``.
        well_below: Expected standard deviation in parts of the usual change.
        stopping_time: Time in which it can be stopped anywhere in [s].
        clearance: Smallest clearance at many instants beyond what is required in [m]; None where
            nothing is in the way.
        tightest: Joint and quantity nearest to its limit, margins included.
        tightest_share: Part of that limit which is used.
    """

    section: Literal['planned_motion'] = 'planned_motion'
    title: ClassVar[str] = 'The motion'
    allowed: bool
    findings: list[str]
    sentences: list[str]
    duration: Number
    speed: Number
    seed: str
    condition: Number
    good_below: float
    base_parameters: int
    well_known: int
    well_below: float
    stopping_time: Number
    clearance: Number
    tightest: str
    tightest_share: Number

    @classmethod
    def of_motion(cls, source: PlannedMotion) -> Self:
        """The section of a motion."""
        excitation, verification = source.excitation, source.verification
        last, values = source.deviations[1][-1], source.singular_values
        tightest, share = _tightest(source)
        return cls(
            allowed=verification.allowed, findings=list(verification.findings),
            sentences=list(expected_knowledge(source.designer.information, last)),
            duration=excitation.duration, speed=excitation.speed,
            seed=str(excitation.design.get('seed', '')),
            condition=values[0] / values[-1] if len(values) else None, good_below=WARNED,
            base_parameters=len(last), well_known=int(np.count_nonzero(last < WELL_KNOWN)),
            well_below=WELL_KNOWN, stopping_time=source.stopping_time,
            clearance=source.clearances[0][1] if source.clearances else None,
            tightest=tightest, tightest_share=share)


def _tightest(source: PlannedMotion) -> tuple[str, float]:
    """Joint and quantity that use most of their limit, and how much of it."""
    used = source.verification.used
    if not used:
        return '', float('nan')
    quantity = max(used, key=lambda each: float(np.max(used[each])))
    joint = int(np.argmax(used[quantity]))
    names = source.excitation.joint_names
    return f'{quantity} of {names[joint]}', float(used[quantity][joint])
