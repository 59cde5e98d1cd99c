"""How many columns of a matrix are independent, and how clearly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

# Columns below this fraction of the largest are zero but for rounding.
_ZERO_COLUMN = 1e-12
# A pivot above this fraction of the first carries digits, whatever follows it.
_CERTAIN = 1e-8
# No drop counts that ends below rounding.
_MACHINE_EPSILON = float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class ColumnRank:
    """The rank of p columns, and what it was decided by.

    Attributes:
        rank: Number of independent columns.
        gap: Scaled pivots on both sides of the decision: the smallest that counts and the
            largest that does not, zero where all count.
        active: Columns that are not zero, in ascending order.
        size: Euclidean norms of all columns, shape ``(p,)``.
        leading: The independent columns that pivoting takes, the clearest first, shape ``(rank,)``.
    """

    rank: int
    gap: tuple[float, float]
    active: np.ndarray
    size: np.ndarray
    leading: np.ndarray


def column_rank(rows: np.ndarray) -> ColumnRank:
    """Rank by pivoted QR of the scaled columns, cut where the pivots drop the most.

    Columns that are zero go before the others are scaled to length one, or rounding would be
    blown up to a column of its own. The cut is the largest drop from one pivot to the next
    that ends where pivots may be rounding; without such pivots all columns count.

    Args:
        rows: Any matrix with the columns of interest, shape ``(m, p)``; a triangular factor
            does as well as the rows it came from.

    Returns:
        The rank; zero where all columns are zero or there are no rows.

    References:
        Golub and Van Loan 2013, section 5.4.
    """
    size = np.linalg.norm(rows, axis=0)
    active = np.flatnonzero(size > _ZERO_COLUMN * size.max(initial=0.0))
    if not active.size:
        return ColumnRank(0, (0.0, 0.0), active, size, active)
    scaled = rows[:, active] / size[active]
    triangle, order = scipy.linalg.qr(scaled, mode='r', pivoting=True, check_finite=False)
    pivots = np.zeros(len(active) + 1)
    pivots[:min(triangle.shape)] = np.abs(np.diagonal(triangle))
    drops = pivots[:-1] / np.maximum(pivots[1:], _MACHINE_EPSILON * pivots[0])
    drops[pivots[1:] > _CERTAIN * pivots[0]] = 0.0
    rank = int(np.argmax(drops)) + 1
    return ColumnRank(
        rank, (float(pivots[rank - 1]), float(pivots[rank])), active, size, active[order[:rank]])
