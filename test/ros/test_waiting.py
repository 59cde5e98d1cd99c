"""A coroutine that waits leaves the processor, and the executor, to others."""

import time

import pytest
from rclpy.executors import SingleThreadedExecutor
from rclpy.task import Future

from sysid_ros.nodes.executor import make_executor
from sysid_ros.nodes.waiting import done


@pytest.fixture(params=[SingleThreadedExecutor, make_executor])
def executor(request, node):
    made = request.param()
    yield made
    made.shutdown()


def test_a_coroutine_that_waits_takes_no_core_and_others_have_their_turn(executor):
    future, turns, end = Future(), [], time.monotonic() + 1.0

    def turn():
        turns.append(time.monotonic())
        if turns[-1] < end:
            executor.create_task(turn)
        else:
            future.set_result('there')

    async def wait():
        return await done(future)

    used = time.thread_time()
    task = executor.create_task(wait)
    executor.create_task(turn)
    while not task.done():
        executor.spin_once(timeout_sec=0.1)
    # Without a pause it is all of the second, on a machine that has nothing else to do.
    assert time.thread_time() - used < 0.6
    assert len(turns) > 50
    assert task.result() == 'there'


def test_what_went_wrong_is_raised_where_it_is_waited_for(executor):
    future = Future()
    future.set_exception(ValueError('no'))

    async def wait():
        with pytest.raises(ValueError, match='no'):
            await done(future)
        return 'raised'

    task = executor.create_task(wait)
    while not task.done():
        executor.spin_once(timeout_sec=0.1)
    assert task.result() == 'raised'
