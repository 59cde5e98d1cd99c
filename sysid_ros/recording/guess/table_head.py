"""Header, separator and numbers of a table whose settings are not known yet."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path

import numpy as np

from sysid_ros.errors import RecordingError, listed, unreadable
from sysid_ros.recording.description import MEMORY_LIMIT
from sysid_ros.recording.table.array_files import read_array, read_headers
from sysid_ros.recording.table.arrays import require_bounded
from sysid_ros.recording.table.csv_reader import is_number, read_csv_columns

# In this order, where several split all rows alike.
_SEPARATORS = ('\t', ';', '|', ',', ' ')
_LINES, _MARKS = 60, ('%', '#')
_LEAST_ROWS = 2
# Where a print of joint states has the frame, behind seconds and nanoseconds.
_FRAME = 2


@dataclass(frozen=True, eq=False)
class TableHead:
    """Columns of a table, by name.

    Attributes:
        path: The file.
        format: ``csv``, ``npz`` or ``parquet``.
        names: Names of the columns; empty strings where there is no header. An array of several
            columns is named ``array[0]``, ``array[1]`` and so on, or ``array.label``.
        delimiter: Separator of a CSV file.
        decimal: Decimal mark of its numbers.
        in_file: Whether the names stand in the file; where it is the print of messages, they are
            those of the messages.
        numeric: Numbers of the columns that hold numbers.
        arrays: Array and column of each name in a file of arrays.
    """

    path: Path
    format: str
    names: tuple[str, ...]
    delimiter: str = ','
    decimal: str = '.'
    in_file: bool = True
    numeric: tuple[int, ...] = ()
    arrays: tuple[tuple[str, int], ...] = ()

    @property
    def has_header(self) -> bool:
        """Whether columns have names."""
        return any(self.names)

    def key_of(self, column: int) -> str | int:
        """What settings call a column: its name where that is unique, or its number."""
        name = self.names[column]
        unique = self.in_file and name and self.names.count(name) == 1
        return name if unique else column

    @cached_property
    def values(self) -> dict[int, np.ndarray]:
        """Samples of each column that holds numbers, shape ``(T,)`` each."""
        if self.format == 'csv':
            table = read_csv_columns(self.path, self.numeric, self.delimiter, self.decimal)
            return dict(zip(self.numeric, table.T, strict=True))
        whole = {
            name: read_array(self.format, self.path, name) for name in dict(self.arrays)}
        return {k: whole[name][:, column] for k, (name, column) in enumerate(self.arrays)}


def read_head(path: Path, format: str) -> TableHead:
    """Header and separator of a table.

    Args:
        path: A CSV, NPZ or Parquet file.
        format: ``csv``, ``npz`` or ``parquet``.

    Raises:
        RecordingError: It cannot be read, or holds no table.
    """
    return _csv_head(path) if format == 'csv' else _array_head(path, format)


def _csv_head(path: Path) -> TableHead:
    try:
        with path.open(encoding='utf-8-sig', newline='') as file:
            lines = [line.rstrip('\r\n') for line in islice(file, _LINES)]
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(RecordingError, path, error) from error
    lines = [line for line in lines if line.strip()]
    plain = [line for line in lines if not line.lstrip().startswith(_MARKS)]
    if len(plain) < _LEAST_ROWS:
        raise RecordingError(
            'the table has no rows', where=str(path), found=f'{len(plain)} lines',
            fix='Record again, or name another file')
    delimiter, decimal = _separator(plain, path)
    rows = [[cell.strip() for cell in row] for row in csv.reader(plain, delimiter=delimiter)]
    first, *following = rows
    names: Sequence[str] = first
    printed = printed_joint_states(rows)
    if printed or all(is_number(cell, decimal) for cell in first):
        names = printed or _commented_names(lines, delimiter, len(first)) or [''] * len(first)
        following = rows
    numeric = tuple(
        k for k in range(len(names))
        if all(is_number(row[k], decimal) for row in following if k < len(row)))
    return TableHead(path, 'csv', tuple(names), delimiter, decimal, not printed, numeric)


def printed_joint_states(rows: Sequence[Sequence[str]]) -> list[str]:
    """Names of the columns that ``ros2 topic echo --csv`` prints of joint states.

    Every row has seconds, nanoseconds, the frame, the joints' names and their positions; velocities
    and efforts where there are any, which tells all three apart from positions alone.

    Args:
        rows: Cells of the first rows.

    Returns:
        A name for each column; none where it is another table.
    """
    first = rows[0]
    text = [k for k, cell in enumerate(first) if k > _FRAME and not is_number(cell)]
    joints = first[_FRAME + 1:_FRAME + 1 + len(text)]
    numbers = len(first) - _FRAME - 1 - len(joints)
    same = all(
        len(row) == len(first) and [row[k] for k in text] == joints
        and all(map(is_number, [*row[:_FRAME], *row[_FRAME + 1 + len(joints):]])) for row in rows)
    consecutive = text == list(range(_FRAME + 1, _FRAME + 1 + len(text)))
    if not (joints and same and consecutive and numbers in (len(joints), 3 * len(joints))):
        return []
    quantities = ('position', 'velocity', 'effort')[:numbers // len(joints)]
    return [
        'stamp_sec', 'stamp_nanosec', 'frame', *('' for _ in joints),
        *(f'{joint} {quantity}' for quantity in quantities for joint in joints)]


def _separator(lines: Sequence[str], path: Path) -> tuple[str, str]:
    """Separator and decimal mark that make all lines equally long, and most cells numbers."""
    found: dict[tuple[str, str], float] = {}
    for mark in _SEPARATORS:
        rows = list(csv.reader(lines, delimiter=mark))
        lengths = {len(row) for row in rows}
        if len(lengths) != 1 or max(lengths) < 2 or len(rows) < _LEAST_ROWS:
            continue
        cells = [cell.strip() for row in rows[1:] for cell in row]
        for decimal in '.,':
            if decimal != mark:
                found[mark, decimal] = sum(is_number(cell, decimal) for cell in cells) / len(cells)
    if not found:
        if all(is_number(line) for line in lines[1:]):
            return ',', '.'
        raise RecordingError(
            'it is no table with one separator', where=str(path), found=repr(lines[0][:60]),
            allowed='commas, semicolons, tabs, bars or single blanks between cells',
            fix='Save it as CSV, with a header')
    return max(found, key=lambda marks: (
        found[marks], -_SEPARATORS.index(marks[0]), marks[1] == '.'))


def _commented_names(lines: Sequence[str], delimiter: str, count: int) -> list[str] | None:
    for line in reversed(lines):
        if line.lstrip().startswith(_MARKS):
            cells = [cell.strip() for cell in line.lstrip(' \t%#').split(delimiter)]
            if len(cells) == count and not all(map(is_number, cells)):
                return cells
    return None


def _array_head(path: Path, format: str) -> TableHead:
    headers = read_headers(format, path)
    shapes = {name: header.shape for name, header in headers.items() if header.is_numeric}
    rows = max((shape[0] for shape in shapes.values() if shape), default=0)
    arrays = [
        (name, column) for name, shape in shapes.items()
        if len(shape) in (1, 2) and shape[0] == rows
        for column in range(shape[1] if len(shape) == 2 else 1)]
    if rows < _LEAST_ROWS or not arrays:
        shown = listed(f'{name} {shape}' for name, shape in shapes.items())
        raise RecordingError(
            'the file holds no table', where=str(path), found=shown or 'no numbers',
            allowed='arrays of shape (T,) and (T, joints), time first',
            fix='Save arrays with time first, as numpy.savez(file, t=t, q=q, tau=tau)')
    require_bounded(
        (headers[name] for name in dict(arrays)), 1e6 * MEMORY_LIMIT, str(path))
    names = []
    for name, column in arrays:
        labels, ending = headers[name].labels, ''
        if len(shapes[name]) == 2:
            ending = f'.{labels[column]}' if labels else f'[{column}]'
        names.append(name + ending)
    return TableHead(path, format, tuple(names), arrays=tuple(arrays))
