r"""Motion of a torque model over time, and its exact derivatives (forward sensitivities).

With :math:`\dot q = v,\ \dot v = a(q, v, u, \theta)` the derivatives X of the state by where it
started and by parameters follow :math:`\dot X = \partial(v, a)/\partial(q, v)\, X
+ \partial(v, a)/\partial\theta`. Both go through the same steps of the classical Runge-Kutta
method of fourth order, so that the derivatives are those of the computed motion itself.

Trees with joint terms that are by laws are compiled; closed loops and other terms take one NumPy
step for all trajectories at a time. Dry friction whose sign is smoothed is
steep near reversals only, where compiled steps may be cut into shorter ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sysid_ros.errors import ConfigurationError, UnreachableError
from sysid_ros.mechanics.actuators.actuators import ActuatedModel, actuated
from sysid_ros.mechanics.actuators.command import CommandLines, HeldCommand
from sysid_ros.mechanics.actuators.dispatch import ActuatorArrays, no_actuators
from sysid_ros.mechanics.actuators.driven import ActuatorTorques, actuator_torques
from sysid_ros.mechanics.integrators.sensitivity_kernels import (
    RUNAWAY,
    STAGES,
    reversal_steps,
    rollout_workspace,
    simulate,
)
from sysid_ros.mechanics.regressor.sample_regressor import (
    SampleModel,
    ShapedModel,
    shaped_model,
)
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.mechanics.tree.acceleration import (
    Acceleration,
    linearised_accelerations,
    require_smooth,
)
from sysid_ros.mechanics.tree.tree_arrays import TreeValues, tree_values
from sysid_ros.numerics.threads import in_threads

# Fewer steps in all are not worth another thread: they take as long as it takes to begin one.
_FEW_STEPS = 500


class InputTrajectory(NamedTuple):
    """Where a motion starts, and what drives it.

    Attributes:
        start: Positions and velocities in [rad, rad/s] or [m, m/s], shape ``(2, n)``.
        torque: Joint torques at the nodes in [N·m] or [N], linear in between, ``(N + 1, n)``; what
            actuators make comes on top.
        step: Time from node to node in [s].
        commands: Of actuators; none where the model has none.
        begin: Time of the first node in [s], on the clock of the commands.
    """

    start: np.ndarray
    torque: np.ndarray
    step: float
    commands: HeldCommand | None = None
    begin: float = 0.0


class SimulatedMotion(NamedTuple):
    """A trajectory at its nodes; NaN from where it ran away or could not move on.

    Attributes:
        states: Positions, velocities and accelerations, shape ``(N + 1, 3, n)``.
        slopes: Their derivatives by w quantities, shape ``(N + 1, 3, n, w)``: by the start, if
            asked for, positions before velocities, then by k parameters.
    """

    states: np.ndarray
    slopes: np.ndarray


class _Drive(NamedTuple):
    """What drives S trajectories at one time each.

    Attributes:
        torque: Joint torques that are given, shape ``(S, n)``.
        actuators: The actuators.
        command: Their commands, shape ``(S, n)``.
        command_by: Derivatives of these by the delay and the time constant of their filter,
            shape ``(2, S, n)``.
    """

    torque: np.ndarray
    actuators: ActuatorArrays
    command: np.ndarray
    command_by: np.ndarray

    def torques(self, state: np.ndarray, columns: int) -> ActuatorTorques:
        """All torques at states ``(S, 2, n)``, with derivatives by so many parameters."""
        return actuator_torques(
            self.actuators, self.torque, self.command, self.command_by, state, columns)


def _commands(
    lines: Sequence[CommandLines], row: int, share: float
) -> tuple[np.ndarray, np.ndarray]:
    """Commands ``(S, n)`` a share of the way through a step; their derivatives ``(2, S, n)``."""
    joints = lines[0].value.shape[2] if lines else 0
    found = np.zeros((3, len(lines), joints))
    for s, line in enumerate(lines):
        if len(line.value):
            # Behind the last step the end of that one.
            last = min(row, len(line.value) - 1)
            at = share if row == last else 1.0
            for k, table in enumerate(line):
                found[k, s] = table[last, 0] + at * (table[last, 1] - table[last, 0])
    return found[0], found[1:]


@dataclass(frozen=True, eq=False)
class Simulator:
    """Simulates trajectories with sensitivities.

    Args:
        model: Torque model without jumps.
        columns: Indices of the k parameters to differentiate by, shape ``(k,)``.
        by_start: Whether to differentiate by the start, too.
        substeps: Steps of integration from node to node.
        near_reversals: How many shorter steps each of these is cut into at most, as many as are
            stable, while friction whose sign is smoothed may reverse; steps that are not compiled
            are cut into as many everywhere.

    Raises:
        ConfigurationError: There is not at least one step.
        ModelError: The torque of the model jumps.
    """

    model: TorqueModel
    columns: np.ndarray
    by_start: bool = True
    substeps: int = 1
    near_reversals: int = 1

    def __post_init__(self) -> None:
        require_smooth(self.model)
        if min(self.substeps, self.near_reversals) < 1:
            raise ConfigurationError(
                'the steps of the integration cannot be used',
                found=min(self.substeps, self.near_reversals),
                allowed='one or more from node to node')
        if not self.is_compiled:
            object.__setattr__(self, 'substeps', self.substeps * self.near_reversals)

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
        """Simulate.

        Args:
            values: Parameter values, shape ``(p,)``.
            trajectories: What to simulate.

        Returns:
            A motion for every trajectory.

        Raises:
            ConfigurationError: The model has actuators, and a trajectory no commands.
        """
        if self._actuated is not None and any(each.commands is None for each in trajectories):
            raise ConfigurationError(
                'the robot has actuators, and nothing says what they were commanded',
                where=self.model.robot.name, fix='Give each trajectory its commands')
        motions = [self._workspace(len(trajectory.torque)) for trajectory in trajectories]
        if self._arrays is None:
            self._run_together(values, trajectories, motions)
        else:
            self._run_compiled(self._arrays, values, trajectories, motions)
        return motions

    @property
    def is_compiled(self) -> bool:
        """Whether steps are compiled, which makes them a thousand times cheaper."""
        return self._arrays is not None

    @cached_property
    def _arrays(self) -> ShapedModel | None:
        return shaped_model(self.model)

    def _workspace(self, nodes: int) -> SimulatedMotion:
        shape = (nodes, 3, len(self.model.robot.joint_names))
        return SimulatedMotion(
            np.full(shape, np.nan), np.full((*shape, self.width), np.nan))

    def _first(self) -> np.ndarray:
        """Derivatives of the start, shape ``(2, n, w)``."""
        joints = len(self.model.robot.joint_names)
        return np.eye(2 * joints, self.width).reshape(2, joints, -1) * float(self.by_start)

    def _run_compiled(
        self, model: ShapedModel, values: np.ndarray, trajectories: Sequence[InputTrajectory],
        motions: list[SimulatedMotion],
    ) -> None:
        arrays, linear = model.at(values)
        known, actuators = self._tree_values(arrays, linear), self._actuators(values)
        lines = self._lines(values, trajectories)
        first, reversals = self._first(), reversal_steps(
            self.near_reversals, model.constants.smoothing_velocities(arrays.terms),
            known.amplitudes)

        def run_some(numbers: Iterator[int]) -> None:
            work = rollout_workspace(arrays, len(self.columns), self.width)
            for number in numbers:
                trajectory = trajectories[number]
                work.state[:], work.state_by[:] = trajectory.start, first
                # Signs of loads begin anew, so that no trajectory depends on the one before.
                work.tree.gear[:] = 0.0
                torque = np.ascontiguousarray(trajectory.torque, dtype=float)
                simulate(
                    arrays, known, actuators, work, torque, lines(trajectory),
                    float(trajectory.step), self.substeps, reversals, *motions[number])

        steps = self.substeps * sum(len(trajectory.torque) for trajectory in trajectories)
        in_threads(run_some, len(trajectories), 1 if steps < _FEW_STEPS else None)

    def _tree_values(self, arrays: SampleModel, values: np.ndarray) -> TreeValues:
        coupled = bool(self.model.robot.tree.is_coupled)
        return tree_values(arrays, values, self._slots(values), coupled)

    def _slots(self, values: np.ndarray) -> np.ndarray:
        """Place of each parameter among those to differentiate by, -1 for none, ``(p,)``."""
        slots = np.full(len(values), -1)
        slots[self.columns] = np.arange(len(self.columns))
        return slots

    @cached_property
    def _actuated(self) -> ActuatedModel | None:
        return actuated(self.model)

    def _actuators(self, values: np.ndarray) -> ActuatorArrays:
        """The actuators."""
        found = self._actuated
        if found is None:
            return no_actuators(len(self.model.robot.joint_names))
        return found.arrays(values, self._slots(values))

    def _lines(
        self, values: np.ndarray, trajectories: Sequence[InputTrajectory]
    ) -> Callable[[InputTrajectory], CommandLines]:
        """What gives the commands of a trajectory in all steps; no steps where there are none."""
        drives = self._actuated
        if drives is None:
            return lambda trajectory: CommandLines(
                *np.zeros((3, 0, 2, trajectory.torque.shape[1])))
        # Trajectories of one recording have its commands in common.
        given = {id(each.commands): each.commands for each in trajectories}
        effective = {
            key: drives.commands(commands, values) for key, commands in given.items() if commands}
        delay = drives.delay(values)

        def lines(trajectory: InputTrajectory) -> CommandLines:
            return effective[id(trajectory.commands)].lines(
                trajectory.begin, trajectory.step / self.substeps,
                (len(trajectory.torque) - 1) * self.substeps, delay)

        return lines

    def _run_together(
        self, values: np.ndarray, trajectories: Sequence[InputTrajectory],
        motions: list[SimulatedMotion],
    ) -> None:
        """Step by step through all trajectories at once, the longest first."""
        order = np.argsort([-len(trajectory.torque) for trajectory in trajectories], kind='stable')
        lengths = np.array([len(trajectories[c].torque) for c in order])
        state = np.array([trajectories[c].start for c in order], dtype=float)
        by = np.repeat(self._first()[None], len(order), axis=0)
        step = np.array([trajectories[c].step for c in order])
        actuators = self._actuators(values)
        lines = list(map(self._lines(values, trajectories), [trajectories[c] for c in order]))
        alive = np.ones(len(order), dtype=bool)
        for node in range(lengths.max(initial=0)):
            alive &= lengths > node
            some = np.flatnonzero(alive)
            now = np.array([trajectories[c].torque[node] for c in order[some]])
            at_node = _commands([lines[s] for s in some], node * self.substeps, 0.0)
            rate, rate_by, moves = self._rates(
                values, state[some], by[some], _Drive(now, actuators, *at_node))
            alive[some] = moves
            for k, s in enumerate(some):
                if moves[k]:
                    motion = motions[order[s]]
                    motion.states[node] = *state[s], rate[k, 1]
                    motion.slopes[node] = *by[s], rate_by[k, 1]
            some = np.flatnonzero(alive & (lengths > node + 1))
            if len(some) == 0:
                return
            pair = np.array([trajectories[c].torque[node:node + 2] for c in order[some]])
            for k in range(self.substeps):
                drives = [
                    self._drive(pair, actuators, [lines[s] for s in some], node, k, share)
                    for share, _ in STAGES]
                state[some], by[some], moves = self._step(
                    values, state[some], by[some], drives, step[some])
                alive[some] = moves & alive[some]

    def _drive(
        self, torque: np.ndarray, actuators: ActuatorArrays, lines: Sequence[CommandLines],
        node: int, k: int, share: float,
    ) -> _Drive:
        """What drives all trajectories a share of the way through step k from a node."""
        at = (k + share) / self.substeps
        row = node * self.substeps + k
        return _Drive(
            torque[:, 0] + at * (torque[:, 1] - torque[:, 0]), actuators,
            *_commands(lines, row, share))

    def _step(
        self, values: np.ndarray, state: np.ndarray, by: np.ndarray, drives: Sequence[_Drive],
        step: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """One step of all: states, derivatives, and which of them could be made."""
        h = (step / self.substeps)[:, None, None]
        change, change_by = np.zeros_like(state), np.zeros_like(by)
        slope, slope_by = change, change_by
        possible = np.ones(len(state), dtype=bool)
        for (share, weight), drive in zip(STAGES, drives, strict=True):
            slope, slope_by, moves = self._rates(
                values, state + share * h * slope, by + share * h[..., None] * slope_by, drive)
            possible &= moves
            change = change + weight / 6.0 * h * slope
            change_by = change_by + weight / 6.0 * h[..., None] * slope_by
        state = state + change
        possible &= (np.abs(state) < RUNAWAY).all(axis=(1, 2))
        return state, by + change_by, possible

    def _rates(
        self, values: np.ndarray, state: np.ndarray, by: np.ndarray, drive: _Drive
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rates of change of states and derivatives, and where the robot can move."""
        made = drive.torques(state, len(self.columns))
        rate, rate_by = np.full_like(state, np.nan), np.full_like(by, np.nan)
        moves = np.zeros(len(state), dtype=bool)
        sound = np.flatnonzero((np.abs(state) < RUNAWAY).all(axis=(1, 2)))
        for some, found in self._accelerations(values, state, made.value, sound):
            rate[some, 0], rate[some, 1] = state[some, 1], found.value
            rate_by[some, 0] = by[some, 1]
            rate_by[some, 1] = found.by_position @ by[some, 0] + found.by_velocity @ by[some, 1]
            rate_by[some, 1, :, self.starts:] += found.by_parameters
            rate_by[some, 1] += found.by_torque @ made.along(by, self.starts)[some]
            positive = np.linalg.eigvalsh(found.by_torque)[:, 0] > 0.0
            moves[some] = positive & np.isfinite(found.value).all(axis=1)
        return rate, rate_by, moves

    def _accelerations(
        self, values: np.ndarray, state: np.ndarray, torque: np.ndarray, some: np.ndarray
    ) -> Iterator[tuple[np.ndarray, Acceleration]]:
        """Accelerations of some of the states, but for those where the robot cannot be."""
        if len(some) == 0:
            return
        try:
            yield some, linearised_accelerations(
                self.model, values, state[some, 0], state[some, 1], torque[some], self.columns)
        except (np.linalg.LinAlgError, UnreachableError):
            if len(some) > 1:
                for half in np.array_split(some, 2):
                    yield from self._accelerations(values, state, torque, half)
