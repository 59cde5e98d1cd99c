r"""What physics allows: consistent bodies, non-negative dissipation, plausible masses.

Written in the prior's steps, :math:`\theta = \theta_0 + C z`, as linear matrix
inequalities and linear inequalities. Consistency of each body alone is not enough: with
torques that do not tell the masses apart a fit may pair a 100 kg link with a
weightless one, so masses are held near the prior too.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.regression.consistent.linear_bounds import linear_bounds
from sysid_ros.estimation.regression.consistent.plausibility import (
    Plausibility,
    SteppedParameters,
)
from sysid_ros.robot.inertia import PSEUDO_INERTIA_BASIS, pseudo_inertia

#: A constraint is active when less than this is left of it, without unit.
ACTIVE = 1e-6
# A prior on a bound (no friction given) is moved inside by this part of its scale.
_INSIDE = 0.1


@dataclass(frozen=True, eq=False)
class ActiveConstraints:
    r"""Constraints that hold a point back.

    Attributes:
        labels: What each says, for people; a body on the edge of consistency may have
            several with the same words.
        gradients: Their derivatives by the prior's steps z, shape ``(a, f)``, pointing out
            of what is allowed for the linear ones. Movements dz along all active
            constraints have ``gradients @ dz = 0``.
    """

    labels: tuple[str, ...]
    gradients: np.ndarray


@dataclass(frozen=True, eq=False)
class FeasibleSet:
    r"""Constraints on the prior's steps z, shape ``(f,)``.

    Steps fall into groups: those of one body, and each joint term's by itself. All but few
    constraints concern one group only.

    Attributes:
        names: Bodies with free parameters, c of them.
        constant: Whitened pseudo-inertias at z = 0, less the margin, shape ``(c, 4, 4)``.
        slopes: Their derivatives, shape ``(c, f, 4, 4)``; positive definite
            ``constant + slopes · z`` means consistent.
        matrix: Linear inequalities ``matrix @ z <= bound``, shape ``(m, f)``.
        bound: Shape ``(m,)``.
        labels: What each inequality says, for people.
        steps: First step of each body and the one after its last, shape ``(c, 2)``; no
            other step changes its pseudo-inertia.
        notes: What is said of how the bounds came, for people.
    """

    names: tuple[str, ...]
    constant: np.ndarray
    slopes: np.ndarray
    matrix: np.ndarray
    bound: np.ndarray
    labels: tuple[str, ...]
    steps: np.ndarray
    notes: tuple[str, ...] = ()

    def pseudo_inertias(self, z: np.ndarray) -> np.ndarray:
        """Whitened pseudo-inertias less the margin, shape ``(c, 4, 4)``."""
        return self.constant + (z @ self._flat_slopes).reshape(-1, 4, 4)

    def slack(self, z: np.ndarray) -> np.ndarray:
        """Distance to each linear bound, shape ``(m,)``, negative when violated."""
        return self.bound - self.matrix @ z

    def contains(self, z: np.ndarray, tolerance: float = 0.0) -> bool:
        """Whether z satisfies every constraint up to a tolerance without unit."""
        eigenvalues = np.linalg.eigvalsh(self.pseudo_inertias(z)) if self.names else np.zeros(1)
        return bool(
            (eigenvalues >= -tolerance).all()
            and (self.slack(z) >= -tolerance * np.maximum(np.abs(self.bound), 1.0)).all()
        )

    def active(self, z: np.ndarray) -> ActiveConstraints:
        """The constraints that a point of the set leans on."""
        tight = self.slack(z) < ACTIVE * np.maximum(np.abs(self.bound), 1.0)
        labels = [label for label, held in zip(self.labels, tight, strict=True) if held]
        gradients = [self.matrix[tight]]
        eigenvalues, vectors = np.linalg.eigh(self.pseudo_inertias(z))
        for c, name in enumerate(self.names):
            # To stay on the boundary the null space of the matrix must stay one.
            null = vectors[c][:, eigenvalues[c] < ACTIVE]
            row, column = np.triu_indices(null.shape[1])
            gradients.append((null.T @ self.slopes[c] @ null)[:, row, column].T)
            labels += [f'consistency of {name}'] * len(row)
        return ActiveConstraints(tuple(labels), np.vstack(gradients))

    def interior(self) -> np.ndarray | None:
        """The prior, moved inside where it lies on a bound, shape ``(f,)``.

        Returns:
            None when that is not strictly inside.
        """
        z = -self.matrix.T @ np.maximum(_INSIDE - self.bound, 0.0)
        try:
            np.linalg.cholesky(self.pseudo_inertias(z))
        except np.linalg.LinAlgError:
            return None
        return z if (self.slack(z) > 0.0).all() else None

    def require_interior(self) -> np.ndarray:
        """The prior, moved inside where it lies on a bound, shape ``(f,)``.

        Raises:
            ConfigurationError: It is not strictly inside; names the bodies and bounds.
        """
        z = self.interior()
        if z is None:
            outside = np.linalg.eigvalsh(self.constant)[:, 0] <= 0.0
            where = [name for name, out in zip(self.names, outside, strict=True) if out]
            where += [
                label for label, bound in zip(self.labels, self.bound, strict=True) if bound < 0.0]
            raise ConfigurationError(
                'the prior is not strictly inside what is allowed',
                where=', '.join(where) or 'plausibility',
                fix='Widen the ranges or the margin of plausibility, or mend the prior or the '
                'fixed values',
            )
        return z

    def barrier_gradient(self, z: np.ndarray) -> np.ndarray:
        """Gradient of the log barrier at a point strictly inside, shape ``(f,)``."""
        inverse = np.linalg.inv(self.pseudo_inertias(z))
        bodies = (self._flat_slopes @ inverse.reshape(-1, 16, 1)).sum(axis=0)[:, 0]
        return self.matrix.T @ (1.0 / self.slack(z)) - bodies

    def barrier_hessian(self, z: np.ndarray) -> np.ndarray:
        """Hessian of the log barrier at a point strictly inside, shape ``(f, f)``.

        An active inequality counts as it does at the distance from which it is active: squares of
        the last hair would drown the others in rounding.
        """
        weighted = self.matrix / np.maximum(self.slack(z), ACTIVE)[:, None]
        hessian = weighted.T @ weighted
        for inverse, slopes, (start, stop) in zip(
            np.linalg.inv(self.pseudo_inertias(z)), self.slopes, self.steps, strict=True
        ):
            scaled = inverse @ slopes[start:stop]
            hessian[start:stop, start:stop] += np.einsum('fij,gji->fg', scaled, scaled)
        return hessian

    @property
    def _flat_slopes(self) -> np.ndarray:
        """The slopes with each matrix in a row, for BLAS, shape ``(c, f, 16)``."""
        return self.slopes.reshape(*self.slopes.shape[:2], 16)

    @cached_property
    def groups(self) -> np.ndarray:
        """First step of each of the g groups and, last, f; shape ``(g + 1,)``."""
        alone = np.ones(self.matrix.shape[1] + 1, dtype=bool)
        for start, stop in self.steps.tolist():
            alone[start + 1:stop] = False
        return np.flatnonzero(alone)

    @cached_property
    def group_body(self) -> np.ndarray:
        """Which body each group is, or -1, shape ``(g,)``."""
        body = np.full(len(self.groups) - 1, -1)
        body[np.searchsorted(self.groups, self.steps[:, 0])] = np.arange(len(self.names))
        return body

    @cached_property
    def span(self) -> np.ndarray:
        """First step of each inequality and the one after its last, shape ``(m, 2)``."""
        used = self.matrix != 0.0
        return np.column_stack([
            used.argmax(axis=1), used.shape[1] - used[:, ::-1].argmax(axis=1)
        ])

    @cached_property
    def owner(self) -> np.ndarray:
        """The group each inequality concerns, or -1 when it couples several, shape ``(m,)``."""
        first, last = np.searchsorted(self.groups, self.span - [0, 1], side='right').T - 1
        return np.where(first == last, first, -1)

    @cached_property
    def unbounded(self) -> np.ndarray:
        """Mask of the steps that no constraint holds (offsets, for one), shape ``(f,)``."""
        free = np.logical_not(self.matrix.any(axis=0))
        for start, stop in self.steps.tolist():
            free[start:stop] = False
        return free


def feasible_set(problem: SteppedParameters, plausibility: Plausibility) -> FeasibleSet:
    """Constraints of a problem.

    Args:
        problem: The problem; bounds of its parameters become inequalities.
        plausibility: Margins and ranges of masses.

    Returns:
        The set. Masses of bodies that came without one are not held.
    """
    parameters, free = problem.parameters, np.flatnonzero(problem.free)
    names = tuple(
        body for body in parameters.bodies if problem.free[parameters.body_slice(body)].any()
    )
    blocks = [parameters.body_slice(body) for body in names]
    steps = np.array(
        [np.searchsorted(free, [block.start, block.stop]) for block in blocks], dtype=int
    ).reshape(-1, 2)
    constant = np.zeros((len(names), 4, 4))
    slopes = np.zeros((len(names), len(free), 4, 4))
    priors = np.array([parameters.prior[block] for block in blocks]).reshape(-1, 10)
    # Whitening by the prior makes every entry a ratio, so that one margin fits all.
    inverses = np.linalg.inv(np.linalg.cholesky(pseudo_inertia(priors)))
    for c, (block, (start, stop)) in enumerate(zip(blocks, steps, strict=True)):
        basis = inverses[c] @ PSEUDO_INERTIA_BASIS @ inverses[c].T
        constant[c] = np.tensordot(problem.reference[block], basis, axes=1)
        constant[c] -= plausibility.margin * np.eye(4)
        slopes[c, start:stop] = np.tensordot(
            problem.scale[block, start:stop], basis, axes=(0, 0))
    bounds = linear_bounds(problem, plausibility)
    matrix, bound = bounds.scaled(problem.scale.shape[1])
    return FeasibleSet(
        names, constant, slopes, matrix, bound, tuple(bounds.labels), steps, tuple(bounds.notes))
