"""Items that a thread makes while others are used are the same, in the same order."""

from __future__ import annotations

import threading

import pytest

from sysid_ros.recording.bag.prefetch import prefetched


def test_items_come_in_their_order():
    assert list(prefetched(range(100))) == list(range(100))
    assert list(prefetched([])) == []
    assert list(prefetched([None, None])) == [None, None]


def test_the_next_item_is_made_while_one_is_used():
    made = [threading.Event() for _ in range(3)]

    def items():
        for number, event in enumerate(made):
            event.set()
            yield number

    coming = prefetched(items())
    assert next(coming) == 0
    assert made[1].wait(10.0)
    # No more than one is made before it is wanted.
    assert not made[2].wait(0.05)
    assert list(coming) == [1, 2]


def test_an_error_comes_where_the_item_would_have():
    def items():
        yield 1
        yield 2
        raise ValueError('broken')

    found = []
    with pytest.raises(ValueError, match='broken'):
        for item in prefetched(items()):
            found.append(item)
    assert found == [1, 2]


def test_the_thread_ends_when_no_more_is_wanted():
    before = set(threading.enumerate())
    coming = prefetched(iter(int, 1))
    assert next(coming) == 0
    assert set(threading.enumerate()) - before
    coming.close()
    assert not set(threading.enumerate()) - before
