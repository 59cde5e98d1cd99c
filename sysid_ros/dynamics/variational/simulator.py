"""Motion of a torque model by a variational integrator, as shooting wants it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sysid_ros.dynamics.sensitivity import Course, SimulatedMotion
from sysid_ros.dynamics.torque_model import TorqueModel
from sysid_ros.dynamics.variational.courses import DrivenCourse
from sysid_ros.dynamics.variational.integrator import Rule, VariationalIntegrator
from sysid_ros.errors import ModelError


@dataclass(frozen=True, eq=False)
class VariationalSimulator:
    """What :class:`~sysid_ros.dynamics.sensitivity.Simulator` does, in discrete mechanics.

    Velocities belong to the momenta at the nodes; accelerations are their differences, which
    are of second order like everything here.

    Args:
        model: Torque model of a tree, without jumps.
        columns: Indices of the k parameters to differentiate by, shape ``(k,)``.
        by_start: Whether to differentiate by the start, too.
        substeps: Steps from node to node.
        rule: How the Lagrangian is integrated.

    Raises:
        ConfigurationError: A setting is out of range.
        ModelError: The robot has closed loops, or a term that discrete mechanics does not know.
    """

    model: TorqueModel
    columns: np.ndarray
    by_start: bool = True
    substeps: int = 1
    rule: Rule = 'midpoint'

    def __post_init__(self) -> None:
        if self.model.robot.loops is not None:
            raise ModelError(
                'the variational estimator works on trees', where=self.model.robot.name,
                found='closed loops', fix='Use shooting, or a VariationalIntegrator with the '
                'closures in Python')
        _ = self._integrator

    @cached_property
    def _integrator(self) -> VariationalIntegrator:
        return VariationalIntegrator(
            self.model, sought=tuple((int(k),) for k in self.columns), by_start=self.by_start,
            rule=self.rule, substeps=self.substeps, most_substeps=self.substeps)

    @property
    def starts(self) -> int:
        """How many of the derivatives are by the start."""
        return self._integrator.starts

    @property
    def width(self) -> int:
        """How many derivatives there are."""
        return self._integrator.width

    def run(self, values: np.ndarray, courses: Sequence[Course]) -> list[SimulatedMotion]:
        """Simulate; see :class:`~sysid_ros.dynamics.sensitivity.Simulator`."""
        return [self._motion(values, course) for course in courses]

    def _motion(self, values: np.ndarray, course: Course) -> SimulatedMotion:
        driven = DrivenCourse(course.start, course.torque, float(course.step))
        motion = self._integrator.run(values, [driven])[0]
        count, joints = motion.positions.shape
        states = np.full((count, 3, joints), np.nan)
        slopes = np.full((count, 3, joints, self.width), np.nan)
        if motion.status.ok:
            read = self._integrator.read(values, motion)
            states[:, 0], states[:, 1] = motion.positions, read.velocities
            slopes[:, 0], slopes[:, 1] = motion.slopes[:, 0], read.slopes
            states[:, 2] = _rate(read.velocities, course.step)
            slopes[:, 2] = _rate(read.slopes, course.step)
        return SimulatedMotion(states, slopes)


def _rate(values: np.ndarray, step: float) -> np.ndarray:
    """Rates of change at nodes, shape ``(N + 1, ...)``, of second order also at the ends."""
    if len(values) < 3:
        return np.broadcast_to((values[-1] - values[0]) / step, values.shape)
    return np.gradient(values, step, axis=0, edge_order=2)
