"""Removes indexes of compiled functions that name classes another version of the package had.

Numba keeps compiled functions with an index of their signatures, beside their source or in the
user's cache. Signatures name classes; where one has had another name or module since, Numba fails
on the index in place of compiling anew. Sources are looked at once after each change of them.
"""

from __future__ import annotations

import hashlib
import os
import pickle
from collections.abc import Iterable, Iterator
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
# Remembers for which sources the indexes were looked at.
_MARKER = 'sysid_ros-indexes'


def remove_unreadable_indexes(package: Path = _PACKAGE) -> int:
    """Remove indexes that cannot be read any more, if sources have changed since the last time.

    What they belong to is compiled again when it is called. Folders that cannot be written are
    passed over.

    Args:
        package: Folder of the package.

    Returns:
        How many were removed.
    """
    caches = [package / '__pycache__', _users_cache()]
    stamp = _stamp(package)
    if any(_read(cache / _MARKER) == stamp for cache in caches):
        return 0
    removed = sum(map(_removed, _unreadable([package, _users_cache()])))
    for cache in caches:
        try:
            cache.mkdir(parents=True, exist_ok=True)
            (cache / _MARKER).write_bytes(stamp)
            break
        except OSError:
            continue
    return removed


def _users_cache() -> Path:
    """Where Numba keeps what it cannot keep beside the source."""
    given = os.environ.get('NUMBA_CACHE_DIR')
    if given:
        return Path(given)
    return Path(os.environ.get('XDG_CACHE_HOME') or Path.home() / '.cache') / 'numba'


def _stamp(package: Path) -> bytes:
    """Tells the sources of now from others: where they are, and when they were written."""
    digest = hashlib.sha256(str(package).encode())
    for folder, folders, files in os.walk(package):
        folders[:] = sorted(set(folders) - {'__pycache__'})
        for name in sorted(files):
            if name.endswith('.py'):
                written = os.stat(os.path.join(folder, name)).st_mtime_ns
                digest.update(f'{folder}/{name} {written}\n'.encode())
    return digest.hexdigest().encode()


def _read(file: Path) -> bytes | None:
    try:
        return file.read_bytes()
    except OSError:
        return None


def _unreadable(folders: Iterable[Path]) -> Iterator[Path]:
    for folder in folders:
        for index in folder.rglob('*.nbi'):
            content = _read(index)
            if content is not None and b'sysid_ros.' in content and not _is_readable(index):
                yield index


def _is_readable(index: Path) -> bool:
    """Whether all classes that an index names are there: version first, then signatures."""
    try:
        with index.open('rb') as file:
            pickle.load(file)
            pickle.load(file)
    except OSError:
        return True
    except Exception:  # whatever else keeps Numba from reading it
        return False
    return True


def _removed(index: Path) -> bool:
    try:
        index.unlink(missing_ok=True)
    except OSError:
        return False
    return True
