r"""Variational integrators: motion from a discrete principle of least action.

The state is :math:`x_k = (q_k, p_k)`. Steps keep the constraints of closed loops exactly, and the
energy of what no force drives near its value for ever. Second order with symmetric forces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from sysid_ros.errors import ConfigurationError, EstimationError, ModelError, RecordingError
from sysid_ros.mechanics.integrators.variational.assembly import independent_rows
from sysid_ros.mechanics.integrators.variational.defects import Defects, find_defects
from sysid_ros.mechanics.integrators.variational.discrete_lagrangian import Quadrature
from sysid_ros.mechanics.integrators.variational.driven_trajectory import (
    STATUSES,
    DiscreteMotion,
    DrivenTrajectory,
)
from sysid_ros.mechanics.integrators.variational.inspection import inspect
from sysid_ros.mechanics.integrators.variational.readings import read
from sysid_ros.mechanics.integrators.variational.rollout import Steps, simulate
from sysid_ros.mechanics.integrators.variational.rollout import adjoint as simulate_back
from sysid_ros.mechanics.integrators.variational.step import StepWorkspace, step_workspace
from sysid_ros.mechanics.integrators.variational.system import (
    DiscreteSystem,
    discrete_system,
    with_rows,
)
from sysid_ros.mechanics.regressor.sample_regressor import ShapedModel, shaped_model
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.mechanics.tree.tree_arrays import TreeValues, tree_values
from sysid_ros.numerics.by_reference import Referred, referred
from sysid_ros.robot.loops import LoopClosure

#: Rules by which the Lagrangian of a step is integrated.
Rule = Literal['midpoint', 'trapezoidal']
#: Where forces act: at both ends of a step, or, as in the paper, at its beginning.
Forces = Literal['symmetric', 'one_sided']

_PLACES = {'midpoint': (0.5,), 'trapezoidal': (0.0, 1.0)}
# Part of what geometric stiffness may be that is used.
_MARGIN = 0.8

#: A system where parameters stand, and these as its kernels take them.
Here = tuple[DiscreteSystem, TreeValues]


class Readings(NamedTuple):
    """What belongs to the states of a motion.

    Attributes:
        velocities: Within the constraints, shape ``(T, n)``.
        slopes: Their derivatives, shape ``(T, n, w)``.
        energies: In [J], shape ``(T,)``.
        gaps: Largest gap of the closures in [m] or [rad], shape ``(T,)``.
    """

    velocities: np.ndarray
    slopes: np.ndarray
    energies: np.ndarray
    gaps: np.ndarray


class Gradient(NamedTuple):
    """Gradient of a cost of a motion over N intervals.

    Attributes:
        values: By the start, if asked for, and by the k parameters, shape ``(w,)``.
        by_torque: By the torques at the nodes, shape ``(N + 1, n)``.
        by_interval_torque: By a torque that lasts an interval, shape ``(N, n)``.
    """

    values: np.ndarray
    by_torque: np.ndarray
    by_interval_torque: np.ndarray

@dataclass(frozen=True, eq=False)
class VariationalIntegrator:
    """Simulates trajectories, with sensitivities and adjoints.

    Args:
        model: Torque model of the tree that is left when all loops are cut, without jumps.
        closures: What closes the loops.
        assembly: Positions where they are closed, shape ``(n,)``; needed for closures alone.
        free_parameters: The k parameters to differentiate by: each the indices of the model's
            parameters that are equal and change together.
        starts: How many quantities that starts depend on to differentiate by, too, before the
            parameters; trajectories say how.
        rule: How the Lagrangian is integrated.
        forces: Where forces act.
        substeps: Least number of steps from node to node.
        most_substeps: Most of them; more than ``substeps`` are only taken where needed.

    Raises:
        ConfigurationError: A setting is out of range.
        ModelError: The model does not fit, or the loops are not closed or singular there.
    """

    model: TorqueModel
    closures: Sequence[LoopClosure] = ()
    assembly: np.ndarray | None = None
    free_parameters: Sequence[Sequence[int]] = ()
    starts: int = 0
    rule: Rule = 'midpoint'
    forces: Forces = 'symmetric'
    substeps: int = 1
    most_substeps: int = 64
    system: DiscreteSystem = field(init=False, repr=False)

    def __post_init__(self) -> None:
        for name, good, allowed in (
            ('rule', self.rule in _PLACES, ', '.join(_PLACES)),
            ('forces', self.forces in ('symmetric', 'one_sided'), 'symmetric, one_sided'),
            ('substeps', self.substeps >= 1, 'one or more'),
            ('most_substeps', self.most_substeps >= self.substeps, 'substeps or more'),
            ('starts', self.starts >= 0, 'zero or more'),
        ):
            if not good:
                raise ConfigurationError(
                    'the setting of the variational integrator cannot be used', where=name,
                    found=getattr(self, name), allowed=allowed)
        object.__setattr__(self, 'system', self._system())

    def _system(self) -> DiscreteSystem:
        system = discrete_system(self.model, self.closures)
        if not system.rows:
            return system
        if self.assembly is None:
            raise ModelError(
                'it is not said where the loops are closed', where=self.model.robot.name,
                fix='Give the assembly')
        return with_rows(system, independent_rows(system, self.closures, self.assembly))

    @property
    def joints(self) -> int:
        """The number n."""
        return int(self.system.tree.coupling.shape[1])

    @property
    def width(self) -> int:
        """How many derivatives there are."""
        return self.starts + len(self.free_parameters)

    @cached_property
    def _shaped(self) -> ShapedModel:
        shaped = shaped_model(self.model)
        assert shaped is not None  # the system was made of it
        return shaped

    @cached_property
    def _slots(self) -> np.ndarray:
        slots = np.full(len(self.model.parameters), -1)
        for slot, group in enumerate(self.free_parameters):
            slots[list(group)] = slot
        return slots

    @cached_property
    def _rule(self) -> Quadrature:
        point = np.array(_PLACES[self.rule])
        symmetric = self.forces == 'symmetric'
        return Quadrature(
            point, np.full(len(point), 1.0 / len(point)),
            1.0 - point if symmetric else np.ones(len(point)),
            point if symmetric else np.zeros(len(point)))

    def at(self, values: np.ndarray) -> Here:
        """The system where parameters ``(p,)`` stand, and these as the kernels take them."""
        tree, linear = self._shaped.at(values)
        system = self.system._replace(tree=tree, terms=tree.terms)
        return system, tree_values(tree, linear, self._slots, system.coupled)

    def _workspace(self) -> StepWorkspace:
        return step_workspace(self.system, len(self.free_parameters), self.width)

    def run(
        self, values: np.ndarray, trajectories: Sequence[DrivenTrajectory], *,
        schedules: Sequence[np.ndarray] | None = None, derivatives: bool = True,
    ) -> list[DiscreteMotion]:
        """Simulate.

        Args:
            values: Parameter values, shape ``(p,)``.
            trajectories: What to simulate; starts within the constraints.
            schedules: Least number of steps of each interval, shape ``(N,)`` each.
            derivatives: Whether to carry derivatives along.

        Returns:
            A motion for every trajectory.
        """
        width, work = self.width if derivatives else 0, self._workspace()
        motions = []
        for number, trajectory in enumerate(trajectories):
            least = np.full(len(trajectory.torque) - 1, self.substeps)
            if schedules is not None:
                least = np.maximum(least, schedules[number])
            motions.append(self._run(values, trajectory, work, least, width))
        return motions

    def _run(
        self, values: np.ndarray, trajectory: DrivenTrajectory, work: StepWorkspace,
        least: np.ndarray, width: int,
    ) -> DiscreteMotion:
        here = self.at(values)
        self._begin(here, trajectory, work, width > 0)
        return self._rollout(here, trajectory, work, least, width)

    def _begin(
        self, here: Here, trajectory: DrivenTrajectory, work: StepWorkspace,
        derivatives: bool
    ) -> None:
        """Fill the workspace with the state where a trajectory starts, and its derivatives."""
        start, slopes = np.array(trajectory.start, dtype=float, order='C'), trajectory.start_slopes
        shape = (*start.shape, self.width)
        if slopes is None and not (self.starts and derivatives):
            slopes = np.zeros(shape)
        if slopes is None or slopes.shape != shape:
            raise RecordingError(
                'the course does not say how its start depends on what is differentiated by',
                found=None if slopes is None else slopes.shape, allowed=shape)
        self._set_state(here, start, work)
        tables, by_parameters = work.lagrangian.tree.tables, work.lagrangian.by_parameters
        work.slopes[0] = slopes[0].T
        work.slopes[1] = (tables[0] @ slopes[1] + tables[1] @ slopes[0]).T
        work.slopes[1, self.starts:] += by_parameters[1]

    def _set_state(self, here: Here, start: np.ndarray, work: StepWorkspace) -> None:
        """Fill the workspace with the state of positions and velocities, shape ``(2, n)``."""
        inspect(*here, work, start[0], start[1])
        work.p[0] = work.lagrangian.tree.joints[0]

    def _rollout(
        self, here: Here, trajectory: DrivenTrajectory, work: StepWorkspace,
        least: np.ndarray, width: int,
    ) -> DiscreteMotion:
        """Rollout from the state in the workspace."""
        nodes, most = len(trajectory.torque), max(self.most_substeps, int(least.max(initial=1)))
        capacity = most * len(least)
        steps = Steps(
            np.empty((capacity + 1, self.joints)), np.empty((capacity, self.system.rows)), least)
        states = np.full((nodes, 2, self.joints), np.nan)
        slopes = np.full((nodes, 2, self.joints, width), np.nan)
        ended, reached, total = simulate(
            *referred(*here, trajectory.drive, self._rule, work),
            np.empty_like(work.state), Referred(steps), float(trajectory.step), most, _MARGIN,
            states, slopes)
        return DiscreteMotion(
            STATUSES[ended], reached, states[:, 0], states[:, 1], slopes, steps.taken,
            steps.q[:total + 1].copy(), steps.multipliers[:total].copy())

    def transported(
        self, values: np.ndarray, trajectory: DrivenTrajectory, first: np.ndarray
    ) -> np.ndarray:
        """Carry changes of the first state along a motion: products of the matrices A_k.

        Args:
            values: Parameter values, shape ``(p,)``.
            trajectory: What to simulate.
            first: Changes of positions and momenta at the start that the constraints allow,
                shape ``(2, n, w)``.

        Returns:
            Changes at the nodes, shape ``(N + 1, 2, n, w)``.
        """
        width = first.shape[2]
        system, known = self.at(values)
        here = system, known._replace(
            slots=np.full(len(values), -1), free_bodies=np.zeros_like(known.free_bodies))
        work = step_workspace(self.system, 0, width)
        self._set_state(here, trajectory.start, work)
        work.slopes[:] = np.swapaxes(first, 1, 2)
        least = np.full(len(trajectory.torque) - 1, self.substeps)
        return self._rollout(here, trajectory, work, least, width).slopes

    def defects(
        self, values: np.ndarray, trajectory: DrivenTrajectory, states: np.ndarray
    ) -> Defects:
        """By how much states of a tree contradict its mechanics, one step from node to node.

        Args:
            values: Parameter values, shape ``(p,)``.
            trajectory: What drives it; its start does not matter.
            states: Positions and velocities at the nodes, shape ``(N + 1, 2, n)``.

        Raises:
            ModelError: The system has constraints, whose impulses are no part of a state.
        """
        if self.system.rows:
            raise ModelError(
                'states of closed loops cannot be compared without the impulses that close them',
                where=self.model.robot.name)
        count, both = len(states) - 1, 2 * self.joints
        found = Defects(
            np.zeros((count, both)), np.zeros((count, both, both)),
            np.zeros((count, both, both)), np.zeros((count, both, len(self.free_parameters))))
        find_defects(
            *referred(
                *self.at(values), trajectory.drive, self._rule, self._workspace().lagrangian),
            np.array(states, dtype=float, order='C'), float(trajectory.step), Referred(found))
        return found

    def adjoint(
        self, values: np.ndarray, trajectory: DrivenTrajectory, motion: DiscreteMotion,
        by_positions: np.ndarray, by_momenta: np.ndarray | None = None,
    ) -> Gradient:
        """Gradient of a cost of a motion, by the discrete adjoint.

        Args:
            values: Parameter values of the motion, shape ``(p,)``.
            trajectory: Its trajectory.
            motion: The motion, to its end.
            by_positions: Derivatives of the cost by the positions at the nodes, ``(N + 1, n)``.
            by_momenta: Derivatives of the cost by the momenta at the nodes; none by default.

        Returns:
            Its derivatives.

        Raises:
            EstimationError: The motion ended early, or a step cannot be gone back.
        """
        if not motion.status.ok:
            raise EstimationError(
                'a motion that ended early has no gradient', found=motion.status.value)
        by_states = np.zeros((len(by_positions), 2, self.joints))
        by_states[:, 0] = by_positions
        if by_momenta is not None:
            by_states[:, 1] = by_momenta
        here, work = self.at(values), self._workspace()
        state, gradient = np.zeros((2, self.joints)), np.zeros(len(self.free_parameters))
        by_torque = np.zeros((len(by_positions), self.joints))
        by_interval_torque = np.zeros((len(by_positions) - 1, self.joints))
        regular = simulate_back(
            *referred(
                *here, trajectory.drive, self._rule, work,
                Steps(motion.inner, motion.multipliers, motion.steps)), float(trajectory.step),
            by_states, np.zeros(self.joints + self.system.rows), state, gradient, by_torque,
            by_interval_torque)
        if not regular:
            raise EstimationError('the adjoint cannot go back over a singular step')
        self._begin(here, trajectory, work, True)
        whole = np.einsum('aj,acj->c', state, work.slopes)
        whole[self.starts:] += gradient
        return Gradient(whole, by_torque, by_interval_torque)

    def read(self, values: np.ndarray, motion: DiscreteMotion) -> Readings:
        """Velocities, energies and gaps of a motion at its nodes.

        Args:
            values: Parameter values of the motion, shape ``(p,)``.
            motion: The motion, to its end.

        Raises:
            EstimationError: The motion ended early, or is singular somewhere.
        """
        states = np.stack([motion.positions, motion.momenta], axis=1)
        width = motion.slopes.shape[3]
        work, count = self._workspace(), len(states)
        found = Readings(
            np.zeros((count, self.joints)), np.zeros((count, self.joints, width)),
            np.zeros(count), np.zeros(count))
        if not (motion.status.ok and read(
                *referred(*self.at(values), work), states,
                np.ascontiguousarray(motion.slopes), *found)):
            raise EstimationError(
                'a motion that ended early, or is singular, cannot be read',
                found=motion.status.value)
        return found
