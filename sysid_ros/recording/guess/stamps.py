"""Whether a column of a table holds stamps: numbers that grow from row to row."""

from __future__ import annotations

import numpy as np

from sysid_ros.recording.guess.column_names import ColumnName

# Part of the rows from which stamps run, and how often a clock may be reset.
_RUNS, _RESETS = 0.9, 2


def runs(stamps: np.ndarray) -> bool:
    """Whether stamps grow from row to row, nearly everywhere."""
    stamps = stamps[np.isfinite(stamps)]
    steps = np.diff(stamps)
    return bool(
        len(steps) and np.mean(steps > 0.0) > _RUNS and np.count_nonzero(steps < 0.0) <= _RESETS)


def why_not(column: ColumnName, stamps: np.ndarray) -> str:
    """What keeps stamps from running, and what to do about it."""
    name = column.name or f'column {column.column}'
    steps = np.diff(stamps[np.isfinite(stamps)])
    back, equal = np.count_nonzero(steps < 0.0), np.count_nonzero(steps == 0.0)
    if back > _RESETS:
        return (
            f'{name} goes back {back} times. If it is a clock, the rows are not in their order: '
            f'sort them by {name}, or take apart what was put together, in place of an answer')
    return (
        f'{name} stays the same at {equal} of {len(steps)} rows. If these rows are copies, remove '
        'them in place of an answer; a clock that counts coarsely needs one')
