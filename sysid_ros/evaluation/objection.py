"""One reason against handing an estimate over."""

from __future__ import annotations

from typing import NamedTuple


class Objection(NamedTuple):
    """A reason against, and the next step, one sentence each."""

    reason: str
    next_step: str
