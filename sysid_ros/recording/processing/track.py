"""One quantity of one joint on its way to the common clock."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_ros.recording.processing.grid import Interval


@dataclass(frozen=True, eq=False)
class Track:
    """Samples of one quantity of one joint, and where they have no gap.

    Attributes:
        joint: Name of the joint.
        quantity: ``'position'``, ``'velocity'``, ``'acceleration'`` or ``'effort'``.
        t: Stamps in [s], strictly increasing, shape ``(T,)``.
        values: Finite samples, shape ``(T,)``.
        intervals: Gap-free stretches in [s].
        longest: Longest step in [s] that is not a gap.
        period: Period of the stamps in [s], before any sample was taken out.
    """

    joint: str
    quantity: str
    t: np.ndarray
    values: np.ndarray
    intervals: list[Interval]
    longest: float
    period: float
