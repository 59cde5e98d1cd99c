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
from sysid_ros.estimation.identification import Identification
from sysid_ros.estimation.online import OnlineIdentification, OnlineSettings
from sysid_ros.estimation.payload import identify_payload
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.excitation.configuration import ExcitationPlan
from sysid_ros.excitation.preparation import stopping_time
from sysid_ros.recording.live_window import LiveWindow
from sysid_ros.recording.write import write_bag
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
_TRAJECTORY = 'trajectory: {step: 0.005, estimate_noise: true}'
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


def _recorded(folder: Path, robot: str, fit: str = '') -> Identification:
    """Record a robot of ``SETTINGS`` that moves as its description says, with noise.

    Args:
        folder: Where its files are written.
        robot: Its name.
        fit: The section of the settings that says how it is fitted.
    """
    for name, text in _FILES.items():
        (folder / name).write_text(text, encoding='utf-8')
    settings = folder / 'settings.yaml'
    settings.write_text(
        f'automatic: false\n{SETTINGS[robot]}\nfit: {{{fit}}}\n', encoding='utf-8')
    identification = Identification.load(settings)
    model = identification.model()
    t, q, v, a = _motion(len(model.robot.joint_names))
    tau = model.torque(model.parameters.values, q, v, a)
    tau += _NOISE * np.std(tau, axis=0) * np.random.default_rng(0).normal(size=tau.shape)
    write_bag(folder / 'motion', t, model.robot.joint_names, q, v, tau)
    return identification


def _motion(joints: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Time ``(T,)`` and sums of two sines ``(T, n)`` with their derivatives."""
    t = np.arange(round(_SECONDS * _RATE)) / _RATE
    omega = 2.0 * np.pi * (0.3 + 0.17 * np.arange(2 * joints).reshape(joints, 2))
    angle = omega * t[:, None, None]
    return (
        t, 0.3 * np.sin(angle).sum(axis=2), 0.3 * (omega * np.cos(angle)).sum(axis=2),
        -0.3 * (omega**2 * np.sin(angle)).sum(axis=2))


def fit_small(robot: str, estimator: str, folder: Path) -> None:
    """``sysid fit`` of a small robot.

    Args:
        robot: One of ``SETTINGS``.
        estimator: Name of the estimator, or ``'all'``.
        folder: Empty folder, for the recording and the run.
    """
    fit = _TRAJECTORY if estimator in TRAJECTORY_ESTIMATORS else ''
    fit_to_folder(
        _recorded(folder, robot, fit), folder / 'run', estimator=estimator, holdout=_HOLDOUT)


def _payload(folder: Path) -> None:
    identification = _recorded(folder, 'plain_arm')
    model = identification.model()
    problem: RegressionProblem = identification.problem(model, identification.dataset(model))
    identify_payload(problem, problem)


def _online(folder: Path) -> None:
    """Follow a robot while it moves."""
    identification = _recorded(folder, 'plain_arm')
    model = identification.model()
    follower = OnlineIdentification(identification, model, OnlineSettings(warm_up=2.0))
    t, q, v, a = _motion(len(model.robot.joint_names))
    tau = model.torque(model.parameters.values, q, v, a)
    for end in np.arange(1.0, _SECONDS + 0.5):
        rows = (t > follower.since - 1.0) & (t <= end)
        follower.take(LiveWindow(
            model.robot.joint_names, t[rows], q[rows], v[rows], tau[rows], 1.0))


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
    Workload('online identification', _online),
    Workload('payload', _payload),
)
