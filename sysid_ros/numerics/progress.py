"""How far long work is: whoever does it tells, and whoever shows it has asked for that.

Nothing is passed down through what lies between: work that nobody watches costs a look at a
variable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

#: Takes what is being done, in words, how much of it is done, and of how much; 0 of 0 where that is
#: not known.
Show = Callable[[str, int, int], None]

_SHOW: ContextVar[Show | None] = ContextVar('show', default=None)
_WORK: ContextVar[str] = ContextVar('work', default='')


@contextmanager
def shown_by(show: Show | None) -> Iterator[None]:
    """Have what is told meanwhile shown.

    Args:
        show: Shows it; None for nobody, as in a fork.
    """
    token = _SHOW.set(show)
    try:
        yield
    finally:
        _SHOW.reset(token)


@contextmanager
def work(what: str) -> Iterator[None]:
    """Tell what is being done, and of what :func:`tell` says how much is done.

    Args:
        what: In words, as ``'the friction model'``.
    """
    token = _WORK.set(what)
    try:
        tell(0, 0)
        yield
    finally:
        _WORK.reset(token)


def tell(done: int, count: int) -> None:
    """Tell how much of the present work is done.

    Args:
        done: What is done.
        count: Of how many parts.
    """
    show = _SHOW.get()
    if show is not None:
        show(_WORK.get(), done, count)
