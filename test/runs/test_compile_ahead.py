"""What is compiled ahead is found by later processes, and is all that fits need."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.cli.main import main
from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.estimator import REGRESSION_ESTIMATORS, TRAJECTORY_ESTIMATORS
from sysid_ros.runs.compile_ahead import compile_ahead
from sysid_ros.runs.workloads import WORKLOADS, Workload

TESTS = Path(__file__).parents[1]
#: Fits golden problems with an estimator, and prints what was compiled on the way.
_FITS = """
import json, sys
sys.path.insert(0, sys.argv[1])
from support import golden_problems as golden, trajectory_problems as made
from sysid_ros.estimation.estimator import (
    REGRESSION_ESTIMATORS, TRAJECTORY_ESTIMATORS, make_estimator, make_trajectory_estimator)
from sysid_ros.runs.compile_ahead import Compilations

names = {}
for name in golden.NAMES:
    problem = golden.golden(name).problem(0.01)
    for estimator in REGRESSION_ESTIMATORS:
        with Compilations() as compilations:
            make_estimator(estimator).fit(problem)
        names[f'{estimator} of {name}'] = compilations.names
problem = made.swinging(fixed=['rod.inertia_yy'])[0]
for estimator in TRAJECTORY_ESTIMATORS:
    with Compilations() as compilations:
        make_trajectory_estimator(estimator).fit(problem)
    names[estimator] = compilations.names
print(json.dumps(names))
"""
#: A compiled function whose cache is beside its module, and tasks that call it.
_MODULE = """
from numba import njit

@njit(cache={cache})
def square(x):
    return x * x

def real(folder):
    square(2.0)

def whole(folder):
    square(2)
"""


def _workloads(folder, monkeypatch, *, cache):
    """Two tasks that compile a function for one kind of argument each."""
    name = f'compiled_{"with" if cache else "without"}_a_cache'
    (folder / f'{name}.py').write_text(_MODULE.format(cache=cache))
    # In this process and those that it starts.
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv('PYTHONPATH', str(folder), prepend=os.pathsep)
    module = __import__(name)
    return [Workload('real', module.real), Workload('whole', module.whole)]


@pytest.mark.slow
def test_later_processes_find_what_was_compiled(tmp_path, monkeypatch):
    workloads, told = _workloads(tmp_path, monkeypatch, cache=True), []
    first = compile_ahead(lambda *said: told.append(said), workloads, processes=1)
    assert first.count == 2 and first.rounds == 2
    assert {said[2] for said in told} == {'real', 'whole'}
    again = compile_ahead(lambda *said: None, workloads, processes=1)
    assert again.count == 0 and again.rounds == 1


@pytest.mark.slow
def test_functions_that_no_cache_keeps_are_named(tmp_path, monkeypatch):
    workloads = _workloads(tmp_path, monkeypatch, cache=False)[:1]
    with pytest.raises(ConfigurationError, match=r'NUMBA_CACHE_DIR.*without_a_cache\.square'):
        compile_ahead(lambda *said: None, workloads, processes=1)


def test_every_estimator_has_a_workload():
    names = {workload.name.split(' of ')[0] for workload in WORKLOADS}
    # Those by regression are fitted together.
    assert names >= {'all', *TRAJECTORY_ESTIMATORS}


# Other tests that compile beside it write to the same cache.
@pytest.mark.processes
@pytest.mark.loops
def test_once_compiled_every_estimator_fits_golden_problems_at_once(capsys):
    assert main(['compile']) == ExitCode.OK
    assert 'compiled' in capsys.readouterr().out
    found = subprocess.run(
        [sys.executable, '-c', _FITS, str(TESTS)], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    compiled = json.loads(found.stdout.splitlines()[-1])
    assert {name.split(' of ')[0] for name in compiled} == {
        *REGRESSION_ESTIMATORS, *TRAJECTORY_ESTIMATORS}
    assert {name: what for name, what in compiled.items() if what} == {}
