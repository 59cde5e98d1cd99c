"""Figures drawn by a process beside this one, which loads Matplotlib while this one still fits.

Loading it and drawing take longer than the fit of a minute of data. The process starts when work
begins, has figures drawn by forks of itself as they come, and ends with the work. Where there is
one processor for this process only, or no process can be started or one fails, figures are drawn
here: they are the same.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections import deque
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, cast

from sysid_ros.numerics.forked import ONE_PROCESS, Arrays, Forked, processors
from sysid_ros.report.joint_strips import JointStrips

# The other process finds modules where this one does.
_PROGRAM = 'import sys; sys.path[:] = {path!r}; from sysid_ros.report.drawing import main; main()'


class Drawing:
    """Draws figures while something else is being done; all are there at the end of ``with``."""

    def __init__(self) -> None:
        self._figures: list[tuple[Path, JointStrips]] = []
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Drawing:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                self._finish()
        finally:
            self.end()

    def start(self) -> None:
        """Start the process, if it was not started; who does so before ``with`` calls ``end``."""
        alone = os.environ.get(ONE_PROCESS) or len(os.sched_getaffinity(0)) == 1
        if self._process is None and not alone and sys.executable:
            self._start()

    def add(self, path: str | Path, figure: JointStrips) -> None:
        """Have a figure drawn.

        Args:
            path: PNG file to write.
            figure: What it shows.
        """
        self._figures.append((Path(path).absolute(), figure))
        if self._process is not None and self._folder is not None:
            # By a file: a pipe would be full until the figure before is done.
            file = Path(self._folder.name) / str(len(self._figures))
            try:
                figure.write(file)
                _input(self._process).write(
                    json.dumps([str(file), str(self._figures[-1][0])]).encode() + b'\n')
            except OSError:
                self.end()

    def _start(self) -> None:
        try:
            self._folder = tempfile.TemporaryDirectory(prefix='sysid_figures_')
            self._process = subprocess.Popen(
                [sys.executable, '-c', _PROGRAM.format(path=sys.path)], bufsize=0,
                stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                process_group=0)
        except OSError:
            self.end()

    def _finish(self) -> None:
        """Wait for the process, and draw what it did not."""
        done = False
        if self._process is not None:
            _input(self._process).close()
            done = self._process.wait() == 0
        if self._figures and not done:
            from sysid_ros.report.joint_axes import draw  # a third of a second to import

            for path, figure in self._figures:
                draw(path, figure)

    def end(self) -> None:
        """End the process, whatever it still has to draw."""
        if self._process is not None:
            _input(self._process).close()
            if self._process.poll() is None:
                # With its forks, which are of its group.
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None


class Undrawn(Drawing):
    """Draws nothing, for who asks for figures later, if ever."""

    def start(self) -> None:
        """Start nothing."""

    def add(self, path: str | Path, figure: JointStrips) -> None:
        """Forget a figure."""


def _input(process: subprocess.Popen[bytes]) -> BinaryIO:
    return cast(BinaryIO, process.stdin)


def main() -> None:
    """Draw figures; a line of standard input names the file of one and the PNG to write.

    They come together, and the last ones are waited for: as many as there are processors are drawn
    side by side.
    """
    from sysid_ros.report.joint_axes import draw  # while what is to be drawn is still computed

    def drawn(file: str, path: str) -> Arrays:
        draw(path, JointStrips.read(Path(file)))
        return ()

    most = processors()
    with ExitStack() as stack:
        forks: deque[Forked] = deque()
        for line in sys.stdin.buffer:
            fork = stack.enter_context(Forked(partial(drawn, *json.loads(line))))
            if not fork.running:
                fork.result()
                continue
            forks.append(fork)
            if len(forks) > most:
                forks.popleft().result()
        for fork in forks:
            fork.result()
