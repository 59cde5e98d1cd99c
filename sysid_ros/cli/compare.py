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
from sysid_ros.release.atomic import write_atomically
from sysid_ros.report.report import Report
from sysid_ros.report.sections.provenance import ProvenanceSection
from sysid_ros.runs.compare import compare_runs, comparison_text
from sysid_ros.runs.judged import digests
from sysid_ros.runs.report_files import made_now, write_page


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
    section, shown = compare_runs(options.run_folders), shown_by(options)
    names = ', '.join(run.name for run in section.runs)
    report = Report.model_construct(
        kind='comparison', name=f'{len(section.runs)} runs',
        robot=', '.join(section.robots) or names, sections=[
            section, ProvenanceSection.of_origin(made_now(command_line(), '', {
                f'{run.name}/{name}': digest
                for run, folder in zip(section.runs, options.run_folders, strict=True)
                for name, digest in digests(folder).items()}))])
    document = options.output.with_suffix('.json')
    write_atomically(document, report.to_json().encode())
    note = write_page(options.output, report)
    show(shown, brief=comparison_text(section), document=section.model_dump(mode='json'))
    if note:
        print(note, file=sys.stderr)
    else:
        shown.say(f'Written to {options.output} and {document.name}')
    return ExitCode.OK
