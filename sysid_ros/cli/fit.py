"""Fit recordings and write a run folder: estimate, URDF, summary, figures.

What to fit is a settings file, which names the robot, the recording and how it is processed; the
folder of a recording that the identification node made; or any bag, with --settings. Several
recordings of a robot are fitted together: the first says what the robot is and how to fit it, the
others, settings files, folders or bags as well, what else was recorded. Held-out data decides on
the verdict: another recording (--validate), the last part of each (--holdout), or stretches in
turn (--folds).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.cli.progress import stage
from sysid_ros.estimation.estimator import REGRESSION_ESTIMATORS, TRAJECTORY_ESTIMATORS
from sysid_ros.estimation.identification import Identification
from sysid_ros.evaluation.evaluation import Evaluation
from sysid_ros.runs import fit
from sysid_ros.runs.fit import ALL
from sysid_ros.runs.sources import load_another, load_source


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``sysid fit``."""
    parser.add_argument(
        'sources', type=Path, metavar='RECORDING', nargs='+',
        help='settings file (YAML), folder of a recording, or a bag; several are fitted with the '
        'same parameters, by the robot and fit sections of the first',
    )
    parser.add_argument(
        '--settings', type=Path, metavar='FILE',
        help='settings file that says of bags what robot they are of, and how to fit them',
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
        help='keep the last part of each recording from the fit, between 0 and 1',
    )
    parser.add_argument(
        '--folds', type=int, default=0, metavar='K',
        help='cross-validate: leave each of K stretches out of the fit in turn',
    )
    parser.add_argument(
        '-o', '--output', type=Path, metavar='FOLDER',
        help='run folder; by default runs/<name of the first recording>-<estimator>',
    )


def run(options: argparse.Namespace) -> ExitCode:
    """Fit, evaluate, write and print."""
    first, *more = options.sources
    identification = load_source(first, options.settings, options.base)
    others = [load_another(path, options.settings, options.base) for path in more]
    validation = None
    if options.validate is not None:
        validation = load_another(options.validate, options.settings, options.base)
    estimator = options.estimator or identification.settings.fit.estimator
    name = first.resolve().stem if first.is_file() else first.resolve().name
    together = f'+{len(more)}' if more else ''
    return fit_to_folder(
        identification, options.output or Path('runs') / f'{name}{together}-{estimator}',
        estimator=estimator, others=others, validation=validation, holdout=options.holdout,
        folds=options.folds,
    )


def fit_to_folder(
    identification: Identification,
    folder: Path,
    *,
    estimator: str,
    others: Sequence[Identification] = (),
    validation: Identification | None = None,
    holdout: float | None = None,
    folds: int = 0,
) -> ExitCode:
    """Fit recordings, judge on held-out data, leave a run folder, and print its summary.

    Args:
        identification: Settings of the recording to fit.
        folder: Run folder to write.
        estimator: Name of the estimator, or ``'all'``.
        others: Settings of more recordings to fit together with it.
        validation: Settings of another recording to predict.
        holdout: Last part of each recording to predict in its place, between 0 and 1.
        folds: Stretches of the recordings for cross-validation; 0 for none.

    Returns:
        ``OK`` when the verdict is committable.

    Raises:
        SysidError: Settings, robot or recording cannot be used.
    """
    result = fit.fit_to_folder(
        identification, folder, estimator=estimator, others=others, validation=validation,
        holdout=holdout, folds=folds, stage=stage,
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
