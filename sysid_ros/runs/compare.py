"""Run folders beside each other: their errors, and their parameters tested against each other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sysid_ros.errors import ConfigurationError
from sysid_ros.evaluation.run_comparison import compare_parameters
from sysid_ros.report.report_source import file_names
from sysid_ros.report.tables import number, percent, table
from sysid_ros.runs.run_files import read_json, read_verdict
from sysid_ros.runs.run_folder import RunFolder

if TYPE_CHECKING:
    from sysid_ros.report.sections.compared_runs import ComparedRunsSection, RunErrors

# Rows of the table in a terminal: the parameters that disagree most.
_ROWS = 12


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
    return ComparedRunsSection.of_runs(
        [_errors(folder, name) for folder, name in zip(folders, names, strict=True)],
        compare_parameters(estimates))


def comparison_text(section: ComparedRunsSection) -> str:
    """The comparison as text for a terminal, at most a hundred columns wide.

    Args:
        section: The comparison.
    """
    changed = [row.name for row in section.parameters if row.differs]
    drifting = [row.name for row in section.parameters if row.drifts]
    count = len(section.parameters)
    lines = [f'{len(changed)} of {count} parameters differ beyond chance' if changed else
             f'The {count} parameters agree within their intervals']
    if len(section.runs) > 2:
        lines.append(f'{len(drifting)} drift from run to run' if drifting else
                     'None drifts from run to run')
    rows = [[run.name[:40], 'yes' if run.committable else 'no', _percent(run.error),
             _percent(run.prior_error)] for run in section.runs]
    lines += ['', table(['run', 'committable', 'error %', 'before %'], rows), '']
    joints = [[joint[:30], *(_percent(run.joints.get(joint)) for run in section.runs)]
              for joint in section.joints]
    shown = [f'run {k}' for k in range(1, len(section.runs) + 1)][:_most_columns(10)]
    lines += [table(['error %', *shown], [row[:len(shown) + 1] for row in joints]), '']
    worst = sorted(section.parameters, key=lambda row: row.agreement or 0.0)[:_ROWS]
    shown = shown[:_most_columns(18)]
    lines.append(table(
        ['parameter', *shown, 'by chance', ''],
        [[row.name[:34], *(
            f'{number(value or 0.0, 4)} ± {number(width or 0.0, 2)}' for value, width in zip(
                row.values[:len(shown)], row.intervals, strict=False)),
          number(row.agreement or 0.0, 2), ' '.join(
              word for word, said in (('differs', row.differs), ('drifts', row.drifts)) if said)]
         for row in worst]))
    return '\n'.join(lines)


def _most_columns(width: int) -> int:
    """How many columns of a width stand beside a name within a hundred characters."""
    return max((100 - 50) // width, 1) if width > 10 else 5


def _names(folders: Sequence[Path]) -> list[str]:
    """Names of the folders, with their parents where several have the same."""
    names = [folder.resolve().name for folder in folders]
    if len(set(names)) < len(names):
        names = [f'{folder.resolve().parent.name}/{folder.resolve().name}' for folder in folders]
    return names


def _errors(folder: Path, name: str) -> RunErrors:
    from sysid_ros.report.sections.compared_runs import RunErrors

    path = folder / 'evaluation.json'
    evaluation = read_json(path)
    try:
        errors = evaluation['held_out'] or evaluation['training']
        return RunErrors(
            name=name, committable=bool(read_verdict(folder).get('committable')),
            source=file_names(str(errors['source'])), error=errors['relative_error'],
            prior_error=errors['prior_relative_error'],
            joints={joint: each['relative_error'] for joint, each in errors['joints'].items()})
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ConfigurationError(
            f'is not what a fit writes: {error!r}', where=str(path), fix='Fit again') from error


def _percent(value: float | None) -> str:
    return '-' if value is None else percent(value)
