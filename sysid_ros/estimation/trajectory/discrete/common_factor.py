r"""The common factor of all parameters, which motion without torques does not tell.

Torques are linear in the parameters: where nothing drives a robot its motion is the same with
:math:`c \theta` for :math:`\theta`. Missing impulses are weighed in units of their own, so that
their weight seems to tell the factor c; it is none of the data's.
"""

from __future__ import annotations

import numpy as np

from sysid_ros.estimation.trajectory.problem import TrajectoryProblem
from sysid_ros.mechanics.base_parameters import base_parameters


def without_common_factor(problem: TrajectoryProblem, information: np.ndarray) -> np.ndarray:
    """Information on the free parameters less that on their common factor, if that is not told.

    Args:
        problem: The problem, its parameters where they are looked at.
        information: Of the k free parameters there, shape ``(k, k)``.
    """
    free = problem.free
    if not len(free) or not factor_is_free(problem):
        return information
    base = problem.base
    # Among parameters that torques tell: weights of impulses seem to tell the others, too.
    shown = np.searchsorted(free, base.independent)
    values = base.matrix[:, free] @ problem.parameters.values[free]
    along = information[:, shown] @ values
    total = float(values @ along[shown])
    return np.asarray(information - np.outer(along, along) / total) if total > 0.0 else information


def factor_is_free(problem: TrajectoryProblem) -> bool:
    """Whether no torque, and no parameter that is known, tells the size of all others."""
    if any(segment.torque.any() for segment in problem.segments):
        return False
    parameters, model = problem.parameters, problem.model
    known = ~parameters.free & (parameters.values != 0.0)
    if len(parameters) > len(model.parameters) or not model.is_linear:
        return False
    return not (known.any() and base_parameters(model).matrix[:, known].any())
