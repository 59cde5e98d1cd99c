"""Plain tables for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

#: Most characters of a line.
WIDTH = 100
# What tables are indented by, and the least room that names in the first column are given.
_INDENT, _NAME = 2, 32

def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A plain table: first column to the left, the others to the right.

    No line is longer than :data:`WIDTH`: names of the first column are shortened in their middle,
    and what does not fit beside them either stands below, with the names again.

    Args:
        header: Titles of the columns.
        rows: Cells, as many as titles in every row.
    """
    cells = [list(row) for row in (header, *rows)]
    widths = _widths(cells)
    room = WIDTH - sum(2 + width for width in widths[1:]) - _INDENT
    if widths[0] > room:
        fits = room >= _NAME
        cells = [
            [shortened(row[0], room if fits else _NAME),
             *(shortened(cell, WIDTH - _INDENT - _NAME - 2) for cell in row[1:])]
            for row in cells]
    return '\n\n'.join(
        _block([[row[0], *(row[k] for k in columns)] for row in cells])
        for columns in _columns(_widths(cells)))


def shortened(text: str, most: int) -> str:
    """Text of so many characters at most: what is too long loses its middle.

    Args:
        text: A name, or a cell of a table.
        most: Characters, three or more.
    """
    if len(text) <= most:
        return text
    begin = most // 2
    return f'{text[:begin]}…{text[len(text) - (most - begin - 1):]}'


def _widths(cells: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(len, column)) for column in zip(*cells, strict=True)]


def _columns(widths: Sequence[int]) -> list[list[int]]:
    """Columns after the first, as many together as stand beside it in one line."""
    blocks: list[list[int]] = [[]]
    room = left = WIDTH - _INDENT - widths[0]
    for k, width in enumerate(widths[1:], start=1):
        if blocks[-1] and width + 2 > left:
            blocks.append([])
            left = room
        blocks[-1].append(k)
        left -= width + 2
    return blocks


def _block(cells: Sequence[Sequence[str]]) -> str:
    widths = _widths(cells)

    def line(row: Sequence[str]) -> str:
        padded = [row[0].ljust(widths[0])]
        padded += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        return ' ' * _INDENT + '  '.join(padded).rstrip()

    rule = ' ' * _INDENT + '-' * (sum(widths) + 2 * (len(widths) - 1))
    return '\n'.join([line(cells[0]), rule, *map(line, cells[1:])])


def percent(value: float) -> str:
    """A part as a percentage with two decimals; a dash where there is no number."""
    return f'{100.0 * value:.2f}' if np.isfinite(value) else '-'


def number(value: float, digits: int = 3) -> str:
    """A number with some significant digits, up to a million without exponent; a dash for none."""
    if not np.isfinite(value):
        return '-'
    rounded = f'{value:.{digits}g}'
    return f'{float(rounded):.0f}' if 'e+0' in rounded and abs(value) < 1e6 else rounded


def counted(count: float, what: str) -> str:
    """A number of things: ``1 robot``, ``2 robots``, ``0.5 robots``.

    Args:
        count: How many.
        what: One of them.
    """
    return f'{count:g} {what}{"" if count == 1 else "s"}'
