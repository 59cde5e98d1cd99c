r"""Gradient of linear functions of a closed chain's regressor with respect to the motion.

The regressor of driven joints is :math:`G^T Y`. Its derivatives with respect to the tree's motion
are known; those of the tree's motion and of G with respect to the driven joints are central
differences of the closed form, one pair per driven joint and not one per entry.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sysid_ros.mechanics.closures.chain_motion import ChainMotion
from sysid_ros.mechanics.closures.closed_chain import ClosedChain

# Step of the differences in [rad] or [m]: error and rounding are both near 1e-10.
_STEP = 1e-5

_Motion = tuple[np.ndarray, np.ndarray, np.ndarray]


def closed_gradient(
    chain: ClosedChain,
    driven: _Motion,
    weights: np.ndarray,
    regressor: Callable[..., np.ndarray],
    gradient: Callable[..., _Motion],
) -> _Motion:
    r"""Gradient of :math:`\sum_{tkp} W_{tkp} (G^T Y)_{tkp}`.

    Args:
        chain: The closed chain.
        driven: Motion of the driven joints, shape ``(T, n)`` each.
        weights: The weights W, shape ``(T, n, p)``.
        regressor: Gives the tree's regressor ``(T, m, p)`` of its motion.
        gradient: Gives the gradient of weighted sums of it, of its motion and the weights.

    Returns:
        Derivatives with respect to q, v and a of the driven joints, shape ``(T, n)`` each.
    """
    q, v, a = driven
    motion = chain.motion(q, v, a)
    on_tree = np.einsum('tmn,tnp->tmp', motion.coupling, weights)
    by_q, by_v, by_a = gradient(motion.q, motion.v, motion.a, on_tree)
    rows = regressor(motion.q, motion.v, motion.a)
    by_coupling = np.einsum('tmp,tnp->tmn', rows, weights)
    result = np.einsum('xtm,tmn->xtn', np.array([by_q, by_v, by_a]), motion.coupling)
    for joint in range(q.shape[1]):
        away = np.zeros(q.shape[1])
        away[joint] = _STEP
        change = _difference(chain.motion(q + away, v, a), chain.motion(q - away, v, a), _STEP)
        result[0, :, joint] += (
            np.sum(by_v * change.v + by_a * change.a, axis=1)
            + np.sum(by_coupling * change.coupling, axis=(1, 2)))
        # Accelerations are quadratic in velocities: a difference of any step is exact.
        away[joint] = 1.0
        change = _difference(
            chain.motion_at(motion.q, v + away, a), chain.motion_at(motion.q, v - away, a), 1.0)
        result[1, :, joint] += np.sum(by_a * change.a, axis=1)
    return result[0], result[1], result[2]


def _difference(ahead: ChainMotion, behind: ChainMotion, step: float) -> ChainMotion:
    return ChainMotion(*(
        (getattr(ahead, name) - getattr(behind, name)) / (2.0 * step)
        for name in ('q', 'v', 'a', 'coupling')
    ))
