"""Errors as plain values, for pages that show what mends them."""

from __future__ import annotations

from typing import Any

from sysid_ros.errors import SysidError
from sysid_ros.recording.guess.evidence import OpenQuestionsError


def error_note(error: SysidError) -> dict[str, Any]:
    """An error as plain values, with the questions that are open.

    Args:
        error: The error.
    """
    cause = error if isinstance(error, OpenQuestionsError) else error.__cause__
    questions = cause.questions if isinstance(cause, OpenQuestionsError) else ()
    return {
        'text': str(error), 'problem': error.problem, 'where': error.where or '',
        'found': '' if error.found is None else str(error.found),
        'allowed': '' if error.allowed is None else str(error.allowed), 'fix': error.fix or '',
        'questions': [
            {'option': one.option, 'text': one.text, 'found': one.found, 'example': one.example}
            for one in questions]}
