"""Compiled: a tree moves through time, and what its motion depends on moves along."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba import njit

from sysid_ros.mechanics.actuators import dispatch as actuator_dispatch
from sysid_ros.mechanics.actuators.command import CommandLines
from sysid_ros.mechanics.actuators.dispatch import (
    BY_COMMAND,
    BY_CONSTANTS,
    BY_POSITION,
    BY_VELOCITY,
    NONE,
    SLOPES,
    ActuatorArrays,
    add_actuator_torque,
)
from sysid_ros.mechanics.joint_terms import dispatch
from sysid_ros.mechanics.joint_terms.dispatch import BY_LOAD, FIRST
from sysid_ros.mechanics.regressor import sample_regressor
from sysid_ros.mechanics.regressor.sample_regressor import SampleModel
from sysid_ros.mechanics.tree import (
    forward_kinematics,
    loaded_gears,
    tree_arrays,
    tree_dynamics,
    tree_terms,
)
from sysid_ros.mechanics.tree.loaded_gears import GEAR, LOAD
from sysid_ros.mechanics.tree.tree_arrays import TreeValues, TreeWorkspace, tree_workspace
from sysid_ros.mechanics.tree.tree_dynamics import (
    forward_dynamics,
    rnea_derivatives,
    solve_derivatives,
)
from sysid_ros.mechanics.tree.tree_terms import add_direction, along
from sysid_ros.numerics import dense, spatial_vectors, tables
from sysid_ros.numerics import jit as compiled
from sysid_ros.numerics.dense import solve_cholesky
from sysid_ros.numerics.jit import ENTRY, INSIDE, digest

#: Files that are compiled into the simulation.
SOURCES = (
    compiled, dense, forward_kinematics, loaded_gears, sample_regressor,
    *actuator_dispatch.SOURCES, *dispatch.SOURCES, spatial_vectors, tables, tree_arrays,
    tree_dynamics, tree_terms)
#: Parts of a step after which the stages of the classical Runge-Kutta method look, and what
#: they count in sixths.
STAGES = ((0.0, 1.0), (0.5, 2.0), (0.5, 2.0), (1.0, 1.0))
#: A joint beyond this in [rad, m, rad/s, m/s] is not on any recording: it has run away.
RUNAWAY = 1e6

# Friction is steep below so many times the velocity over which its sign is smoothed: beyond, its
# slope is a hundredth of that at rest.
_BAND = 3.0
# Friction that changes a velocity by less than this part of that over which its sign is smoothed is
# too faint to be looked at closely.
_FAINT = 0.05
# Part of what the acceleration tells by which the velocity may change more in a step.
_MORE = 1.5


class ReversalSteps(NamedTuple):
    """Shorter steps near reversals, where friction whose sign is smoothed is steep.

    Attributes:
        most: How many shorter steps one is cut into at most, 1 for none.
        band: Of each of the t columns of joint terms the velocity in [rad/s] or [m/s] below which
            it is steep, negative for one that never is, shape ``(t,)``.
        slope: Slope of its torque by velocity at rest, zero for one that is not dry friction,
            shape ``(t,)``.
    """

    most: int
    band: np.ndarray
    slope: np.ndarray


def reversal_steps(most: int, smoothing: np.ndarray, amplitudes: np.ndarray) -> ReversalSteps:
    """Where and how finely steps are cut near reversals.

    Args:
        most: How many shorter steps one is cut into at most.
        smoothing: Velocities over which signs are smoothed, -1 of what is no dry friction, shape
            ``(t,)``.
        amplitudes: Of the columns, shape ``(t,)``.
    """
    # A sign is smoothed so that its slope at rest is one over that velocity.
    slope = np.where(smoothing > 0.0, np.abs(amplitudes) / np.abs(smoothing), 0.0)
    return ReversalSteps(most, _BAND * smoothing, slope)


class RolloutWorkspace(NamedTuple):
    """Workspace for one step: positions and velocities, and their w derivatives.

    Attributes:
        tree: Workspace for one sample.
        torque: At the time of a stage, shape ``(n,)``.
        command: Of the actuators at that time, and its derivatives by the delay and the time
            constant of the filter, ``(3, n)``.
        drive: Slopes of the torques that these make, shape ``(n, 11)``.
        state: At the beginning of the step, ``(2, n)``, as the next three.
        stage: At a stage.
        change: Where the stages lead so far.
        slope: Rate of change at a stage.
        state_by: Derivatives, shape ``(2, n, w)``, as the next three.
        stage_by: At a stage.
        change_by: Where the stages lead so far.
        slope_by: Rate of change at a stage.
    """

    tree: TreeWorkspace
    torque: np.ndarray
    command: np.ndarray
    drive: np.ndarray
    state: np.ndarray
    stage: np.ndarray
    change: np.ndarray
    slope: np.ndarray
    state_by: np.ndarray
    stage_by: np.ndarray
    change_by: np.ndarray
    slope_by: np.ndarray


def rollout_workspace(model: SampleModel, columns: int, width: int) -> RolloutWorkspace:
    """Workspace for the steps of a model.

    Args:
        model: The model.
        columns: How many parameters to differentiate by.
        width: How many derivatives there are in all.
    """
    joints = model.coupling.shape[1]
    state, derivatives = ((2, joints),) * 4, ((2, joints, width),) * 4
    return RolloutWorkspace(tree_workspace(model, columns), *(
        np.zeros(shape) for shape in (
            (joints,), (3, joints), (joints, SLOPES), *state, *derivatives)))


@njit(**INSIDE)
def _state_derivative(
    model: SampleModel, values: TreeValues, actuators: ActuatorArrays, work: RolloutWorkspace,
    q: np.ndarray, v: np.ndarray,
) -> bool:
    """Time derivatives of a stage's state and sensitivities; False where it cannot move."""
    tree, by = work.tree, work.stage_by
    joints, width = len(q), by.shape[2]
    _add_drive(actuators, work, q, v)
    if not forward_dynamics(model, values, tree, q, v, work.torque):
        return False
    for r in range(joints):
        work.slope[0, r], work.slope[1, r] = v[r], tree.acceleration[r]
        if not abs(tree.acceleration[r]) < np.inf:
            return False
    if width == 0:
        return True
    rnea_derivatives(model, values, tree, q, v)
    _take_off_drive(actuators, work)
    solve_derivatives(values, tree)
    first = width - tree.by_parameters.shape[1]
    for r in range(joints):
        for c in range(first):
            work.slope_by[1, r, c] = 0.0
        for c in range(first, width):
            work.slope_by[1, r, c] = tree.by_parameters[r, c - first]
        for m in range(joints):
            by_q, by_v = tree.by_position[r, m], tree.by_velocity[r, m]
            # Limbs of a fixed base do not feel each other.
            if by_q != 0.0 or by_v != 0.0:
                for c in range(width):
                    work.slope_by[1, r, c] += by_q * by[0, m, c] + by_v * by[1, m, c]
        for c in range(width):
            work.slope_by[0, r, c] = by[1, r, c]
    return True


