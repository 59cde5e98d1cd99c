"""What rows are at many states: gaps, angles and speeds, and their derivatives."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sysid_ros.errors import ModelError
from sysid_ros.estimation.trajectory.discrete import sweep
from sysid_ros.estimation.trajectory.discrete.joint_kernels import read_joints
from sysid_ros.estimation.trajectory.discrete.mechanism import JointRow, Mechanism
from sysid_ros.estimation.trajectory.discrete.mechanism_arrays import workspace_for
from sysid_ros.estimation.trajectory.discrete.rows import COSINE, WORLD, Rows


class RowValues(NamedTuple):
    """Rows, m of them, at S states.

    Attributes:
        value: Shape ``(S, m)``.
        speed: Shape ``(S, m)``.
        by_state: Derivatives of values by the steps of states, shape ``(S, m, 12 b)``.
        speed_by_state: And of speeds.
    """

    value: np.ndarray
    speed: np.ndarray
    by_state: np.ndarray
    speed_by_state: np.ndarray


def evaluate_rows_at(mechanism: Mechanism, rows: Rows, states: np.ndarray) -> RowValues:
    """Look at rows.

    Args:
        mechanism: Bodies, b of them.
        rows: The rows.
        states: Shape ``(S, 13 b)``.
    """
    samples, count, bodies = len(states), len(rows.kind), len(mechanism.bodies)
    value = np.empty((samples, count))
    direction, slope = np.empty((samples, count, 12)), np.empty((samples, count, 12, 12))
    sweep.evaluate_rows(rows, states, workspace_for(bodies, 0, 0), value, direction, slope)
    # The world is behind all bodies.
    twists = np.concatenate(
        [states.reshape(samples, bodies, 13)[:, :, 7:], np.zeros((samples, 1, 6))], axis=1)
    twist = np.concatenate([twists[:, rows.first], twists[:, rows.second]], axis=2)
    turned = (twist[:, :, None] @ slope)[:, :, 0]
    by_state = np.zeros((samples, count, 12 * bodies))
    speed_by_state = np.zeros((samples, count, 12 * bodies))
    for k in range(count):
        for own, body in ((slice(0, 6), rows.first[k]), (slice(6, 12), rows.second[k])):
            if body == WORLD:
                continue
            pose, speed = slice(12 * body, 12 * body + 6), slice(12 * body + 6, 12 * body + 12)
            by_state[:, k, pose] = direction[:, k, own]
            speed_by_state[:, k, pose] = turned[:, k, own]
            speed_by_state[:, k, speed] = direction[:, k, own]
    speed = np.einsum('skc,skc->sk', direction, twist)
    return RowValues(value, speed, by_state, speed_by_state)


class JointMotion(NamedTuple):
    """Coordinates of j joints at S states, and their derivatives.

    Attributes:
        position: In [rad] or [m], angles between -π and π, shape ``(S, j)``.
        velocity: Shape ``(S, j)``.
        by_state: Of positions, then velocities, by the steps of states, ``(S, 2 j, 12 b)``.
    """

    position: np.ndarray
    velocity: np.ndarray
    by_state: np.ndarray


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Hinges and prismatic joints of a mechanism.

    Args:
        mechanism: The mechanism.
        joints: Names of joints, j of them.

    Raises:
        ModelError: A joint neither turns nor slides.
    """

    mechanism: Mechanism
    joints: tuple[str, ...]

    def __post_init__(self) -> None:
        for name in self.joints:
            kind = self.mechanism.joint(name).kind
            if kind not in ('hinge', 'prismatic'):
                raise ModelError('the joint has no coordinate', where=name, found=kind,
                                 allowed='hinge, prismatic')

    def of(self, states: np.ndarray) -> JointMotion:
        """Coordinates at states, shape ``(S, 13 b)``."""
        count, bodies = len(self.joints), len(self.mechanism.bodies)
        motion = np.empty((len(states), 2 * count))
        by_state = np.zeros((len(states), 2 * count, 12 * bodies))
        read_joints(
            self._rows, self.turning, states, workspace_for(bodies, len(self._rows.kind), 0),
            motion, by_state)
        return JointMotion(motion[:, :count], motion[:, count:], by_state)

    @cached_property
    def turning(self) -> np.ndarray:
        """Which joints turn, shape ``(j,)``."""
        return np.array([self.mechanism.joint(name).kind == 'hinge' for name in self.joints])

    @cached_property
    def _rows(self) -> Rows:
        """Directions of motion, then of each joint the two cosines that tell its angle."""
        joints = [self.mechanism.joint(name) for name in self.joints]
        moving = [(joint, joint.drives[0]) for joint in joints]
        dials = [
            (joint, JointRow(COSINE, here=0, there=axis)) for joint in joints for axis in (0, 1)]
        return self.mechanism.rows_of([*moving, *dials])
