"""What a check of a robot description found."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Severity(Enum):
    """How much a finding matters; the value is the sentence for people."""

    FATAL = 'the model cannot be loaded: its kinematics would be wrong'
    PRIOR = 'the link cannot be used as a prior; the model can still be identified'
    WARNING = 'the model can be used, with care'


@dataclass(frozen=True)
class Finding:
    """One fault of one element.

    Attributes:
        severity: How much it matters.
        code: Short stable name of the kind of fault, for scripts and tests.
        element: The element, e.g. ``joint "elbow"``.
        message: A clause without a full stop, with what was found and what is allowed.
    """

    severity: Severity
    code: str
    element: str
    message: str

    def __str__(self) -> str:
        return f'{self.element}: {self.message}.'


def quoted(name: str | None) -> str:
    """A name from a file for messages: in quotes, with control characters made visible."""
    return '""' if name is None else '"' + repr(name)[1:-1] + '"'
