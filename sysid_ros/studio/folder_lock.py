"""One server for a folder at a time."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping
from typing import IO, Any

from sysid_ros.errors import ConfigurationError
from sysid_ros.studio.folder import StudioFolder


class FolderLock:
    """Holds a folder for one server, until the process ends.

    Args:
        folder: The folder.

    Raises:
        ConfigurationError: Another server has it.
    """

    def __init__(self, folder: StudioFolder) -> None:
        self._file: IO[str] = (folder.notes / 'server.json').open('a+', encoding='utf-8')
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with self._file:
                found = _server_in_words(self._file)
            raise ConfigurationError(
                'another server has the folder open', where=str(folder.root), found=found,
                fix='Open its address, which it printed when it started; or end it, and start '
                f'again: sysid studio {folder.root}') from None

    def tell(self, address: Mapping[str, Any]) -> None:
        """Note where the server is, without its token."""
        self._file.truncate(0)
        self._file.write(json.dumps({'process': os.getpid(), **address}))
        self._file.flush()

    def release(self) -> None:
        """Let another server have the folder."""
        self._file.truncate(0)
        self._file.close()


def _server_in_words(file: IO[str]) -> str:
    file.seek(0)
    try:
        told = json.loads(file.read(4096))
        return f'process {int(told["process"])} at http://{told["host"]}:{int(told["port"])}'
    except (KeyError, TypeError, ValueError):
        return 'a server that is starting'
