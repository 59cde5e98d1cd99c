"""Progress of a step on standard error, at a terminal and in a file."""

from __future__ import annotations

import io
import re
import threading
from contextlib import redirect_stderr

import pytest

from sysid_ros.cli.progress import counting, stage


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_file_gets_one_line_when_a_step_is_done():
    with redirect_stderr(io.StringIO()) as stream, stage('Reading'):
        assert not stream.getvalue()
    assert re.fullmatch(r'Reading: \d+\.\d s\n', stream.getvalue())


def test_a_terminal_shows_a_step_that_is_under_way_and_then_its_time_in_its_place():
    with redirect_stderr(Terminal()) as terminal, stage('Reading'):
        assert terminal.getvalue() == 'Reading …'
    assert re.fullmatch(
        'Reading …\r\x1b\\[K\x1b\\[2mReading: \\d+\\.\\d s\x1b\\[0m\n', terminal.getvalue())


def test_an_error_gets_a_line_of_its_own():
    terminal = Terminal()
    with redirect_stderr(terminal), pytest.raises(KeyError), stage('Reading'):
        raise KeyError
    assert terminal.getvalue() == 'Reading …\n'


def test_no_thread_is_started_that_would_keep_the_process_from_being_forked():
    before = threading.active_count()
    with redirect_stderr(Terminal()), stage('Reading'):
        assert threading.active_count() == before


def test_a_terminal_has_one_line_of_how_far_work_is():
    with redirect_stderr(Terminal()) as terminal, counting() as show:
        show('1 of 2')
        show('2 of 2')
    assert terminal.getvalue() == '\r\x1b[K1 of 2\r\x1b[K2 of 2\n'


def test_a_file_gets_the_first_line_and_the_last_of_work_that_is_soon_done():
    with redirect_stderr(io.StringIO()) as stream, counting() as show:
        for number in range(1, 6):
            show(f'{number} of 5')
    assert stream.getvalue() == '1 of 5\n5 of 5\n'
