"""The newest revision, noted beside the store, so that it is missed when it is cut off.

A chain shows what was altered or taken out between its ends; that its end is not the end that was
handed out, it cannot show. The note is behind when a process dies between the commit and the
note, which is why revisions may follow the one that is noted.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

from sysid_ros.errors import ReleaseError
from sysid_ros.release.atomic import write_atomically

_LARGEST = 10_000


class Head:
    """The note beside a store.

    Args:
        store: File of the store.
    """

    def __init__(self, store: Path) -> None:
        self.path = store.with_name(f'{store.name}-head')

    def note(self, number: int, digest: str) -> None:
        """Note the newest revision; what cannot be written stays as it was.

        A note of a newer one stays: it is the proof that there was one.

        Args:
            number: Number of the revision.
            digest: Its whole digest.
        """
        # The revision itself is on the disk already.
        with suppress(ReleaseError):
            noted = self.noted()
            if noted is None or noted[0] < number:
                text = json.dumps({'number': number, 'digest': digest})
                write_atomically(self.path, text.encode())

    def noted(self) -> tuple[int, str] | None:
        """Number and digest of the revision that was noted; None where there is no note.

        Raises:
            ReleaseError: The note cannot be read.
        """
        try:
            if not self.path.exists():
                return None
            if self.path.stat().st_size > _LARGEST:
                raise ValueError('it is too long')
            said = json.loads(self.path.read_text(encoding='utf-8'))
            number, digest = said['number'], said['digest']
            if not isinstance(number, int) or not isinstance(digest, str):
                raise TypeError('it does not say number and digest')
        except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
            raise ReleaseError(
                f'the note of the newest revision cannot be read: {error!r}', where=str(self.path),
                fix='Remove it if the newest revision is the right one') from error
        return number, digest
