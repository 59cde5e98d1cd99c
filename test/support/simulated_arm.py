"""A simulated arm whose motion is a closed formula, for tests and benchmarks of signals."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from importlib.resources import files

import numpy as np

from sysid_ros.mechanics.joint_terms.terms import CoulombFriction, TorqueOffset, ViscousFriction
from sysid_ros.mechanics.regressor.regressor import inertial_regressor
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.recording.dataset import Dataset
from sysid_ros.recording.recording import Channel, Recording
from sysid_ros.robot.inertia import central_inertia, inertial_parameters
from sysid_ros.robot.model import RobotModel

DESCRIPTION = files('sysid_ros.demo').joinpath('demo_arm.urdf').read_text(encoding='utf-8')
_HARMONICS = 5


@dataclass(frozen=True, eq=False)
class SimulatedArm:
    """An arm whose masses are up to 20 % and centres of mass 2 cm off its description.

    Attributes:
        seed: Of the true parameters and the motion.
        description: URDF of the prior.
        friction: Largest dry and viscous friction, in parts of the rigid-body torque.
    """

    seed: int
    description: str = DESCRIPTION
    friction: float = 0.3
    model: TorqueModel = field(init=False)

    def __post_init__(self) -> None:
        terms = (ViscousFriction(), CoulombFriction(), TorqueOffset())
        model = TorqueModel(RobotModel.from_urdf(self.description), terms)
        object.__setattr__(self, 'model', model)
        object.__setattr__(self, '_inertials', self._true_inertials())
        object.__setattr__(self, '_waves', self._random_waves())
        object.__setattr__(self, '_friction', self._true_friction())

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The n joints."""
        return self.model.robot.joint_names

    @property
    def truth(self) -> np.ndarray:
        """True values of the model's parameters, shape ``(p,)``; the offsets are zero."""
        dry, viscous = self._friction
        return np.concatenate([self._inertials, viscous, dry, np.zeros_like(dry)])

    def motion(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Sums of five sines below 1 Hz and their derivatives, ``(T, n)`` each."""
        omega, phase, amplitude = self._waves
        angle = t[:, None, None] * omega + phase
        return (
            (amplitude * np.sin(angle)).sum(axis=2),
            (amplitude * omega * np.cos(angle)).sum(axis=2),
            -(amplitude * omega**2 * np.sin(angle)).sum(axis=2),
        )

    def moved_by(
        self, theta: np.ndarray, scale: float = 1.0, still: tuple[int, ...] = ()
    ) -> SimulatedArm:
        """An arm with other parameters, and amplitudes and frequencies of its motion scaled.

        Args:
            theta: True parameters as :attr:`truth`, offsets not looked at, shape ``(p,)``.
            scale: Of amplitudes and of frequencies.
            still: Joints that do not move.
        """
        other, joints = replace(self), len(self.joint_names)
        inertials, viscous, dry = np.split(theta[:-joints], [-2 * joints, -joints])
        omega, phase, amplitude = self._waves
        amplitude = scale * amplitude
        amplitude[list(still)] = 0.0
        object.__setattr__(other, '_inertials', inertials)
        object.__setattr__(other, '_friction', (dry, viscous))
        object.__setattr__(other, '_waves', (scale * omega, phase, amplitude))
        return other

    def torque(self, t: np.ndarray) -> np.ndarray:
        """True joint torque, shape ``(T, n)``."""
        q, v, a = self.motion(t)
        dry, viscous = self._friction
        return self.rigid(q, v, a) + dry * np.sign(v) + viscous * v

    def gravity(self, t: np.ndarray) -> np.ndarray:
        """The part of the torque that carries the weight, shape ``(T, n)``."""
        q, _, _ = self.motion(t)
        return self.rigid(q, np.zeros_like(q), np.zeros_like(q))

    def rigid(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Torque of the links alone, shape ``(T, n)``."""
        return inertial_regressor(self.model.robot, q, v, a) @ self._inertials

    def recording(
        self, seconds: float, rate: float, *, delays: np.ndarray | None = None,
        noise: float = 0.01, bits: int | None = None,
    ) -> Recording:
        """Encoders and torques, each torque late by its own delay in [s].

        Args:
            seconds: Length.
            rate: Sampling rate in [Hz].
            delays: Delay of each torque in [s], shape ``(n,)``.
            noise: White torque noise in parts of each joint's torque.
            bits: Resolution of the encoders per turn.
        """
        t = np.arange(round(seconds * rate)) / rate
        q, _, _ = self.motion(t)
        tau = self.torque(t)
        if delays is not None:
            # A delay applies to one joint's torque: every joint is simulated at its own time.
            tau = np.stack([self.torque(t - d)[:, j] for j, d in enumerate(delays)], axis=1)
        random = np.random.default_rng(self.seed + 1000)
        tau += noise * np.sqrt(np.mean(tau**2, axis=0)) * random.normal(size=tau.shape)
        if bits is not None:
            step = 2 * np.pi / 2**bits
            q = np.round(q / step) * step
        channels = (
            Channel('position', self.joint_names, 'rad', t, q),
            Channel('effort', self.joint_names, 'N·m', t, tau),
        )
        return Recording(channels, 'simulated', '')

    def dataset(self, seconds: float = 20.0, rate: float = 100.0, noise: float = 0.01) -> Dataset:
        """Exact motion and noisy torque."""
        source = self.recording(seconds, rate, noise=noise)
        t, tau = source.channel('effort').t, source.channel('effort').values
        return Dataset(
            self.joint_names, t, *self.motion(t), tau, np.ones(tau.shape, dtype=bool),
            ((0, len(t)),), rate, source='simulated',
        )

    def _true_inertials(self) -> np.ndarray:
        random = np.random.default_rng(self.seed)
        values = []
        for phi in self.model.robot.reference_inertials:
            mass, centre, inertia = central_inertia(phi)
            factor = random.uniform(0.8, 1.2)
            shift = random.normal(size=3)
            shift *= 0.02 / np.linalg.norm(shift)
            values.append(inertial_parameters(factor * mass, centre + shift, factor * inertia))
        return np.concatenate(values)

    def _random_waves(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        random = np.random.default_rng(self.seed + 1)
        shape = (len(self.joint_names), _HARMONICS)
        return (
            2 * np.pi * random.uniform(0.1, 0.8, shape), random.uniform(0, 2 * np.pi, shape),
            random.uniform(0.1, 0.4, shape),
        )

    def _true_friction(self) -> tuple[np.ndarray, np.ndarray]:
        random = np.random.default_rng(self.seed + 2)
        size = np.sqrt(np.mean(self.rigid(*self.motion(np.linspace(0, 20, 500))) ** 2, axis=0))
        parts = random.uniform(0.2, 1.0, (2, len(size))) * self.friction
        return parts[0] * size, parts[1] * size
