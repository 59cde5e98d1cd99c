"""Closed loops: where a robot is more than a tree, and which of its joints are driven."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pinocchio as pin
from pydantic import Field, model_validator

from sysid_ros.errors import ConfigurationError
from sysid_ros.settings import StrictSettings, load_yaml, parse_settings

#: What stands for the base of the robot where a closure names a link.
WORLD = 'world'

#: What a closure holds together: two points, two frames, or two points at a distance.
ClosureKind = Literal['point', 'frame', 'rod']


@dataclass(frozen=True, eq=False)
class LoopClosure:
    """Two places of the robot that its loop holds together.

    Attributes:
        name: Name for messages.
        kind: ``'point'``: their origins coincide. ``'frame'``: their axes do as well. ``'rod'``:
            their origins keep a distance, as by a massless rod with a ball joint at either end.
        links: The two links, :data:`WORLD` for the base.
        poses: Pose of either place in its link, shape ``(2, 4, 4)``.
        length: Distance that a rod keeps in [m].
    """

    name: str
    kind: ClosureKind
    links: tuple[str, str]
    poses: np.ndarray
    length: float = 0.0

    def __post_init__(self) -> None:
        poses = np.array(self.poses, dtype=float)
        poses.setflags(write=False)
        object.__setattr__(self, 'poses', poses)


@dataclass(frozen=True, eq=False)
class Loops:
    """The closed loops of a robot, and the joints of the tree that is left when they are cut.

    Attributes:
        closures: What closes them.
        joint_names: All m independent joints of the tree, driven and passive.
        actuated: Indices of the n driven ones, in ascending order, shape ``(n,)``.
        assembly: Positions in [rad] or [m] near which the loops are closed, shape ``(m,)``: the
            way the robot is put together where there are several.
    """

    closures: tuple[LoopClosure, ...]
    joint_names: tuple[str, ...]
    actuated: np.ndarray
    assembly: np.ndarray

    def __post_init__(self) -> None:
        for array in (self.actuated, self.assembly):
            array.setflags(write=False)

    @property
    def passive(self) -> np.ndarray:
        """Indices of the joints that only follow, shape ``(m - n,)``."""
        return np.setdiff1d(np.arange(len(self.joint_names)), self.actuated)

    @property
    def passive_names(self) -> tuple[str, ...]:
        """Names of the joints that only follow."""
        return tuple(self.joint_names[k] for k in self.passive)


class PlaceSettings(StrictSettings):
    """A place on a link.

    Attributes:
        link: The link; the base of the robot where left out.
        origin: Position in the frame of the link in [m].
        rpy: Orientation in it as roll, pitch, yaw in [rad]; only the closure of frames uses it.
    """

    link: str = WORLD
    origin: tuple[float, float, float] = (0.0, 0.0, 0.0)
    rpy: tuple[float, float, float] = (0.0, 0.0, 0.0)

    @property
    def pose(self) -> np.ndarray:
        """Pose in the link, shape ``(4, 4)``."""
        return np.array(
            pin.SE3(pin.rpy.rpyToMatrix(*self.rpy), np.array(self.origin)).homogeneous)


class ClosureSettings(StrictSettings):
    """One entry of ``closures:``; see :class:`LoopClosure`.

    Attributes:
        name: Name for messages.
        kind: ``point``, ``frame`` or ``rod``.
        first: A place on a link.
        second: The place that the loop holds it to.
        length: Distance in [m] that a rod keeps; rods alone have one.
    """

    name: str
    kind: ClosureKind
    first: PlaceSettings
    second: PlaceSettings
    length: float | None = Field(default=None, gt=0.0)

    @model_validator(mode='after')
    def _length_of_rods(self) -> ClosureSettings:
        if (self.kind == 'rod') != (self.length is not None):
            raise ConfigurationError(
                'a rod, and nothing else, has a length', where=f'closure {self.name!r}',
                found=f'kind {self.kind} and length {self.length}',
                fix='Give a rod its length, or leave it out',
            )
        return self

    def closure(self) -> LoopClosure:
        """The closure."""
        return LoopClosure(
            self.name, self.kind, (self.first.link, self.second.link),
            np.array([self.first.pose, self.second.pose]), self.length or 0.0,
        )


class LoopSettings(StrictSettings):
    """The small file beside a description that closes its loops.

    Attributes:
        actuated: The driven joints; all others are passive. An MJCF with actuators says it.
        closures: What closes the loops; an MJCF says it with ``connect`` and ``weld``.
        assembly: Positions in [rad] or [m] of joints near which the loops are closed; zero where
            left out. It chooses one of several ways to put the robot together.
    """

    actuated: tuple[str, ...] | None = None
    closures: tuple[ClosureSettings, ...] = ()
    assembly: dict[str, float] = {}

    @classmethod
    def load(cls, path: str | Path) -> LoopSettings:
        """Read a YAML file.

        Raises:
            ConfigurationError: The file cannot be read, or a key or value is not right.
        """
        return parse_settings(cls, load_yaml(path), str(path))
