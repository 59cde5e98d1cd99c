"""Callbacks of a node at fixed periods, all behind one timer.

An executor has work with every timer that it waits for, and with each time that one is due. So all
are called by one timer, at the shortest of their periods: what is due within half of it is called
at once, multiples of one another in one go. Periods are those of the steady clock: simulated time
may stand still.

The timer is set anew only where that shortest period changes. An executor of events makes an event
of each setting of a timer: set after every call, on a computer too busy to call in time, they
doubled with every round, until nothing else had its turn.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.timer import Timer


class Recurring:
    """A callback of a schedule, which makes it.

    Args:
        schedule: The schedule.
        period: Time between calls in [s].
        callback: What is called; others are called all the same if it raises.

    Attributes:
        nanoseconds: The period in [ns].
        due: When it is called next by the steady clock in [ns]; None while it is cancelled.
    """

    def __init__(self, schedule: Schedule, period: float, callback: Callable[[], None]) -> None:
        self._schedule, self.nanoseconds, self.callback = schedule, round(1e9 * period), callback
        self.due: int | None = None

    @property
    def period(self) -> float:
        """Time between calls in [s]."""
        return 1e-9 * self.nanoseconds

    def change_period(self, period: float) -> None:
        """Call back at another period in [s] from now on."""
        if round(1e9 * period) != self.nanoseconds:
            self.nanoseconds = round(1e9 * period)
            self.reset()

    def cancel(self) -> None:
        """Call back no more until it is reset."""
        self.due = None
        self._schedule.plan()

    def reset(self) -> None:
        """Call back from now on, after a period at the latest."""
        self.move_on(time.monotonic_ns())
        self._schedule.plan()

    def move_on(self, moment: int) -> None:
        """Be due at the first whole multiple of the period after a time in [ns]."""
        # Calls that were missed are not made up for.
        since = moment - self._schedule.origin
        self.due = moment + self.nanoseconds - since % self.nanoseconds


class Schedule:
    """Callbacks of one node, called in the thread that its executor runs in.

    Args:
        node: The node.

    Attributes:
        origin: Time that multiples of periods are counted from, by the steady clock in [ns].
    """

    def __init__(self, node: Node) -> None:
        self._node, self.origin = node, time.monotonic_ns()
        self._recurring: list[Recurring] = []
        self._timer: Timer | None = None
        # Its period in [ns]; 0 while it is cancelled.
        self._shortest = 0
        self._calls = False

    def add(self, period: float, callback: Callable[[], None]) -> Recurring:
        """Call back at a period.

        Args:
            period: Time between calls in [s].
            callback: What is called; others are called all the same if it raises.
        """
        recurring = Recurring(self, period, callback)
        self._recurring.append(recurring)
        recurring.reset()
        return recurring

    def remove(self, recurring: Recurring) -> bool:
        """Forget a callback; whether it was known."""
        known = recurring in self._recurring
        if known:
            self._recurring.remove(recurring)
            recurring.cancel()
        return known

    def plan(self) -> None:
        """Have the timer go at the shortest period of what is not cancelled."""
        if self._calls:
            return
        shortest = min((
            recurring.nanoseconds for recurring in self._recurring if recurring.due is not None),
            default=0)
        if shortest == self._shortest:
            return
        self._shortest = shortest
        if self._timer is None:
            self._timer = self._node.create_timer(
                1e-9 * shortest, self._call, clock=Clock(clock_type=ClockType.STEADY_TIME))
        elif shortest:
            self._timer.timer_period_ns = shortest
            self._timer.reset()
        else:
            self._timer.cancel()

    def _call(self) -> None:
        """Call back what is due."""
        self._calls = True
        moment, failures = time.monotonic_ns() + self._shortest // 2, list[Exception]()
        for recurring in tuple(self._recurring):
            if recurring.due is not None and recurring.due <= moment:
                recurring.move_on(moment)
                try:
                    recurring.callback()
                except Exception as failure:  # noqa: BLE001 (told below, when all were called)
                    failures.append(failure)
        self._calls = False
        self.plan()
        if failures:
            raise failures[0]
