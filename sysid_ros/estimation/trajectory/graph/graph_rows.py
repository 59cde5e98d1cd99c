"""Residuals of many factors as arrays: those of single steps, and linear ones between steps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sysid_ros.errors import EstimationError
from sysid_ros.estimation.trajectory.graph.factors import (
    Declared,
    LinearFactor,
    NodeFactor,
    SensorFactor,
)
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
        self.targets = np.zeros((declared.steps, ends[-1]))
        self.weights = self.whole
        self.linear: list[tuple[slice, np.ndarray, LinearFactor]] = []
        self.others: list[tuple[slice, NodeFactor, np.ndarray | None]] = []
        for factor, first, last in zip(factors, ends[:-1], ends[1:], strict=True):
            place = slice(first, last)
            self.whole[:, place] = factor.weights(declared)
            if isinstance(factor, LinearFactor):
                self._add_linear(declared, factor, place)
            else:
                self.others.append((place, factor, factor.data(declared)))
        self.shift(steps.start)

    def _add_linear(self, declared: Declared, factor: LinearFactor, place: slice) -> None:
        matrix, target = factor.matrices(declared)[0], factor.targets(declared)
        unknown = ~np.isfinite(target)
        self.whole[:, place][unknown] = 0.0
        self.targets[:, place] = np.where(unknown, 0.0, target)
        self.rows[:, place, :declared.layout.size] = matrix
        self.linear.append((place, np.ascontiguousarray(matrix.T), factor))

    def shift(self, first: int) -> None:
        """Look at as many steps from another one on."""
        self._steps = slice(first, first + len(self.rows))
        self.weights = self.whole[self._steps]
        self.said_everywhere = bool((self.weights > 0.0).all())

    @property
    def names(self) -> list[str]:
        """Names of the factors."""
        return [
            *(factor.name for _, _, factor in self.linear),
            *(factor.name for _, factor, _ in self.others)]

    def read(self, step: int, name: str, values: np.ndarray) -> bool:
        """Take what a factor of some name is told at a step, NaN where nothing is.

        Returns:
            Whether there is such a factor.

        Raises:
            EstimationError: There are more or fewer values than the factor has, or a torque is
                missing.
        """
        found = False
        for place, _, factor in self.linear:
            if factor.name == name:
                _require_size(name, values, place.stop - place.start)
                known = np.isfinite(values)
                self.targets[step, place] = np.where(known, values, 0.0)
                self.whole[step, place] = np.where(known, 1.0 / np.asarray(factor.sigma), 0.0)
                found = True
        for place, other, data in self.others:
            if other.name == name and data is not None:
                self._take(step, place, other, data[step], values)
                found = True
        return found

    def _take(
        self, step: int, place: slice, factor: NodeFactor, data: np.ndarray, values: np.ndarray
    ) -> None:
        """Write what a factor that is not linear is told into its data of a step."""
        reads = isinstance(factor, SensorFactor)
        _require_size(
            factor.name, values, place.stop - place.start if reads else len(data))
        known = np.isfinite(values)
        if reads:
            data[:len(values)] = np.where(known, values, 0.0)
            self.whole[step, place] = np.where(known, 1.0 / np.asarray(factor.sigma), 0.0)
            return
        if not known.all():
            raise EstimationError('a torque is missing', where=f'{factor.name} at step {step}')
        data[:] = values

    def fill(self, point: Point) -> None:
        """Write residuals and derivatives at a point."""
        for place, matrix, _ in self.linear:
            self.rows[:, place, -1] = point.states @ matrix - self.targets[self._steps, place]
        for place, factor, data in self.others:
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
        self.whole_constant, self.whole_weights = np.hstack(constant), np.hstack(weights)
        self._count = len(steps) - 1
        self.shift(steps.start)

    def shift(self, first: int) -> None:
        """Look at as many steps from another one on."""
        part = slice(first, first + self._count)
        self.constant, self.weights = self.whole_constant[part], self.whole_weights[part]


def _require_size(name: str, values: np.ndarray, size: int) -> None:
    if np.shape(values) != (size,):
        raise EstimationError(
            'what was read does not fit the factor', where=name, found=np.shape(values),
            allowed=f'({size},)')
