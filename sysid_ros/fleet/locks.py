"""Locks between the processes of a batch, on whatever computer that shares its folder."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sysid_ros.errors import ReleaseError


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep other processes out; the system takes the lock from one that is killed.

    Args:
        path: File of the lock, which is made and stays.

    Raises:
        ReleaseError: The file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise ReleaseError(
            f'cannot be written: {error.strerror}', where=str(path),
            fix='Name another folder with -o') from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
