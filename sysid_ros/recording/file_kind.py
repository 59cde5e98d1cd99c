"""What a file is by its first bytes, to tell a wrong ``recording.format`` from damage."""

from __future__ import annotations

from pathlib import Path

from sysid_ros.errors import RecordingError

_FIRST_BYTES = {
    b'\x89MCAP': ('an MCAP file, as bags are', 'rosbag'),
    b'SQLite format 3\0': ('an SQLite file, as bags are', 'rosbag'),
    b'PK\x03\x04': ('a ZIP archive, as NPZ files are', 'npz'),
    b'PAR1': ('a Parquet file', 'parquet'),
    b'\x93NUMPY': ('a single array (NPY)', None),
}
_TABLES = ('.csv', '.tsv', '.txt')
_BAGS = ('.mcap', '.db3', '.zstd')


def file_kind(path: Path) -> tuple[str, str | None] | None:
    """Kind of a file or folder and the format that reads it; None where that is open.

    Args:
        path: The file or folder.
    """
    if path.is_dir():
        bag = any(other.suffix in _BAGS for other in path.iterdir())
        return ('the folder of a bag', 'rosbag') if bag else ('a folder', None)
    try:
        with path.open('rb') as file:
            first = file.read(16)
    except OSError:
        return None
    for begin, kind in _FIRST_BYTES.items():
        if first.startswith(begin):
            return kind
    return ('a table, by its name', 'csv') if path.suffix.lower() in _TABLES else None


def is_there(path: Path) -> bool:
    """Whether there is a file or folder of a name, which no file may be able to have.

    Args:
        path: The file or folder.
    """
    try:
        return path.exists()
    except (OSError, ValueError):  # too long, or with a null byte
        return False


def require_format(path: Path, wanted: str) -> None:
    """Refuse a table that is another kind of file than the settings say.

    Args:
        path: The file.
        wanted: ``csv``, ``npz`` or ``parquet``.

    Raises:
        RecordingError: It is a folder or a file of another format, which is named.
    """
    kind = file_kind(path)
    if kind is not None and kind[1] != wanted:
        raise RecordingError(
            f'is no {wanted.upper()} file', where=str(path), found=kind[0],
            fix=format_fix(kind[1]) or 'Name the file itself, with recording: {file: …}')


def format_fix(wanted: str | None) -> str | None:
    """The ``fix`` for a file that another format reads."""
    if wanted is None:
        return None
    keys = {
        'csv': 'joints, time and columns', 'npz': 'joints, time and arrays',
        'parquet': 'joints, time and arrays',
        'rosbag': 'without time, columns and arrays'}[wanted]
    joined = keys if keys.startswith('without') else f'with {keys}'
    return f'If it is what you mean, say recording: {{format: {wanted}}}, {joined}'
