"""Columns of CSV files as float arrays."""

from __future__ import annotations

import csv
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from sysid_ros.errors import RecordingError

_MAX_CELL = 1_000


def read_csv_columns(
    path: Path, columns: Sequence[str | int] | None = None, delimiter: str = ','
) -> np.ndarray:
    """Read columns of a CSV file, row by row.

    The first row is a header when any of its cells is not a number. Empty cells
    become NaN; empty lines and lines beginning with ``%`` or ``#`` are skipped.

    Args:
        path: File to read.
        columns: Columns by header name or 0-based index; all where None.
        delimiter: Separator of the cells.

    Returns:
        Samples, shape ``(T, k)``.

    Raises:
        RecordingError: The file cannot be read, is empty, has no such column
            (what exists is listed), or a cell is not a number.
    """
    try:
        with path.open(encoding='utf-8-sig', newline='') as file:
            return _parse(_rows(file, delimiter), columns, str(path))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise RecordingError(f'cannot be read: {error}', where=str(path)) from error


def _rows(file: Iterator[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    lines = csv.reader(file, delimiter=delimiter)
    for row in lines:
        if row and not row[0].lstrip().startswith(('%', '#')) and any(cell.strip() for cell in row):
            yield lines.line_num, row


def _parse(
    rows: Iterator[tuple[int, list[str]]], columns: Sequence[str | int] | None, where: str
) -> np.ndarray:
    number, first = next(rows, (0, []))
    if not first:
        raise RecordingError('the file is empty', where=where)
    header = [cell.strip() for cell in first] if not all(map(_is_number, first)) else None
    indices = _find_columns(columns, header, len(first), where)
    values = array('d')
    if header is None:
        _append(values, first, indices, where, number)
    for number, row in rows:
        _append(values, row, indices, where, number)
    return np.frombuffer(values, dtype=float).reshape(-1, len(indices)).copy()


def _append(
    values: array[float], row: list[str], indices: list[int], where: str, number: int
) -> None:
    for index in indices:
        if index >= len(row):
            raise RecordingError(
                'a row is too short', where=f'{where}, line {number}',
                found=f'{len(row)} cells', allowed=f'at least {index + 1}',
            )
        cell = row[index].strip()
        try:
            values.append(float(cell) if cell else float('nan'))
        except ValueError as error:
            raise RecordingError(
                'a cell is not a number', where=f'{where}, line {number}, column {index}',
                found=repr(cell[:_MAX_CELL]),
            ) from error


def _find_columns(
    columns: Sequence[str | int] | None, header: list[str] | None, count: int, where: str
) -> list[int]:
    if columns is None:
        return list(range(count))
    return [_find_column(column, header, count, where) for column in columns]


def _find_column(column: str | int, header: list[str] | None, count: int, where: str) -> int:
    exists = ', '.join(header) if header else f'{count} columns without a header'
    if isinstance(column, int):
        if not 0 <= column < count:
            raise RecordingError(
                'there is no such column', where=where, found=column, allowed=f'0 to {count - 1}'
            )
        return column
    matches = [index for index, name in enumerate(header or ()) if name == column]
    if len(matches) != 1:
        raise RecordingError(
            f'there is no column {column!r}' if not matches else f'column {column!r} is there '
            f'{len(matches)} times', where=where, found=exists,
            fix='Name one of the columns, or give its index',
        )
    return matches[0]


def _is_number(cell: str) -> bool:
    try:
        float(cell or 'nan')
    except ValueError:
        return False
    return True
