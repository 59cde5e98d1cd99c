"""The kinematic tree as plain arrays, for kernels that walk it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pinocchio as pin

from sysid_ros.errors import ModelError


@dataclass(frozen=True, eq=False)
class KinematicTree:
    r"""Moving bodies, each on one joint, and how their joints follow the independent ones.

    Body i moves by ``q_i = (G q + g)_i``: G is the identity for an ordinary tree and has
    further rows for mimic joints and geared rotors.

    Attributes:
        parent: Index of the parent body, -1 for the world, shape ``(b,)``; parents first.
        rotation: Orientation of the joint frame in the parent's, shape ``(b, 3, 3)``.
        translation: Origin of the joint frame in the parent's in [m], shape ``(b, 3)``.
        axis: Unit axis in the joint frame, shape ``(b, 3)``.
        revolute: True for a rotation, False for a translation, shape ``(b,)``.
        coupling: The matrix G, shape ``(b, n)``.
        coupling_offset: The offset g in [rad] or [m], shape ``(b,)``.
        massless: True for bodies that are nothing but the frame between two joints in a row,
            shape ``(b,)``; they have no parameters. None by default.
    """

    parent: np.ndarray
    rotation: np.ndarray
    translation: np.ndarray
    axis: np.ndarray
    revolute: np.ndarray
    coupling: np.ndarray
    coupling_offset: np.ndarray
    massless: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=bool))

    def __post_init__(self) -> None:
        if not len(self.massless):
            object.__setattr__(self, 'massless', np.zeros(len(self.parent), dtype=bool))
        for name, kind in (
            ('parent', np.int64), ('rotation', float), ('translation', float), ('axis', float),
            ('revolute', bool), ('coupling', float), ('coupling_offset', float),
            ('massless', bool),
        ):
            array = np.array(getattr(self, name), dtype=kind)
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @cached_property
    def is_coupled(self) -> bool:
        """Whether some body does not simply follow the independent joint of its own index."""
        bodies, joints = self.coupling.shape
        identity = bodies == joints and np.array_equal(self.coupling, np.eye(joints))
        return not (identity and not self.coupling_offset.any())

    def with_body(
        self, parent: int, pose: np.ndarray, axis: np.ndarray, coupling_row: np.ndarray
    ) -> KinematicTree:
        """The tree with one more revolute body, last, that follows ``coupling_row · q``."""
        return replace(
            self,
            parent=np.append(self.parent, parent),
            rotation=np.concatenate([self.rotation, pose[None, :3, :3]]),
            translation=np.concatenate([self.translation, pose[None, :3, 3]]),
            axis=np.concatenate([self.axis, axis[None]]),
            revolute=np.append(self.revolute, True),
            coupling=np.concatenate([self.coupling, coupling_row[None]]),
            coupling_offset=np.append(self.coupling_offset, 0.0),
            massless=np.append(self.massless, False),
        )

    @property
    def columns(self) -> np.ndarray:
        """True for the regressor's columns that belong to a parameter, shape ``(10 b,)``."""
        return np.repeat(~self.massless, 10)


def tree_of(
    model: pin.Model, coupling: np.ndarray, coupling_offset: np.ndarray, massless: np.ndarray
) -> KinematicTree:
    """Read the tree out of a Pinocchio model with one-degree-of-freedom joints.

    Args:
        model: Model whose joints are all revolute or prismatic.
        coupling: Joint motion per independent joint, shape ``(model.nv, n)``.
        coupling_offset: Shape ``(model.nv,)``.
        massless: True for joints that carry no link, shape ``(model.nv,)``.

    Raises:
        ModelError: A joint has more than one degree of freedom, or no axis.
    """
    joints = range(1, model.njoints)
    axes, revolute = [], []
    for joint in joints:
        if model.joints[joint].nv != 1 or model.joints[joint].nq != 1:
            raise ModelError(
                'the joint has more than one degree of freedom', where=model.names[joint],
                found=model.joints[joint].shortname(), allowed='revolute, continuous, prismatic',
            )
        subspace = _motion_subspace(model.joints[joint])
        revolute.append(bool(subspace[3:].any()))
        axes.append(subspace[3:] if revolute[-1] else subspace[:3])
        if not np.isclose(np.linalg.norm(axes[-1]), 1.0):
            raise ModelError(
                'the axis of the joint is lost in rounding', where=model.names[joint],
                found=axes[-1].tolist(), allowed='a unit vector',
                fix='Give an axis of length 1, as xyz="0 0 1"',
            )
    return KinematicTree(
        parent=np.array([model.parents[joint] - 1 for joint in joints]),
        rotation=np.array([model.jointPlacements[joint].rotation for joint in joints]),
        translation=np.array([model.jointPlacements[joint].translation for joint in joints]),
        axis=np.array(axes),
        revolute=np.array(revolute),
        coupling=coupling,
        coupling_offset=coupling_offset,
        massless=massless,
    )


def _motion_subspace(joint: pin.JointModel) -> np.ndarray:
    """Motion subspace S of a joint with one degree of freedom, in its own frame, shape ``(6,)``.

    Asked of the joint alone: a Jacobian of the model needs the model's data, whose memory and
    time grow with the cube of a chain's length.
    """
    return np.reshape(joint.createData().S, 6)
