r"""How many steps of integration from node to node keep an explicit method stable.

The equations of motion linearised about a state at rest have the eigenvalues :math:`\lambda` of

.. math:: \begin{bmatrix} 0 & I \\ \partial a/\partial q & \partial a/\partial v \end{bmatrix}.

Steep friction on a light link makes them large: the classical Runge-Kutta method is stable for
:math:`-2.78 < \lambda h < 0` and up to 2.83 along the imaginary axis (Hairer and Wanner 1996,
section IV.2). Dry friction whose sign is smoothed is that steep near reversals only: even steps
that are accurate elsewhere are cut into shorter ones there. How many are accurate is found by
simulating short pieces with twice as many (Richardson), and under actuators by the eigenvalues away
from reversals.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sysid_ros.errors import UnreachableError
from sysid_ros.estimation.trajectory.friction_smoothing import largest_smoothing
from sysid_ros.estimation.trajectory.pieces import cut
from sysid_ros.estimation.trajectory.problem import TrajectoryProblem, position_unit
from sysid_ros.estimation.trajectory.starts import initial_states
from sysid_ros.mechanics.actuators.driven import actuator_torques
from sysid_ros.mechanics.integrators.sensitivity import Simulator
from sysid_ros.mechanics.tree.acceleration import linearised_accelerations

# Half of the interval of stability: parameters that are sought move.
_STABLE = 1.4
# Away from reversals, where a step of the method then errs by a part in 20 000 of a fast motion.
_ACCURATE = 0.35
# Even steps are at least this part of those near reversals: shorter ones see a reversal later, so
# that fewer of them are cut.
_LEAST = 1.0 / 6.0
# Velocities that count as away from reversals, in those over which the sign is smoothed.
_AWAY = 10.0
# Poses of every segment that are looked at.
_POSES = 20
#: More steps are not taken from node to node: they cost more than they tell, and friction this
#: steep is known as dry friction only. Nodes further apart than _APART in [s] have more by as much.
MOST = 8
#: The same near reversals, which are few.
MOST_NEAR = 160
#: Under actuators, whose smoothing is chosen: it would ask for ever more.
MOST_NEAR_ACTUATED = 40
_APART = 0.005
# Length in [s] and number of pieces that are simulated with twice as many steps, and how far these
# may differ, in root mean square over the noise of encoders.
_PIECE, _PIECES, _NOISE = 0.3, 12, 0.2


class StableSteps(NamedTuple):
    """How many steps from node to node keep the integration stable.

    Attributes:
        needed: Fewest steps, one or more.
        joint: The joint that moves most in the fastest mode; empty where one step is enough.
        taken: Steps that are taken.
        near_reversals: How many shorter steps each is cut into at most near reversals.
    """

    needed: int
    joint: str
    taken: int
    near_reversals: int = 1

    def doubts(self, estimator: str) -> tuple[str, ...]:
        """What is said where too few steps are taken, with the line to change it.

        Args:
            estimator: Its name, whose section of the settings has the steps.
        """
        most = self.taken * self.near_reversals
        if self.needed <= most:
            return ()
        return (
            f'The friction of {self.joint} is so steep at rest that {self.needed} steps of '
            f'integration from node to node would be stable, but {most} are taken at most: its '
            'simulated motion may be rough there. To take them all: '
            f'fit: {{{estimator}: {{substeps: {self.needed}}}}}. To smooth dry friction over '
            'higher velocities, in rad/s or m/s: robot: {terms: {coulomb_smoothing: 0.1}}.',)


def stable_steps(problem: TrajectoryProblem) -> StableSteps:
    """Fewest steps of the Runge-Kutta method from node to node that are stable and accurate.

    Args:
        problem: The problem, its parameters where motion is simulated.

    Raises:
        EstimationError: The motion of a joint was not observed.
        ModelError: The torque of the model jumps.
    """
    problem.require_smooth()
    states = initial_states(problem)
    poses = [
        (segment.step, q[np.unique(np.linspace(0, len(q) - 1, _POSES).astype(int))])
        for segment, (q, _) in zip(problem.segments, states, strict=True)]
    needed, fastest = _steps(problem, poses, 0.0, _STABLE)
    whole, speed = int(np.ceil(needed)), _AWAY * largest_smoothing(problem.model)
    longer = max(max(segment.step for segment in problem.segments) / _APART, 1.0)
    most, most_near = int(MOST * longer), int(MOST_NEAR * longer)
    compiled = Simulator(problem.model, problem.free).is_compiled
    least = _LEAST * needed if speed > 0.0 else needed
    if problem.actuated is None and compiled:
        taken = min(max(_accurate_steps(problem, states, most), int(np.ceil(least))), most)
        # Steps that are stable at reversals, too, stay even: cut ones cost a fit more iterations.
        steep = speed > 0.0 and whole > taken
        return StableSteps(whole, fastest, taken, most_near // taken if steep else 1)
    if problem.actuated is None or speed == 0.0:
        return StableSteps(whole, fastest, min(whole, most))
    even, _ = _steps(problem, poses, speed, _ACCURATE)
    taken = min(int(np.ceil(max(even, least))), most)
    near = int(MOST_NEAR_ACTUATED * longer) // taken
    # What is compiled is cut as finely as each reversal needs, all else everywhere.
    return StableSteps(whole, fastest, taken, near if compiled else min(-(-whole // taken), near))


def _accurate_steps(
    problem: TrajectoryProblem, states: Sequence[tuple[np.ndarray, np.ndarray]], most: int
) -> int:
    """Fewest even steps by which short pieces move as by twice as many.

    Args:
        problem: The problem.
        states: Measured positions and velocities at the nodes of every segment.
        most: About how many there may be.
    """
    pieces = cut(problem.segments, _PIECE)
    chosen = [pieces[k] for k in np.unique(
        np.linspace(0, len(pieces) - 1, _PIECES).astype(int))]
    trajectories = [
        piece.trajectory(np.array([part[piece.first] for part in states[piece.segment]]))
        for piece in chosen]
    values, unit = problem.parameters.values, position_unit(problem)

    def positions(count: int) -> np.ndarray:
        simulator = Simulator(
            problem.model, problem.free[:0], False, count, MOST_NEAR // MOST * most // count)
        motions = simulator.run(values[:len(problem.model.parameters)], trajectories)
        return np.concatenate([motion.states[:, 0] for motion in motions]) / unit

    count, coarse = 1, positions(1)
    while count < most:
        fine = positions(2 * count)
        # Motion that runs away whatever the step tells nothing of steps.
        error = np.nan_to_num(fine - coarse, nan=np.inf)[np.isfinite(fine)]
        if not np.any(error) or np.sqrt(np.mean(error**2)) <= _NOISE:
            break
        count, coarse = 2 * count, fine
    return count


def _steps(
    problem: TrajectoryProblem, poses: Sequence[tuple[float, np.ndarray]], speed: float,
    longest: float,
) -> tuple[float, str]:
    """Steps from node to node, one or more, and the joint that asks for more than one.

    Args:
        problem: The problem.
        poses: Time from node to node in [s] and positions ``(S, n)`` of every segment.
        speed: Velocity of all joints in [rad/s] or [m/s].
        longest: A step in parts of the fastest mode's time constant.
    """
    found, fastest = 1.0, ''
    for step, q in poses:
        rate, joint = _fastest(problem, q, speed)
        if step * rate / longest > found:
            found, fastest = step * rate / longest, problem.model.robot.joint_names[joint]
    return found, fastest


def _fastest(
    problem: TrajectoryProblem, poses: np.ndarray, speed: float
) -> tuple[float, int]:
    """Largest size of an eigenvalue in [1/s], and the joint that moves most in its mode.

    The size is NaN where there is no motion.

    Args:
        problem: The problem.
        poses: Positions, shape ``(S, n)``.
        speed: Velocity of all joints in [rad/s] or [m/s].
    """
    values = problem.parameters.values[:len(problem.model.parameters)]
    rest, moving = np.zeros_like(poses), np.full_like(poses, speed)
    try:
        linear = linearised_accelerations(
            problem.model, values, poses, moving, rest, np.arange(0))
    except (np.linalg.LinAlgError, UnreachableError):
        # The search says what is wrong with bodies that cannot move.
        return float('nan'), 0
    count, joints = poses.shape
    system = np.zeros((count, 2 * joints, 2 * joints))
    system[:, :joints, joints:] = np.eye(joints)
    by_position, by_velocity = linear.by_position, linear.by_velocity
    if problem.actuated is not None:
        by_q, by_v = _actuator_slopes(problem, poses)
        by_position = by_position + linear.by_torque * by_q[:, None]
        by_velocity = by_velocity + linear.by_torque * by_v[:, None]
    system[:, joints:, :joints], system[:, joints:, joints:] = by_position, by_velocity
    if not np.isfinite(system).all():
        return float('nan'), 0
    rates, modes = np.linalg.eig(system)
    pose, mode = np.unravel_index(np.argmax(np.abs(rates)), rates.shape)
    return float(np.abs(rates[pose, mode])), int(np.argmax(np.abs(modes[pose, joints:, mode])))


def _actuator_slopes(
    problem: TrajectoryProblem, poses: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Slopes of actuators' torques by position and velocity, told to rest in poses, ``(S, n)``."""
    assert problem.actuated is not None
    rest, values = np.zeros_like(poses), problem.parameters.values
    arrays = problem.actuated.arrays(values, np.full(len(values), -1))
    made = actuator_torques(
        arrays, rest, poses, np.zeros((2, *poses.shape)), np.stack([poses, rest], axis=1), 0)
    return made.by_position, made.by_velocity
