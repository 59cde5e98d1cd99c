"""Judging a finished fit once more, by its recordings: nothing that was written is believed.

The rows are built again by the settings of the run, which leave nothing to choose, and the stored
values have to give the residuals, base parameters and ranges that were written, and a committable
verdict. Nothing is fitted, except where stretches of the recordings are all that was judged by.
What has no effect on any torque of the recordings cannot be checked by them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sysid_ros.errors import ConfigurationError, RecordingError
from sysid_ros.estimation.estimate import Estimate
from sysid_ros.estimation.estimator import TRAJECTORY_ESTIMATORS
from sysid_ros.estimation.outer_iteration import frozen_at, linearised_at
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.regression.conditioning import Conditioning
from sysid_ros.evaluation.evaluation import (
    FITTED_RANGE,
    JUDGED_RANGE,
    Evaluation,
    remarks_on,
)
from sysid_ros.evaluation.motion_prediction import OpenLoop
from sysid_ros.evaluation.study import FINGERPRINTS, Study
from sysid_ros.recording.checks.motion_range import MotionRange
from sysid_ros.report.report_source import ReportSource
from sysid_ros.robot.inertia import consistency_margin
from sysid_ros.runs.judged import (
    JUDGED_BY,
    JudgedBy,
    NotCommittableError,
    RecordingsGoneError,
    digests,
)
from sysid_ros.runs.report_files import longer_simulation, report_source
from sysid_ros.runs.run_files import read_verdict
from sysid_ros.runs.run_folder import RunFolder
from sysid_ros.runs.stages import Report

# Numbers that are computed twice agree to this part; rounding differs between processors.
_SAME = 1e-6
# Motion that is simulated adds rounding up.
_SAME_MOTION = 1e-4
_AGAIN = 'Fit again, and commit what that gives'


_WORDS = {
    'prior': 'prior', 'free': 'mark as free', 'lower': 'lower bound', 'upper': 'upper bound'}


def judge_again(name: str, folder: Path, report: Report = lambda stage, part: None) -> str:
    """Judge a finished fit by its recordings, and refuse one that is not what it says.

    Args:
        name: Id of the estimate, for messages.
        folder: Its run folder.
        report: Called at each step.

    Returns:
        What came of it, in words.

    Raises:
        NotCommittableError: The verdict is against it, or its numbers are not those of the
            recordings.
        RecordingsGoneError: A recording cannot be read.
        SysidError: A file of the folder cannot be used.
    """
    report('Reading the recordings of the estimate again', 0.0)
    run = RunFolder.open(folder)
    estimate, judged = run.estimate(), _judged_by(folder, name)
    study = _reopened(run, judged, name)
    report('Comparing the estimate with its recordings', 0.5)
    differences = list(_differences(estimate, study, judged))
    if differences:
        raise NotCommittableError(
            f'the estimate is not what its recordings give: {"; ".join(differences)}',
            where=name, fix=_AGAIN)
    report('Judging the estimate by its recordings', 0.6)
    evaluation = study.judge_again(_as_rows_say(estimate, study.training))
    verdict = evaluation.verdict
    wrong = _wrong_errors(evaluation, judged)
    if wrong:
        raise NotCommittableError(
            f'the errors that were written are not those of the estimate: {wrong}', where=name,
            fix=_AGAIN)
    if not verdict.committable:
        raise NotCommittableError(
            'judged again by its recordings, the verdict is against it: '
            f'{" ".join(verdict.reasons).rstrip(".")}', where=name,
            fix=verdict.next_step.rstrip('.'))
    return _sentence(evaluation, study)


def reopened_study(folder: Path) -> Study:
    """The recordings of a finished fit, read again as they were fitted and judged.

    Args:
        folder: Its run folder.

    Raises:
        RecordingsGoneError: A recording cannot be read.
        SysidError: A file of the folder cannot be used.
    """
    return _reopened(RunFolder.open(folder), _judged_by(folder, str(folder)), str(folder))


def reopened_report(folder: Path, command: str) -> ReportSource:
    """What the report of a finished fit is made from, by its recordings.

    Args:
        folder: Its run folder.
        command: Command line, for the provenance.

    Raises:
        RecordingsGoneError: A recording cannot be read.
        SysidError: A file of the folder cannot be used.
    """
    study = reopened_study(folder)
    evaluation = study.judge_again(RunFolder.open(folder).estimate())
    return report_source(
        folder, study, evaluation, conditioning=Conditioning.of(study.training), command=command,
        digests=digests(folder), simulation=longer_simulation(
            evaluation.estimate, study.held_out, evaluation.simulation))


def _judged_by(folder: Path, name: str) -> JudgedBy:
    judged = JudgedBy.from_json(read_verdict(folder).get(JUDGED_BY))
    if judged is None:
        raise NotCommittableError(
            'the verdict does not say what it was judged by, so it cannot be judged again',
            where=name, fix=_AGAIN)
    return judged


def _reopened(run: RunFolder, judged: JudgedBy, name: str) -> Study:
    """The recordings of a run, if they can be read and are those that were fitted."""
    setup = run.setup()
    try:
        study = Study.load(
            setup, others=run.others(), validation=run.validation(), holdout=judged.holdout,
            folds=judged.folds, coarse=judged.coarse)
    except RecordingError as error:
        raise RecordingsGoneError(
            'its recordings cannot be read any more, so it cannot be judged again: '
            f'{str(error).rstrip(".")}', where=name,
            fix='Put them back where settings.yaml of the estimate names them, or fit again; '
            'who takes the verdict as it was written sets the parameter recordings_required of '
            'the model server to false') from error
    except ConfigurationError as error:
        raise NotCommittableError(
            f'it cannot be judged again: {str(error).rstrip(".")}', where=name,
            fix=_AGAIN) from error
    return study


def _differences(estimate: Estimate, study: Study, judged: JudgedBy) -> Iterator[str]:
    """In what an estimate is not one of these recordings, in words."""
    rows = study.training
    changed = _changed_recordings(estimate, study, judged)
    if changed:
        # Everything else differs, too, then.
        yield changed
        return
    written, built = estimate.parameters, rows.parameters
    if written.names != built.names:
        yield 'its parameters are not those of the model that settings.yaml describes'
        return
    bounds = () if estimate.estimator in TRAJECTORY_ESTIMATORS else ('lower', 'upper')
    for field in ('prior', 'free', *bounds):
        odd = ~np.isclose(getattr(written, field), getattr(built, field), rtol=_SAME, atol=0.0)
        if odd.any():
            names = ', '.join(np.array(written.names)[odd][:3])
            yield f'the {_WORDS[field]} of {names} is not that of the description and settings'
    yield from _base_differs(estimate, rows)
    if study.loop is None:
        yield from _residuals_differ(estimate, rows)
    else:
        yield from _motion_differs(estimate, study.loop)
    yield from _ranges_differ(estimate, study)


def _changed_recordings(estimate: Estimate, study: Study, judged: JudgedBy) -> str:
    fitted = str(study.training.provenance.get('sha256', ''))
    marks = estimate.provenance.get(FINGERPRINTS, [])
    if fitted != estimate.provenance.get('sha256') or list(study.fingerprints) != list(marks):
        return f'{study.training.provenance.get("source", "a recording")} has changed since the fit'
    held_out = study.held_out
    unseen = {} if held_out is None else held_out.problem.provenance
    if str(unseen.get('sha256', '')) != judged.sha256:
        return f'{unseen.get("source", "nothing")} is not what it was judged by'
    return ''


def _base_differs(estimate: Estimate, rows: RegressionProblem) -> Iterator[str]:
    """Base parameters that are not those of the parameters; states have groupings of their own."""
    if estimate.estimator in TRAJECTORY_ESTIMATORS:
        return
    values = estimate.parameters.values
    for problem in (linearised_at(rows, values), frozen_at(rows, values)):
        if problem.base.equations == estimate.base_names:
            expected = problem.base.values(np.where(problem.free, values, 0.0))
            scale = np.abs(problem.base.matrix) @ np.abs(values)
            odd = ~(np.abs(expected - estimate.base_values) <= _SAME * scale)
            if odd.any():
                yield (
                    f'its base parameters are not those of its parameters ({int(odd.sum())} of '
                    f'{len(odd)}, as {estimate.base_names[int(np.argmax(odd))]})')
            return
    yield 'its base parameters are not those of the model'


def _residuals_differ(estimate: Estimate, rows: RegressionProblem) -> Iterator[str]:
    """Errors that are not those of its values; who leaves outliers out has fewer rows."""
    found = rows.residuals(estimate.parameters.values)
    size = np.sqrt(np.sum(found**2, axis=0) / np.maximum(rows.counts, 1))
    written = estimate.residuals
    if not np.array_equal(np.asarray(written.rows, dtype=int), rows.counts):
        if not (np.asarray(written.rows) <= rows.counts).all():
            yield 'it has more rows than its recordings'
        return
    torque = np.sqrt(np.sum(np.where(rows.usable, rows.torque, 0.0) ** 2, axis=0) / np.maximum(
        rows.counts, 1))
    odd = np.abs(size - written.rms_per_joint) > _SAME * (torque + size)
    if odd.any():
        joint = int(np.argmax(odd))
        yield (
            f'its values are {size[joint]:.3g} off in {rows.model.robot.joint_names[joint]}, not '
            f'{written.rms_per_joint[joint]:.3g} as it says')


def _motion_differs(estimate: Estimate, loop: OpenLoop) -> Iterator[str]:
    """Errors of the simulated motion that are not those of its values."""
    found = loop.statistics(estimate.parameters.values).rms_per_joint
    written = estimate.residuals.rms_per_joint
    if not np.allclose(found, written, rtol=_SAME_MOTION, atol=0.0):
        joint = int(np.argmax(np.abs(found - written)))
        yield (
            f'its values simulate {loop.problem.model.robot.joint_names[joint]} with an error of '
            f'{found[joint]:.3g}, not {written[joint]:.3g} as it says')


def _ranges_differ(estimate: Estimate, study: Study) -> Iterator[str]:
    """Ranges of motion that are not those of the recordings."""
    held_out = study.held_out
    judged = None if held_out is None else MotionRange.of(held_out.dataset)
    for key, range_ in ((FITTED_RANGE, study.fitted_range), (JUDGED_RANGE, judged)):
        written: Any = estimate.provenance.get(key, {})
        joints = study.training.model.robot.joint_names
        other = MotionRange.from_json(written, joints)
        if range_ is None or other is None:
            same = range_ is None and not written
        else:
            same = all(
                np.allclose(getattr(range_, field), getattr(other, field), rtol=_SAME)
                for field in ('lower', 'upper', 'speed', 'acceleration', 'torque'))
        if not same:
            yield f'its {key.replace("_", " ")} is not that of the recordings'


def _as_rows_say(estimate: Estimate, rows: RegressionProblem) -> Estimate:
    """The estimate with margins of its values, and what its rows say of conditioning."""
    parameters = estimate.parameters
    margins = {
        body: float(consistency_margin(
            parameters.inertial(body), parameters.prior[parameters.body_slice(body)]))
        for body in parameters.bodies}
    notes = estimate.notes
    if estimate.estimator not in TRAJECTORY_ESTIMATORS:
        notes = tuple(dict.fromkeys((*notes, *Conditioning.of(rows).notes())))
    return replace(estimate, margins=margins, notes=notes)


def _wrong_errors(evaluation: Evaluation, judged: JudgedBy) -> str:
    """Which written errors are not those that were found now, in words."""
    unseen = evaluation.held_out
    for word, found, written in (
        ('training', evaluation.training.candidate.rms_per_joint, judged.training_rms),
        ('held-out', () if unseen is None else unseen.candidate.rms_per_joint,
         judged.held_out_rms),
    ):
        if len(found) != len(written) or not np.allclose(found, written, rtol=1e-4, atol=1e-9):
            return f'{word}, RMS'
    return ''


def _sentence(evaluation: Evaluation, study: Study) -> str:
    unseen = evaluation.held_out
    if unseen is None:
        return 'Judged again by stretches of its recordings.'
    own, prior = unseen.candidate.relative_error, unseen.prior.relative_error
    beyond = () if study.held_out is None else remarks_on(evaluation.estimate, study.held_out)
    return ' '.join((
        f'Judged again by its recordings: {100.0 * own:.3g} % off on held-out data, '
        f'{100.0 * prior:.3g} % by the prior.', *beyond))

