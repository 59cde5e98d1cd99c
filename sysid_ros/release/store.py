"""The revision store: append-only, hash-chained, and whole whatever happens while it is written.

An SQLite file in WAL mode with full synchronisation: when a commit has returned, the revision is
on the disk; when the process dies before, there is no trace of it. It needs a local file system.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from sysid_ros.errors import ReleaseError
from sysid_ros.release.head import Head
from sysid_ros.release.revision import (
    MAX_COMMENT,
    Content,
    Kind,
    Revision,
    digest_of,
    revision_id,
    revision_number,
)
from sysid_ros.release.store_file import PATIENCE, StoreFile

#: Longest name of a consumer in characters, and most consumers that are remembered.
MAX_CONSUMER, MAX_CONSUMERS = 256, 1000
# How many revisions an error lists.
_LISTED = 10
_RESTORE = 'Restore the file from a copy, or roll back to a revision that is sound'
_COMMIT = 'Commit an estimate first, by ~/commit of the model server'
_READ = 'SELECT number, id, digest, parent_digest, record, description FROM revisions'


class BaseChangedError(ReleaseError):
    """Another revision was committed since the fit began."""


class UnknownRevisionError(ReleaseError):
    """There is no such revision."""


class RejectedEntryError(ReleaseError):
    """An entry for the store is too long, or too much."""


class RevisionStore:
    """The revisions of one robot, in one file.

    Several processes may use one file at once. Every revision that is read is checked against
    its id; what hangs together with the rest is checked by :meth:`verify`.

    Args:
        path: The file. It is made if it does not exist, and if its folder may be written.
        patience: How long to wait for another process that writes, in [s].

    Raises:
        ReleaseError: It cannot be opened, or is no store.
    """

    def __init__(self, path: str | Path, patience: float = PATIENCE) -> None:
        self._file = StoreFile(Path(path), patience)
        self._head = Head(Path(path))

    @property
    def path(self) -> Path:
        """The file."""
        return self._file.path

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def __enter__(self) -> RevisionStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # Reading

    def __len__(self) -> int:
        return int(self._file.rows('SELECT COUNT(*) FROM revisions')[0][0])

    def current(self) -> Revision | None:
        """The newest revision, which is handed out; None when there is none.

        Raises:
            ReleaseError: It was altered, a newer one was cut off, or the file cannot be read.
        """
        for problem in self.cut_off():
            raise ReleaseError(problem.rstrip('.'), where=str(self.path))
        newest = self.newest(1)
        return newest[0] if newest else None

    def current_id(self) -> str:
        """Id of the current revision, without reading it; empty when there is none."""
        rows = self._file.rows('SELECT id FROM revisions ORDER BY number DESC LIMIT 1')
        return str(rows[0][0]) if rows else ''

    def newest(self, limit: int = 0) -> list[Revision]:
        """Revisions, newest first.

        Args:
            limit: Most revisions to read; 0 for all.

        Raises:
            ReleaseError: One of them was altered, or the file cannot be read.
        """
        rows = self._file.rows(f'{_READ} ORDER BY number DESC LIMIT ?', (limit or -1,))
        return [_checked(row) for row in rows]

    def get(self, name: str) -> Revision:
        """One revision.

        Args:
            name: Its id.

        Raises:
            UnknownRevisionError: There is none; those that exist are listed.
            ReleaseError: It was altered, or the file cannot be read.
        """
        rows = self._file.rows(f'{_READ} WHERE id = ?', (name,))
        if rows:
            return _checked(rows[0])
        raise UnknownRevisionError(
            'there is no such revision', found=repr(name[:80]),
            allowed=', '.join(self._listed()) or 'none, since nothing was committed',
        )

    def initial(self) -> Revision | None:
        """The first revision, from before any identification; None when there is none."""
        rows = self._file.rows(f'{_READ} WHERE number = 1')
        return _checked(rows[0]) if rows else None

    def verify(self) -> tuple[str, ...]:
        """Faults of the store, one sentence each; empty when it is sound.

        Altered, exchanged and missing revisions are found. Revisions that were cut off or replaced
        at the end are missed by the note beside the store, and by consumers that acknowledged
        them; whoever changes all three at once is not found out.
        """
        try:
            damage = [f'The file is damaged: {text}.' for text in self._file.damage()]
            return (*damage, *self._broken_links(), *self.cut_off(), *self._missing())
        except ReleaseError as error:
            return (str(error),)

    def cut_off(self, known: str = '') -> tuple[str, ...]:
        """Revisions that were handed out and are gone from the end, one sentence each.

        It reads no content, so that it may be asked for as long as a store is open.

        Args:
            known: Id of a revision that was handed out, beside the one that is noted.

        Raises:
            ReleaseError: The note beside the store, or the file, cannot be read.
        """
        if self._file.replaced:
            return (f'{self.path.name} was replaced or removed while it was open.',)
        gone, rows, noted = list[str](), self._file.rows, self._head.noted()
        if noted and not rows('SELECT 1 FROM revisions WHERE number = ? AND digest = ?', noted):
            gone.append(revision_id(*noted))
        if known and not rows('SELECT 1 FROM revisions WHERE id = ?', (known,)):
            gone.append(known)
        return tuple(self._gone(name) for name in dict.fromkeys(gone))

    # Writing

    def begin(self, content: Content, comment: str = '') -> Revision:
        """The initial revision; made if there is none.

        Raises:
            ReleaseError: The store belongs to another description, was cut off, or cannot be
                written.
        """
        self.current()
        if self.initial() is None and self._file.writable:
            with self._file.writing():
                if self.initial() is None:
                    self._append(content, Kind.INITIAL, comment)
        first = self.initial()
        if first is None:
            raise ReleaseError('the store is empty and cannot be written', where=str(self.path))
        if first.content.description != content.description:
            raise ReleaseError(
                'the revisions belong to another robot description', where=str(self.path),
                found=f'SHA-256 {content.description_sha256[:16]}…',
                allowed=f'SHA-256 {first.content.description_sha256[:16]}…, as when it was begun',
                fix='Take that description, or name another data folder',
            )
        self._note_head()
        return first

    def commit(self, content: Content, base: str, comment: str = '') -> Revision:
        """Append a revision with new content.

        Args:
            content: The content.
            base: Id of the revision that the estimate was based on; empty for the initial one.
            comment: Kept with it.

        Returns:
            The new revision; the current one where that holds the same content already.

        Raises:
            BaseChangedError: The current revision does not hold what the base holds.
            UnknownRevisionError: There is no such base.
            ReleaseError: The store is empty, altered or cut off, or cannot be written.
        """
        with self._file.writing():
            current = self._sound_current()
            if current.content.same_as(content):
                return current
            self.require_base(base)
            revision = self._append(content, Kind.COMMIT, comment)
        self._head.note(revision.number, revision.digest)
        return revision

    def require_base(self, base: str) -> None:
        """Refuse a base whose content is not the current one's.

        Contents are compared, not ids: after a rollback to the base it still holds.

        Args:
            base: Id of a revision; empty for the initial one.

        Raises:
            BaseChangedError: Another content is handed out now.
            UnknownRevisionError: There is no such base.
            ReleaseError: The store is empty or altered.
        """
        current = self._sound_current()
        before = self.get(base) if base else self.initial()
        if before is None or not current.content.same_as(before.content):
            raise BaseChangedError(
                'another revision was committed since the fit began',
                found=current.id, allowed=before.id if before else None,
                fix='Identify again from the current revision, or roll back to that one first',
            )

    def rollback(self, name: str = '', comment: str = '') -> Revision:
        """Append a revision with the content of an earlier one.

        Args:
            name: Id of that revision; empty for the one before the current.
            comment: Kept with the new one.

        Raises:
            UnknownRevisionError: There is none; those that exist are listed.
            ReleaseError: The store is empty, altered, or cannot be written.
        """
        with self._file.writing():
            current = self._sound_current()
            if not name and not current.parent:
                raise UnknownRevisionError(
                    'there is no revision before the first', found=current.id,
                    fix='Name the revision to restore')
            restored = self.get(name or current.parent)
            revision = self._append(restored.content, Kind.ROLLBACK, comment, restored.id)
        self._head.note(revision.number, revision.digest)
        return revision

    def acknowledge(self, consumer: str, revision: str) -> None:
        """Remember which revision a consumer runs. This is no part of the chain.

        Args:
            consumer: Fully qualified name of its node.
            revision: Id of a revision.

        Raises:
            UnknownRevisionError: There is no such revision.
            RejectedEntryError: The name is empty or too long, or there are too many consumers.
            ReleaseError: The store cannot be written.
        """
        if not 0 < len(consumer) <= MAX_CONSUMER:
            raise RejectedEntryError(
                'the name of the consumer has no sensible length', found=len(consumer),
                allowed=f'1 to {MAX_CONSUMER} characters')
        self.get(revision)
        with self._file.writing():
            known = self.acknowledgements()
            if consumer not in known and len(known) >= MAX_CONSUMERS:
                raise RejectedEntryError(
                    'there are too many consumers', found=len(known), allowed=MAX_CONSUMERS)
            self._file.rows(
                'INSERT OR REPLACE INTO acknowledgements VALUES (?, ?, ?)',
                (consumer, revision, time.time_ns()))

    def acknowledgements(self) -> dict[str, str]:
        """Id of the revision that each consumer has last acknowledged, by consumer."""
        rows = self._file.rows('SELECT consumer, revision FROM acknowledgements ORDER BY consumer')
        return {str(consumer): str(revision) for consumer, revision in rows}

    # Within a transaction

    def _append(self, content: Content, kind: Kind, comment: str, restored: str = '') -> Revision:
        if len(comment) > MAX_COMMENT:
            raise RejectedEntryError(
                'the comment is too long', found=f'{len(comment)} characters', allowed=MAX_COMMENT)
        parent = self.current()
        revision = Revision(
            number=1 if parent is None else parent.number + 1,
            parent='' if parent is None else parent.id,
            parent_digest='' if parent is None else parent.digest,
            kind=kind, stamp=time.time_ns(), comment=comment, restored=restored, content=content,
        )
        self._file.rows(
            'INSERT INTO revisions VALUES (?, ?, ?, ?, ?, ?)',
            (revision.number, revision.id, revision.digest, revision.parent_digest,
             revision.record, content.description))
        return revision

    def _sound_current(self) -> Revision:
        current = self.current()
        if current is None:
            raise ReleaseError('the store is empty', where=str(self.path), fix=_COMMIT)
        return current

    def _listed(self) -> Iterator[str]:
        rows = self._file.rows(
            'SELECT id FROM revisions ORDER BY number DESC LIMIT ?', (_LISTED + 1,))
        yield from (name for name, in rows[:_LISTED])
        if len(rows) > _LISTED:
            yield 'and older ones'

    def _broken_links(self) -> Iterator[str]:
        """Revisions that do not follow from those before them."""
        expected, digest, parent = 1, '', ''
        for number, in self._file.rows('SELECT number FROM revisions ORDER BY number'):
            if not isinstance(number, int):
                yield f'Revision {number!r} is none.'
                continue
            if number != expected:
                yield f'Revision {expected} is missing before revision {number}.'
            try:
                revision = _checked(self._row(number))
            except ReleaseError as error:
                yield f'Revision {number} was altered: {error}.'
                # What follows is judged by what was written in it, not by what it holds now.
                digest, parent = '', ''
            else:
                if (digest or number == 1) and (
                    revision.parent_digest != digest or revision.parent != parent
                ):
                    yield f'Revision {revision.id} does not follow from the one before it.'
                digest, parent = revision.digest, revision.id
            expected = number + 1

    def _note_head(self) -> None:
        """Note what a process that died could not, and what was there before there were notes."""
        rows = self._file.rows('SELECT number, digest FROM revisions ORDER BY number DESC LIMIT 1')
        if rows and self._file.writable:
            self._head.note(*rows[0])

    def _gone(self, name: str) -> str:
        number = revision_number(name)
        rows = self._file.rows('SELECT 1 FROM revisions WHERE number = ?', (number,))
        what = 'another one is in its place' if rows else 'it is missing'
        return (
            f'Revision {name} was handed out, and {what}. Restore the file; if an older one was '
            f'put back on purpose, remove {self._head.path.name}.')

    def _row(self, number: Any) -> tuple[Any, ...]:
        rows = self._file.rows(f'{_READ} WHERE number = ?', (number,))
        if len(rows) != 1:
            raise ReleaseError(
                'it is listed, but not to be found', where=f'revision {number}',
                found=f'{len(rows)} rows', allowed=1, fix='Restore the file from a copy')
        return rows[0]

    def _missing(self) -> Iterator[str]:
        """Revisions that somebody runs and that are gone."""
        known = {name for name, in self._file.rows('SELECT id FROM revisions')}
        for consumer, revision in self.acknowledgements().items():
            if revision not in known:
                yield f'Revision {revision}, which {consumer} runs, is missing.'


def _checked(row: tuple[Any, ...]) -> Revision:
    """A revision as it was written; refused if anything in it has changed since."""
    number, name, digest, parent_digest, record, description = row
    where = f'revision {name}'
    try:
        found = digest_of(parent_digest, record, description)
        if found == digest and name == revision_id(number, digest):
            revision = Revision.read(parent_digest, record, description)
            if revision.number == number and revision.digest == digest:
                return revision
    except (AttributeError, TypeError, UnicodeError) as error:
        raise ReleaseError(
            f'its content was altered: {error!r}', where=where, fix=_RESTORE) from error
    raise ReleaseError(
        'its content was altered after it was committed', where=where, fix=_RESTORE)
