"""Fit a recording and write a run folder: estimate, URDF, summary, figures.

The settings file names the robot, the recording and how it is processed. Held-out data
decides on the verdict: another recording (--validate), the last part of this one
(--holdout), or stretches of it in turn (--folds).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.cli.progress import stage
from sysid_ros.cli.run_folder import RunFolder
from sysid_ros.errors import EstimationError
from sysid_ros.estimation.estimator import REGRESSION_ESTIMATORS
from sysid_ros.estimation.identification import Identification
from sysid_ros.evaluation.comparison import Comparison
from sysid_ros.evaluation.evaluation import Evaluation
from sysid_ros.evaluation.study import Study

ALL = 'all'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``sysid fit``."""
    parser.add_argument('settings', type=Path, help='settings file (YAML)')
    parser.add_argument(
        '--base', type=Path, help="folder that file names are relative to; the settings file's own"
    )
    parser.add_argument(
        '--estimator', metavar='NAME',
        help=f'{", ".join(REGRESSION_ESTIMATORS)}, or {ALL} to compare them and take the best; '
        'by default what the settings say',
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
        '--folds', type=int, default=0, metavar='K',
        help='cross-validate: leave each of K stretches out of the fit in turn',
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
        holdout=options.holdout, folds=options.folds,
    )


def fit_to_folder(
    identification: Identification,
    folder: Path,
    *,
    estimator: str,
    validation: Identification | None = None,
    holdout: float | None = None,
    folds: int = 0,
) -> ExitCode:
    """Fit a recording, judge it on held-out data, and leave a run folder.

    Args:
        identification: Settings of the recording to fit.
        folder: Run folder to write.
        estimator: Name of the estimator, or ``'all'``.
        validation: Settings of another recording to predict.
        holdout: Part of the recording to predict in its place, between 0 and 1.
        folds: Stretches of the recording for cross-validation; 0 for none.

    Returns:
        ``OK`` when the verdict is committable.

    Raises:
        SysidError: Settings, robot or recording cannot be used.
    """
    if estimator != ALL:
        # A misspelt name is refused before any work is done.
        identification.settings.fit.build(estimator)
    with stage('Loading the robot'):
        model = identification.model()
    run_folder = RunFolder.create(folder)
    run_folder.write_inputs(identification, model)
    friction = identification.settings.fit.friction_selection is not None
    with stage('Reading the recording' + ', choosing the friction model' * friction
               + ' and building the regressor'):
        study = Study.load(
            identification, model, validation=validation, holdout=holdout, folds=folds,
            estimator=None if estimator == ALL else estimator,
        )
    if friction:
        run_folder.write_inputs(study.identification, study.training.model)
    comparison = None
    if estimator == ALL:
        with stage(f'Fitting and judging {len(REGRESSION_ESTIMATORS)} estimators'):
            comparison = study.compare()
        evaluation = _recommended(comparison)
    else:
        with stage(f'Fitting with {estimator}, and judging'):
            evaluation = study.fit(estimator)
    with stage('Writing URDF, summary and figures'):
        evaluation, text = run_folder.write_study(study, evaluation, comparison)
    print(text)
    print(f'Written to {folder}{"/" if not str(folder).endswith("/") else ""}')
    return _exit_code(evaluation)


def _recommended(comparison: Comparison) -> Evaluation:
    if comparison.recommended is None:
        raise EstimationError(
            comparison.reason.rstrip('.'),
            found='; '.join(f'{name}: {why}' for name, why in comparison.failures.items()),
        )
    return comparison.recommended.evaluation


def _exit_code(evaluation: Evaluation) -> ExitCode:
    status = evaluation.estimate.status
    if not status.ok:
        print(status.value, file=sys.stderr)
        return ExitCode.NOT_CONVERGED
    return ExitCode.OK if evaluation.verdict.committable else ExitCode.NOT_COMMITTABLE
