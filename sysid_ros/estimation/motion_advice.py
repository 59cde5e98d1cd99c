r"""Which motion would show what a recording did not: candidates against the data's information.

Information is that of Fisher, :math:`J = \sum_j \Gamma_j^T \Gamma_j / \sigma_j^2`, in the
prior's steps: with the prior itself worth one unit in every direction, the standard deviation left
of a step s is :math:`\sqrt{s^T (1 + J)^{-1} s} / \|s\|`. A candidate motion adds its own J.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import scipy.linalg

from sysid_ros.estimation.estimate import Estimate
from sysid_ros.estimation.identifiability import Identifiability, WeakParameter
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.regression.directions import DataDirections
from sysid_ros.estimation.regression.noise import noise_level
from sysid_ros.robot.model import STANDARD_GRAVITY, RobotModel

# A parameter is weak when more than this part of its prior's step is left: its 95 % interval
# is wider than the step.
_WEAK = 0.5
# A motion is worth naming when it lowers what is left to the first part, and need not be
# surpassed by a less simple one when to the second.
_HELPS, _ENOUGH = 0.8, 0.25
# Length of a candidate in [s], poses of the joints at rest meanwhile, seed of these.
_DURATION, _POSES, _SEED = 12.0, 3, 0
_RATE = 50.0
# Part of the range and of the velocity limit that candidates use.
_RANGE, _SPEED = 0.8, 0.8
# Velocity where no limit is given in [rad/s] or [m/s], and range where there is none.
_VELOCITY, _REACH = 1.0, np.pi
# Cycles per second of the slow sweep and of the fast motions; no two joints are in step.
_SLOW, _FAST = 0.25, 1.0
_DETUNED = 0.17
# Joints without room to move are taken to have this much, in [rad] or [m].
_LEAST_REACH = 1e-6
# A null space ends where coefficients are rounding.
_NULL_SPACE_TOLERANCE = 1e-8


@dataclass(frozen=True, eq=False)
class CandidateMotion:
    """A motion that could be recorded.

    Attributes:
        description: What it does, in words that follow 'with'.
        q: Positions in [rad] or [m], shape ``(T, n)``.
        v: Velocities, shape ``(T, n)``.
        a: Accelerations, shape ``(T, n)``.
    """

    description: str
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray


def candidate_motions(robot: RobotModel) -> Iterator[CandidateMotion]:
    """Motions within the limits, the simple ones first.

    Every joint alone, slowly through its range and fast; every two joints of one chain together,
    fast; all joints together, fast. Joints at rest stand in three poses in turn. A base that floats
    is held: none of its joints move, and it feels its weight.

    Args:
        robot: The robot; joints without limits get a turn's range and 1 rad/s.
    """
    names = robot.joint_names
    joints = range(len(robot.base_joints), len(names))
    for j in joints:
        yield _motion(robot, (j,), f'{names[j]} alone, slowly through its range', slow=True)
    for j in joints:
        yield _motion(robot, (j,), f'{names[j]} alone, fast to and fro')
    together = _on_one_chain(robot)
    for i, j in combinations(joints, 2):
        if together[i, j]:
            yield _motion(robot, (i, j), f'{names[i]} and {names[j]} together, fast')
    if len(joints) > 2:
        yield _motion(robot, tuple(joints), 'all joints together, fast')


def _on_one_chain(robot: RobotModel) -> np.ndarray:
    """Whether two joints move a body in common, shape ``(n, n)``; always where loops are closed."""
    joints = len(robot.joint_names)
    if robot.loops is not None:
        return np.ones((joints, joints), dtype=bool)
    moving = robot.tree.coupling != 0.0
    for body, parent in enumerate(robot.tree.parent):
        if parent >= 0:
            moving[body] |= moving[parent]
    return moving.T @ moving


def _motion(
    robot: RobotModel, moving: tuple[int, ...], description: str, *, slow: bool = False
) -> CandidateMotion:
    limits = robot.limits
    lower = np.where(np.isfinite(limits.lower), limits.lower, -_REACH)
    upper = np.where(np.isfinite(limits.upper), limits.upper, _REACH)
    middle, reach = (lower + upper) / 2.0, _RANGE * (upper - lower) / 2.0
    speed = _SPEED * np.where(limits.velocity > 0.0, limits.velocity, _VELOCITY)
    omega = np.full(len(middle), 2.0 * np.pi * (_SLOW if slow else _FAST))
    omega[list(moving)] *= 1.0 + _DETUNED * np.arange(len(moving))
    if slow:
        omega = np.minimum(omega, speed / np.maximum(reach, _LEAST_REACH))
    amplitude = np.zeros(len(middle))
    amplitude[list(moving)] = np.minimum(reach, speed / omega)[list(moving)]
    poses = np.random.default_rng(_SEED).uniform(-1.0, 1.0, (_POSES, len(middle)))
    samples = round(_DURATION * _RATE) // _POSES
    centre = np.repeat(middle + (reach - amplitude) * poses, samples, axis=0)
    angle = omega * np.arange(len(centre))[:, None] / _RATE
    q, a = centre + amplitude * np.sin(angle), -amplitude * omega**2 * np.sin(angle)
    if robot.base_joints:
        q[:, :len(robot.base_joints)], a[:, :3] = 0.0, np.negative(STANDARD_GRAVITY)
    return CandidateMotion(description, q, amplitude * omega * np.cos(angle), a)


def identifiability(problem: RegressionProblem, estimate: Estimate) -> Identifiability:
    """Identifiability of the parameters of a fit, and motions that would improve it.

    Args:
        problem: The rows that were fitted.
        estimate: Their estimate; its residuals tell the noise of the torques.

    Returns:
        What no motion shows, and what this one did not.
    """
    base = problem.base
    without_effect, inseparable = _structure(problem)
    sigma = noise_level(problem, estimate.parameters.values)
    sigma = sigma * np.sqrt(np.maximum(problem.counts, 1) / estimate.residuals.effective_rows)
    steps = DataDirections(problem, sigma).steps
    rows = problem.weighted(sigma)[0][:, base.independent] @ steps
    known = rows.T @ rows
    left = _left(known, steps)
    weak = np.flatnonzero(left > _WEAK)
    names = [base.names[base.independent[k]] for k in weak]
    best = [WeakParameter(name, float(left[k]), None, float(left[k]))
            for name, k in zip(names, weak, strict=True)]
    for candidate in candidate_motions(problem.model.robot) if len(weak) else ():
        then = _left(known + _information(problem, candidate, sigma, steps), steps)[weak]
        best = [_better(entry, candidate, float(after))
                for entry, after in zip(best, then, strict=True)]
    return Identifiability(without_effect, inseparable, tuple(best), _DURATION)


def with_identifiability(problem: RegressionProblem, estimate: Estimate) -> Estimate:
    """The estimate, with what :func:`identifiability` says; unchanged where the fit failed."""
    if not estimate.status.ok:
        return estimate
    return replace(estimate, identifiability=identifiability(problem, estimate))


def _structure(problem: RegressionProblem) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Free parameters without effect, and those that no motion can separate."""
    matrix, names, free = problem.base.matrix, problem.base.names, problem.free
    size = np.abs(matrix).max(axis=0)
    # Orthonormal combinations that torques can show; a parameter alone lies in their span.
    scaled = matrix / np.where(size > 0.0, size, 1.0)
    shown = scipy.linalg.orth(scaled.T)
    alone = np.linalg.norm(shown, axis=1) > 1.0 - _NULL_SPACE_TOLERANCE
    active = size > 0.0
    return (
        tuple(name for name, out in zip(names, free & ~active, strict=True) if out),
        tuple(name for name, out in zip(names, free & active & ~alone, strict=True) if out),
    )


