"""Compile ahead all that fits, searches and nodes need, so that the first waits for nothing.

What was compiled is kept beside the package, or where NUMBA_CACHE_DIR says; what is there already
is not compiled again.
"""

from __future__ import annotations

import argparse
import time
from contextlib import nullcontext

from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.cli.progress import stage
from sysid_ros.numerics.progress import tell, work
from sysid_ros.runs.compile_ahead import compile_ahead


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``sysid compile``."""
    parser.add_argument(
        '--processes', type=int, metavar='N', help='how many work at once; by default one a core')
    parser.add_argument('--quiet', action='store_true', help='tell nothing but errors')


def run(options: argparse.Namespace) -> ExitCode:
    """Compile, telling of progress on standard error."""
    start = time.perf_counter()
    with nullcontext() if options.quiet else stage('Compiling'):
        compiled = compile_ahead(_show_progress, processes=options.processes)
    if not options.quiet:
        print(f'{compiled.count} functions were compiled in {time.perf_counter() - start:.0f} s.'
              if compiled.count else 'All functions are compiled.')
    return ExitCode.OK


def _show_progress(done: int, tasks: int, name: str, count: int) -> None:
    with work(name):
        tell(done, tasks)
