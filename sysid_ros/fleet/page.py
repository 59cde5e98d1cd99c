"""The page of a fleet: verdicts, changes over time, robots against the fleet, links to reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from urllib.parse import quote

from sysid_ros.errors import ConfigurationError
from sysid_ros.fleet.drift import Drift, DriftRow, find_drift
from sysid_ros.fleet.record import FitRecord, FitStatus
from sysid_ros.fleet.results import estimates_of
from sysid_ros.report.report import Report
from sysid_ros.report.sections.fleet_drift import ChangedParameter, FleetDriftSection
from sysid_ros.report.sections.fleet_robots import FleetRobotsSection
from sysid_ros.report.sections.fleet_runs import FleetRun, FleetRunsSection
from sysid_ros.report.sections.provenance import ProvenanceSection
from sysid_ros.report.sections.section import Section
from sysid_ros.report.tables import counted
from sysid_ros.runs.report_files import PAGE, made_now, write_page

#: Name of the page in the folder of a batch.
FLEET_PAGE = 'fleet.html'
# Histories that are drawn where nothing has changed.
_NEAREST = 4


def write_fleet_page(
    records: Sequence[FitRecord], runs: Path, folder: Path, drift: Drift | None = None,
    command: str = '',
) -> str:
    """Write the page of a fleet beside the runs that it links to.

    Args:
        records: Rows of the results.
        runs: Folder of the runs.
        folder: Folder of the batch, to write into.
        drift: What changed over time; by default it is looked for, and left out where too few runs
            say when they were recorded.
        command: Command line; empty where it was none.

    Returns:
        Why there is no page, in words; empty where there is one.
    """
    sections: list[Section] = [_verdicts(records, runs, folder)]
    try:
        found = drift or find_drift(folder)
    except ConfigurationError:
        found = None
    if found is not None:
        sections.append(drift_section(found))
    robots = _robots(records, runs)
    if robots is not None:
        sections.append(robots)
    sections.append(ProvenanceSection.of_origin(made_now(command, '', {})))
    return write_page(folder / FLEET_PAGE, Report.model_construct(
        kind='fleet', name=f'Fleet {folder.resolve().name}',
        robot=counted(len({record.robot for record in records}), 'robot'), sections=sections))


def drift_section(drift: Drift) -> FleetDriftSection:
    """What changed over time, as a section of a page.

    Args:
        drift: What changed.
    """
    changed = [_over_time(row) for row in drift.rows if row.changes]
    return FleetDriftSection(
        parameters=changed,
        nearest=[] if changed else [_over_time(row) for row in drift.rows[:_NEAREST]],
        series=len(drift.rows), runs=drift.runs, false_alarms=drift.false_alarms,
        horizon=drift.horizon)


def _over_time(row: DriftRow) -> ChangedParameter:
    kept = set(ChangedParameter.model_fields)
    return ChangedParameter.model_validate(
        {name: value for name, value in asdict(row).items() if name in kept})


def _verdicts(records: Sequence[FitRecord], runs: Path, folder: Path) -> FleetRunsSection:
    return FleetRunsSection(runs=[
        FleetRun(
            run=record.run, robot=record.robot, source=record.source, status=str(record.status),
            reason=record.reason, error=record.error, prior_error=record.prior_error,
            held_out=record.held_out, finished=record.finished,
            link=_link(runs / record.run / PAGE, folder)
            if record.status is not FitStatus.FAILED else '')
        for record in records])


def _link(page: Path, folder: Path) -> str:
    return quote(page.relative_to(folder).as_posix()) if page.is_file() else ''


def _robots(records: Sequence[FitRecord], runs: Path) -> FleetRobotsSection | None:
    """Parameters that the last committable run of each robot tells."""
    values: dict[str, dict[str, float]] = {}
    units: dict[str, str] = {}
    committable = [each for each in records if each.status is FitStatus.COMMITTABLE]
    for record, estimate in estimates_of(committable, runs):
        parameters = estimate.parameters
        own = {
            name: float(parameters.values[k]) for k, name in enumerate(parameters.names)
            if 0.0 < estimate.standard_deviation[k] < float('inf')}
        values[record.robot] = own
        units |= dict(zip(parameters.names, parameters.units, strict=True))
    return FleetRobotsSection.of_values(values, units)
