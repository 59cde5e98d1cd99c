"""docs/faults.md: every fault has a row, and every row tests that are there and are run."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
PAGE = TESTS.parent / 'docs' / 'faults.md'
FAULTS = 92
ROW = re.compile(r'^\| (\d+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$', re.MULTILINE)
TEST = re.compile(r'`([\w/]+\.py)::(\w+)`')
# Skipped, expected to fail whatever happens, or run on one commit in three, a test does not gate.
IDLE = ('pytest.mark.skip', 'pytest.mark.xfail', 'pytest.mark.slow')


def rows(text):
    """Number, fault, outcome and tests of each row of the page."""
    for number, fault, outcome, tests in ROW.findall(text):
        yield int(number), fault, outcome, TEST.findall(tests)


@functools.cache
def run_tests(file):
    """Names of the tests of a file that pytest collects and runs."""
    if not re.fullmatch(r'test_\w+\.py', file.name) or not file.is_file():
        return frozenset()
    return frozenset(
        node.name for node in ast.parse(file.read_text(encoding='utf-8')).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith('test_')
        and not any(ast.unparse(each).partition('(')[0] in IDLE for each in node.decorator_list))


def missing(tests):
    """Tests that are named and are not run."""
    return [f'{file}::{name}' for file, name in tests if name not in run_tests(TESTS / file)]


ROWS = tuple(rows(PAGE.read_text(encoding='utf-8')))


def test_every_fault_has_one_row_in_its_order():
    assert [number for number, *_ in ROWS] == list(range(1, FAULTS + 1))


@pytest.mark.parametrize(
    ('number', 'fault', 'outcome', 'tests'), ROWS, ids=[str(number) for number, *_ in ROWS])
def test_a_fault_is_gated_by_tests_that_are_run(number, fault, outcome, tests):
    assert tests, f'fault {number} ({fault.strip()}: {outcome.strip()}) has no test'
    assert not missing(tests)


def test_numbers_of_tests_are_those_of_faults():
    """``test_45_...`` and ``test_34_44_...`` are about the faults that their names begin with."""
    found = {
        int(number)
        for file in TESTS.rglob('test_*.py') for name in run_tests(file)
        for number in re.match(r'test_((?:\d\d_(?!percent))*)', name)[1].split('_') if number}
    # 00 is a stream without any.
    assert found <= set(range(FAULTS + 1))
    assert len(found) > FAULTS // 2


def test_a_row_without_a_test_that_runs_would_be_found(tmp_path):
    file = tmp_path / 'test_some.py'
    file.write_text(
        'def test_one(): ...\n@pytest.mark.skip(reason="slow")\ndef test_two(): ...\n'
        'def helper(): ...\n')
    assert run_tests(file) == {'test_one'}
    assert not run_tests(tmp_path / 'some.py') and not run_tests(tmp_path / 'test_none.py')
    (row,) = rows('| 7 | it breaks | it says so | `a/test_b.py::test_c`<br>`test_d.py::test_e` |')
    assert row[:3] == (7, 'it breaks', 'it says so')
    assert row[3] == [('a/test_b.py', 'test_c'), ('test_d.py', 'test_e')]
    assert missing(row[3]) == ['a/test_b.py::test_c', 'test_d.py::test_e']
