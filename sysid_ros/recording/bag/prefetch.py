"""Items made by a thread while those before them are used.

What reads, unpacks, filters and multiplies large arrays lets other threads run, so that two
processors share the work.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar('Item')


def prefetched(items: Iterable[Item]) -> Iterator[Item]:
    """Iterate over items, the next one made while one is used.

    Args:
        items: Made by one other thread, in turn; an error comes where the item would have.
    """
    iterator, end = iter(items), object()
    with ThreadPoolExecutor(1) as thread:
        coming = thread.submit(next, iterator, end)
        while (item := coming.result()) is not end:
            coming = thread.submit(next, iterator, end)
            yield item  # type: ignore[misc]  # it is not the end
