"""Fit a recording and write a run folder: estimate, URDF, summary, figures.

The settings file names the robot, the recording and how it is processed. Held-out data
decides on the verdict: another recording (--validate), or the last part of this one
(--holdout).
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.cli.progress import stage
from sysid_ros.cli.run_folder import RunFolder
from sysid_ros.dynamics.torque_model import TorqueModel
from sysid_ros.errors import ConfigurationError, RecordingError
from sysid_ros.estimation.estimate import Estimate
from sysid_ros.estimation.estimator import REGRESSION_ESTIMATORS
from sysid_ros.estimation.identification import Identification
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.evaluation.prediction import predict
from sysid_ros.evaluation.verdict import judge
from sysid_ros.recording.dataset import Dataset
from sysid_ros.recording.delay import TorqueDelays, estimate_delays
from sysid_ros.recording.quality import DataQuality, assess_quality


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``sysid fit``."""
    parser.add_argument('settings', type=Path, help='settings file (YAML)')
    parser.add_argument(
        '--base', type=Path, help="folder that file names are relative to; the settings file's own"
    )
    parser.add_argument(
        '--estimator', metavar='NAME',
        help=f'{", ".join(REGRESSION_ESTIMATORS)}; by default what the settings say',
    )
    held_out = parser.add_mutually_exclusive_group()
    held_out.add_argument(
        '--validate', type=Path, metavar='SETTINGS', help='settings file of another recording'
    )
    held_out.add_argument(
        '--holdout', type=float, metavar='FRACTION',
        help='keep the last part of the recording from the fit, between 0 and 1',
    )
    parser.add_argument(
        '-o', '--output', type=Path, metavar='FOLDER',
        help='run folder; by default runs/<name of the settings file>-<estimator>',
    )


def run(options: argparse.Namespace) -> ExitCode:
    """Fit, evaluate, write and print."""
    identification = Identification.load(options.settings, options.base)
    validation = None
    if options.validate is not None:
        validation = Identification.load(options.validate, options.base)
    estimator = options.estimator or identification.settings.fit.estimator
    folder = options.output or Path('runs') / f'{options.settings.stem}-{estimator}'
    return fit_to_folder(
        identification, folder, estimator=estimator, validation=validation,
        holdout=options.holdout,
    )


def fit_to_folder(
    identification: Identification,
    folder: Path,
    *,
    estimator: str,
    validation: Identification | None = None,
    holdout: float | None = None,
) -> ExitCode:
    """Fit a recording, judge it on held-out data, and leave a run folder.

    Args:
        identification: Settings of the recording to fit.
        folder: Run folder to write.
        estimator: Name of the estimator.
        validation: Settings of another recording to predict.
        holdout: Part of the recording to predict in its place, between 0 and 1.

    Returns:
        ``OK`` when the verdict is committable.

    Raises:
        SysidError: Settings, robot or recording cannot be used.
    """
    method = identification.settings.fit.build(estimator)
    with stage('Loading the robot'):
        model = identification.model()
    run_folder = RunFolder.create(folder)
    run_folder.write_inputs(identification, model)
    with stage('Reading the recording and building the regressor'):
        training, held_out, quality = _problems(identification, model, validation, holdout)
    with stage(f'Fitting with {estimator}'):
        estimate = method.fit(training)
    with stage('Writing URDF, summary and figures'):
        notes = run_folder.write_result(model, estimate)
        estimate = replace(estimate, notes=(*estimate.notes, *notes))
        prediction = None if held_out is None else predict(estimate, held_out)
        verdict = judge(estimate, prediction)
        text = run_folder.write_evaluation(estimate, verdict, training, held_out, quality)
    print(text)
    print(f'Written to {folder}{"/" if not str(folder).endswith("/") else ""}')
    return _exit_code(estimate, verdict.committable)


def _problems(
    identification: Identification, model: TorqueModel, validation: Identification | None,
    holdout: float | None,
) -> tuple[RegressionProblem, RegressionProblem | None, DataQuality]:
    """Rows to fit, rows to predict, and what can be said of the recording."""
    if holdout is not None and not 0.0 < holdout < 1.0:
        raise ConfigurationError(
            'is not a part of the recording', where='--holdout', found=holdout,
            allowed='a number between 0 and 1',
        )
    measured = identification.measurement(model)
    dataset = measured.dataset
    quality = assess_quality(
        measured.recording, dataset, model.robot,
        standstill_velocity=identification.settings.processing.standstill_velocity,
        delays=_delays(dataset, model), efforts=identification.effort_findings(model, dataset),
    )
    if holdout is not None:
        return (
            measured.problem(0.0, 1.0 - holdout), measured.problem(1.0 - holdout, 1.0), quality,
        )
    training = measured.problem()
    if validation is None:
        return training, None, quality
    other = identification.recording_of(validation)
    unseen = other.measurement(model)
    other.effort_findings(model, unseen.dataset)
    return training, unseen.problem(), quality


def _delays(dataset: Dataset, model: TorqueModel) -> TorqueDelays | None:
    """Delays of the torques, or nothing where the recording is too short to tell."""
    try:
        return estimate_delays(dataset, model)
    except RecordingError:
        return None


def _exit_code(estimate: Estimate, committable: bool) -> ExitCode:
    if not estimate.status.ok:
        print(estimate.status.value, file=sys.stderr)
        return ExitCode.NOT_CONVERGED
    return ExitCode.OK if committable else ExitCode.NOT_COMMITTABLE
