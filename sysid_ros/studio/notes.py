"""What the page notes in its folder, as JSON files that are whole or as they were before."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sysid_ros.errors import SysidError
from sysid_ros.release.atomic import write_atomically
from sysid_ros.runs.run_files import read_json

# Files of a folder whose size and time are looked at.
_MOST = 1000


class Notes:
    """Notes by kind and name.

    Args:
        folder: Where they are.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, kind: str, name: str = '') -> dict[str, Any] | None:
        """A note; None where there is none, or none that can be read."""
        try:
            return read_json(self._path(kind, name))
        except SysidError:
            return None

    def write(self, kind: str, note: Mapping[str, Any], name: str = '') -> None:
        """Write a note over the one before.

        Raises:
            ReleaseError: It cannot be written.
        """
        path = self._path(kind, name)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomically(path, json.dumps(note, allow_nan=False, ensure_ascii=False).encode())

    def all(self, kind: str) -> Iterator[dict[str, Any]]:
        """All notes of a kind that have names and can be read."""
        for path in sorted((self._folder / kind).glob('*.json')):
            try:
                yield read_json(path)
            except SysidError:
                continue

    def _path(self, kind: str, name: str) -> Path:
        if not name:
            return self._folder / f'{kind}.json'
        # Names of entries may be longer than those of files, and have slashes.
        return self._folder / kind / f'{hashlib.sha256(name.encode()).hexdigest()[:32]}.json'


def fingerprint(paths: Mapping[str, Path]) -> str:
    """A digest of sizes and times of files, which changes when one of them does.

    Args:
        paths: Files, or folders with files, by any names.
    """
    digest = hashlib.sha256()
    for name, path in sorted(paths.items()):
        for file in _files(path):
            try:
                status = file.stat()
            except OSError:
                continue
            digest.update(f'{name}\0{file.name}\0{status.st_size}\0{status.st_mtime_ns}\0'.encode(
                errors='surrogateescape'))
    return digest.hexdigest()


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    try:
        return sorted(file for file in path.iterdir() if file.is_file())[:_MOST]
    except OSError:
        return []
