"""Callbacks at fixed periods behind one timer, in either kind of executor."""

import time

import pytest
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

from sysid_ros.nodes.executor import make_executor
from sysid_ros.nodes.schedule import Schedule

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

    made.spin, made.owner = spin, owner
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
