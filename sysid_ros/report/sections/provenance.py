"""Where the run came from, so that it can be made again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal, Self

from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.report.report_model import ReportModel
from sysid_ros.report.report_source import Origin, ReportSource, file_names
from sysid_ros.report.sections.section import Section


class FittedRecording(ReportModel):
    """A recording, by what its files hash to."""

    rows: str
    source: str
    sha256: str

    @classmethod
    def of(cls, rows: str, problem: RegressionProblem) -> Self:
        """The recording that rows are of.

        Args:
            rows: What the rows are called.
            problem: The rows.
        """
        provenance = problem.provenance
        return cls(
            rows=rows, source=file_names(str(provenance.get('source', ''))),
            sha256=str(provenance.get('sha256', '')))


class ProvenanceSection(Section):
    """Versions, command line, digests, settings, who and when."""

    section: Literal['provenance'] = 'provenance'
    title: ClassVar[str] = 'Provenance'
    created: str
    command: str
    versions: dict[str, str]
    recordings: list[FittedRecording]
    digests: dict[str, str]
    settings: str
    author: str = ''

    @classmethod
    def of(cls, source: ReportSource) -> Self:
        """Provenance of a run."""
        return cls.of_origin(source.origin, [
            FittedRecording.of(rows, problem) for rows, problem in source.rows.items()])

    @classmethod
    def of_origin(cls, origin: Origin, recordings: Sequence[FittedRecording] = ()) -> Self:
        """Provenance of anything.

        Args:
            origin: Where it came from.
            recordings: What it was made from.
        """
        return cls(
            created=origin.created, command=origin.command, versions=dict(origin.versions),
            recordings=list(recordings), digests=dict(origin.digests), settings=origin.settings,
            author=origin.author)
