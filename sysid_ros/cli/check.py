"""Say whether a recording is good enough to be fitted: stamps, motion, encoders, efforts.

The verdict is about the data alone, in seconds, before any fit: traffic lights, what each joint
did, and the settings or the motion that would mend what is poor. A bag or a table needs no settings
file: what sysid init would write is guessed, and shown. With --live it is said every 2 s
while a bag grows, until it ends or Ctrl-C is pressed; with --topic the bag is recorded, too.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from sysid_ros.cli.asked import print_findings
from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.cli.ros_process import begin
from sysid_ros.errors import ConfigurationError, RecordingError
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.estimation.identification import Identification
from sysid_ros.runs.guessed_source import GuessedSource, needs_guess
from sysid_ros.runs.live_check import GrowingBag, LiveCheck, follow
from sysid_ros.runs.recording_check import RecordingCheck, check_recording
from sysid_ros.runs.sources import SETTINGS, load_source

# How long a process that records may take to complete the bag, in [s].
_COMPLETION = 60.0
# Lines of a terminal: to the beginning of the one before, and all below it is erased.
_UP, _ERASE = '\x1b[F', '\x1b[J'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``sysid check``."""
    parser.add_argument(
        'recording', type=Path, metavar='RECORDING',
        help='settings file (YAML), folder of a recording, a bag, or a CSV, NPZ or Parquet file')
    parser.add_argument(
        '--settings', type=Path, metavar='FILE',
        help='settings file that says of a bag what robot it is of')
    parser.add_argument(
        '--robot', type=Path, metavar='FILE',
        help='URDF, xacro or MJCF of the robot, where there is no settings file; by default the '
        '/robot_description that the bag has')
    parser.add_argument(
        '--base', type=Path, help="folder that file names are relative to; the settings file's own")
    parser.add_argument('--json', action='store_true', help='print plain values for programs')
    live = parser.add_argument_group('while it is recorded')
    live.add_argument(
        '--live', action='store_true',
        help='judge a bag every 2 s while it grows; Ctrl-C ends it with the last judgement')
    live.add_argument(
        '--topic', metavar='TOPIC',
        help='with --live: record this topic of joint states to RECORDING, a new folder')
    live.add_argument(
        '--effort-topic', metavar='TOPIC', help='the same of the efforts, where it is another one')
    live.add_argument(
        '--patience', type=float, default=60.0, metavar='SECONDS',
        help='a bag has ended when nothing was written for so long; 60 by default')


def run(options: argparse.Namespace) -> ExitCode:
    """Read, look and print."""
    if options.live:
        checked = _record(options) if options.topic else _follow(options)
    elif options.topic or options.effort_topic:
        raise ConfigurationError(
            'a topic is recorded while it is judged', where='--topic, --effort-topic',
            fix='Add --live')
    elif needs_guess(options.recording, options.settings):
        checked = _guessed(options)
    else:
        checked = check_recording(FitSetup.of(_source(options)))
    print(json.dumps(checked.to_json()) if options.json else checked.text())
    return ExitCode.OK if checked.usable else ExitCode.NOT_COMMITTABLE


def _guessed(options: argparse.Namespace) -> RecordingCheck:
    """Judge a recording that nobody has described."""
    with tempfile.TemporaryDirectory(prefix='sysid_check_') as folder:
        guess = GuessedSource.of(options.recording, options.robot, Path(folder))
        if not options.json:
            print_findings(guess.findings)
            print()
        return check_recording(FitSetup.of(guess.identification))


def _source(options: argparse.Namespace) -> Identification:
    return load_source(options.recording, options.settings, options.base)


def _follow(options: argparse.Namespace) -> RecordingCheck:
    """Judge a bag that somebody records."""
    path = options.recording
    if options.settings is None and path.suffix in ('.yaml', '.yml'):
        source = _source(options)
        path = source.base / (source.settings.recording.file or '')
    bag = GrowingBag(path, options.patience)
    return follow(LiveCheck(lambda: _source(options)), bag.growing, _shown())


def _record(options: argparse.Namespace) -> RecordingCheck:
    """Record a topic, and judge it meanwhile."""
    folder = options.recording
    if options.settings is None:
        raise ConfigurationError(
            'it is not said which robot the joint states are of', where='--topic',
            fix='Add --settings FILE, with the sections robot, processing and fit')
    topics = [options.topic, *([options.effort_topic] if options.effort_topic else [])]

    def recorded() -> Identification:
        if not (folder / SETTINGS).is_file():
            raise RecordingError(
                'nothing is recorded yet', where=str(folder),
                fix='Wait for the first message, or name a topic that is published')
        return load_source(folder)

    process = begin(
        'sysid_ros.nodes.bag_recording',
        [json.dumps({'folder': str(folder), 'settings': str(options.settings), 'topics': topics,
                     'parent': os.getpid()})])
    check = LiveCheck(recorded)
    try:
        return follow(
            check, lambda: process.poll() is None, _shown(), ended=lambda: _complete(process))
    finally:
        if process.poll() is None:
            process.kill()


def _complete(process: subprocess.Popen[bytes]) -> None:
    """Let the process complete the bag, which the same Ctrl-C tells to.

    Raises:
        RecordingError: It could not.
    """
    if process.poll() is None:
        process.terminate()
    if process.wait(_COMPLETION):
        raise RecordingError(
            'the topic was not recorded', where='--topic', found=f'exit code {process.returncode}',
            fix='See what the recording process says above')


def _shown() -> Callable[[str], None]:
    """Prints a table in the place of the one before, where somebody sees it."""
    if not sys.stdout.isatty():
        return lambda text: print(text, flush=True)
    lines = 0

    def show(text: str) -> None:
        nonlocal lines
        print(f'{_UP * lines}{_ERASE if lines else ""}{text}', flush=True)
        lines = text.count('\n') + 1

    return show
