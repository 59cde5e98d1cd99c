"""Small tasks that call every compiled function as fits, searches and nodes do.

A compiled function is compiled once for each kind of arguments, whatever their size. So a robot
of two or three joints and some seconds of motion stand for all others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

from sysid_ros.estimation.estimator import TRAJECTORY_ESTIMATORS
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.estimation.measurement import Measurement
from sysid_ros.estimation.online.online import OnlineIdentification, OnlineSettings
from sysid_ros.estimation.payload.payload import identify_payload
from sysid_ros.evaluation.live_torque import live_torque
from sysid_ros.excitation.configuration import ExcitationPlan
from sysid_ros.excitation.playback.preparation import stopping_time
from sysid_ros.recording.bag.write import write_bag
from sysid_ros.recording.live.window import LiveWindow
from sysid_ros.runs.fit import ALL, fit_to_folder
from sysid_ros.runs.workload_robots import (
    ARM,
    EXCITATION,
    FOUR_BAR,
    FOUR_BAR_LOOPS,
    PENDULUM,
    SETTINGS,
)

_RATE, _SECONDS, _NOISE, _HOLDOUT = 200.0, 8.0, 0.01, 0.3
_ENCODER_NOISE = 1e-4
_TRAJECTORY = 'trajectory: {{step: 0.005}}, {}: {{estimate_noise: true}}'
_FILES = {
    'arm.urdf': ARM, 'pendulum.urdf': PENDULUM, 'four_bar.urdf': FOUR_BAR,
    'loops.yaml': FOUR_BAR_LOOPS,
}


@dataclass(frozen=True)
class Workload:
    """A task that compiles what it needs.

    Attributes:
        name: What is done, in words.
        run: Does it in an empty folder.
    """

    name: str
    run: Callable[[Path], None] = field(repr=False)


def recorded(
    folder: Path, robot: str, fit: str = '', seconds: float = _SECONDS
) -> FitSetup:
    """Record a robot of ``SETTINGS`` that moves as its description says, with noise.

    Args:
        folder: Where its files are written.
        robot: Its name.
        fit: The section of the settings that says how it is fitted.
        seconds: Length of the recording in [s].
    """
    for name, text in _FILES.items():
        (folder / name).write_text(text, encoding='utf-8')
    settings = folder / 'settings.yaml'
    settings.write_text(
        f'automatic: false\n{SETTINGS[robot]}\nfit: {{{fit}}}\n', encoding='utf-8')
    setup = FitSetup.load(settings)
    model = setup.model
    t, q, v, a = _motion(len(model.robot.joint_names), seconds)
    tau = model.torque(model.parameters.values, q, v, a)
    noise = np.random.default_rng(0).normal(size=(2, *tau.shape))
    tau += _NOISE * np.std(tau, axis=0) * noise[0]
    if 'estimate_noise' in fit:
        # Without any, the levels of noise that are found would have no end.
        q += _ENCODER_NOISE * noise[1]
    write_bag(folder / 'motion', t, model.robot.joint_names, q, v, tau)
    return setup


def _motion(
    joints: int, seconds: float = _SECONDS
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Time ``(T,)`` and sums of two sines ``(T, n)`` with their derivatives."""
    t = np.arange(round(seconds * _RATE)) / _RATE
    omega = 2.0 * np.pi * (0.3 + 0.17 * np.arange(2 * joints).reshape(joints, 2))
    angle = omega * t[:, None, None]
    return (
        t, 0.3 * np.sin(angle).sum(axis=2), 0.3 * (omega * np.cos(angle)).sum(axis=2),
        -0.3 * (omega**2 * np.sin(angle)).sum(axis=2))


def fit_small(robot: str, estimator: str, folder: Path, seconds: float = _SECONDS) -> None:
    """``sysid fit`` of a small robot.

    Args:
        robot: One of ``SETTINGS``.
        estimator: Name of the estimator, or ``'all'``.
        folder: Empty folder, for the recording and the run.
        seconds: Length of the recording in [s].
    """
    fit = _TRAJECTORY.format(estimator) if estimator in TRAJECTORY_ESTIMATORS else ''
    fit_to_folder(
        recorded(folder, robot, fit, seconds).identification, folder / 'run', estimator=estimator,
        holdout=_HOLDOUT)


def identify_small_payload(folder: Path) -> None:
    """Tell the load of a small robot that carries none.

    Args:
        folder: Empty folder, for the recording.
    """
    problem = Measurement.read(recorded(folder, 'plain_arm')).problem()
    identify_payload(problem, problem)


def follow_small_robot(folder: Path) -> None:
    """Follow a small robot row by row, and predict its torques, while it moves.

    Args:
        folder: Empty folder, for its files.
    """
    setup = recorded(folder, 'plain_arm')
    model = setup.model
    follower = OnlineIdentification(setup, OnlineSettings(warm_up=2.0))
    t, q, v, a = _motion(len(model.robot.joint_names))
    tau = model.torque(model.parameters.values, q, v, a)
    for end in np.arange(1.0, _SECONDS + 0.5):
        rows = (t > follower.since - 1.0) & (t <= end)
        window = LiveWindow(
            model.robot.joint_names, t[rows], q[rows], v[rows], tau[rows], 1.0)
        follower.take(window)
    live_torque(window, setup, model.parameters)


def _excitation(folder: Path) -> None:
    """Search a motion, and verify it."""
    (folder / 'arm.urdf').write_text(ARM, encoding='utf-8')
    (folder / 'plan.yaml').write_text(EXCITATION, encoding='utf-8')
    designer = ExcitationPlan.load(folder / 'plan.yaml').designer()
    excitation = designer.design()
    designer.verify(designer.dense(excitation))
    stopping_time(designer, excitation)


def _of_fit(robot: str, estimator: str) -> Workload:
    words = robot.replace('_', ' ')
    return Workload(f'{estimator} of the {words}', partial(fit_small, robot, estimator))


#: Those that take longest first.
WORKLOADS: tuple[Workload, ...] = (
    _of_fit('dry_pendulum', 'discrete'),
    _of_fit('pendulum', 'collocation'),
    _of_fit('four_bar', 'entropic'),
    _of_fit('arm', ALL),
    *(_of_fit('pendulum', name)
      for name in TRAJECTORY_ESTIMATORS if name not in ('discrete', 'collocation')),
    _of_fit('loaded_arm', 'entropic'),
    Workload('excitation', _excitation),
    Workload('online identification', follow_small_robot),
    Workload('payload', identify_small_payload),
)