@njit(**INSIDE)
def _add_drive(
    actuators: ActuatorArrays, work: RolloutWorkspace, q: np.ndarray, v: np.ndarray
) -> None:
    """Add the torques that actuators make, and write their slopes."""
    for j in range(len(q)):
        if actuators.kind[j] != NONE:
            add_actuator_torque(
                actuators, j, work.command[0, j], q[j], v[j], work.torque, work.drive)


@njit(**INSIDE)
def _take_off_drive(actuators: ActuatorArrays, work: RolloutWorkspace) -> None:
    """Take derivatives of what actuators make off those of the torque that the motion takes."""
    tree, drive = work.tree, work.drive
    for j in range(len(actuators.kind)):
        if actuators.kind[j] == NONE:
            continue
        tree.by_position[j, j] -= drive[j, BY_POSITION]
        tree.by_velocity[j, j] -= drive[j, BY_VELOCITY]
        for k in range(actuators.slots.shape[1]):
            if actuators.slots[j, k] >= 0:
                tree.by_parameters[j, actuators.slots[j, k]] -= drive[j, BY_CONSTANTS + k]
        if actuators.delay_slot >= 0:
            tree.by_parameters[j, actuators.delay_slot] -= (
                drive[j, BY_COMMAND] * work.command[1, j])
        if actuators.filter_slot >= 0:
            tree.by_parameters[j, actuators.filter_slot] -= (
                drive[j, BY_COMMAND] * work.command[2, j])


