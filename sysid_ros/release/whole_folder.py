"""Folders whose files come all together, or not at all."""

from __future__ import annotations

import os
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sysid_ros.errors import ReleaseError


@contextmanager
def whole_folder(folder: Path, replace: Callable[[], None] = lambda: None) -> Iterator[Path]:
    """A folder to write into, whose files come to another one together, or not at all.

    What is interrupted, by an error or by Ctrl-C, leaves everything as it was.

    Args:
        folder: Where the files come in the end; need not exist.
        replace: Called just before they come, to remove what they replace under other names.

    Yields:
        The folder to write into, on the same file system.

    Raises:
        ReleaseError: It cannot be written.
    """
    name = f'.{folder.resolve().name}.{os.getpid()}'
    part = folder / name if folder.is_dir() else folder.parent / name
    made = _missing(part.parent)
    try:
        try:
            # What a process left that was killed, and whose number has come again.
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir(parents=True)
        except OSError as error:
            raise ReleaseError(
                f'cannot be written: {error.strerror or error}', where=str(folder),
                fix='Check the folder, its permissions and the space on the disk') from error
        yield part
        with _uninterrupted():
            replace()
            _move(part, folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)
        for parent in made:
            _remove_if_empty(parent)


def _missing(folder: Path) -> list[Path]:
    """Folders that do not exist, the innermost first."""
    return [path for path in (folder, *folder.parents) if not path.exists()]


def _move(part: Path, folder: Path) -> None:
    if not folder.exists():
        os.rename(part, folder)
        return
    for entry in part.iterdir():
        target = folder / entry.name
        if target.is_dir():
            shutil.rmtree(target)
        os.replace(entry, target)


def _remove_if_empty(folder: Path) -> None:
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Let Ctrl-C wait for some milliseconds.

    A mask would be this thread's alone, and a thread of a library take the signal.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came = []
    before = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL if before is None else before)
        if came:
            signal.raise_signal(signal.SIGINT)
