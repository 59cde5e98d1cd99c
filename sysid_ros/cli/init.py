"""Write a settings file for a recording: format, columns, joints and units are guessed from it.

Every guess is shown with what speaks for it. What the recording does not tell is asked, or has to
be said by an option where nobody can be asked.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from pathlib import Path

from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.cli.pairs import pairs_of
from sysid_ros.errors import ConfigurationError, SysidError
from sysid_ros.recording.guess.evidence import OpenQuestionsError, Question
from sysid_ros.recording.guess.options import OPTIONS
from sysid_ros.release.atomic import write_atomically
from sysid_ros.runs.initial_settings import InitialSettings, initial_settings

_LONGEST = 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``sysid init``."""
    parser.add_argument('robot', type=Path, help='URDF, xacro or MJCF file')
    parser.add_argument('recording', type=Path, help='CSV or NPZ file, or a bag')
    parser.add_argument(
        '-o', '--output', type=Path, metavar='FILE',
        help='settings file; by default the name of the recording, with .yaml')
    parser.add_argument('--force', action='store_true', help='write over an existing file')
    parser.add_argument(
        '--loops', type=Path, metavar='FILE', help='YAML file that closes the loops of the robot')
    parser.add_argument(
        '--xacro', action='append', default=[], metavar='NAME=VALUE',
        help='argument for xacro; may be repeated')
    for option, (metavar, text) in OPTIONS.items():
        parser.add_argument(f'--{option}', metavar=metavar, help=text)


def run(options: argparse.Namespace) -> ExitCode:
    """Guess, ask, write and print."""
    output = options.output or Path(options.recording.stem + '.yaml')
    if output.exists() and not options.force:
        raise ConfigurationError(
            'the settings file is there already', where=str(output),
            fix='Name another one with -o, or write over it with --force')
    told = {
        option: value for option in OPTIONS
        if (value := getattr(options, option.replace('-', '_'))) is not None}
    # File names in it are relative to this folder.
    output.parent.mkdir(parents=True, exist_ok=True)
    settings = _answered(options, output, told)
    if settings is None:
        return ExitCode.BAD_INPUT
    write_atomically(output, settings.text().encode())
    for finding in settings.findings:
        print(textwrap.fill(
            f'{finding.subject:10}{finding.value} ({finding.evidence})', _LONGEST,
            subsequent_indent=' ' * 12))
    print(
        f'\nWritten to {output}\nNext: sysid check {output}\n'
        f'Then: sysid fit {output} --holdout 0.3')
    return ExitCode.OK


def _answered(
    options: argparse.Namespace, output: Path, told: dict[str, str]
) -> InitialSettings | None:
    """Settings, once all questions have an answer; None where nobody answers."""
    while True:
        try:
            return initial_settings(
                options.robot, options.recording, output.parent, told, loops=options.loops,
                xacro_arguments=dict(pairs_of(options.xacro, '--xacro')))
        except OpenQuestionsError as open_questions:
            if not sys.stdin.isatty():
                _print_open(open_questions)
                return None
            for question in open_questions.questions:
                told[question.option] = _ask(question)
        except SysidError as error:
            if not (told and sys.stdin.isatty()):
                raise
            raise ConfigurationError(f'with what was answered: {error}') from error


def _ask(question: Question) -> str:
    print(f'{question.text}\n  {question.found}')
    while not (answer := input(f'  [such as {question.example}] ').strip()):
        pass
    return answer


def _print_open(open_questions: OpenQuestionsError) -> None:
    """Questions, with the option that answers each, on standard error."""
    for question in open_questions.questions:
        print(f'sysid: {question.text}\n  Found: {question.found}\n'
              f'  Say it: --{question.option} {question.example}', file=sys.stderr)
