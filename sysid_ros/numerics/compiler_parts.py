"""Parts of Numba and llvmlite that nothing can stand in for, tried with versions nobody has tested.

What only makes compiling quicker has a substitute (:mod:`sysid_ros.numerics.jit_pipelines`). Named
tuples by reference, vector instructions and the compiler's events have none: where one does not
work, that is said at once, and not by whichever kernel is compiled first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numba
import numpy as np
from numba import njit


class _Part(NamedTuple):
    numbers: np.ndarray
    size: int


def require_parts(first: tuple[int, int], end: tuple[int, int]) -> None:
    """Refuse a version of Numba with which a part does not work.

    Args:
        first: First version that was tested.
        end: Version after the last that was.

    Raises:
        ImportError: A part does not work.
    """
    for what, works in _PARTS.items():
        try:
            good = works()
        except Exception:  # private parts that have changed fail in any way
            good = False
        if not good:
            bounds = f'numba>={first[0]}.{first[1]},<{end[0]}.{end[1]}'
            raise ImportError(
                f'numba {numba.__version__} was found, with which {what} do not work: '
                f'pip install "{bounds}"')


def _named_tuples() -> bool:
    """Whether a named tuple that is handed over by reference is read as it is."""
    from sysid_ros.numerics.by_reference import Referred  # noqa: PLC0415

    def total(part: _Part) -> float:
        found = 0.0
        for k in range(part.size):
            found += part.numbers[k]
        return found

    part = _Part(np.array([1.0, 2.0, 4.0]), 3)
    return bool(njit(_nrt=False)(total)(Referred(part)) == total(part))


def _vector_instructions() -> bool:
    """Whether an update of a tile gives what a product of matrices does."""
    from sysid_ros.numerics.register_tile import COLUMNS, ROWS, update_tile  # noqa: PLC0415

    def update(
        target: np.ndarray, source: np.ndarray, lines: np.ndarray, shares: np.ndarray,
        lower: np.ndarray,
    ) -> None:
        update_tile(target, 0, 0, source, lines, shares, len(lines), lower)

    target, source = np.ones((ROWS, COLUMNS)), np.arange(3.0 * COLUMNS).reshape(3, COLUMNS)
    shares = np.arange(3.0 * ROWS).reshape(3, ROWS) - 4.0
    expected = target - shares.T @ source
    njit(_nrt=False)(update)(target, source, np.arange(3), shares, np.zeros((ROWS, ROWS)))
    return bool(np.array_equal(target, expected))


def _events() -> bool:
    """Whether the compiler tells of functions that it compiles."""
    from numba.core import event  # noqa: PLC0415

    told = []

    class Listener(event.Listener):
        def on_start(self, event: event.Event) -> None:
            told.append(event.data['dispatcher'].py_func)

        def on_end(self, event: event.Event) -> None:
            pass

    def function(x: float) -> float:
        return x

    listener = Listener()
    event.register('numba:compile', listener)
    try:
        njit(function)(1.0)
    finally:
        event.unregister('numba:compile', listener)
    return told == [function]


_PARTS: dict[str, Callable[[], bool]] = {
    'named tuples by reference': _named_tuples, 'vector instructions': _vector_instructions,
    'events of the compiler': _events}
