"""Figures drawn by another process are those drawn here, whatever becomes of that process."""

from __future__ import annotations

import os
import sys

import numpy as np
import pytest

from sysid_ros.report import drawing
from sysid_ros.report.drawing import Drawing, Undrawn
from sysid_ros.report.joint_axes import draw
from sysid_ros.report.joint_strips import MEASURED, JointStrips, PlottedLine, Strip


def strips(title):
    """A figure of two joints with all that one can show."""
    x = np.linspace(0.0, 10.0, 500)
    holed = np.sin(x)
    holed[100] = np.nan
    curves = (
        PlottedLine(x, holed, MEASURED, 1.2, 'measured'),
        PlottedLine(x, np.cos(x), '#0072b2', 0.9))
    return JointStrips(
        title, 'time [s]', (
            Strip('shoulder', 'rad', curves, np.array([[2.0, 1.5]])),
            Strip('elbow', 'N·m', curves, band=0.5, reach=3.0)),
        ticks=(np.array([0.0, 5.0]), ('begin', 'middle')))


@pytest.fixture
def two_processors(monkeypatch):
    monkeypatch.setattr(os, 'sched_getaffinity', lambda _: {0, 1})


def expected(tmp_path, *titles):
    """What drawing here gives."""
    files = []
    for title in titles:
        draw(tmp_path / 'here.png', strips(title))
        files.append((tmp_path / 'here.png').read_bytes())
    return files


def written(tmp_path, *titles):
    return [(tmp_path / f'{title}.png').read_bytes() for title in titles]


def test_another_process_draws_the_same(tmp_path, two_processors, monkeypatch):
    titles = ('one', 'two', 'three')
    want = expected(tmp_path, *titles)
    # Drawing here would be an error.
    monkeypatch.setitem(sys.modules, 'sysid_ros.report.joint_axes', None)
    with Drawing() as figures:
        for title in titles:
            figures.add(tmp_path / f'{title}.png', strips(title))
    assert written(tmp_path, *titles) == want


def test_a_name_of_one_folder_holds_wherever_the_program_goes(
    tmp_path, two_processors, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    with Drawing() as figures:
        figures.add('relative.png', strips('one'))
    assert written(tmp_path, 'relative') == expected(tmp_path, 'one')


@pytest.mark.parametrize('program', ['raise SystemExit(1)', 'import os; os.abort()'])
def test_figures_are_drawn_here_when_the_process_fails(
    tmp_path, two_processors, monkeypatch, program
):
    monkeypatch.setattr(drawing, '_PROGRAM', program)
    with Drawing() as figures:
        figures._process.wait()
        for title in ('one', 'two'):
            figures.add(tmp_path / f'{title}.png', strips(title))
    assert written(tmp_path, 'one', 'two') == expected(tmp_path, 'one', 'two')


def test_figures_are_drawn_here_where_no_process_can_be_started(
    tmp_path, two_processors, monkeypatch
):
    monkeypatch.setattr(sys, 'executable', str(tmp_path / 'absent'))
    with Drawing() as figures:
        figures.add(tmp_path / 'one.png', strips('one'))
    assert written(tmp_path, 'one') == expected(tmp_path, 'one')


def test_one_processor_starts_no_process(tmp_path, monkeypatch):
    monkeypatch.setattr(os, 'sched_getaffinity', lambda _: {0})
    monkeypatch.setattr(drawing, '_PROGRAM', 'this is no Python')
    with Drawing() as figures:
        assert figures._process is None
        figures.add(tmp_path / 'one.png', strips('one'))
    assert written(tmp_path, 'one') == expected(tmp_path, 'one')


def test_a_process_that_was_started_before_draws(tmp_path, two_processors):
    figures = Drawing()
    figures.start()
    process = figures._process
    with figures:
        assert figures._process is process
        figures.add(tmp_path / 'one.png', strips('one'))
    assert process.returncode == 0
    assert written(tmp_path, 'one') == expected(tmp_path, 'one')


def test_nothing_is_drawn_for_who_asks_later(tmp_path, two_processors):
    with Undrawn() as figures:
        assert figures._process is None
        figures.add(tmp_path / 'one.png', strips('one'))
    assert not (tmp_path / 'one.png').exists()


def test_a_process_that_nothing_was_drawn_by_is_ended(two_processors):
    figures = Drawing()
    figures.start()
    process, folder = figures._process, figures._folder.name
    figures.end()
    assert process.poll() is not None
    assert not os.path.exists(folder)


def test_an_error_of_the_work_ends_the_process_and_draws_nothing(tmp_path, two_processors):
    with pytest.raises(ZeroDivisionError), Drawing() as figures:
        process, folder = figures._process, figures._folder.name
        raise ZeroDivisionError
    assert process.poll() is not None
    assert not os.path.exists(folder)


def test_a_figure_that_cannot_be_written_is_an_error(tmp_path, two_processors):
    with pytest.raises(OSError, match='absent'), Drawing() as figures:
        figures.add(tmp_path / 'absent' / 'one.png', strips('one'))
