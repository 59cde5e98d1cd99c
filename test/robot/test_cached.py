"""Values kept with the object they are computed from."""

from __future__ import annotations

import gc
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property

import pytest

from sysid_ros.robot.cached import CachesValues


@dataclass(frozen=True, eq=False)
class Robot(CachesValues):
    """Something that never changes."""

    name: str = 'arm'

    @cached_property
    def length(self):
        """A property that is computed once."""
        return len(self.name)


class Chain:
    """Something computed from it."""

    def __init__(self, robot):
        self.name = robot.name


def nothing(robot):
    """A value that is easily taken for one that is missing."""
    counts.append(robot.name)


counts = []


def test_a_value_is_computed_once_for_each_object_and_function():
    robot, other = Robot(), Robot('leg')
    assert robot.cached(Chain) is robot.cached(Chain)
    assert other.cached(Chain) is not robot.cached(Chain)
    counts.clear()
    assert robot.cached(nothing) is None
    assert robot.cached(nothing) is None
    assert counts == ['arm']


def test_a_value_is_shared_with_an_object_for_which_it_is_the_same():
    robot, other = Robot(), Robot('leg')
    other.cached(Chain)
    other.share(Chain, robot)
    assert other.cached(Chain) is robot.cached(Chain)


def test_a_property_that_is_known_already_is_not_computed():
    robot = Robot().seeded(length=7)
    assert robot.length == 7
    assert robot.at_hand('length', 'width') == {'length': 7}
    assert replace(robot, name='leg').at_hand('length') == {}


def test_threads_that_ask_at_the_same_time_get_the_same_value():
    robot, both_compute = Robot(), threading.Barrier(2, timeout=60.0)

    def chain(robot):
        both_compute.wait()
        return Chain(robot)

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda _: robot.cached(chain), range(2))
    assert first is second
    assert robot.cached(chain) is first


def test_a_changed_copy_begins_without_values():
    robot = Robot()
    assert robot.cached(Chain).name == 'arm'
    assert replace(robot, name='leg').cached(Chain).name == 'leg'


def test_values_are_freed_with_their_object():
    robot = Robot()
    chain = weakref.ref(robot.cached(Chain))
    assert chain() is not None
    del robot
    gc.collect()
    assert chain() is None


def test_what_fails_is_tried_again():
    robot, tried = Robot(), []

    def chain(robot):
        tried.append(robot)
        if len(tried) == 1:
            raise ValueError('the loops are open')
        return Chain(robot)

    with pytest.raises(ValueError, match='open'):
        robot.cached(chain)
    assert isinstance(robot.cached(chain), Chain)
