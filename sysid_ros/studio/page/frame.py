"""What every page has: the steps, what is under way, and the keys."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from nicegui import ui

from sysid_ros.studio.page.drawing import PRIMARY, STYLE, Drawing
from sysid_ros.studio.page.errors import guarded
from sysid_ros.studio.page.parts import block, button, text
from sysid_ros.studio.studio import Studio

#: Steps of the way: address and name of each.
STEPS = (
    ('description', 'Description'), ('motion', 'Motion'), ('recordings', 'Recordings'),
    ('fit', 'Fit'), ('report', 'Report'), ('compare', 'Compare'), ('export', 'Export'))
# Time between two looks for something new in [s].
_OFTEN = 0.25


class Frame(Drawing):
    """A page of one browser, and what of it is drawn anew.

    Args:
        studio: What is shown.
        step: Address of the step.
    """

    def __init__(self, studio: Studio, step: str) -> None:
        super().__init__()
        self.studio, self.step = studio, step
        self._shown = -1

    def refresh(self) -> None:
        """Draw what has changed."""
        # Looking at the folder tells the studio of changes in it.
        _ = self.studio.contents
        if self.studio.version != self._shown:
            self._shown = self.studio.version
            self.draw_changes()


@contextmanager
def framed(studio: Studio, step: str, lead: str) -> Iterator[Frame]:
    """A page, whose step is drawn within ``with``.

    Args:
        studio: What is shown.
        step: Address of the step.
        lead: What the step is for, in a sentence.
    """
    name = dict(STEPS)[step]
    frame = Frame(studio, step)
    ui.colors(primary=PRIMARY)
    ui.add_css(STYLE.read_text(encoding='utf-8'))
    ui.page_title(f'{name} · {studio.folder.root.name}')
    skip = text('a', 'To the step', 'skip')
    _bar(studio, step)
    # The library draws what is in its own <main>.
    with block('section', 'step') as place:
        place.props['tabindex'] = '-1'
        skip.props['href'] = f'#{place.html_id}'
        frame.live(lambda: studio.trouble, lambda: _trouble(studio))
        frame.live(lambda: _under_way(studio), lambda: _fit_strip(studio))
        text('h2', name)
        text('p', lead, 'lead')
        yield frame
    ui.keyboard(on_key=lambda event: _go(event, step))
    ui.timer(_OFTEN, frame.refresh)


def _bar(studio: Studio, step: str) -> None:
    with block('header', 'bar'):
        with block('div'):
            text('h1', 'sysid studio')
            text('div', str(studio.folder.root), 'where')
        with block('nav') as nav:
            nav.props['aria-label'] = 'steps'
            with block('ul', 'steps'):
                for number, (address, name) in enumerate(STEPS, start=1):
                    with block('li'):
                        link = text('a', name)
                        link.props.update({
                            'href': f'/{address}', 'title': f'Key {number}',
                            **({'aria-current': 'page'} if address == step else {})})


def _trouble(studio: Studio) -> None:
    if studio.trouble:
        with block('div', 'card error') as card:
            card.props['role'] = 'alert'
            text('span', f'✕ {studio.trouble}')


def _under_way(studio: Studio) -> object:
    fit = studio.fitting
    if fit is None:
        return None
    steps = [] if fit.process is None else fit.process.steps
    return fit.phase, steps[-1].text if steps else ''


def _fit_strip(studio: Studio) -> None:
    """A fit that is under way, on every page, and what ends it."""
    fit = studio.fitting
    if fit is None:
        return
    steps = [] if fit.process is None else fit.process.steps
    with block('div', 'card beside') as strip:
        strip.props['role'] = 'status'
        text('strong', 'A fit is under way')
        text('span', steps[-1].text if steps else 'Starting', 'grow')
        button(
            'Stop the fit', guarded(lambda: studio.stop(fit)), hint='what is not complete is lost')


def _go(event: Any, step: str) -> None:
    """Digits lead to the steps."""
    modifiers = event.modifiers
    if not event.action.keydown or modifiers.ctrl or modifiers.alt or modifiers.meta:
        return
    number = event.key.number
    if number and number <= len(STEPS) and STEPS[number - 1][0] != step:
        ui.navigate.to(f'/{STEPS[number - 1][0]}')
