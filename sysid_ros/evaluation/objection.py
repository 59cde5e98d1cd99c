"""One reason against handing an estimate over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Objection(NamedTuple):
    """A reason against, and the next step, one sentence each."""

    reason: str
    next_step: str


def held_at_prior(joints: Sequence[str]) -> str:
    """The line of settings that holds all terms of joints at the prior."""
    patterns = ', '.join(f"'{joint}.*'" for joint in joints)
    return f'fit: {{fixed: [{patterns}]}}'