def _information(
    problem: RegressionProblem, candidate: CandidateMotion, sigma: np.ndarray, steps: np.ndarray
) -> np.ndarray:
    """Information of a motion recorded with the noise and at the rate of the data."""
    regressor = problem.model.regressor(candidate.q, candidate.v, candidate.a)
    found = np.zeros((len(steps), len(steps)))
    for joint, level in enumerate(sigma):
        rows = regressor[:, joint, problem.base.independent]
        # A joint feels a part of the parameters.
        felt = np.flatnonzero(rows.any(axis=0))
        rows = rows[:, felt] / level
        found[np.ix_(felt, felt)] += rows.T @ rows
    return steps.T @ found @ steps * (problem.rate / _RATE)


def _left(information: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """What is left of each base parameter's step, shape ``(r,)``."""
    values, vectors = np.linalg.eigh(information)
    # A square has no eigenvalue below zero but by rounding, which beside torques without any noise
    # exceeds the unit of the prior.
    part = (vectors.T @ steps.T) / np.sqrt(1.0 + np.maximum(values, 0.0))[:, None]
    return np.linalg.norm(part, axis=0) / np.linalg.norm(steps, axis=1)


def _better(entry: WeakParameter, candidate: CandidateMotion, then: float) -> WeakParameter:
    """The candidate in the entry's place, where that pays."""
    if entry.then <= _ENOUGH * entry.left or then >= entry.then or then > _HELPS * entry.left:
        return entry
    return replace(entry, motion=candidate.description, then=then)
