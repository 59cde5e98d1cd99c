"""A process that has loaded what fits need, kept ready for the next one.

To load takes seconds, and half a minute where the functions have to be compiled first. So a
process does it before there is a fit, and the next one does it while the robot is at other things.
"""

from __future__ import annotations

import math

from sysid_ros.errors import EstimationError
from sysid_ros.nodes.fit_process import FitProcess
from sysid_ros.nodes.node import now
from sysid_ros.runs.job import FitJob, WarmUpJob

# After a process that ended before it had a job, the next one waits for so long, in [s].
_PAUSE = 10.0
# The process that was begun before its node.
_EARLY: list[FitProcess] = []


def begin_early() -> None:
    """Begin the first process of this program before the node that needs it is loaded.

    What both load takes them seconds, and so they do it beside one another.
    """
    _EARLY.append(FitProcess(early=True))


class FitStandby:
    """Keeps a process ready, hands it over when a fit begins, and starts another one afterwards.

    Args:
        warm_up: What it loads; None to keep no process: a fit begins by loading.

    Attributes:
        problem: Why the last process ended before it had a job; empty when it did not.
    """

    def __init__(self, warm_up: WarmUpJob | None) -> None:
        self._warm_up = warm_up
        if warm_up is None:
            while _EARLY:
                _EARLY.pop().kill()
        self._process: FitProcess | None = None
        self._ended = -math.inf
        self.problem = ''

    @property
    def ready(self) -> bool:
        """Whether a process waits for a job, where one is kept."""
        return self._warm_up is None or (self._process is not None and self._process.ready)

    @property
    def loading(self) -> str:
        """What a process is still doing before it is ready, in words; empty when none is."""
        return '' if self._process is None or self._process.ready else self._process.stage

    def start(self) -> None:
        """Start a process that somebody waits for, unless there is one."""
        self.poll()
        if self._process is None and self._warm_up is not None:
            self.problem = ''
            self._process = _begun(self._warm_up.model_copy(update={'awaited': True}))

    def keep(self) -> None:
        """Start a process unless there is one, or one has ended just now."""
        wanted = self._process is None and self._warm_up is not None
        if wanted and now() > self._ended + _PAUSE:
            self._process = FitProcess(self._warm_up)

    def poll(self) -> None:
        """Take in what the process has reported, or that it has ended."""
        if self._process is None:
            return
        if self._process.poll():
            self.problem, self._ended = self._process.error, now()
            self._process = None
        elif self._process.ready:
            self.problem = ''

    def require_ready(self) -> None:
        """Refuse to go on without a process that is ready.

        Raises:
            EstimationError: There is none.
        """
        if not self.ready:
            raise EstimationError(
                'the process for fits is not ready', found=self.problem or self.loading or 'none',
                fix='Activate the node again; if it ends again, check the memory and '
                'NUMBA_CACHE_DIR')

    def take(self, job: FitJob) -> FitProcess:
        """Give the process a job; one that has loaded nothing yet where there is none.

        Args:
            job: The job.
        """
        process, self._process = self._process, None
        if process is not None:
            try:
                process.begin(job)
                return process
            except OSError:
                # It ended since it was looked at.
                process.kill()
        process = FitProcess()
        process.begin(job)
        return process

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process = None


def _begun(warm_up: WarmUpJob) -> FitProcess:
    """A process that loads what it is told to, the one that was begun early if it is there."""
    while _EARLY:
        process = _EARLY.pop()
        try:
            process.prepare(warm_up)
            return process
        except OSError:
            # It ended since.
            process.kill()
    return FitProcess(warm_up)
