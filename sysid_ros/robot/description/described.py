"""What a robot description says, in the same words whatever its format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pinocchio as pin

from sysid_ros.robot.couplings import Mimic
from sysid_ros.robot.loops import LoopClosure


@dataclass(frozen=True)
class DescribedJoint:
    """A moving joint as described, with limits as written.

    Attributes:
        kind: ``'revolute'``, ``'continuous'`` or ``'prismatic'``.
        lower: Lower position limit in [rad] or [m], ``-inf`` where there is none.
        upper: Upper position limit in [rad] or [m], ``inf`` where there is none.
        velocity: Velocity limit in [rad/s] or [m/s], ``nan`` where not given.
        effort: Torque limit in [N·m] or force limit in [N], ``nan`` where not given.
        damping: Viscous friction in [N·m·s/rad] or [N·s/m].
        friction: Dry friction in [N·m] or [N].
        armature: Inertia of the drive in [kg·m²] or [kg].
        stiffness: Spring in [N·m/rad] or [N/m].
        rest: Position in [rad] or [m] at which the spring is relaxed.
        offset: Constant torque in [N·m] or force in [N].
    """

    kind: str
    lower: float = -np.inf
    upper: float = np.inf
    velocity: float = np.nan
    effort: float = np.nan
    damping: float = 0.0
    friction: float = 0.0
    armature: float = 0.0
    stiffness: float = 0.0
    rest: float = 0.0
    offset: float = 0.0


@dataclass(frozen=True, eq=False)
class DescribedRobot:
    """A robot as described, before joints are locked.

    Attributes:
        name: Name of the robot.
        model: Its tree in Pinocchio: every moving joint with one coordinate, a frame for
            every link. A joint without a link is one of several in a row on one body.
        joints: The moving joints by name.
        inertials: Inertial parameters of every link in its own frame, shape ``(10,)`` each.
        mimics: Joints that follow others, each resolved to an independent one.
        held: Joints that the description itself holds, at positions in [rad] or [m].
        gravity: Gravity in the base frame in [m/s²], where the description says it.
        free_joint: Name of the joint that leaves the base free to move; empty for a base
            that is fixed.
        closures: What closes loops of the tree.
        actuated: Joints that a description with loops gives a motor, in any order.
        assembly: Positions in [rad] or [m] of joints near which the loops are closed.
        massless: Links that carry joints and have no parameters.
    """

    name: str
    model: pin.Model
    joints: Mapping[str, DescribedJoint]
    inertials: Mapping[str, np.ndarray]
    mimics: Mapping[str, Mimic]
    held: Mapping[str, float] = field(default_factory=dict)
    gravity: tuple[float, ...] | None = None
    free_joint: str = ''
    closures: tuple[LoopClosure, ...] = ()
    actuated: tuple[str, ...] = ()
    assembly: Mapping[str, float] = field(default_factory=dict)
    massless: frozenset[str] = frozenset()
