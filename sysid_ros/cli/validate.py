"""Predict another recording with the parameters of a run, and judge them by it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sysid_ros.cli.command_line import command_line
from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.cli.shown import add_shown_arguments, show, shown_by
from sysid_ros.runs.run_folder import RunFolder
from sysid_ros.runs.sources import load_another, load_source
from sysid_ros.runs.validation import validate_run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``sysid validate``."""
    parser.add_argument('run_folder', type=Path, metavar='RUN', help="folder of 'sysid fit'")
    parser.add_argument(
        'recording', type=Path, metavar='RECORDING',
        help='the other recording: a settings file; or a folder, a table or a bag, which is read '
        'as the fitted one')
    parser.add_argument(
        '--base', type=Path, help="folder that file names are relative to; the settings file's own"
    )
    add_shown_arguments(parser)


def run(options: argparse.Namespace) -> ExitCode:
    """Predict, judge, write and print."""
    shown = shown_by(options)
    folder = RunFolder.open(options.run_folder)
    recording = load_another(
        options.recording, base=options.base, like=load_source(options.run_folder))
    validation = validate_run(
        folder, recording, options.recording.stem, command=command_line(), stage=shown.stage)
    verdict = validation.verdict
    show(shown, brief=validation.brief, full=validation.summary, document=verdict.to_json())
    if validation.note:
        print(validation.note, file=sys.stderr)
    shown.say(f'Written to {validation.file}')
    return ExitCode.OK if verdict.committable else ExitCode.NOT_COMMITTABLE
