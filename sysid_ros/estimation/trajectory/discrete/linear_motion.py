"""Linearised discrete dynamics: Gauss-Newton steps by a filter and a smoother."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sysid_ros.estimation.trajectory.discrete.filtering_kernels import Filtered, filter_forwards
from sysid_ros.estimation.trajectory.discrete.impulses import MissingImpulses
from sysid_ros.estimation.trajectory.discrete.linearised_segment import (
    LinearisedSegment,
    add_scores,
    change_units,
    cost_after,
    steepest,
    to_steps,
)
from sysid_ros.estimation.trajectory.discrete.smoothing_kernels import smooth_backwards
from sysid_ros.numerics.least_squares.bounds import bounded_minimum
from sysid_ros.numerics.least_squares.chain import ChainPart
from sysid_ros.numerics.least_squares.damped import DampedStep, deviations_of

# Part of the largest singular value below which violations say nothing of a first state, and of the
# largest eigenvalue below which motion says nothing of what is free of it.
_SILENT = 1e-10


@dataclass(frozen=True, eq=False)
class SegmentLeastSquares:
    """Linearised residuals of a segment of K steps.

    Attributes:
        step: Time between nodes in [s].
        linearised: Missing impulses and readings.
        violated: Weighted violations of the first state: derivatives by it, and values last,
            shape ``(r, 2 n + 1)``.
    """

    step: float
    linearised: LinearisedSegment
    violated: np.ndarray

    @classmethod
    def of(
        cls, first: int, missing: MissingImpulses, observed: Sequence[ChainPart],
        violated: np.ndarray,
    ) -> SegmentLeastSquares:
        """Linearised residuals from those of a chain, whose derivatives are taken over.

        Args:
            first: Its first node.
            missing: Missing impulses.
            observed: Readings.
            violated: See the class; by poses in [m] and [rad].
        """
        steps, bodies = missing.turns.shape[0], missing.turns.shape[2]
        width = missing.slopes.shape[2] + 1
        alone, between = (
            _in_order(first, width + pairs * 12 * bodies, [
                part.reweighted() for part in observed if part.pairs == pairs])
            for pairs in (False, True))
        linearised = LinearisedSegment(
            missing.weights, missing.values, missing.slopes, np.empty((steps, bodies, 3, 3)),
            np.empty((steps + 1, bodies, 3, 3)), np.searchsorted(alone[0], np.arange(steps + 2)),
            alone[1], np.searchsorted(between[0], np.arange(steps + 1)), between[1])
        change_units(missing.step, missing.turns, linearised)
        violated = violated.copy()
        for body in range(bodies):
            violated[:, 12 * body:12 * body + 6] *= missing.step
        return cls(missing.step, linearised, violated)

    @property
    def nodes(self) -> int:
        """Nodes of the segment."""
        return len(self.linearised.units)

    @property
    def parameters(self) -> int:
        """Parameters p."""
        return self.linearised.slopes.shape[2] - self.violated.shape[1] + 1

    @property
    def squares(self) -> float:
        """Half the sum of squared residuals."""
        linearised = self.linearised
        return 0.5 * float(
            np.vdot(linearised.missing, linearised.missing) + np.sum(linearised.rows[:, -1]**2)
            + np.sum(linearised.pairs[:, -1]**2) + np.sum(self.violated[:, -1]**2))

    @cached_property
    def beginning(self) -> tuple[np.ndarray, np.ndarray]:
        """What violations say of the first state: its covariance, and its mean in columns."""
        slopes, rest = self.violated[:, :-1], self.violated[:, -1]
        left, size, right = np.linalg.svd(slopes)
        observed = np.zeros(len(right), dtype=bool)
        observed[:len(size)] = size > _SILENT * size.max(initial=0.0)
        root = right[observed] / size[observed[:len(size)], None]
        silent = len(right) - len(root)
        start = np.zeros((len(right), silent + self.parameters + 1))
        start[:, :silent] = right[~observed].T
        start[:, -1] = -root.T @ (left[:, :len(root)].T @ rest)
        return root.T @ root, start

    def filtered(self, easing: float, covariances: np.ndarray) -> QuadraticModel:
        """Quadratic model of the cost over parameters, states eliminated by a Kalman filter.

        Args:
            easing: Variance of a reading that weighs one.
            covariances: Workspace, shape ``(K + 1, 2 n, 2 n)``; is kept.
        """
        covariances[0], start = self.beginning
        whole, count = start.shape
        alone, between = len(self.linearised.rows), len(self.linearised.pairs)
        found = Filtered(
            easing, covariances,
            np.empty((alone, whole)), np.empty(alone), np.empty((alone, count)),
            np.empty((between, 2 * whole)), np.empty(between), np.empty((between, count)),
            np.zeros((count, count)))
        filter_forwards(self.linearised, start, found)
        information = found.information + np.triu(found.information, 1).T
        free = count - self.parameters - 1
        if not np.isfinite(information).all():
            return QuadraticModel(self, found, np.full((free, count - free), np.nan),
                information[free:, free:])
        # What is free of the first state follows from parameters.
        follows = -_inverse(information[:free, :free]) @ information[:free, free:]
        return QuadraticModel(self, found, follows,
            information[free:, free:] + information[free:, :free] @ follows)

    def after(self, states: np.ndarray, moved: np.ndarray) -> float:
        """Half the sum of squared residuals after a step in the units of the segment."""
        begun = self.violated[:, :-1] @ states[0] + self.violated[:, -1]
        return cost_after(self.linearised, states, moved) + 0.5 * float(begun @ begun)


@dataclass(frozen=True, eq=False)
class QuadraticModel:
    """Quadratic model of a segment's cost over p parameters, states eliminated.

    Attributes:
        segment: The segment.
        filtered: What the filter left behind.
        follows: What is free of the first state by parameters and one, shape ``(s, p + 1)``.
        information: Second derivatives of the least cost by parameters and, last, its
            gradient, shape ``(p + 1, p + 1)``.
    """

    segment: SegmentLeastSquares
    filtered: Filtered
    follows: np.ndarray
    information: np.ndarray

    def states(self, moved: np.ndarray, one: float) -> np.ndarray:
        """Steps of the states for parameters' steps, in the units of the segment.

        Args:
            moved: Shape ``(w, p)``.
            one: 1, or 0 for slopes.

        Returns:
            Shape ``(w, K + 1, 2 n)``.
        """
        known = np.column_stack([moved, np.full(len(moved), one)])
        start = self.segment.beginning[1]
        states = np.empty((len(moved), self.segment.nodes, len(start)))
        smooth_backwards(
            self.segment.linearised, start, np.hstack([known @ self.follows.T, known]),
            self.filtered, states)
        return states


@dataclass(frozen=True, eq=False)
class LinearMotion:
    r"""A linearised chain of discrete dynamics.

    A damped step minimises what the residuals are to first order and, :math:`\lambda` times, what
    it changes readings by and what parameters move by in units of their standard deviations:
    missing impulses can weigh so much that in their own units nothing would move.

    Attributes:
        segments: Its segments.
        cost: That of all residuals.
        work: Workspace for covariances of all nodes, shape ``(N, 2 n, 2 n)``; chains share it, so
            that what a filter leaves there is not kept.
    """

    segments: tuple[SegmentLeastSquares, ...]
    cost: float
    work: np.ndarray

    def quadratic_models(self, easing: float = 1.0) -> tuple[QuadraticModel, ...]:
        """What every segment tells of parameters; until the workspace is used again."""
        ends = np.cumsum([0, *(segment.nodes for segment in self.segments)])
        return tuple(
            segment.filtered(easing, self.work[first:last])
            for segment, first, last in zip(self.segments, ends[:-1], ends[1:], strict=True))

    def damped_step(
        self, damping: float, scale: np.ndarray | None, lower: np.ndarray, upper: np.ndarray
    ) -> DampedStep | None:
        """The step to the minimum of the damped quadratic model; see ``Linearised``."""
        models = self.quadratic_models(1.0 / (1.0 + damping))
        whole = np.sum([part.information for part in models], axis=0)
        information, gradient = whole[:-1, :-1], whole[:-1, -1]
        if not np.isfinite(whole).all():
            return None
        scale = np.diagonal(information) if scale is None else np.maximum(
            scale, np.diagonal(information))
        scaled = np.where(scale > 0.0, scale, 1.0)
        moved = bounded_minimum(information + damping * np.diag(scaled), gradient, lower, upper)
        if moved is None:
            return None
        left, steps = 0.0, []
        for part in models:
            states = part.states(moved[None], 1.0)[0]
            left += part.segment.after(states, moved)
            to_steps(part.segment.step, part.segment.linearised, states)
            steps.append(states)
        promised = sum(segment.squares for segment in self.segments) - left
        size = float(np.max(np.abs(moved) * np.sqrt(scale), initial=0.0))
        return DampedStep(
            np.concatenate(steps), moved, promised, size, deviations_of(information, moved), scale)

    def steepness(self, lowest: np.ndarray, highest: np.ndarray) -> float:
        """Largest cosine between the residuals and a derivative; see ``Linearised``."""
        size = np.sqrt(2.0 * self.cost)
        if not size > 0.0:
            return 0.0
        slope, curvature, largest = np.zeros(len(lowest)), np.zeros(len(lowest)), 0.0
        for segment in self.segments:
            slopes, rest = segment.violated[:, :-1], segment.violated[:, -1]
            first = np.array([slopes.T @ rest, np.sum(slopes**2, axis=0)])
            largest = max(largest, steepest(segment.linearised, first, slope, curvature))
        held = (lowest & (slope > 0.0)) | (highest & (slope < 0.0)) | (curvature <= 0.0)
        cosines = np.abs(slope[~held]) / np.sqrt(curvature[~held])
        return max(largest, float(np.max(cosines, initial=0.0))) / size

    def known(self, scored: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """What the motion tells of the parameters, and piece by piece.

        Args:
            scored: Whether the latter is wanted, which takes as long as all else.

        Returns:
            Second derivatives of the least cost, shape ``(p, p)``, and every node's share of its
            gradient, shape ``(N, p)``, or none; zeros where that is no number.
        """
        models = self.quadratic_models()
        information = np.sum([part.information for part in models], axis=0)[:-1, :-1]
        count, scores = len(information), []
        if not np.isfinite(information).all():
            return np.zeros((count, count)), np.zeros((len(self.work), count))
        if not scored:
            return information, np.zeros((0, count))
        for part in models:
            own = np.zeros((part.segment.nodes, count))
            states = part.states(np.eye(count), 0.0)
            add_scores(part.segment.linearised, states, own)
            slopes, rest = part.segment.violated[:, :-1], part.segment.violated[:, -1]
            own[0] += states[:, 0] @ (slopes.T @ rest)
            scores.append(own)
        return information, np.concatenate(scores)


def _in_order(
    first: int, width: int, parts: Sequence[ChainPart]
) -> tuple[np.ndarray, np.ndarray]:
    """Nodes of rows, from a first one on, and the rows, in the order of their nodes."""
    node = np.concatenate([np.zeros(0, dtype=np.int64), *(
        np.repeat(part.nodes - first, part.rows.shape[1]) for part in parts)])
    rows = np.concatenate([
        np.zeros((0, width)), *(part.rows.reshape(-1, width) for part in parts)])
    if len(parts) > 1:
        order = np.argsort(node, kind='stable')
        node, rows = node[order], rows[order]
    return node, rows


def _inverse(matrix: np.ndarray) -> np.ndarray:
    """Inverse of a matrix that is not negative; what has no size stays where it is."""
    root = np.sqrt(np.diagonal(matrix))
    scale = np.where(root > 0.0, root, 1.0)
    unit = matrix / np.outer(scale, scale)
    return np.asarray(np.linalg.pinv(unit, rcond=_SILENT, hermitian=True) / np.outer(scale, scale))
