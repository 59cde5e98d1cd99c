"""What each job of the page does, by the same code as the verb of a terminal."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sysid_ros.errors import ConfigurationError, ReleaseError
from sysid_ros.runs.stages import Stage
from sysid_ros.studio.exports import EXPORTS, export_files
from sysid_ros.studio.folder import NOTES
from sysid_ros.studio.jobs import (
    CheckJob,
    ComparisonJob,
    DescriptionJob,
    EstimatorsJob,
    ExportJob,
    Job,
    MotionJob,
    PageJob,
    PlanJob,
    SettingsJob,
    StudioFitJob,
)

#: Folder of the hulls of meshes, in the folder of the page.
MESHES = f'{NOTES}/meshes'


def carried_out(job: Job, command: str, stage: Stage) -> dict[str, Any]:
    """Do a job.

    Args:
        job: The job; names in it are relative to the working directory.
        command: The command line that does the same, for the provenance in reports.
        stage: Entered for each step.

    Returns:
        What came of it, as plain values.

    Raises:
        SysidError: It cannot be done.
    """
    return _WORK[type(job)](job, command, stage)


def _describe(job: DescriptionJob, _: str, stage: Stage) -> dict[str, Any]:
    from sysid_ros.studio.description import describe

    return describe(Path(job.source), Path(MESHES), stage)


def _check(job: CheckJob, _: str, stage: Stage) -> dict[str, Any]:
    from sysid_ros.estimation.fit_setup import FitSetup
    from sysid_ros.runs.guessed_source import GuessedSource, needs_guess
    from sysid_ros.runs.recording_check import check_recording
    from sysid_ros.runs.sources import load_source

    path = Path(job.recording)
    with tempfile.TemporaryDirectory(prefix='sysid_check_') as folder, stage(
            'Reading the recording, and looking at stamps, motion and efforts'):
        findings: list[dict[str, str]] = []
        if needs_guess(path, None):
            guess = GuessedSource.of(path, Path(job.robot) if job.robot else None, Path(folder))
            identification = guess.identification
            findings = [{'subject': one.subject, 'value': one.value, 'evidence': one.evidence}
                        for one in guess.findings]
        else:
            identification = load_source(path)
        checked = check_recording(FitSetup.of(identification))
        return {
            'usable': checked.usable, 'verdict': checked.verdict, 'guessed': findings,
            'duration': checked.lights.duration, 'rate': checked.lights.rate,
            'lights': [check.model_dump(mode='json') | {
                'cure': '' if check.light == 'good' else checked.cure(check.name)}
                for check in checked.lights.checks],
            'joints': [joint.model_dump(mode='json') for joint in checked.lights.joints],
            'notes': list(checked.lights.notes)}


def _write_settings(job: SettingsJob, _: str, stage: Stage) -> dict[str, Any]:
    from sysid_ros.release.atomic import write_atomically
    from sysid_ros.runs.initial_settings import initial_settings

    recording = Path(job.recording)
    output = _unused(recording.with_suffix('.yaml'))
    with stage('Looking at the recording'):
        settings = initial_settings(Path(job.robot), recording, output.parent, job.answers)
        write_atomically(output, settings.text().encode())
    return {'settings': output.as_posix(), 'findings': [
        {'subject': one.subject, 'value': one.value, 'evidence': one.evidence}
        for one in settings.findings]}


def _write_plan(job: PlanJob, _: str, stage: Stage) -> dict[str, Any]:
    from sysid_ros.excitation.geometry.clearance import Box
    from sysid_ros.release.atomic import write_atomically
    from sysid_ros.runs.initial_excitation import Surroundings, initial_excitation

    robot = Path(job.robot)
    output = _unused(robot.with_name(f'{robot.name.partition(".")[0]}_excite.yaml'))
    with stage('Looking at limits, shapes and what is around, and for a pose to begin from'):
        settings = initial_excitation(robot, output.parent, job.answers, Surroundings(
            srdf=Path(job.srdf) if job.srdf else None,
            boxes=[Box(box.name, box.lower, box.upper) for box in job.boxes]))
        write_atomically(output, settings.text().encode())
    return {'plan': output.as_posix(), 'findings': [
        {'subject': one.subject, 'value': one.value, 'evidence': one.evidence}
        for one in settings.findings]}


def _design(job: MotionJob, command: str, stage: Stage) -> dict[str, Any]:
    from sysid_ros.runs.excitation_request import ExcitationRequest

    remarks: list[str] = []
    request = ExcitationRequest(Path(job.plan), speed=job.speed, output=Path(job.output))
    motion, = request.run(command=command, stage=stage, say=remarks.append)
    return {'motion': job.output, 'text': motion.text, 'remarks': remarks, **motion.to_json()}


def _estimators(job: EstimatorsJob, _: str, stage: Stage) -> dict[str, Any]:
    from importlib import import_module

    from sysid_ros.estimation.estimator import REGRESSION_ESTIMATORS, TRAJECTORY_ESTIMATORS

    with stage('Looking which estimators there are'):
        kinds = dict(REGRESSION_ESTIMATORS)
        for name, place in TRAJECTORY_ESTIMATORS.items():
            module, kind = place.rsplit('.', 1)
            kinds[name] = getattr(import_module(f'sysid_ros.estimation.trajectory.{module}'), kind)
        return {'estimators': {
            name: (kind.__doc__ or '').strip().splitlines()[0].rstrip('.')
            for name, kind in kinds.items()}}


def _fit(job: StudioFitJob, command: str, stage: Stage) -> dict[str, Any]:
    from sysid_ros.runs.fit_request import FitRequest

    judged = job.judged_by
    run = FitRequest(
        tuple(map(Path, job.recordings)), estimator=job.estimator or None,
        validate=Path(job.validation) if judged == 'validate' else None,
        holdout=job.holdout if judged == 'holdout' else None,
        folds=job.folds if judged == 'folds' else 0, output=Path(job.output),
    ).run(command=command, stage=stage)
    verdict, status = run.evaluation.verdict, run.evaluation.estimate.status
    return {
        'run': job.output, 'converged': status.ok, 'status': status.value, 'note': run.note,
        'headline': list(run.headline), 'brief': run.brief, 'verdict': verdict.to_json()}


def _compare(job: ComparisonJob, command: str, stage: Stage) -> dict[str, Any]:
    from sysid_ros.runs.compare import comparison_text
    from sysid_ros.runs.comparison_page import write_comparison

    with stage('Comparing parameters by their intervals'):
        section, note = write_comparison(
            [Path(run) for run in job.runs], Path(job.output), command)
    return {'page': '' if note else job.output, 'note': note, 'text': comparison_text(section)}


def _export(job: ExportJob, _: str, stage: Stage) -> dict[str, Any]:
    from sysid_ros.release.drive_formats import DRIVE_FORMATS
    from sysid_ros.runs.export import export_run
    from sysid_ros.runs.run_folder import RunFolder

    run = RunFolder.open(Path(job.run))
    files = export_files(Path(), job.run, job.formats)
    folder = Path(EXPORTS) / job.run
    with stage('Writing, and comparing what was written with the estimate'):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ReleaseError(
                f'cannot be made: {error.strerror or error}', where=str(folder),
                fix='Remove what is there under its name') from error
        notes = export_run(run, files.get('description'), files.get('yaml'), {
            name: path for name, path in files.items() if name in DRIVE_FORMATS})
    return {'files': {name: path.as_posix() for name, path in files.items()},
            'notes': list(dict.fromkeys(notes))}


def _write_page(job: PageJob, command: str, stage: Stage) -> dict[str, Any]:
    from sysid_ros.report.report import Report
    from sysid_ros.runs.judgement import reopened_report
    from sysid_ros.runs.report_files import DOCUMENT, PAGE, write_page, write_report
    from sysid_ros.runs.run_folder import RunFolder

    folder = RunFolder.open(Path(job.run)).path
    document = folder / DOCUMENT
    if not document.is_file():
        with stage('Reading the recordings, and judging again'):
            write_report(folder, reopened_report(folder, command))
    with stage('Writing the page'):
        note = write_page(folder / PAGE, Report.load(document), read_from=document)
    if note:
        raise ConfigurationError(note.rstrip('.'), fix='Install Plotly: pip install plotly')
    return {'run': job.run}


def _unused(path: Path) -> Path:
    """A path of which nothing is there yet: with a number after its stem, if it has to be."""
    candidate, number = path, 2
    while candidate.exists():
        candidate = path.with_name(f'{path.stem}-{number}{path.suffix}')
        number += 1
    return candidate


_WORK: Mapping[type[Job], Callable[..., dict[str, Any]]] = {
    DescriptionJob: _describe, CheckJob: _check, SettingsJob: _write_settings,
    PlanJob: _write_plan, MotionJob: _design, EstimatorsJob: _estimators, StudioFitJob: _fit,
    ComparisonJob: _compare, ExportJob: _export, PageJob: _write_page}
