"""Identify a load on the last link from a recording with it and one without.

Errors of the robot description do not matter: what is estimated is the difference between
the two recordings, whose motions may differ. In place of the recording without load a run of
'sysid fit' will do.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import yaml

from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.cli.progress import stage
from sysid_ros.estimation.identification import Identification
from sysid_ros.estimation.payload.payload_estimate import PayloadEstimate
from sysid_ros.release.atomic import write_atomically
from sysid_ros.report.tables import table
from sysid_ros.runs.loads import find_payload
from sysid_ros.runs.run_folder import RunFolder

_UNITS = {'mass': 'kg', 'center_of_mass': 'm', 'inertia_about_center_of_mass': 'kg·m²'}
_ROWS = {
    'mass': ('mass',), 'center_of_mass': tuple(f'centre of mass {axis}' for axis in 'xyz'),
    'inertia_about_center_of_mass': tuple(
        f'inertia {entry}' for entry in ('xx', 'xy', 'yy', 'xz', 'yz', 'zz')
    ),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``sysid payload``."""
    parser.add_argument('loaded', type=Path, help='settings file of the recording with the load')
    without = parser.add_mutually_exclusive_group(required=True)
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
    parser.add_argument('-o', '--output', type=Path, metavar='FILE', help='YAML to write')


def run(options: argparse.Namespace) -> ExitCode:
    """Estimate, print and write."""
    loaded = Identification.load(options.loaded, options.base)
    empty: Identification | RunFolder
    if options.run_folder is not None:
        empty = RunFolder.open(options.run_folder)
    else:
        empty = Identification.load(options.empty, options.base)
    link, estimate = find_payload(loaded, empty, options.link, stage)
    if not estimate.status.ok:
        print(f'{estimate.status.value} There is no load to report.')
        return ExitCode.NOT_CONVERGED
    print(_text(link, estimate))
    if options.output is not None:
        said = {'frame': link, **estimate.to_plain()}
        text = yaml.safe_dump(said, sort_keys=False, allow_unicode=True)
        write_atomically(options.output, text.encode())
        print(f'Written to {options.output}')
    return ExitCode.OK


def _text(link: str, estimate: PayloadEstimate) -> str:
    rows = []
    for name, (values, deviations) in estimate.quantities().items():
        for label, value, deviation in zip(_ROWS[name], values, deviations, strict=True):
            spread = f'{deviation:.2g}' if np.isfinite(deviation) else 'not known'
            rows.append([label, f'{value:.6g}', spread, _UNITS[name]])
    parts = [
        f'Load on link {link!r}, in its frame; inertia about the centre of mass\n',
        table(['quantity', 'value', 'std. deviation', 'unit'], rows),
        f'\nTorque error of the loaded recording: {100.0 * estimate.error_without:.2f} % without '
        f'the load, {100.0 * estimate.error_with:.2f} % with it',
    ]
    if not estimate.significant:
        parts.append('The mass is not significant: there may be no load at all.')
    return '\n'.join(parts)
