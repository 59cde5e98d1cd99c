"""Compare runs: errors, parameters tested against each other by their intervals, and drift.

A drift is over time where all runs are of bags, whose messages have dates; otherwise name the runs
in the order in which they were recorded. Three or more show one; 'sysid drift' looks for changes
over many.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sysid_ros.cli.command_line import command_line
from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.cli.shown import add_shown_arguments, show, shown_by
from sysid_ros.runs.compare import comparison_text
from sysid_ros.runs.comparison_page import write_comparison


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``sysid compare``."""
    parser.add_argument(
        'run_folders', type=Path, metavar='RUN', nargs='+', help="folders of 'sysid fit'")
    parser.add_argument(
        '-o', '--output', type=Path, metavar='FILE', default=Path('comparison.html'),
        help='page to write, and the same as JSON beside it; by default comparison.html')
    add_shown_arguments(parser, 'the comparison', verbose=False)


def run(options: argparse.Namespace) -> ExitCode:
    """Compare, write and print."""
    shown = shown_by(options)
    section, note = write_comparison(options.run_folders, options.output, command_line())
    show(shown, brief=comparison_text(section), document=section.model_dump(mode='json'))
    if note:
        print(note, file=sys.stderr)
    else:
        shown.say(
            f'Written to {options.output} and {options.output.with_suffix(".json").name}')
    return ExitCode.OK
