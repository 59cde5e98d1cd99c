"""Find what changed in the parameters of robots over time: steps, trends, and where they go.

The folder is that of a batch, or any folder of runs, which are then of one robot. When a recording
was made, bags say; for others, and for temperatures, name a CSV file with the columns run, recorded
and temperature. The exit code is 4 where something changed.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from sysid_ros.cli.command_line import command_line
from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.fleet.drift import FALSE_ALARMS, HORIZON, find_drift
from sysid_ros.fleet.history import parse_date, read_conditions
from sysid_ros.fleet.page import drift_section
from sysid_ros.report.report import Report
from sysid_ros.report.sections.provenance import ProvenanceSection
from sysid_ros.runs.report_files import made_now, write_page


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``sysid drift``."""
    parser.add_argument(
        'folder', type=Path, metavar='FOLDER', help="folder of 'sysid batch', or of runs")
    parser.add_argument(
        '--conditions', type=Path, metavar='FILE',
        help='CSV file: run, recorded (ISO 8601), temperature')
    parser.add_argument(
        '--false-alarms', type=float, default=FALSE_ALARMS, metavar='RATE',
        help='alarms of a robot in a year in which nothing changes; by default 1')
    parser.add_argument(
        '--horizon', type=float, default=HORIZON, metavar='WEEKS',
        help='how far ahead values are foretold; by default 4 weeks')
    parser.add_argument(
        '--between', nargs=2, metavar=('DATE', 'DATE'),
        help='test what changed between two dates, too')
    parser.add_argument(
        '--page', type=Path, metavar='FILE', help='write histories and changes as a page, too')
    parser.add_argument('--json', action='store_true', help='print all of it as JSON')


def run(options: argparse.Namespace) -> ExitCode:
    """Read, test and print."""
    dates = None
    if options.between:
        first, second = (parse_date(text, '--between') for text in options.between)
        dates = first, second
    found = find_drift(
        options.folder, conditions=read_conditions(options.conditions)
        if options.conditions else None, false_alarms=options.false_alarms,
        horizon=options.horizon, dates=dates)
    if options.json:
        print(json.dumps(found.to_json(), indent=1, allow_nan=False, ensure_ascii=False))
    else:
        print(found)
    if options.page is not None:
        note = write_page(options.page, Report.model_construct(
            kind='fleet', name='Changes over time', robot=options.folder.resolve().name,
            sections=[drift_section(found), ProvenanceSection.of_origin(
                made_now(command_line(), '', {}))]))
        print(note or f'Written to {options.page}', file=sys.stderr)
    return ExitCode.CHANGED if found.changed else ExitCode.OK
