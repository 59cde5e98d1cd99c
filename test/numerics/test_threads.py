"""Work that threads share: each number once, errors raised, and no thread left."""

from __future__ import annotations

import threading

import pytest

from sysid_ros.numerics.forked import ONE_PROCESS
from sysid_ros.numerics.threads import in_threads, usable_threads


@pytest.mark.parametrize('most', [1, 2, 5])
def test_each_number_is_worked_on_once_and_no_thread_is_left(most):
    found, threads = list[int](), set[int]()
    begun = threading.Barrier(min(most, 3))
    before = threading.active_count()

    def work(numbers):
        threads.add(threading.get_ident())
        begun.wait(timeout=60)
        found.extend(numbers)

    in_threads(work, 3, most)
    assert sorted(found) == [0, 1, 2]
    assert len(threads) == min(most, 3)
    assert threading.active_count() == before


def test_an_error_in_another_thread_is_raised():
    here, both = threading.get_ident(), threading.Barrier(2)

    def work(numbers):
        both.wait(timeout=60)
        if threading.get_ident() != here:
            raise ValueError('elsewhere')

    with pytest.raises(ValueError, match='elsewhere'):
        in_threads(work, 2, 2)


def test_processes_side_by_side_have_one_thread_each(monkeypatch):
    assert usable_threads() >= 1
    monkeypatch.setenv(ONE_PROCESS, '1')
    assert usable_threads() == 1
