r"""Chains of states that share parameters: their residuals and normal equations.

Residuals touch one node, or a node and the next, and the parameters. So the normal equations
are block-tridiagonal with a border, and are solved in a time and a memory that grow with the
number of nodes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from sysid_ros.numerics.least_squares import chain_kernels
from sysid_ros.numerics.least_squares.bounds import bounded_minimum
from sysid_ros.numerics.least_squares.damped import DampedStep, deviations_of


class ChainPart(Protocol):
    """Weighted residuals of one kind, as normal equations need them; see :class:`Residuals`."""

    @property
    def nodes(self) -> np.ndarray:
        """Node of each, or the first of two, shape ``(K,)``."""

    @property
    def pairs(self) -> bool:
        """Whether they touch the next node too."""

    @property
    def rows(self) -> np.ndarray:
        """Derivatives and values."""

    @property
    def cost(self) -> float:
        """Their part of the cost."""

    def reweighted(self) -> ChainPart:
        """The residuals whose squares have the slope of the cost here."""

    def add_to(self, chain: np.ndarray, corner: np.ndarray) -> None:
        """Add them to the normal equations of a chain."""


@dataclass(frozen=True, eq=False)
class Residuals:
    r"""Residuals of one kind at K places of a chain, weighted, with their derivatives.

    Attributes:
        nodes: Node of each, or the first of two, shape ``(K,)``.
        rows: :math:`[\partial r/\partial x_k \mid (\partial r/\partial x_{k+1} \mid)\,
            \partial r/\partial\theta \mid r]`, shape ``(K, m, n + p + 1)``, or with the next
            node ``(K, m, 2 n + p + 1)``.
        pairs: Whether they touch the next node too.
        huber: Residuals beyond this count by their size, not their square (Huber 1964).
    """

    nodes: np.ndarray
    rows: np.ndarray
    pairs: bool
    huber: float = np.inf

    @classmethod
    def of(
        cls, nodes: np.ndarray, residual: np.ndarray, by_state: np.ndarray,
        by_next: np.ndarray | None, by_parameters: np.ndarray, huber: float = np.inf,
    ) -> Residuals:
        """Join residuals and derivatives to rows.

        Args:
            nodes: Shape ``(K,)``.
            residual: Shape ``(K, m)``.
            by_state: Shape ``(K, m, n)``.
            by_next: Shape ``(K, m, n)``; None where the next node is not touched.
            by_parameters: Shape ``(K, m, p)``.
            huber: See the class.
        """
        parts = [by_state, by_parameters, residual[..., None]]
        if by_next is not None:
            parts.insert(1, by_next)
        return cls(nodes, np.concatenate(parts, axis=2), by_next is not None, huber)

    @property
    def values(self) -> np.ndarray:
        """The residuals, shape ``(K, m)``."""
        return self.rows[:, :, -1]

    @property
    def cost(self) -> float:
        """Their part of the cost by Huber's loss: half the squares, or less beyond ``huber``."""
        size = np.abs(self.values)
        near = np.minimum(size, self.huber)
        return float(np.sum(near * (size - 0.5 * near)))

    def add_to(self, chain: np.ndarray, corner: np.ndarray) -> None:
        """Add them to the normal equations of a chain.

        Args:
            chain: Shape ``(N, n, 2 n + p + 1)``; is added to.
            corner: Shape ``(p, p + 1)``; is added to.
        """
        add = chain_kernels.add_pairs if self.pairs else chain_kernels.add_nodes
        add(self.nodes, self.reweighted().rows, chain, corner)

    def reweighted(self) -> Residuals:
        """The residuals whose squares have the slope of the cost here."""
        size = np.abs(self.values)
        if not (size > self.huber).any():
            return self
        weight = np.sqrt(self.huber / np.maximum(size, self.huber))
        return Residuals(self.nodes, weight[..., None] * self.rows, self.pairs)


class Linearised(Protocol):
    """Residuals of a chain to first order."""

    @property
    def cost(self) -> float:
        """Cost of all residuals."""

    def damped_step(
        self, damping: float, scale: Any, lower: np.ndarray, upper: np.ndarray
    ) -> DampedStep | None:
        """The step to the minimum of the damped quadratic model.

        Args:
            damping: Marquardt's parameter.
            scale: That of the step before, or None.
            lower: Least step of each parameter, at most zero, shape ``(p,)``.
            upper: Largest step, at least zero, shape ``(p,)``.

        Returns:
            None where it cannot be computed.
        """

    def steepness(self, lowest: np.ndarray, highest: np.ndarray) -> float:
        """Largest cosine between the residuals and one of their derivatives.

        Args:
            lowest: Which parameters count only where less cost is above, shape ``(p,)``.
            highest: Which ones only where it is below.
        """


