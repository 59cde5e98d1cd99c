"""Errors for people: what was found, what is allowed, where, and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


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
        return text if self.fix is None else f'{text}. {self.fix}.'


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


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """The ``fix`` for a misspelt name: the nearest known one, or None if none is near."""
    nearest = difflib.get_close_matches(name, tuple(known), n=1, cutoff=0.5)
    return f'Did you mean {nearest[0]!r}' if nearest else None
