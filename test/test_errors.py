"""Errors of names and files: what is near, and what hinders; and that all say what to do."""

import ast
from pathlib import Path

import pytest

from sysid_ros.errors import (
    RecordingError,
    did_you_mean,
    listed,
    nearest_file,
    unreadable,
)

PACKAGE = Path(__file__).resolve().parents[1] / 'sysid_ros'
# What reads files, options and arrays that people write.
READ = ('cli', 'recording/table', 'recording/guess', 'recording/processing', 'robot/description')
READ_FILES = (
    'api/recording.py', 'api/verbs.py', 'mechanics/configuration.py', 'recording/description.py',
    'recording/transmission_settings.py', 'robot/locks.py', 'robot/loops.py', 'robot/model.py',
    'robot/rotors.py', 'runs/guessed_source.py', 'runs/sources.py')
ERRORS = ('SysidError', 'ConfigurationError', 'ModelError', 'RecordingError', 'EstimationError')


def opened(path):
    try:
        path.read_text(encoding='utf-8')
    except (OSError, UnicodeDecodeError) as error:
        return str(unreadable(RecordingError, path, error, 'Record again'))
    raise AssertionError('the file could be read')


@pytest.mark.parametrize(('name', 'nearest'), [
    ('Q7', 'q7'), ('elbwo', 'elbow'), ('ELBOW', 'elbow'), ('q1', 'q1'), ('camera', None)])
def test_a_name_finds_the_nearest_whatever_its_case(name, nearest):
    fix = did_you_mean(name, ('q1', 'q7', 'elbow'))
    assert fix == (nearest and f'Did you mean {nearest!r}')


def test_of_many_names_a_message_lists_some_and_counts_the_others():
    assert listed('abc') == 'a, b, c'
    assert listed(map(str, range(5)), most=3) == '0, 1, 2 and 2 more'


@pytest.mark.parametrize(('missing', 'nearest'), [
    ('frist.yaml', 'first.yaml'), ('first', 'first.yaml'), ('FIRST.yml', 'first.yaml'),
    ('second.yaml', None), ('other/first.yaml', None)])
def test_a_missing_file_finds_a_similar_one_beside_it(tmp_path, missing, nearest):
    (tmp_path / 'first.yaml').write_text('a: 1')
    fix = nearest_file(tmp_path / missing)
    assert fix == (nearest and f'Did you mean {str(tmp_path / nearest)!r}')


def test_a_missing_file_says_where_it_was_looked_for_and_what_to_do(tmp_path):
    assert opened(tmp_path / 'gone.csv') == (
        f'{tmp_path}/gone.csv: cannot be read: there is no such file '
        f'(found nothing of that name in {tmp_path}). Record again.')
    assert f'found no folder {tmp_path}/none' in opened(tmp_path / 'none' / 'gone.csv')


def test_a_folder_and_bytes_are_no_text_and_called_so(tmp_path):
    assert 'it is no file (found a folder)' in opened(tmp_path)
    (tmp_path / 'image').write_bytes(b'ab\xff')
    assert 'it is no text in UTF-8 (found the byte 0xff)' in opened(tmp_path / 'image')


def raised():
    """Errors that the program raises where people's files, options and arrays are read."""
    for path in sorted(path for part in READ for path in (PACKAGE / part).rglob('*.py')) + [
            PACKAGE / name for name in READ_FILES]:
        for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
            if not (isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)):
                continue
            if getattr(node.exc.func, 'id', '') in ERRORS:
                yield pytest.param(node.exc, id=f'{path.relative_to(PACKAGE)}:{node.lineno}')


@pytest.mark.parametrize('call', list(raised()))
def test_what_people_write_is_refused_with_what_to_do(call):
    assert {'fix', None}.intersection(keyword.arg for keyword in call.keywords), (
        'add fix=, an imperative clause with the line or the option to write')
