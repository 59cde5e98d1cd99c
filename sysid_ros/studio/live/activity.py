"""What was asked of the nodes by a page: how far it is, and what came of it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

#: Kinds of activities, of which one each may be under way.
Kind = Literal['motion', 'recording', 'fit', 'release', 'order']
#: Is told what is being done, in words, and the part that is done, from 0 to 1.
Tell = Callable[[str, float], None]


@dataclass(frozen=True)
class Outcome:
    """What came of something.

    Attributes:
        good: Whether it is what was asked for.
        text: What happened, in words.
        name: Id of what came of it: a recording, an estimate or a revision; empty for none.
        seconds: How long it moved or recorded in [s]; NaN where that is no question.
        details: What else should be known, one sentence each.
    """

    good: bool
    text: str
    name: str = ''
    seconds: float = math.nan
    details: tuple[str, ...] = ()


@dataclass
class Activity:
    """Something that takes time.

    Attributes:
        kind: What it is.
        title: What it is in words.
        began: When it was asked for in [s] since 1970.
        ended: When it came to its end in [s] since 1970; 0 before.
        stage: What is being done.
        progress: The part that is done, from 0 to 1; NaN where nobody knows.
        outcome: What came of it.
        error: Why nothing came of it, as :func:`~sysid_ros.studio.error_notes.error_note` has it.
    """

    kind: Kind
    title: str
    began: float = field(default_factory=time.time)
    ended: float = 0.0
    stage: str = ''
    progress: float = math.nan
    outcome: Outcome | None = None
    error: dict[str, Any] | None = None

    @property
    def active(self) -> bool:
        """Whether it is still to come to its end."""
        return not self.ended

    def tell(self, stage: str, progress: float) -> None:
        """Take in how far it is."""
        self.stage, self.progress = stage, progress
