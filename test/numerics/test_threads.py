"""Work that threads share: each number once, errors raised, and no thread left."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from sysid_ros.numerics.forked import ONE_PROCESS, processors
from sysid_ros.numerics.threads import in_threads, one_blas_thread, usable_threads


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


MULTITHREADED = """
import os
import numpy as np
import scipy.linalg
from sysid_ros.numerics.forked import processors
from sysid_ros.numerics.threads import one_blas_thread

def counted():
    matrix = np.random.default_rng(0).normal(size=(400, 400))
    scipy.linalg.qr(matrix @ matrix)
    return len(os.listdir('/proc/self/task'))

before = counted()
with one_blas_thread():
    inside, side_by_side = counted(), processors()
print(before, inside, side_by_side, counted())
"""


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason='one processor')
def test_blas_has_one_thread_while_a_program_of_anybody_fits_and_its_own_after():
    surroundings = {
        key: value for key, value in os.environ.items()
        if not key.endswith('_NUM_THREADS') and key != ONE_PROCESS}
    done = subprocess.run(
        [sys.executable, '-c', MULTITHREADED], env=surroundings, capture_output=True, text=True,
        check=True)
    before, inside, processors, after = map(int, done.stdout.split())
    assert before > 1
    assert inside == 1 and processors > 1
    assert after == before


def test_threads_of_a_program_stay_and_forbid_a_fork():
    with ThreadPoolExecutor(1) as pool:
        pool.submit(int).result()
        with one_blas_thread():
            assert pool.submit(int, '3').result() == 3
            assert processors() == 1
