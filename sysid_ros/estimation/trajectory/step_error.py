"""What a rule of collocation leaves of the dynamics between its nodes."""

from __future__ import annotations

import numpy as np

from sysid_ros.estimation.trajectory.collocation import Collocation
from sysid_ros.mechanics.tree.acceleration import accelerations

# Parts of a step in which the dynamics are followed anew, by the rule of Runge and Kutta.
_PARTS = 4


def step_errors(chain: Collocation, states: np.ndarray, values: np.ndarray) -> np.ndarray:
    """How far states are from where the dynamics lead from the ones before.

    Args:
        chain: A chain whose dynamics hold exactly, but for its rule's error.
        states: Its states, shape ``(N, 2 n)``.
        values: Its free parameters, shape ``(k,)``.

    Returns:
        What follows a state less the next one, in [rad] or [m] and in units a second, shape
        ``(N, 2 n)``; zero at the end of a segment.
    """
    segments, everything = chain.problem.segments, chain.full(values)
    joints = states.shape[1] // 2
    torque = np.vstack([segment.torque for segment in segments])
    length = np.concatenate([np.full(len(s.t), s.step) for s in segments])[:, None] / _PARTS
    change = (np.roll(torque, -1, axis=0) - torque) / _PARTS

    def slope(x: np.ndarray, u: np.ndarray) -> np.ndarray:
        v = x[:, joints:]
        return np.hstack([v, accelerations(chain.problem.model, everything, x[:, :joints], v, u)])

    follows = states
    for part in range(_PARTS):
        u = torque + part * change
        k1 = slope(follows, u)
        k2 = slope(follows + 0.5 * length * k1, u + 0.5 * change)
        k3 = slope(follows + 0.5 * length * k2, u + 0.5 * change)
        k4 = slope(follows + length * k3, u + change)
        follows = follows + length / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    errors = follows - np.roll(states, -1, axis=0)
    errors[chain.first_nodes[1:] - 1] = 0.0
    return errors
