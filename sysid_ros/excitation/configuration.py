"""The settings file of ``sysid excite``: robot, family of motions, limits, what is in the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import Field, field_validator, model_validator

from sysid_ros.errors import ConfigurationError, did_you_mean
from sysid_ros.excitation.design.basis import Basis
from sysid_ros.excitation.design.constraints import Constraint
from sysid_ros.excitation.design.design import Designer, DesignSettings
from sysid_ros.excitation.design.information import Information, usual_noise
from sysid_ros.excitation.files import FAMILIES
from sysid_ros.excitation.geometry.clearance import (
    NO_PAIRS,
    Box,
    BoxClearance,
    KeepIn,
    SelfClearance,
)
from sysid_ros.excitation.geometry.exact_shapes import GeometryClearance, ShapeClearance
from sysid_ros.excitation.geometry.meeting_pairs import MeetingPairs, capsule_pairs, clear_pose
from sysid_ros.excitation.geometry.shapes import capsules_of
from sysid_ros.excitation.safety.limits import MotionLimits
from sysid_ros.mechanics.closures.closed_chain import neutral_configuration
from sysid_ros.mechanics.configuration import (
    RobotSettings,
    load_settings_file,
    with_description,
)
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.robot.description.srdf import AllowedCollisions
from sysid_ros.robot.model import RobotModel
from sysid_ros.settings import StrictSettings, parse_settings

Triple = tuple[float, float, float]


# Keys that mean something for each family beside its duration, and durations of what takes longer.
_KEYS: dict[str, tuple[str, ...]] = {
    'fourier': ('harmonics',), 'quintic': ('poses',), 'chirp': ('lowest', 'highest'),
    'triangle': ('lowest', 'highest'), 'cruise': ('speeds',), 'lift_and_drop': ('lifts', 'drop')}
_DURATIONS = {'triangle': 20.0, 'cruise': 60.0, 'lift_and_drop': 30.0}


class MotionSettings(StrictSettings):
    """The ``motion:`` section: the family of motions that is searched.

    Attributes:
        family: ``fourier``, ``quintic`` or ``chirp``; for drives ``triangle`` (to and fro at one
            speed, ever faster), ``cruise`` (constant speeds) or ``lift_and_drop``.
        duration: Length in [s]; where left out, 20 of triangles, 30 of lifts, 60 of cruises.
        harmonics: Of a Fourier motion: multiples of one over the duration.
        poses: Of a quintic motion: how many, the first and last included.
        lowest: Of a chirp or of triangles: lowest frequency in [Hz].
        highest: Of a chirp or of triangles: highest frequency in [Hz].
        speeds: Of cruises: speeds in turn, in parts of one another; the fastest is as fast as the
            limits allow.
        lifts: Of lifts and drops: how many to each side.
        drop: Of lifts and drops: time of a drop in parts of that of a lift.
    """

    family: Literal['fourier', 'quintic', 'chirp', 'triangle', 'cruise', 'lift_and_drop'] = (
        'fourier')
    duration: float = 10.0
    harmonics: tuple[int, ...] = (1, 2, 3, 4, 5)
    poses: int = 8
    lowest: float = 0.1
    highest: float = 1.0
    speeds: tuple[float, ...] = (0.1, 0.2, 0.4, 0.7, 1.0)
    lifts: int = 3
    drop: float = 0.25

    @model_validator(mode='before')
    @classmethod
    def _usual_duration(cls, data: Any) -> Any:
        family = data.get('family') if isinstance(data, dict) else None
        if isinstance(family, str) and family in _DURATIONS:
            return {'duration': _DURATIONS[family], **data}
        return data

    @model_validator(mode='after')
    def _require_keys_of_the_family(self) -> MotionSettings:
        own = (*_KEYS[self.family], 'duration')
        strange = sorted(self.model_fields_set - {'family', *own})
        if strange:
            of = next(family for family, keys in _KEYS.items() if strange[0] in keys)
            raise ConfigurationError(
                f'{strange[0]} means nothing for the family {self.family}', where='motion',
                found=strange[0], allowed=', '.join(own),
                fix=f'Remove it, or say motion: {{family: {of}}}')
        return self

    def build(self) -> Basis:
        """The family.

        Raises:
            ConfigurationError: A value cannot be used.
        """
        own = {key: getattr(self, key) for key in ('duration', *_KEYS[self.family])}
        return FAMILIES[self.family](**own)


class ToolSettings(StrictSettings):
    """A point of the robot that stays inside a box.

    Attributes:
        link: Link the point is fixed to.
        point: The point in that link's frame in [m].
        lower: Corner of the box with the smallest coordinates, in the base frame in [m].
        upper: Corner with the largest.
    """

    link: str
    point: Triple = (0.0, 0.0, 0.0)
    lower: Triple
    upper: Triple

    def build(self, robot: RobotModel) -> KeepIn:
        """The constraint.

        Raises:
            ConfigurationError: There is no such moving link.
        """
        link = next((link for link in robot.links if link.name == self.link), None)
        if link is None or link.body not in robot.body_names:
            names = [link.name for link in robot.links if link.body in robot.body_names]
            raise ConfigurationError(
                'there is no such moving link', where='clearance.tool.link',
                found=repr(self.link), allowed=', '.join(names),
                fix=did_you_mean(self.link, names),
            )
        x, y, z = (float(value) for value in link.pose[:3] @ np.append(self.point, 1.0))
        box = Box('the box of the tool', self.lower, self.upper)
        return KeepIn(robot.joint_of_body(link.body) - 1, (x, y, z), box)


class ClearanceSettings(StrictSettings):
    """The ``clearance:`` section: what must not be touched.

    Attributes:
        self_collision: Whether the robot keeps clear of itself.
        distance: Least distance in [m].
        capsule_radius: Radius of the capsules around bodies without simple collision
            shapes, in [m]; 6 % of the longest chain's length from the base where left out.
        srdf: MoveIt's SRDF file, relative to the settings file, which says of which links
            collisions count; where left out, those of bodies that are not next to each other.
        boxes: Boxes that stand still, in the base frame.
        tool: A point of the robot that stays inside a box.
    """

    self_collision: bool = True
    distance: float = Field(default=0.02, ge=0.0)
    capsule_radius: float | None = Field(default=None, gt=0.0)
    srdf: str | None = None
    boxes: tuple[Box, ...] = ()
    tool: ToolSettings | None = None

    def allowed(self, robot: RobotModel, base: Path) -> AllowedCollisions | None:
        """Pairs of links that the SRDF lets touch, None without one.

        Args:
            robot: The robot.
            base: Folder that its file name is relative to.

        Raises:
            ModelError: It cannot be read, or belongs to another robot.
        """
        links = [link.name for link in (*robot.base_links, *robot.links)]
        return None if self.srdf is None else AllowedCollisions.load(base / self.srdf, links)

    def meeting(
        self, robot: RobotModel, allowed: AllowedCollisions | None = None
    ) -> MeetingShapes:
        """What of the robot could touch itself.

        Args:
            robot: The robot.
            allowed: What :meth:`allowed` gave.

        Raises:
            ModelError: A mesh cannot be read.
        """
        capsules = capsules_of(robot, self.capsule_radius)
        if self.self_collision:
            own = capsule_pairs(robot, capsules, allowed)
            shapes = GeometryClearance.all_pairs(robot, allowed)
        else:
            own, shapes = SelfClearance(capsules, NO_PAIRS), GeometryClearance.without_pairs(robot)
        return MeetingShapes(MeetingPairs(robot, own), MeetingPairs(robot, shapes))

    def checks(self, meeting: MeetingShapes, rest: np.ndarray) -> tuple[GeometryClearance, ...]:
        """Clearance of the described shapes themselves, where there are any.

        Args:
            meeting: What :meth:`meeting` gave.
            rest: Joint positions at which the robot is known to be clear of itself, ``(n,)``.

        Raises:
            ConfigurationError: Bodies far apart along the robot touch there.
        """
        clearance = meeting.shapes.keeping(rest, self.distance).among(self.boxes, self.distance)
        return (clearance,) if clearance.pairs or clearance.missing else ()

    def build(
        self, meeting: MeetingShapes, rest: np.ndarray, checks: Sequence[GeometryClearance]
    ) -> tuple[Constraint, ...]:
        """The constraints.

        Args:
            meeting: What :meth:`meeting` gave.
            rest: As for :meth:`checks`.
            checks: What :meth:`checks` gave.

        Raises:
            ConfigurationError: Bodies far apart along the robot touch where it rests.
        """
        robot, capsules = meeting.capsules.robot, meeting.capsules.pairs.capsules
        constraints: list[Constraint] = []
        if self.self_collision:
            own = meeting.capsules.keeping(rest, self.distance)
            constraints += [own] if len(own.pairs) else []
            hidden = [check.hidden(robot, rest) for check in checks]
            constraints += [ShapeClearance(each) for each in hidden if each.pairs]
        if self.boxes:
            constraints.append(BoxClearance(capsules, self.boxes, self.distance))
        if self.tool is not None:
            constraints.append(self.tool.build(robot))
        return tuple(constraints)


@dataclass(frozen=True, eq=False)
class MeetingShapes:
    """What of a robot could touch itself.

    Attributes:
        capsules: Capsules around all of it.
        shapes: Its described shapes.
    """

    capsules: MeetingPairs[SelfClearance]
    shapes: MeetingPairs[GeometryClearance]

    def clear_pose(self, usual: np.ndarray, limits: MotionLimits) -> np.ndarray:
        """See :func:`~sysid_ros.excitation.geometry.meeting_pairs.clear_pose`."""
        return clear_pose(usual, limits.lower, limits.upper, (self.capsules, self.shapes))


class ExcitationSettings(StrictSettings):
    """A settings file for ``sysid excite``.

    Attributes:
        robot: The robot and its joint terms, as for a fit.
        motion: The family of motions.
        limits: Limits per joint that replace or complete those of the description: lower,
            upper, velocity, acceleration, jerk, effort.
        fixed: Parameters that the fit will hold at the prior, names with ``*`` and ``?``
            wildcards; motions are not designed for them.
        torque_noise: Torque noise by joint in [N·m] or [N]; where left out, a hundredth of the
            effort limit, at most a tenth of the largest torque that the prior takes.
        rest: Positions by joint in [rad] or [m] at which the robot is known to be clear of
            itself; of joints that are left out, the middle of the range. Without any, where
            closed loops are assembled, or the pose nearest to the middle of all ranges in which
            the described shapes do not touch.
        clearance: What must not be touched.
        design: How the motion is searched for.
    """

    robot: RobotSettings
    motion: MotionSettings = MotionSettings()
    limits: dict[str, dict[str, float]] = {}
    fixed: tuple[str, ...] = ()
    torque_noise: dict[str, float] = {}
    rest: dict[str, float] = {}
    clearance: ClearanceSettings = ClearanceSettings()
    design: DesignSettings = DesignSettings()

    @field_validator('robot')
    @classmethod
    def _base_is_held(cls, robot: RobotSettings) -> RobotSettings:
        if robot.base == 'floating':
            raise ConfigurationError(
                'motions are planned, and watched, for a robot whose base is held',
                where='robot: base', found='floating', allowed='fixed',
                fix='Hang the robot up or bolt it down, and write base: fixed')
        return robot


@dataclass(frozen=True)
class ExcitationPlan:
    """Settings together with the folder that their file names are relative to."""

    settings: ExcitationSettings
    base: Path

    @classmethod
    def load(cls, path: str | Path, description: str = '') -> ExcitationPlan:
        """Read a settings file.

        Args:
            path: The YAML file.
            description: URDF or MJCF as text, for a file that names none.

        Raises:
            ConfigurationError: The file cannot be read, or a key or value is not right.
        """
        path = Path(path)
        data = with_description(load_settings_file(path, of_motion=True), description)
        return cls(parse_settings(ExcitationSettings, data, str(path)), path.parent)

    def designer(self, data_information: np.ndarray | None = None) -> Designer:
        """The search for a motion.

        Args:
            data_information: Information on all p parameters from recordings, shape ``(p, p)``.

        Raises:
            ModelError: The description cannot be used.
            ConfigurationError: A limit is missing, or a name does not exist in the robot.
        """
        settings = self.settings
        model = settings.robot.build(self.base)
        limits = MotionLimits.of(model.robot, settings.limits)
        noise = _by_joint(model, 'torque_noise', settings.torque_noise, usual_noise(model, limits))
        allowed = settings.clearance.allowed(model.robot, self.base)
        meeting = settings.clearance.meeting(model.robot, allowed)
        rest = _by_joint(model, 'rest', settings.rest, self._usual(meeting, limits))
        for name, position, low, high in zip(
            limits.joint_names, rest, limits.lower, limits.upper, strict=True
        ):
            if not low <= position <= high:
                raise ConfigurationError(
                    'the joint cannot rest there', where=f'rest: {name}', found=position,
                    allowed=f'{low} to {high}',
                    fix="Give a position within the joint's limits, or leave rest: out",
                )
        information = Information.of(
            model, limits, noise=noise, data_information=data_information,
            free=model.parameters.fixed(*settings.fixed).free,
        )
        checks = settings.clearance.checks(meeting, rest)
        return Designer(
            model, information, limits, settings.motion.build(), settings.design,
            settings.clearance.build(meeting, rest, checks), checks,
            None if model.robot.loops is not None else rest,
        )

    def _usual(self, meeting: MeetingShapes, limits: MotionLimits) -> np.ndarray:
        """Where the robot is taken to be clear of itself, where nothing else is said."""
        robot = meeting.capsules.robot
        if robot.loops is not None:
            return neutral_configuration(robot)
        if self.settings.rest:
            return limits.centre
        return meeting.clear_pose(
            limits.centre, limits.within(self.settings.design.margin, 0.0))


def _by_joint(
    model: TorqueModel, key: str, given: dict[str, float], default: np.ndarray
) -> np.ndarray:
    """Values in the order of the joints, shape ``(n,)``."""
    values = np.array(default)
    for joint, value in given.items():
        if joint not in model.robot.joint_names:
            raise ConfigurationError(
                'there is no such moving joint', where=key, found=repr(joint),
                allowed=', '.join(model.robot.joint_names),
                fix=did_you_mean(joint, model.robot.joint_names),
            )
        values[model.robot.joint_index(joint)] = value
    return values
