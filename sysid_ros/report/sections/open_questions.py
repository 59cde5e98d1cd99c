"""What the motion did not show, and which motion would."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from sysid_ros.report.report_model import ReportModel
from sysid_ros.report.report_source import ReportSource
from sysid_ros.report.sections.section import Section
from sysid_ros.report.series import Number


class WeakEntry(ReportModel):
    """A base parameter of which much is left open, in parts of what the prior left open."""

    name: str
    left: Number
    motion: str
    then: Number


class OpenQuestionsSection(Section):
    """What is left open, in words and parameter by parameter."""

    section: Literal['open_questions'] = 'open_questions'
    title: ClassVar[str] = 'What the motion did not show'
    sentences: list[str]
    unidentified: list[str]
    weak: list[WeakEntry]

    @classmethod
    def of(cls, source: ReportSource) -> Self:
        """What a run leaves open."""
        estimate = source.estimate
        found = estimate.identifiability
        return cls(
            sentences=[] if found is None else list(found.sentences),
            unidentified=list(estimate.unidentified),
            weak=[] if found is None else [
                WeakEntry(
                    name=entry.name, left=entry.left, motion=entry.motion or '', then=entry.then)
                for entry in found.weak])
