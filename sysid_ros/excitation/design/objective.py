r"""What the search for a motion minimises.

.. math::
    J(F(c)) + \mu \sum_k \tfrac1T \sum_t \beta(s_{tk}(c))

J is a criterion on the information F, s are the slacks of all constraints and :math:`\beta` is
a relaxed barrier.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg

from sysid_ros.errors import UnreachableError
from sysid_ros.excitation.design.constraints import Constraint, MotionState, relaxed_barrier
from sysid_ros.excitation.design.information import Criterion, Information

# Samples of one part of a dense grid.
_AT_ONCE = 5000
# Halvings that find how far a motion may be drawn out.
_HALVINGS = 12


@dataclass(frozen=True, eq=False)
class DesignObjective:
    """Cost of a motion as a function of its coefficients, with the gradient.

    Attributes:
        information: What rows tell.
        criterion: How information is judged.
        constraints: What the motion must keep.
        functions: The family's functions on the design grid, shape ``(4, T, k)``.
        rows: Independent rows that each sample of the grid stands for.
        prior: Parameters that torques are predicted with, shape ``(p,)``.
    """

    information: Information
    criterion: Criterion
    constraints: Sequence[Constraint]
    functions: np.ndarray
    rows: float
    prior: np.ndarray

    def motion(self, coefficients: np.ndarray) -> tuple[MotionState, np.ndarray]:
        """Motion with torque, and regressor of coefficients ``(k, n)``.

        Raises:
            UnreachableError: Closed loops cannot follow.
        """
        kinematic = self.functions @ coefficients
        model = self.information.model
        regressor = model.regressor(*kinematic[:3])
        values = np.concatenate([kinematic, (regressor @ self.prior)[None]])
        return MotionState(model.robot, values), regressor

    def slack(self, motion: MotionState) -> np.ndarray:
        """Slacks of all constraints, shape ``(T, k)``."""
        return np.hstack([constraint.slack(motion) for constraint in self.constraints])

    def parts(self) -> tuple[DesignObjective, ...]:
        """Objective by parts of the grid, so that no regressor is large."""
        samples = self.functions.shape[1]
        return tuple(
            replace(self, functions=self.functions[:, k:k + _AT_ONCE])
            for k in range(0, samples, _AT_ONCE)
        )

    def allows(self, coefficients: np.ndarray) -> bool:
        """Whether a motion keeps all constraints on the grid."""
        try:
            motion = self.motion(coefficients)[0]
        except UnreachableError:
            return False
        return bool((self.slack(motion) >= 0.0).all())

    def criterion_value(self, coefficients: np.ndarray) -> float:
        """Criterion of a motion without the barrier; infinite where closed loops cannot follow."""
        try:
            information = self._matrix(coefficients)
        except UnreachableError:
            return np.inf
        return self.criterion(information, self.information.steps)[0]

    def effective_parameters(self, coefficients: np.ndarray) -> float:
        r"""Base parameters that a motion tells beside what is known, as a number.

        It is :math:`\operatorname{tr}(F^{-1} (F - F_0))`: by so much :math:`\log\det F` grows
        with the logarithm of the rows. r where nothing is known before, near zero where all is.

        Args:
            coefficients: Shape ``(k, n)``.

        Raises:
            UnreachableError: Closed loops cannot follow.
        """
        matrix, known = self._matrix(coefficients), self.information.known
        return len(known) - float(np.trace(scipy.linalg.cho_solve(
            scipy.linalg.cho_factor(matrix, lower=True), known)))

    def _matrix(self, coefficients: np.ndarray) -> np.ndarray:
        return self.information.matrix(self.motion(coefficients)[1], self.rows)

    def value_and_gradient(
        self, coefficients: np.ndarray, strength: float, near: float
    ) -> tuple[float, np.ndarray]:
        """Cost, and its derivative with respect to the coefficients, shape ``(k, n)``.

        Args:
            coefficients: Shape ``(k, n)``.
            strength: Weight of the barrier.
            near: Slack at which the barrier is relaxed.

        Raises:
            UnreachableError: Closed loops cannot follow.
        """
        motion, regressor = self.motion(coefficients)
        information = self.information.matrix(regressor, self.rows)
        cost, slope = self.criterion(information, self.information.steps)
        weights = self.information.weights(regressor, slope, self.rows)
        gradient = np.zeros_like(motion.values)
        for constraint in self.constraints:
            barrier, push = relaxed_barrier(constraint.slack(motion), near)
            cost += strength * float(barrier.sum()) / len(regressor)
            gradient += constraint.gradient(motion, strength / len(regressor) * push)
        # The torque is the regressor times the prior: one walk through the regressor's
        # derivatives serves the information and the torque limits.
        weights += gradient[4][:, :, None] * self.prior
        q, v, a = motion.values[:3]
        gradient[:3] += self.information.model.regressor_gradient(q, v, a, weights)
        return cost, np.einsum('otk,otj->kj', self.functions, gradient[:4])


def largest_share(allowed: Callable[[float], bool], most: float | None = None) -> float:
    """How far a motion may be drawn out from rest, by halving; 0 where not at all.

    Args:
        allowed: Whether a share of it is.
        most: Largest share to try; without it, as far as may be.
    """
    high = 1.0 if most is None else most
    if allowed(high):
        while most is None and allowed(2.0 * high):
            high *= 2.0
        return high
    low = 0.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if allowed(middle) else (low, middle)
    return low
