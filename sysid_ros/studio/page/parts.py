"""Small parts that pages are made of. Text is set as text: no name of a file becomes markup."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement

from sysid_ros.studio.glossary import GLOSSARY, meaning

Light = Literal['good', 'look', 'bad']
_MARKS: dict[str, str] = {'good': '✓', 'look': '!', 'bad': '✕'}
#: What stands for a number that is not known.
NONE = '–'


def text(tag: str, content: str, classes: str = '') -> Any:
    """An element with text.

    Args:
        tag: Of HTML.
        content: The text.
        classes: Classes of the style sheet.
    """
    return TextElement(tag=tag, text=content).classes(classes)


def block(tag: str = 'div', classes: str = '') -> Any:
    """An element that holds others.

    Args:
        tag: Of HTML.
        classes: Classes of the style sheet.
    """
    return ui.element(tag).classes(classes)


def term(word: str, shown: str = '') -> Any:
    """A word of the glossary, which is explained where a pointer or the focus is on it.

    Args:
        word: The word.
        shown: What is written; the word by default.
    """
    made = text('abbr', shown or word, 'term')
    made.props.update({
        'title': meaning(word), 'tabindex': '0', 'aria-label': f'{shown or word}: {meaning(word)}'})
    return made


def named(word: str) -> Any:
    """A word, which is explained where the glossary has it.

    Args:
        word: The word.
    """
    return term(word) if word in GLOSSARY else text('span', word)


def heading(content: str, word: str = '') -> None:
    """A heading within a step.

    Args:
        content: The heading.
        word: A word of the glossary that it is.
    """
    if not word:
        text('h3', content)
        return
    with block('h3'):
        term(word, content)


def light(value: str, words: str = '') -> Any:
    """A traffic light: by mark, word and colour.

    Args:
        value: ``good``, ``look`` or ``bad``.
        words: What is written in place of that.
    """
    return text('span', f'{_MARKS[value]} {words or value}', f'light {value}')


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        title: Its title.
        word: A word of the glossary that the title is.
        figure: Whether it holds numbers.
    """

    title: str
    word: str = ''
    figure: bool = False


def table(
    caption: str, columns: Sequence[Column], rows: Sequence[Sequence[str | Callable[[], Any]]]
) -> None:
    """A table of texts, for screen readers as for eyes.

    Args:
        caption: What it shows, for screen readers.
        columns: Its columns.
        rows: Cells of each row: texts, or what fills the cell.
    """
    with block('div', 'wide'), block('table') as made:
        made.props['aria-label'] = caption
        with block('thead'), block('tr'):
            for column in columns:
                with block('th', 'figure' if column.figure else '') as head:
                    head.props['scope'] = 'col'
                    if column.word:
                        term(column.word, column.title)
                    else:
                        text('span', column.title)
        with block('tbody'):
            for row in rows:
                with block('tr'):
                    for column, cell in zip(columns, row, strict=True):
                        with block('td', 'figure' if column.figure else ''):
                            if callable(cell):
                                cell()
                            else:
                                text('span', cell)


def button(label: str, action: Callable[[], Any], *, main: bool = False, hint: str = '') -> Any:
    """A button.

    Args:
        label: What it does.
        action: Called when it is pressed.
        main: Whether it is the one to press next.
        hint: What a screen reader says of it besides.
    """
    made = ui.button(label, on_click=action).props('no-caps')
    mark_next(made, main)
    if hint:
        made.props['aria-label'] = f'{label}: {hint}'
    return made


def mark_next(made: Any, main: bool) -> None:
    """Show whether a button is the one to press next.

    Args:
        made: The button.
        main: Whether it is.
    """
    made.props(
        'color=primary unelevated' if main else 'color=grey-8 outline',
        remove='outline' if main else 'unelevated')


def terminal(command: str) -> None:
    """The command line that does the same as a button.

    Args:
        command: The command line.
    """
    text('div', 'The same in a terminal, in this folder', 'terminal')
    text('pre', command)


def number(value: float | None, digits: int = 4) -> str:
    """A number in so many digits; a dash where there is none.

    Args:
        value: The number.
        digits: Significant ones.
    """
    if value is None or not math.isfinite(value):
        return NONE
    return f'{value:.{digits}g}'


def duration(seconds: float) -> str:
    """A time for people.

    Args:
        seconds: In [s].
    """
    if seconds < 90.0:
        return f'{seconds:.1f} s' if seconds < 10.0 else f'{seconds:.0f} s'
    return f'{int(seconds // 60)} min {int(seconds % 60)} s'


class Live:
    """A part of a page that is drawn anew when what it shows has changed, and only then.

    Focus and scrolling elsewhere stay where they are.

    Args:
        key: What it shows, as a value that is compared.
        draw: Draws it.

    Attributes:
        place: The element that it is drawn in.
    """

    def __init__(self, key: Callable[[], object], draw: Callable[[], None]) -> None:
        self._key, self._draw = key, draw
        self._shown: object = object()
        self.place = ui.element('div')
        self.refresh()

    def refresh(self) -> None:
        """Draw it, if it has changed."""
        now = self._key()
        if now != self._shown:
            self._shown = now
            self.place.clear()
            with self.place:
                self._draw()
