"""The keys of the ``robot:`` section of a settings file that say what turns commands into torques.

These are ``actuators:``, ``command_delay:`` and ``command_time_constant:``.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from pydantic import Field, create_model, model_validator

from sysid_ros.errors import ConfigurationError, did_you_mean
from sysid_ros.mechanics.actuators.actuators import Actuators, JointActuator
from sysid_ros.mechanics.actuators.envelope import LIMITS
from sysid_ros.mechanics.actuators.kind import ActuatorKind
from sysid_ros.mechanics.actuators.kinds import KINDS, kind_named
from sysid_ros.mechanics.joint_terms.term import driven_joints
from sysid_ros.robot.model import RobotModel
from sysid_ros.settings import StrictSettings

# First guesses of a delay and a time constant that are to be found in [s].
_DELAY, _FILTER = 0.005, 0.02
_CONSTANTS = {
    constant.name: constant.words for kind in KINDS for constant in kind.constants}
_FIELDS: dict[str, Any] = {
    name: (float | None, Field(default=None, description=f'{words}.'))
    for name, words in _CONSTANTS.items()}
_Keys: Any = create_model('ConstantKeys', __base__=StrictSettings, **_FIELDS)


class ActuatorSettings(_Keys):
    """The actuator of a joint, or of all joints that a pattern matches.

    Its other keys are the constants of the kinds, in the units of the joint: ``kp`` in [N·m/rad],
    ``kd`` and ``kv`` in [N·m·s/rad]; ``torque_constant`` in [N·m/A], ``gear``; ``resistance`` in
    [Ω], ``back_emf`` in [V·s/rad], ``supply_voltage`` in [V].

    Attributes:
        kind: What it is.
        torque_limit: Largest torque in [N·m] or [N]; none where left out.
        stall_torque: Torque in [N·m] or [N] that the voltage of the drive makes at rest, of which
            less is left the faster the joint turns; needs ``no_load_speed``.
        no_load_speed: Speed in [rad/s] or [m/s] at which nothing is left of it.
        sought: Constants and limits that the fit is to find; what is written for them is the first
            guess.
    """

    kind: Literal['torque', 'position_servo', 'velocity_servo', 'current', 'dc_motor']
    torque_limit: float | None = Field(default=None, gt=0)
    stall_torque: float | None = Field(default=None, gt=0)
    no_load_speed: float | None = Field(default=None, gt=0)
    sought: tuple[str, ...] = ()

    @model_validator(mode='after')
    def _check(self) -> ActuatorSettings:
        kind = kind_named(self.kind)
        own = [constant.name for constant in kind.constants]
        known = ', '.join(own) or 'none'
        strange = sorted(self.model_fields_set & (_CONSTANTS.keys() - set(own)))
        if strange:
            raise ConfigurationError(
                f'{strange[0]} means nothing for an actuator of the kind {self.kind}',
                where='robot.actuators', allowed=f'constants of this kind: {known}',
                fix='Remove it, or name another kind')
        names = [*own, *(limit.name for limit in LIMITS)]
        unknown = [name for name in self.sought if name not in names]
        if unknown:
            raise ConfigurationError(
                f'an actuator of the kind {self.kind} has no such constant',
                where='robot.actuators: sought', found=unknown[0], allowed=', '.join(names),
                fix=did_you_mean(unknown[0], names))
        self._check_values(kind)
        self._check_limits(kind)
        return self

    def _check_values(self, kind: type[ActuatorKind]) -> None:
        for constant in kind.constants:
            value = getattr(self, constant.name)
            guess = ' as a first guess' if constant.name in self.sought else ''
            is_open = constant.default is None or (guess and constant.default == 0.0)
            if value is None and is_open and constant.same_as is None:
                raise ConfigurationError(
                    f'an actuator of the kind {self.kind} needs {constant.name}, the '
                    f'{constant.words}', where='robot.actuators',
                    allowed=f'a number in {constant.rotational_unit} for joints that turn',
                    fix=f'Add {constant.name}: …{guess}')
            # A constant of zero has no size that a search could go by.
            may_vanish = constant.default == 0.0 and constant.name not in self.sought
            if value is not None and constant.positive and not (
                value > 0.0 or (may_vanish and value == 0.0)
            ):
                raise ConfigurationError(
                    f'{constant.name} of an actuator is not above zero', where='robot.actuators',
                    found=value, allowed='a number above zero',
                    fix='Give the sign of a command that acts the other way in recording: '
                    '{command: {sign: -1}}')

    def _check_limits(self, kind: type[ActuatorKind]) -> None:
        falling = {
            name: value for name in ('stall_torque', 'no_load_speed')
            if (value := getattr(self, name)) is not None}
        if falling and kind.slows_itself:
            raise ConfigurationError(
                f'the torque of a {self.kind} falls with speed already, by its back_emf',
                where='robot.actuators', found=', '.join(falling),
                fix='Remove it; torque_limit says what its current is limited to')
        if len(falling) == 1:
            given, = falling
            missing, unit = ('no_load_speed', 'rad/s or m/s') if given == 'stall_torque' else (
                'stall_torque', 'N·m or N')
            raise ConfigurationError(
                f'{given} alone does not say how torque falls with speed', where='robot.actuators',
                found=f'{given}: {falling[given]:g}', allowed='both, or none of them',
                fix=f'Add {missing}: … in {unit}, from the data sheet of the drive at the joint')
        for limit in LIMITS:
            if limit.name in self.sought and getattr(self, limit.name) is None:
                raise ConfigurationError(
                    f'{limit.name}, the {limit.words}, is to be found and has no first guess',
                    where='robot.actuators: sought',
                    allowed=f'a number in {limit.rotational_unit} for joints that turn',
                    fix=f'Add {limit.name}: … as a first guess')

    def build(self, joint: str) -> JointActuator:
        """The actuator of a joint."""
        kind = kind_named(self.kind)
        given = {constant.name: getattr(self, constant.name) for constant in kind.constants}
        values = []
        for constant in kind.constants:
            value = given[constant.name]
            if value is None:
                value = given[constant.same_as] if constant.same_as else constant.default
            values.append(float(value))
        limits = {
            limit.name: float(np.inf if given is None else given)
            for limit in LIMITS for given in [getattr(self, limit.name)]}
        tied = tuple(
            constant.name for constant in kind.constants
            if given[constant.name] is None and constant.same_as in self.sought
            and constant.name not in self.sought)
        return JointActuator(joint, kind, tuple(values), free=self.sought, tied=tied, **limits)


def build_actuators(
    settings: Mapping[str, ActuatorSettings], delay: float | Literal['sought'],
    time_constant: float | Literal['sought'], robot: RobotModel,
) -> Actuators | None:
    """The actuators that settings describe.

    Args:
        settings: By name of a joint, or pattern with ``*`` and ``?``; a name goes before patterns.
        delay: Time from a command to its effect in [s], or that it is to be found.
        time_constant: That of a filter of first order that commands pass in [s], 0 for none, or
            that it is to be found.
        robot: The robot.

    Returns:
        None where there are none: torques are measured.

    Raises:
        ConfigurationError: A name or pattern matches no driven joint, or two match the same.
    """
    if not settings:
        return None
    names = driven_joints(robot)
    matches = {key: _matches(key, names) for key in settings}
    for key, found in matches.items():
        if not found:
            raise ConfigurationError(
                'no joint has this name, or matches this pattern', where='robot.actuators',
                found=key, allowed=', '.join(names), fix=did_you_mean(key, names))
    joints = []
    for name in names:
        keys = [name] if name in settings else [key for key in settings if name in matches[key]]
        if len(keys) > 1:
            raise ConfigurationError(
                f'two patterns say what actuator {name} has', where='robot.actuators',
                found=' and '.join(keys), fix=f'Add {name}: with what it has')
        joints += [settings[key].build(name) for key in keys]
    return Actuators(
        tuple(joints), _DELAY if delay == 'sought' else float(delay), delay == 'sought',
        _FILTER if time_constant == 'sought' else float(time_constant), time_constant == 'sought')


def _matches(key: str, names: tuple[str, ...]) -> tuple[str, ...]:
    if key in names:
        return (key,)
    # Brackets stand for themselves: names may hold them.
    pattern = key.replace('[', '[[]')
    return tuple(name for name in names if fnmatch.fnmatchcase(name, pattern))
