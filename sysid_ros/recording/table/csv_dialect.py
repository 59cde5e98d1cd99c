"""Separators and decimal commas of CSV files that are not read as their settings say."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sysid_ros.errors import RecordingError

# Separators beside the comma, as YAML takes them.
_SEPARATORS = {';': "';'", '\t': r'"\t"', '|': "'|'", ',': "','", ' ': "' '"}
_DECIMAL_COMMA = re.compile(r'\s*[+-]?\d+,\d+([eE][+-]?\d+)?\s*')
_NUMBERS = re.compile(r'([+-]?\d+(\.\d*)?([eE][+-]?\d+)?(\n|$)){2,}')
_SHOWN = 60


def require_separator(
    row: Sequence[str], following: Sequence[str], delimiter: str,
    columns: Sequence[str | int], where: str,
) -> None:
    """Refuse a table whose first row has the wanted columns by another separator.

    Args:
        row: Its first row, split.
        following: The row after it, split; empty where there is none.
        delimiter: Separator by which they were split.
        columns: Columns that are wanted, by name or 0-based index.
        where: File, for messages.

    Raises:
        RecordingError: Another separator gives all columns; the setting for it is named.
    """
    line, numbers = delimiter.join(row), delimiter.join(following)
    for separator, written in _SEPARATORS.items():
        cells = [cell.strip() for cell in line.split(separator)]
        if separator != delimiter and _has_all(cells, columns, split=len(row) > 1):
            comma = separator != ',' and _has_decimal_comma(numbers, separator)
            raise RecordingError(
                f'cells look separated by {written}, not by {_SEPARATORS.get(delimiter, delimiter)}'
                + (', and numbers have decimal commas' if comma else ''),
                where=where, found=repr(line[:_SHOWN]),
                fix=f'Set recording: {{delimiter: {written}' + (
                    ", decimal: ','}" if comma else '}'))


def not_a_number(cell: str, delimiter: str, where: str) -> RecordingError:
    """The error of a cell that should be a number.

    Args:
        cell: Its text.
        delimiter: Separator of the cells.
        where: File, line and column.
    """
    found = repr(cell[:_SHOWN])
    if _DECIMAL_COMMA.fullmatch(cell):
        return RecordingError(
            'a number has a comma', where=where, found=found, allowed='a decimal point, as 3.5',
            fix='Replace the commas by points' if delimiter == ',' else
            "Set recording: {decimal: ','}")
    written = next((
        text for mark, text in _SEPARATORS.items()
        if mark != delimiter and _NUMBERS.fullmatch(cell.replace(mark, '\n'))), None)
    return RecordingError(
        'a cell is not a number', where=where, found=found, allowed='a number, or an empty cell',
        fix='Correct it, or leave it empty' if written is None else
        f'If {written} separates numbers, set recording: {{delimiter: {written}}}')


def _has_all(cells: Sequence[str], columns: Sequence[str | int], split: bool) -> bool:
    """Whether cells that another separator makes are what is wanted.

    Args:
        cells: The cells.
        columns: Columns that are wanted.
        split: Whether the separator of the settings splits the row, too: then an index proves
            nothing.
    """
    if not all(cells) or len(cells) < 2:
        return False
    return all(
        column in cells if isinstance(column, str) else not split and column < len(cells)
        for column in columns)


def _has_decimal_comma(line: str, separator: str) -> bool:
    return any(_DECIMAL_COMMA.fullmatch(cell) for cell in line.split(separator))
