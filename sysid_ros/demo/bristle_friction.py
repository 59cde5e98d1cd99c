r"""Dry friction that sticks: an elastic bristle that slips at the sliding friction.

.. math::
    F_{k+1} = \mathrm{clip}\big(F_k + \sigma\, v\, \Delta t,\ \pm F_c\,(1 + s\, e^{-(v/v_s)^2})\big)

Below the limit a joint is held by a spring of stiffness :math:`\sigma`, and with s above zero it
takes more to break loose than to slide: stick-slip.

References:
    Dahl 1968 (bristle), in the limit of a sharp knee; Bo and Pavelescu 1982 (Stribeck curve).
"""

from __future__ import annotations

import numpy as np

# Way in [rad] or [m] that a bristle yields before it slips, and largest natural frequency of a
# joint on its bristle, per step of a simulation.
_PRESLIDING, _STABLE = 5e-4, 0.3


def bristle_stiffness(sliding: np.ndarray, inertia: np.ndarray, timestep: float) -> np.ndarray:
    """Stiffness of bristles, as soft as explicit steps ask for, in [N·m/rad] or [N/m], ``(n,)``.

    Args:
        sliding: Friction in sliding in [N·m] or [N], shape ``(n,)``.
        inertia: Diagonal of the mass matrix in [kg·m²] or [kg], shape ``(n,)``.
        timestep: Step of the simulation in [s].
    """
    return np.minimum(sliding / _PRESLIDING, inertia * (_STABLE / timestep) ** 2)


class BristleFriction:
    """Dry friction of n joints, in simulation steps.

    Args:
        sliding: Friction in sliding in [N·m] or [N], shape ``(n,)``.
        stiffness: Of the bristles in [N·m/rad] or [N/m], shape ``(n,)``.
        stribeck: Part of the sliding friction that breaking loose takes more.
        stribeck_velocity: Velocity in [rad/s] or [m/s] at which most of that has faded.
    """

    def __init__(
        self, sliding: np.ndarray, stiffness: np.ndarray, *, stribeck: float = 0.0,
        stribeck_velocity: float = 0.05,
    ) -> None:
        self._sliding, self._stiffness = sliding, stiffness
        self._stribeck, self._velocity = stribeck, stribeck_velocity
        self.force = np.zeros_like(sliding)

    def move(self, v: np.ndarray, timestep: float) -> None:
        """Let the joints move at velocities ``(n,)`` for a step in [s]; sets ``force``."""
        limit = self._sliding
        if self._stribeck:
            limit = limit * (1.0 + self._stribeck * np.exp(-(v / self._velocity) ** 2))
        self.force = np.clip(self.force + timestep * self._stiffness * v, -limit, limit)
