r"""How many steps of integration from node to node keep an explicit method stable.

The equations of motion linearised about a state at rest have the eigenvalues :math:`\lambda` of

.. math:: \begin{bmatrix} 0 & I \\ \partial a/\partial q & \partial a/\partial v \end{bmatrix}.

Steep friction on a light link makes them large: the classical Runge-Kutta method is stable for
:math:`-2.78 < \lambda h < 0` and up to 2.83 along the imaginary axis (Hairer and Wanner 1996,
section IV.2).
"""

from __future__ import annotations

import numpy as np

from sysid_ros.errors import UnreachableError
from sysid_ros.estimation.trajectory.problem import TrajectoryProblem
from sysid_ros.estimation.trajectory.starts import initial_states
from sysid_ros.mechanics.tree.acceleration import linearised_accelerations

# Half of the interval of stability: parameters that are sought move.
_STABLE = 1.4
# Poses of every segment that are looked at.
_POSES = 20
#: More steps are not taken: they cost more than they tell, and friction this steep is known as dry
#: friction only.
MOST = 8


def stable_substeps(problem: TrajectoryProblem) -> int:
    """Fewest steps of the Runge-Kutta method from node to node that are stable.

    Args:
        problem: The problem, its parameters where motion is simulated.

    Returns:
        One or more, at most :data:`MOST`.

    Raises:
        EstimationError: The motion of a joint was not observed.
        ModelError: The torque of the model jumps.
    """
    problem.require_smooth()
    needed = 1.0
    for segment, (q, _) in zip(problem.segments, initial_states(problem), strict=True):
        poses = q[np.unique(np.linspace(0, len(q) - 1, _POSES).astype(int))]
        rate = _fastest(problem, poses)
        if np.isfinite(rate):
            needed = max(needed, segment.step * rate / _STABLE)
    return int(np.ceil(min(needed, MOST)))


def _fastest(problem: TrajectoryProblem, poses: np.ndarray) -> float:
    """Largest size of an eigenvalue at rest in [1/s]; NaN where there is no motion."""
    values = problem.parameters.values[:len(problem.model.parameters)]
    rest = np.zeros_like(poses)
    try:
        linear = linearised_accelerations(
            problem.model, values, poses, rest, rest, np.arange(0))
    except (np.linalg.LinAlgError, UnreachableError):
        # The search says what is wrong with bodies that cannot move.
        return float('nan')
    count, joints = poses.shape
    system = np.zeros((count, 2 * joints, 2 * joints))
    system[:, :joints, joints:] = np.eye(joints)
    system[:, joints:, :joints], system[:, joints:, joints:] = (
        linear.by_position, linear.by_velocity)
    if not np.isfinite(system).all():
        return float('nan')
    return float(np.max(np.abs(np.linalg.eigvals(system))))
