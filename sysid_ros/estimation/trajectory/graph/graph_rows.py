"""Residuals of many factors as arrays: those of single steps, and linear ones between steps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sysid_ros.estimation.trajectory.graph.factors import Declared, LinearFactor, NodeFactor
from sysid_ros.estimation.trajectory.graph.variables import Point


class Rows:
    """Rows of the factors of single steps, of one of three kinds: exact, soft, with multipliers.

    Args:
        declared: What the factors are declared for.
        factors: The factors.
        steps: The steps they are looked at.
    """

    def __init__(
        self, declared: Declared, factors: Sequence[LinearFactor | NodeFactor], steps: range
    ) -> None:
        size, self.parameters = declared.layout.size, declared.parameters
        widths = [factor.width(declared.mechanism) for factor in factors]
        ends = np.cumsum([0, *widths]).tolist()
        self.rows = np.zeros((len(steps), ends[-1], size + declared.parameters + 1))
        self.whole = np.zeros((declared.steps, ends[-1]))
        self.weights = self.whole
        self._linear: list[tuple[slice, np.ndarray, np.ndarray]] = []
        self._others: list[tuple[slice, NodeFactor, np.ndarray | None]] = []
        for factor, first, last in zip(factors, ends[:-1], ends[1:], strict=True):
            place = slice(first, last)
            self.whole[:, place] = factor.weights(declared)
            if isinstance(factor, LinearFactor):
                self._add_linear(declared, factor, place)
            else:
                self._others.append((place, factor, factor.data(declared)))
        self.shift(steps.start)

    def _add_linear(self, declared: Declared, factor: LinearFactor, place: slice) -> None:
        matrix, target = factor.matrices(declared)[0], factor.targets(declared)
        unknown = ~np.isfinite(target)
        self.whole[:, place][unknown] = 0.0
        target[unknown] = 0.0
        self.rows[:, place, :declared.layout.size] = matrix
        self._linear.append((place, np.ascontiguousarray(matrix.T), target))

    def shift(self, first: int) -> None:
        """Look at as many steps from another one on."""
        self._steps = slice(first, first + len(self.rows))
        self.weights = self.whole[self._steps]
        self.said_everywhere = bool((self.weights > 0.0).all())

    def fill(self, point: Point) -> None:
        """Write residuals and derivatives at a point."""
        for place, matrix, target in self._linear:
            self.rows[:, place, -1] = point.states @ matrix - target[self._steps]
        for place, factor, data in self._others:
            factor.fill(
                point, None if data is None else data[self._steps], self.rows[:, place])

    @property
    def empty(self) -> bool:
        """Whether there are none."""
        return not self.rows.shape[1]


class Pairs:
    """Linear factors between steps, put together."""

    def __init__(
        self, declared: Declared, factors: Sequence[LinearFactor], steps: range
    ) -> None:
        size, count = declared.layout.size, declared.steps - 1
        here, after = [np.zeros((0, size))], [np.zeros((0, size))]
        constant, weights = [np.zeros((count, 0))], [np.zeros((count, 0))]
        for factor in factors:
            first, second = factor.matrices(declared)
            if second is None:
                raise TypeError(f'{factor.name} is no factor between steps')
            here.append(first)
            after.append(second)
            constant.append(-factor.targets(declared))
            weights.append(factor.weights(declared))
        self.here, self.after = np.vstack(here), np.vstack(after)
        self._constant, self._weights = np.hstack(constant), np.hstack(weights)
        self._count = len(steps) - 1
        self.shift(steps.start)

    def shift(self, first: int) -> None:
        """Look at as many steps from another one on."""
        part = slice(first, first + self._count)
        self.constant, self.weights = self._constant[part], self._weights[part]
