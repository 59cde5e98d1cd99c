"""Arrays as compiled functions take them, and what masks say."""

from __future__ import annotations

import numpy as np


def read_only(array: np.ndarray, kind: type = float) -> np.ndarray:
    """A view in C order that cannot be written, a copy where the array is another kind.

    Kernels are compiled once more for arrays that can be written. The array itself stays as it
    was for its owner.

    Args:
        array: Of any shape.
        kind: Type of the entries.
    """
    view: np.ndarray = np.ascontiguousarray(array, dtype=kind).view()
    view.setflags(write=False)
    return view


def runs(mask: np.ndarray) -> list[tuple[int, int]]:
    """Half-open ranges of indices at which a mask holds one after another.

    Args:
        mask: Shape ``(T,)``.
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(bool)))
    return [(start, stop) for start, stop in edges.reshape(-1, 2).tolist()]
