"""A fast loop beside rclpy's executor, and subscriptions that it looks at itself.

For every single message and tick the executor looks at all that a node has: services of
parameters and lifecycle, events, timers. Measured, that is about 0.4 ms, half a core at 1 kHz. So
a fast loop has a lane of its own in the same thread: it wakes by the steady clock, takes what its
subscriptions hold, and lets the executor have its turn in between.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from rclpy.callback_groups import CallbackGroup
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription

# Time between turns of the executor in [s].
_TURN = 0.005


class FastLane:
    """One callback at a fixed period by the steady clock.

    Args:
        period: In [s].
        callback: Must not raise.
    """

    def __init__(self, period: float, callback: Callable[[], None]) -> None:
        self._period, self._callback = period, callback
        self._due = self._turn = time.monotonic()

    def run_once(self, others: Callable[[], None]) -> None:
        """Wait for the next tick, call back, and let others have their turn when it is due.

        Args:
            others: Does what the executor has to do, without waiting.
        """
        time.sleep(max(self._due - time.monotonic(), 0.0))
        self._callback()
        moment = time.monotonic()
        # Ticks that were missed are not made up for.
        self._due = max(self._due + self._period, moment)
        if moment >= self._turn:
            self._turn = moment + _TURN
            others()


class _Unwatched(CallbackGroup):
    """Entities that no executor waits for.

    Executors that build a set of what they wait for ask the group; those that are told of events
    do not, and are given :func:`watched` subscriptions alone.
    """

    def can_execute(self, entity: Any) -> bool:
        """Never."""
        return False

    def beginning_execution(self, entity: Any) -> bool:
        """Never."""
        return False

    def ending_execution(self, entity: Any) -> None:
        """Never begun."""


class PolledSubscription:
    """A subscription whose messages wait until they are taken.

    Args:
        node: Node that subscribes, and destroys :attr:`subscription`.
        kind: Type of the messages.
        topic: Their topic.
        qos: Its depth is how many may wait.
        raw: Whether messages are taken as bytes.

    Attributes:
        subscription: What was made.
    """

    def __init__(
        self, node: Node, kind: type, topic: str, qos: QoSProfile, *, raw: bool = False
    ) -> None:
        self._kind, self._raw = kind, raw
        self.subscription = node.create_subscription(
            kind, topic, _ignore, qos, callback_group=_Unwatched(), raw=raw)

    def take(self) -> list[tuple[Any, int]]:
        """Messages since the last call, and when each was received in [ns] since 1970."""
        taken = []
        handle = self.subscription.handle
        with handle:
            while (found := handle.take_message(self._kind, self._raw)) is not None:
                message, info = found
                taken.append((message, int(info['received_timestamp'])))
        return taken


def watched(subscriptions: Iterable[Subscription[Any]]) -> Iterator[Subscription[Any]]:
    """Subscriptions but those that are polled."""
    return (
        subscription for subscription in subscriptions
        if not isinstance(subscription.callback_group, _Unwatched))


def _ignore(_: Any) -> None:
    """Messages are taken, not called back with."""
