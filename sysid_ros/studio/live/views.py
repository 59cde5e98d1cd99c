"""What nodes last said of themselves, as values that pages show."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum


class NodeState(Enum):
    """What a node does; the value is the word for people."""

    ABSENT = 'not heard'
    INACTIVE = 'not active'
    ACTIVE = 'ready'
    WORKING = 'at work'
    STOPPING = 'coming to rest'
    ERROR = 'needs a person'

    @property
    def ready(self) -> bool:
        """Whether it grants requests, or is busy with one."""
        return self in (NodeState.ACTIVE, NodeState.WORKING, NodeState.STOPPING)


@dataclass(frozen=True)
class NodeSign:
    """A node's last sign of life.

    Attributes:
        state: What it does.
        message: What is wrong, in its words; empty when all is well.
        heard: When it was heard on the steady clock in [s].
    """

    state: NodeState = NodeState.ABSENT
    message: str = ''
    heard: float = -math.inf


class MotionPhase(Enum):
    """What the excitation does; the value is the word for people."""

    IDLE = 'nothing to play'
    ARMED = 'armed'
    BLENDING = 'on the way to the beginning'
    PLAYING = 'playing'
    STOPPING = 'slowing down'
    HOLDING = 'at rest where it was stopped'
    DONE = 'played to its end'

    @property
    def moving(self) -> bool:
        """Whether the robot is told to move."""
        return self in (MotionPhase.BLENDING, MotionPhase.PLAYING, MotionPhase.STOPPING)


@dataclass(frozen=True)
class MotionStatus:
    """What the excitation node last said.

    Attributes:
        phase: What it does.
        motion: Id of the motion that is armed, played, or was played last.
        progress: Part of it that was played, from 0 to 1.
        reason: Why it was stopped; empty when nobody stopped it.
        heard: When it was heard on the steady clock in [s].
    """

    phase: MotionPhase = MotionPhase.IDLE
    motion: str = ''
    progress: float = 0.0
    reason: str = ''
    heard: float = -math.inf


@dataclass(frozen=True)
class RecordingStatus:
    """What the identification node last said of recordings and fits.

    Attributes:
        recording: Whether it records.
        fitting: Whether it fits.
        error: Whether something is wrong.
        message: What it does, or what is wrong, in its words.
        name: Id of the recording under way, or of the last one.
        duration: Of that recording in [s].
        samples: Usable joint states of it.
        dropped: Messages that were dropped.
        faults: Names of what was wrong with messages, with how often it was.
        torques: Of each joint its name, the RMS of its measured effort, and that of what the
            revision does not explain, in [N·m] or [N].
        estimate: Id of the estimate under way, or of the last one.
        stage: What the fit does.
        progress: Part of it that is done, from 0 to 1.
        heard: When it was heard on the steady clock in [s].
    """

    recording: bool = False
    fitting: bool = False
    error: bool = False
    message: str = ''
    name: str = ''
    duration: float = 0.0
    samples: int = 0
    dropped: int = 0
    faults: tuple[tuple[str, int], ...] = ()
    torques: tuple[tuple[str, float, float], ...] = ()
    estimate: str = ''
    stage: str = ''
    progress: float = 0.0
    heard: float = -math.inf


@dataclass(frozen=True)
class RevisionEntry:
    """One revision of the store.

    Attributes:
        revision: Its id.
        kind: What made it: ``as described``, ``commit`` or ``rollback``.
        estimate: Id of the estimate that it holds; empty for none.
        restored: Of a rollback: id of the revision whose content it repeats.
        comment: From whoever committed it.
        stamp: When it was committed in [s] since 1970.
        error: Relative torque error on data that was not fitted; NaN where it is not known.
        current: Whether it is handed out.
    """

    revision: str
    kind: str
    estimate: str = ''
    restored: str = ''
    comment: str = ''
    stamp: float = 0.0
    error: float = math.nan
    current: bool = False


@dataclass(frozen=True)
class Revisions:
    """The store of the model server, and who runs what.

    Attributes:
        entries: Revisions, the newest first.
        acknowledged: Consumers that run the current one.
        outdated: Consumers that run another one.
    """

    entries: tuple[RevisionEntry, ...] = ()
    acknowledged: tuple[str, ...] = ()
    outdated: tuple[str, ...] = ()

    @property
    def current(self) -> RevisionEntry | None:
        """The revision that is handed out; None where none is known."""
        return next((entry for entry in self.entries if entry.current), None)


@dataclass(frozen=True)
class StopOrder:
    """A request to stop everything that was heard.

    Attributes:
        source: Who asked for it.
        reasons: Why, one sentence each.
        heard: When, in [s] since 1970.
    """

    source: str
    reasons: tuple[str, ...]
    heard: float
