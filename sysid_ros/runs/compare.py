"""Run folders beside each other: their errors, and their parameters tested against each other."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from sysid_ros.errors import ConfigurationError, SysidError, listed
from sysid_ros.estimation.estimator import shown_name
from sysid_ros.evaluation.run_comparison import compare_parameters, parameters_left_out
from sysid_ros.report.brief import wrapped
from sysid_ros.report.report_source import file_names
from sysid_ros.report.tables import number, percent, shortened, table
from sysid_ros.runs.recording_time import run_recorded
from sysid_ros.runs.report_files import DOCUMENT
from sysid_ros.runs.run_files import read_json, read_verdict
from sysid_ros.runs.run_folder import RunFolder

if TYPE_CHECKING:
    from sysid_ros.report.sections.compared_runs import ComparedRunsSection, RunErrors

# Rows of the table in a terminal: the parameters that disagree most.
_ROWS = 12
# Names of parameters that are not compared.
_NAMED = 6
_WEEK = 7 * 86400.0


def compare_runs(folders: Sequence[Path]) -> ComparedRunsSection:
    """Compare runs.

    Args:
        folders: Run folders, in the order in which they were recorded.

    Raises:
        ConfigurationError: A folder is no run, or there is nothing to compare.
        EstimationError: An estimate cannot be read.
    """
    from sysid_ros.report.sections.compared_runs import ComparedRunsSection

    names = _names(folders)
    estimates = [RunFolder.open(folder).estimate() for folder in folders]
    times = [_recorded(folder) for folder in folders]
    weeks = [time / _WEEK for time in times] if all(times) else None
    return ComparedRunsSection.of_runs(
        [_errors(folder, name, estimate.estimator, time) for folder, name, estimate, time in zip(
            folders, names, estimates, times, strict=True)],
        compare_parameters(estimates, weeks), 'run' if weeks is None else 'week',
        parameters_left_out(estimates))


def comparison_text(section: ComparedRunsSection) -> str:
    """The comparison as text for a terminal, at most a hundred columns wide.

    Args:
        section: The comparison.
    """
    lines = [*_findings(section), '', table(
        ['run', 'robot', 'estimator', 'recorded', 'committable', 'error %', 'before %'],
        [[run.name, shortened(run.robot, 16) or '-', shown_name(run.estimator) or '-',
          run.recorded[:10] or '-', 'yes' if run.committable else 'no', _percent(run.error),
          _percent(run.prior_error)] for run in section.runs]), '']
    shown = [f'run {k}' for k in range(1, len(section.runs) + 1)]
    lines += [table(['error %', *shown], [
        [joint, *(_percent(run.joints.get(joint)) for run in section.runs)]
        for joint in section.joints]), '']
    worst = sorted(section.parameters, key=lambda row: row.agreement or 0.0)[:_ROWS]
    lines.append(table(
        ['parameter', 'by chance', '', *shown],
        [[row.name, number(row.agreement or 0.0, 2), ' '.join(
            word for word, said in (('differs', row.differs), ('drifts', row.drifts)) if said),
          *(f'{number(value or 0.0, 4)} ± {number(width or 0.0, 2)}' for value, width in zip(
              row.values, row.intervals, strict=True))] for row in worst]))
    return '\n'.join(lines)


def _findings(section: ComparedRunsSection) -> list[str]:
    """What differs, what drifts, and what was not compared, as sentences."""
    changed = [row.name for row in section.parameters if row.differs]
    drifting = [row for row in section.parameters if row.drifts]
    count = len(section.parameters)
    lines = [f'{len(changed)} of {count} parameters differ beyond chance' if changed else
             f'The {count} parameters agree within their intervals']
    if section.has_drift:
        over = 'over time' if section.drift_per == 'week' else 'from run to run'
        lines.append(f'{len(drifting)} drift {over}' if drifting else f'None drifts {over}')
    lines += [f'  {row.name}: {number(row.drift or 0.0, 2)} {row.unit} per {section.drift_per}'
              for row in drifting[:_ROWS]]
    if len(section.robots) > 1:
        lines.append(f'The runs are of {len(section.robots)} robots: {", ".join(section.robots)}')
    lines += [
        f'Not compared, as {why}: {listed(names, _NAMED)}' for why, names in (
            ('not in every run', section.absent),
            ('without an interval in every run', section.untold)) if names]
    return wrapped('\n'.join(lines)).split('\n')


def _recorded(folder: Path) -> float:
    """When the recording of a run ended in [s] since 1970; 0 where that cannot be told."""
    try:
        return run_recorded(folder)
    except SysidError:
        return 0.0


def _robot(folder: Path) -> str:
    """Name of the robot, by the report of the run; empty where it has none."""
    path = folder / DOCUMENT
    return str(read_json(path).get('robot', '')) if path.is_file() else ''


def _names(folders: Sequence[Path]) -> list[str]:
    """Names of the folders, with their parents where several have the same."""
    names = [folder.resolve().name for folder in folders]
    if len(set(names)) < len(names):
        names = [f'{folder.resolve().parent.name}/{folder.resolve().name}' for folder in folders]
    return names


def _errors(folder: Path, name: str, estimator: str, recorded: float) -> RunErrors:
    from sysid_ros.report.sections.compared_runs import RunErrors

    path = folder / 'evaluation.json'
    evaluation = read_json(path)
    try:
        errors = evaluation['held_out'] or evaluation['training']
        return RunErrors(
            name=name, robot=_robot(folder), estimator=estimator, recorded=datetime.fromtimestamp(
                recorded, UTC).isoformat(timespec='seconds') if recorded else '',
            committable=bool(read_verdict(folder).get('committable')),
            source=file_names(str(errors['source'])), error=errors['relative_error'],
            prior_error=errors['prior_relative_error'],
            joints={joint: each['relative_error'] for joint, each in errors['joints'].items()})
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ConfigurationError(
            f'is not what a fit writes: {error!r}', where=str(path), fix='Fit again') from error


def _percent(value: float | None) -> str:
    return '-' if value is None else percent(value)
