"""Write the page of a run anew: report.html, from the report.json that a fit leaves.

Where the run has no report.json, as those of older versions, its recordings are read again.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sysid_ros.cli.command_line import command_line
from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.cli.shown import add_shown_arguments, show, shown_by
from sysid_ros.report.report import Report
from sysid_ros.runs.judgement import reopened_report
from sysid_ros.runs.printed_report import write_pdf
from sysid_ros.runs.report_files import DOCUMENT, PAGE, write_page, write_report
from sysid_ros.runs.run_folder import RunFolder


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``sysid report``."""
    parser.add_argument('run_folder', type=Path, metavar='RUN', help="folder of 'sysid fit'")
    parser.add_argument(
        '-o', '--output', type=Path, metavar='FILE', help=f'page to write; by default RUN/{PAGE}')
    parser.add_argument(
        '--recordings', action='store_true',
        help='read the recordings again, and write report.json anew, too')
    parser.add_argument(
        '--pdf', type=Path, metavar='FILE',
        help='print the page as PDF, too; needs Chromium or Chrome')
    add_shown_arguments(parser, 'the names of what was written', verbose=False)


def run(options: argparse.Namespace) -> ExitCode:
    """Read, write and say where."""
    shown = shown_by(options)
    folder = RunFolder.open(options.run_folder).path
    page = options.output or folder / PAGE
    if options.recordings or not (folder / DOCUMENT).is_file():
        with shown.stage('Reading the recordings, and judging again'):
            write_report(folder, reopened_report(folder, command_line()))
    document = folder / DOCUMENT
    note = write_page(page, Report.load(document), read_from=document)
    if note:
        print(f'sysid report: {note}', file=sys.stderr)
        return ExitCode.BAD_INPUT
    written = {'page': str(page)}
    if options.pdf is not None:
        with shown.stage('Printing'):
            write_pdf(page, options.pdf)
        written['pdf'] = str(options.pdf)
    show(
        shown, brief='\n'.join(f'Written to {file}' for file in written.values()),
        document=written)
    return ExitCode.OK
