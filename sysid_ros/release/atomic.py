"""Files that are either written completely or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from sysid_ros.errors import ReleaseError


def write_atomically(path: str | Path, content: bytes) -> None:
    """Write a file so that a crash leaves either the old content or the new.

    Args:
        path: File to write or replace; its folder must exist.
        content: All of it.

    Raises:
        ReleaseError: The file cannot be written; an existing one is unchanged.
    """
    path = Path(path)
    try:
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask()
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f'.{path.name}.')
        try:
            with os.fdopen(descriptor, 'wb') as file:
                file.write(content)
                file.flush()
                os.fchmod(file.fileno(), mode)
                os.fsync(file.fileno())
            os.replace(name, path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        _sync_folder(path.parent)
    except OSError as error:
        raise ReleaseError(
            f'cannot be written: {error.strerror or error}', where=str(path),
            fix='Check the folder, its permissions and the space on the disk',
        ) from error


def _umask() -> int:
    # It can only be read by being set: for that instant new files of other threads are private.
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _sync_folder(folder: Path) -> None:
    """Make the renaming itself survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
