r"""A step under dry friction: joints slide, or stick where friction holds them.

The impulses of friction are those of Moreau's time stepping (Acary and Brogliato 2008, chapter 10):
of all within :math:`|\lambda_k| \le h\,(f_k + \mu_k |L_k|)`, those that leave no velocity against
which an axis with less than its largest impulse moves. The load L of a gear is linear in them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from sysid_ros.numerics.jit import ENTRY, INSIDE

# Whether an axis sticks hangs on last bits.
_IN_ORDER = {'fastmath': False}
# The sweeps over the friction axes end at this part of the largest change of velocity.
_TOLERANCE = 1e-10
_MAX_SWEEPS = 1000


@dataclass(frozen=True, eq=False)
class GearLoads:
    """Loads of gears in a step, and the dry friction that grows with them.

    Attributes:
        load: Loads of the axes without dry friction in [N·m] or [N], shape ``(S, k)``.
        response: What they lose per impulse on each axis in [1/s], shape ``(S, k, k)``.
        friction: Dry friction per size of the load, at least zero, shape ``(k,)``.
    """

    load: np.ndarray
    response: np.ndarray
    friction: np.ndarray

    @classmethod
    def none(cls, samples: int, axes: int) -> GearLoads:
        """Those of S samples and k axes whose friction does not depend on loads."""
        return cls(np.zeros((samples, axes)), np.zeros((samples, axes, axes)), np.zeros(axes))


@dataclass(frozen=True, eq=False)
class DryFrictionStep:
    """A step without dry friction, and what dry friction changes of it.

    Attributes:
        free: Velocities after the step without dry friction, shape ``(S, n)``.
        response: Their change per impulse on each friction axis, shape ``(S, n, k)``.
        axes: Directions of the friction axes, shape ``(k, n)``.
        h: Step in [s].
    """

    free: np.ndarray
    response: np.ndarray
    axes: np.ndarray
    h: float

    def stopped_by(
        self, level: np.ndarray, sign: np.ndarray, gears: GearLoads
    ) -> tuple[np.ndarray, np.ndarray]:
        """Velocities after the step with dry friction.

        Args:
            level: Dry friction of the axes in [N·m] or [N] without that by load, shape ``(k,)``.
            sign: Signs of the axes' velocities before the step, shape ``(S, k)``.
            gears: Friction by load.

        Returns:
            Velocities ``(S, n)``, and where friction could not be solved for, ``(S,)``.
        """
        # Negative friction, which only an inconsistent estimate has, cannot make a joint stick.
        pushed = self.h * np.minimum(level, 0.0) * sign
        free = self.free - np.einsum('snk,sk->sn', self.response, pushed)
        speed = free @ self.axes.T
        impulse, stopped = np.zeros_like(speed), np.empty(len(speed), dtype=bool)
        _solve_dry_friction(
            np.ascontiguousarray(self.axes @ self.response), speed,
            self.h * np.maximum(level, 0.0), gears.load, gears.response, self.h * gears.friction,
            impulse, stopped)
        return free - np.einsum('snk,sk->sn', self.response, impulse), stopped


@njit(**ENTRY | _IN_ORDER)
def _solve_dry_friction(
    response: np.ndarray, free: np.ndarray, most: np.ndarray, load: np.ndarray,
    load_response: np.ndarray, by_load: np.ndarray, impulse: np.ndarray, unsettled: np.ndarray,
) -> None:
    """Impulses of dry friction, by projected Gauss-Seidel sweeps over the axes.

    Args:
        response: Velocity of the axes per impulse on them, shape ``(S, k, k)``.
        free: Velocity of the axes without dry friction, shape ``(S, k)``.
        most: Largest impulse of each axis without load, shape ``(k,)``.
        load: Loads without dry friction, shape ``(S, k)``.
        load_response: What they lose per impulse, shape ``(S, k, k)``.
        by_load: Further impulse per size of the load, shape ``(k,)``.
        impulse: Impulses to begin with, and then those that were found, shape ``(S, k)``.
        unsettled: What is written: where the sweeps did not settle, shape ``(S,)``.
    """
    samples, axes = free.shape
    for s in range(samples):
        unsettled[s] = True
        for _ in range(_MAX_SWEEPS):
            largest, moved = 0.0, 0.0
            for k in range(axes):
                if most[k] == 0.0 and by_load[k] == 0.0:
                    continue
                speed, rest = free[s, k], load[s, k]
                for m in range(axes):
                    speed -= response[s, k, m] * impulse[s, m]
                    if m != k:
                        rest -= load_response[s, k, m] * impulse[s, m]
                target = _limited(
                    impulse[s, k] + speed / response[s, k, k], most[k], by_load[k], rest,
                    load_response[s, k, k])
                step = abs(target - impulse[s, k]) * abs(response[s, k, k])
                impulse[s, k] = target
                moved = np.inf if np.isnan(step) else max(moved, step)
                largest = max(largest, abs(free[s, k]))
            if moved <= _TOLERANCE * largest:
                unsettled[s] = False
                break


@njit(**INSIDE | _IN_ORDER)
def _limited(sticking: float, most: float, by_load: float, rest: float, lost: float) -> float:
    """The impulse that stops an axis, or the largest one in its direction.

    Args:
        sticking: The impulse that stops the axis.
        most: Largest impulse without load.
        by_load: Further impulse per size of the load.
        rest: Load without this impulse.
        lost: What the load loses per impulse.

    Returns:
        The impulse; NaN where friction takes more than the load, so that there is no largest.
    """
    if abs(sticking) <= most + by_load * abs(rest - lost * sticking):
        return sticking
    sign = 1.0 if sticking > 0.0 else -1.0
    # Either sign of the load: size = most + by_load |rest - lost sign size|.
    size = (most + by_load * rest) / (1.0 + by_load * lost * sign)
    if rest - lost * sign * size < 0.0:
        size = (most - by_load * rest) / (1.0 - by_load * lost * sign)
    return sign * size if abs(by_load * lost) < 1.0 else np.nan
