"""Copies what a robot's nodes have finished into a store, while the robot is idle."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from sysid_ros.nodes.fit_process import environment
from sysid_ros.nodes.node import SysidNode, now

_UPDATE_PERIOD = 0.5


class Shipping:
    """Starts ``sysid ship`` from time to time, and ends it as soon as there is other work.

    What was interrupted is copied again: the store never holds half of a recording as a whole one.

    Args:
        node: The node.
        data: Its data folder.
        url: Where in the store.
        period: From the end of one copy to the begin of the next, in [s].
        idle: Whether nothing moves, is recorded or fitted.

    Attributes:
        problem: Why the last copy failed; empty when it did not.
    """

    def __init__(
        self, node: SysidNode[Any], data: Path, url: str, period: float, idle: Callable[[], bool]
    ) -> None:
        self._command = [
            sys.executable, '-m', 'sysid_ros.cli.main', 'ship', str(data), url, '--background']
        self._period, self._idle = period, idle
        self._due = now() + period
        self._process: subprocess.Popen[bytes] | None = None
        self._complaints: IO[bytes] | None = None
        self.problem = ''
        node.every(_UPDATE_PERIOD, self._update)

    @property
    def busy(self) -> bool:
        """Whether something is being copied."""
        return self._process is not None

    def close(self) -> None:
        """End what is being copied."""
        if self._process is not None:
            self._process.kill()
            self._end()

    def _update(self) -> None:
        if self._process is None:
            if now() >= self._due and self._idle():
                self._begin()
        elif self._process.poll() is not None:
            code = self._process.returncode
            said = self._end()
            self.problem = '' if code == 0 else f'not copied into the store: {said or code}'
        elif not self._idle():
            self.close()

    def _begin(self) -> None:
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115 (closed by _end)
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=self._complaints, env=environment())

    def _end(self) -> str:
        """Let go of the process; the last line of what it complained of."""
        assert self._process is not None and self._complaints is not None  # it was begun
        self._process.wait()
        self._process, self._due = None, now() + self._period
        self._complaints.seek(0)
        lines = self._complaints.read().decode(errors='replace').strip().splitlines()
        self._complaints.close()
        return lines[-1] if lines else ''
