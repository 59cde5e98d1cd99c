"""Jobs of the page from the moment somebody asks for them, and what is noted of them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from sysid_ros import __version__
from sysid_ros.studio.job_process import JobProcess
from sysid_ros.studio.jobs import KINDS, Job, job_of


class Phase(Enum):
    """How far a job is; the value is the word for people."""

    WAITING = 'waiting'
    RUNNING = 'running'
    DONE = 'done'
    FAILED = 'failed'
    STOPPED = 'stopped'
    INTERRUPTED = 'interrupted'

    @property
    def active(self) -> bool:
        """Whether it is still to come to its end."""
        return self in (Phase.WAITING, Phase.RUNNING)


@dataclass
class Task:
    """A job, and what came of it.

    Attributes:
        job: The job.
        command: The command line that does the same in a terminal.
        reads: Digest of what it reads, from before it began.
        phase: How far it is.
        asked: When it was asked for in [s] since 1970.
        ended: When it came to its end in [s] since 1970; 0 before.
        process: Its process; None before it began, and of a task that was noted.
        result: What came of it.
        error: Why nothing came of it.
    """

    job: Job
    command: str = ''
    reads: str = ''
    phase: Phase = Phase.WAITING
    asked: float = 0.0
    ended: float = 0.0
    process: JobProcess | None = None
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None

    @classmethod
    def of_note(cls, note: Mapping[str, Any]) -> Task | None:
        """A task as it was noted; None where the note is not one of this version.

        One that was under way when its server ended is interrupted.
        """
        # What came of a job may have been noted otherwise by another version.
        if note.get('kind') not in KINDS or note.get('version') != __version__:
            return None
        try:
            phase = Phase(note['phase'])
            return cls(
                job_of(dict(note)), str(note['command']), str(note['reads']),
                Phase.INTERRUPTED if phase.active else phase, float(note['asked']),
                float(note['ended']), None, note['result'], note['error'])
        except (KeyError, TypeError, ValueError):
            return None

    def note(self) -> dict[str, Any]:
        """What is noted of it."""
        return {
            'version': __version__, 'kind': self.job.kind,
            'fields': self.job.model_dump(mode='json'), 'command': self.command,
            'reads': self.reads, 'phase': self.phase.value, 'asked': self.asked,
            'ended': self.ended, 'result': self.result, 'error': self.error}

    def conclude(self, *, closing: bool) -> None:
        """Take over what came of its process.

        Args:
            closing: Whether it was stopped by the end of the server.
        """
        assert self.process is not None
        self.result, self.error = self.process.result, self.process.error
        self.ended = time.time()
        if self.result is not None:
            self.phase = Phase.DONE
        elif self.error is not None:
            self.phase = Phase.FAILED
        else:
            self.phase = Phase.INTERRUPTED if closing else Phase.STOPPED
