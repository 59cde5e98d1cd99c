"""Compare runs: errors, parameters tested against each other by their intervals, and drift.

Name the runs in the order in which they were recorded; three or more show a drift.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.report.report import Report
from sysid_ros.runs.compare import compare_runs, comparison_text
from sysid_ros.runs.report_files import write_page


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``sysid compare``."""
    parser.add_argument(
        'run_folders', type=Path, metavar='RUN', nargs='+', help="folders of 'sysid fit'")
    parser.add_argument(
        '-o', '--output', type=Path, metavar='FILE', default=Path('comparison.html'),
        help='page to write; by default comparison.html')


def run(options: argparse.Namespace) -> ExitCode:
    """Compare, write and print."""
    section = compare_runs(options.run_folders)
    print(comparison_text(section))
    names = ', '.join(run.name for run in section.runs)
    note = write_page(options.output, Report.model_construct(
        kind='comparison', name=f'{len(section.runs)} runs', robot=names, sections=[section]))
    if note:
        print(note, file=sys.stderr)
    else:
        print(f'Written to {options.output}')
    return ExitCode.OK
