"""The page of commits: the shadow test, the commit, who runs what, and the way back."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from nicegui import ui

from sysid_ros.studio.live.choices import LONGEST_SHADOW
from sysid_ros.studio.live.panel import Panel
from sysid_ros.studio.live.views import RevisionEntry
from sysid_ros.studio.page.errors import guarded
from sysid_ros.studio.page.inputs import quantity
from sysid_ros.studio.page.live.activity_view import activity_view
from sysid_ros.studio.page.live.fit_page import estimate_selection, estimate_view
from sysid_ros.studio.page.live.frame import LiveFrame, live_framed
from sysid_ros.studio.page.live.motion_page import motion_buttons, motion_selection
from sysid_ros.studio.page.parts import (
    NONE,
    Column,
    block,
    button,
    heading,
    light,
    number,
    table,
    text,
)

_LEAD = ('Controllers run on what is committed, and every commit can be taken back. The shadow '
         'test compares, on the motion just played, what the estimate and the revision that runs '
         'predict.')
# Longest comment that a store takes.
_COMMENT = 200


def commit_page(panel: Panel) -> None:
    """Draw the page.

    Args:
        panel: What is shown.
    """
    with live_framed(panel, 'commit', _LEAD) as frame:
        with block('div', 'beside'):
            estimate_selection(frame)
        frame.live(lambda: panel.choices.estimate, lambda: estimate_view(panel, report=False))
        _shadow(frame)
        _commit(frame)
        activity_view(frame, 'release')
        heading('Who runs what')
        frame.live(lambda: panel.state.revisions, lambda: _consumers(panel))
        heading('Revisions')
        frame.live(lambda: (panel.state.revisions.entries, frame.operates, _busy(panel)),
                   lambda: _history(frame))


def _shadow(frame: LiveFrame) -> None:
    """A motion to try the estimate on."""
    with block('div', 'card'):
        text('strong', 'Shadow test')
        text('p', 'Play a motion; what both predict of its last seconds decides. Without torque '
             'sensors there is none: leave it at 0.', 'soft')
        with block('div', 'beside'):
            motion_selection(frame)
            quantity(frame, 'Last seconds that count [s]; 0: no test', 0.0, LONGEST_SHADOW, 0.5,
                     lambda: frame.panel.choices.shadow,
                     lambda seconds: frame.panel.choose(shadow=seconds))
        motion_buttons(frame)
        activity_view(frame, 'motion')


def _busy(panel: Panel) -> bool:
    activity = panel.activity('release')
    return activity is not None and activity.active


def _commit(frame: LiveFrame) -> None:
    panel = frame.panel
    with block('div', 'beside'):
        comment = ui.input('Comment, kept with the revision').props(
            f'outlined dense maxlength={_COMMENT}').classes('grow')
        made = button('Commit', guarded(lambda: panel.begin_commit(
            frame.tab, (comment.value or '').strip())), main=True,
            hint='controllers use the estimate from then on')

    def update() -> None:
        made.set_enabled(
            frame.operates and bool(panel.choices.estimate) and not _busy(panel))

    update()
    frame.follow(made, update)


def _consumers(panel: Panel) -> None:
    revisions = panel.state.revisions
    current = revisions.current
    if current is None:
        with block('div', 'card notice'):
            text('span', 'The model server has not said yet which revision it hands out.')
        return
    text('p', f'{current.revision} is handed out: {_what(current)}.')
    rows: list[list[str | Callable[[], Any]]] = [
        [name, partial(light, 'good', 'runs it')] for name in revisions.acknowledged]
    rows += [[name, partial(light, 'look', 'runs another one')] for name in revisions.outdated]
    if rows:
        table('who runs the current revision', [Column('Node'), Column('State')], rows)
    else:
        text('p', 'Nobody has said yet that it runs it.', 'soft')


def _what(entry: RevisionEntry) -> str:
    if entry.restored:
        return f'{entry.kind} to {entry.restored}'
    return f'{entry.kind} of {entry.estimate}' if entry.estimate else entry.kind


def _history(frame: LiveFrame) -> None:
    entries = frame.panel.state.revisions.entries
    if not entries:
        text('p', 'No revision is known yet.', 'soft')
        return
    table('revisions, the newest first', [
        Column('Revision'), Column('When'), Column('What it is'),
        Column('Held-out error', 'held-out', figure=True), Column('Comment'), Column('')], [
        [entry.revision, time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(entry.stamp)),
         _what(entry), _percent(entry.error), entry.comment,
         partial(_return, frame, entry)] for entry in entries])


def _percent(part: float) -> str:
    return f'{number(100.0 * part, 3)} %' if math.isfinite(part) else NONE


def _return(frame: LiveFrame, entry: RevisionEntry) -> None:
    """What hands a revision out again."""
    if entry.current:
        light('good', 'handed out')
        return
    made = button('Roll back to it', guarded(
        lambda: frame.panel.begin_rollback(frame.tab, entry.revision)), hint=entry.revision)
    made.props('dense')
    if not frame.operates or _busy(frame.panel):
        made.disable()
