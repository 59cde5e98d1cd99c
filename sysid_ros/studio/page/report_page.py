"""The step of the report: the verdict of a run, and its page."""

from __future__ import annotations

from urllib.parse import quote

from sysid_ros.errors import SysidError
from sysid_ros.runs.report_files import PAGE
from sysid_ros.runs.run_files import read_verdict
from sysid_ros.studio.error_notes import error_note
from sysid_ros.studio.jobs import PageJob
from sysid_ros.studio.page.errors import error_card, guarded
from sysid_ros.studio.page.frame import Frame, framed
from sysid_ros.studio.page.inputs import selection
from sysid_ros.studio.page.parts import block, button, text
from sysid_ros.studio.page.progress import outcome, progress
from sysid_ros.studio.page.verdict import verdict_card
from sysid_ros.studio.studio import Studio

_LEAD = ('Is it good: every torque, residual and parameter of a run, and the robot before and '
         'after.')


def report_page(studio: Studio) -> None:
    """Draw the step.

    Args:
        studio: What is shown.
    """
    with framed(studio, 'report', _LEAD) as frame:
        run_selection(frame, studio)
        frame.live(lambda: _key(studio), lambda: _draw(frame, studio))


def run_selection(frame: Frame, studio: Studio) -> None:
    """What chooses the run that is shown.

    Args:
        frame: The page.
        studio: What is shown.
    """
    with block('div', 'beside'):
        selection(
            frame, 'Run', lambda: {name: name for name in studio.contents.runs},
            lambda: studio.choices.run, lambda name: studio.choose(run=name))
    frame.live(lambda: bool(studio.contents.runs), lambda: _nothing(studio))


def _nothing(studio: Studio) -> None:
    if not studio.contents.runs:
        with block('div', 'card notice'):
            text('span', 'There is no run in the folder yet: the step Fit makes one.')


def _stamp(studio: Studio, run: str) -> int:
    """When the page of a run was written; 0 where there is none."""
    try:
        return (studio.folder.root / run / PAGE).stat().st_mtime_ns
    except OSError:
        return 0


def _key(studio: Studio) -> object:
    run = studio.choices.run
    task = studio.task('page', run)
    return run, _stamp(studio, run), None if task is None else (task.asked, task.phase)


def _draw(frame: Frame, studio: Studio) -> None:
    run = studio.choices.run
    if not run:
        return
    try:
        verdict_card(read_verdict(studio.folder.root / run))
    except SysidError as error:
        error_card(error_note(error))
    task, stamp = studio.task('page', run), _stamp(studio, run)
    if task is not None and task.phase.active:
        progress(frame, task)
    elif stamp:
        embedded(f'/files/reports/{quote(run)}?{stamp}', f'report of {run}')
    else:
        if task is not None:
            outcome(task)
        text('p', 'The run has no page.', 'soft')
        button('Write its page', guarded(lambda: studio.begin(PageJob(run=run))), main=True)


def embedded(address: str, title: str) -> None:
    """A page of a file, which may run its own scripts and reach nothing else.

    Args:
        address: Where it is.
        title: What it is, for screen readers.
    """
    frame = block('iframe', 'frame')
    frame.props.update({
        'src': address, 'title': title, 'sandbox': 'allow-scripts',
        'referrerpolicy': 'no-referrer'})
    with block('p'):
        link = text('a', 'Open it in a tab of its own')
        link.props.update({'href': address, 'target': '_blank', 'rel': 'noreferrer'})
