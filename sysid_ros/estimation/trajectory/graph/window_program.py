"""A factor graph of a planar mechanism as arrays, for smoothing as one compiled call."""

from __future__ import annotations

import numpy as np

from sysid_ros.estimation.trajectory.graph import window_arrays
from sysid_ros.estimation.trajectory.graph.graph_chain import GraphChain
from sysid_ros.estimation.trajectory.graph.graph_rows import Rows
from sysid_ros.estimation.trajectory.graph.mechanism_factors import (
    AccelerationConstraints,
    Dynamics,
    PositionConstraints,
    VelocityConstraints,
)
from sysid_ros.estimation.trajectory.graph.planar import PlanarMechanism
from sysid_ros.estimation.trajectory.graph.window_arrays import Program

_KINDS = {
    PositionConstraints: window_arrays.POSITION, VelocityConstraints: window_arrays.VELOCITY,
    AccelerationConstraints: window_arrays.ACCELERATION, Dynamics: window_arrays.DYNAMICS,
}


def window_program(
    chain: GraphChain, prediction: np.ndarray, judged: np.ndarray
) -> Program | None:
    """The factors of a chain as arrays.

    Args:
        chain: Some steps of the graph; targets are shared with it.
        prediction: A state from the last two, shape ``(s, 2 s)``.
        judged: Numbers of a state whose steps say whether to go on.

    Returns:
        None where a factor, the mechanism or sought parameters are not compiled.
    """
    mechanism, layout = chain.declared.mechanism, chain.declared.layout
    dynamics = [factor for _, factor, _ in chain.soft.others if isinstance(factor, Dynamics)]
    others = [*chain.exact.others, *chain.soft.others]
    known = all(type(factor) in _KINDS for _, factor, _ in others)
    exact = any(isinstance(factor, Dynamics) for _, factor, _ in chain.exact.others)
    if (not isinstance(mechanism, PlanarMechanism) or chain.declared.parameters or not known
            or exact or len(dynamics) > 1 or 'q' not in layout.places):
        return None
    at = {name: place.start for name, place in layout.places.items()}
    independent = bool(dynamics) and dynamics[0].independent
    torques = next((data for _, factor, data in chain.soft.others
                    if isinstance(factor, Dynamics) and data is not None), None)
    if torques is None:
        torques = np.zeros((chain.declared.steps, len(mechanism.torques)))
    free_torque = at['torque'] if dynamics and dynamics[0].torque is None else -1
    return Program(
        np.array([at.get(name, -1) for name in ('q', 'v', 'a')]), _kinds(chain.exact),
        _kinds(chain.soft), np.array([at.get('ddz' if independent else 'a', -1), free_torque]),
        np.array(mechanism.independent if independent else range(len(mechanism.coordinates))),
        *_linear(chain.exact, layout.size), *_linear(chain.soft, layout.size), torques,
        chain.soft_pairs.here, chain.soft_pairs.after, chain.soft_pairs.whole_constant,
        chain.soft_pairs.whole_weights, chain.all_ranks,
        chain.lightness, prediction, judged)


def _kinds(rows: Rows) -> np.ndarray:
    """Kind and first row of the factors that the mechanism defines, shape ``(e, 2)``."""
    return np.array(
        [(_KINDS[type(factor)], place.start) for place, factor, _ in rows.others],
        dtype=np.int64).reshape(-1, 2)


def _linear(rows: Rows, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Matrix, targets and weights of all rows; what is not linear is zero."""
    matrix = np.zeros((rows.whole.shape[1], size))
    for place, transposed, _ in rows.linear:
        matrix[place] = transposed.T
    return matrix, rows.targets, rows.whole
