"""Where the run came from, so that it can be made again."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from sysid_ros.report.report_source import ReportSource
from sysid_ros.report.sections.section import ReportModel, Section


class FittedRecording(ReportModel):
    """A recording, by what its files hash to."""

    rows: str
    source: str
    sha256: str


class ProvenanceSection(Section):
    """Versions, command line, digests, settings, and when."""

    section: Literal['provenance'] = 'provenance'
    title: ClassVar[str] = 'Provenance'
    created: str
    command: str
    versions: dict[str, str]
    recordings: list[FittedRecording]
    digests: dict[str, str]
    settings: str

    @classmethod
    def of(cls, source: ReportSource) -> Self:
        """Provenance of a run."""
        origin = source.origin
        return cls(
            created=origin.created, command=origin.command, versions=dict(origin.versions),
            recordings=[
                FittedRecording(
                    rows=rows, source=source.recording_of(rows),
                    sha256=str(problem.provenance.get('sha256', '')))
                for rows, problem in source.rows.items()],
            digests=dict(origin.digests), settings=origin.settings)
