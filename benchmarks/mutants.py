"""How many changes for the worse no test notices: in safety, evaluation and release, or elsewhere.

    python benchmarks/mutants.py [--modules 'sysid_ros/excitation/safety/*'] [--sample 40]
        [--seed 1] [--quick] [--gate] [--journal mutants.jsonl]
        [--equivalent equivalent_mutants.jsonl]

A mutant is a copy of the sources with one place changed: a comparison or a condition is negated, a
comparison takes or leaves its bound, ``raise`` or ``return`` is dropped, a constant is another,
``and`` and ``or``, minimum and maximum, plus and minus, times and divided are exchanged. It is
killed when a test of its module fails, or takes too long; a survivor is a rule that may be lost
unnoticed, or a change that means nothing: people have to look. Those that mean nothing are listed
in equivalent_mutants.jsonl with the reason. The bar is 95 % killed in what guards robot and model,
and 85 % elsewhere; with --gate the exit code is 1 where a sample says that it is missed.

Every mutant is tried in a process forked from one that has the sources of a copy of the tree and
their tests loaded: only what imports the changed module is loaded anew. The same is done without
any change first, for every module, which must pass and tells how long its tests take.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from _mutant_bars import Key, equivalent_mutants, figures, key_of
from _mutant_tests import markers_of, tests_of
from _mutation import Mutant, mutants, mutated
from _preloaded import dependents, forget

for _library in ('OMP', 'OPENBLAS', 'MKL'):
    os.environ[f'{_library}_NUM_THREADS'] = '1'

ROOT = Path(__file__).resolve().parents[1]
MODULES = (
    'sysid_ros/excitation/safety/*.py', 'sysid_ros/excitation/playback/*.py',
    'sysid_ros/evaluation/*.py', 'sysid_ros/release/*.py', 'sysid_ros/runs/commit.py')
# Of the processor for the tests of a module in [s], as multiple of what they take without a change
# and at least, for a change; and how much longer the clock may go on.
PATIENCE, MULTIPLE, LEAST, BUSY = 1200, 4.0, 30, 20
# What tests look at.
PARTS = ('sysid_ros', 'test', 'docs', 'config', 'examples', 'launch', 'pyproject.toml',
         'setup.cfg', 'package.xml')
# Where a copy of the tree has what its tests said last.
WORDS = 'words.txt'
_OUT_OF_TIME = (signal.SIGXCPU, signal.SIGKILL)
# In a worker: what imports a module, by its file, and how long its tests take without a change.
_DEPENDENTS: dict[str, set[str]] = {}
_TAKEN: dict[str, float] = {}


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant: ``killed``, ``too slow`` or ``survived``, after a time in [s]."""

    mutant: Mutant
    outcome: str
    seconds: float


def _pytest(tree: Path, arguments: list[str]) -> int:
    """Run pytest in this process, whose words go to a file; returns its exit code."""
    import pytest

    kept = [os.dup(1), os.dup(2)]
    words = os.open(tree / WORDS, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(words, 1)
    os.dup2(words, 2)
    os.close(words)
    try:
        return int(pytest.main(
            ['-x', '-q', '-p', 'no:cacheprovider', *arguments]))
    except BaseException:
        traceback.print_exc()
        raise
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os.dup2(kept[0], 1)
        os.dup2(kept[1], 2)


def _run_here(tree: Path, module: str, tests: list[str], patience: int) -> int:
    """Run the tests of a module in this process, with what imports it loaded anew."""
    resource.setrlimit(resource.RLIMIT_CPU, (patience, patience + 1))
    forget(_DEPENDENTS.get(str((tree / module).resolve()), set()))
    return _pytest(tree, ['-m', markers_of(module), *tests])


def run(tree: Path, module: str, tests: list[str], patience: int) -> tuple[str, float]:
    """Run the tests of a module in a fork, in a copy of the sources.

    Args:
        tree: The copy.
        module: The module that may have been changed.
        tests: Files and folders.
        patience: Time of the processor that they may take in [s].

    Returns:
        ``'killed'``, ``'too slow'``, or ``''`` where all pass; and the time of the processor that
        they took in [s].
    """
    child = os.fork()
    if child == 0:
        os.setsid()
        code = 3
        with contextlib.suppress(BaseException):
            code = _run_here(tree, module, tests, patience)
        os._exit(code)
    begin = time.monotonic()
    while time.monotonic() - begin < BUSY * patience:
        pid, status, used = os.wait4(child, os.WNOHANG)
        if pid:
            slow = os.WIFSIGNALED(status) and os.WTERMSIG(status) in _OUT_OF_TIME
            outcome = 'too slow' if slow else 'killed' if status else ''
            return outcome, used.ru_utime + used.ru_stime
        time.sleep(0.05)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return 'too slow', float(patience)


def _patience(tree: Path, module: str, tests: list[str]) -> int:
    """How long the tests of a module may take with a change, by what they take without in [s]."""
    if module not in _TAKEN:
        outcome, _TAKEN[module] = run(tree, module, tests, PATIENCE)
        if outcome:
            raise RuntimeError(
                f'tests fail without any mutant ({outcome}): {" ".join(tests)}\n'
                f'{(tree / WORDS).read_text(encoding="utf-8")[-2000:]}')
    return max(LEAST, round(MULTIPLE * _TAKEN[module]))


def tried(mutant: Mutant, quick: bool) -> Outcome:
    """Run the tests of a mutant, in this worker's copy of the tree."""
    tree = Path(os.environ['MUTANT_TREE'])
    file, tests = tree / mutant.module, tests_of(ROOT, mutant.module, quick)
    patience = _patience(tree, mutant.module, tests)
    source = (ROOT / mutant.module).read_text(encoding='utf-8')
    begin = time.monotonic()
    file.write_text(mutated(source, mutant), encoding='utf-8')
    try:
        outcome = run(tree, mutant.module, tests, patience)[0] or 'survived'
    finally:
        file.write_text(source, encoding='utf-8')
    return Outcome(mutant, outcome, time.monotonic() - begin)


def _begin_worker(folder: str, tests: list[str]) -> None:
    """Copy the tree, with what was compiled, and load it and its tests."""
    tree = Path(tempfile.mkdtemp(dir=folder))
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, tree / part, ignore=shutil.ignore_patterns('*.pyc'))
        elif (ROOT / part).exists():
            shutil.copy(ROOT / part, tree / part)
    os.environ['MUTANT_TREE'] = str(tree)
    # A source of the same second and size would be taken for the one that was compiled.
    sys.dont_write_bytecode = True
    os.environ['PYTHONDONTWRITEBYTECODE'] = '1'
    sys.path[:] = [part for part in sys.path if Path(part or '.').resolve() != ROOT]
    sys.path.insert(0, str(tree))
    os.environ['PYTHONPATH'] = str(tree)
    os.chdir(tree)
    if _pytest(tree, ['--collect-only', *tests]):
        raise RuntimeError((tree / WORDS).read_text(encoding='utf-8')[-2000:])
    _DEPENDENTS.update(dependents(tree))


