r"""A step under dry friction: joints slide, or stick where friction holds them.

The impulses of friction are those of Moreau's time stepping (Acary and Brogliato 2008, chapter 10):
of all within :math:`|\lambda_k| \le h f_k`, those that leave no velocity against which an axis
with less than its largest impulse moves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

# The sweeps over the friction axes end at this part of the largest change of velocity.
_TOLERANCE = 1e-10
_MAX_SWEEPS = 1000


@dataclass(frozen=True, eq=False)
class DryFrictionStep:
    """A step without dry friction, and what dry friction changes of it.

    Attributes:
        free: Velocities after the step without dry friction, shape ``(S, n)``.
        response: Their change per impulse on each friction axis, shape ``(S, n, k)``.
        axes: Directions of the friction axes, shape ``(k, n)``.
        sign: Signs of their velocities before the step, shape ``(S, k)``.
        h: Step in [s].
    """

    free: np.ndarray
    response: np.ndarray
    axes: np.ndarray
    sign: np.ndarray
    h: float

    def stopped_by(self, level: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Velocities after the step with dry friction.

        Args:
            level: Dry friction of the axes in [N·m] or [N], shape ``(S, k)``.

        Returns:
            Velocities ``(S, n)``, and where friction could not be solved for, ``(S,)``.
        """
        # Negative friction, which only an inconsistent estimate has, cannot make a joint stick.
        pushed = self.h * np.minimum(level, 0.0) * self.sign
        free = self.free - np.einsum('snk,sk->sn', self.response, pushed)
        impulse, stopped = _solve_dry_friction(
            np.ascontiguousarray(self.axes @ self.response), free @ self.axes.T,
            self.h * np.maximum(level, 0.0))
        return free - np.einsum('snk,sk->sn', self.response, impulse), stopped


@njit(cache=True)
def _solve_dry_friction(
    response: np.ndarray, free: np.ndarray, most: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Impulses of dry friction, by projected Gauss-Seidel sweeps over the axes.

    Args:
        response: Velocity of the axes per impulse on them, shape ``(S, k, k)``.
        free: Velocity of the axes without dry friction, shape ``(S, k)``.
        most: Largest impulse of each axis, shape ``(S, k)``.

    Returns:
        Impulses ``(S, k)``, and where the sweeps did not settle, ``(S,)``.
    """
    samples, axes = free.shape
    impulse = np.zeros((samples, axes))
    unsettled = np.ones(samples, dtype=np.bool_)
    for s in range(samples):
        for _ in range(_MAX_SWEEPS):
            largest, moved = 0.0, 0.0
            for k in range(axes):
                if most[s, k] == 0.0:
                    continue
                speed = free[s, k]
                for m in range(axes):
                    speed -= response[s, k, m] * impulse[s, m]
                target = impulse[s, k] + speed / response[s, k, k]
                target = min(max(target, -most[s, k]), most[s, k])
                step = abs(target - impulse[s, k]) * abs(response[s, k, k])
                impulse[s, k] = target
                moved = max(moved, step)
                largest = max(largest, abs(free[s, k]))
            if moved <= _TOLERANCE * largest:
                unsettled[s] = False
                break
    return impulse, unsettled
