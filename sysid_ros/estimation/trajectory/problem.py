"""Trajectory problems: what sensors measured of a motion that nobody measured completely."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg

from sysid_ros.errors import EstimationError, RecordingError
from sysid_ros.estimation.trajectory.sensors import Encoder, Sensor
from sysid_ros.mechanics.actuators.actuators import ActuatedModel, actuated
from sysid_ros.mechanics.actuators.command import HeldCommand
from sysid_ros.mechanics.actuators.driven import torques_along
from sysid_ros.mechanics.base_parameters import BaseParameters, base_parameters
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.mechanics.tree.acceleration import require_smooth
from sysid_ros.robot.parameters import ParameterSet

# Steps between nodes may differ by this part of their length.
_UNEVEN = 1e-6
# Where nothing measures positions these are compared in units of this, in [rad] or [m].
_UNMEASURED = 1e-3


@dataclass(frozen=True, eq=False)
class Observation:
    """What one sensor measured, at times of its own.

    Attributes:
        sensor: The sensor, of m numbers.
        t: When, in [s], increasing, shape ``(K,)``.
        values: What, in the sensor's units, NaN where it is missing, shape ``(K, m)``.
        sigma: Standard deviation of its noise, above zero, shape ``(m,)``.

    Raises:
        RecordingError: The arrays do not belong together, stamps do not increase, a value is
            infinite, or noise is not above zero.
    """

    sensor: Sensor
    t: np.ndarray
    values: np.ndarray
    sigma: np.ndarray

    def __post_init__(self) -> None:
        where, width = self.sensor.name, self.sensor.width
        shape, allowed = self.values.shape, (len(self.t), width)
        if self.t.ndim != 1 or shape != allowed or self.sigma.shape != (width,):
            raise RecordingError(
                'stamps, values and noise of a sensor do not belong together', where=where,
                found=f'{shape} and {self.sigma.shape}', allowed=f'{allowed} and ({width},)')
        if not (np.isfinite(self.t).all() and (np.diff(self.t) > 0.0).all()):
            raise RecordingError(
                'the stamps of a sensor do not increase', where=where,
                fix='Sort the recording, and drop samples that came twice')
        if np.isinf(self.values).any():
            raise RecordingError(
                'a sensor measured infinity', where=where, allowed='numbers, NaN where missing')
        if not (np.isfinite(self.sigma).all() and (self.sigma > 0.0).all()):
            raise RecordingError(
                'the noise of a sensor is not above zero', where=where, found=self.sigma)


@dataclass(frozen=True, eq=False)
class Segment:
    """A segment of motion without gaps, on evenly spaced nodes.

    Attributes:
        t: Times of the nodes in [s], shape ``(N + 1,)``.
        torque: Joint torques at the nodes in [N·m] or [N], linear in between, ``(N + 1, n)``;
            what actuators make comes on top.
        observations: What was measured meanwhile.
        start: Recorded positions and velocities at the first node, shape ``(2, n)``; None where
            they were not recorded.
        commands: What actuators were told, on the clock of the nodes; None without actuators.

    Raises:
        RecordingError: Nodes are not evenly spaced, torques are not finite, or an observation
            lies outside.
    """

    t: np.ndarray
    torque: np.ndarray
    observations: tuple[Observation, ...]
    start: np.ndarray | None = None
    commands: HeldCommand | None = None

    def __post_init__(self) -> None:
        self._check_nodes()
        self._check_torque()
        for observation in self.observations:
            outside = (observation.t < self.t[0]) | (observation.t > self.t[-1])
            if outside.any():
                raise RecordingError(
                    'a sensor measured before or after its stretch of motion',
                    where=observation.sensor.name, found=f'{int(outside.sum())} samples',
                    allowed=f'{self.t[0]:.6g} s to {self.t[-1]:.6g} s')

    def _check_nodes(self) -> None:
        found = f'{len(self.t)} nodes'
        even = self.t.ndim == 1 and len(self.t) > 1 and bool(np.isfinite(self.t).all())
        if even:
            steps, step = np.diff(self.t), self.step
            found += f', steps of {steps.min():.6g} s to {steps.max():.6g} s'
            even = step > 0.0 and bool((np.abs(steps - step) <= _UNEVEN * step).all())
        if not even:
            raise RecordingError(
                'the nodes of a stretch are not evenly spaced', found=found,
                allowed='at least two nodes, all steps alike and above zero',
                fix='Resample the recording')

    def _check_torque(self) -> None:
        shape = self.torque.shape
        if self.torque.ndim != 2 or len(self.torque) != len(self.t):
            raise RecordingError(
                'the torques of a stretch do not belong to its nodes', found=shape,
                allowed=f'({len(self.t)}, joints)')
        known = np.isfinite(self.torque).all(axis=1)
        if not known.all():
            raise RecordingError(
                'the torques of a stretch are not known at all its nodes',
                found=f'{int(known.sum())} of {len(self.t)}',
                fix='Fill gaps of torque before, or cut the recording at them')
        if self.start is None:
            return
        if self.start.shape != (2, shape[1]) or not np.isfinite(self.start).all():
            raise RecordingError(
                'the start of a stretch is not a position and a velocity of each joint',
                found=self.start.tolist(), allowed=f'finite numbers, shape (2, {shape[1]})',
                fix='Leave the start out where it was not recorded')

    @property
    def step(self) -> float:
        """Time from node to node in [s]."""
        return float(self.t[-1] - self.t[0]) / max(len(self.t) - 1, 1)


@dataclass(frozen=True, eq=False)
class TrajectoryProblem:
    """Segments of motion of one robot, whose parameters are sought with its states.

    Attributes:
        model: Torque model of the robot.
        parameters: Prior, bounds and free/fixed mask, p parameters: the model's and, behind
            them, those that only some estimators know.
        segments: The motion, in segments that have nothing but parameters in common.
        provenance: Where they came from.
        warnings: What the data had to be mended for, in words.
        near: Whether the parameters' values fitted nearly the same problem best, so that a search
            begins with them.

    Raises:
        EstimationError: The parameters are not the model's, there is no motion, or too little
            was measured.
        ModelError: The robot lacks what a sensor is mounted on.
        RecordingError: The torques or the start do not fit the robot.
    """

    model: TorqueModel
    parameters: ParameterSet
    segments: tuple[Segment, ...]
    provenance: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    near: bool = False

    def __post_init__(self) -> None:
        own = self.model.parameters.names
        if self.parameters.names[:len(own)] != own:
            raise EstimationError('the parameters are not those of the model')
        joints = len(self.model.robot.joint_names)
        for segment in self.segments:
            if segment.torque.shape[1] != joints:
                raise RecordingError(
                    'the torques do not fit the robot', found=f'{segment.torque.shape[1]} joints',
                    allowed=f'{joints}')
            for observation in segment.observations:
                observation.sensor.require_robot(self.model.robot)
            if self.actuated is not None and segment.commands is None:
                raise RecordingError(
                    'the robot has actuators, and nothing says what they were commanded',
                    where=self.model.robot.name, fix='Give each stretch its commands')
        if self.freedom <= 0:
            raise EstimationError(
                'there is too little data for the parameters and the starts of all stretches',
                where=self.provenance.get('source'), found=f'{self.readings} measured values',
                allowed=f'more than {self.readings - self.freedom}',
                fix='Record longer, or fix parameters')

    @cached_property
    def readings(self) -> int:
        """How many values were measured."""
        return sum(
            int(np.isfinite(observation.values).sum())
            for segment in self.segments for observation in segment.observations)

    @property
    def freedom(self) -> int:
        """Values measured less free parameters and numbers of all segments' starts."""
        starts = 2 * len(self.model.robot.joint_names) * len(self.segments)
        return self.readings - int(self.parameters.free.sum()) - starts

    @cached_property
    def actuated(self) -> ActuatedModel | None:
        """Actuators that turn commands into torques; None where torques are measured."""
        return actuated(self.model)

    def torques(self, segment: Segment, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Torques at the nodes of a segment in [N·m] or [N], those of actuators by the parameters.

        Args:
            segment: One of the segments.
            q: Positions at its nodes in [rad] or [m], shape ``(N + 1, n)``.
            v: Velocities there, shape ``(N + 1, n)``.
        """
        if self.actuated is None or segment.commands is None:
            return segment.torque
        return segment.torque + torques_along(
            self.actuated, self.parameters.values, segment.commands, segment.t, q, v)

    @property
    def free(self) -> np.ndarray:
        """Indices of the parameters that may change, shape ``(k,)``."""
        return np.flatnonzero(self.parameters.free)

    @cached_property
    def base(self) -> BaseParameters:
        """What torques at all joints would tell of the free parameters; no motion tells more."""
        values, free = self.parameters.values, self.parameters.free
        own = len(self.model.parameters)
        model = self.model if self.model.is_linear else self.model.linearised(values[:own])
        # Nothing else is known of the others than that they are no combination of these.
        others, acting = own + np.flatnonzero(free[own:]), free[:own].copy()
        if self.actuated is not None:
            # No torque that a motion takes depends on who makes it.
            mine = self.actuated.columns
            others, acting[mine] = np.concatenate([mine[free[mine]], others]), False
        if self.actuated is not None and not acting.any():
            unit = np.eye(len(others), dtype=float)
            return BaseParameters(
                self.parameters.names, others, np.eye(len(free))[others], (1.0, 0.0), 0, unit)
        base = base_parameters(model, free=acting)
        matrix = np.zeros((base.rank + len(others), len(free)))
        matrix[:base.rank, :own] = base.matrix
        matrix[base.rank + np.arange(len(others)), others] = 1.0
        independent = np.concatenate([base.independent, others])
        order = np.argsort(independent, kind='stable')
        factor = scipy.linalg.block_diag(base.factor, np.eye(len(others)))
        if (order != np.arange(len(order))).any():
            factor = scipy.linalg.qr(factor[:, order], mode='r')[0][:len(order)]
        return replace(
            base, names=self.parameters.names, matrix=matrix[order],
            independent=independent[order], factor=factor)

    @property
    def frees_bodies(self) -> bool:
        """Whether a parameter of a body is free, which physics may forbid to go where it fits."""
        parameters = self.parameters
        return any(parameters.free[parameters.body_slice(body)].any() for body in parameters.bodies)

    def with_values(self, values: np.ndarray) -> TrajectoryProblem:
        """The problem with its parameters at values, shape ``(p,)``."""
        return replace(self, parameters=self.parameters.with_values(values))

    def with_fixed(self, chosen: np.ndarray) -> TrajectoryProblem:
        """The problem with some of its free parameters, by their place among these, fixed."""
        names = [self.parameters.names[k] for k in self.free[chosen]]
        return replace(self, parameters=self.parameters.fixed(*names)) if names else self

    def require_smooth(self) -> None:
        """Refuse what estimators that differentiate accelerations cannot work with.

        Raises:
            ModelError: The torque of the model jumps.
            EstimationError: There are parameters beside those of the model.
        """
        require_smooth(self.model)
        others = self.parameters.names[len(self.model.parameters):]
        if others:
            raise EstimationError(
                'the estimator does not know some parameters', found=', '.join(others),
                fix='Use the estimator discrete')


def position_unit(problem: TrajectoryProblem) -> np.ndarray:
    """The least noise of any encoder of each joint in [rad] or [m], shape ``(n,)``.

    Args:
        problem: The problem; joints that nothing measures get a thousandth.
    """
    joints = len(problem.model.robot.joint_names)
    still = np.zeros((1, joints))
    unit = np.full(joints, np.inf)
    for segment in problem.segments:
        for observation in segment.observations:
            if type(observation.sensor) is Encoder:
                slope = observation.sensor.read(
                    problem.model.robot, still, still, still).by_position[0]
                with np.errstate(divide='ignore'):
                    felt = np.min(observation.sigma[:, None] / np.abs(slope), axis=0)
                unit = np.minimum(unit, felt)
    return np.where(np.isfinite(unit), unit, _UNMEASURED)
