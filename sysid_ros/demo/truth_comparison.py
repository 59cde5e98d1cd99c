"""What a fit of a simulated robot found, beside its truth, which no fit knows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_ros.demo.hidden_robot import HiddenRobot
from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.estimate import Estimate
from sysid_ros.estimation.measurement import Measurement
from sysid_ros.mechanics.base_parameters import base_parameters
from sysid_ros.mechanics.torque_model import TorqueModel

# A base parameter is looked at where all but this part of it is of masses and drive inertias.
_NEGLIGIBLE = 1e-9
_STATES = 500


@dataclass(frozen=True, eq=False)
class TruthComparison:
    """Torques and base parameters of a description and of a fit beside the true ones.

    Attributes:
        joint_names: The n joints.
        torque: Root mean square of the true torque at states that nobody played, in [N·m] or [N],
            shape ``(n,)``.
        described: Root mean square error of the description there, shape ``(n,)``.
        identified: The same of the fit.
        names: Base parameters of bodies and drive inertias that the data tells, r of them.
        errors: Their errors in standard deviations, shape ``(r,)``.
    """

    joint_names: tuple[str, ...]
    torque: np.ndarray
    described: np.ndarray
    identified: np.ndarray
    names: tuple[str, ...]
    errors: np.ndarray

    @classmethod
    def of(
        cls, hidden: HiddenRobot, measurement: Measurement, estimate: Estimate
    ) -> TruthComparison:
        """Compare a fit with the truth.

        Args:
            hidden: The robot that was simulated.
            measurement: The recording that was fitted.
            estimate: What was found.

        Raises:
            ConfigurationError: The fit is of another robot.
        """
        robot = measurement.setup.model.robot
        if robot.joint_names != hidden.robot.joint_names or (
                robot.body_names != hidden.robot.body_names):
            raise ConfigurationError(
                'the fit is of another robot', found=', '.join(robot.joint_names),
                allowed=', '.join(hidden.robot.joint_names),
                fix='Name the description and the joints that were simulated')
        parameters = estimate.parameters
        model = measurement.setup.model.at(parameters.values)
        states = _states(measurement)
        truth = _true_torque(hidden, *states)

        def error(values: np.ndarray) -> np.ndarray:
            return _rms(model.at(values).torque(values, *states) - truth)

        return cls(
            robot.joint_names, _rms(truth), error(parameters.prior), error(parameters.values),
            *_base_errors(hidden, model, estimate))

    @property
    def within(self) -> int:
        """Base parameters within twice their standard deviation of the truth."""
        return int((np.abs(self.errors) <= 2.0).sum())


def _rms(values: np.ndarray) -> np.ndarray:
    return np.sqrt(np.mean(values**2, axis=0))


def _states(measurement: Measurement) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """States that mix instants of the recording, each joint by itself, ``(T, n)`` each."""
    data = measurement.motion()
    random = np.random.default_rng(0)
    shape = (_STATES, data.q.shape[1])
    at, columns = random.integers(len(data.t), size=shape), np.arange(shape[1])
    return data.q[at, columns], data.v[at, columns], data.a[at, columns]


def _true_torque(
    hidden: HiddenRobot, q: np.ndarray, v: np.ndarray, a: np.ndarray
) -> np.ndarray:
    """Torques in sliding, shape ``(T, n)``."""
    truth = hidden.truth
    torque = TorqueModel(hidden.robot).torque(truth.inertials.ravel(), q, v, a)
    return torque + truth.armature * a + truth.viscous * v + truth.coulomb * np.sign(v)


def _base_errors(
    hidden: HiddenRobot, model: TorqueModel, estimate: Estimate
) -> tuple[tuple[str, ...], np.ndarray]:
    """Names and errors, in standard deviations, of what bodies and drive inertias make up."""
    parameters = estimate.parameters
    base = base_parameters(model, free=parameters.free)
    deviation = estimate.base_standard_deviation()
    if base.rank != len(deviation):
        return (), np.empty(0)
    theta = np.array(parameters.values, dtype=float)
    size = 10 * len(hidden.robot.body_names)
    theta[:size] = hidden.truth.inertials.ravel()
    known = np.zeros(len(theta), dtype=bool)
    known[:size] = True
    for joint, armature in zip(hidden.robot.joint_names, hidden.truth.armature, strict=True):
        if f'{joint}.armature' in parameters.names:
            k = parameters.names.index(f'{joint}.armature')
            theta[k], known[k] = armature, True
    others = np.abs(base.matrix[:, ~known]).max(axis=1, initial=0.0)
    kept = (others < _NEGLIGIBLE) & np.isfinite(deviation) & (deviation > 0.0)
    errors = (base.values(parameters.values) - base.values(theta))[kept] / deviation[kept]
    return tuple(np.array(base.equations)[kept].tolist()), errors
