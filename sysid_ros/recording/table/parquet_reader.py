"""Columns of Parquet files as float arrays: numbers, times, and lists that are equally long.

Read by ``pyarrow``, which is loaded where such a file is read. Datasets of LeRobot keep a list for
each row, ``action`` and ``observation.state``, and what its entries are called in
``meta/info.json``, some folders above.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sysid_ros.errors import RecordingError, unreadable
from sysid_ros.recording.file_kind import require_format
from sysid_ros.recording.table.arrays import ArrayHeader, array_header, columns_of, require_table

# Where LeRobot says what entries of lists are called, how many folders above a table, and the most
# bytes of it that are read.
_INFO, _ABOVE, _MOST_INFO = Path('meta') / 'info.json', 4, 10_000_000


def read_parquet_headers(path: Path) -> dict[str, ArrayHeader]:
    """Headers of all columns of a file by their names; none is unpacked.

    Args:
        path: The file.

    Raises:
        RecordingError: It cannot be read, or ``pyarrow`` is not installed.
    """
    require_format(path, 'parquet')
    return _read(path, lambda file: _headers(file, path))


def read_parquet_array(
    path: Path, name: str, columns: Sequence[str | int] | None = None
) -> np.ndarray:
    """Read one column, however large; see :func:`.arrays.require_bounded`.

    Args:
        path: File to read.
        name: Column of numbers, of times, or of lists of k numbers.
        columns: 0-based entries of lists to take; all where None.

    Returns:
        Samples, NaN where the file has none, times in [s], shape ``(T, k)``.

    Raises:
        RecordingError: The file or column cannot be read or is not numeric, there is no such
            column (what exists is listed) or no such entry.
    """
    where = f'{path}: {name}'
    header = array_header(read_parquet_headers(path), name, path)
    require_table(header, where)
    values, lengths = _read(path, lambda file: _values(file.read(columns=[name]).column(0)))
    if values.size != np.prod(header.shape) or len(lengths) > 1:
        raise RecordingError(
            'lists of a column are not equally long', where=where,
            found=f'{min(lengths, default=0):g} to {max(lengths, default=0):g} numbers in a row',
            fix='Write one number for each joint in every row')
    return columns_of(values.reshape(header.shape), columns, where)


def _read(path: Path, work: Callable[[Any], Any]) -> Any:
    """What is made of an open file, with one clear error whatever goes wrong."""
    if importlib.util.find_spec('pyarrow') is None:
        raise RecordingError(
            'Parquet is read by pyarrow, which is not installed', where=str(path),
            fix='pip install pyarrow, or save the table as CSV')
    parquet = importlib.import_module('pyarrow.parquet')
    try:
        with parquet.ParquetFile(path) as file:
            return work(file)
    except OSError as error:
        if error.errno is not None:
            raise unreadable(RecordingError, path, error) from error
        raise _damaged(path, error) from error
    except RecordingError:
        raise
    except Exception as error:  # a damaged file fails in many ways, Thrift and codecs among them
        raise _damaged(path, error) from error


def _damaged(path: Path, error: Exception) -> RecordingError:
    first = str(error).strip().splitlines()[:1]
    return RecordingError(
        f'cannot be read: {"".join(first).rstrip(".") or type(error).__name__}', where=str(path),
        fix='Write it again, as frame.to_parquet("a.parquet")')


def _headers(file: Any, path: Path) -> dict[str, ArrayHeader]:
    metadata, schema, names = file.metadata, file.schema_arrow, _labels(path)
    found: dict[str, ArrayHeader] = {}
    leaf = 0
    for field in schema:
        end = leaf + _leaves(field.type)
        parts = [metadata.row_group(group).column(k)
                 for group in range(metadata.num_row_groups) for k in range(leaf, end)]
        leaf = end
        packed = sum(part.total_compressed_size for part in parts)
        shape: tuple[int, ...] = (metadata.num_rows,)
        numeric, labels = _is_number(field.type), names.get(field.name, ())
        if _is_list(field.type):
            numeric = _is_number(field.type.value_type)
            width, rest = divmod(sum(part.num_values for part in parts), max(shape[0], 1))
            shape, numeric = (*shape, width), numeric and rest == 0 and width > 0
        found[field.name] = ArrayHeader(
            shape, np.dtype(float) if numeric else None, packed,
            labels if labels and shape[-1] == len(labels) else ())
    return found


def _leaves(kind: Any) -> int:
    """How many columns of plain values a type is stored as."""
    if kind.num_fields == 0:
        return 1
    return sum(_leaves(kind.field(k).type) for k in range(kind.num_fields))


def _is_list(kind: Any) -> bool:
    types = importlib.import_module('pyarrow.types')
    return bool(
        types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _is_number(kind: Any) -> bool:
    """Whether entries are real numbers, or times, which become seconds."""
    types = importlib.import_module('pyarrow.types')
    return bool(
        types.is_integer(kind) or types.is_floating(kind) or types.is_timestamp(kind)
        or types.is_duration(kind))


def _values(column: Any) -> tuple[np.ndarray, set[float]]:
    """All numbers of a column, of lists one after the other ``(T k,)``, and how long lists are."""
    types = importlib.import_module('pyarrow.types')
    found, lengths = [], set()
    for chunk in column.chunks:
        values = chunk
        if _is_list(chunk.type):
            values = chunk.flatten()
            lengths |= set(np.unique(np.nan_to_num(chunk.value_lengths().to_numpy(
                zero_copy_only=False).astype(float))).tolist())
        numbers = values.to_numpy(zero_copy_only=False)
        if types.is_temporal(values.type):
            # As whole nanoseconds since 1970 they do not fit into a float.
            whole = numbers.astype('M8[ns]' if types.is_timestamp(values.type) else 'm8[ns]')
            numbers = np.where(np.isnat(whole), np.nan, whole.astype(np.int64) * 1e-9)
        found.append(np.asarray(numbers, dtype=float))
    return np.concatenate(found) if found else np.zeros(0), lengths


def _labels(path: Path) -> Mapping[str, tuple[str, ...]]:
    """What entries of lists are called, by column, where LeRobot says it beside the table."""
    for folder in list(path.absolute().parents)[:_ABOVE]:
        try:
            if (folder / _INFO).stat().st_size > _MOST_INFO:
                return {}
            features = json.loads((folder / _INFO).read_text(encoding='utf-8'))['features']
            return {
                str(name): tuple(_strings(feature.get('names')))
                for name, feature in features.items()}
        except FileNotFoundError:
            continue
        except (OSError, ValueError, KeyError, AttributeError, TypeError, RecursionError):
            return {}
    return {}


def _strings(names: Any) -> Iterator[str]:
    """Names in a list, or in lists by the kind of what they name."""
    if isinstance(names, str):
        yield names
    elif isinstance(names, Mapping):
        for own in names.values():
            yield from _strings(own)
    elif isinstance(names, list):
        for own in names:
            yield from _strings(own)
