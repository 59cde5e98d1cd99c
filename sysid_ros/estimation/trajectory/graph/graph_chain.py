r"""Factor graphs as chains: what the solver of chains needs.

Equations of one step that no parameter enters are not weighed but obeyed: states live where they
hold, a step goes along a basis of their null space, and after it the shortest way leads back.
So there are only as many unknowns as a step has freedom. Equations between steps, or with
parameters, have multipliers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sysid_ros.errors import EstimationError
from sysid_ros.estimation.trajectory.graph.factors import Declared, Factor
from sysid_ros.estimation.trajectory.graph.graph_rows import Pairs, Rows
from sysid_ros.estimation.trajectory.graph.manifold_kernels import (
    LEAST_PIVOT_RATIO,
    moved,
    reduced_nodes,
    reduced_pairs,
    tangents,
)
from sysid_ros.estimation.trajectory.graph.variables import FreeParameters, Point
from sysid_ros.numerics.least_squares.chain import Eliminated, NormalEquations, Residuals

# Equations repeat others where singular values are below this part of the largest.
_REPEATED = 1e-8
# A way back shorter than this needs no other: what is left of it is its square.
_SHORT, _MOST_WAYS = 1e-8, 30
# How far equations may be from fulfilled.
_OPEN = 1e-9
# Root of the weight of equations with multipliers in the method's own cost.
_HELD = 1e2
# Their weight where only their derivatives count, and the multipliers are found.
_EXACT = 1e12
# What follows from other variables goes back to where equations hold; those hardly move then, or
# tight factors between them would feel the square of each step.
_DEPENDENT, _HEAVY = ('q', 'v', 'a'), 1e-3
# Units in the last place that states may be off by.
_DIGITS = 10.0
# States whose bases are kept: those of the solver, of its trial and of one before.
_KEPT = 3


class GraphChain:
    """Some steps of a factor graph as a chain.

    Args:
        declared: What the factors are declared for.
        factors: The factors.
        free_parameters: Which parameters are sought.
        steps: Which steps.

    Raises:
        EstimationError: A factor does not fit.
    """

    def __init__(
        self, declared: Declared, factors: Sequence[Factor], free_parameters: FreeParameters,
        steps: range | None = None,
    ) -> None:
        self.declared, self.free_parameters = declared, free_parameters
        self.steps = range(declared.steps) if steps is None else steps
        kinds: dict[str, list[Any]] = {name: [] for name in (
            'exact', 'soft', 'multiplied', 'exact pairs', 'soft pairs')}
        for factor in factors:
            kinds[_kind(factor, len(free_parameters.names))].append(factor)
        self.exact, self.soft, self.multiplied = (
            Rows(declared, kinds[name], self.steps) for name in ('exact', 'soft', 'multiplied'))
        self.exact_pairs, self.soft_pairs = (
            Pairs(declared, kinds[name], self.steps) for name in ('exact pairs', 'soft pairs'))
        self.all_ranks = self._independent()
        self.ranks = self.all_ranks[self.steps.start:self.steps.stop]
        self.free = self.declared.layout.size - self.ranks
        self.dimension = declared.layout.size - int(self.all_ranks.min())
        self.nodes = np.arange(len(self.steps))
        self.lightness = np.ones(declared.layout.size)
        for name, place in declared.layout.places.items():
            if name not in _DEPENDENT and not self.exact.empty:
                self.lightness[place] = _HEAVY
        self._bases: list[tuple[np.ndarray, np.ndarray]] = []
        self._point: Point | None = None

    @property
    def space(self) -> GraphChain:
        """Where states live: the chain itself knows."""
        return self

    def shift(self, first: int) -> None:
        """Look at as many steps from another one on."""
        self.steps = range(first, first + len(self.steps))
        for rows in (self.exact, self.soft, self.multiplied, self.exact_pairs, self.soft_pairs):
            rows.shift(first)
        self.ranks = self.all_ranks[self.steps.start:self.steps.stop]
        self.free = self.declared.layout.size - self.ranks
        self._bases, self._point = [], None

    def closed(self, states: np.ndarray) -> np.ndarray:
        """The states next to some at which all equations of single steps hold.

        Args:
            states: Shape ``(N, size)``.

        Raises:
            EstimationError: They contradict each other, or are singular there.
        """
        states = self.near(np.array(states, dtype=float))
        if not self.exact.empty:
            self._require_closed(states)
        return states

    def near(self, states: np.ndarray) -> np.ndarray:
        """States at which the equations hold that were not left out as repeating others."""
        if self.exact.empty:
            return states
        size = 0.0
        for _ in range(_MOST_WAYS):
            basis, way, pivots = self._tangents(states)
            self._require_regular(pivots)
            size = float(np.abs(way).max(initial=0.0))
            if not size < np.inf:
                break
            states = states + way
            if size <= _SHORT:
                self._keep(states, basis)
                return states
        raise EstimationError(
            'equations that must hold cannot all be fulfilled', where=self._where(),
            found=f'still {size:.3g} away', fix='Begin nearer, or give contradicting factors a '
            'standard deviation')

    def moved(self, states: np.ndarray, steps: np.ndarray) -> np.ndarray:
        """States after steps along the equations, shapes ``(N, size)`` and ``(N, dimension)``.

        What cannot be closed again is not a number, so that the solver refuses it.
        """
        out = np.empty_like(states)
        moved(states, self.basis(states), np.ascontiguousarray(steps), out)
        try:
            return self.near(out)
        except EstimationError:
            return np.full_like(states, np.nan)

    @property
    def has_multipliers(self) -> bool:
        """Whether equations are left that the states do not obey by themselves."""
        return not self.multiplied.empty or bool(len(self.exact_pairs.here))

    def eliminated(self, states: np.ndarray, values: np.ndarray) -> Eliminated | None:
        """What is known once equations with multipliers hold; None if that is too little."""
        parts = list(self.residuals(states, values))
        for part in self.equations(states, values):
            rows = np.sqrt(_EXACT) * part.rows
            # Where equations hold, only their derivatives tell of the parameters.
            rows[:, :, -1] = 0.0
            parts.append(replace(part, rows=rows))
        return NormalEquations.of(
            len(states), self.dimension, len(values), parts).eliminated()

    def basis(self, states: np.ndarray) -> np.ndarray:
        """Directions in which equations stay fulfilled, shape ``(N, size, dimension)``."""
        for index, (known, basis) in enumerate(self._bases):
            if known is states:
                self._bases.insert(0, self._bases.pop(index))
                return basis
        if self.exact.empty:
            basis = np.broadcast_to(
                np.eye(states.shape[1]), (len(states), *[states.shape[1]] * 2)).copy()
        else:
            basis = self._tangents(states)[0]
        self._keep(states, basis)
        return basis

    def duals(self, basis: np.ndarray) -> np.ndarray:
        """Transposed inverses from the left of bases, shape ``(..., size, dimension)``."""
        return np.asarray(basis / self.lightness[:, None]**2)

    def residuals(self, states: np.ndarray, values: np.ndarray) -> Iterator[Residuals]:
        """All soft factors; see ``ChainProblem``."""
        if not np.isfinite(states).all():
            yield Residuals(self.nodes[:1], np.full(
                (1, 1, self.dimension + len(values) + 1), np.nan), False)
            return
        yield from self._padding(len(values))
        for pairs, rows in zip((False, True), self.soft_rows(states, values), strict=True):
            if rows.size:
                yield Residuals(self.nodes[:len(rows)], rows, pairs)

    def equations(self, states: np.ndarray, values: np.ndarray) -> Iterator[Residuals]:
        """Equations between steps, or with parameters; see ``ChainProblem``."""
        if not np.isfinite(states).all():
            return
        if not self.multiplied.empty:
            self.multiplied.fill(self._at(states, values))
            yield Residuals(self.nodes, self._reduced(self.multiplied, states), False)
        if len(self.exact_pairs.here) and len(self.steps) > 1:
            yield Residuals(
                self.nodes[:-1], self._reduced_pairs(self.exact_pairs, states, len(values)), True)

    def soft_rows(self, states: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weighted rows of the soft factors along the bases, as those of ``Residuals``.

        Returns:
            Of single steps ``(N, m, d + k + 1)``, and between steps ``(N - 1, m, 2 d + k + 1)``.
        """
        if not self.soft.empty:
            self.soft.fill(self._at(states, values))
        return (
            self._reduced(self.soft, states),
            self._reduced_pairs(self.soft_pairs, states, len(values)))

    def rounding(self, states: np.ndarray, cost: float) -> float:
        """How far rounding of states may move a cost."""
        digit = _DIGITS * np.finfo(float).eps * max(1.0, float(np.abs(states).max()))
        weights = (
            self.soft.weights, self.soft_pairs.weights, _HELD * self.multiplied.weights,
            _HELD * self.exact_pairs.weights)
        moved = digit * np.sqrt(sum(np.vdot(weight, weight) for weight in weights))
        return float(moved * np.sqrt(2.0 * cost) + 0.5 * moved**2)

    def _reduced(self, rows: Rows, states: np.ndarray) -> np.ndarray:
        count, width = rows.weights.shape
        out = np.empty((count, width, self.dimension + rows.parameters + 1))
        reduced_nodes(rows.rows, rows.weights, self.basis(states), out)
        return out

    def _reduced_pairs(self, pairs: Pairs, states: np.ndarray, parameters: int) -> np.ndarray:
        count, width = pairs.weights.shape
        out = np.empty((count, width, 2 * self.dimension + parameters + 1))
        reduced_pairs(
            pairs.here, pairs.after, pairs.weights, pairs.constant, states, self.basis(states),
            self.nodes[:-1], out)
        return out

    def _padding(self, parameters: int) -> Iterator[Residuals]:
        """Steps with less freedom than others have coordinates that are nothing: held at zero."""
        for node in np.flatnonzero(self.free < self.dimension).tolist():
            first = int(self.free[node])
            rows = np.zeros((1, self.dimension - first, self.dimension + parameters + 1))
            rows[0, :, first:self.dimension] = np.eye(self.dimension - first)
            yield Residuals(np.array([node]), rows, False)

    def _at(self, states: np.ndarray, values: np.ndarray) -> Point:
        """The point of states and parameters; what was said of the last one is kept."""
        last = self._point
        if last is None or last.states is not states or last.values is not values:
            point = Point(
                self.declared.mechanism, self.declared.layout, states, self.free_parameters, values)
            if last is not None and last.states is states:
                point.remember(last)
            self._point = last = point
        return last

    def _keep(self, states: np.ndarray, basis: np.ndarray) -> None:
        self._bases.insert(0, (states, basis))
        del self._bases[_KEPT:]

    def _tangents(self, states: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Bases, the shortest ways to fulfil the equations, and how regular these are."""
        self.exact.fill(self._at(states, self.free_parameters.start))
        rows, size = self.exact.rows, states.shape[1]
        if self.exact.parameters:
            rows = np.concatenate([rows[:, :, :size], rows[:, :, -1:]], axis=2)
        if not self.exact.said_everywhere:
            rows = rows * self.exact.weights[:, :, None]
        basis = np.empty((len(states), size, self.dimension))
        way, pivots = np.empty(states.shape), np.empty(len(states))
        tangents(rows, self.ranks, self.lightness, basis, way, pivots)
        return basis, way, pivots

    def _independent(self) -> np.ndarray:
        """How many of the exact equations are independent at each step, where all is assembled."""
        mechanism, layout = self.declared.mechanism, self.declared.layout
        ranks = np.zeros(self.declared.steps, dtype=np.int64)
        if self.exact.empty:
            return ranks
        states = np.zeros((len(self.steps), layout.size))
        for name, value in (
            ('q', mechanism.assembly), ('z', mechanism.assembly[mechanism.independent])
        ):
            if name in layout.places:
                states[:, layout.places[name]] = value
        self.exact.fill(
            Point(mechanism, layout, states, self.free_parameters, self.free_parameters.start))
        patterns, which = np.unique(self.exact.whole > 0.0, axis=0, return_inverse=True)
        for k, pattern in enumerate(patterns):
            rows = self.exact.rows[0][pattern, :layout.size]
            if len(rows):
                values = np.linalg.svd(rows, compute_uv=False)
                ranks[which.ravel() == k] = np.sum(values > _REPEATED * values[0])
        return ranks

    def _require_regular(self, pivots: np.ndarray) -> None:
        if pivots.min() > LEAST_PIVOT_RATIO:
            return
        raise EstimationError(
            'the mechanism is at a dead point, where it could go on in several ways',
            where=self._where(int(np.argmin(pivots))),
            fix='Keep the motion away from dead points, or begin on the branch it is on')

    def _require_closed(self, states: np.ndarray) -> None:
        """Refuse equations that were left out as repeating others but contradict them."""
        self.exact.fill(self._at(states, self.free_parameters.start))
        off = np.abs(self.exact.rows[:, :, -1]) * (self.exact.weights > 0.0)
        if off.max() > _OPEN:
            node = int(np.argmax(off.max(axis=1)))
            raise EstimationError(
                'equations that must hold contradict each other', where=self._where(node),
                found=f'{off.max():.3g}', allowed=f'{_OPEN:g}',
                fix='Give one of them a standard deviation')

    def _where(self, node: int | None = None) -> str:
        name = self.declared.mechanism.name
        if node is None:
            return name
        step = self.steps.start + node
        return f'{name} at step {step} ({step * self.declared.step:.6g} s)'


def _kind(factor: Factor, parameters: int) -> str:
    """Which of the rows of a chain a factor belongs to."""
    if factor.pairs:
        return 'exact pairs' if factor.exact else 'soft pairs'
    if not factor.exact:
        return 'soft'
    return 'multiplied' if factor.tells_parameters and parameters else 'exact'
