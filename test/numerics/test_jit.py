"""Functions that only compiled ones call are compiled into these, and found in their caches."""

from __future__ import annotations

import gc
import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
from numba import njit
from numba.core.compiler import Flags
from numba.core.errors import TypingError

from sysid_ros.numerics import jit as compiled
from sysid_ros.numerics.compiler_parts import require_parts
from sysid_ros.numerics.jit import COMPILED, ENTRY, INSIDE
from sysid_ros.numerics.jit_pipelines import _Flags

_ENTRY = {name: value for name, value in ENTRY.items() if name != 'cache'}
#: A module of three levels, one of whose functions two others call, and a plain compiled caller.
_MODULE = """
import json
import numpy as np
from numba import njit
from sysid_ros.numerics.jit import COMPILED, ENTRY, INSIDE

@njit(**INSIDE)
def square(x):
    return x * x + np.tanh(x)

@njit(**INSIDE)
def left(x):
    return square(x) + 1.0

@njit(**INSIDE)
def right(x):
    return left(x) - 3.0 * square(max(x, 0.5))

@njit(**ENTRY)
def entry(x):
    return left(x[0]) * right(x[1])

@njit(cache=True, **COMPILED)
def plain(x):
    return right(x[0])

x = np.array([0.3, -1.7])
print(json.dumps([entry(x), plain(x), sum(entry.stats.cache_hits.values()),
                  sum(plain.stats.cache_hits.values())]))
"""


def _expected():
    from math import tanh

    def square(x):
        return x * x + tanh(x)

    def right(x):
        return square(x) + 1.0 - 3.0 * square(max(x, 0.5))

    return [(square(0.3) + 1.0) * right(-1.7), right(0.3)]


def _part_and_entry():
    @njit(**INSIDE)
    def part(x):
        return 2.0 * x

    @njit(**_ENTRY)
    def entry(x):
        return part(x) + 1.0

    return part, entry


@pytest.mark.slow
def test_results_are_the_same_compiled_and_from_the_cache(tmp_path):
    script = tmp_path / 'levels.py'
    script.write_text(_MODULE, encoding='utf-8')
    for hits in (0, 1):
        found = subprocess.run(
            [sys.executable, str(script)], check=True, text=True, stdout=subprocess.PIPE,
            env=os.environ | {'NUMBA_CACHE_DIR': str(tmp_path / 'cache')})
        *values, of_entry, of_plain = json.loads(found.stdout)
        assert values == pytest.approx(_expected(), rel=1e-14)
        assert (of_entry, of_plain) == (hits, hits)


def test_a_part_is_not_loaded_and_what_calls_it_is():
    part, entry = _part_and_entry()
    assert entry(4.0) == 9.0
    with pytest.raises(TypeError):
        part(4.0)
    (inside,), (called,) = part.overloads.values(), entry.overloads.values()
    engine = called.library._codegen._engine
    assert not engine.is_symbol_defined(inside.fndesc.llvm_func_name)
    assert engine.is_symbol_defined(called.fndesc.llvm_cpython_wrapper_name)


#: Says how functions are compiled where a private part of the compiler is another one.
_CHANGED = """
import json, sys
import numba
numba.__version__ = {version!r}
from sysid_ros.numerics import jit_pipelines as pipelines
{change}
from sysid_ros.numerics import jit as compiled
from sysid_ros.numerics.compiler_parts import require_parts
from numba import njit

@njit(**compiled.INSIDE)
def part(x):
    return 2.0 * x

@njit(**{{name: value for name, value in compiled.ENTRY.items() if name != 'cache'}})
def entry(x):
    return part(x) + 1.0

print(json.dumps(['pipeline_class' in compiled.ENTRY, 'pipeline_class' in compiled.INSIDE,
                  entry(4.0)]))
"""


@pytest.mark.parametrize(('version', 'change', 'pipelines'), [
    (numba.__version__, '', True),
    ('0.99.0', '', True),
    ('1.0.0rc1', 'del pipelines.Part', False),
    ('0.99.0', 'pipelines._Unloaded.finalize = lambda self: self._renamed()', False),
    ('0.99.0', 'pipelines._Unloaded._get_module_for_linking = lambda self: None', False),
    ('0.99.0', 'pipelines._Quick.__init__ = lambda self, one: None', False),
    ('0.99.0', "sys.modules['sysid_ros.numerics.jit_pipelines'] = None", False),
])
def test_where_the_compiler_is_another_functions_are_compiled_the_usual_way(
    version, change, pipelines
):
    program = _CHANGED.format(version=version, change=change)
    found = subprocess.run(
        [sys.executable, '-c', program], check=True, text=True, stdout=subprocess.PIPE)
    assert json.loads(found.stdout) == [pipelines, pipelines, 9.0]