@dataclass(frozen=True, eq=False)
class NormalEquations:
    """Normal equations of a chain of N nodes.

    Attributes:
        chain: Of every node, as :mod:`~sysid_ros.numerics.least_squares.chain_kernels` says,
            shape ``(N, n, 2 n + p + 1)``.
        corner: Of the parameters, upper triangle, and their gradient, shape ``(p, p + 1)``.
        linked: Whether a node is linked to the next, shape ``(N,)``.
        cost: That of all residuals.
    """

    chain: np.ndarray
    corner: np.ndarray
    linked: np.ndarray
    cost: float

    @classmethod
    def of(
        cls, nodes: int, dimension: int, parameters: int, residuals: Iterable[ChainPart]
    ) -> NormalEquations:
        """Add up residuals; each kind may come in several parts, so that memory stays small.

        Args:
            nodes: Nodes N of the chain.
            dimension: Numbers n of a state's step.
            parameters: Parameters p.
            residuals: All residuals.
        """
        chain = np.zeros((nodes, dimension, 2 * dimension + parameters + 1))
        corner, linked = np.zeros((parameters, parameters + 1)), np.zeros(nodes, dtype=bool)
        cost = 0.0
        for part in residuals:
            part.add_to(chain, corner)
            if part.pairs:
                linked[part.nodes] = True
            cost += part.cost
        return cls(chain, corner, linked, cost)

    @property
    def curvature(self) -> tuple[np.ndarray, np.ndarray]:
        """Diagonal of the Hessian: of the states ``(N, n)``, and of the parameters ``(p,)``."""
        return (
            np.einsum('kii->ki', self.chain[:, :, :self.chain.shape[1]]),
            np.diagonal(self.corner))

    @property
    def gradient(self) -> tuple[np.ndarray, np.ndarray]:
        """Gradient of the cost: by the states ``(N, n)``, and by the parameters ``(p,)``."""
        return self.chain[:, :, -1], self.corner[:, -1]

    def damped_step(
        self, damping: float, scale: Any, lower: np.ndarray, upper: np.ndarray
    ) -> DampedStep | None:
        """A step damped in units of curvatures, at their largest so far; see ``Linearised``."""
        scale = self.curvature if scale is None else tuple(
            np.maximum(*pair) for pair in zip(scale, self.curvature, strict=True))
        # What nothing bends is damped by itself.
        scaled = [np.where(part > 0.0, part, 1.0) for part in scale]
        eliminated = self.eliminated(damping * scaled[0], damping * scaled[1])
        found = None if eliminated is None else eliminated.step(lower, upper)
        if eliminated is None or found is None:
            return None
        states, values = found
        gradient, slope = self.gradient
        linear = float(np.vdot(gradient, states) + slope @ values)
        size = float(np.max(np.abs(values) * np.sqrt(scale[1]), initial=0.0))
        promised = -linear - 0.5 * self.second_derivative(states, values)
        return DampedStep(
            states, values, promised, size, deviations_of(eliminated.information, values), scale)

    def steepness(self, lowest: np.ndarray, highest: np.ndarray) -> float:
        """Largest cosine between the residuals and a derivative; see ``Linearised``."""
        size = np.sqrt(2.0 * self.cost)
        if not size > 0.0:
            return 0.0
        gradient, slope = self.gradient
        held, largest = (lowest & (slope > 0.0)) | (highest & (slope < 0.0)), 0.0
        for part, curvature in zip(
            (gradient, np.where(held, 0.0, slope)), self.curvature, strict=True
        ):
            cosine = np.abs(part) / np.sqrt(np.where(curvature > 0.0, curvature, np.inf))
            largest = max(largest, float(np.max(cosine, initial=0.0)) / size)
        return largest

    def second_derivative(self, states: np.ndarray, parameters: np.ndarray) -> float:
        """Second derivative of the cost along a step.

        Args:
            states: Of the states, shape ``(N, n)``.
            parameters: Of the parameters, shape ``(p,)``.
        """
        return float(chain_kernels.second_derivative(self.chain, self.corner, states, parameters))

    def eliminated(
        self, states: np.ndarray | float = 0.0, parameters: np.ndarray | float = 0.0
    ) -> Eliminated | None:
        """Eliminate the states.

        Args:
            states: Added to the diagonal, shape ``(N, n)``.
            parameters: Added to the diagonal, shape ``(p,)``.

        Returns:
            None when a block is not positive definite.
        """
        chain, corner = self.chain.copy(), self.corner.copy()
        diagonal = np.arange(chain.shape[1])
        chain[:, diagonal, diagonal] += states
        corner[np.arange(len(corner)), np.arange(len(corner))] += parameters
        if chain_kernels.eliminate(chain, corner, self.linked) >= 0:
            return None
        return Eliminated(chain, corner, self.linked)


