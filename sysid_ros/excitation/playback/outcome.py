"""How a request for a motion ends, and a refusal to start one."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from sysid_ros.errors import ExcitationError


class Outcome(Enum):
    """How a request for a motion ends; the values are the codes of ``ResultCode``."""

    OK = 'ok'
    BUSY = 'busy'
    NOT_ARMED = 'not_armed'
    NOT_READY = 'not_ready'
    NOT_SAFE = 'not_safe'
    STOPPED = 'stopped'
    CANCELLED = 'cancelled'
    FAILED = 'failed'


class MotionRefused(ExcitationError):  # noqa: N818 (nothing went wrong)
    """A motion that is not started.

    Args:
        outcome: The code.
        problem: Why, as a clause.
        details: As of every error.
    """

    def __init__(self, outcome: Outcome, problem: str, **details: str | None) -> None:
        self.outcome = outcome
        super().__init__(problem, **details)


@dataclass(frozen=True)
class End:
    """How a motion ended.

    Attributes:
        outcome: The code.
        message: The same for people.
        run: Name of the motion.
        progress: Part that was played.
        tracking_error: Largest distance of a joint from its command in [rad] or [m].
    """

    outcome: Outcome
    message: str
    run: str
    progress: float
    tracking_error: float
