"""What the verbs that write a first settings file share: options, questions, the file, evidence."""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from sysid_ros.errors import ConfigurationError, SysidError
from sysid_ros.recording.guess.evidence import Finding, OpenQuestionsError, Question
from sysid_ros.release.atomic import write_atomically

_LONGEST = 100
Settings = TypeVar('Settings')


def add_output_arguments(parser: argparse.ArgumentParser, usual: str) -> None:
    """Arguments that say where the file goes.

    Args:
        parser: The verb's.
        usual: What it is called by default, in words.
    """
    parser.add_argument(
        '-o', '--output', type=Path, metavar='FILE', help=f'file to write; by default {usual}')
    parser.add_argument('--force', action='store_true', help='write over an existing file')


def add_robot_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments that go with a robot description."""
    parser.add_argument(
        '--loops', type=Path, metavar='FILE', help='YAML file that closes the loops of the robot')
    parser.add_argument(
        '--xacro', action='append', default=[], metavar='NAME=VALUE',
        help='argument for xacro; may be repeated')


def add_answers(
    parser: argparse.ArgumentParser, options: Mapping[str, tuple[str, str]]
) -> None:
    """Options that answer what would be asked.

    Args:
        parser: The verb's.
        options: Placeholder of the value, and what it is, by the name of the option.
    """
    for option, (metavar, text) in options.items():
        parser.add_argument(f'--{option}', metavar=metavar, help=text.replace('%', '%%'))


def given(
    options: argparse.Namespace, names: Mapping[str, tuple[str, str]]
) -> dict[str, str]:
    """Answers that the command line gives already, by the name of the option."""
    return {
        option: value for option in names
        if (value := getattr(options, option.replace('-', '_'))) is not None}


def output_file(options: argparse.Namespace, usual: Path) -> Path:
    """The file to write, in a folder that exists: file names in it are relative to that.

    Raises:
        ConfigurationError: It is there already, and may not be written over.
    """
    output: Path = options.output or usual
    if output.exists() and not options.force:
        raise ConfigurationError(
            'the settings file is there already', where=str(output),
            fix='Name another one with -o, or write over it with --force')
    output.parent.mkdir(parents=True, exist_ok=True)
    return output


def answered(
    make: Callable[[dict[str, str]], Settings], told: dict[str, str]
) -> Settings | None:
    """Settings, once all questions have an answer; None where nobody answers.

    Args:
        make: Makes them of the answers there are, by the name of the option.
        told: Answers that the command line gives.

    Raises:
        SysidError: Something cannot be used, or an answer cannot.
    """
    while True:
        try:
            return make(told)
        except OpenQuestionsError as open_questions:
            if not sys.stdin.isatty():
                _print_open(open_questions)
                return None
            for question in open_questions.questions:
                told[question.option] = _ask(question)
        except SysidError as error:
            if not (told and sys.stdin.isatty()):
                raise
            raise ConfigurationError(
                f'with what was answered: {error}',
                fix='Run it again, with other answers') from error


def write_and_tell(output: Path, text: str, findings: Sequence[Finding]) -> None:
    """Write the file, and print what speaks for it."""
    write_atomically(output, text.encode())
    print_findings(findings)
    print(f'\nWritten to {output}')


def print_findings(findings: Sequence[Finding]) -> None:
    """Print what was guessed, and what speaks for it."""
    for finding in findings:
        print(textwrap.fill(
            f'{finding.subject:9} {finding.value} ({finding.evidence})', _LONGEST,
            subsequent_indent=' ' * 12))


def _ask(question: Question) -> str:
    """The answer to a question.

    Raises:
        ConfigurationError: The input ended instead.
    """
    print(f'{question.text}\n  {question.found}')
    try:
        while not (answer := input(f'  [such as {question.example}] ').strip()):
            pass
    except EOFError as error:
        print()
        raise ConfigurationError(
            'a question was not answered, and nothing was written', where=question.text,
            fix=f'Say it: --{question.option} {question.example}') from error
    return answer


def _print_open(open_questions: OpenQuestionsError) -> None:
    """Questions, with the option that answers each, on standard error."""
    for question in open_questions.questions:
        print(f'sysid: {question.text}\n  Found: {question.found}\n'
              f'  Say it: --{question.option} {question.example}', file=sys.stderr)
