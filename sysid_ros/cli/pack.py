"""Pack a run into one file to mail: a ZIP file with relative paths and checksums."""

from __future__ import annotations

import argparse
from pathlib import Path

from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.cli.shown import add_shown_arguments, show, shown_by
from sysid_ros.runs.pack import pack_run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``sysid pack``."""
    parser.add_argument('run_folder', type=Path, metavar='RUN', help="folder of 'sysid fit'")
    parser.add_argument(
        '-o', '--output', type=Path, metavar='FILE', help='archive to write; by default RUN.zip')
    parser.add_argument(
        '--recordings', action='store_true',
        help='with the recordings, so that the run can be fitted again where it is unpacked')
    add_shown_arguments(parser, 'what was packed', verbose=False)


def run(options: argparse.Namespace) -> ExitCode:
    """Pack and say what is in it."""
    folder = options.run_folder.resolve()
    archive = options.output or folder.with_name(f'{folder.name}.zip')
    names = pack_run(options.run_folder, archive, recordings=options.recordings)
    size = archive.stat().st_size
    show(
        shown_by(options), brief=f'Written to {archive}: {len(names)} files, {size / 1e6:.1f} MB',
        document={'archive': str(archive), 'bytes': size, 'files': list(names)})
    return ExitCode.OK
