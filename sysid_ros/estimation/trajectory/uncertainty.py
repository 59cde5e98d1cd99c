"""Which free parameters trajectory data determine, and which combinations they leave open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

# A parameter tells nothing new when less than this part of its information is its own. It is a
# square: a ten-thousandth of its effect.
_NOTHING = 1e-8
# Parameters with less than this share of a combination do not belong to it.
_SHARE = 1e-3


@dataclass(frozen=True, eq=False)
class Determined:
    """Which of k parameters the data determine, if those that they do not are held.

    Attributes:
        mask: Mask of the parameters that are determined then, shape ``(k,)``.
        combinations: For each one that is held, how all parameters move together unseen, in
            their own units and with one for itself, shape ``(k - r, k)``.
    """

    mask: np.ndarray
    combinations: np.ndarray

    @property
    def held(self) -> np.ndarray:
        """Indices of those that are held, shape ``(k - r,)``."""
        return np.flatnonzero(~self.mask)

    def partners(self, combination: int, size: np.ndarray) -> np.ndarray:
        """Indices of the parameters that move together, the one that is held among them.

        Args:
            combination: Which combination.
            size: What counts as a change of each parameter, above zero, shape ``(k,)``.
        """
        moved = np.abs(self.combinations[combination]) / size
        return np.flatnonzero(moved > _SHARE * moved.max())


def determined(information: np.ndarray, order: Sequence[int]) -> Determined:
    """Find which parameters the data determine.

    Args:
        information: Of the parameters, shape ``(k, k)``.
        order: The parameters that may be determined, those first that are to be if there is a
            choice.

    Returns:
        The determined ones, and what moves unseen.
    """
    curvature = np.diagonal(information)
    scale = np.where(curvature > 0.0, 1.0 / np.sqrt(np.where(curvature > 0.0, curvature, 1.0)), 0.0)
    scaled = information * np.outer(scale, scale)
    chosen: list[int] = []
    for index in order:
        own = scaled[index, index]
        if own > 0.0 and chosen:
            shared = scaled[np.ix_(chosen, [index])]
            own -= (shared.T @ np.linalg.solve(scaled[np.ix_(chosen, chosen)], shared)).item()
        if own > _NOTHING:
            chosen.append(index)
    mask = np.zeros(len(information), dtype=bool)
    mask[chosen] = True
    combinations = []
    for index in np.flatnonzero(~mask).tolist():
        moved = np.zeros(len(information))
        moved[index] = 1.0
        if chosen and scale[index] > 0.0:
            found = np.linalg.solve(scaled[np.ix_(chosen, chosen)], scaled[chosen, index])
            moved[chosen] = -found * scale[chosen] / scale[index]
        combinations.append(moved)
    return Determined(mask, np.reshape(combinations, (-1, len(information))))