@njit(**INSIDE)
def _set_command(commands: CommandLines, step: int, at: float, work: RolloutWorkspace) -> None:
    """Write the commands of a step, a part of the way from its beginning to its end."""
    for j in range(work.command.shape[1]):
        begin, end = commands.value[step, 0, j], commands.value[step, 1, j]
        work.command[0, j] = begin + at * (end - begin)
        begin, end = commands.by_delay[step, 0, j], commands.by_delay[step, 1, j]
        work.command[1, j] = begin + at * (end - begin)
        begin, end = commands.by_filter[step, 0, j], commands.by_filter[step, 1, j]
        work.command[2, j] = begin + at * (end - begin)


@njit(**INSIDE)
def _step(
    model: SampleModel, values: TreeValues, actuators: ActuatorArrays, work: RolloutWorkspace,
    before: np.ndarray, after: np.ndarray, commands: CommandLines, row: int, substeps: int,
    begin: float, part: float, h: float, known: bool,
) -> bool:
    """A step of length h by the classical Runge-Kutta method.

    Args:
        model: The model.
        values: Its parameter values.
        actuators: The actuators.
        work: The state in it moves on.
        before: Torques at the last node, shape ``(n,)``.
        after: Torques at the next node, shape ``(n,)``.
        commands: Of the actuators.
        row: The even step of the rollout that it belongs to.
        substeps: Even steps from node to node.
        begin: Part of that step after which it begins.
        part: How long it is in parts of that step.
        h: How long it is in [s].
        known: Whether the rate of change where it begins is in the workspace.
    """
    q, v, k = work.stage[0], work.stage[1], row % substeps
    _blend(work.state, work.state, 0.0, work.change)
    _blend_by(work.state_by, work.state_by, 0.0, work.change_by)
    for share, weight in STAGES:
        if share > 0.0 or not known:
            along_step = begin + share * part
            at = (k + along_step) / substeps
            for j in range(len(work.torque)):
                work.torque[j] = before[j] + at * (after[j] - before[j])
            if len(commands.value) > 0:
                _set_command(commands, row, along_step, work)
            _blend(work.state, work.slope, share * h, work.stage)
            _blend_by(work.state_by, work.slope_by, share * h, work.stage_by)
            if not _state_derivative(model, values, actuators, work, q, v):
                return False
        _blend(work.change, work.slope, weight * h / 6.0, work.change)
        _blend_by(work.change_by, work.slope_by, weight * h / 6.0, work.change_by)
    _blend(work.change, work.change, 0.0, work.state)
    _blend_by(work.change_by, work.change_by, 0.0, work.state_by)
    near = True
    for j in range(len(q)):
        near &= abs(work.state[0, j]) < RUNAWAY and abs(work.state[1, j]) < RUNAWAY
    return near


@njit(**INSIDE)
def _pieces(
    model: SampleModel, values: TreeValues, steps: ReversalSteps, work: RolloutWorkspace, h: float
) -> int:
    r"""How many shorter steps a step of length h is cut into.

    The rates at which friction may stop the motion are eigenvalues of :math:`M^{-1} D`, with
    :math:`D = \sum_k d_k w_k w_k^\top` over the columns whose velocity may come within its band in
    the step. None is above the trace, :math:`\sum_k d_k\, w_k^\top M^{-1} w_k`.

    In a shorter step such a velocity may change by that over which the sign is smoothed, of which
    the method leaves out less than a thousandth, be it by friction or by all else.
    """
    needed, response = 0.0, work.change[0]
    for k in range(len(steps.band)):
        if steps.slope[k] == 0.0:
            continue
        speed, change = along(model.terms, k, work.state[1]), along(model.terms, k, work.slope[1])
        reach = steps.band[k]
        if speed * change < 0.0:
            reach += _MORE * h * abs(change)
        if abs(speed) <= reach:
            for j in range(len(response)):
                response[j] = 0.0
            add_direction(model.terms, k, 1.0, response)
            size = 1.0
            if values.loaded:
                for j in range(len(response)):
                    response[j] /= work.tree.gear[GEAR, j]
                if model.terms.laws.code[k, BY_LOAD] != 0:
                    size = abs(work.tree.gear[LOAD, model.terms.laws.code[k, FIRST]])
            solve_cholesky(work.tree.mass, response)
            own = h * size * steps.slope[k] * along(model.terms, k, response)
            needed += min(own / _FAINT, own + h * abs(change) * _BAND / steps.band[k])
    if needed >= steps.most:
        return steps.most
    return int(np.ceil(needed)) if needed > 1.0 else 1


