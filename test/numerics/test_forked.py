"""What forks compute is what this process computes, whatever becomes of them."""

from __future__ import annotations

import os
import signal
import threading

import numpy as np
import pytest

from sysid_ros.numerics import forked
from sysid_ros.numerics.forked import Forked, forked_map


@pytest.fixture
def two_processors(monkeypatch):
    """Two processors, and none of the threads that a test runner may have."""
    monkeypatch.setattr(forked, 'processors', lambda: 2)


def of_process():
    return np.array([os.getpid()]), np.array([[1.5, np.nan]]), np.array(['Ω'])


def test_another_process_computes_arrays_of_any_kind(two_processors):
    with Forked(of_process) as other:
        process, numbers, text = other.result()
    assert process[0] != os.getpid()
    np.testing.assert_array_equal(numbers, [[1.5, np.nan]])
    assert text.tolist() == ['Ω']


def test_arrays_larger_than_a_pipe_come_whole(two_processors):
    with Forked(lambda: (np.arange(1_000_000),)) as other:
        (found,) = other.result()
    np.testing.assert_array_equal(found, np.arange(1_000_000))


def test_one_processor_computes_here(monkeypatch):
    monkeypatch.setattr(os, 'sched_getaffinity', lambda _: {0})
    with Forked(of_process) as other:
        assert other.result()[0][0] == os.getpid()


def test_a_process_with_threads_is_not_forked():
    release = threading.Event()
    thread = threading.Thread(target=release.wait)
    thread.start()
    try:
        assert forked.processors() == 1
    finally:
        release.set()
        thread.join()


def test_a_fork_that_is_killed_is_computed_here(two_processors):
    parent = os.getpid()

    def deadly():
        if os.getpid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)
        return (np.array([7]),)

    with Forked(deadly) as other:
        assert other.result()[0][0] == 7


def test_an_error_of_a_fork_is_raised_here(two_processors):
    def failing():
        raise ValueError('no such thing')

    with Forked(failing) as other, pytest.raises(ValueError, match='no such thing'):
        other.result()


def test_a_fork_ends_when_nobody_asks_for_its_result(two_processors):
    with pytest.raises(KeyError), Forked(signal.pause) as other:
        child = other._child
        raise KeyError
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


def test_where_no_process_can_be_forked_everything_is_computed_here(two_processors, monkeypatch):
    def refused():
        raise OSError('no more processes')

    monkeypatch.setattr(os, 'fork', refused)
    with Forked(of_process) as other:
        assert other.result()[0][0] == os.getpid()
    assert [found[0][0] for found in forked_map(lambda k: (np.array([k]),), 3)] == [0, 1, 2]


def test_a_map_gives_all_in_order_and_uses_both_processes(two_processors):
    read, write = os.pipe()

    def compute(number):
        if number == 5:  # whoever takes it waits for the other one
            assert os.read(read, 1)
        if number == 4:
            os.write(write, b'x')
        return np.array([number, os.getpid()]), *[np.zeros(0)] * number

    found = forked_map(compute, 6)
    os.close(read)
    os.close(write)
    assert [(int(one[0][0]), len(one)) for one in found] == [(k, k + 1) for k in range(6)]
    assert found[5][0][1] != found[4][0][1]


def test_the_error_of_a_map_is_that_of_the_first_number_that_has_one(two_processors):
    def compute(number):
        if number:
            raise ValueError(f'number {number}')
        return (np.zeros(1),)

    with pytest.raises(ValueError, match='number 1'):
        forked_map(compute, 4)


def test_a_map_whose_fork_is_killed_is_complete(two_processors):
    parent = os.getpid()

    def compute(number):
        if os.getpid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)
        return (np.array([number]),)

    assert [int(one[0][0]) for one in forked_map(compute, 5)] == [0, 1, 2, 3, 4]
