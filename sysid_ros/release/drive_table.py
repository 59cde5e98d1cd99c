"""Joints with their drives as simulators and controllers want them, and what these leave out."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from sysid_ros.mechanics.actuators.actuators import Actuators, JointActuator
from sysid_ros.mechanics.actuators.envelope import LIMITS
from sysid_ros.mechanics.actuators.kind import MOST_CONSTANTS, ActuatorKind
from sysid_ros.mechanics.joint_terms.closest_friction import ClosestFriction
from sysid_ros.mechanics.joint_terms.term import described_dynamics, unit_at
from sysid_ros.mechanics.joint_terms.terms import friction_fields, names_in
from sysid_ros.release.term_checks import require_plausible_terms
from sysid_ros.robot.model import RobotModel
from sysid_ros.robot.parameters import ParameterSet

_WIDTH = 100


@dataclass(frozen=True)
class JointDrive:
    """A joint and its drive, in [N·m], [rad] and [s], or [N], [m] and [s].

    Attributes:
        joint: The joint.
        kind: Kind of the actuator; None where the robot was identified without one.
        gain: Torque per command.
        stiffness: Torque per position that the drive resists; 0 without an actuator.
        damping: Torque per velocity that the drive resists; 0 without an actuator.
        armature: Inertia of the drive at the joint.
        viscous_friction: Torque per velocity that the joint resists.
        coulomb_friction: Dry friction.
        effort_limit: Largest torque, of the actuator or the description; infinite without.
        stall_torque: Torque of the actuator at rest that falls with speed; infinite without.
        no_load_speed: Speed at which nothing of it is left; infinite without.
        velocity_limit: Largest velocity that the description gives; infinite without.
        lower: Lower position limit, ``-inf`` without.
        upper: Upper position limit, ``inf`` without.
    """

    joint: str
    kind: type[ActuatorKind] | None
    gain: float
    stiffness: float
    damping: float
    armature: float
    viscous_friction: float
    coulomb_friction: float
    effort_limit: float
    stall_torque: float
    no_load_speed: float
    velocity_limit: float
    lower: float
    upper: float

    @property
    def slows(self) -> bool:
        """Whether its actuator has less torque the faster the joint turns."""
        return bool(np.isfinite(self.stall_torque))


@dataclass(frozen=True)
class DriveTable:
    """All drives of a robot, with the parameters that they come from.

    Attributes:
        robot: The robot.
        parameters: Its identified parameters.
        drives: One for each independent joint.
        closest: Damping and friction of joints whose friction is another law.
        source: What was identified, in words.
        actuators: Its actuators; None where torques were measured.
    """

    robot: RobotModel
    parameters: ParameterSet
    drives: tuple[JointDrive, ...]
    closest: Mapping[str, ClosestFriction]
    source: str
    actuators: Actuators | None = None

    @classmethod
    def of(
        cls, robot: RobotModel, parameters: ParameterSet, source: str,
        closest: Mapping[str, ClosestFriction], actuators: Actuators | None = None,
    ) -> DriveTable:
        """Drives of a robot that was identified.

        Args:
            robot: The robot.
            parameters: Its parameters.
            source: What was identified, in words.
            closest: Damping and friction of joints whose friction is another law.
            actuators: Its actuators; None where torques were measured.

        Raises:
            ReleaseError: A friction or armature is negative.
        """
        require_plausible_terms(parameters)
        terms = {
            field: _term(robot, parameters, closest, field)
            for field in ('armature', 'viscous_friction', 'coulomb_friction')}
        drives = []
        for k, joint in enumerate(robot.joint_names):
            own = None if actuators is None else actuators.actuator_of(joint)
            limit, stall, no_load = (np.inf,) * 3 if own is None else own.limits_of(parameters)
            if not np.isfinite(limit):
                limit = _or_infinite(robot.limits.effort[k])
            gain, stiffness, damping = (0.0, 0.0, 0.0) if own is None else _linear_law(
                own, parameters)
            drives.append(JointDrive(
                joint, None if own is None else own.kind, gain, stiffness, damping,
                **{field: float(values[k]) for field, values in terms.items()},
                effort_limit=float(limit), stall_torque=float(stall), no_load_speed=float(no_load),
                velocity_limit=_or_infinite(robot.limits.velocity[k]),
                lower=float(robot.limits.lower[k]), upper=float(robot.limits.upper[k])))
        return cls(robot, parameters, tuple(drives), closest, source, actuators)

    def command_gains(self) -> Iterator[str]:
        """What commands that neither positions nor velocities follow are multiplied by."""
        for drive in self.drives:
            if drive.kind is not None and not drive.kind.regulates and drive.gain != 1.0:
                yield (
                    f'{drive.joint}: torque of a command ({drive.kind.command}): {drive.gain:.6g} '
                    f'per {drive.kind.units[0]}')

    def left_out(self, held: Collection[str]) -> Iterator[str]:
        """Parameters of joints and commands that a format has no place for, each with its value.

        Args:
            held: Fields that it holds, among those of frictions, armature and the fall of torque
                with speed.
        """
        constants = {
            f'{drive.joint}.{constant.name}' for drive in self.drives if drive.kind is not None
            for constant in (*drive.kind.constants, *LIMITS)}
        for drive in self.drives:
            if drive.slows and 'stall_torque' not in held:
                torque, speed = (
                    unit_at(self.robot, drive.joint, limit.rotational_unit, limit.linear_unit)
                    for limit in LIMITS[1:])
                yield (
                    f'{drive.joint}: torque that falls with speed, from {drive.stall_torque:.6g} '
                    f'{torque} at rest to none at {drive.no_load_speed:.6g} {speed}')
        for name in self.parameters.names:
            owner, _, field = name.rpartition('.')
            is_held = field in held or name in constants or self.parameters.is_inertial(name)
            if not is_held and self.parameters[name] != 0.0:
                unit = self.parameters.units[self.parameters.index(name)]
                law = ', of a friction law whose closest damping and friction are written' if (
                    owner in self.closest and 'viscous_friction' in held
                    and field in friction_fields()) else ''
                yield f'{name}: {self.parameters[name]:.6g} {unit}{law}'


def commented(*paragraphs: str) -> str:
    """Paragraphs as comments of a YAML file, each line of one within the width.

    Args:
        paragraphs: Text; lines of their own stay so.
    """
    lines = [line for paragraph in paragraphs for line in wrapped(paragraph)]
    return ''.join(f'# {line}\n' for line in lines)


def wrapped(paragraph: str) -> list[str]:
    """The lines of a paragraph within the width of a comment, those of a list indented.

    Args:
        paragraph: Text.
    """
    return textwrap.wrap(
        paragraph, _WIDTH - 2, subsequent_indent='  ' if paragraph.startswith('- ') else '',
        break_on_hyphens=False)


def _linear_law(own: JointActuator, parameters: ParameterSet) -> tuple[float, float, float]:
    """Torque per command, and per position and velocity that a drive resists."""
    constants = own.constants_of(parameters)
    p = (*constants, *(0.0,) * (MOST_CONSTANTS - len(constants)))
    _, by_command, by_position, by_velocity, _ = own.kind.law(0.0, 0.0, 0.0, p)
    return float(by_command), float(-by_position), float(-by_velocity)


def _term(
    robot: RobotModel, parameters: ParameterSet, closest: Mapping[str, ClosestFriction], field: str
) -> np.ndarray:
    """A joint term by joint: identified, closest to what was, or as described."""
    attribute = names_in('described')[field]
    described, frictions = described_dynamics(robot, attribute), friction_fields()
    values = []
    for joint, as_described in zip(robot.joint_names, described, strict=True):
        if joint in closest and field in frictions:
            values.append(getattr(closest[joint], attribute))
        elif f'{joint}.{field}' in parameters:
            values.append(parameters[f'{joint}.{field}'])
        else:
            # A joint whose friction was identified has nothing of what was not.
            identified = field in frictions and any(
                f'{joint}.{other}' in parameters for other in frictions)
            values.append(0.0 if identified else as_described)
    return np.array(values)


def _or_infinite(limit: float) -> float:
    return float(limit) if np.isfinite(limit) else float(np.inf)
