r"""Motion of a torque model by a variational integrator, as shooting wants it.

Closed loops move in the coordinates of the tree that is left when they are cut, and keep their
closures. Where they start, the driven joints say: all others follow by :math:`q = \Gamma(q_a)`
and :math:`\dot q = G \dot q_a`, and what that depends on goes along.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sysid_ros.errors import UnreachableError
from sysid_ros.mechanics.closures.closed_chain import closed_chain
from sysid_ros.mechanics.integrators.sensitivity import InputTrajectory, SimulatedMotion
from sysid_ros.mechanics.integrators.variational.driven_trajectory import DrivenTrajectory
from sysid_ros.mechanics.integrators.variational.integrator import Rule, VariationalIntegrator
from sysid_ros.mechanics.torque_model import TorqueModel


@dataclass(frozen=True, eq=False)
class VariationalSimulator:
    """Simulates a torque model by a variational integrator.

    Velocities belong to the momenta at the nodes; accelerations are their differences, which
    are of second order like everything here.

    Args:
        model: Torque model without jumps, of a tree or of closed loops.
        columns: Indices of the k parameters to differentiate by, shape ``(k,)``.
        by_start: Whether to differentiate by the start, too.
        substeps: Steps from node to node.
        rule: How the Lagrangian is integrated.

    Raises:
        ConfigurationError: A setting is out of range.
        ModelError: Discrete mechanics does not know the robot or one of its joint terms, or its
            loops cannot be closed.
    """

    model: TorqueModel
    columns: np.ndarray
    by_start: bool = True
    substeps: int = 1
    rule: Rule = 'midpoint'

    def __post_init__(self) -> None:
        _ = self._integrator

    @cached_property
    def _integrator(self) -> VariationalIntegrator:
        loops, robot = self.model.robot.loops, self.model.robot
        tree, assembly = self.model, None
        closures = () if loops is None else loops.closures
        if loops is not None:
            tree = TorqueModel(robot.opened, self.model.terms)
            assembly = closed_chain(robot).assembly
        return VariationalIntegrator(
            tree, closures, assembly, tuple((int(k),) for k in self.columns), self.starts,
            self.rule, substeps=self.substeps, most_substeps=self.substeps)

    @property
    def starts(self) -> int:
        """How many of the derivatives are by the start."""
        return 2 * len(self.model.robot.joint_names) if self.by_start else 0

    @property
    def width(self) -> int:
        """How many derivatives there are."""
        return self.starts + len(self.columns)

    def run(
        self, values: np.ndarray, trajectories: Sequence[InputTrajectory]
    ) -> list[SimulatedMotion]:
        """Simulate; see :class:`~sysid_ros.mechanics.integrators.sensitivity.Simulator`."""
        return [self._motion(values, trajectory) for trajectory in trajectories]

    def _motion(self, values: np.ndarray, trajectory: InputTrajectory) -> SimulatedMotion:
        count, joints = trajectory.torque.shape
        states = np.full((count, 3, joints), np.nan)
        slopes = np.full((count, 3, joints, self.width), np.nan)
        driven = self._driven(trajectory)
        if driven is None:
            return SimulatedMotion(states, slopes)
        motion = self._integrator.run(values, [driven])[0]
        if motion.status.ok:
            loops, read = self.model.robot.loops, self._integrator.read(values, motion)
            own = np.arange(joints) if loops is None else loops.actuated
            states[:, 0], states[:, 1] = motion.positions[:, own], read.velocities[:, own]
            slopes[:, 0], slopes[:, 1] = motion.slopes[:, 0, own], read.slopes[:, own]
            states[:, 2] = _rate(states[:, 1], trajectory.step)
            slopes[:, 2] = _rate(slopes[:, 1], trajectory.step)
        return SimulatedMotion(states, slopes)

    def _driven(self, trajectory: InputTrajectory) -> DrivenTrajectory | None:
        """The trajectory of all joints of the tree; None where the loops do not close."""
        loops, joints = self.model.robot.loops, trajectory.torque.shape[1]
        starts = np.eye(2 * joints, self.width).reshape(2, joints, -1) * float(self.by_start)
        if loops is None:
            return DrivenTrajectory(trajectory.start, trajectory.torque, float(trajectory.step),
                None, starts)
        try:
            start, turn = self._followed(trajectory.start)
        except UnreachableError:
            return None
        torque = np.zeros((len(trajectory.torque), len(loops.joint_names)))
        torque[:, loops.actuated] = trajectory.torque
        slopes = np.zeros((*start.shape, self.width))
        if self.by_start:
            slopes[:, :, :self.starts] = turn
        return DrivenTrajectory(start, torque, float(trajectory.step), None, slopes)

    def _followed(self, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where all m joints are and how they move, ``(2, m)``, by those of the n driven ones.

        Returns:
            The start, and its derivatives by the start of the driven joints, ``(2, m, 2 n)``.

        Raises:
            UnreachableError: The driven joints cannot be there.
        """
        chain = closed_chain(self.model.robot)
        q = chain.positions(start[:1])
        joints, still = start.shape[1], np.zeros_like(start[:1])
        motion = chain.motion_at(q, start[1:], still)
        turn = np.zeros((2, q.shape[1], 2, joints))
        turn[0, :, 0] = turn[1, :, 1] = motion.coupling[0]
        for joint, unit in enumerate(np.eye(joints)):
            # Where the driven joints do not accelerate, accelerations are quadratic in their
            # velocities, and half of the slope is how velocities change with positions.
            ahead, behind = (
                chain.motion_at(q, start[1:] + sign * unit, still).a[0] for sign in (1.0, -1.0))
            turn[1, :, 0, joint] = 0.25 * (ahead - behind)
        return np.concatenate([q, motion.v]), turn.reshape(2, q.shape[1], 2 * joints)


def _rate(values: np.ndarray, step: float) -> np.ndarray:
    """Rates of change at nodes, shape ``(N + 1, ...)``, of second order also at the ends."""
    if len(values) < 3:
        return np.broadcast_to((values[-1] - values[0]) / step, values.shape)
    return np.gradient(values, step, axis=0, edge_order=2)
