"""Short-horizon forward simulation: does the robot move as measured under the measured torque?

Stretches of half a second are started from the measured state and simulated open loop. Torque
prediction asks for the inverse: here errors of inertia and friction show as motion, which is what
a simulator is used for. Longer horizons measure how errors grow rather than how large they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sysid_ros.errors import RecordingError
from sysid_ros.mechanics.forward_dynamics import ForwardDynamics
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.numerics.forked import Forked
from sysid_ros.numerics.json_values import finite_or_null
from sysid_ros.recording.dataset import Dataset

HORIZON = 0.5
MOST_STRETCHES = 60
# Longest step of the integration in [s].
_STEP = 5e-3
# A measured rate is a little off its round number, which must not double the steps.
_WHOLE = 1.001
# A joint that leaves the velocities of the recording this many times behind has diverged.
_RUNAWAY = 100.0
# Joints whose constant-velocity prediction is nearer than this, in [rad] or [m], do not move.
_STILL = 1e-3


@dataclass(frozen=True, eq=False)
class SimulationErrors:
    """Errors of simulated stretches against the measured motion.

    Attributes:
        position: Root mean square per joint in [rad] or [m], shape ``(n,)``; infinite when a
            stretch has diverged.
        velocity: The same of velocities.
        diverged: Stretches that could not be simulated to their end.
        indefinite: Stretches whose mass matrix is not positive definite at the start.
        path: Simulated positions, shape ``(S, k, n)``; NaN after a stretch has diverged.
    """

    position: np.ndarray
    velocity: np.ndarray
    diverged: int
    indefinite: int
    path: np.ndarray

    @classmethod
    def of(
        cls, path: np.ndarray, speed: np.ndarray, q: np.ndarray, v: np.ndarray,
        indefinite: int = 0,
    ) -> SimulationErrors:
        """Errors of simulated positions and velocities, shape ``(S, k, n)`` each.

        Args:
            path: Simulated positions; NaN after a stretch has diverged.
            speed: Simulated velocities.
            q: Measured positions.
            v: Measured velocities.
            indefinite: Stretches that could not start.
        """
        return cls(
            position=_rms(path - q), velocity=_rms(speed - v),
            diverged=int(np.isnan(path).any(axis=(1, 2)).sum()) - indefinite,
            indefinite=indefinite, path=path)

    def problem(self) -> str | None:
        """The reason why there is no simulation, in words; None when there is one."""
        stretches = len(self.path)
        if self.indefinite:
            return (
                f'the mass matrix is not positive definite in {self.indefinite} of {stretches} '
                'measured poses, so torques would accelerate joints backwards'
            )
        if self.diverged:
            return f'{self.diverged} of {stretches} stretches diverge'
        return None


@dataclass(frozen=True, eq=False)
class Simulation:
    """Stretches of a recording, simulated with a candidate and with the prior.

    Attributes:
        joint_names: The n joints.
        units: ``'rad'`` or ``'m'`` of each.
        t: Time since the start of a stretch in [s], shape ``(k,)``.
        starts: Time at which each stretch starts in [s], shape ``(S,)``.
        measured: Measured positions, shape ``(S, k, n)``.
        candidate: Errors of the estimate.
        prior: Errors of the parameters before identification.
        coasting: Errors of the trivial prediction: the velocity stays what it was.
        moving: Joints that move enough to be told apart from standing, shape ``(n,)``.
        source: Where the motion came from.
        under: What drove it, in words.
    """

    joint_names: tuple[str, ...]
    units: tuple[str, ...]
    t: np.ndarray
    starts: np.ndarray
    measured: np.ndarray
    candidate: SimulationErrors
    prior: SimulationErrors
    coasting: SimulationErrors
    moving: np.ndarray
    source: str
    under: str = 'the measured torque'

    @property
    def horizon(self) -> float:
        """Length of a stretch in [s]."""
        return float(self.t[-1])

    def relative(self, errors: SimulationErrors) -> float:
        """Position error over that of coasting, root mean square over the moving joints.

        Joints count alike, whatever their units and inertias; 1 is no better than to assume
        constant velocity. NaN when no joint moves.
        """
        if not self.moving.any():
            return float('nan')
        ratio = errors.position[self.moving] / self.coasting.position[self.moving]
        return float(np.sqrt(np.mean(ratio**2)))

    def relative_where_both_end(self) -> tuple[float, float]:
        """What :meth:`relative` says of candidate and prior, by stretches that neither leaves.

        NaN where there are none, or no joint moves.
        """
        ends = np.isfinite(self.candidate.path + self.prior.path).all(axis=(1, 2))
        if not (ends.any() and self.moving.any()):
            return float('nan'), float('nan')
        coasting, *errors = (
            _rms(each.path[ends] - self.measured[ends])[self.moving]
            for each in (self.coasting, self.candidate, self.prior))
        candidate, prior = (float(np.sqrt(np.mean((one / coasting)**2))) for one in errors)
        return candidate, prior

    def to_json(self) -> dict[str, Any]:
        """Plain values; infinite errors as null."""
        return {
            'horizon': self.horizon, 'stretches': len(self.starts), 'source': self.source,
            'joints': list(self.joint_names), 'units': list(self.units),
            'moving': self.moving.tolist(),
            **{
                name: {
                    'relative_to_coasting': finite_or_null([self.relative(errors)])[0],
                    'position_rms': finite_or_null(errors.position),
                    'velocity_rms': finite_or_null(errors.velocity),
                    'diverged': errors.diverged, 'indefinite': errors.indefinite,
                }
                for name, errors in (
                    ('candidate', self.candidate), ('prior', self.prior),
                    ('coasting', self.coasting),
                )
            },
        }


def simulate(
    model: TorqueModel, values: np.ndarray, dataset: Dataset, *, horizon: float = HORIZON,
    most: int = MOST_STRETCHES,
) -> Simulation:
    """Simulate stretches of a recording with parameters and with their prior.

    Args:
        model: Torque model; its joints must be the dataset's, in order.
        values: Parameters of the candidate, shape ``(p,)``.
        dataset: Measured motion and torque, not filtered in parallel.
        horizon: Length of a stretch in [s].
        most: Most stretches; they are spread evenly over the recording.

    Returns:
        Errors of both, and of assuming constant velocity.

    Raises:
        RecordingError: The joints differ, or no stretch has usable torques of all joints.
    """
    stretches = _Segments.of(model, dataset, horizon, most)
    # Side by side: the prior takes as long as the candidate.
    with Forked(lambda: stretches.run(
            ForwardDynamics(model, model.parameters.prior))) as other:
        candidate = stretches.errors(*stretches.run(ForwardDynamics(model, values)))
        prior = stretches.errors(*other.result())
    limbs = np.arange(len(dataset.joint_names)) >= stretches.base
    return simulation_of(
        model, stretches.t, stretches.starts, stretches.q[..., limbs], stretches.v[..., limbs],
        candidate, prior, source=dataset.source, seen=limbs)


def simulation_of(
    model: TorqueModel, t: np.ndarray, starts: np.ndarray, q: np.ndarray, v: np.ndarray,
    candidate: SimulationErrors, prior: SimulationErrors, *, source: str,
    under: str = 'the measured torque', seen: np.ndarray | None = None,
) -> Simulation:
    """Simulated stretches beside what coasting makes of them.

    Args:
        model: The torque model.
        t: Time since the start of a stretch in [s], shape ``(k,)``.
        starts: When each stretch starts in [s], shape ``(S,)``.
        q: Measured positions, shape ``(S, k, n)``.
        v: Measured velocities, shape ``(S, k, n)``.
        candidate: Errors of the estimate.
        prior: Errors of the parameters before identification.
        source: Where the motion came from.
        under: What drove it, in words.
        seen: Which of the model's joints these are, a mask of shape ``(m,)``; all by default.
    """
    robot = model.robot
    joints = [
        joint for k, joint in enumerate(zip(robot.joint_names, robot.joint_types, strict=True))
        if seen is None or seen[k]]
    # Every joint goes on with the velocity it has at the start.
    coasting = SimulationErrors.of(
        q[:, :1] + v[:, :1] * t[:, None], np.broadcast_to(v[:, :1], v.shape), q, v)
    return Simulation(
        joint_names=tuple(name for name, _ in joints),
        units=tuple('m' if kind == 'prismatic' else 'rad' for _, kind in joints),
        t=t, starts=starts, measured=q, candidate=candidate, prior=prior, coasting=coasting,
        moving=coasting.position > _STILL, source=source, under=under)


@dataclass(frozen=True, eq=False)
class _Segments:
    """Measured stretches, cut into intervals that are integrated in one or several steps.

    Attributes:
        q: Measured positions at the ends of the intervals, shape ``(S, k, n)``.
        v: Measured velocities there, same shape.
        drive: Mean torque of every step, shape ``(S, k - 1, steps, n)``.
            Of a base that floats it is the measured acceleration, which the base follows.
        step: Step of the integration in [s].
        starts: Time at which each stretch starts in [s], shape ``(S,)``.
        base: How many joints a base that floats has; they come first.
    """

    q: np.ndarray
    v: np.ndarray
    drive: np.ndarray
    step: float
    starts: np.ndarray
    base: int

    @classmethod
    def of(cls, model: TorqueModel, dataset: Dataset, horizon: float, most: int) -> _Segments:
        """At most ``most`` segments of the data, ``horizon`` [s] long, and their torques."""
        if dataset.joint_names != model.robot.joint_names:
            raise RecordingError(
                'the data holds other joints than the model', where=dataset.source,
                found=', '.join(dataset.joint_names), allowed=', '.join(model.robot.joint_names),
            )
        # Whole samples to an interval at high rates, several steps to a sample at low ones.
        stride = max(int(_STEP * dataset.rate * _WHOLE), 1)
        steps = max(int(np.ceil(1.0 / (_STEP * dataset.rate * _WHOLE))), 1)
        intervals = max(round(horizon * dataset.rate / stride), 1)
        first = _first_rows(dataset, stride * intervals, horizon, most)
        index = first[:, None] + np.arange(stride * intervals + 1)
        ends, base = index[:, ::stride], len(model.robot.base_joints)
        driven = np.hstack([dataset.a[:, :base], dataset.tau[:, base:]])
        return cls(
            q=dataset.q[ends], v=dataset.v[ends],
            drive=_mean_torque(driven[index], stride, steps),
            step=stride / (steps * dataset.rate), starts=dataset.t[first], base=base,
        )

    @property
    def t(self) -> np.ndarray:
        """Time since the start of a stretch in [s], shape ``(k,)``."""
        return np.arange(self.q.shape[1]) * self.step * self.drive.shape[2]

    def errors(
        self, path: np.ndarray, speed: np.ndarray, indefinite: np.ndarray
    ) -> SimulationErrors:
        """Errors of what :meth:`run` gives."""
        limbs = slice(self.base, None)
        return SimulationErrors.of(
            path[..., limbs], speed[..., limbs], self.q[..., limbs], self.v[..., limbs],
            int(indefinite.sum()))

    def run(self, dynamics: ForwardDynamics) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Simulate all stretches side by side.

        Returns:
            Positions and velocities, shape ``(S, k, n)`` each, NaN after a stretch has diverged,
            and stretches whose mass matrix is not positive definite at the start, ``(S,)``.
        """
        path, speed = np.full_like(self.q, np.nan), np.full_like(self.v, np.nan)
        path[:, 0], speed[:, 0] = self.q[:, 0], self.v[:, 0]
        indefinite = np.linalg.eigvalsh(dynamics.mass_matrix(self.q[:, 0]))[:, 0] <= 0.0
        alive = np.flatnonzero(~indefinite)
        fastest = _RUNAWAY * (1.0 + np.abs(self.v).max())
        for k in range(self.drive.shape[1]):
            if not len(alive):
                break
            q, v, lost = self._advance(
                dynamics, path[alive, k], speed[alive, k], self.drive[alive, k]
            )
            with np.errstate(invalid='ignore'):
                lost |= ~(np.abs(v) <= fastest).all(axis=1)
            alive, q, v = alive[~lost], q[~lost], v[~lost]
            path[alive, k + 1], speed[alive, k + 1] = q, v
            for found, measured in ((path, self.q), (speed, self.v)):
                found[alive, k + 1, :self.base] = measured[alive, k + 1, :self.base]
        return path, speed, indefinite

    def _advance(
        self, dynamics: ForwardDynamics, q: np.ndarray, v: np.ndarray, drive: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """One interval of some stretches: positions, velocities, and which cannot go on."""
        lost = np.zeros(len(q), dtype=bool)
        try:
            for tau in np.moveaxis(drive, 1, 0):
                q, v, unsettled = dynamics.step(q, v, tau, self.step)
                lost |= unsettled
        except np.linalg.LinAlgError:
            lost[:] = True
        return q, v, lost



def _first_rows(dataset: Dataset, length: int, horizon: float, most: int) -> np.ndarray:
    """First rows of the stretches, one after the other, shape ``(S,)``."""
    rows = np.array([
        row for start, stop in dataset.segments for row in range(start, stop - length, length)
        if dataset.mask[row:row + length + 1].all()
    ], dtype=int)
    if not len(rows):
        raise RecordingError(
            f'no stretch of {horizon:g} s has usable torques of all joints',
            where=dataset.source or None,
            fix='Record longer without gaps and without saturated torques',
        )
    chosen = np.linspace(0, len(rows) - 1, min(most, len(rows)))
    return rows[np.unique(chosen.round().astype(int))]


def _mean_torque(tau: np.ndarray, stride: int, steps: int) -> np.ndarray:
    """Mean of the torque, taken as straight between samples, over every step.

    Args:
        tau: Samples of the stretches, shape ``(S, stride · (k - 1) + 1, n)``.
        stride: Samples per interval; 1 where an interval has several steps.
        steps: Steps per interval.

    Returns:
        Shape ``(S, k - 1, steps, n)``.
    """
    if steps > 1:
        inside = ((np.arange(steps) + 0.5) / steps)[:, None]
        return tau[:, :-1, None] + inside * np.diff(tau, axis=1)[:, :, None]
    middle = 0.5 * (tau[:, 1:] + tau[:, :-1])
    return middle.reshape(len(tau), -1, 1, stride, tau.shape[2]).mean(axis=3)


def _rms(error: np.ndarray) -> np.ndarray:
    """Root mean square per joint without the common start; infinite where a value is missing."""
    with np.errstate(over='ignore'):
        rms = np.sqrt(np.mean(error[:, 1:] ** 2, axis=(0, 1)))
    return np.where(np.isnan(rms), np.inf, rms)
