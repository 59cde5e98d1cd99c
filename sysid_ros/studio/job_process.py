"""The process of one job as seen by the server: its steps, its end, and how it is stopped."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sysid_ros.studio.jobs import Job

_WORKER = Path(__file__).with_name('worker.py')
# How long a process may take to put away what is not complete, in [s].
_PATIENCE = 5.0
# Longest line that it may print, in [bytes], and lines of its complaints that are kept.
_LONGEST, _LINES = 1 << 26, 30
# Result of a process that was stopped.
_STOPPED = 130


@dataclass
class Step:
    """A step of a job.

    Attributes:
        text: What is being done.
        began: When it began, on the monotonic clock in [s].
        seconds: How long it took; None while it is under way.
        what: What of it is being done; empty where it is not told.
        done: How much of that is done.
        count: Of how many parts; 0 where that is not known.
        part_began: When that part of the work began, on the monotonic clock in [s].
    """

    text: str
    began: float
    seconds: float | None = None
    what: str = ''
    done: int = 0
    count: int = 0
    part_began: float = 0.0

    def left(self) -> float | None:
        """About how long the present part of it still takes in [s]; None where nobody knows."""
        if not (self.done and self.count) or self.seconds is not None:
            return None
        return (time.monotonic() - self.part_began) * (self.count - self.done) / self.done


@dataclass
class JobProcess:
    """A process that does one job.

    Attributes:
        job: The job.
        command: The command line that does the same in a terminal.
        folder: Its working directory.
        changed: Called whenever there is something new to be shown.
        steps: Steps so far.
        result: What came of it; None before, and where it is an error.
        error: The error as :func:`~sysid_ros.studio.work.error_note` has it; None for none.
        stopped: Whether it was stopped.
    """

    job: Job
    command: str
    folder: Path
    changed: Callable[[], None]
    steps: list[Step] = field(default_factory=list)
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None
    stopped: bool = False
    _process: asyncio.subprocess.Process | None = None

    async def run(self) -> None:
        """Do the job, and wait for its end."""
        if self.stopped:
            return
        order = json.dumps({
            'kind': self.job.kind, 'fields': self.job.model_dump(mode='json'),
            'command': self.command, 'parent': os.getpid()})
        try:
            # -P: nothing is imported from the folder, which may be a stranger's. A session of its
            # own: Ctrl-C in the terminal ends the server, which then ends this orderly.
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, '-P', str(_WORKER), order, cwd=self.folder,
                stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE, start_new_session=True, limit=_LONGEST,
                env=_environment())
        except OSError as error:
            self.error = _failure(f'the process could not be started: {error.strerror or error}')
            self.changed()
            return
        if self.stopped:
            # While it was being started.
            self._interrupt()
        try:
            _, complaints = await asyncio.gather(self._listen(), self._complaints())
            code = await self._process.wait()
        finally:
            if self._process.returncode is None:
                self._kill()
        self._conclude(code, complaints)
        self.changed()

    async def stop(self) -> None:
        """Stop it; what was not complete is not kept."""
        self.stopped = True
        process = self._process
        if process is None or process.returncode is not None:
            return
        self._interrupt()
        try:
            await asyncio.wait_for(process.wait(), _PATIENCE)
        except TimeoutError:
            self._kill()
            await process.wait()

    def _interrupt(self) -> None:
        """Stop it as Ctrl-C stops a verb."""
        assert self._process is not None
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGINT)

    def _kill(self) -> None:
        """End it at once, with the processes that draw for it."""
        assert self._process is not None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    async def _listen(self) -> None:
        assert self._process is not None and self._process.stdout is not None
        while line := await self._process.stdout.readline():
            self._take(json.loads(line))
            self.changed()

    async def _complaints(self) -> list[str]:
        """Last lines that it printed for people."""
        assert self._process is not None and self._process.stderr is not None
        lines: list[str] = []
        while line := await self._process.stderr.readline():
            lines = [*lines, line.decode(errors='replace').rstrip()][-_LINES:]
        return lines

    def _take(self, said: dict[str, Any]) -> None:
        now = time.monotonic()
        if 'stage' in said:
            self.steps.append(Step(said['stage'], now))
        elif 'ended' in said and self.steps:
            self.steps[-1].seconds = said['ended']
        elif 'part' in said and self.steps:
            step = self.steps[-1]
            what, step.done, step.count = said['part']
            if what != step.what or not step.done:
                step.what, step.part_began = what, now
        self.result = said.get('result', self.result)
        self.error = said.get('error', self.error)

    def _conclude(self, code: int, complaints: list[str]) -> None:
        if self.result is not None or self.error is not None:
            return
        self.stopped = self.stopped or code == _STOPPED
        if not self.stopped:
            self.error = _failure(
                f'the process ended with {code}', '\n'.join(filter(None, complaints)))


def _failure(problem: str, found: str = '') -> dict[str, Any]:
    fix = 'See whether the computer has memory and room on its disk, and begin it again'
    return {'text': problem, 'problem': problem, 'where': '', 'found': found, 'allowed': '',
            'fix': fix, 'questions': []}


def _environment() -> dict[str, str]:
    environment = dict(os.environ)
    # A mark of ROS wheels, which tells Python that libraries were found already.
    environment.pop('_ROS_WHEELS_BOOTSTRAP_COMPLETE', None)
    return environment
