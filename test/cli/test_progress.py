"""Progress of a step on standard error, at a terminal and in a file."""

from __future__ import annotations

import io
import re
import threading
import time
from contextlib import redirect_stderr

import numpy as np
import pytest

from sysid_ros.cli.progress import counting, stage
from sysid_ros.numerics.forked import forked_map
from sysid_ros.numerics.progress import shown_by, tell, work


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


def test_a_step_at_a_terminal_says_what_is_done_of_its_work_and_the_time_left(monkeypatch):
    times = iter([0.0, 1.0, 5.0, 5.01, 9.0, 12.0])
    monkeypatch.setattr(time, 'perf_counter', lambda: next(times))
    with redirect_stderr(Terminal()) as terminal, stage('Reading'), work('the friction model'):
        tell(1, 3)
        # Sooner than anybody could read.
        tell(2, 3)
        tell(2, 3)
    shown = terminal.getvalue().split('\r\x1b[K')
    assert shown[:-1] == [
        'Reading …', 'Reading … the friction model',
        'Reading … the friction model, 1 of 3, about 8 s left',
        'Reading … the friction model, 2 of 3, about 4 s left']


def test_a_file_gets_nothing_of_how_far_a_step_is():
    with redirect_stderr(io.StringIO()) as stream, stage('Reading'), work('rows'):
        tell(1, 2)
    assert 'rows' not in stream.getvalue()


def test_what_is_told_when_nobody_asked_is_not_shown(capsys):
    with work('rows'):
        tell(1, 2)
    assert capsys.readouterr() == ('', '')


def test_a_line_is_no_longer_than_the_terminal(monkeypatch):
    monkeypatch.setenv('COLUMNS', '20')
    with redirect_stderr(Terminal()) as terminal, stage('Reading'), work('a long word ' * 5):
        pass
    assert len(terminal.getvalue().split('\r\x1b[K')[1]) == 19


def test_work_that_is_shared_by_forks_tells_how_much_was_taken():
    told = []
    with shown_by(lambda *said: told.append(said)), work('candidates'):
        forked_map(lambda number: (np.array([number]),), 6)
    assert told[0] == ('candidates', 0, 0)
    parts = [done for _, done, count in told[1:] if count == 6]
    assert parts == sorted(parts) and parts[0] >= 0 and parts[-1] <= 5 and len(told) > 1
