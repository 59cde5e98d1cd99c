"""The golden arm as coarse encoders see it, for tests and benchmarks of noise in the regressor."""

from __future__ import annotations

import numpy as np

from support import golden_problems as simulated
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.recording.dataset import Dataset
from sysid_ros.recording.processing.low_pass import LowPass
from sysid_ros.recording.processing.signals import ParallelFilter

RATE = 1000.0
BITS = 12
# Wide enough to let the noise of the accelerations through.
PARALLEL_FILTER = ParallelFilter(cutoff=40.0, decimate_to=100.0)
POSITION_FILTER = LowPass(cutoff=80.0)


def true_motion(samples: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The golden arm's kind of motion at 1 kHz."""
    finer = round(RATE / simulated.RATE)
    rng = np.random.default_rng(99)
    shape = (3, 3)
    omega = 2.0 * np.pi * rng.uniform(0.2, 1.2, shape)
    phase, amplitude = rng.uniform(0.0, 2.0 * np.pi, shape), rng.uniform(0.2, 0.5, shape)
    angle = omega * np.arange(samples)[:, None, None] / (finer * simulated.RATE) + phase
    return (
        (amplitude * np.sin(angle)).sum(axis=2), (amplitude * omega * np.cos(angle)).sum(axis=2),
        -(amplitude * omega**2 * np.sin(angle)).sum(axis=2),
    )


def coarse_dataset(
    seed: int, seconds: float, *, bits: int = BITS, noise: float = 0.01,
    segments: tuple[tuple[int, int], ...] | None = None,
) -> Dataset:
    """Torques with white noise, and what differentiating rounded positions gives.

    Args:
        seed: Of the noise of encoders and torques.
        seconds: Length.
        bits: Resolution of the encoders per turn.
        noise: Torque noise in parts of each joint's torque.
        segments: Half-open ranges of samples; one by default.
    """
    golden = simulated.golden('arm')
    samples = round(seconds * RATE)
    q, v, a = true_motion(samples)
    tau = golden.model.torque(golden.truth, q, v, a)
    rng = np.random.default_rng(seed)
    tau = tau + noise * np.sqrt(np.mean(tau**2, axis=0)) * rng.normal(size=tau.shape)
    step = 2.0 * np.pi / 2**bits
    jitter = step * (rng.uniform(-0.5, 0.5, 3) + 0.3 * rng.normal(size=q.shape))
    measured = POSITION_FILTER.apply(np.round((q + jitter) / step) * step, RATE)
    speed = np.gradient(measured, 1.0 / RATE, axis=0)
    return Dataset(
        golden.model.robot.joint_names, np.arange(samples) / RATE, measured, speed,
        np.gradient(speed, 1.0 / RATE, axis=0), tau, np.ones(tau.shape, dtype=bool),
        segments or ((0, samples),), RATE, source='coarse encoders',
    )


def coarse_problem(seed: int, seconds: float, **options: object) -> RegressionProblem:
    """Rows of such a data set."""
    golden = simulated.golden('arm')
    problem = RegressionProblem.from_dataset(
        golden.model, coarse_dataset(seed, seconds, **options), parallel_filter=PARALLEL_FILTER
    )
    problem.__dict__['base'] = golden.problem().base
    return problem


def truth(problem: RegressionProblem) -> np.ndarray:
    """True base parameters, shape ``(r,)``."""
    return problem.base.values(simulated.golden('arm').truth)