@njit(**INSIDE)
def _blend(a: np.ndarray, b: np.ndarray, factor: float, out: np.ndarray) -> None:
    """Sum of an array and a factor times another: states, shape ``(2, n)``."""
    for i in range(2):
        for r in range(a.shape[1]):
            out[i, r] = a[i, r] + factor * b[i, r]


@njit(**INSIDE)
def _blend_by(a: np.ndarray, b: np.ndarray, factor: float, out: np.ndarray) -> None:
    """Sum of an array and a factor times another: derivatives, shape ``(2, n, w)``."""
    for i in range(2):
        for r in range(a.shape[1]):
            for c in range(a.shape[2]):
                out[i, r, c] = a[i, r, c] + factor * b[i, r, c]


@njit(**INSIDE)
def _write(work: RolloutWorkspace, state: np.ndarray, slopes: np.ndarray) -> None:
    """Keep positions, velocities and accelerations with their derivatives, ``(3, n, w)``."""
    for j in range(state.shape[1]):
        state[0, j], state[1, j] = work.stage[0, j], work.stage[1, j]
        state[2, j] = work.slope[1, j]
        for c in range(slopes.shape[2]):
            slopes[0, j, c], slopes[1, j, c] = work.stage_by[0, j, c], work.stage_by[1, j, c]
            slopes[2, j, c] = work.slope_by[1, j, c]


def _compiled(sources: str) -> Callable[..., bool]:
    """The whole simulation as one call.

    Args:
        sources: Digest of the files whose functions are called. The compiler's cache looks at
            what a function closes over, but not at other files.
    """

    # Rollouts of other trajectories go on in other threads.
    @njit(**ENTRY | {'nogil': True})
    def simulate(
        model: SampleModel, values: TreeValues, actuators: ActuatorArrays,
        work: RolloutWorkspace, torque: np.ndarray, commands: CommandLines, h: float,
        substeps: int, reversals: ReversalSteps, states: np.ndarray, slopes: np.ndarray,
    ) -> bool:
        sources  # noqa: B018
        last, even = len(torque) - 1, h / substeps
        for node in range(last + 1):
            for j in range(torque.shape[1]):
                work.torque[j] = torque[node, j]
            if len(commands.value) > 0:
                # The last node has no step of its own but the end of the one before.
                row, at = (node * substeps, 0.0) if node < last else (last * substeps - 1, 1.0)
                _set_command(commands, row, at, work)
            _blend(work.state, work.state, 0.0, work.stage)
            _blend_by(work.state_by, work.state_by, 0.0, work.stage_by)
            if not _state_derivative(
                model, values, actuators, work, work.stage[0], work.stage[1]
            ):
                return False
            _write(work, states[node], slopes[node])
            for k in range(substeps if node < last else 0):
                pieces = 1
                if reversals.most > 1:
                    pieces = _pieces(model, values, reversals, work, even)
                for i in range(pieces):
                    if not _step(model, values, actuators, work, torque[node], torque[node + 1],
                                 commands, node * substeps + k, substeps, i / pieces, 1.0 / pieces,
                                 even / pieces, k == 0 and i == 0):
                        return False
        return True

    return simulate


#: Rollout from the state in the workspace: torques at nodes ``(N + 1, n)``, commands of actuators
#: in all even steps or, without actuators, none, time from node to node in [s], even steps in
#: between and how finely these are cut near reversals; fills states ``(N + 1, 3, n)`` and
#: derivatives ``(N + 1, 3, n, w)`` of positions, velocities and accelerations. False where it
#: ended early.
simulate = _compiled(digest(*SOURCES))
