"""The page of a run and the same as JSON: what is made from them, and what a reader finds where."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from sysid_ros import __version__
from sysid_ros.errors import ConfigurationError, ModelError, RecordingError
from sysid_ros.estimation.estimate import Estimate
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.regression.conditioning import Conditioning
from sysid_ros.evaluation.commanded_torque import with_commanded_torques
from sysid_ros.evaluation.comparison import Comparison
from sysid_ros.evaluation.evaluation import Evaluation, HeldOut
from sysid_ros.evaluation.prediction import TorquePrediction
from sysid_ros.evaluation.simulation import Simulation, simulate
from sysid_ros.evaluation.study import Study
from sysid_ros.evaluation.verdict import Verdict
from sysid_ros.recording.checks.quality import DataQuality
from sysid_ros.release.atomic import write_atomically
from sysid_ros.report.report_source import HELD_OUT, TRAINING, Origin, ReportSource
from sysid_ros.runs.mailed_text import (
    author,
    command_without_folders,
    settings_without_folders,
)

if TYPE_CHECKING:
    from sysid_ros.report.report import Report

#: Names in a run folder.
PAGE, DOCUMENT = 'report.html', 'report.json'
# Longest horizon of the simulation in a report in [s], and stretches of it.
_HORIZON, _STRETCHES = 2.0, 16
_PACKAGES = ('numpy', 'scipy', 'numba', 'pin', 'pydantic', 'cvxpy', 'mujoco', 'plotly')


def write_report(folder: Path, source: ReportSource, name: str = '') -> str:
    """Write a report beside a run, as a page and as JSON.

    Args:
        folder: Folder of the run.
        source: What the report is of.
        name: Goes into the names of the files where the run has several reports.

    Returns:
        Why there is no page, in words; empty where there is one.
    """
    from sysid_ros.report.report import Report  # its models take a tenth of a second to build

    return write_document(folder, Report.of(source), name)


def write_document(folder: Path, report: Report, name: str = '') -> str:
    """Write a report as a page and as JSON; see :func:`write_report`.

    Args:
        folder: Folder to write into.
        report: The report.
        name: Goes into the names of the files where the folder has several reports.
    """
    write_atomically(folder / _named(DOCUMENT, name), report.to_json().encode())
    return write_page(folder / _named(PAGE, name), report)


def write_page(path: Path, report: Report, read_from: Path | None = None) -> str:
    """Write the page of a report.

    Args:
        path: File to write.
        report: The report.
        read_from: The file that the report was read from, if it was.

    Returns:
        Why there is none, in words; empty where there is one.
    """
    from sysid_ros.report.page import render_document, render_page  # Jinja2

    try:
        page = render_page(report) if read_from is None else render_document(report, read_from)
    except ConfigurationError as error:
        path.unlink(missing_ok=True)
        return f'{path.name} was not written: {error}'
    write_atomically(path, page)
    return ''


def report_document(source: Path) -> Path:
    """The ``report.json`` of a run, of a motion, or of one of several.

    Args:
        source: A folder of a run or of motions, a file of a motion, or the document itself.

    Raises:
        ConfigurationError: There is none, or there are several.
    """
    if source.suffix == '.json' or not source.exists():
        candidates = [source]
    elif source.is_dir():
        plain = source / DOCUMENT
        candidates = [plain] if plain.is_file() else sorted(source.glob(_named(DOCUMENT, '*')))
    else:
        number = source.stem.removeprefix('excitation').removeprefix('motion').lstrip('_')
        candidates = [source.parent / _named(DOCUMENT, number)]
    found = [path for path in candidates if path.is_file()]
    if len(found) == 1:
        return found[0]
    if found:
        raise ConfigurationError(
            'there are several', where=str(source), found=', '.join(path.name for path in found),
            fix=f'Name one of them, as {found[0]}')
    raise ConfigurationError(
        'has no report.json', where=str(source),
        fix="Name a folder that 'sysid fit' or 'sysid excite' wrote; those of older versions get "
        "one by 'sysid report RUN --recordings'")


def report_page(document: Path) -> Path:
    """Where the page of a document belongs: beside it, under the same name."""
    return document.with_suffix('.html')


def report_source(
    folder: Path, study: Study, evaluation: Evaluation, *, simulation: Simulation | None,
    name: str = '',
    comparison: Comparison | None = None, conditioning: Conditioning | None = None,
    command: str = '', digests: Mapping[str, str] | None = None,
) -> ReportSource:
    """What the report of a fit is made from.

    Args:
        folder: Folder of the run, whose settings are written.
        study: The recordings.
        evaluation: The estimate with its evidence.
        simulation: What :func:`longer_simulation` gives.
        name: Of the run; by default that of its folder.
        comparison: Other estimators, if they were compared.
        conditioning: Of the fitted rows.
        command: Command line of the fit.
        digests: SHA-256 of the files of the run.
    """
    estimate = evaluation.estimate
    study = with_commanded_torques(study, estimate)
    held_out = study.held_out
    rows, predictions = {TRAINING: study.training}, {TRAINING: evaluation.training}
    if held_out is not None and evaluation.held_out is not None:
        rows = {HELD_OUT: held_out.problem} | rows
        predictions = {HELD_OUT: evaluation.held_out} | predictions
    motion = study.training.motion
    return ReportSource(
        name=name or folder.resolve().name, verdict=evaluation.verdict, estimate=estimate,
        rows=rows, predictions=predictions, motion=None if motion is None else motion.dataset,
        qualities=study.data.qualities, judged_qualities=judged_qualities(study.held_out),
        simulation=simulation,
        conditioning=conditioning, folds=evaluation.folds, comparison=comparison,
        choice=study.choice,
        iterations=() if evaluation.motion is None else evaluation.motion.iterations,
        origin=origin(folder, command, digests or {}))


def judged_qualities(held_out: HeldOut | None) -> tuple[DataQuality, ...]:
    """What can be said of recordings that are only judged by; of those also fitted all is said.

    Args:
        held_out: What a fit is judged by.
    """
    if held_out is None or held_out.measured is None or held_out.part != (0.0, 1.0):
        return ()
    return tuple(part.quality() for part in held_out.measured.parts)


def validation_source(
    name: str, estimate: Estimate, verdict: Verdict, prediction: TorquePrediction,
    held_out: HeldOut, simulation: Simulation | None, quality: DataQuality, origin: Origin,
) -> ReportSource:
    """What the report of one more recording is made from.

    Args:
        name: Of the report.
        estimate: The estimate.
        verdict: The verdict by that recording.
        prediction: Errors of torque on it.
        held_out: Its rows and its motion.
        simulation: Simulated stretches of it.
        quality: What can be said of it.
        origin: Where the report comes from.
    """
    rows = HELD_OUT if prediction.held_out else TRAINING
    return ReportSource(
        name=name, verdict=verdict, estimate=estimate, rows={rows: held_out.problem},
        predictions={rows: prediction}, motion=held_out.dataset, qualities=(quality,),
        simulation=longer_simulation(estimate, held_out, simulation), origin=origin)


def origin(folder: Path, command: str, digests: Mapping[str, str]) -> Origin:
    """Where a run came from: now, by this command, with these versions.

    Args:
        folder: Folder of the run.
        command: Command line; empty where it was none.
        digests: SHA-256 of the files of the run.
    """
    settings = folder / 'settings.yaml'
    return made_now(
        command, settings.read_text(encoding='utf-8') if settings.is_file() else '', digests)


def made_now(command: str, settings: str, digests: Mapping[str, str]) -> Origin:
    """Where something comes from that is made now, with these versions.

    Args:
        command: Command line; empty where it was none.
        settings: Settings as text.
        digests: SHA-256 of files that belong to it.
    """
    return Origin(
        created=datetime.now(UTC).isoformat(timespec='seconds'), author=author(),
        command=command_without_folders(command),
        versions={'sysid_ros': __version__, 'Python': platform.python_version()} | dict(
            filter(lambda item: item[1], ((name, _version(name)) for name in _PACKAGES))),
        digests=digests, settings=settings_without_folders(settings))


def longer_simulation(
    estimate: Estimate, held_out: HeldOut | None, simulation: Simulation | None
) -> Simulation | None:
    """The simulation of a run over a longer horizon, where the recording has such stretches.

    Args:
        estimate: The estimate.
        held_out: What it is judged by.
        simulation: The simulation that its verdict is made from.
    """
    if held_out is None or simulation is None or held_out.loop is not None:
        return simulation
    model = held_out.problem.model
    values = model.parameters.with_values(_values(estimate, held_out.problem)).values
    try:
        return simulate(model, values, held_out.dataset, horizon=_HORIZON, most=_STRETCHES)
    except (ModelError, RecordingError):
        return simulation


def _values(estimate: Estimate, problem: RegressionProblem) -> dict[str, float]:
    return {name: estimate.parameters[name] for name in problem.parameters.names}


def _named(file: str, name: str) -> str:
    stem, _, kind = file.partition('.')
    return f'{stem}_{name}.{kind}' if name else file


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ''
