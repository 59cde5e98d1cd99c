"""Numbers for a report: rounded, short enough to be mailed, and None where they are not finite."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator, Field

# Digits that a reader can tell apart in a plot.
_DIGITS = 5
# NumPy rounds to no more decimals than a double has.
_DECIMALS = 290


def finite_or_none(value: Any) -> float | None:
    """A number, or None for what is none: JSON has no NaN and no infinity.

    Raises:
        ValueError: It is no number, or too large for one.
    """
    if value is None:
        return None
    try:
        number = float(value)
    except (TypeError, OverflowError) as error:
        # Validators answer to errors of values alone.
        raise ValueError(f'this is no number: {type(value).__name__}') from error
    return number if np.isfinite(number) else None


#: A number of a report; NaN and infinities become None.
Number = Annotated[float | None, BeforeValidator(finite_or_none)]
#: Many of them, as :func:`series` makes them.
Series = list[float | None]
#: x, y and z of a point.
Point = Annotated[Series, Field(min_length=3, max_length=3)]
#: A matrix of three rows, row by row.
Matrix = Annotated[Series, Field(min_length=9, max_length=9)]
#: x, y and z of the points of a line, a row each.
Line = Annotated[list[Series], Field(min_length=3, max_length=3)]


def series(values: np.ndarray | Sequence[float]) -> Series:
    """Values to five digits of the largest, None where they are not finite.

    Args:
        values: Numbers of any shape; they are flattened.
    """
    array = np.asarray(values, dtype=float).ravel()
    largest = float(np.abs(array[np.isfinite(array)]).max(initial=0.0))
    if largest > 0.0:
        decimals = _DIGITS - int(np.ceil(np.log10(largest)))
        if abs(decimals) < _DECIMALS:
            array = np.round(array, decimals)
    finite = np.isfinite(array)
    return [value if ok else None
            for value, ok in zip(array.tolist(), finite.tolist(), strict=True)]


def logarithmic(values: np.ndarray) -> Series:
    """Values of a logarithmic axis, four digits each; None where they are not above zero.

    Args:
        values: Numbers, shape ``(T,)``.
    """
    return [float(f'{value:.4g}') if np.isfinite(value) and value > 0.0 else None
            for value in values]


def percent(value: float | None) -> float | None:
    """A part in [%], three decimals; None for None."""
    return None if value is None else round(100.0 * value, 3)


def bucket_starts(rows: int, buckets: int) -> np.ndarray | None:
    """First rows of buckets of equal length; None where the rows are few enough to be shown.

    Args:
        rows: Number of rows.
        buckets: Most buckets; each is shown by its smallest and its largest value.
    """
    if rows <= 2 * buckets:
        return None
    return np.unique(np.linspace(0, rows, buckets, endpoint=False).astype(int))


def envelope(values: np.ndarray, starts: np.ndarray | None) -> np.ndarray:
    """Smallest and largest value of each bucket in turn, which draws the same as all values.

    Args:
        values: Shape ``(T,)``; NaN leaves a hole where a bucket has nothing else.
        starts: First rows of the buckets; None to keep all values.
    """
    if starts is None:
        return values
    return np.stack(
        [extreme.reduceat(values, starts) for extreme in (np.fmin, np.fmax)], axis=1).ravel()


def some_rows(rows: np.ndarray, count: int) -> np.ndarray:
    """At most so many of some rows, spread evenly.

    Args:
        rows: Indices of rows, shape ``(k,)``.
        count: Most of them.
    """
    if len(rows) <= count:
        return rows
    return rows[np.linspace(0, len(rows) - 1, count).round().astype(int)]
