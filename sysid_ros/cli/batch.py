"""Fit a whole table of robots and recordings, and leave runs and a table of results.

The table is a CSV file with a header, or a YAML file with the list fits:, with the columns robot,
settings (or urdf) and recordings; patterns as 'arm_1/*.mcap' name many. Runs whose settings, prior
and recordings have not changed are not repeated, failed ones are listed and tried again: call it
again after whatever stopped it.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sysid_ros.cli.command_line import command_line
from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.cli.progress import counting
from sysid_ros.fleet.batch import ENGINES, batch, make_pool
from sysid_ros.fleet.page import FLEET_PAGE, write_fleet_page
from sysid_ros.fleet.prior_files import write_prior
from sysid_ros.fleet.record import FitStatus


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``sysid batch``."""
    parser.add_argument('table', type=Path, metavar='TABLE', help='CSV or YAML file')
    parser.add_argument(
        '-o', '--output', type=Path, metavar='FOLDER',
        help='folder to write; by default fleet/<name of the table>')
    parser.add_argument(
        '--workers', type=int, metavar='N', help='fits at a time; by default one per processor')
    parser.add_argument(
        '--engine', choices=ENGINES,
        help='what carries them out; by default dask where it is installed')
    parser.add_argument(
        '--scheduler', default='', metavar='ADDRESS',
        help='scheduler of a running Dask cluster, as tcp://host:8786')
    parser.add_argument(
        '--cache', type=Path, metavar='FOLDER',
        help='where each computer keeps recordings that it fetched from a store (s3://, https://); '
        'by default they are removed after their fit')
    parser.add_argument(
        '--prior', action='store_true',
        help='estimate what the committable robots have in common: a prior for the next one, '
        'clusters and outliers')
    parser.add_argument(
        '--page', action='store_true',
        help=f'write {FLEET_PAGE}: verdicts, changes over time, robots against the fleet')


def run(options: argparse.Namespace) -> ExitCode:
    """Fit, write and print."""
    pool = make_pool(options.engine, options.workers, options.scheduler)
    folder = options.output or Path('fleet') / options.table.stem
    with counting() as show:
        result = batch(options.table, folder, pool=pool, show=show, cache=options.cache)
    print(result)
    files = ' and '.join(str(folder / file.name) for file in result.files)
    print(f'Written to {files}')
    if options.prior:
        written = write_prior(result.records, result.runs, folder)
        print(written)
        print(f'Written to {", ".join(str(each) for each in written.folders)}')
    if options.page:
        note = write_fleet_page(
            result.records, result.runs, result.folder, command=command_line())
        print(note or f'Written to {folder / FLEET_PAGE}', file=sys.stderr if note else sys.stdout)
    statuses = {record.status for record in result.records}
    if FitStatus.FAILED in statuses:
        print(f'{len(result.failed)} failed; the next call tries them again', file=sys.stderr)
        return ExitCode.BAD_INPUT
    if FitStatus.NOT_CONVERGED in statuses:
        return ExitCode.NOT_CONVERGED
    return ExitCode.OK if statuses == {FitStatus.COMMITTABLE} else ExitCode.NOT_COMMITTABLE
