"""Torques at the nodes of a segment, from samples with stamps of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solveh_banded

from sysid_ros.errors import RecordingError
from sysid_ros.recording.processing.grid import mean_period
from sysid_ros.robot.model import RobotModel

# Steps longer than so many periods of a signal are gaps.
_GAP = 5.0
# Nodes may lie beyond the ends of a signal by this part of their step.
_BEYOND = 1e-2


def at_nodes(
    nodes: np.ndarray, t: np.ndarray, values: np.ndarray, *, held: bool = False
) -> np.ndarray:
    r"""Values at nodes, between which straight lines come nearest to a signal.

    It is the projection in :math:`L^2` on broken lines: frequencies above those of the nodes do
    not fold back, and the impulse of the signal is kept, about every node and as a whole. A
    signal sampled at the nodes stays as it is.

    Args:
        nodes: Times of evenly spaced nodes in [s], shape ``(N + 1,)``.
        t: Stamps of the signal in [s], increasing, shape ``(T,)``.
        values: The signal, finite, shape ``(T,)``.
        held: Whether it stays as it is from one stamp to the next, as what a drive was told
            does; otherwise straight lines join its samples.

    Returns:
        Shape ``(N + 1,)``.

    Raises:
        RecordingError: The signal does not reach from the first node to the last.
    """
    step = float(nodes[-1] - nodes[0]) / (len(nodes) - 1)
    slack = _BEYOND * step
    if not len(t) or t[0] > nodes[0] + slack or (not held and t[-1] < nodes[-1] - slack):
        raise RecordingError(
            'a signal does not reach over all nodes',
            found=f'{t[0]:.6g} s to {t[-1]:.6g} s' if len(t) else 'no samples',
            allowed=f'{nodes[0]:.6g} s to {nodes[-1]:.6g} s')
    edges = np.union1d(nodes, t[(t > nodes[0]) & (t < nodes[-1])])
    if held:
        left = right = values[np.maximum(np.searchsorted(t, edges[:-1], side='right') - 1, 0)]
    else:
        joined = np.interp(edges, t, values)
        left, right = joined[:-1], joined[1:]
    moments = _moments(nodes, step, edges, left, right)
    banded = np.full((2, len(nodes)), step / 6.0)
    banded[0] = 2.0 * step / 3.0
    banded[0, [0, -1]] = step / 3.0
    return solveh_banded(banded, moments, lower=True)


def _moments(
    nodes: np.ndarray, step: float, edges: np.ndarray, left: np.ndarray, right: np.ndarray
) -> np.ndarray:
    """Integrals of a piecewise linear signal times the hat of every node, exact (Simpson)."""
    cell = np.clip(np.searchsorted(nodes, edges[:-1], side='right') - 1, 0, len(nodes) - 2)
    u, w = (edges[:-1] - nodes[cell]) / step, (edges[1:] - nodes[cell]) / step
    share = np.diff(edges) / 6.0
    middle = 2.0 * (left + right)
    rising = share * (u * left + 0.5 * (u + w) * middle + w * right)
    falling = share * (left + middle + right) - rising
    size = len(nodes)
    return np.bincount(cell, falling, size) + np.bincount(cell + 1, rising, size)


@dataclass(frozen=True, eq=False)
class MotorCommand:
    """What the drive of a joint was told, for robots that measure no torque.

    How much torque a unit really makes is a parameter of the torque model, that of
    :class:`~sysid_ros.mechanics.joint_terms.drive_gain.DriveGain`: here the command is only brought
    to the nodes, scaled by what the data sheet says. The voltage that a turning motor takes back is
    proportional to its speed, and comes out as viscous friction.

    Args:
        joint: The joint.
        t: When it was told, in [s], increasing, shape ``(T,)``.
        values: Commands in [A], [V] or [N·m], NaN where one was lost, shape ``(T,)``.
        torque_per_unit: Torque at the joint per unit as the data sheet has it, gears included,
            in [N·m] or [N]; negative for a drive that turns the other way.
        held: Whether the drive goes on with the last command until another one comes: then
            lost ones are filled by those before them, however long that is.

    Raises:
        RecordingError: The arrays do not belong together, stamps do not increase, a command is
            infinite, or the scale is zero or not finite.
    """

    joint: str
    t: np.ndarray
    values: np.ndarray
    torque_per_unit: float = 1.0
    held: bool = False

    def __post_init__(self) -> None:
        where = f'command of {self.joint}'
        if self.t.ndim != 1 or self.values.shape != self.t.shape:
            raise RecordingError(
                'stamps and commands do not belong together', where=where,
                found=f'{self.t.shape} and {self.values.shape}', allowed='two times (T,)')
        if not (np.isfinite(self.t).all() and (np.diff(self.t) > 0.0).all()):
            raise RecordingError(
                'the stamps of a command do not increase', where=where,
                fix='Sort the recording, and drop samples that came twice')
        if np.isinf(self.values).any():
            raise RecordingError(
                'a command is infinite', where=where, allowed='numbers, NaN where lost')
        if not np.isfinite(self.torque_per_unit) or self.torque_per_unit == 0.0:
            raise RecordingError(
                'a command makes no torque', where=where, found=self.torque_per_unit,
                allowed='a torque per unit other than zero')

    def torque(self, nodes: np.ndarray) -> np.ndarray:
        """Torque at the nodes of a segment in [N·m] or [N], shape ``(N + 1,)``.

        Args:
            nodes: Times of the nodes in [s], evenly spaced, shape ``(N + 1,)``.

        Raises:
            RecordingError: Commands are lost, or the first comes after the first node, and
                they are not held.
        """
        known = np.isfinite(self.values)
        t, values = self.t[known], self.values[known]
        if not self.held:
            self._require_all(nodes, t)
        try:
            return self.torque_per_unit * at_nodes(nodes, t, values, held=self.held)
        except RecordingError as error:
            raise RecordingError(
                error.problem, where=f'command of {self.joint}', found=error.found,
                allowed=error.allowed, fix='Let the stretch begin and end with the commands',
            ) from error

    def _require_all(self, nodes: np.ndarray, t: np.ndarray) -> None:
        inside = t[max(np.searchsorted(t, nodes[0], side='right') - 1, 0):
                   np.searchsorted(t, nodes[-1]) + 1]
        steps = np.diff(inside)
        if not len(steps):
            return
        longest, allowed = float(steps.max()), _GAP * mean_period(self.t)
        if longest > allowed:
            raise RecordingError(
                'commands are missing', where=f'command of {self.joint}',
                found=f'none for {longest:.4g} s from {inside[int(np.argmax(steps))]:.6g} s on',
                allowed=f'{allowed:.4g} s', fix='Set held where the drive goes on with the last '
                'command, or cut the recording there')


def command_torques(
    robot: RobotModel, nodes: np.ndarray, commands: Sequence[MotorCommand],
    unpowered: Sequence[str] = (),
) -> np.ndarray:
    """Torques of a segment from what the drives were told.

    Args:
        robot: The robot.
        nodes: Times of the nodes in [s], evenly spaced, shape ``(N + 1,)``.
        commands: At most one command per joint.
        unpowered: Joints that nothing drives.

    Returns:
        Shape ``(N + 1, n)``.

    Raises:
        RecordingError: A joint is neither told anything nor unpowered, or both; commands are
            missing.
        ModelError: The robot has no such joint.
    """
    torque = np.zeros((len(nodes), len(robot.joint_names)))
    told = [command.joint for command in commands]
    for joint in (*told, *unpowered):
        robot.joint_index(joint)
    twice = sorted({joint for joint in (*told, *unpowered)
                    if (*told, *unpowered).count(joint) > 1})
    missing = [joint for joint in robot.joint_names if joint not in (*told, *unpowered)]
    if twice or missing:
        raise RecordingError(
            'each joint needs one command, or none and to be named as unpowered',
            where=', '.join(twice or missing),
            found='more than one of these' if twice else 'none of these')
    for command in commands:
        torque[:, robot.joint_index(command.joint)] = command.torque(nodes)
    return torque
