"""The page of a comparison of runs, and the same as JSON beside it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sysid_ros.release.atomic import write_atomically
from sysid_ros.report.report import Report
from sysid_ros.report.sections.compared_runs import ComparedRunsSection
from sysid_ros.report.sections.provenance import ProvenanceSection
from sysid_ros.runs.compare import compare_runs
from sysid_ros.runs.judged import digests
from sysid_ros.runs.report_files import made_now, write_page


def write_comparison(
    folders: Sequence[Path], page: Path, command: str
) -> tuple[ComparedRunsSection, str]:
    """Compare runs, and write what came of it.

    Args:
        folders: Run folders, in the order in which they were recorded.
        page: File to write; the document has its name with ``.json``.
        command: Command line, for the provenance.

    Returns:
        The comparison; and why there is no page, in words, empty where there is one.

    Raises:
        SysidError: A folder is no run, or there is nothing to compare.
    """
    section = compare_runs(folders)
    names = ', '.join(run.name for run in section.runs)
    report = Report.model_construct(
        kind='comparison', name=f'{len(section.runs)} runs',
        robot=', '.join(section.robots) or names, sections=[
            section, ProvenanceSection.of_origin(made_now(command, '', {
                f'{run.name}/{name}': digest
                for run, folder in zip(section.runs, folders, strict=True)
                for name, digest in digests(folder).items()}))])
    write_atomically(page.with_suffix('.json'), report.to_json().encode())
    return section, write_page(page, report)
