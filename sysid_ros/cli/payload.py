"""Identify a load on the last link from a recording with it and one without.

Errors of the robot description do not matter: what is estimated is the difference between
the two recordings, whose motions may differ. In place of the recording without load a run of
'sysid fit' will do.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from pathlib import Path

import yaml

from sysid_ros.cli.command_line import command_line
from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.cli.shown import add_shown_arguments, show, shown_by
from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.identification import Identification
from sysid_ros.estimation.payload.found_load import FoundLoad
from sysid_ros.estimation.payload.payload_estimate import PayloadEstimate
from sysid_ros.release.atomic import write_atomically
from sysid_ros.report.report import Report
from sysid_ros.report.sections.load import load_quantities
from sysid_ros.report.tables import number, table
from sysid_ros.runs.loads import find_payload
from sysid_ros.runs.report_files import made_now, write_document
from sysid_ros.runs.run_folder import RunFolder


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``sysid payload``."""
    parser.add_argument('loaded', type=Path, help='settings file of the recording with the load')
    without = parser.add_mutually_exclusive_group()
    without.add_argument(
        '--empty', type=Path, metavar='SETTINGS',
        help='settings file of a recording without the load',
    )
    without.add_argument(
        '--run', type=Path, metavar='RUN', dest='run_folder',
        help="folder of 'sysid fit' on a recording without the load",
    )
    parser.add_argument(
        '--base', type=Path, help="folder that file names are relative to; the settings file's own"
    )
    parser.add_argument(
        '--link', metavar='LINK',
        help='link that carries the load, in whose frame it is told; by default the last one',
    )
    parser.add_argument(
        '-o', '--output', type=Path, metavar='FILE',
        help='YAML to write; a page of it is put beside it')
    add_shown_arguments(parser, 'the load', verbose=False)


def run(options: argparse.Namespace) -> ExitCode:
    """Estimate, print and write."""
    if options.run_folder is None and options.empty is None:
        raise ConfigurationError(
            'nothing says what the robot is without the load', found=f'{options.loaded} alone',
            fix=f'Name a fit, sysid payload {options.loaded} --run runs/first, or a recording '
            'without the load, --empty empty.yaml')
    shown = shown_by(options)
    loaded = Identification.load(options.loaded, options.base)
    empty: Identification | RunFolder
    if options.run_folder is not None:
        empty = RunFolder.open(options.run_folder)
    else:
        empty = Identification.load(options.empty, options.base)
    found = find_payload(loaded, empty, options.link, shown.stage)
    link, estimate = found.link, found.estimate
    if not estimate.status.ok:
        print(f'{estimate.status.value} There is no load to report.', file=sys.stderr)
        return ExitCode.NOT_CONVERGED
    said = {'frame': link, **estimate.to_plain()}
    show(shown, brief=_text(link, estimate), document=said)
    if options.output is not None:
        text = yaml.safe_dump(said, sort_keys=False, allow_unicode=True)
        write_atomically(options.output, text.encode())
        shown.say(f'Written to {options.output}')
        shown.say(_write_report(options, found))
    return ExitCode.OK


def _write_report(options: argparse.Namespace, found: FoundLoad) -> str:
    """The page of a load beside its file; returns where it is, or why there is none."""
    output: Path = options.output
    settings = options.loaded.read_text(encoding='utf-8')
    digest = hashlib.sha256(output.read_bytes()).hexdigest()
    report = Report.of_load(
        output.stem, found, made_now(command_line(), settings, {output.name: digest}))
    note = write_document(output.parent, report, output.stem)
    return note or f'Shown on {output.parent / f"report_{output.stem}.html"}'


def _text(link: str, estimate: PayloadEstimate) -> str:
    rows = [
        [each.name, number(each.value or 0.0, 6),
         'not known' if each.interval is None else number(each.interval / 1.96, 2), each.unit]
        for each in load_quantities(estimate)]
    parts = [
        f'Load on link {link!r}, in its frame; inertia about the centre of mass\n',
        table(['quantity', 'value', 'std. deviation', 'unit'], rows),
        f'\nTorque error of the loaded recording: {100.0 * estimate.error_without:.2f} % without '
        f'the load, {100.0 * estimate.error_with:.2f} % with it',
    ]
    if not estimate.significant:
        parts.append('The mass is not significant: there may be no load at all.')
    return '\n'.join(parts)
