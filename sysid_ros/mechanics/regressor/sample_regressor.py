r"""Rows of the torque regressor sample by sample, for what has to answer within microseconds.

:mod:`~sysid_ros.mechanics.regressor.regressor_kernels` works on blocks of samples, so that one
sample would cost as much as a block. Here a sample costs what it holds, nothing is allocated, and
its rows are the same to the bit however many samples come in one call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba import njit

from sysid_ros.mechanics.joint_terms import dispatch
from sysid_ros.mechanics.joint_terms.dispatch import (
    IdentifiedConstants,
    TermArrays,
    law_value,
    term_arrays,
    term_arrays_with_constants,
)
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.mechanics.tree import forward_kinematics, tree_terms
from sysid_ros.mechanics.tree.forward_kinematics import (
    body_forward_kinematics,
    body_velocity_and_acceleration,
)
from sysid_ros.mechanics.tree.tree_terms import add_direction, motion_variable
from sysid_ros.numerics import jit as compiled
from sysid_ros.numerics import spatial_vectors
from sysid_ros.numerics.jit import ENTRY, INSIDE, digest
from sysid_ros.robot.model import RobotModel

#: Files that are compiled into :func:`fill_samples`.
SOURCES = (compiled, *dispatch.SOURCES, forward_kinematics, spatial_vectors, tree_terms)


class SampleModel(NamedTuple):
    """A torque model as arrays: b bodies of the tree, n joints, k columns of joint terms.

    Attributes:
        parent: As in :class:`~sysid_ros.robot.tree.KinematicTree`, with the next six.
        rotation: Shape ``(b, 3, 3)``.
        translation: Shape ``(b, 3)``.
        axis: Shape ``(b, 3)``.
        revolute: Shape ``(b,)``.
        coupling: Shape ``(b, n)``.
        coupling_offset: Shape ``(b,)``.
        gravity: Shape ``(3,)``.
        column: First column of a body, -1 for one without parameters, shape ``(b,)``.
        terms: The columns of joint terms.
    """

    parent: np.ndarray
    rotation: np.ndarray
    translation: np.ndarray
    axis: np.ndarray
    revolute: np.ndarray
    coupling: np.ndarray
    coupling_offset: np.ndarray
    gravity: np.ndarray
    column: np.ndarray
    terms: TermArrays


class SampleWorkspace(NamedTuple):
    """Workspace for one sample, so that nothing is allocated.

    Attributes:
        pose: Axes of every body in the world, row by row, then its origin, shape ``(b, 12)``.
        twist: Angular velocity and acceleration and linear acceleration of the origin against
            gravity, in the world's axes, shape ``(b, 9)``.
        screw: The joint's axis in the world, shape ``(b, 3)``.
        inward: Angular velocity and both accelerations in the body's own axes, ``(b, 9)``.
        ten: Columns of one body, shape ``(10,)``.
    """

    pose: np.ndarray
    twist: np.ndarray
    screw: np.ndarray
    inward: np.ndarray
    ten: np.ndarray


class ShapedModel(NamedTuple):
    """A torque model as arrays, whose laws may have constants that are identified.

    Attributes:
        tree: The arrays.
        constants: Which parameters the constants of laws are.
    """

    tree: SampleModel
    constants: IdentifiedConstants

    def at(self, values: np.ndarray) -> tuple[SampleModel, np.ndarray]:
        """The arrays where parameters stand, and values that torques are linear in there.

        Args:
            values: All parameters, bodies before joint terms, shape ``(p,)``.

        Returns:
            The arrays, and the parameters with zero for constants, whose columns are derivatives.
        """
        values = np.asarray(values, dtype=float)
        first = len(values) - len(self.tree.terms.weights)
        terms, amplitudes = self.constants.at(self.tree.terms, values[first:])
        return self.tree._replace(terms=terms), np.concatenate([values[:first], amplitudes])


def sample_model(model: TorqueModel) -> SampleModel | None:
    """The arrays of a torque model that is linear in its parameters.

    Args:
        model: The model.

    Returns:
        None for a robot with a free base or closed loops, and where a joint term is of a kind
        that is not known here, or is not linear: then the rows have to come from the model's
        own ``regressor``.
    """
    terms = term_arrays(model.terms, model.robot) if _is_tree(model.robot) else None
    return None if terms is None else _arrays(model, terms)


def shaped_model(model: TorqueModel) -> ShapedModel | None:
    """The arrays of a torque model whose laws may have constants that are identified.

    Args:
        model: The model.

    Returns:
        None for a robot with a free base or closed loops, and where a joint term is of a kind
        that is not known here.
    """
    if not _is_tree(model.robot):
        return None
    found = term_arrays_with_constants(model.terms, model.robot)
    return None if found is None else ShapedModel(_arrays(model, found[0]), found[1])


def _is_tree(robot: RobotModel) -> bool:
    """Whether the base is fixed and no loop is closed."""
    return not robot.free_joint and robot.loops is None


def _arrays(model: TorqueModel, terms: TermArrays) -> SampleModel:
    """The arrays of a tree with those of the joint terms."""
    robot, tree = model.robot, model.robot.tree
    with_parameters = np.cumsum(~tree.massless) - 1
    return SampleModel(
        parent=tree.parent, rotation=tree.rotation, translation=tree.translation,
        axis=tree.axis, revolute=tree.revolute, coupling=tree.coupling,
        coupling_offset=tree.coupling_offset, gravity=robot.gravity,
        column=np.where(tree.massless, -1, 10 * with_parameters),
        terms=terms,
    )


def sample_workspace(model: SampleModel) -> SampleWorkspace:
    """Workspace for the samples of a model."""
    bodies = len(model.parent)
    return SampleWorkspace(*(np.zeros(shape) for shape in (
        (bodies, 12), (bodies, 9), (bodies, 3), (bodies, 9), (10,))))


@njit(**INSIDE)
def _forward_kinematics(
    model: SampleModel, work: SampleWorkspace, q: np.ndarray, v: np.ndarray, a: np.ndarray
) -> None:
    """Forward kinematics of all bodies: poses, velocities and accelerations."""
    for i in range(len(model.parent)):
        position, speed, rate = model.coupling_offset[i], 0.0, 0.0
        for j in range(len(q)):
            share = model.coupling[i, j]
            if share != 0.0:
                position, speed, rate = (
                    position + share * q[j], speed + share * v[j], rate + share * a[j])
        body_forward_kinematics(model, work.pose, work.screw, i, position)
        body_velocity_and_acceleration(
            model, model.gravity, work.pose, work.screw, work.twist, i, speed, rate)
        _to_body_axes(work, i)


@njit(**INSIDE)
def _to_body_axes(work: SampleWorkspace, i: int) -> None:
    """Angular velocity and both accelerations of a body in its own axes."""
    pose, twist, own = work.pose[i], work.twist[i], work.inward[i]
    for part in range(0, 9, 3):
        x0, x1, x2 = twist[part], twist[part + 1], twist[part + 2]
        for k in range(3):
            own[part + k] = pose[k] * x0 + pose[3 + k] * x1 + pose[6 + k] * x2


@njit(**INSIDE)
def _fill_body(model: SampleModel, work: SampleWorkspace, i: int, rows: np.ndarray) -> None:
    """Ten columns of a body in the rows of all joints that carry it."""
    first, ten, j = model.column[i], work.ten, i
    while j >= 0:
        body_columns(work.pose[i], work.inward[i], work.pose[j], work.screw[j],
                     model.revolute[j], ten)
        for joint in range(len(rows)):
            share = model.coupling[j, joint]
            if share != 0.0:
                for k in range(10):
                    rows[joint, first + k] += share * ten[k]
        j = model.parent[j]


@njit(**INSIDE)
def body_columns(
    pose: np.ndarray, motion: np.ndarray, carrier: np.ndarray, z: np.ndarray, revolute: bool,
    ten: np.ndarray,
) -> None:
    """Ten columns of a body: the power of its inertial wrench on the screw of a joint."""
    d0, d1, d2 = pose[9] - carrier[9], pose[10] - carrier[10], pose[11] - carrier[11]
    g0, g1, g2 = z[0], z[1], z[2]
    w0, w1, w2 = 0.0, 0.0, 0.0
    if revolute:
        w0 = pose[0] * z[0] + pose[3] * z[1] + pose[6] * z[2]
        w1 = pose[1] * z[0] + pose[4] * z[1] + pose[7] * z[2]
        w2 = pose[2] * z[0] + pose[5] * z[1] + pose[8] * z[2]
        g0, g1, g2 = z[1] * d2 - z[2] * d1, z[2] * d0 - z[0] * d2, z[0] * d1 - z[1] * d0
    u0 = pose[0] * g0 + pose[3] * g1 + pose[6] * g2
    u1 = pose[1] * g0 + pose[4] * g1 + pose[7] * g2
    u2 = pose[2] * g0 + pose[5] * g1 + pose[8] * g2
    o0, o1, o2, l0, l1, l2, a0, a1, a2 = (
        motion[0], motion[1], motion[2], motion[3], motion[4], motion[5], motion[6], motion[7],
        motion[8])
    along, speed = u0 * o0 + u1 * o1 + u2 * o2, o0 * o0 + o1 * o1 + o2 * o2
    c0, c1, c2 = w1 * o2 - w2 * o1, w2 * o0 - w0 * o2, w0 * o1 - w1 * o0
    ten[0] = u0 * a0 + u1 * a1 + u2 * a2
    ten[1] = u1 * l2 - u2 * l1 + o0 * along - speed * u0 + a1 * w2 - a2 * w1
    ten[2] = u2 * l0 - u0 * l2 + o1 * along - speed * u1 + a2 * w0 - a0 * w2
    ten[3] = u0 * l1 - u1 * l0 + o2 * along - speed * u2 + a0 * w1 - a1 * w0
    ten[4], ten[5] = w0 * l0 + c0 * o0, w0 * l1 + w1 * l0 + c0 * o1 + c1 * o0
    ten[6], ten[7] = w1 * l1 + c1 * o1, w0 * l2 + w2 * l0 + c0 * o2 + c2 * o0
    ten[8], ten[9] = w1 * l2 + w2 * l1 + c1 * o2 + c2 * o1, w2 * l2 + c2 * o2


def _compiled(sources: str) -> Callable[..., None]:
    """Many samples as one call; a digest of the files is part of what is compiled."""

    @njit(**ENTRY)
    def fill_samples(
        model: SampleModel, work: SampleWorkspace, q: np.ndarray, v: np.ndarray, a: np.ndarray,
        rows: np.ndarray,
    ) -> None:
        sources  # noqa: B018
        terms = model.terms
        first = rows.shape[2] - len(terms.weights)
        for t in range(len(q)):
            for j in range(rows.shape[1]):
                for k in range(rows.shape[2]):
                    rows[t, j, k] = 0.0
            _forward_kinematics(model, work, q[t], v[t], a[t])
            for i in range(len(model.parent)):
                if model.column[i] >= 0:
                    _fill_body(model, work, i, rows[t])
            for k in range(len(terms.weights)):
                x = motion_variable(terms, k, q[t], v[t], a[t])
                add_direction(terms, k, law_value(terms.laws, k, x), rows[t, :, first + k])

    return fill_samples


#: Write the regressor of some samples from the model, workspace for one sample, positions,
#: velocities and accelerations ``(T, n)`` into rows ``(at least T, n, p)``.
fill_samples = _compiled(digest(*SOURCES))
