"""Write a settings file for a recording: format, columns, joints and units are guessed from it.

Every guess is shown with what speaks for it. What the recording does not tell is asked, or has to
be said by an option where nobody can be asked.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from sysid_ros.cli.asked import (
    add_answers,
    add_output_arguments,
    add_robot_arguments,
    answered,
    given,
    output_file,
    write_and_tell,
)
from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.cli.pairs import pairs_of
from sysid_ros.recording.guess.options import OPTIONS
from sysid_ros.runs.initial_settings import initial_settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``sysid init``."""
    parser.add_argument('robot', type=Path, help='URDF, xacro, MJCF, or a planar mechanism in YAML')
    parser.add_argument('recording', type=Path, help='CSV, NPZ or Parquet file, or a bag')
    add_output_arguments(parser, 'the name of the recording, with .yaml')
    add_robot_arguments(parser)
    add_answers(parser, OPTIONS)


def run(options: argparse.Namespace) -> ExitCode:
    """Guess, ask, write and print."""
    output = output_file(options, Path(options.recording.stem + '.yaml'))
    settings = answered(
        lambda told: initial_settings(
            options.robot, options.recording, output.parent, told, loops=options.loops,
            xacro_arguments=dict(pairs_of(options.xacro, '--xacro'))),
        given(options, OPTIONS))
    if settings is None:
        return ExitCode.BAD_INPUT
    write_and_tell(output, settings.text(), settings.findings)
    print(f'Next: sysid check {output}\nThen: sysid fit {output} --holdout 0.3')
    return ExitCode.OK
