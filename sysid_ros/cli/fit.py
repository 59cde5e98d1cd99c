"""Fit a recording and write a run folder: estimate, URDF, summary, figures.

What to fit is a settings file, which names the robot, the recording and how it is processed; the
folder of a recording that the identification node made; or any bag, with --settings. Held-out
data decides on the verdict: another recording (--validate), the last part of this one
(--holdout), or stretches of it in turn (--folds).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.cli.progress import stage
from sysid_ros.estimation.estimator import REGRESSION_ESTIMATORS, TRAJECTORY_ESTIMATORS
from sysid_ros.estimation.identification import Identification
from sysid_ros.evaluation.evaluation import Evaluation
from sysid_ros.runs import fit
from sysid_ros.runs.fit import ALL
from sysid_ros.runs.sources import load_source


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``sysid fit``."""
    parser.add_argument(
        'source', type=Path, metavar='RECORDING',
        help='settings file (YAML), folder of a recording, or a bag',
    )
    parser.add_argument(
        '--settings', type=Path, metavar='FILE',
        help='settings file that says of a bag what robot it is of, and how to fit it',
    )
    parser.add_argument(
        '--base', type=Path, help="folder that file names are relative to; the settings file's own"
    )
    parser.add_argument(
        '--estimator', metavar='NAME',
        help=f'{", ".join(REGRESSION_ESTIMATORS)}, or {ALL} to compare them and take the best; '
        f'{", ".join(TRAJECTORY_ESTIMATORS)} to seek states and parameters together; '
        'by default what the settings say',
    )
    held_out = parser.add_mutually_exclusive_group()
    held_out.add_argument(
        '--validate', type=Path, metavar='RECORDING', help='another recording to judge by'
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
        help='run folder; by default runs/<name of the recording>-<estimator>',
    )


def run(options: argparse.Namespace) -> ExitCode:
    """Fit, evaluate, write and print."""
    identification = load_source(options.source, options.settings, options.base)
    validation = None
    if options.validate is not None:
        # A bag is of the same robot; a settings file or a recording's folder says so itself.
        bag = options.settings is not None and options.validate.suffix not in ('.yaml', '.yml')
        validation = load_source(
            options.validate, options.settings if bag else None, options.base)
    estimator = options.estimator or identification.settings.fit.estimator
    name = options.source.resolve().stem if options.source.is_file() else (
        options.source.resolve().name)
    return fit_to_folder(
        identification, options.output or Path('runs') / f'{name}-{estimator}',
        estimator=estimator, validation=validation, holdout=options.holdout, folds=options.folds,
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
    """Fit a recording, judge it on held-out data, leave a run folder, and print its summary.

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
    result = fit.fit_to_folder(
        identification, folder, estimator=estimator, validation=validation, holdout=holdout,
        folds=folds, stage=stage,
    )
    print(result.summary)
    print(f'Written to {folder}{"/" if not str(folder).endswith("/") else ""}')
    return _exit_code(result.evaluation)


def _exit_code(evaluation: Evaluation) -> ExitCode:
    status = evaluation.estimate.status
    if not status.ok:
        print(status.value, file=sys.stderr)
        return ExitCode.NOT_CONVERGED
    return ExitCode.OK if evaluation.verdict.committable else ExitCode.NOT_COMMITTABLE
