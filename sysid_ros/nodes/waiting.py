"""Coroutines that wait, in an executor that has other things to do."""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import TypeVar

from rclpy.task import Future

Result = TypeVar('Result')

# Time in [s] between looks whether a future is done: what an answer may come later by.
_LOOK = 0.001


class _Turn:
    """Lets the executor do what else there is."""

    def __await__(self) -> Generator[None, None, None]:
        yield


async def done(future: Future[Result]) -> Result:
    """Wait until a future is done, without taking a core for that.

    rclpy resumes a coroutine that awaits a future again and again as fast as it can: for as long as
    an estimate is judged, or a fit's process loads, that was a core that these needed themselves.

    Args:
        future: What is waited for.

    Returns:
        Its result; what it raised is raised here.
    """
    while not future.done():
        time.sleep(_LOOK)
        await _Turn()
    return await future
