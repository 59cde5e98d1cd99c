r"""Closed chains: all joints of a robot from its driven ones.

Loops closed by :math:`c(q) = 0` leave as many joints free as there are motors:
:math:`q_u = \Gamma(q_a)`. With :math:`J = \partial c / \partial q` it follows that
:math:`\dot q = G \dot q_a` with :math:`J_u G_u = -J_a` and
:math:`\ddot q = G \ddot q_a + \dot G \dot q_a` with :math:`J_u \ddot q_u = -J_a \ddot q_a -
\dot J \dot q`. Closures of planar loops repeat each other, so J has more rows than its rank: all
of this is least squares by QR, never an inverse.
"""

from __future__ import annotations

import numpy as np

from sysid_ros.errors import ModelError, ParameterError, UnreachableError
from sysid_ros.mechanics.closures.assembly import (
    refuse_open_loops,
    require_full_actuation,
    require_independent_motors,
    require_within_limits,
)
from sysid_ros.mechanics.closures.chain_motion import ChainMotion
from sysid_ros.mechanics.closures.loop_arrays import LoopArrays, loop_arrays
from sysid_ros.mechanics.closures.loop_kernels import (
    CLOSED,
    SINGULAR,
    close_loops,
    closure_equations,
    passive_joint_motion,
    track_path,
)
from sysid_ros.numerics.arrays import read_only
from sysid_ros.robot.loops import Loops
from sysid_ros.robot.model import RobotModel

# Loops may be open by this part of their size, since descriptions are rounded.
_TOLERANCE = 1e-4
# Random positions of joints without limits in [rad] or [m], how often they are tried, and how
# far from a singular configuration they are.
_ENDLESS = np.pi
_MOST_TRIES = 50
_SAFE_MARGIN = 1e-3


def closed_chain(robot: RobotModel) -> ClosedChain:
    """The closed chain of a robot with loops, assembled once per robot.

    Raises:
        ModelError: As for :class:`ClosedChain`.
    """
    return robot.cached(ClosedChain)


def neutral_configuration(robot: RobotModel) -> np.ndarray:
    """Neutral configuration: zero positions, or where the loops are assembled, shape ``(n,)``.

    Raises:
        ModelError: As for :class:`ClosedChain`.
    """
    if robot.loops is None:
        return np.zeros(len(robot.joint_names))
    return closed_chain(robot).assembly[robot.loops.actuated]


