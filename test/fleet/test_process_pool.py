"""Worker processes: what is killed is done by another one, and what kills is given up."""

import contextlib
import os
import re
from pathlib import Path

import pytest

from support import fleet_work
from sysid_ros.fleet.dask_pool import DaskPool
from sysid_ros.fleet.pool import LostWork, SerialPool
from sysid_ros.fleet.process_pool import ProcessPool


def processes():
    return ProcessPool(2)


def dask():
    pytest.importorskip('distributed', reason='Dask is not installed: pip install distributed')
    return DaskPool(2)


@pytest.fixture(params=[processes, dask], ids=['processes', 'dask'])
def pool(request):
    return request.param()


@pytest.mark.parametrize('pool', [processes, dask, SerialPool], ids=['processes', 'dask', 'serial'])
def test_every_item_is_carried_out_once_and_told_with_its_number(pool):
    answers = list(pool().map(fleet_work.squared, [3, 1, 4, 1, 5]))
    assert sorted(answers) == [(0, 9), (1, 1), (2, 16), (3, 1), (4, 25)]


def test_the_environment_of_workers_is_not_left_to_this_process(pool):
    before = dict(os.environ)
    assert dict(pool.map(fleet_work.squared, [2])) == {0: 4}
    assert dict(os.environ) == before


def test_nothing_to_do_is_no_error(pool):
    assert not list(pool.map(fleet_work.squared, []))


def test_the_work_of_a_worker_that_is_killed_is_done_by_another(pool, tmp_path):
    paths = [str(tmp_path / name) for name in ('a', 'b', 'c')]
    answers = dict(pool.map(fleet_work.end_process_once, paths))
    assert answers == {0: 'a', 1: 'b', 2: 'c'}


@pytest.mark.slow
@pytest.mark.parametrize(('pool', 'reason'), [
    (processes, '3 workers ended on it, the last one by SIGKILL'),
    (dask, '3 workers ended on it'),
], ids=['processes', 'dask'])
def test_work_that_kills_every_worker_is_given_up_with_the_reason_and_the_rest_is_done(
    pool, reason
):
    answers = dict(pool().map(fleet_work.end_process_if_odd, [0, 1, 2, 4]))
    assert isinstance(answers[1], LostWork)
    assert reason in answers.pop(1).reason
    assert answers == {0: 0, 2: 2, 3: 4}


@pytest.mark.slow
def test_work_that_waits_where_a_worker_ends_is_not_to_blame(pool):
    numbers = [1, 3, 5, *range(0, 20, 2)]
    answers = dict(pool.map(fleet_work.end_process_if_odd, numbers))
    assert {number for number in answers if isinstance(answers[number], LostWork)} == {0, 1, 2}
    assert [answers[number] for number in range(3, len(numbers))] == numbers[3:]


def test_an_error_is_told_and_the_rest_is_done(pool):
    answers = dict(pool.map(fleet_work.refuse_odd, [0, 1, 2]))
    assert answers.pop(1) == LostWork('ValueError: 1 is odd')
    assert answers == {0: 0, 2: 2}


def test_a_second_pool_of_dask_may_work_beside_the_first_and_both_listen_on_loopback_alone():
    before = dict(os.environ)
    first, second = (dask().map(fleet_work.squared, [2, 3]) for _ in range(2))
    assert {next(first)[1], next(second)[1]} <= {4, 9}
    pid = os.getpid()
    listening = {
        line.split()[1] for name in ('tcp', 'tcp6') for line in Path(f'/proc/{pid}/net/{name}')
        .read_text().splitlines()[1:] if line.split()[3] == '0A'
        and line.split()[9] in sockets_of(pid)}
    assert listening
    assert all(address.startswith('0100007F:') for address in listening)
    assert len(list(first)) == len(list(second)) == 1
    assert dict(os.environ) == before


def sockets_of(pid):
    """Numbers of the sockets that a process has open."""
    found = set()
    for descriptor in Path(f'/proc/{pid}/fd').iterdir():
        with contextlib.suppress(OSError):
            found.update(re.findall(r'socket:\[(\d+)\]', os.readlink(descriptor)))
    return found


def test_workers_have_one_thread_and_fork_no_helpers(pool):
    before = dict(os.environ)
    assert list(pool.map(fleet_work.threads_of_libraries, [0])) == [(0, ('1', '1', 1))]
    assert dict(os.environ) == before
