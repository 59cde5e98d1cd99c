"""The SQLite file under the revision store: how it is opened, read and written."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sysid_ros.errors import ReleaseError

# Marks a file as a store of this package: 'SYSI' in ASCII.
_APPLICATION = 0x53595349
_VERSION = 1
#: How long to wait for another process that writes, in [s].
PATIENCE = 10.0

_SCHEMA = """
CREATE TABLE revisions (
    number INTEGER PRIMARY KEY CHECK (number >= 1),
    id TEXT NOT NULL UNIQUE,
    digest TEXT NOT NULL UNIQUE,
    parent_digest TEXT NOT NULL,
    record TEXT NOT NULL,
    description BLOB NOT NULL
);
CREATE TABLE acknowledgements (
    consumer TEXT PRIMARY KEY,
    revision TEXT NOT NULL,
    stamp INTEGER NOT NULL
);
CREATE TRIGGER no_update BEFORE UPDATE ON revisions
BEGIN SELECT RAISE(ABORT, 'revisions are append-only'); END;
CREATE TRIGGER no_delete BEFORE DELETE ON revisions
BEGIN SELECT RAISE(ABORT, 'revisions are append-only'); END;
CREATE TRIGGER append_only BEFORE INSERT ON revisions
WHEN NEW.number IS NOT (SELECT COALESCE(MAX(number), 0) + 1 FROM revisions)
    OR NEW.parent_digest IS NOT COALESCE(
        (SELECT digest FROM revisions ORDER BY number DESC LIMIT 1), '')
    OR EXISTS (SELECT 1 FROM revisions WHERE id = NEW.id OR digest = NEW.digest)
BEGIN SELECT RAISE(ABORT, 'revisions are append-only'); END;
"""


class StoreFile:
    """An open store.

    Args:
        path: The file. It is made if it does not exist.
        patience: How long to wait for another process that writes, in [s].

    Raises:
        ReleaseError: It cannot be opened, or is no store.
    """

    def __init__(self, path: Path, patience: float = PATIENCE) -> None:
        self.path = path
        self._patience = patience
        #: Whether this process may write it.
        self.writable = True
        with self._for_people():
            self._connection = self._open()
        try:
            with self._for_people():
                self._prepare()
                self._identity = _identity(path)
        except BaseException:
            self._connection.close()
            raise

    @property
    def replaced(self) -> bool:
        """Whether the path leads elsewhere by now, so that others see another file."""
        try:
            return _identity(self.path) != self._identity
        except OSError:
            return True

    def close(self) -> None:
        """Let go of the file."""
        with suppress(sqlite3.Error):
            self._connection.close()

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Execute one statement.

        Args:
            statement: SQL, with a question mark for every value.
            values: The values.

        Raises:
            ReleaseError: The file cannot be read or written.
        """
        with self._for_people():
            return self._connection.execute(statement, values).fetchall()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """A transaction: all that is written in it, or nothing. Others wait.

        Raises:
            ReleaseError: The file cannot be written; nothing has changed.
        """
        if not self.writable:
            raise ReleaseError(
                'the revision store cannot be written', where=str(self.path),
                fix='Check its permissions and those of its folder')
        self.rows('BEGIN IMMEDIATE')
        try:
            yield
            self.rows('COMMIT')
        except BaseException:
            with suppress(sqlite3.Error):
                # SQLite itself has rolled back after some errors.
                if self._connection.in_transaction:
                    self._connection.execute('ROLLBACK')
            raise

    def damage(self) -> list[str]:
        """Faults of the file's structure, as SQLite finds them; empty when it is sound."""
        found = [str(row[0]) for row in self.rows('PRAGMA integrity_check(10)')]
        return [] if found == ['ok'] else [' '.join(text.split()) for text in found]

    def _open(self) -> sqlite3.Connection:
        uri = self.path.absolute().as_uri()
        exists = self.path.exists()
        if not exists or (
            os.access(self.path, os.W_OK) and os.access(self.path.parent, os.W_OK)
        ):
            return self._connect(f'{uri}?mode=rwc')
        self.writable = False
        # Without a log beside it, nothing that is not in the file itself is missed.
        beside = self.path.with_name(self.path.name + '-wal')
        return self._connect(f'{uri}?mode=ro' + ('' if beside.exists() else '&immutable=1'))

    def _connect(self, uri: str) -> sqlite3.Connection:
        # Transactions are begun and ended here, never by the module itself.
        return sqlite3.connect(uri, uri=True, timeout=self._patience, isolation_level=None)

    def _prepare(self) -> None:
        """Make sure that the file is a store; an empty one becomes it."""
        execute = self._connection.execute
        if self.writable:
            # Read first: a file of somebody else is not to be changed.
            self._require_store(may_be_empty=True)
            execute('PRAGMA journal_mode = WAL')
            execute('PRAGMA synchronous = FULL')
            if self._is_empty():
                self._make()
        self._require_store(may_be_empty=False)

    def _make(self) -> None:
        with self.writing():
            if not self._is_empty():
                return  # another process was faster
            for statement in _statements(_SCHEMA):
                self._connection.execute(statement)
            self._connection.execute(f'PRAGMA user_version = {_VERSION}')
            self._connection.execute(f'PRAGMA application_id = {_APPLICATION}')

    def _is_empty(self) -> bool:
        return not self.rows('SELECT 1 FROM sqlite_master LIMIT 1')

    def _require_store(self, *, may_be_empty: bool) -> None:
        application = self.rows('PRAGMA application_id')[0][0]
        version = self.rows('PRAGMA user_version')[0][0]
        if may_be_empty and not application and self._is_empty():
            return
        if application != _APPLICATION:
            raise ReleaseError(
                'is not a revision store', where=str(self.path),
                fix='Move it away, or name another data folder')
        if version != _VERSION:
            raise ReleaseError(
                'the revision store has another format', where=str(self.path), found=version,
                allowed=_VERSION, fix='Use the version of this package that wrote it')

    @contextmanager
    def _for_people(self) -> Iterator[None]:
        """Errors of SQLite as errors that say what to do."""
        try:
            yield
        except (sqlite3.Error, OSError, UnicodeError, OverflowError) as error:
            raise ReleaseError(
                f'the revision store cannot be used: {error}', where=str(self.path),
                fix=_advice(str(error)),
            ) from error


def _identity(path: Path) -> tuple[int, int]:
    """What tells a file from another one that takes its name."""
    found = path.stat()
    return found.st_dev, found.st_ino


def _statements(script: str) -> Iterator[str]:
    """The statements of a script; ``executescript`` would end the transaction."""
    statement = ''
    for line in script.splitlines():
        statement += line + '\n'
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ''


def _advice(problem: str) -> str:
    """What to do about an error of SQLite."""
    if 'not a database' in problem or 'malformed' in problem or 'decode' in problem:
        return 'Restore the file from a copy, or move it away and begin a new store'
    if 'locked' in problem or 'busy' in problem:
        return 'See which other process holds it, and try again'
    if 'append-only' in problem:
        return 'Commit or roll back; revisions never change'
    return 'Check the folder, its permissions and the space on the disk; nothing has changed'
