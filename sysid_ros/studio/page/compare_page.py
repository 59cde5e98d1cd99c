"""The step of the comparison: errors and parameters of runs beside each other, and drift."""

from __future__ import annotations

from sysid_ros.studio.commands import command_of
from sysid_ros.studio.jobs import ComparisonJob
from sysid_ros.studio.page.errors import guarded
from sysid_ros.studio.page.frame import Frame, framed
from sysid_ros.studio.page.inputs import selections
from sysid_ros.studio.page.parts import block, button, terminal, text
from sysid_ros.studio.page.progress import outcome, progress
from sysid_ros.studio.page.report_page import embedded
from sysid_ros.studio.studio import Studio
from sysid_ros.studio.tasks import Task

_LEAD = ('Did anything change: parameters of two runs or more, tested against each other by their '
         'intervals. Three or more show a drift.')
_LEAST = 2


def compare_page(studio: Studio) -> None:
    """Draw the step.

    Args:
        studio: What is shown.
    """
    with framed(studio, 'compare', _LEAD) as frame:
        with block('div', 'beside'):
            selections(
                frame, 'Runs, in the order in which they were recorded',
                lambda: studio.contents.runs, lambda: studio.choices.compared,
                lambda names: studio.choose(compared=names))
        frame.live(lambda: _key(studio), lambda: _draw(frame, studio))


def _task(studio: Studio) -> Task | None:
    return studio.task('comparison', '\n'.join(studio.choices.compared))


def _key(studio: Studio) -> object:
    task = _task(studio)
    return studio.choices.compared, len(studio.contents.runs) < _LEAST, None if task is None else (
        task.asked, task.phase, studio.is_old(task))


def _draw(frame: Frame, studio: Studio) -> None:
    runs = studio.choices.compared
    if len(runs) < _LEAST:
        text('p', 'Choose two runs or more.' if len(studio.contents.runs) >= _LEAST
             else 'The folder needs two runs for it: the step Fit makes them.', 'soft')
        return
    job, task = ComparisonJob(runs=runs), _task(studio)
    if task is None or not task.phase.active:
        button('Compare' if task is None else 'Compare again', guarded(
            lambda: studio.begin(job)), main=task is None)
        terminal(command_of(job, studio.folder.root))
    if task is None:
        return
    if task.phase.active:
        progress(frame, task)
    elif outcome(task):
        assert task.result is not None
        if studio.is_old(task):
            with block('div', 'card notice'):
                text('span', 'A run has changed since.')
        text('pre', task.result['text'], 'sheet')
        if task.result['note']:
            text('p', task.result['note'], 'soft')
        elif _is_last(studio, task):
            embedded(f'/files/comparison?{int(1000.0 * task.ended)}', 'comparison of runs')


def _is_last(studio: Studio, task: Task) -> bool:
    """Whether the page of the comparison is this one's, and no later one was written over it."""
    assert task.result is not None
    try:
        written = (studio.folder.root / task.result['page']).stat().st_mtime
    except OSError:
        return False
    # Files may have coarser times than clocks.
    return task.asked - 1.0 <= written <= task.ended + 1.0