_BROKEN = """
import numba
numba.__version__ = '{version}'
{change}
import sysid_ros.numerics.jit
"""


@pytest.mark.parametrize(('change', 'what'), [
    ('import numba.extending; del numba.extending.lower_getattr_generic',
     'named tuples by reference'),
    ('import llvmlite.ir; del llvmlite.ir.IRBuilder.shuffle_vector', 'vector instructions'),
    ('import numba.core.event; numba.core.event.Event.data = None', 'events of the compiler'),
])
def test_an_untried_compiler_without_a_part_that_has_no_substitute_is_refused(change, what):
    def imported(version):
        return subprocess.run(
            [sys.executable, '-c', _BROKEN.format(version=version, change=change)], text=True,
            stderr=subprocess.PIPE)

    refused = imported('0.99.0')
    assert refused.returncode == 1
    assert refused.stderr.splitlines()[-1] == (
        f'ImportError: numba 0.99.0 was found, with which {what} do not work: '
        'pip install "numba>=0.58,<0.69"')
    assert imported(numba.__version__).returncode == 0  # nothing is tried with tested versions


def test_parts_that_have_no_substitute_work_with_the_installed_version():
    require_parts(*compiled.TESTED)


def test_the_installed_version_is_one_that_the_tests_were_run_with():
    assert compiled._is_tested() and compiled._work(*compiled._options())
    bound = Path(__file__).parents[2].joinpath('setup.cfg').read_text(encoding='utf-8')
    first, last = ('.'.join(map(str, version)) for version in compiled.TESTED)
    assert f'numba >={first}, <{last}\n' in bound


def test_a_compiler_that_computes_something_else_is_not_used(monkeypatch):
    def wrong(**options):
        return njit(**options) if not options else lambda function: lambda x: 0.0

    monkeypatch.setattr(compiled, 'njit', wrong)
    assert not compiled._work(*compiled._options())


@pytest.mark.parametrize('frozen', [True, False])
def test_the_collector_is_left_as_it_was_even_where_compiling_fails(frozen):
    @njit(**_ENTRY)
    def entry(x):
        return x.nothing

    try:
        if frozen:
            gc.freeze()
        before = gc.get_freeze_count()
        with pytest.raises(TypingError):
            entry(1.0)
        assert (gc.get_freeze_count() > 0) == frozen and gc.get_freeze_count() <= before
    finally:
        gc.unfreeze()


def test_flags_are_equal_where_those_of_the_compiler_are():
    flags = Flags()
    flags.nrt = True
    same, other = _Flags(flags), _Flags(flags)
    other.error_model = 'numpy'
    assert same == flags and flags == same and same.copy() == same
    assert hash(same) == hash(same.copy())
    assert same != other and other != flags
    other.error_model = flags.error_model
    assert same == other, 'set to what it is anyway'


def test_options_of_functions_that_are_called_from_python_let_python_in():
    assert 'no_cpython_wrapper' not in ENTRY and 'no_cpython_wrapper' not in COMPILED
    assert INSIDE['no_cpython_wrapper']


def test_the_kernel_of_the_page_about_compiling_is_one(tmp_path, rng):
    page = Path(__file__).parents[2].joinpath('docs/explanation/compiling.md')
    (source,) = re.findall(r'```python\n(.*?)```', page.read_text(encoding='utf-8'), re.DOTALL)
    (tmp_path / 'kernel_of_the_page.py').write_text(source, encoding='utf-8')
    spec = importlib.util.spec_from_file_location(
        'kernel_of_the_page', tmp_path / 'kernel_of_the_page.py')
    kernel = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(kernel)
    roots = rng.normal(size=(5, 3, 3))
    matrices, rights = roots @ roots.transpose(0, 2, 1) + np.eye(3), rng.normal(size=(5, 3))
    expected = np.linalg.solve(matrices, rights[:, :, None])[:, :, 0]
    kernel.solve_each(matrices, rights)
    np.testing.assert_allclose(rights, expected, rtol=1e-12)
