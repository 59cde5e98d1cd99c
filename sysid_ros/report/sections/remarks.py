"""What a reader should know besides, with remarks that repeat themselves said once."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from sysid_ros.report.remark_groups import grouped_remarks
from sysid_ros.report.report_model import ReportModel
from sysid_ros.report.report_source import ReportSource
from sysid_ros.report.sections.section import Section


class Remark(ReportModel):
    """A remark, and others of its kind."""

    text: str
    alike: list[str]


class RemarksSection(Section):
    """Remarks of the verdict."""

    section: Literal['remarks'] = 'remarks'
    title: ClassVar[str] = 'Remarks'
    remarks: list[Remark]

    @classmethod
    def of(cls, source: ReportSource) -> Self | None:
        """Remarks of a run; None where there are none."""
        found = source.estimate.identifiability
        # Said in sections of their own.
        said = (*source.verdict.reasons, *(() if found is None else found.sentences))
        remarks = [text for text in source.verdict.remarks if text not in said]
        if not remarks:
            return None
        return cls(remarks=[
            Remark(text=group[0], alike=list(group[1:]))
            for group in grouped_remarks(remarks, source.joint_names)])
