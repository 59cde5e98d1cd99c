"""A change of a robot's parameters, in numbers and in words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

#: Mass and first moments of a body come first among its parameters.
STATIC = 4


@dataclass(frozen=True, eq=False)
class Change:
    """A change that was found.

    Attributes:
        kind: ``'payload'``, ``'friction'`` or ``'parameters'``.
        where: The body or joint; empty for parameters at large.
        sample: Samples seen when it was found.
        since: Samples seen before the segment that shows it best.
        statistic: The likelihood ratio of that segment.
        threshold: What it had to exceed.
        names: Parameters that changed.
        values: By how much, shape ``(k,)``.
        deviations: Their standard deviations, shape ``(k,)``.
    """

    kind: str
    where: str
    sample: int
    since: int
    statistic: float
    threshold: float
    names: tuple[str, ...]
    values: np.ndarray
    deviations: np.ndarray

    @property
    def words(self) -> str:
        """What changed, for people."""
        size = ', '.join(
            f'{name} {value:+.3g} ± {deviation:.2g}'
            for name, value, deviation in zip(
                self.names[:STATIC], self.values, self.deviations, strict=False))
        if self.kind == 'payload':
            return f'The load on {self.where} changed: {size}.'
        if self.kind == 'friction':
            return f'Friction of {self.where} changed: {size}.'
        return 'The robot no longer has the committed parameters; no load or joint alone tells why.'
