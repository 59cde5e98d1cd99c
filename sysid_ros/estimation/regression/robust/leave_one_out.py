r"""How least-squares values change when a group of rows is left out, without fitting again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sysid_ros.numerics.decomposition import svd

# A direction of which the rest of the rows tells less than this part is told by one group alone.
_ALONE = 1e-7


def leave_one_out(
    hessian: np.ndarray, grams: Sequence[np.ndarray], scores: Sequence[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    r"""Changes :math:`\delta_g = -(H - H_g)^{-1} s_g` by leaving out each of G groups.

    Args:
        hessian: Hessian H of the objective, that of a prior included, shape ``(k, k)``.
        grams: Each group's part :math:`H_g` of it.
        scores: Each group's rows times its weighted residuals, shape ``(k,)``.

    Returns:
        The changes, shape ``(G, k)``, and the directions that one group alone tells, ``(k, m)``,
        in which nothing is known of what the others would say.

    References:
        Bell and McCaffrey 2002.
    """
    # In units in which the Hessian has a unit diagonal.
    scale = np.sqrt(np.diag(hessian))
    inverse = np.linalg.inv(hessian / np.outer(scale, scale))
    moves, alone = [], []
    for gram, score in zip(grams, scores, strict=True):
        rest = np.eye(len(scale)) - inverse @ (gram / np.outer(scale, scale))
        left, values, right = svd(rest)
        determined = values > _ALONE * max(values[0], 1.0)
        step = (left.T @ (inverse @ (score / scale)))[determined] / values[determined]
        moves.append(-right[determined].T @ step / scale)
        alone.append(right[~determined].T / scale[:, None])
    return np.array(moves), np.concatenate(alone, axis=1)
