"""Callbacks at fixed periods behind one timer, in either kind of executor."""

import threading
import time

import pytest
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.task import Future

from sysid_ros.nodes.executor import make_executor
from sysid_ros.nodes.schedule import Schedule
from sysid_ros.nodes.waiting import done

# What a busy machine may be late by, in [s].
LATE = 0.5


@pytest.fixture(params=['waits', 'is told of events'])
def schedule(request, node):
    """A schedule whose node is spun by ``schedule.spin`` for so many seconds."""
    executor = SingleThreadedExecutor() if request.param == 'waits' else make_executor()
    owner = Node('owner')
    executor.add_node(owner)
    made = Schedule(owner)

    def spin(seconds, until=lambda: False):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and not until():
            executor.spin_once(timeout_sec=0.01)

    made.spin, made.owner, made.executor = spin, owner, executor
    yield made
    executor.shutdown()
    owner.destroy_node()


def test_one_timer_serves_all_and_multiples_come_together(schedule):
    calls = []
    schedule.add(0.02, lambda: calls.append(('fast', time.monotonic())))
    schedule.add(0.1, lambda: calls.append(('slow', time.monotonic())))
    schedule.spin(1.0 + LATE, lambda: [name for name, _ in calls].count('slow') == 5)
    names = [name for name, _ in calls]
    assert names.count('slow') == 5
    assert 5 <= names.count('fast') <= 30
    assert len(list(schedule.owner.timers)) == 1
    for k, (name, moment) in enumerate(calls):
        if name == 'slow':
            assert calls[k - 1][0] == 'fast' and moment - calls[k - 1][1] < 0.015


def test_a_callback_that_is_cancelled_is_called_again_when_it_is_reset(schedule):
    calls = []
    recurring = schedule.add(0.01, lambda: (calls.append(0), recurring.cancel()))
    schedule.spin(0.1 + LATE, lambda: calls)
    schedule.spin(0.1)
    assert len(calls) == 1
    recurring.reset()
    schedule.spin(0.1 + LATE, lambda: len(calls) > 1)
    schedule.spin(0.1)
    assert len(calls) == 2


def test_a_period_holds_from_the_moment_that_it_is_changed(schedule):
    calls = []
    recurring = schedule.add(100.0, lambda: calls.append(0))
    schedule.spin(0.05)
    assert not calls
    recurring.change_period(0.01)
    assert recurring.period == pytest.approx(0.01)
    schedule.spin(0.1 + LATE, lambda: len(calls) > 4)
    assert len(calls) == 5
    recurring.change_period(100.0)
    schedule.spin(0.1)
    assert len(calls) == 5


def test_calls_that_were_missed_are_not_made_up_for(schedule):
    calls = []
    schedule.add(0.01, lambda: calls.append(0))
    schedule.spin(LATE, lambda: calls)
    time.sleep(0.3)
    calls.clear()
    schedule.spin(0.02)
    assert len(calls) <= 4


def test_a_processor_that_is_too_busy_gets_no_more_to_do(schedule):
    """Events of a timer that is late do not become more with every round."""
    rounds, call, future, over = [], schedule._call, Future(), threading.Event()

    def counted():
        rounds.append(0)
        call()

    def take_the_lock():
        while not over.is_set():
            pass

    async def wait():
        await done(future)

    schedule._call = counted
    for period in (0.01, 0.05):
        schedule.add(period, lambda: None)
    task = schedule.executor.create_task(wait)
    others = [threading.Thread(target=take_the_lock) for _ in range(3)]
    for other in others:
        other.start()
    try:
        schedule.spin(4.0)
    finally:
        over.set()
        for other in others:
            other.join()
    future.set_result(None)
    schedule.spin(LATE, task.done)
    # A hundred a second at most, of which a busy processor leaves some out.
    assert 20 < len(rounds) < 600


def test_periods_that_are_no_multiples_are_kept_on_average(schedule):
    calls = {0.02: 0, 0.05: 0, 0.07: 0}

    def count(period):
        def called():
            calls[period] += 1
        return called

    for period in calls:
        schedule.add(period, count(period))
    schedule.spin(2.1 + LATE, lambda: calls[0.07] >= 30)
    assert calls[0.07] == 30
    # A busy machine skips some of the shorter ones, and makes up for none.
    assert 21 <= calls[0.05] <= 56 and 53 <= calls[0.02] <= 134


def test_a_callback_that_is_removed_is_called_no_more_and_the_others_are(schedule):
    calls = []
    first = schedule.add(0.01, lambda: (calls.append('first'), schedule.remove(second)))
    second = schedule.add(0.01, lambda: calls.append('second'))
    schedule.spin(0.1 + LATE, lambda: len(calls) > 3)
    assert set(calls) == {'first'}
    assert schedule.remove(first) and not schedule.remove(first)
    calls.clear()
    schedule.spin(0.1)
    assert not calls


def test_a_callback_that_raises_holds_up_no_other_and_is_called_again(schedule):
    calls = {'broken': 0, 'sound': 0}

    def broken():
        calls['broken'] += 1
        raise ValueError('told to whoever spins')

    def sound():
        calls['sound'] += 1

    schedule.add(0.01, broken)
    schedule.add(0.01, sound)
    for _ in range(3):
        # An executor of events logs the error by a function of rclpy that is deprecated.
        with pytest.raises((ValueError, DeprecationWarning)):
            schedule.spin(LATE)
    assert calls == {'broken': 3, 'sound': 3}
