"""Nodes as processes that end when the program does, whatever happens."""

from __future__ import annotations

import contextlib
import fcntl
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from sysid_ros.errors import ConfigurationError, SysidError
from sysid_ros.runs.abandoned_locks import remove_abandoned_locks
from sysid_ros.runs.middleware import loopback_variables

# Domains above this one get ports that other programs use.
_DOMAINS = range(1, 102)
# Time in [s] that nodes get to bring the robot to rest, and that of a look.
_GRACE, _LOOK = 8.0, 0.05
# Last lines of a node that are shown when it ends too soon.
_LAST_LINES = 15
# Runs a module in a process that the kernel ends when its parent is gone: 1 is PR_SET_PDEATHSIG.
_LAUNCHER = """
import ctypes, runpy, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGKILL)
sys.argv = sys.argv[1:]
runpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)
"""


class NodeProcesses:
    """Processes of nodes in one ROS domain; a context that ends them all.

    Args:
        folder: Folder they run in; what they print goes to ``log/`` below it.
        domain: ROS domain; by default one that no other such program uses.

    Attributes:
        domain: The domain.
    """

    def __init__(self, folder: Path, domain: int | None = None) -> None:
        self._folder = folder
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._lock: int | None = None
        remove_abandoned_locks()
        if domain is None:
            domain, self._lock = claim_domain()
        self.domain = domain

    def start(
        self, module: str, name: str, parameters: Sequence[Path], *, shown: bool = False
    ) -> str:
        """Start a module of ``sysid_ros.nodes``.

        Args:
            module: The module's name.
            name: Name of the node.
            parameters: Files of parameters, the later ones over the earlier.
            shown: Whether what it prints is shown.

        Returns:
            The name.
        """
        arguments = ['-r', f'__node:={name}']
        for file in parameters:
            arguments += ['--params-file', str(file)]
        log = self._folder / 'log'
        log.mkdir(exist_ok=True)
        with (log / f'{name}.txt').open('wb') as output:
            self._processes[name] = subprocess.Popen(
                [sys.executable, '-c', _LAUNCHER, f'sysid_ros.nodes.{module}', '--ros-args',
                 *arguments],
                stdout=None if shown else output, stderr=None if shown else subprocess.STDOUT,
                stdin=subprocess.DEVNULL, cwd=self._folder, env=node_environment(self.domain),
                start_new_session=True,
            )
        return name

    def process(self, name: str) -> subprocess.Popen[bytes]:
        """The process of a node that was started."""
        return self._processes[name]

    def wait_for(self, name: str, seconds: float) -> int:
        """Wait until one of them has ended; returns its exit code.

        Raises:
            SysidError: Another one ended before it, or it takes too long.
        """
        deadline = time.monotonic() + seconds
        while (code := self._processes[name].poll()) is None:
            for other, process in self._processes.items():
                if process.poll() is not None and other != name:
                    raise SysidError(
                        f'the node {other} ended by itself', found=f'code {process.returncode}',
                        where=str(self._log(other)), fix='It said: ' + self._last_words(other))
            if time.monotonic() > deadline:
                raise SysidError(f'{name} did not end', allowed=f'{seconds:.0f} s')
            time.sleep(_LOOK)
        return code

    def end(self) -> None:
        """End all, by a signal and after a while by force, and what they have started."""
        for process in self._processes.values():
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + _GRACE
        for process in self._processes.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(deadline - time.monotonic(), 0.0))
        for process in self._processes.values():
            # Each is the leader of a group, which its own workers are in.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> NodeProcesses:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end()

    def _log(self, name: str) -> Path:
        return self._folder / 'log' / f'{name}.txt'

    def _last_words(self, name: str) -> str:
        text = self._log(name).read_text(encoding='utf-8', errors='replace')
        return '\n'.join(text.splitlines()[-_LAST_LINES:]) or 'nothing'


def node_environment(domain: int) -> dict[str, str]:
    """Environment variables of a node process that talks to this machine alone."""
    own = str(Path(__file__).parents[2])
    environment = os.environ | loopback_variables() | {
        'ROS_DOMAIN_ID': str(domain),
        'OMP_NUM_THREADS': '1', 'OPENBLAS_NUM_THREADS': '1', 'PYTHONUNBUFFERED': '1',
        'PYTHONPATH': os.pathsep.join(filter(None, [own, os.environ.get('PYTHONPATH')])),
    }
    # The wheels' own mark must not be inherited: it stops them from finding libraries.
    environment.pop('_ROS_WHEELS_BOOTSTRAP_COMPLETE', None)
    return environment


def claim_domain() -> tuple[int, int]:
    """A ROS domain that no other program of this kind uses, tests included.

    Returns:
        The domain, and a file descriptor whose lock says so until it is closed.

    Raises:
        ConfigurationError: All are taken.
    """
    for domain in random.sample(_DOMAINS, len(_DOMAINS)):
        path = Path(tempfile.gettempdir()) / f'sysid_ros_domain_{domain}'
        try:
            lock = os.open(path, os.O_CREAT | os.O_RDWR, 0o666)
        except OSError:
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            continue
        return domain, lock
    raise ConfigurationError('every ROS domain is taken', fix='Name one with --domain')
