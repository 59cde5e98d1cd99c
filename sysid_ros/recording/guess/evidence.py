"""What was guessed of a recording, why, and what only its owner knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sysid_ros.errors import SysidError


@dataclass(frozen=True)
class Finding:
    """Something that was guessed.

    Attributes:
        subject: What it is about, ``time`` or ``position`` for example.
        value: What was guessed, in words.
        evidence: What speaks for it.
    """

    subject: str
    value: str
    evidence: str

    def __str__(self) -> str:
        return f'{self.subject}: {self.value} ({self.evidence})'


@dataclass(frozen=True)
class Question:
    """Something that nothing there tells.

    Attributes:
        option: Option of the command line that answers it, without dashes.
        text: The question.
        found: What there is to go by.
        example: An answer, as it is written on the command line.
    """

    option: str
    text: str
    found: str
    example: str


class OpenQuestionsError(SysidError):
    """A recording, a description or a running system leaves open what no default may decide.

    Args:
        questions: What is open.
        source: The recording, the description, or the system.
    """

    def __init__(self, questions: Sequence[Question], source: str) -> None:
        self.questions = tuple(questions)
        first = self.questions[0]
        super().__init__(
            first.text.rstrip('?'), where=source, found=first.found,
            fix=f'Say it: --{first.option} {first.example}')
