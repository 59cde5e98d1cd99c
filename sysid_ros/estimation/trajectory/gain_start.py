r"""Gains of drives that a search begins with: torques of described links over those of the gains.

Gains that are sought may be guessed wrong by any factor, one for all drives of a robot, say; motion
under a hundredfold gain tells nothing of where to go. Along the smoothed motion the torque that
commands make is proportional to the gains of a drive, and descriptions are wrong by some tens of
percent, so that for each joint

.. math:: \tau_l - \tau_h = s\, \tau_g - T \theta, \qquad s \ge 0,

by least squares, with the torque :math:`\tau_l` that the described links take, :math:`\tau_g` made
by the gains that are sought at their first guess and :math:`\tau_h` by all else, and friction,
armature and offset of the joint within their bounds. The gains begin with s times their guesses.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import lsq_linear

from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.trajectory.problem import TrajectoryProblem
from sysid_ros.estimation.trajectory.smoothed_rows import smoothed_rows
from sysid_ros.mechanics.actuators.actuators import ActuatedModel

# Gains explain at least this part of the squared torques that friction and armature leave of the
# links, or their guesses stand.
_EXPLAINED = 0.2
# Within this factor a guess is as good.
_NEAR = 1.5


def gain_start(problem: TrajectoryProblem) -> np.ndarray | None:
    """Values of all parameters, gains of drives that are sought near those they need, ``(p,)``.

    Args:
        problem: The problem, its parameters at the first guess, the motion of every joint measured.

    Returns:
        None where no gain is sought, or all guesses are near.

    Raises:
        EstimationError: Encoders do not tell the positions of all joints.
    """
    values, drives = problem.parameters.values.copy(), problem.actuated
    gains = {} if drives is None else _free_gains(problem, drives)
    if not gains:
        return None
    without = values.copy()
    without[np.concatenate(list(gains.values()))] = 0.0
    rows, held = smoothed_rows(problem), smoothed_rows(problem.with_values(without)).torque
    factors = {j: _factor(rows, held[:, j], j) for j in gains}
    if all(1.0 / _NEAR < factor < _NEAR for factor in factors.values()):
        return None
    for j, factor in factors.items():
        values[gains[j]] *= factor
    return np.clip(values, problem.parameters.lower, problem.parameters.upper)


def _free_gains(problem: TrajectoryProblem, drives: ActuatedModel) -> dict[int, np.ndarray]:
    """Places of the free gains among all parameters, by the place of their joint."""
    found = {}
    for each in drives.actuators.joints:
        names = [f'{each.joint}.{gain}' for gain in each.kind.gains if gain in each.free]
        places = [problem.parameters.index(name) for name in names]
        own = np.array([k for k in places if problem.parameters.free[k]], dtype=int)
        if len(own):
            found[drives.joint_names.index(each.joint)] = own
    return found


def _factor(rows: RegressionProblem, held: np.ndarray, j: int) -> float:
    """By what the gains of joint j are larger than guessed; 1 where the links do not tell.

    Args:
        rows: Torques along the smoothed motion with all gains as guessed.
        held: Torque of the joint without those that are sought, shape ``(N,)``.
        j: Its place.
    """
    bodies = 10 * len(rows.model.robot.body_names)
    own, parameters = rows.regressor[:, j], rows.parameters
    links = own[:, :bodies] @ parameters.values[:bodies] - held
    shown = bodies + np.flatnonzero(own[:, bodies:].any(axis=0))
    columns = np.column_stack([rows.torque[:, j] - held, -own[:, shown]])
    size = np.linalg.norm(columns, axis=0)
    if not size.all():
        return 1.0
    lower = np.append(0.0, parameters.lower[shown]) * size
    upper = np.append(np.inf, parameters.upper[shown]) * size
    columns, left = columns / size, []
    for first in (0, 1):
        found = lsq_linear(columns[:, first:], links, (lower[first:], upper[first:]))
        left.append(2.0 * found.cost)
        if first == 0:
            factor = float(found.x[0] / size[0])
    explained = left[1] - left[0]
    return factor if factor > 0.0 and explained > _EXPLAINED * left[1] else 1.0