def chosen(modules: list[str], sample: int, seed: int) -> list[Mutant]:
    """A sample of the mutants of modules, the same for a seed; all of them for zero."""
    every = [
        mutant for pattern in modules for file in sorted(ROOT.glob(pattern))
        for mutant in mutants(
            file.relative_to(ROOT).as_posix(), file.read_text(encoding='utf-8'))]
    random.Random(seed).shuffle(every)
    return every[:sample] if sample else every


def survey(
    asked: list[Mutant], journal: Path | None, processes: int, quick: bool
) -> list[Outcome]:
    """Outcomes of mutants; those in the journal are not tried again."""
    known: dict[Mutant, Outcome] = {}
    if journal is not None and journal.exists():
        for line in journal.read_text(encoding='utf-8').splitlines():
            entry = json.loads(line)
            mutant = Mutant(**entry['mutant'])
            known[mutant] = Outcome(mutant, entry['outcome'], entry['seconds'])
    left = [mutant for mutant in asked if mutant not in known]
    tests = sorted({test for mutant in left for test in tests_of(ROOT, mutant.module, quick)})
    # Unlike a pool of multiprocessing, this one says when a worker cannot begin.
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(
            processes, multiprocessing.get_context('spawn'), _begin_worker,
            (folder, tests)) as pool:
        for future in as_completed([pool.submit(tried, mutant, quick) for mutant in left]):
            outcome = future.result()
            known[outcome.mutant] = outcome
            print(f'{outcome.outcome:9} {outcome.seconds:6.1f} s  {outcome.mutant.module}:'
                  f'{outcome.mutant.line}  {outcome.mutant.kind}: {outcome.mutant.words}',
                  flush=True)
            if journal is not None:
                with journal.open('a', encoding='utf-8') as file:
                    file.write(json.dumps(asdict(outcome)) + '\n')
    return [known[mutant] for mutant in asked]


def report(outcomes: list[Outcome], equivalent: set[Key]) -> list[dict[str, Any]]:
    """Print a table by module; returns the figures, for which equivalent mutants do not count."""
    counts: dict[str, Counter[str]] = {}
    left = []
    for outcome in outcomes:
        survived, module = outcome.outcome == 'survived', outcome.mutant.module
        known = survived and key_of(outcome.mutant, ROOT) in equivalent
        counts.setdefault(module, Counter())['equivalent' if known else outcome.outcome] += 1
        if not known:
            left.append((module, survived))
    print(f'{"module":55} {"mutants":>8} {"killed":>7} {"equivalent":>11} {"survived":>9}')
    for module, count in sorted(counts.items()):
        killed = count['killed'] + count['too slow']
        print(f'{module:55} {count.total():8} {killed:7} {count["equivalent"]:11} '
              f'{count["survived"]:9}')
    return figures(left)


def main() -> int:
    """Try a sample of mutants, and print one JSON line last; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument('--modules', nargs='*', default=list(MODULES), help='files, as patterns')
    parser.add_argument('--sample', type=int, default=10, help='mutants; 0 for all (%(default)s)')
    parser.add_argument('--seed', type=int, default=0, help='of the sample (%(default)s)')
    parser.add_argument('--processes', type=int, default=2)
    parser.add_argument('--quick', action='store_true', help=(
        'run only the tests that mirror a module; others may kill what survives'))
    parser.add_argument('--gate', action='store_true', help='end with 1 where a bar is missed')
    parser.add_argument('--journal', type=Path, help='outcomes, which are not tried again')
    parser.add_argument(
        '--equivalent', type=Path, default=ROOT / 'benchmarks' / 'equivalent_mutants.jsonl',
        help='mutants that mean nothing, with the reasons (%(default)s)')
    parser.add_argument('--list', action='store_true', help='count mutants, and try none')
    asked = parser.parse_args()
    sample = chosen(asked.modules, asked.sample, asked.seed)
    if asked.list:
        for module, count in sorted(Counter(mutant.module for mutant in sample).items()):
            print(f'{module:55} {count:6}')
        return 0
    equivalent = equivalent_mutants(asked.equivalent)
    found = report(
        survey(sample, asked.journal, asked.processes, asked.quick), equivalent)
    print(json.dumps(found))
    return int(asked.gate and not all(figure['ok'] for figure in found))


if __name__ == '__main__':
    sys.exit(main())
