"""Plain tables for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A plain table: first column to the left, the others to the right.

    Args:
        header: Titles of the columns.
        rows: Cells, as many as titles in every row.
    """
    widths = [max(len(row[k]) for row in (header, *rows)) for k in range(len(header))]

    def line(row: Sequence[str]) -> str:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        return '  ' + '  '.join(cells).rstrip()

    rule = '  ' + '-' * (sum(widths) + 2 * (len(widths) - 1))
    return '\n'.join([line(header), rule, *(line(row) for row in rows)])


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
