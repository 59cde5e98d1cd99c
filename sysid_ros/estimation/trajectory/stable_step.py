r"""How many steps of integration from node to node keep an explicit method stable.

The equations of motion linearised about a state at rest have the eigenvalues :math:`\lambda` of

.. math:: \begin{bmatrix} 0 & I \\ \partial a/\partial q & \partial a/\partial v \end{bmatrix}.

Steep friction on a light link makes them large: the classical Runge-Kutta method is stable for
:math:`-2.78 < \lambda h < 0` and up to 2.83 along the imaginary axis (Hairer and Wanner 1996,
section IV.2). Dry friction whose sign is smoothed is that steep near reversals only: under
actuators, whose friction is what is sought, steps are even ones that are accurate away from there,
cut into shorter ones near reversals.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sysid_ros.errors import UnreachableError
from sysid_ros.estimation.trajectory.friction_smoothing import largest_smoothing
from sysid_ros.estimation.trajectory.problem import TrajectoryProblem
from sysid_ros.estimation.trajectory.starts import initial_states
from sysid_ros.mechanics.actuators.driven import actuator_torques
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
#: More steps are not taken: they cost more than they tell, and friction this steep is known as dry
#: friction only.
MOST = 8
#: The same near reversals, which are few.
MOST_NEAR = 40


class StableSteps(NamedTuple):
    """How many steps from node to node keep the integration stable.

    Attributes:
        needed: Fewest steps, one or more.
        joint: The joint that moves most in the fastest mode; empty where one step is enough.
        taken: Steps that are taken, at most :data:`MOST`.
        near_reversals: How many shorter steps each is cut into near reversals.
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
    """Fewest steps of the Runge-Kutta method from node to node that are stable.

    Args:
        problem: The problem, its parameters where motion is simulated.

    Raises:
        EstimationError: The motion of a joint was not observed.
        ModelError: The torque of the model jumps.
    """
    problem.require_smooth()
    needed, fastest, even = 1.0, '', 1.0
    speed = 0.0 if problem.actuated is None else _AWAY * largest_smoothing(problem.model)
    for segment, (q, _) in zip(problem.segments, initial_states(problem), strict=True):
        poses = q[np.unique(np.linspace(0, len(q) - 1, _POSES).astype(int))]
        rate, joint = _fastest(problem, poses, 0.0)
        if segment.step * rate / _STABLE > needed:
            needed = segment.step * rate / _STABLE
            fastest = problem.model.robot.joint_names[joint]
        if speed > 0.0:
            even = np.fmax(even, segment.step * _fastest(problem, poses, speed)[0] / _ACCURATE)
    whole = int(np.ceil(needed))
    if speed == 0.0:
        return StableSteps(whole, fastest, min(whole, MOST))
    taken = min(int(np.ceil(max(even, _LEAST * needed))), MOST)
    return StableSteps(whole, fastest, taken, min(-(-whole // taken), MOST_NEAR // taken))


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
    made = actuator_torques(arrays, rest, poses, rest, np.stack([poses, rest], axis=1), 0)
    return made.by_position, made.by_velocity
