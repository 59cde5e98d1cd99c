"""The actuators of a robot as part of its torque model: their constants, and how commands act.

They bring parameters to a torque model and no column to its regressor: what torque a motion takes
does not depend on who makes it. Simulated motion does, and rollouts take the torque that commands
make from here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sysid_ros.mechanics.actuators.command import FilteredCommand, HeldCommand
from sysid_ros.mechanics.actuators.dispatch import ActuatorArrays, no_actuators
from sysid_ros.mechanics.actuators.envelope import LIMITS, Limits
from sysid_ros.mechanics.actuators.kind import MOST_CONSTANTS, ActuatorKind, Constant
from sysid_ros.mechanics.actuators.kinds import KINDS
from sysid_ros.mechanics.joint_terms.law import CONSTANT, Law, LawColumns
from sysid_ros.mechanics.joint_terms.term import LawTerm, unit_at
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.robot.model import RobotModel
from sysid_ros.robot.parameters import Parameter, ParameterSet

#: Names of the parameters that all commands have in common.
DELAY, FILTER = 'command.delay', 'command.time_constant'
# Latest arrival of a command in [s]: more is another recording's clock.
_LATEST = 0.2
# Least and largest time constant of a filter in [s]: less is a delay, more follows no motion.
_FILTERS = 1e-4, 1.0
# A constant stays above this part of its first guess, and a limit below so many times it: motion
# does not depend on limits that it never comes to.
_LEAST, _MOST = 1e-3, 10.0
_FIELDS = frozenset(
    constant.name for constants in (LIMITS, *(kind.constants for kind in KINDS))
    for constant in constants)


@dataclass(frozen=True)
class JointActuator:
    """The actuator of a joint.

    Attributes:
        joint: The joint.
        kind: What it is.
        values: Its constants, in the order of the kind's.
        torque_limit: Largest torque in [N·m] or [N].
        free: Names of the constants and limits that are to be found.
        stall_torque: Torque at rest that falls with speed, in [N·m] or [N].
        no_load_speed: Speed at which nothing of it is left, in [rad/s] or [m/s].
        tied: Names of constants that stay what their kind says they are the same as, which is
            free: they are no parameters.
    """

    joint: str
    kind: type[ActuatorKind]
    values: tuple[float, ...]
    torque_limit: float = np.inf
    free: tuple[str, ...] = ()
    stall_torque: float = np.inf
    no_load_speed: float = np.inf
    tied: tuple[str, ...] = ()

    def parameters(self, robot: RobotModel) -> list[Parameter]:
        """Its constants as parameters, then those of its limits that are to be found."""
        limits = self.limits
        own = (
            *((self.kind.constants[k], self.values[k], np.inf) for k in self.own_constants),
            *((LIMITS[k], limits[k], _MOST * limits[k]) for k in self.free_limits))
        return [
            Parameter(
                f'{self.joint}.{constant.name}',
                unit_at(robot, self.joint, constant.rotational_unit, constant.linear_unit),
                value, _lower(constant, value), upper, constant.name in self.free)
            for constant, value, upper in own]

    @property
    def limits(self) -> Limits:
        """Torque limit, stall torque and no-load speed, as given."""
        return self.torque_limit, self.stall_torque, self.no_load_speed

    @property
    def free_limits(self) -> tuple[int, ...]:
        """Places among the limits of those that are to be found."""
        return tuple(k for k, limit in enumerate(LIMITS) if limit.name in self.free)

    @property
    def own_constants(self) -> tuple[int, ...]:
        """Places among the constants of those that are parameters."""
        return tuple(
            k for k, constant in enumerate(self.kind.constants) if constant.name not in self.tied)

    @property
    def sources(self) -> tuple[int, ...]:
        """Place of the constant that each has its value from, its own but for those tied."""
        names = [constant.name for constant in self.kind.constants]
        return tuple(
            names.index(str(constant.same_as)) if constant.name in self.tied else k
            for k, constant in enumerate(self.kind.constants))

    @property
    def places(self) -> tuple[int, ...]:
        """Place of each of its parameters among constants and limits in compiled functions."""
        return (*self.own_constants, *(MOST_CONSTANTS + k for k in self.free_limits))

    def constants_of(self, parameters: ParameterSet) -> tuple[float, ...]:
        """Its constants by identified parameters, in the order of the kind's.

        Args:
            parameters: Those of the robot.
        """
        return tuple(
            parameters[f'{self.joint}.{self.kind.constants[k].name}'] for k in self.sources)

    def limits_of(self, parameters: ParameterSet) -> Limits:
        """Torque limit, stall torque and no-load speed by identified parameters.

        Args:
            parameters: Those of the robot.
        """
        found = list(self.limits)
        for k in self.free_limits:
            found[k] = parameters[f'{self.joint}.{LIMITS[k].name}']
        return found[0], found[1], found[2]


def is_actuator_parameter(name: str) -> bool:
    """Whether a parameter is of actuators: no torque that a motion takes depends on it.

    Args:
        name: Its name, as ``knee.kp``.
    """
    return name in (DELAY, FILTER) or name.rpartition('.')[2] in _FIELDS


def _lower(constant: Constant, value: float) -> float:
    return _LEAST * value if constant.positive else -np.inf


@dataclass(frozen=True)
class Actuators(LawTerm):
    """Actuators of some joints, and how all commands arrive: late, and smoothed where they are.

    Attributes:
        joints: At most one for each joint.
        delay: Time from a command to its effect in [s].
        delay_free: Whether that is to be found.
        time_constant: That of a filter of first order that commands pass, in [s]; 0 for none,
            which is no parameter.
        time_constant_free: Whether that is to be found.
    """

    joints: tuple[JointActuator, ...]
    delay: float = 0.0
    delay_free: bool = False
    time_constant: float = 0.0
    time_constant_free: bool = False

    def parameters(self, robot: RobotModel) -> list[Parameter]:
        """Constants joint by joint, then the time constant of a filter, if any, and the delay."""
        own = [each for joint in self.joints for each in joint.parameters(robot)]
        if self.filters:
            least, most = _FILTERS
            own.append(Parameter(
                FILTER, 's', self.time_constant, min(least, self.time_constant),
                max(most, self.time_constant), self.time_constant_free))
        return [*own, Parameter(
            DELAY, 's', self.delay, 0.0, max(_LATEST, self.delay), self.delay_free)]

    def law_columns(self, robot: RobotModel) -> list[LawColumns]:
        """Columns of zeros: no torque that a motion takes depends on these parameters."""
        count = len(self.parameters(robot))
        return [LawColumns(
            Law(CONSTANT), (), np.arange(count), np.zeros((count, len(robot.joint_names))))]

    def actuator_of(self, joint: str) -> JointActuator | None:
        """The actuator of a joint, if it has one."""
        return next((each for each in self.joints if each.joint == joint), None)

    @property
    def filters(self) -> bool:
        """Whether commands pass a filter."""
        return self.time_constant > 0.0

    @property
    def names(self) -> tuple[str, ...]:
        """Joints with an actuator."""
        return tuple(each.joint for each in self.joints)

    def arrays(
        self, joint_names: Sequence[str], values: np.ndarray, slots: np.ndarray
    ) -> ActuatorArrays:
        """The actuators as compiled kernels take them.

        Args:
            joint_names: The n driven joints.
            values: Of the parameters of :meth:`parameters`, shape ``(k,)``.
            slots: Place of each among the parameters to differentiate by, -1 for none, ``(k,)``.
        """
        found = no_actuators(len(joint_names))._replace(
            delay_slot=int(slots[-1]), filter_slot=int(slots[-2]) if self.filters else -1)
        first = 0
        for each in self.joints:
            j, places = joint_names.index(each.joint), each.places
            limits, after = first + len(each.own_constants), first + len(places)
            found.kind[j], found.limits[j] = KINDS.index(each.kind), each.limits
            found.constants[j, list(each.own_constants)] = values[first:limits]
            found.limits[j, list(each.free_limits)] = values[limits:after]
            found.slots[j, list(places)] = slots[first:after]
            for held in (found.constants, found.slots):
                held[j, :len(each.sources)] = held[j, list(each.sources)]
            first = after
        return found


@dataclass(frozen=True, eq=False)
class ActuatedModel:
    """Actuators with their place among the parameters of a torque model.

    Attributes:
        actuators: The actuators.
        first: Index of their first parameter.
        joint_names: The n driven joints.
    """

    actuators: Actuators
    first: int
    joint_names: tuple[str, ...]

    @property
    def hold_positions(self) -> bool:
        """Whether every joint has a drive that holds it to a position; others run away."""
        held = {each.joint for each in self.actuators.joints if each.kind.feedback}
        return held.issuperset(self.joint_names)

    @property
    def count(self) -> int:
        """How many parameters they have."""
        own = sum(len(each.places) for each in self.actuators.joints)
        return own + self.actuators.filters + 1

    @property
    def columns(self) -> np.ndarray:
        """Indices of their parameters among the model's, shape ``(k,)``."""
        return np.arange(self.first, self.first + self.count)

    @property
    def constants(self) -> np.ndarray:
        """Those of constants and limits, without what all commands have in common, ``(k,)``."""
        return self.columns[:-1 - self.actuators.filters]

    def delay(self, values: np.ndarray) -> float:
        """The delay of the commands in [s], by values of the model's parameters ``(p,)``."""
        return float(values[self.first + self.count - 1])

    def commands(
        self, given: HeldCommand, values: np.ndarray
    ) -> HeldCommand | FilteredCommand:
        """Commands as they act but for the delay, by values of the model's parameters ``(p,)``."""
        if not self.actuators.filters:
            return given
        return given.filtered(float(values[self.first + self.count - 2]))

    def arrays(self, values: np.ndarray, slots: np.ndarray) -> ActuatorArrays:
        """The actuators as arrays, by values and slots of the model's parameters ``(p,)``."""
        own = self.columns
        return self.actuators.arrays(self.joint_names, values[own], slots[own])


def actuated(model: TorqueModel) -> ActuatedModel | None:
    """The actuators of a torque model; None where torques are measured.

    Args:
        model: The model.
    """
    for term in model.terms:
        if isinstance(term, Actuators):
            return ActuatedModel(
                term, model.parameters.index(term.parameters(model.robot)[0].name),
                model.robot.joint_names)
    return None

