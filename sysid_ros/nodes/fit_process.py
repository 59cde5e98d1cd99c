"""The process of a fit or a judgement as seen by the node that started it."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
from typing import IO, Any

from sysid_ros.runs.job import FitJob, JudgementJob, WarmUpJob

_BLOCK = 1 << 16
# The word that orders each kind of job.
_WORK: dict[type, str] = {FitJob: 'fit', JudgementJob: 'judge', WarmUpJob: 'warm_up'}


class FitProcess:
    """A process that carries out one fit or judgement, and may be started before there is one.

    Args:
        warm_up: Compiled functions to load before the job; None for those that it needs.
        early: Whether modules are loaded at once; what to warm up is told by :meth:`prepare`.

    Attributes:
        stage: What is being done, in words.
        progress: How much of the job is done, from 0 to 1.
        ready: Whether what was to be loaded before the job is loaded.
        result: What :func:`~sysid_ros.runs.fit_job.fit_job` gave, or
            :func:`~sysid_ros.runs.fit_job.judgement_job`, once it is done.
        error: Why there is no result, and of which class the error was.
    """

    def __init__(self, warm_up: WarmUpJob | None = None, *, early: bool = False) -> None:
        self.stage, self.progress = 'Starting', 0.0
        self._kept_ready, self._begun = early or warm_up is not None, False
        self.ready = not self._kept_ready
        self.result: dict[str, Any] | None = None
        self.error = self.kind = ''
        self._reports = list[tuple[str, float]]()
        self._rest = b''
        self._complaints: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (see _close)
        self._process = subprocess.Popen(
            [sys.executable, '-m', 'sysid_ros.nodes.fit_worker', *(['--early'] if early else [])],
            # Ends with us: the pipe closes, however we end.
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._complaints, bufsize=0,
            env=environment(),
        )
        assert self._process.stdout is not None  # it is a pipe
        os.set_blocking(self._process.stdout.fileno(), False)
        if warm_up is not None:
            self._order(warm_up)

    def prepare(self, warm_up: WarmUpJob) -> None:
        """Load compiled functions before there is a job.

        Raises:
            OSError: The process has ended.
        """
        self._order(warm_up)

    @property
    def lost(self) -> bool:
        """Whether it ended before it began its job, for which another process may do."""
        return self._kept_ready and not self._begun and self._complaints.closed

    def begin(self, job: FitJob | JudgementJob) -> None:
        """Carry out a job as soon as the process has loaded what it was told to load.

        Args:
            job: The only job of this process.

        Raises:
            OSError: The process has ended.
        """
        self._order(job)

    def poll(self) -> bool:
        """Take in what was reported since the last call; whether the process is over."""
        if self._complaints.closed:
            return True
        over = self._process.poll() is not None
        assert self._process.stdout is not None
        while block := self._process.stdout.read(_BLOCK):
            self._rest += block
        *lines, self._rest = self._rest.split(b'\n')
        for line in lines:
            self._take(line)
        if over:
            self._conclude()
        return over

    def new_reports(self) -> list[tuple[str, float]]:
        """Stages and progress that were reported and not asked for yet, in order."""
        reports, self._reports = self._reports, []
        return reports

    def kill(self) -> None:
        """End it at once; what it wrote stays where it is."""
        if self._complaints.closed:
            return
        self._process.kill()
        self._process.wait()
        self.error = self.error or 'the fit was ended'
        self._close()

    def figure(self, name: str) -> float:
        """One number of the result; NaN when it is not known."""
        value = None if self.result is None else self.result.get(name)
        return float(value) if isinstance(value, float) else math.nan

    def _order(self, job: FitJob | JudgementJob | WarmUpJob) -> None:
        assert self._process.stdin is not None  # it is a pipe
        line = json.dumps([_WORK[type(job)], job.model_dump(mode='json')])
        self._process.stdin.write(line.encode() + b'\n')

    def _take(self, line: bytes) -> None:
        said = json.loads(line)
        self.ready = said.get('ready', self.ready)
        self._begun = said.get('begun', self._begun)
        self.stage = said.get('stage', self.stage)
        self.progress = float(said.get('progress', self.progress))
        if 'stage' in said or 'progress' in said:
            self._reports.append((self.stage, self.progress))
        self.result = said.get('result', self.result)
        self.error, self.kind = said.get('error', self.error), said.get('kind', self.kind)

    def _conclude(self) -> None:
        if self.result is None and not self.error:
            self._complaints.seek(0)
            last = self._complaints.read().decode(errors='replace').strip().splitlines()[-1:]
            self.error = f'its process ended with {self._process.returncode}' + (
                f': {last[0]}' if last else '')
        if self.result is not None:
            self.stage, self.progress = 'Done', 1.0
        self._close()

    def _close(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout, self._complaints):
            if pipe is not None:
                pipe.close()


def environment() -> dict[str, str]:
    """Environment of a process beside the nodes: one thread, and libraries of its own."""
    variables = dict(os.environ)
    # A mark of ROS wheels, which tells Python that libraries were found already.
    variables.pop('_ROS_WHEELS_BOOTSTRAP_COMPLETE', None)
    # More threads would take the time that reception needs.
    threads = ('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS', 'NUMBA_NUM_THREADS')
    return variables | dict.fromkeys(threads, '1')
