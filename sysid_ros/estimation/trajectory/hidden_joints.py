r"""Motion of joints that nothing measures, smoothed by the dynamics out of what is measured.

States at the nodes are those of least

.. math:: \sum \left(\frac{y - h(x)}{\sigma}\right)^2
   + \sum \left\|x_{k+1} - f(x_k, x_{k+1})\right\|^2_{Q^{-1}},

readings y of sensors h with noise :math:`\sigma`, the trapezoidal rule f, and Q that of white noise
of accelerations, with the parameters as they are: a fixed-interval Kalman smoother, iterated. No
equation is integrated from a start, which nobody knows, so that unstable joints are found as well.

References:
    Bell 1994, The iterated Kalman smoother as a Gauss-Newton method.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sysid_ros.errors import EstimationError
from sysid_ros.estimation.trajectory.collocation import Collocation
from sysid_ros.estimation.trajectory.levenberg_marquardt import LevenbergMarquardt
from sysid_ros.estimation.trajectory.problem import TrajectoryProblem
from sysid_ros.mechanics.tree.acceleration import linearised_accelerations
from sysid_ros.numerics.least_squares.chain import NormalEquations

# White noise of accelerations in parts of the motion's own: by how much first guesses of
# parameters are off.
_SOFTNESS = 0.3
# A start of a search, no more.
_TOLERANCE, _ITERATIONS = 1e-6, 100
# First dampings of searches that are tried: without any, motion swings through whole turns where
# equations are far from linear; with much, slow motion hardly moves.
_DAMPINGS = (1e-4, 1e-14)

# Standard deviation of a position in [rad] or [m] of which nothing is known.
_WIDEST = 10.0

States = tuple[np.ndarray, np.ndarray]


def with_hidden_joints(
    problem: TrajectoryProblem, states: Sequence[States], hidden: np.ndarray
) -> tuple[States, ...]:
    """Positions and velocities at the nodes of every segment, those of hidden joints smoothed.

    Args:
        problem: The problem, its parameters where the motion is sought.
        states: Measured positions in [rad] or [m] and velocities, ``(N + 1, n)`` each, anything for
            hidden joints: the search begins with them at rest at zero, or at the nearest limit.
        hidden: Which joints nothing measures, shape ``(n,)``.

    Raises:
        EstimationError: What is measured does not tell their motion.
        ModelError: The torque of the model jumps.
    """
    problem.require_smooth()
    known = _with_known_torques(problem.with_fixed(np.arange(len(problem.free))), states)
    return tuple(
        _smoothed(replace(known, segments=(segment,)), pair, hidden)
        for segment, pair in zip(known.segments, states, strict=True))


def _smoothed(problem: TrajectoryProblem, pair: States, hidden: np.ndarray) -> States:
    """The most likely states of a problem of one segment."""
    start = _at_rest(problem, pair, hidden)
    chain = Collocation(problem, 'trapezoidal', _density(problem, *start))
    none, found = np.zeros(0), []
    for damping in _DAMPINGS:
        solver = LevenbergMarquardt(
            max_iterations=_ITERATIONS, tolerance=_TOLERANCE, damping=damping)
        try:
            found.append(solver.minimise(chain, np.hstack(start), none, none, none))
        except np.linalg.LinAlgError as error:
            raise _undetermined(problem, hidden) from error
    best = min(found, key=lambda solution: solution.iterations[-1].cost)
    if not (np.isfinite(best.states).all() and _is_determined(chain, best.states, hidden)):
        raise _undetermined(problem, hidden)
    return chain.split(best.states)[0]


def _is_determined(chain: Collocation, states: np.ndarray, hidden: np.ndarray) -> bool:
    """Whether positions of hidden joints have covariances, and are known to a turn and a half."""
    none = np.zeros(0)
    eliminated = NormalEquations.of(
        len(states), chain.space.dimension, 0, chain.residuals(states, none)).eliminated()
    if eliminated is None:
        return False
    variances = np.einsum('kii->ki', eliminated.state_covariances())[:, :len(hidden)][:, hidden]
    return bool((variances < _WIDEST**2).all())


def _with_known_torques(
    problem: TrajectoryProblem, states: Sequence[States]
) -> TrajectoryProblem:
    """The problem with torques of actuators as commands and measured motion give them."""
    return replace(problem, segments=tuple(
        replace(segment, torque=problem.torques(segment, *pair))
        for segment, pair in zip(problem.segments, states, strict=True)))


def _at_rest(problem: TrajectoryProblem, pair: States, hidden: np.ndarray) -> States:
    limits = problem.model.robot.limits
    # Zero, or where limits leave that out the nearest of these.
    rest = np.clip(0.0, limits.lower, limits.upper)
    q, v = (np.where(hidden, value, part) for value, part in zip((rest, 0.0), pair, strict=True))
    return q, v


def _density(problem: TrajectoryProblem, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Square root of the spectral density of each joint's acceleration noise, shape ``(n,)``."""
    values, segment = problem.parameters.values[:len(problem.model.parameters)], problem.segments[0]
    moved = np.gradient(v, segment.step, axis=0)
    predicted = linearised_accelerations(
        problem.model, values, q, v, segment.torque, np.arange(0)).value
    size = np.sqrt(segment.step * np.mean(np.maximum(moved**2, predicted**2), axis=0))
    return np.asarray(_SOFTNESS * np.maximum(size, 1e-6 * size.max() + np.finfo(float).tiny))


def _undetermined(problem: TrajectoryProblem, hidden: np.ndarray) -> EstimationError:
    names = [name for name, is_hidden in zip(
        problem.model.robot.joint_names, hidden, strict=True) if is_hidden]
    return EstimationError(
        'what is measured does not tell the motion of all joints', where=', '.join(names),
        fix='Record these joints, or a torque that they act against')
