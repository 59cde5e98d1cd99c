"""The process of a fit or a judgement as seen by the node that started it."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from sysid_ros.runs.job import FitJob, JudgementJob

_BLOCK = 1 << 16


@dataclass
class FitProcess:
    """A fit, or another judgement of one, under way.

    Attributes:
        job: What it does.
        stage: What is being done, in words.
        progress: How much is done, from 0 to 1.
        result: What :func:`~sysid_ros.runs.fit_job.fit_job` gave, or
            :func:`~sysid_ros.runs.fit_job.judgement_job`, once it is done.
        error: Why there is no result, and of which class the error was.
    """

    job: FitJob | JudgementJob
    stage: str = 'Starting'
    progress: float = 0.0
    result: dict[str, Any] | None = None
    error: str = ''
    kind: str = ''
    _process: subprocess.Popen[bytes] = field(init=False)
    _folder: tempfile.TemporaryDirectory[str] = field(init=False)
    _complaints: IO[bytes] = field(init=False)
    _rest: bytes = b''

    def __post_init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix='sysid_fit_')
        file = Path(self._folder.name) / 'job.json'
        file.write_text(self.job.model_dump_json(), encoding='utf-8')
        self._complaints = (Path(self._folder.name) / 'stderr').open('w+b')
        work = 'fit' if isinstance(self.job, FitJob) else 'judge'
        self._process = subprocess.Popen(
            [sys.executable, '-m', 'sysid_ros.nodes.fit_worker', work, str(file)],
            # Ends with us: the pipe closes, however we end.
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._complaints,
            env=_environment(),
        )
        assert self._process.stdout is not None  # it is a pipe
        os.set_blocking(self._process.stdout.fileno(), False)

    def poll(self) -> bool:
        """Take in what was reported since the last call; whether the fit is over."""
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

    def _take(self, line: bytes) -> None:
        said = json.loads(line)
        self.stage = said.get('stage', self.stage)
        self.progress = float(said.get('progress', self.progress))
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
        self._folder.cleanup()


def _environment() -> dict[str, str]:
    environment = dict(os.environ)
    # A mark of ROS wheels, which tells Python that libraries were found already.
    environment.pop('_ROS_WHEELS_BOOTSTRAP_COMPLETE', None)
    # More threads would take the time that reception needs.
    threads = ('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS', 'NUMBA_NUM_THREADS')
    return environment | dict.fromkeys(threads, '1')
