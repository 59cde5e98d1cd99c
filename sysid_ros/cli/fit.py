"""Fit recordings and write a run folder: estimate, URDF, summary, figures.

What to fit is a settings file, which names the robot, the recording and how it is processed; the
folder of a recording that the identification node made; or any bag, with --settings. Several
recordings of a robot are fitted together: the first says what the robot is and how to fit it, the
others, settings files, folders, tables or bags, what else was recorded; a table, or a bag, is read
as the first one is. Held-out data decides on the verdict: another recording (--validate), the last
part of each (--holdout), or stretches in turn (--folds).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sysid_ros.cli.command_line import command_line
from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.cli.shown import Shown, add_shown_arguments, show, shown_by
from sysid_ros.estimation.estimator import ALIASES, REGRESSION_ESTIMATORS, TRAJECTORY_ESTIMATORS
from sysid_ros.runs.fit import ALL, Run
from sysid_ros.runs.fit_request import FitRequest


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``sysid fit``."""
    parser.add_argument(
        'sources', type=Path, metavar='RECORDING', nargs='+',
        help='settings file (YAML), folder of a recording, or a bag; several are fitted with the '
        'same parameters, by the robot and fit sections of the first; further tables and bags '
        'are read as the first is',
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
        f'{"; ".join(f"{alias} is {own}" for alias, own in ALIASES.items())}; '
        'by default what the settings say',
    )
    held_out = parser.add_mutually_exclusive_group()
    held_out.add_argument(
        '--validate', type=Path, metavar='RECORDING',
        help='another recording to judge by; a table or a bag is read as the first one'
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
    add_shown_arguments(parser)


def run(options: argparse.Namespace) -> ExitCode:
    """Fit, evaluate, write and print."""
    shown = shown_by(options)
    request = FitRequest(
        tuple(options.sources), options.settings, options.base, options.estimator,
        options.validate, options.holdout, options.folds, options.output)
    return report(request.run(
        command=command_line(), stage=shown.stage, drawing=getattr(options, 'drawing', None),
    ), shown)


def report(fitted: Run, shown: Shown = Shown.BRIEF) -> ExitCode:
    """Print what a fit came to.

    Args:
        fitted: The fit.
        shown: How much of it.

    Returns:
        ``OK`` when the verdict is committable.
    """
    show(
        shown, brief=fitted.brief, full=fitted.summary,
        document=fitted.evaluation.verdict.to_json())
    if fitted.note:
        print(fitted.note, file=sys.stderr)
    shown.say(f'Written to {str(fitted.folder).rstrip("/")}/')
    status = fitted.evaluation.estimate.status
    if not status.ok:
        print(status.value, file=sys.stderr)
        return ExitCode.NOT_CONVERGED
    return ExitCode.OK if fitted.evaluation.verdict.committable else ExitCode.NOT_COMMITTABLE
