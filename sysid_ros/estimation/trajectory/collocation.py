r"""Collocation: smooth dynamics in joint coordinates as residuals between neighbouring nodes.

States are positions and velocities at the nodes. Between two nodes the trapezoidal rule (second
order) or that of Hermite and Simpson (fourth order; Betts 2010, section 4.5) says what they have
to fulfil: exactly, or up to white noise of the acceleration. Or discrete mechanics does (midpoint
rule, second order), exactly: momenta are then compared in units of each joint's own inertia.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sysid_ros.estimation.trajectory.interpolation import Between
from sysid_ros.estimation.trajectory.problem import (
    Observation,
    Segment,
    TrajectoryProblem,
    position_unit,
)
from sysid_ros.estimation.trajectory.settings import Scheme
from sysid_ros.estimation.trajectory.state_space import StateSpace
from sysid_ros.mechanics.integrators.variational.driven_trajectory import DrivenTrajectory
from sysid_ros.mechanics.integrators.variational.integrator import VariationalIntegrator
from sysid_ros.mechanics.tree.acceleration import Acceleration, linearised_accelerations
from sysid_ros.numerics.least_squares.chain import Residuals

# Unit in which velocities have to agree: what drifts as far as a sensor's noise in this time [s].
_DRIFT = 1.0


class _Slopes(NamedTuple):
    """Derivatives by a node's state, the next one's, and parameters: ``(K, m, 2n)``, ``(…, k)``."""

    here: np.ndarray
    after: np.ndarray
    parameters: np.ndarray


@dataclass(frozen=True, eq=False)
class Collocation:
    """A trajectory problem as a chain.

    Attributes:
        problem: The problem.
        scheme: The rule between nodes.
        process_noise: Square root of the spectral density of white noise of each joint's
            acceleration, in [rad/s²/√Hz] or [m/s²/√Hz], shape ``(n,)``; None where the
            dynamics hold exactly.
        huber: Readings that are off by more standard deviations than this count by how far,
            not by the square of it.
    """

    problem: TrajectoryProblem
    scheme: Scheme = 'trapezoidal'
    process_noise: np.ndarray | None = None
    huber: float = np.inf
    _last: dict[str, tuple[np.ndarray, np.ndarray, Acceleration]] = field(
        default_factory=dict, repr=False)

    @cached_property
    def space(self) -> StateSpace:
        """Positions, then velocities."""
        return StateSpace(2 * len(self.problem.model.robot.joint_names))

    @cached_property
    def first_nodes(self) -> np.ndarray:
        """First node of every segment and, last, the number of all, shape ``(s + 1,)``."""
        return np.cumsum([0, *(len(segment.t) for segment in self.problem.segments)])

    def full(self, values: np.ndarray) -> np.ndarray:
        """All parameters ``(p,)`` from the free ones ``(k,)``."""
        everything = self.problem.parameters.values.copy()
        everything[self.problem.free] = values
        return everything

    def split(self, states: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """Positions and velocities of every segment, shape ``(N + 1, n)`` each."""
        joints = states.shape[1] // 2
        return [
            (part[:, :joints], part[:, joints:])
            for part in np.split(states, self.first_nodes[1:-1])
        ]

    def residuals(self, states: np.ndarray, values: np.ndarray) -> Iterator[Residuals]:
        """Readings of all sensors and, if the dynamics are noisy, what is between nodes."""
        for index, segment in enumerate(self.problem.segments):
            for observation in segment.observations:
                yield self._observed(index, observation, states, values)[0]
        if self.process_noise is not None:
            yield from self._dynamics(states, values, self._noise)

    def equations(self, states: np.ndarray, values: np.ndarray) -> Iterable[Residuals]:
        """What is between nodes, if the dynamics hold exactly."""
        if self.process_noise is not None:
            return ()
        return self._dynamics(states, values, lambda _: self.unit)

    def innovations(
        self, states: np.ndarray, values: np.ndarray
    ) -> tuple[tuple[np.ndarray, ...], ...]:
        """Measured less predicted, by segment and observation; see ``TrajectorySolution``."""
        return tuple(
            tuple(
                self._observed(index, observation, states, values)[1]
                for observation in segment.observations)
            for index, segment in enumerate(self.problem.segments))

    def _noise(self, segment: Segment) -> np.ndarray:
        """Standard deviations of what is between nodes: those of an integrated Wiener process."""
        h, density = segment.step, np.asarray(self.process_noise)
        return np.concatenate([density * np.sqrt(h**3 / 12.0), density * np.sqrt(h)])

    @cached_property
    def unit(self) -> np.ndarray:
        """In what states have to agree where the dynamics hold exactly, shape ``(2 n,)``."""
        position = position_unit(self.problem)
        return np.concatenate([position, position / _DRIFT])

    def _dynamics(
        self, states: np.ndarray, values: np.ndarray, scale: Callable[[Segment], np.ndarray]
    ) -> Iterator[Residuals]:
        if self.scheme == 'variational':
            yield from self._mechanics(states, values, scale)
            return
        nodes = self._accelerations('nodes', states, values, self._torque)
        middle = self._middle(states, values, nodes) if self.scheme != 'trapezoidal' else None
        for index, segment in enumerate(self.problem.segments):
            first, last = self.first_nodes[index], self.first_nodes[index + 1] - 1
            here, after = slice(first, last), slice(first + 1, last + 1)
            # A middle belongs to the node before it.
            between = None if middle is None else _part(middle, here)
            defect, slopes = _defect(
                segment.step, states[here], states[after], _part(nodes, here),
                _part(nodes, after), between)
            weight = (1.0 / scale(segment))[:, None]
            yield Residuals.of(
                np.arange(first, last), defect * weight[:, 0],
                *(weight * slope for slope in slopes))

    def _mechanics(
        self, states: np.ndarray, values: np.ndarray, scale: Callable[[Segment], np.ndarray]
    ) -> Iterator[Residuals]:
        """Defects of the discrete Euler-Lagrange equations, whose step is that of the nodes."""
        joints = states.shape[1] // 2
        for index, segment in enumerate(self.problem.segments):
            first, last = self.first_nodes[index], self.first_nodes[index + 1] - 1
            part = states[first:last + 1].reshape(-1, 2, joints)
            found = self._integrator.defects(
                self.full(values), DrivenTrajectory(part[0], segment.torque, segment.step), part)
            weight = 1.0 / scale(segment)
            yield Residuals.of(
                np.arange(first, last), self._as_states(found.values, segment.step) * weight,
                *(weight[:, None] * self._as_states(slope, segment.step)
                  for slope in found[1:]))

    def _as_states(self, momenta: np.ndarray, step: float) -> np.ndarray:
        """Momenta that are missing at both ends as ways and changes of speed, ``(K, 2 n, ...)``.

        Each is of second order, but their difference of third, as are ways in a step.
        """
        inertia = self._inertia.reshape((-1,) + (1,) * (momenta.ndim - 2))
        before, after = np.split(momenta, 2, axis=1)
        return np.concatenate(
            [0.5 * step * (before + after) / inertia, (after - before) / inertia], axis=1)

    @cached_property
    def _integrator(self) -> VariationalIntegrator:
        return VariationalIntegrator(
            self.problem.model, free_parameters=tuple((int(k),) for k in self.problem.free))

    @cached_property
    def _inertia(self) -> np.ndarray:
        """Each joint's own inertia where the motion begins, at the prior, shape ``(n,)``.

        It does not depend on what is sought, or small inertias would be rewarded.
        """
        segment = self.problem.segments[0]
        still = np.zeros((2, 2, segment.torque.shape[1]))
        trajectory = DrivenTrajectory(still[0], segment.torque[:2], segment.step)
        slopes = self._integrator.defects(self.problem.parameters.prior, trajectory, still).here[0]
        joints = still.shape[2]
        return np.diagonal(slopes[:joints, joints:]).copy()

    @cached_property
    def _torque(self) -> np.ndarray:
        return np.vstack([segment.torque for segment in self.problem.segments])

    def _middle(
        self, states: np.ndarray, values: np.ndarray, nodes: Acceleration
    ) -> Acceleration:
        """Accelerations half-way to the next node; what is said of the last one counts not."""
        h = np.concatenate([
            np.full(len(segment.t), segment.step) for segment in self.problem.segments])[:, None]
        joints = states.shape[1] // 2
        after = np.roll(states, -1, axis=0)
        q = 0.5 * (states + after)[:, :joints] + h / 8.0 * (states - after)[:, joints:]
        v = 0.5 * (states + after)[:, joints:] + h / 8.0 * (
            nodes.value - np.roll(nodes.value, -1, axis=0))
        torque = 0.5 * (self._torque + np.roll(self._torque, -1, axis=0))
        return self._accelerations('middle', np.hstack([q, v]), values, torque)

    def _accelerations(
        self, where: str, states: np.ndarray, values: np.ndarray, torque: np.ndarray
    ) -> Acceleration:
        """Accelerations and derivatives; those asked for last are kept."""
        if where in self._last:
            before, with_values, found = self._last[where]
            if np.array_equal(before, states) and np.array_equal(with_values, values):
                return found
        joints = states.shape[1] // 2
        found = linearised_accelerations(
            self.problem.model, self.full(values), states[:, :joints], states[:, joints:],
            torque, self.problem.free)
        self._last[where] = states.copy(), values.copy(), found
        return found

    def _observed(
        self, index: int, observation: Observation, states: np.ndarray, values: np.ndarray
    ) -> tuple[Residuals, np.ndarray]:
        """Weighted residuals of a sensor, and its innovations in its own units."""
        segment, first = self.problem.segments[index], self.first_nodes[index]
        part = slice(first, self.first_nodes[index + 1])
        nodes = None
        if observation.sensor.needs_acceleration:
            nodes = _part(self._accelerations('nodes', states, values, self._torque), part)
        between = Between.of(segment, observation.t)
        reading, slopes = between.read(
            observation.sensor, self.problem.model.robot, states[part], nodes,
            self.full(values), self.problem.free)
        innovation = observation.values - reading
        # What is missing has no residual, and no derivative.
        weight = np.where(np.isfinite(innovation), 1.0 / observation.sigma, 0.0)
        residual = np.where(np.isfinite(innovation), -innovation / observation.sigma, 0.0)
        here, after, by_values = (
            None if slope is None else weight[..., None] * slope for slope in slopes)
        assert here is not None and by_values is not None
        return Residuals.of(
            first + between.node, residual, here, after, by_values, self.huber), innovation


def _part(acceleration: Acceleration, part: slice) -> Acceleration:
    return Acceleration(*(array[part] for array in acceleration))


def _defect(
    h: float, x0: np.ndarray, x1: np.ndarray, a0: Acceleration, a1: Acceleration,
    middle: Acceleration | None,
) -> tuple[np.ndarray, _Slopes]:
    """By how much neighbouring states contradict the dynamics, and the derivatives of that.

    Args:
        h: Step in [s].
        x0: States at K nodes, shape ``(K, 2 n)``.
        x1: States at the next ones.
        a0: Accelerations there.
        a1: Accelerations at the next ones.
        middle: Accelerations half-way; None for the trapezoidal rule.
    """
    joints = x0.shape[1] // 2
    mean = _mean_of_ends(x0, x1, a0, a1)
    if middle is not None:
        mean = _with_middle(h, mean, a0, a1, middle)
    own = np.eye(2 * joints)
    here, after, by_parameters = (
        np.concatenate([-h * v, -h * a], axis=1)
        for v, a in zip(mean.velocity_slopes, mean.acceleration_slopes, strict=True))
    change = h * np.hstack([mean.velocity, mean.acceleration])
    return x1 - x0 - change, _Slopes(here - own, after + own, by_parameters)


class _Mean(NamedTuple):
    """Velocity and acceleration that carry a state to the next one.

    Attributes:
        velocity: Shape ``(K, n)``.
        acceleration: Shape ``(K, n)``.
        velocity_slopes: By the state before, the one after and parameters.
        acceleration_slopes: By the state before, the one after and parameters.
    """

    velocity: np.ndarray
    acceleration: np.ndarray
    velocity_slopes: _Slopes
    acceleration_slopes: _Slopes


def _mean_of_ends(
    x0: np.ndarray, x1: np.ndarray, a0: Acceleration, a1: Acceleration
) -> _Mean:
    """The trapezoidal rule."""
    joints = x0.shape[1] // 2
    speed = np.zeros((len(x0), joints, 2 * joints))
    speed[:, :, joints:] = 0.5 * np.eye(joints)
    before, after = (
        0.5 * np.concatenate([a.by_position, a.by_velocity], axis=2) for a in (a0, a1))
    return _Mean(
        0.5 * (x0 + x1)[:, joints:], 0.5 * (a0.value + a1.value),
        _Slopes(speed, speed, np.zeros_like(a0.by_parameters)),
        _Slopes(before, after, 0.5 * (a0.by_parameters + a1.by_parameters)))


def _with_middle(
    h: float, ends: _Mean, a0: Acceleration, a1: Acceleration, middle: Acceleration
) -> _Mean:
    """The rule of Simpson, with the middle of Hermite's polynomial."""
    joints = a0.value.shape[1]
    half = np.zeros((joints, 2 * joints))
    half[:, :joints] = 0.5 * np.eye(joints)
    lean = h / 4.0 * ends.velocity_slopes.here
    q = half + lean, half - lean, np.zeros_like(a0.by_parameters)
    by_state, by_next, _ = ends.acceleration_slopes
    v = [
        of_ends + h / 4.0 * change for of_ends, change in zip(ends.velocity_slopes, (
            by_state, -by_next, 0.5 * (a0.by_parameters - a1.by_parameters)), strict=True)]
    a = [middle.by_position @ by_q + middle.by_velocity @ by_v
         for by_q, by_v in zip(q, v, strict=True)]
    a[2] += middle.by_parameters
    velocity = ends.velocity + h / 8.0 * (a0.value - a1.value)
    return _Mean(
        (ends.velocity + 2.0 * velocity) / 3.0,
        (ends.acceleration + 2.0 * middle.value) / 3.0,
        *(_Slopes(*((end + 2.0 * mid) / 3.0 for end, mid in zip(of_ends, of_middle, strict=True)))
          for of_ends, of_middle in (
              (ends.velocity_slopes, v), (ends.acceleration_slopes, a))))
