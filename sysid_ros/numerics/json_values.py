"""Numbers as JSON has them, which knows no NaN and no infinity."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np


def finite_or_null(values: Iterable[float]) -> list[float | None]:
    """Numbers as plain ones, None where they are not finite."""
    return [float(value) if np.isfinite(value) else None for value in values]


def null_as_infinite(values: Iterable[float | None]) -> np.ndarray:
    """Numbers that :func:`finite_or_null` gave, infinite where they are None."""
    return np.array([np.inf if value is None else value for value in values], dtype=float)
