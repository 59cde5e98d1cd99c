"""Removes locks of Fast DDS's shared memory that a killed process has left locked.

Fast DDS guards each port of its shared memory by a named semaphore of POSIX, which the kernel does
not release when its holder is killed. Ports are numbered from 7000 on for all ROS domains of a
machine together; so one such lock keeps every later node of the machine from being found. What the
holder was killed in is most often the making of the port: who opens what is left of it waits
forever, so it goes with its lock.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

# Where Linux keeps named semaphores, and what comes before their names there.
_FOLDER, _PREFIX = Path('/dev/shm'), 'sem.'  # noqa: S108 (no file of ours)
_SUFFIX = '_mutex'
_LOCKS = f'fastdds_port*{_SUFFIX}'
# Fast DDS checks a port for up to a second while it holds the lock.
_PATIENCE, _LOOK = 3.0, 0.05


def remove_abandoned_locks(folder: Path = _FOLDER, patience: float = _PATIENCE) -> list[str]:
    """Remove locks of Fast DDS that nobody releases, with the ports that they guard.

    Those that are free or become free meanwhile are left alone, and so are those that are made
    anew: it does not disturb nodes that run, nor others that do the same.

    Args:
        folder: Where named semaphores are kept.
        patience: How long a lock may be held, in [s].

    Returns:
        Names of the locks that were removed.
    """
    names = {path.name.removeprefix(_PREFIX) for path in folder.glob(_PREFIX + _LOCKS)}
    seen = {name: _identity(folder, name) for name in names}
    deadline = time.monotonic() + patience
    while seen := {name: file for name, file in seen.items() if _stays(folder, name, file)}:
        if time.monotonic() > deadline:
            with _alone(folder):
                return sorted(
                    name for name, file in seen.items()
                    if _stays(folder, name, file) and _remove(folder, name))
        time.sleep(_LOOK)
    return []


def _stays(folder: Path, name: str, file: int) -> bool:
    """Whether it is the same semaphore still, and held."""
    return _identity(folder, name) == file != 0 and _is_held(name)


def _identity(folder: Path, name: str) -> int:
    """Number of a semaphore's file; 0 where there is none."""
    try:
        return (folder / f'{_PREFIX}{name}').stat().st_ino
    except OSError:
        return 0


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """While no other process removes locks: it would remove those that are made in their place."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _remove(folder: Path, name: str) -> bool:
    """Remove a lock and its port; whether that was allowed."""
    port = name.removesuffix(_SUFFIX)
    try:
        (folder / f'{_PREFIX}{name}').unlink()
    except OSError:
        return False
    for left in (port, f'{port}_el', f'{port}_sl'):
        with contextlib.suppress(OSError):
            (folder / left).unlink()
    return True


def _is_held(name: str) -> bool:
    """Whether a named semaphore exists, may be opened, and cannot be taken at once."""
    library = ctypes.CDLL(None, use_errno=True)
    library.sem_open.restype = ctypes.c_void_p
    semaphore = library.sem_open(f'/{name}'.encode(), 0)
    if not semaphore:
        return False
    handle = ctypes.c_void_p(semaphore)
    try:
        if library.sem_trywait(handle) == 0:
            library.sem_post(handle)
            return False
        return ctypes.get_errno() == errno.EAGAIN
    finally:
        library.sem_close(handle)

