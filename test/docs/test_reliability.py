"""docs/reliability.md: what is said to be measured has a command that exists, with its options."""

import re
import shlex
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
PAGE = PROJECT / 'docs' / 'reliability.md'
MAKEFILE = PROJECT / 'Makefile'
ROW = re.compile(r'^\| ([^|]+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$', re.MULTILINE)
COMMAND = re.compile(r'`((?:make|python) [^`]+)`')
ROWS = [row for row in ROW.findall(PAGE.read_text(encoding='utf-8')) if row[0] != 'what'][1:]
COMMANDS = sorted({
    command for row in ROWS for cell in row[2:] for command in COMMAND.findall(cell)})


def problems(command):
    """What a command names that does not exist."""
    program, *words = shlex.split(command)
    if program == 'make':
        yield from _problems_of_make(words)
    elif words[:2] == ['-m', 'pytest']:
        yield from _problems_of_pytest(words[2:])
    else:
        yield from _problems_of_script(words)


def _problems_of_make(words):
    text = MAKEFILE.read_text(encoding='utf-8')
    target, *variables = words
    if not re.search(rf'^{target}:', text, re.MULTILINE):
        yield f'make has no target {target}'
    for name, _, value in (variable.partition('=') for variable in variables):
        if not re.search(rf'^{name} \?=', text, re.MULTILINE):
            yield f'make takes no {name}'
        if '/' in value and not any(PROJECT.glob(value)):
            yield f'there is no {value}'


def _problems_of_pytest(words):
    for word in words:
        if word.startswith('test'):
            file, _, name = word.partition('::')
            path = PROJECT / file
            if not path.exists():
                yield f'there is no {file}'
            elif name and f'def {name}(' not in path.read_text(encoding='utf-8'):
                yield f'{file} has no {name}'


def _problems_of_script(words):
    script = PROJECT / words[0]
    if not script.is_file():
        yield f'there is no {words[0]}'
        return
    text = script.read_text(encoding='utf-8')
    for word in words[1:]:
        if word.startswith('-') and f"'{word}'" not in text:
            yield f'{words[0]} takes no {word}'
        if '/' in word and not any(PROJECT.glob(word)):
            yield f'there is no {word}'


def test_the_page_has_rows_and_commands():
    assert len(ROWS) > 15
    assert len(COMMANDS) > 10


@pytest.mark.parametrize('command', COMMANDS)
def test_the_command_of_a_row_exists_with_what_it_names(command):
    assert list(problems(command)) == []


@pytest.mark.parametrize('row', ROWS, ids=[row[0] for row in ROWS])
def test_a_row_without_a_command_says_that_it_was_not_measured(row):
    what, _, command, number = row
    assert COMMAND.findall(command) or (command == '–' and 'not measured' in number) \
        or command == 'the same', what


@pytest.mark.parametrize('command', [
    'make test-nothing', 'make test-random NOTHING=3', 'make test-random PYTEST_ARGS=test/nowhere',
    'python benchmarks/nothing.py', 'python benchmarks/mutants.py --nothing',
    'python benchmarks/mutants.py --modules sysid_ros/nowhere.py',
    'python -m pytest test/nowhere.py', 'python -m pytest test/docs/test_faults.py::test_nothing',
])
def test_a_command_that_does_not_exist_would_be_found(command):
    assert list(problems(command))