@dataclass(frozen=True, eq=False)
class Eliminated:
    """Normal equations of the parameters after elimination of the states.

    Attributes:
        chain: Factors, shape ``(N, n, 2 n + p + 1)``.
        corner: Schur complement of the parameters, upper triangle, and its gradient,
            shape ``(p, p + 1)``.
        linked: Shape ``(N,)``.
    """

    chain: np.ndarray
    corner: np.ndarray
    linked: np.ndarray

    @cached_property
    def information(self) -> np.ndarray:
        """Hessian of the cost by the parameters, the states adapted to them, ``(p, p)``."""
        upper = np.triu(self.corner[:, :-1])
        return upper + np.triu(upper, 1).T

    def step(
        self, lower: np.ndarray, upper: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """The step to the minimum of the quadratic model within bounds of the parameters.

        Args:
            lower: Least step of each parameter, at most zero, shape ``(p,)``.
            upper: Largest step, at least zero, shape ``(p,)``.

        Returns:
            Steps of the states ``(N, n)`` and of the parameters ``(p,)``; None when the
            information is not positive definite.
        """
        moved = bounded_minimum(self.information, self.corner[:, -1], lower, upper)
        if moved is None:
            return None
        states = np.empty(self.chain.shape[:2])
        chain_kernels.substitute(self.chain, self.linked, moved, states)
        return states, moved

    @cached_property
    def slopes(self) -> np.ndarray:
        r"""Elimination :math:`H_{xx}^{-1} H_{xp}` of the states, shape ``(N, n, p)``."""
        slopes = np.empty((*self.chain.shape[:2], len(self.corner)))
        chain_kernels.adapted(self.chain, self.linked, slopes)
        return slopes

    def scores(self, residuals: Iterable[ChainPart]) -> np.ndarray:
        """Gradient by the parameters, the states adapted, node by node, shape ``(N, p)``."""
        scores = np.zeros((len(self.chain), len(self.corner)))
        for part in residuals:
            rows = part.reweighted().rows
            chain_kernels.add_scores(part.nodes, rows, part.pairs, self.slopes, scores)
        return scores

    @cached_property
    def _local(self) -> tuple[np.ndarray, np.ndarray]:
        """Covariances of states, parameters known, and of each with the next one's."""
        blocks, n = self.state_covariances(), self.chain.shape[1]
        triangle, beside = np.triu(self.chain[:-1, :, :n]), self.chain[:-1, :, n:2 * n]
        linked = self.linked[:-1, None, None]
        across = -np.linalg.solve(triangle, np.where(linked, beside, 0.0) @ blocks[1:])
        return blocks, across

    def leverages(self, part: Residuals, parameters: np.ndarray) -> np.ndarray:
        r"""How much of each residual's freedom states and parameters take, from 0 to 1.

        :math:`h = J H^{-1} J^T` of its row J; the variance of what the fit leaves of it is 1 - h.

        Args:
            part: Residuals that are among those of the normal equations.
            parameters: Covariance of the parameters, shape ``(p, p)``.

        Returns:
            Shape ``(K, m)``.
        """
        n, here = self.chain.shape[1], part.nodes
        blocks, across = self._local
        own, by_parameters = part.rows[:, :, :n], part.rows[:, :, (1 + part.pairs) * n:-1]
        taken = np.sum((own @ blocks[here]) * own, axis=2)
        by_parameters = by_parameters - own @ self.slopes[here]
        if part.pairs:
            after = part.rows[:, :, n:2 * n]
            taken += np.sum((after @ blocks[here + 1] + 2.0 * (own @ across[here])) * after, axis=2)
            by_parameters -= after @ self.slopes[here + 1]
        return np.asarray(taken + np.sum((by_parameters @ parameters) * by_parameters, axis=2))

    def state_covariances(self, parameters: np.ndarray | None = None) -> np.ndarray:
        """Covariances of all states for residuals of unit variance, shape ``(N, n, n)``.

        Args:
            parameters: Covariance of the parameters, shape ``(p, p)``; None if they are known.
        """
        blocks = np.empty((*self.chain.shape[:2], self.chain.shape[1]))
        chain_kernels.covariances(self.chain, self.linked, blocks)
        if parameters is not None:
            blocks += self.slopes @ parameters @ self.slopes.transpose(0, 2, 1)
        return blocks
