"""The state of a robot's nodes that all browsers see, as the nodes last told it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from sysid_ros.studio.live.traces import JointTraces
from sysid_ros.studio.live.views import (
    MotionPhase,
    MotionStatus,
    NodeSign,
    NodeState,
    RecordingStatus,
    Revisions,
    StopOrder,
)

#: Nodes that the way from a motion to a revision needs.
MONITOR, EXCITATION = 'monitor_node', 'excitation_node'
IDENTIFICATION, MODEL_SERVER = 'identification_node', 'model_server'
NEEDED = (MONITOR, EXCITATION, IDENTIFICATION, MODEL_SERVER)
# Silence in [s] after which a node counts as not heard, and a status as old: heartbeats come every
# 0.05 s, statuses of the identification every 0.5 s unless it is told otherwise.
_SILENCE, _OLD = 1.0, 3.0
# Joint states older than this in [s] are no picture of the robot.
_STALE = 0.5


class LiveState:
    """What is known of a robot and its nodes. One thread writes, others read.

    Args:
        clock: Steady clock in [s].

    Attributes:
        traces: Joint states of the last seconds.
        motion: What the excitation node last said.
        recording: What the identification node last said.
        revisions: The store of the model server.
        stop: The last request to stop everything; None where none was heard.
        problem: Why joint states are not received although they are published.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.traces = JointTraces()
        self.motion, self.recording = MotionStatus(), RecordingStatus()
        self.revisions, self.problem = Revisions(), ''
        self.stop: StopOrder | None = None
        self._signs: dict[str, NodeSign] = dict.fromkeys(NEEDED, NodeSign())

    def hear(self, node: str, sign: NodeSign) -> None:
        """Take in a sign of life.

        Args:
            node: Name of the node, without the namespace.
            sign: What it says.
        """
        # Readers go through the old one meanwhile.
        self._signs = self._signs | {node: sign}

    @property
    def nodes(self) -> dict[str, NodeSign]:
        """Nodes of the robot with their signs of life; those that are silent are absent."""
        now = self._clock()
        return {name: sign if now - sign.heard < _SILENCE else NodeSign(heard=sign.heard)
                for name, sign in self._signs.items()}

    def node(self, name: str) -> NodeSign:
        """The sign of life of one node."""
        return self.nodes.get(name, NodeSign())

    @property
    def phase(self) -> MotionPhase | None:
        """What the excitation does now; None where nobody says it."""
        known = self._clock() - self.motion.heard < _SILENCE
        return self.motion.phase if known else None

    @property
    def moving(self) -> bool:
        """Whether the robot moves, or may move for all that is known."""
        phase = self.phase
        if phase is not None:
            return phase.moving
        # Silent while it moved: for all that is known it still does.
        return self.motion.phase.moving and math.isfinite(self.motion.heard)

    @property
    def armed(self) -> bool:
        """Whether the excitation is armed."""
        return self.phase is MotionPhase.ARMED

    @property
    def records(self) -> bool:
        """Whether a recording is under way."""
        return self.recording.recording and self._clock() - self.recording.heard < _OLD

    @property
    def fits(self) -> bool:
        """Whether a fit is under way."""
        return self.recording.fitting and self._clock() - self.recording.heard < _OLD

    @property
    def stopped(self) -> str:
        """What the monitor has found, in its words; empty where it has found nothing."""
        sign = self.node(MONITOR)
        return (sign.message or 'It says no reason.') if sign.state is NodeState.ERROR else ''

    @property
    def seen(self) -> bool:
        """Whether joint states are heard."""
        return self.traces.age(time.time_ns()) < _STALE

    @property
    def identified(self) -> bool:
        """Whether a revision that was identified is handed out."""
        current = self.revisions.current
        return current is not None and bool(current.estimate)
