"""How long work says what it is at, whoever shows it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

#: Shows that a step of the work is under way.
Stage = Callable[[str], AbstractContextManager[None]]

#: Takes what is being done, in words, and how much is done, from 0 to 1.
Report = Callable[[str, float], None]


def silent(_: str) -> AbstractContextManager[None]:
    """Say nothing of a step."""
    return nullcontext()
