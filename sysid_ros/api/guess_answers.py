"""What a guess of a recording asks for, as keywords of Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sysid_ros.errors import RecordingError
from sysid_ros.recording.guess.evidence import OpenQuestionsError
from sysid_ros.recording.guess.options import OPTIONS

# Answers to what a guess asks for, as keywords; columns are said as those of a section.
_ANSWERS = frozenset(OPTIONS) - {
    'joints', 'time', 'position', 'velocity', 'effort', 'command', 'topic'}


def answers_of(
    joints: Sequence[str] | None, section: Mapping[str, Any]
) -> dict[str, str] | None:
    """What is known of a file that is to be guessed; None where its section is said.

    Args:
        joints: Names of the joints, in the order of the columns.
        section: Keywords: answers, or keys of the section.
    """
    said = {key.replace('_', '-'): value for key, value in section.items()}
    if not set(said) <= _ANSWERS:
        return None
    known = said if joints is None else said | {'joints': joints}
    return {
        key: str(value) if isinstance(value, (str, int, float)) else ','.join(map(str, value))
        for key, value in known.items()}


def as_keyword(error: OpenQuestionsError, file: Path) -> RecordingError:
    """An open question with the keyword that answers it.

    Args:
        error: What is open.
        file: The file it is about.
    """
    first = error.questions[0]
    keyword = first.option.replace('-', '_')
    fix = f'Say it: {keyword}={first.example}'
    if first.option in ('joints', 'unpowered'):
        fix = f'Say it: {keyword}={first.example.split(",")}'
    elif first.option not in _ANSWERS:
        fix = "Name the columns: time='…', position=[…], effort=[…]"
    elif ',' in first.example:
        fix = f"Say it: {keyword}=[…], one for each joint, or {keyword}='description'"
    return RecordingError(
        first.text.rstrip('?'), where=str(file), found=first.found, fix=fix)
