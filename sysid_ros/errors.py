"""Errors for people: what was found, what is allowed, where, and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import TypeVar

# Names of files that are compared with a missing one, and how alike they have to be.
_FILES, _ALIKE = 1000, 0.75


class SysidError(Exception):
    """Base of every error raised on purpose by this package.

    Args:
        problem: What is wrong, as a clause without a full stop.
        where: File, link, joint, parameter or column the problem is in.
        found: The offending value.
        allowed: What would have been accepted.
        fix: What to do about it, as an imperative clause.
    """

    def __init__(
        self,
        problem: str,
        *,
        where: str | None = None,
        found: object = None,
        allowed: object = None,
        fix: str | None = None,
    ) -> None:
        self.problem = problem
        self.where = where
        self.found = found
        self.allowed = allowed
        self.fix = fix
        super().__init__(self._sentence())

    def _sentence(self) -> str:
        text = self.problem if self.where is None else f'{self.where}: {self.problem}'
        details = [
            f'{label} {value}'
            for label, value in (('found', self.found), ('allowed', self.allowed))
            if value is not None
        ]
        if details:
            text += f' ({"; ".join(details)})'
        if self.fix is None:
            return text
        return f'{text}. {self.fix}' + ('' if self.fix.endswith(('?', '!')) else '.')


class ConfigurationError(SysidError):
    """A setting, YAML file or command-line value cannot be used."""


class ModelError(SysidError):
    """A robot description cannot be used."""


class UnreachableError(ModelError):
    """Closed loops cannot follow the driven joints to where they are asked to be."""


class ParameterError(SysidError):
    """A parameter name, value or vector cannot be used."""


class ExcitationError(SysidError):
    """A motion cannot be designed, or must not be played."""


class RecordingError(SysidError):
    """A recording cannot be read, or does not hold what is asked of it."""


class EstimationError(SysidError):
    """A problem cannot be solved, or its solution cannot be trusted."""


class ReleaseError(SysidError):
    """Identified parameters cannot be written or handed over."""


Kind = TypeVar('Kind', bound=SysidError)


def nearest_name(name: str, known: Iterable[str], alike: float = 0.5) -> str | None:
    """The known name most like another, whatever the case of their letters; None if none is.

    Args:
        name: The other one.
        known: Known names.
        alike: How alike they have to be, from 0 to 1.
    """
    by_lower = {other.lower(): other for other in known}
    nearest = difflib.get_close_matches(name.lower(), tuple(by_lower), n=1, cutoff=alike)
    return by_lower[nearest[0]] if nearest else None


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """The ``fix`` for a misspelt name: the nearest known one, or None if none is near."""
    nearest = nearest_name(name, known)
    return f'Did you mean {nearest!r}' if nearest is not None else None


def listed(names: Iterable[str], most: int = 12, separator: str = ', ') -> str:
    """Names for a message, separated by commas; of more than ``most`` only their number."""
    names = tuple(names)
    more = f' and {len(names) - most} more' if len(names) > most else ''
    return separator.join(names[:most]) + more


def nearest_file(path: Path) -> str | None:
    """The ``fix`` for a file that is not there: the nearest name in its folder, if one is near."""
    try:
        names = [other.name for other in islice(path.parent.iterdir(), _FILES)]
    except OSError:
        return None
    same_stem = [name for name in sorted(names) if Path(name).stem.lower() == path.stem.lower()]
    nearest = nearest_name(path.name, same_stem or names, 0.0 if same_stem else _ALIKE)
    return f'Did you mean {str(path.parent / nearest)!r}' if nearest is not None else None


def unreadable(
    kind: type[Kind], path: str | Path, error: Exception, fix: str | None = None
) -> Kind:
    """The error of a file that could not be opened or is no text.

    Args:
        kind: Class of the error.
        path: The file.
        error: What was raised.
        fix: What to do where no file of a similar name is there.
    """
    path, found = Path(path), None
    if isinstance(error, FileNotFoundError):
        why, folder = 'there is no such file', path.parent
        found = (f'nothing of that name in {folder.resolve()}' if folder.is_dir()
                 else f'no folder {folder}')
        fix = nearest_file(path) or fix
    elif isinstance(error, IsADirectoryError):
        why, found = 'it is no file', 'a folder'
    elif isinstance(error, PermissionError):
        why, fix = 'this user may not read it', f'Allow it: chmod u+r {path.name}'
    elif isinstance(error, UnicodeDecodeError):
        why, found = 'it is no text in UTF-8', f'the byte 0x{error.object[error.start]:02x}'
        fix = fix or 'Save it as UTF-8, or name the file that is meant'
    else:
        why = error.strerror or str(error) if isinstance(error, OSError) else str(error)
    return kind(f'cannot be read: {why}', where=str(path), found=found, fix=fix)