class ClosedChain:
    """Kinematics of a robot with closed loops, on the branch it is assembled in.

    Args:
        robot: A robot whose loops are closed, see :func:`~sysid_ros.robot.loop_closing.with_loops`.

    Raises:
        ModelError: The robot has no loops; they cannot be closed near the given assembly; they
            are singular there; or the driven joints do not determine the passive ones, with the
            joints that are left free, or cannot be moved independently.
    """

    def __init__(self, robot: RobotModel) -> None:
        if robot.loops is None:
            raise ModelError('the robot has no closed loops', where=robot.name)
        self.name = robot.name
        self.loops: Loops = robot.loops
        self.arrays: LoopArrays = loop_arrays(robot, self.loops)
        self.limits = robot.opened.limits
        self._actuated, self._passive = self.loops.actuated, self.loops.passive
        self._tolerance = _TOLERANCE * float(self.arrays.closures.length.max())
        self.assembly = self._assembled()

    @property
    def joint_names(self) -> tuple[str, ...]:
        """All m joints of the tree."""
        return self.loops.joint_names

    def positions(self, q_a: np.ndarray) -> np.ndarray:
        r"""Positions of all joints, :math:`\Gamma(q_a)`, on the branch of the assembly.

        The first sample is reached from the assembly and each other one from that before, along
        a straight line of the driven joints, in as many steps as it takes not to lose the branch.

        Args:
            q_a: Positions of the driven joints in [rad] or [m], shape ``(T, n)``.

        Returns:
            Shape ``(T, m)``.

        Raises:
            UnreachableError: A sample cannot be reached: out of reach, or beyond a singular
                configuration, where the loops could go on in several ways.
            ParameterError: The positions have the wrong shape or are not finite.
        """
        q, status = self._follow(self._checked('q', q_a))
        failed = np.flatnonzero(status != CLOSED)
        if failed.size:
            self._refuse(int(failed[0]), q_a[failed[0]], q[failed[0]], int(status[failed[0]]))
        return q

    def reachable(
        self, q_a: np.ndarray, start: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Positions of all joints where they can be reached.

        Args:
            q_a: As for :meth:`positions`.
            start: Closed configuration to begin at, shape ``(m,)``; by default the assembly.

        Returns:
            Positions ``(T, m)``, and True where a sample was reached, shape ``(T,)``.
        """
        q, status = self._follow(self._checked('q', q_a), start)
        return q, status == CLOSED

    def motion(self, q_a: np.ndarray, v_a: np.ndarray, a_a: np.ndarray) -> ChainMotion:
        """Motion of all joints from that of the driven ones.

        Args:
            q_a: Positions in [rad] or [m], shape ``(T, n)``.
            v_a: Velocities, shape ``(T, n)``.
            a_a: Accelerations, shape ``(T, n)``.

        Raises:
            UnreachableError: As for :meth:`positions`.
            ParameterError: The arrays do not belong together.
        """
        v_a, a_a = self._checked('v', v_a), self._checked('a', a_a)
        if not len(q_a) == len(v_a) == len(a_a):
            raise ParameterError(
                'positions, velocities and accelerations differ in number',
                found=(len(q_a), len(v_a), len(a_a)),
            )
        return self.motion_at(self.positions(q_a), v_a, a_a)

    def motion_at(self, q: np.ndarray, v_a: np.ndarray, a_a: np.ndarray) -> ChainMotion:
        """Motion of all joints at closed configurations ``(T, m)``; see :meth:`motion`."""
        v, a = np.zeros((2, *q.shape))
        v[:, self._actuated], a[:, self._actuated] = v_a, a_a
        unknowns, coordinate = len(self._passive), self.arrays.coordinate
        passive = np.empty((len(q), unknowns, len(coordinate) - unknowns))
        failed = passive_joint_motion(self.arrays, unknowns, read_only(q), v, a, passive)
        if failed < len(q):
            self._refuse(failed, q[failed, self._actuated], q[failed], SINGULAR)
        coupling = np.zeros((*q.shape, len(self._actuated)))
        coupling[:, self._actuated, np.arange(len(self._actuated))] = 1.0
        driven = np.searchsorted(self._actuated, coordinate[unknowns:])
        coupling[:, self._passive[:, None], driven] = passive
        return ChainMotion(q, v, a, coupling)

    def gaps(self, q: np.ndarray) -> np.ndarray:
        """Residuals c of all closures in [m] (angles times a length), shape ``(T, rows)``."""
        return self._equations(q)[0]

    def jacobian(self, q: np.ndarray) -> np.ndarray:
        """Derivatives J of the residuals at closed configurations, shape ``(T, rows, m)``."""
        jacobian = np.zeros((len(q), self.arrays.closures.row[-1], q.shape[1]))
        jacobian[:, :, self.arrays.coordinate] = self._equations(q)[1]
        return jacobian

    def singularity_margin(self, q: np.ndarray) -> np.ndarray:
        """Distance of configurations ``(T, m)`` from singular ones, shape ``(T,)``.

        Returns:
            Smallest singular value of the columns of passive joints over the largest of all
            columns: 0 where the driven joints do not determine the passive ones.
        """
        jacobian = self.jacobian(q)
        passive = np.linalg.svd(jacobian[:, :, self._passive], compute_uv=False)
        smallest = passive[:, -1] if passive.shape[1] == len(self._passive) else 0.0
        return np.asarray(smallest / np.linalg.norm(jacobian, ord=2, axis=(1, 2)))

    def random_positions(self, samples: int, random: np.random.Generator) -> np.ndarray:
        """Random positions of the driven joints where the loops are safely closed.

        Args:
            samples: How many.
            random: Source of random numbers.

        Returns:
            Positions within all limits, passive joints' included, and away from singular
            configurations, shape ``(samples, n)``; within half a turn of zero for joints
            without limits.

        Raises:
            ModelError: Hardly any random positions are such.
        """
        found = np.empty((0, len(self._actuated)))
        tried = 0
        while len(found) < samples and tried < _MOST_TRIES * samples:
            low = np.maximum(self.limits.lower[self._actuated], -_ENDLESS)
            high = np.minimum(self.limits.upper[self._actuated], _ENDLESS)
            q_a = random.uniform(low, high, (samples, len(low)))
            q, reached = self.reachable(q_a)
            inside = (q >= self.limits.lower) & (q <= self.limits.upper)
            safe = self.singularity_margin(q) > _SAFE_MARGIN
            found = np.concatenate([found, q_a[reached & inside[:, self._passive].all(1) & safe]])
            tried += samples
        if len(found) < samples:
            raise ModelError(
                'the loops can hardly be closed within the limits', where=self.name,
                found=f'{len(found)} of {tried} random positions', allowed=f'{samples}',
                fix='Give the driven joints limits that the passive ones allow',
            )
        return found[:samples]

    def _assembled(self) -> np.ndarray:
        """The closed configuration next to the given assembly, if it is one to begin at."""
        q = self.loops.assembly.copy()
        ended, _, _ = self._close(q)
        jacobian = self.jacobian(np.array([self.loops.assembly, q]))
        if ended == SINGULAR or not np.isfinite(q).all():
            require_full_actuation(self.loops, jacobian[0])
        if ended != CLOSED:
            require_independent_motors(self.loops, jacobian[0])
            refuse_open_loops(
                self.loops, self.arrays.closures, q, self.gaps(q[None])[0], ended == SINGULAR)
        require_independent_motors(self.loops, jacobian[1])
        require_within_limits(self.loops, self.limits, q)
        q.setflags(write=False)
        return q

    def _checked(self, name: str, array: np.ndarray) -> np.ndarray:
        array = np.ascontiguousarray(array, dtype=float)
        if array.ndim != 2 or array.shape[1] != len(self._actuated):
            raise ParameterError(
                'the motion has the wrong shape', where=name, found=array.shape,
                allowed=f'(samples, {len(self._actuated)})',
            )
        if not np.isfinite(array).all():
            raise ParameterError(
                'the motion holds a value that is not finite', where=name,
                fix='Mask or mend such samples',
            )
        return array

    def _equations(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Residuals ``(T, rows)``, and their Jacobian by the joints of the loops."""
        rows, columns = int(self.arrays.closures.row[-1]), len(self.arrays.coordinate)
        gap, jacobian = np.empty((len(q), rows)), np.empty((len(q), rows, columns))
        closure_equations(self.arrays, read_only(q), gap, jacobian)
        return gap, jacobian

    def _follow(
        self, q_a: np.ndarray, start: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        q, status = np.zeros((len(q_a), len(self.joint_names))), np.zeros(len(q_a), dtype=np.int64)
        begin = self.assembly if start is None else read_only(start)
        track_path(self.arrays, len(self._passive), self._tolerance, begin, self._actuated,
                   read_only(q_a), q, status)
        return q, status

    def _close(self, q: np.ndarray) -> tuple[int, float, float]:
        """Close the loops from positions ``(m,)``, which are written."""
        unknowns, columns = len(self._passive), len(self.arrays.coordinate)
        solution = np.zeros((unknowns, columns - unknowns + 1))
        jacobian = np.zeros((int(self.arrays.closures.row[-1]), columns))
        return close_loops(self.arrays, unknowns, self._tolerance, q, solution, jacobian)

    def _refuse(self, sample: int, q_a: np.ndarray, last: np.ndarray, status: int) -> None:
        """Say why a sample cannot be reached, and how far the way to it led."""
        names = [self.joint_names[k] for k in self._actuated]
        wanted = ', '.join(f'{n} {x:.4g}' for n, x in zip(names, q_a, strict=True))
        reached = ', '.join(f'{last[k]:.4g}' for k in self._actuated)
        singular = status == SINGULAR
        raise UnreachableError(
            'the loops pass a singular configuration, beyond which they could go on in several '
            'ways' if singular else 'the loops cannot be closed',
            where=f'{self.name}: sample {sample}', found=wanted,
            allowed=f'up to {reached} on the way there',
            fix='Keep the motion away from dead points' if singular else
            'Keep within reach, give an assembly nearer to the motion, or check lengths and zero '
            'positions of the joints',
        )
