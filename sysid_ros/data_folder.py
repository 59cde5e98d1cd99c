"""One folder for motions, recordings, estimates and revisions, whose contents are named by ids.

Ids come over the network. An id becomes a path only here, and never one outside the folder.
"""

from __future__ import annotations

import re
import secrets
import time
from dataclasses import dataclass
from pathlib import Path

from sysid_ros.errors import ConfigurationError

_ID = re.compile(r'[A-Za-z0-9][A-Za-z0-9_.-]{0,63}', re.ASCII)
_ALLOWED = "1 to 64 letters, digits, '_', '-' and '.', the first a letter or digit"
_LONGEST_SHOWN = 80


@dataclass(frozen=True)
class DataFolder:
    """The data folder, which every node of a robot shares.

    ``motions/<id>.yaml``, ``recordings/<id>/``, ``estimates/<id>/``, ``followed/<id>/`` and
    ``revisions.sqlite``. The folder of a kind is made when something of it is first asked for.

    Attributes:
        root: The folder; ``~`` stands for the home folder.
    """

    root: Path

    def __post_init__(self) -> None:
        object.__setattr__(self, 'root', Path(self.root).expanduser())

    @property
    def revisions(self) -> Path:
        """File of the revision store.

        Raises:
            ConfigurationError: The folder cannot be made, or the file is a link out of it.
        """
        return self._inside(self.root, 'revisions.sqlite')

    def motion(self, name: str) -> Path:
        """File of a motion, whether or not it exists.

        Raises:
            ConfigurationError: The id is not one, leads out, or the folder cannot be made.
        """
        return self._resolve('motions', name, '.yaml')

    def recording(self, name: str) -> Path:
        """Folder of a recording, whether or not it exists.

        Raises:
            ConfigurationError: The id is not one, leads out, or the folder cannot be made.
        """
        return self._resolve('recordings', name)

    def estimate(self, name: str) -> Path:
        """Folder of an estimate, whether or not it exists.

        Raises:
            ConfigurationError: The id is not one, leads out, or the folder cannot be made.
        """
        return self._resolve('estimates', name)

    def followed(self, name: str) -> Path:
        """Folder of reports on a robot that was followed, whether or not it exists.

        Raises:
            ConfigurationError: The id is not one, leads out, or the folder cannot be made.
        """
        return self._resolve('followed', name)

    def _resolve(self, kind: str, name: str, suffix: str = '') -> Path:
        require_id(name)
        return self._inside(self.root / kind, name + suffix)

    def _inside(self, folder: Path, name: str) -> Path:
        """A path in a folder that is made if needed; symbolic links must not lead out."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            root, path = self.root.resolve(), (folder / name).resolve()
        except (OSError, RuntimeError) as error:  # a loop of links is a RuntimeError before 3.13
            raise ConfigurationError(
                f'the data folder cannot be used: {error}', where=str(folder),
                fix='Check its permissions, or name another data folder',
            ) from error
        if root not in path.parents:
            raise ConfigurationError(
                'a symbolic link leads out of the data folder', where=str(folder / name),
                found=str(path), allowed=f'below {root}', fix='Remove the link',
            )
        return path


def require_id(name: str) -> str:
    """An id that may become part of a path.

    Args:
        name: Candidate.

    Returns:
        The same.

    Raises:
        ConfigurationError: It is none: empty, too long, a path, or with other characters.
    """
    if not _ID.fullmatch(name):
        shown = name if len(name) <= _LONGEST_SHOWN else f'{name[:_LONGEST_SHOWN]}…'
        raise ConfigurationError(
            'not an id', found=repr(shown), allowed=_ALLOWED,
            fix="Take one that 'sysid' or a node made, such as estimate-20260302-101500-0a1b2c")
    return name


def new_id(prefix: str) -> str:
    """An id that has not been used: a prefix, the date and time, and a random end.

    Args:
        prefix: What it names, at most 32 characters of an id.

    Raises:
        ConfigurationError: The prefix is no beginning of an id.
    """
    stamp = time.strftime('%Y%m%d-%H%M%S', time.gmtime())
    return require_id(f'{prefix}-{stamp}-{secrets.token_hex(3)}')
