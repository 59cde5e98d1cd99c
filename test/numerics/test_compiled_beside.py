"""What another process compiles is what is called, whatever becomes of that process."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit
from numba.core import config

from sysid_ros.numerics import forked
from sysid_ros.numerics.compiled_beside import CompiledBeside
from sysid_ros.numerics.forked import forked_map
from sysid_ros.runs.compile_ahead import Compilations


@pytest.fixture
def function(tmp_path, monkeypatch):
    """A function with an empty cache of its own."""
    monkeypatch.setattr(config, 'CACHE_DIR', str(tmp_path))

    @njit(cache=True)
    def squares(x):
        return x * x

    return squares


@pytest.fixture
def two_processors(monkeypatch):
    """Two processors, and none of the threads that a test runner may have."""
    monkeypatch.setattr(forked, 'processors', lambda: 2)


def example():
    return (np.zeros(1),)


def test_a_function_is_compiled_by_another_process_and_found_in_its_cache(
    function, two_processors
):
    beside = CompiledBeside(function)
    with Compilations() as compilations, beside.compiling(example):
        np.testing.assert_array_equal(beside(np.array([1.5, -2.0])), [2.25, 4.0])
    assert compilations.names == []
    assert function.stats.cache_hits


def test_nothing_is_started_for_what_is_in_the_cache(function, two_processors, monkeypatch):
    function(np.zeros(1))
    again = njit(cache=True)(function.py_func)
    monkeypatch.setattr(forked.os, 'fork', lambda: pytest.fail('compiled once more'))
    for known in (function, again):
        with CompiledBeside(known).compiling(example):
            pass


def test_one_processor_compiles_when_the_function_is_called(function, monkeypatch):
    monkeypatch.setattr(forked, 'processors', lambda: 1)
    beside = CompiledBeside(function)
    with Compilations() as compilations, beside.compiling(example):
        assert compilations.names == []
        assert beside(np.array([3.0]))[0] == 9.0
    assert len(compilations.names) == 1


def test_forks_that_begin_later_wait_for_the_same_process(function, two_processors):
    beside = CompiledBeside(function)

    def compiled_here(number):
        with Compilations() as compilations:
            value = beside(np.array([float(number)]))
        return value, np.array([len(compilations.names)])

    with beside.compiling(example):
        found = forked_map(compiled_here, 4)
    assert [value[0] for value, _ in found] == [0.0, 1.0, 4.0, 9.0]
    assert [int(count[0]) for _, count in found] == [0, 0, 0, 0]


def test_a_process_that_is_killed_leaves_the_function_to_be_compiled_here(
    function, two_processors
):
    beside = CompiledBeside(function)
    with beside.compiling(example):
        forked.os.kill(beside._other._child, forked.signal.SIGKILL)
        assert beside(np.array([3.0]))[0] == 9.0
