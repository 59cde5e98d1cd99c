"""Recordings in stores that URLs name: S3, Google Cloud, HTTP, and what else fsspec knows."""

from __future__ import annotations

import hashlib
import importlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from sysid_ros.errors import ConfigurationError, RecordingError

# Of a web server.
_NOT_THERE = 404
_URL = re.compile(r'[a-z][a-z0-9+.-]+://', re.IGNORECASE)
# What names a recording of one file; anything else is a folder, as those of bags are.
_FILES = ('.mcap', '.db3', '.csv', '.tsv', '.txt', '.npz', '.parquet')
# What stores say of a file by which a change of it is seen, under their names for it.
_TELLS_CHANGE = {
    'etag', 'mtime', 'lastmodified', 'last_modified', 'last-modified', 'updated', 'md5hash',
    'created', 'content-md5', 'content_md5', 'digest', 'checksum'}


def is_url(name: str) -> bool:
    """Whether a name is a URL, and no file of this computer.

    Args:
        name: As a table has it.
    """
    return _URL.match(name) is not None


def name_of(url: str) -> str:
    """Last part of a URL, without a query.

    Args:
        url: The URL.
    """
    return PurePosixPath(url.partition('?')[0].rstrip('/')).name or 'recording'


@dataclass(frozen=True)
class StoredRecording:
    """A file or folder of a store.

    Attributes:
        url: Its URL.
        system: The file system of fsspec that reaches it.
        path: Its path there.
    """

    url: str
    system: Any
    path: str

    @classmethod
    def of(cls, url: str) -> StoredRecording:
        """Find out what reaches a URL.

        Args:
            url: The URL, or a pattern of URLs.

        Raises:
            ConfigurationError: fsspec, or what it needs for this kind of store, is not installed.
        """
        try:
            core = importlib.import_module('fsspec.core')
        except ImportError as error:
            raise ConfigurationError(
                'to reach stores takes fsspec, which is not installed', where=url,
                fix='pip install fsspec') from error
        try:
            system, path = core.url_to_fs(url)
        except ImportError as error:
            raise ConfigurationError(
                f'this kind of store needs a package: {error}', where=url,
                fix='Install it: pip install s3fs for s3://, gcsfs for gs://, adlfs for az://, '
                'aiohttp for https://') from error
        except ValueError as error:
            raise ConfigurationError(
                f'there is no such kind of store: {error}', where=url,
                allowed='a URL as s3://bucket/arm_1/monday.mcap, or a file name',
                fix='Correct what stands before ://') from error
        return cls(url, system, path)

    def matches(self) -> list[str]:
        """URLs that match it as a pattern, in the order of their names.

        Raises:
            ConfigurationError: Nothing does.
            RecordingError: The store does not answer.
        """
        found = sorted(map(str, self._asked(self.system.glob, self.path)))
        if not found:
            raise ConfigurationError(
                'nothing in the store matches the pattern', found=repr(self.url),
                fix='Look at it by hand: ** stands for folders in folders')
        return [self.system.unstrip_protocol(path) for path in found]

    def fetch(self, folder: Path) -> Path:
        """Copy it into a folder; its file or folder there, under its own name.

        Args:
            folder: An existing folder.

        Raises:
            RecordingError: It is not there, or does not arrive whole.
        """
        target = folder / name_of(self.url)
        for file in self._files():
            inside = '' if file == self.path else self._inside(file)
            (target / inside).parent.mkdir(parents=True, exist_ok=True)
            self._asked(self.system.get_file, file, str(target / inside))
        return target

    def send(self, folder: Path, last: str) -> None:
        """Copy a folder to where it is to be.

        Args:
            folder: The folder.
            last: Name of the file that is copied after all others.

        Raises:
            RecordingError: The store does not take it.
        """
        files = [path for path in folder.rglob('*') if path.is_file()]
        for file in sorted(files, key=lambda path: (path == folder / last, path)):
            target = f'{self.path}/{file.relative_to(folder).as_posix()}'
            self._asked(self.system.makedirs, target.rpartition('/')[0], True)
            self._asked(self.system.put_file, str(file), target)

    def state(self) -> str:
        """What the store says of its content; empty where that would not tell a change.

        Raises:
            RecordingError: It is not there, or the store does not answer.
        """
        told = [self._asked(self.system.info, file) for file in self._files()]
        if not all(_TELLS_CHANGE & {str(key).lower() for key in info} for info in told):
            return ''
        return hashlib.sha256(repr([_plain(info) for info in told]).encode()).hexdigest()

    def _files(self) -> list[str]:
        """Paths of its files."""
        if PurePosixPath(self.path).suffix.lower() in _FILES:
            return [self.path]
        found: list[str] = sorted(map(str, self._asked(self.system.find, self.path)))
        if not found:
            raise RecordingError(
                'there is no such recording in the store', where=self.url,
                fix='Correct the URL, or give a pattern: s3://bucket/arm_1/*.mcap')
        return found

    def _inside(self, file: str) -> PurePosixPath:
        """Path of a file below the recording's own.

        Raises:
            RecordingError: It is anywhere else, as only a store that means harm says.
        """
        path = PurePosixPath(file)
        if '..' in path.parts or not path.is_relative_to(self.path):
            raise RecordingError(
                'the store names a file that is not in the recording', where=self.url,
                found=repr(file), fix='Do not trust this store')
        return path.relative_to(self.path)

    def _asked(self, ask: Any, *arguments: Any) -> Any:
        """What the store answers.

        Raises:
            RecordingError: It does not, for whatever reason.
        """
        try:
            return ask(*arguments)
        except Exception as error:  # each kind of store has errors of its own
            # A web server that cannot be reached, too, is said not to have the file.
            cause = error.__cause__ or error
            if isinstance(cause, FileNotFoundError) or getattr(cause, 'status', 0) == _NOT_THERE:
                raise RecordingError(
                    'there is no such recording in the store', where=self.url,
                    fix='Correct the URL') from error
            raise RecordingError(
                f'the store does not do it: {type(cause).__name__}: {cause}', where=self.url,
                fix='See that this computer reaches the store, and has its credentials') from error


def expanded(pattern: str) -> list[str]:
    """URLs that a URL with wildcards stands for; without any, itself.

    Args:
        pattern: The URL.

    Raises:
        SysidError: Nothing matches, or the store cannot be reached.
    """
    # A question mark begins a query.
    wild = any(sign in pattern for sign in '*[')
    return StoredRecording.of(pattern).matches() if wild else [pattern]


def _plain(info: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What a store says of a file, in an order of its own."""
    return sorted((str(key), repr(value)) for key, value in info.items())
