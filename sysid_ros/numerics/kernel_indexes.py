"""Removes indexes of compiled functions that name classes another version of the package had.

Numba keeps compiled functions with an index of their signatures, beside their source or in the
user's cache. Signatures name classes; where one has had another name or module since, Numba fails
on the index in place of compiling anew. Sources are looked at once after each change of them.
"""

from __future__ import annotations

import hashlib
import io
import os
import pickletools
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path

#: Folder of the package.
PACKAGE = Path(__file__).resolve().parents[1]
# Remembers for which sources the indexes were looked at.
_MARKER = 'sysid_ros-indexes'


def remove_unreadable_indexes(package: Path = PACKAGE) -> int:
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
    """Whether all classes of this package that an index names are there."""
    content = _read(index)
    try:
        return content is None or all(
            hasattr(import_module(module), name.partition('.')[0])
            for module, name in _named_classes(content) if module.startswith('sysid_ros.'))
    except (ImportError, ValueError, IndexError):
        return False


def _named_classes(content: bytes) -> Iterator[tuple[str, str]]:
    """Module and name of what pickles, one after the other, refer to; nothing is unpickled."""
    stream = io.BytesIO(content)
    while stream.tell() < len(content):
        texts: list[str] = []
        memory: list[str] = []
        pushed = ''
        for code, argument, _ in pickletools.genops(stream):
            if code.name == 'GLOBAL':
                module, _, name = str(argument).partition(' ')
                yield module, name
            elif code.name == 'STACK_GLOBAL':
                yield texts[-2], texts[-1]
            elif code.name == 'MEMOIZE':
                memory.append(pushed)
            pushed = ''
            if code.name in ('BINGET', 'LONG_BINGET'):
                pushed = memory[int(str(argument))]
            elif isinstance(argument, str):
                pushed = argument
            if pushed:
                texts.append(pushed)


def _removed(index: Path) -> bool:
    try:
        index.unlink(missing_ok=True)
    except OSError:
        return False
    return True
