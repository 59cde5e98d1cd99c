"""Bodies and joints of a compiled MJCF that belong to the robot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from sysid_ros.robot.description.described import DescribedJoint
from sysid_ros.robot.description.mjcf.source import CompiledMjcf
from sysid_ros.robot.inertia import inertial_parameters

#: Name of the body that everything stands on.
WORLD = 'world'
# MuJoCo's numbers of joint types.
FREE, BALL, SLIDE = 0, 1, 2


@dataclass(frozen=True, eq=False)
class MjcfJoint:
    """One joint.

    Attributes:
        name: Name.
        anchor: A point of the axis in the body frame in [m], shape ``(3,)``.
        axis: Unit axis in the body frame, shape ``(3,)``.
        reference: Position in [rad] or [m] that the pose of the body is drawn at.
        described: Limits, friction, drive and spring; no effort limit of actuators.
    """

    name: str
    anchor: np.ndarray
    axis: np.ndarray
    reference: float
    described: DescribedJoint


@dataclass(frozen=True, eq=False)
class MjcfBody:
    """One body.

    Attributes:
        index: MuJoCo's number of it, 0 for the world.
        name: Its name.
        parent: Number of the body it hangs on, -1 for the world itself.
        pose: Pose in that body, shape ``(4, 4)``.
        joints: Its joints, innermost last.
        free_joint: Name of the joint that leaves it free, None for other bodies.
        inertial: Inertial parameters in the body frame, shape ``(10,)``.
        written: Whether they come from its ``<inertial>``.
    """

    index: int
    name: str
    parent: int
    pose: np.ndarray
    joints: tuple[MjcfJoint, ...]
    free_joint: str | None
    inertial: np.ndarray
    written: bool


def read_bodies(source: CompiledMjcf) -> tuple[MjcfBody, ...]:
    """All bodies, parents first, the world at the beginning.

    Args:
        source: The MJCF, without ball joints.
    """
    return tuple(_body(source, index) for index in range(source.model.nbody))


def robot_bodies(bodies: Sequence[MjcfBody]) -> tuple[MjcfBody, ...]:
    """The robot: what stands on the world, or else the one body with joints that is free.

    A free body without joints is an object that the robot handles, and no part of it.

    Args:
        bodies: All bodies, parents first.

    Returns:
        The base first.
    """
    kept: dict[int, list[MjcfBody]] = {}
    for body in bodies:
        root = body.index if body.free_joint is not None else _root(body, bodies)
        kept.setdefault(root, []).append(body)
    standing = kept.pop(0)
    floating = [tree for tree in kept.values() if any(body.joints for body in tree)]
    if any(body.joints for body in standing) or not floating:
        return tuple(standing)
    return tuple(floating[0])


def _root(body: MjcfBody, bodies: Sequence[MjcfBody]) -> int:
    """The free body that carries a body, 0 where none does."""
    while body.index and body.free_joint is None:
        body = bodies[body.parent]
    return body.index


def pose_of(position: np.ndarray, quaternion: np.ndarray) -> np.ndarray:
    """Pose from a position in [m] and a unit quaternion w, x, y, z, shape ``(4, 4)``."""
    w, x, y, z = quaternion
    turn = pin.Quaternion(w, x, y, z).normalized().toRotationMatrix()
    return np.array(pin.SE3(turn, np.array(position)).homogeneous)


def _body(source: CompiledMjcf, index: int) -> MjcfBody:
    model, name = source.model, source.name('body', index)
    first, count = model.body_jntadr[index], model.body_jntnum[index]
    joints = range(first, first + count)
    free = [k for k in joints if model.jnt_type[k] == FREE]
    return MjcfBody(
        index=index, name=name, parent=int(model.body_parentid[index]) if index else -1,
        pose=pose_of(model.body_pos[index], model.body_quat[index]),
        joints=tuple(_joint(source, k) for k in joints if k not in free),
        free_joint=source.name('joint', free[0]) if free else None,
        inertial=_inertial(source, index), written=name in source.written,
    )


def _inertial(source: CompiledMjcf, index: int) -> np.ndarray:
    model, name = source.model, source.name('body', index)
    if name in source.as_written:
        return source.as_written[name]
    turn = pose_of(model.body_ipos[index], model.body_iquat[index])[:3, :3]
    central = (turn * model.body_inertia[index]) @ turn.T
    return inertial_parameters(
        float(model.body_mass[index]), np.array(model.body_ipos[index]), central)


def _joint(source: CompiledMjcf, index: int) -> MjcfJoint:
    model = source.model
    degree, coordinate = model.jnt_dofadr[index], model.jnt_qposadr[index]
    slides, limited = model.jnt_type[index] == SLIDE, bool(model.jnt_limited[index])
    lower, upper = model.jnt_range[index] if limited else (-np.inf, np.inf)
    lower, upper = source.no_room.get(source.name('joint', index), (lower, upper))
    strength = model.jnt_actfrcrange[index] if model.jnt_actfrclimited[index] else [np.nan]
    return MjcfJoint(
        name=source.name('joint', index),
        anchor=np.array(model.jnt_pos[index]),
        axis=np.array(model.jnt_axis[index]),
        reference=float(model.qpos0[coordinate]),
        described=DescribedJoint(
            kind='prismatic' if slides else 'revolute' if np.isfinite(lower) else 'continuous',
            lower=float(lower),
            upper=float(upper),
            effort=float(np.max(np.abs(strength))),
            damping=float(model.dof_damping[degree]),
            friction=float(model.dof_frictionloss[degree]),
            armature=float(model.dof_armature[degree]),
            stiffness=float(model.jnt_stiffness[index]),
            rest=float(model.qpos_spring[coordinate]),
        ),
    )
