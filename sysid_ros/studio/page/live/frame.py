"""What every page of a robot has: the steps, the stop, who operates, and what the robot does."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nicegui import ui

from sysid_ros.studio.live.panel import Panel
from sysid_ros.studio.page.drawing import PRIMARY, STYLE, Drawing
from sysid_ros.studio.page.errors import guarded
from sysid_ros.studio.page.parts import block, button, light, text

#: Pages: address and name of each.
PAGES = (('robot', 'Robot'), ('motion', 'Motion'), ('fit', 'Fit'), ('commit', 'Commit'))
#: Script of every page: the stop, the hold, and the traces.
SCRIPT = Path(__file__).with_name('live.js')
# Time between two looks for something new, and for which a stop is spoken of, in [s].
_OFTEN, _SPOKEN = 0.25, 10.0


class LiveFrame(Drawing):
    """A page of one browser tab.

    Args:
        panel: What is shown.
        page: Address of the page.
    """

    def __init__(self, panel: Panel, page: str) -> None:
        super().__init__()
        self.panel, self.page = panel, page
        self._client = ui.context.client

    @property
    def tab(self) -> str:
        """Id of the tab; empty before its socket is open, and after it is closed."""
        return self._client.tab_id or ''

    @property
    def address(self) -> str:
        """Where the browser is."""
        return self._client.ip or ''

    @property
    def operates(self) -> bool:
        """Whether the tab has the controls."""
        return self.panel.controls.holds(self.tab)


@contextmanager
def live_framed(panel: Panel, page: str, lead: str) -> Iterator[LiveFrame]:
    """A page, which is drawn within ``with``.

    Args:
        panel: What is shown.
        page: Its address.
        lead: What it is for, in a sentence.
    """
    name = dict(PAGES)[page]
    frame = LiveFrame(panel, page)
    ui.colors(primary=PRIMARY)
    ui.add_css(STYLE.read_text(encoding='utf-8'))
    ui.add_css(STYLE.with_name('live').joinpath('live.css').read_text(encoding='utf-8'))
    ui.add_head_html('<script src="/live/live.js" defer></script>')
    ui.page_title(f'{name} · {panel.robot}')
    skip = text('a', 'To the page', 'skip')
    _bar(frame)
    with block('section', 'step') as place:
        place.props['tabindex'] = '-1'
        skip.props['href'] = f'#{place.html_id}'
        _connection()
        frame.live(lambda: _stop_key(frame), lambda: _stopped(frame))
        frame.live(lambda: _controls_key(frame), lambda: _controls(frame))
        text('h2', name)
        text('p', lead, 'lead')
        yield frame
    ui.keyboard(on_key=lambda event: _go(event, page))
    ui.timer(_OFTEN, frame.draw_changes)


def _bar(frame: LiveFrame) -> None:
    with block('header', 'bar live') as bar:
        # What the script of the page knows of it.
        bar.props.update({'data-page': ui.context.client.id, 'id': 'live-bar'})
        with block('div', 'title'):
            text('h1', frame.panel.robot)
            frame.live(lambda: _motion_in_words(frame.panel), lambda: _motion_line(frame.panel))
        with block('nav') as nav:
            nav.props['aria-label'] = 'pages'
            with block('ul', 'steps'):
                for number, (address, name) in enumerate(PAGES, start=1):
                    with block('li'):
                        link = text('a', name)
                        link.props.update({
                            'href': f'/{address}', 'title': f'Key {number}',
                            **({'aria-current': 'page'} if address == frame.page else {})})
        # It is the browser's own button: it works while the library is still loading, or is lost.
        stop = text('button', 'STOP', 'stop')
        stop.props.update({
            'type': 'button', 'data-stop': '', 'aria-label': 'Stop the robot',
            'aria-keyshortcuts': 'Space', 'title': 'Stops the robot; the space bar does the same'})


def _connection() -> None:
    """What the script of the page says when it does not hear the node."""
    lost = block('div', 'card error hidden')
    lost.props.update({'id': 'live-lost', 'role': 'alert'})
    with lost:
        text('strong', '✕ The page does not hear the panel')
        text('p', 'What is shown is old, and STOP does not reach the robot from here: use the '
             'emergency stop. The robot goes on as its nodes say; the page is back by itself when '
             'it hears them.')


def _motion_in_words(panel: Panel) -> str:
    phase = panel.state.phase
    if phase is None:
        return 'may move: the excitation is not heard' if panel.state.moving else (
            'the excitation is not heard')
    moving = f' {panel.state.motion.motion}' if phase.moving else ''
    return f'{phase.value}{moving}'


def _motion_line(panel: Panel) -> None:
    line = text('div', _motion_in_words(panel), 'where' + (
        ' moving' if panel.state.moving else ''))
    line.props['aria-live'] = 'polite'


def _stop_key(frame: LiveFrame) -> object:
    state, (asked, said) = frame.panel.state, frame.panel.stopped
    return state.stopped, state.motion.reason, frame.operates, (
        said if time.time() - asked < _SPOKEN else '')


def _stopped(frame: LiveFrame) -> None:
    """Why the robot was stopped, and what lets it move again."""
    panel = frame.panel
    asked, said = panel.stopped
    if panel.state.stopped:
        with block('div', 'card error') as card:
            card.props['role'] = 'alert'
            light('bad', 'The monitor has stopped the robot')
            text('p', panel.state.stopped)
            text('p', 'See why, and that the way is free; then:', 'soft')
            made = button('Reset the monitor', guarded(
                lambda: panel.reset_monitor(frame.tab)), main=True)
            if not frame.operates:
                made.disable()
    elif panel.state.motion.reason:
        with block('div', 'card notice') as card:
            card.props['role'] = 'status'
            light('look', 'The motion was stopped')
            text('span', f' {panel.state.motion.reason}')
    elif time.time() - asked < _SPOKEN:
        with block('div', 'card notice') as card:
            card.props['role'] = 'status'
            text('span', said)


def _controls_key(frame: LiveFrame) -> object:
    controls = frame.panel.controls
    return controls.holder, frame.tab, controls.taken_over_by(frame.tab)


def _controls(frame: LiveFrame) -> None:
    """Who operates the robot, and what changes that."""
    controls, tab = frame.panel.controls, frame.tab
    holder, thief = controls.holder, controls.taken_over_by(tab)
    with block('div', 'card beside controls') as strip:
        strip.props['role'] = 'status'
        if not tab:
            # Until the socket is open nobody knows which tab it is.
            text('span', 'Connecting …', 'soft')
            return
        if controls.holds(tab):
            light('good', 'You have the controls')
            text('span', 'Other pages watch, and may stop the robot.', 'soft grow')
            button('Give them back', guarded(lambda: frame.panel.give_controls_back(tab)))
            return
        if holder is None:
            text('span', 'Nobody has the controls: this page watches.', 'grow')
            button('Take the controls', guarded(
                lambda: frame.panel.take_controls(frame.tab, frame.address)), main=True)
            return
        if thief:
            light('look', f'{thief} has taken the controls over')
        text('span', f'{holder.name} has the controls since '
             f'{time.strftime("%H:%M:%S", time.localtime(holder.since))}: this page watches.',
             'grow')
        button('Take over', guarded(lambda: frame.panel.take_controls(
            frame.tab, frame.address, over=True)), hint='the other page is told')


def _go(event: Any, page: str) -> None:
    """Digits lead to the pages."""
    modifiers = event.modifiers
    if not event.action.keydown or modifiers.ctrl or modifiers.alt or modifiers.meta:
        return
    number = event.key.number
    if number and number <= len(PAGES) and PAGES[number - 1][0] != page:
        ui.navigate.to(f'/{PAGES[number - 1][0]}')
