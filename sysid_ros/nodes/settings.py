"""Parameters that every node has."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from sysid_ros.settings import StrictSettings


class NodeSettings(StrictSettings):
    """Parameters of every node of this package; each adds its own.

    They are taken over when the node is configured. Those of ``live`` may change until it is
    cleaned up, and hold at once; the others are refused meanwhile, so that no answer "successful"
    is given for a value that nothing uses.

    Attributes:
        autostart: Whether it configures and activates itself.
        realtime_priority: Priority of its process while it is active; 0 for an ordinary one.
    """

    #: Names of the parameters that may change while the node is configured.
    live: ClassVar[frozenset[str]] = frozenset()

    autostart: bool = Field(
        default=True, description='Configure and activate at once; false: a lifecycle manager does')
    realtime_priority: int = Field(
        default=0, ge=0, le=99,
        description='Real-time priority of the process (SCHED_FIFO), from activation on; 0: none')
