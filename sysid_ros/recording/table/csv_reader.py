"""Columns of CSV files as float arrays."""

from __future__ import annotations

import csv
from array import array
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from sysid_ros.errors import RecordingError, did_you_mean, listed, unreadable
from sysid_ros.recording.file_kind import require_format
from sysid_ros.recording.table.csv_dialect import not_a_number, require_separator

# Lines of comments among which the names of the columns may be.
_COMMENTS = 20
_MARKS = ('%', '#')


def read_csv_columns(
    path: Path, columns: Sequence[str | int] | None = None, delimiter: str = ',',
    decimal: str = '.',
) -> np.ndarray:
    """Read columns of a CSV file, row by row.

    The first row is a header when any of its cells is not a number. Empty cells
    become NaN; empty lines and lines beginning with ``%`` or ``#`` are skipped, but
    that one of them before the first row of numbers that has as many cells is its header.

    Args:
        path: File to read.
        columns: Columns by header name or 0-based index; all where None.
        delimiter: Separator of the cells.
        decimal: Decimal mark of the numbers, a point or a comma.

    Returns:
        Samples, shape ``(T, k)``, with T > 0.

    Raises:
        RecordingError: The file cannot be read, has no row of numbers, has no such column
            (what exists is listed), has another separator, or a cell is not a number.
    """
    require_format(path, 'csv')
    try:
        with path.open(encoding='utf-8-sig', newline='') as file:
            return _Table(file, delimiter, decimal, str(path)).read(columns)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise unreadable(RecordingError, path, error) from error


class _Table:
    """Rows of a CSV file, with its header.

    Args:
        file: Its lines.
        delimiter: Separator of the cells.
        decimal: Decimal mark of the numbers.
        where: Its name, for messages.
    """

    def __init__(self, file: Iterator[str], delimiter: str, decimal: str, where: str) -> None:
        self._delimiter, self._decimal, self._where = delimiter, decimal, where
        self._comments: deque[list[str]] = deque(maxlen=_COMMENTS)
        self._rows = self._read_rows(file)

    def read(self, columns: Sequence[str | int] | None) -> np.ndarray:
        """The columns, shape ``(T, k)``."""
        number, first = next(self._rows, (0, []))
        if not first:
            raise RecordingError(
                'the file is empty', where=self._where, fix='Record again, or name another file')
        numeric = self._are_numbers(first)
        header = self._commented_header(len(first)) if numeric else _stripped(first)
        try:
            indices = _find_columns(columns, header, len(first), self._where)
        except RecordingError:
            following = next(self._rows, (0, []))[1]
            require_separator(first, following, self._delimiter, columns or (), self._where)
            raise
        values = array('d')
        if numeric:
            self._append(values, first, indices, number)
        for number, row in self._rows:
            self._append(values, row, indices, number)
        if not values:
            raise RecordingError(
                'the table has no rows', where=self._where,
                found=f'a header alone: {listed(header or ())}',
                fix='Record again, or name another file')
        return np.frombuffer(values, dtype=float).reshape(-1, len(indices)).copy()

    def _read_rows(self, file: Iterator[str]) -> Iterator[tuple[int, list[str]]]:
        lines = csv.reader(file, delimiter=self._delimiter)
        for row in lines:
            if row and row[0].lstrip().startswith(_MARKS):
                self._comments.append(row)
            elif any(cell.strip() for cell in row):
                yield lines.line_num, row

    def _commented_header(self, count: int) -> list[str] | None:
        """Names of the columns in the last comment that has one for each."""
        for comment in reversed(self._comments):
            cells = _stripped([comment[0].lstrip(' \t%#'), *comment[1:]])
            if len(cells) == count and not self._are_numbers(cells):
                return cells
        return None

    def _are_numbers(self, cells: Sequence[str]) -> bool:
        return all(is_number(cell, self._decimal) for cell in cells)

    def _append(
        self, values: array[float], row: list[str], indices: list[int], number: int
    ) -> None:
        for index in indices:
            if index >= len(row):
                raise RecordingError(
                    'a row is too short', where=f'{self._where}, line {number}',
                    found=f'{len(row)} cells', allowed=f'at least {index + 1}',
                    fix='Remove the line if the recording broke off there',
                )
            cell = row[index].strip()
            try:
                values.append(number_of(cell, self._decimal))
            except ValueError as error:
                raise not_a_number(
                    cell, self._delimiter, f'{self._where}, line {number}, column {index}',
                ) from error


def _stripped(cells: Sequence[str]) -> list[str]:
    return [cell.strip() for cell in cells]


def _find_columns(
    columns: Sequence[str | int] | None, header: list[str] | None, count: int, where: str
) -> list[int]:
    if columns is None:
        return list(range(count))
    return [_find_column(column, header, count, where) for column in columns]


def _find_column(column: str | int, header: list[str] | None, count: int, where: str) -> int:
    exists = listed(header, 20) if header else f'{count} columns without a header'
    if isinstance(column, int):
        if not 0 <= column < count:
            raise RecordingError(
                'there is no such column', where=where, found=column, allowed=f'0 to {count - 1}',
                fix='Columns without a header are counted from 0: correct the number, or name '
                    'the column',
            )
        return column
    matches = [index for index, name in enumerate(header or ()) if name == column]
    if len(matches) != 1:
        raise RecordingError(
            f'there is no column {column!r}' if not matches else f'column {column!r} is there '
            f'{len(matches)} times', where=where, found=exists,
            fix=f'Give the index of the one that is meant, as {matches[0]}' if matches else
            did_you_mean(column, header or ()) or 'Name one of the columns, or give its index',
        )
    return matches[0]


def number_of(cell: str, decimal: str = '.') -> float:
    """The number in a cell; NaN where it is empty.

    Args:
        cell: Its text.
        decimal: Decimal mark, a point or a comma; the other one is no part of a number.

    Raises:
        ValueError: It holds something else.
    """
    if decimal == ',':
        cell = cell.replace('.', '?').replace(',', '.')
    return float(cell or 'nan')


def is_number(cell: str, decimal: str = '.') -> bool:
    """Whether a cell holds a number, or is empty.

    Args:
        cell: Its text.
        decimal: Decimal mark, a point or a comma.
    """
    try:
        number_of(cell, decimal)
    except ValueError:
        return False
    return True
