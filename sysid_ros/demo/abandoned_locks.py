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
import time
from pathlib import Path

# Where Linux keeps named semaphores, and what comes before their names there.
_FOLDER, _PREFIX = Path('/dev/shm'), 'sem.'
_SUFFIX = '_mutex'
_LOCKS = f'fastdds_port*{_SUFFIX}'
# Fast DDS checks a port for up to a second while it holds the lock.
_PATIENCE, _LOOK = 3.0, 0.05


def remove_abandoned_locks(folder: Path = _FOLDER, patience: float = _PATIENCE) -> list[str]:
    """Remove locks of Fast DDS that nobody releases, with the ports that they guard.

    Those that are free or become free meanwhile are left alone, so that it does not disturb nodes
    that run.

    Args:
        folder: Where named semaphores are kept.
        patience: How long a lock may be held, in [s].

    Returns:
        Names of the locks that were removed.
    """
    names = {path.name.removeprefix(_PREFIX) for path in folder.glob(_PREFIX + _LOCKS)}
    deadline = time.monotonic() + patience
    while names := {name for name in names if _is_held(name)}:
        if time.monotonic() > deadline:
            for name in names:
                port = name.removesuffix(_SUFFIX)
                for left in (f'{_PREFIX}{name}', port, f'{port}_el', f'{port}_sl'):
                    with contextlib.suppress(OSError):
                        (folder / left).unlink()
            return sorted(names)
        time.sleep(_LOOK)
    return []


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

