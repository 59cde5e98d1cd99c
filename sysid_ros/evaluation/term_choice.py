"""Drive inertia, springs and coupled drives, where the settings leave them open."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.estimation.measurements import Measurements
from sysid_ros.estimation.outer_iteration import OuterIteration
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.regression.conditioning import WARNED, Conditioning
from sysid_ros.evaluation.candidates import (
    Ranking,
    candidate_errors,
    errors_side_by_side,
    ranked,
)
from sysid_ros.mechanics.configuration import TermSettings
from sysid_ros.mechanics.joint_terms.coupled_axis import CoupledAxisSettings
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.recording.dataset import Dataset
from sysid_ros.recording.description import RecordingSettings
from sysid_ros.recording.processing.choice import Choice

_WHAT = {'armature': 'drive inertia', 'stiffness': 'springs'}


def choose_terms(
    measured: Measurements, stop: float, estimator: OuterIteration, *, coupled: bool = True
) -> tuple[tuple[TermSettings, tuple[Choice, ...]], tuple[str, ...]]:
    """Joint terms with drives that couple joints, and with drive inertia and springs that help.

    A motor that turns with several joints, as the transmission says, has friction and inertia of
    its own. Drive inertia and springs are taken where other and faster motion is predicted better
    with them, and where the motion tells them from the links.

    Args:
        measured: The recordings.
        stop: Where the data to fit ends, as a fraction of each recording.
        estimator: The estimator that will fit.
        coupled: Whether drives that couple joints may be taken.

    Returns:
        The terms and what was chosen; and what could not be fitted.

    Raises:
        ConfigurationError: There are fewer rows than folds.
        EstimationError: There are too few rows.
        RecordingError: A part of the recordings holds too little.
    """
    setup, robot = measured.setup, measured.model.robot
    terms, chosen = setup.identification.robot().terms, []
    axes = _coupled_axes(setup.settings.recording, robot.joint_names) if coupled else ()
    if axes and 'coupled_axes' not in terms.model_fields_set:
        terms = terms.model_copy(update={'coupled_axes': axes})
        chosen.append(Choice(
            'robot.terms.coupled_axes', [axis.model_dump() for axis in axes],
            'motors that turn with several joints, as the transmission says'))
    open_keys = [
        key for key in _WHAT if key not in terms.model_fields_set
        and not getattr(terms.described(robot), key)]
    if not open_keys:
        return (terms, tuple(chosen)), ()
    added, ranking = _best_addition(setup, terms, open_keys, measured.motion(0.0, stop), estimator)
    chosen += [Choice(
        f'robot.terms.{key}', value,
        f'{_WHAT[key]}: other and faster motion is predicted {100.0 * ranking.gain:.2g} % better'
        + (' with both' if len(added) > 1 else ''))
        for key, value in added.items()]
    return (terms.model_copy(update=added), tuple(chosen)), ranking.unfitted


def _best_addition(
    setup: FitSetup, terms: TermSettings, open_keys: list[str], dataset: Dataset,
    estimator: OuterIteration,
) -> tuple[dict[str, str], Ranking]:
    """Keys of terms that predict other and faster motion best, and the ranking that says so.

    Args:
        setup: The settings and the robot.
        terms: Joint terms without the added ones.
        open_keys: Keys of terms that may be added.
        dataset: The data.
        estimator: The estimator that will fit.
    """
    robot = setup.model.robot
    tried: list[dict[str, str]] = []
    problems: list[RegressionProblem] = []
    for keys in _subsets(open_keys):
        added = dict.fromkeys(keys, 'all')
        joint_terms = terms.model_copy(update=added).described(robot).build(robot)
        problem = FitSetup(
            setup.identification, TorqueModel(robot, joint_terms)).problem(dataset)
        if not problems or _well_conditioned(problem, problems[0]):
            tried.append(added)
            problems.append(problem)
    speeds = setup.speeds(dataset)
    ranking = ranked(errors_side_by_side([
        partial(candidate_errors, ' and '.join(map(_WHAT.__getitem__, added)) or 'neither',
                problem, speeds, estimator)
        for added, problem in zip(tried, problems, strict=True)]))
    return tried[ranking.best or 0], ranking


def _well_conditioned(problem: RegressionProblem, plain: RegressionProblem) -> bool:
    """Whether the motion tells added terms from links, or the links alone are ill-conditioned.

    Drive inertia beside the inertia of a link that turns about the same axis may predict well and
    leave both unknown.
    """
    number = Conditioning.of(problem).number
    return number <= WARNED or number <= Conditioning.of(plain).number


def _subsets(keys: list[str]) -> list[tuple[str, ...]]:
    """None of them, each alone, and all: the simplest first."""
    return [(), *((key,) for key in keys), *([tuple(keys)] if len(keys) > 1 else [])]


def _coupled_axes(
    recording: RecordingSettings, joint_names: tuple[str, ...]
) -> tuple[CoupledAxisSettings, ...]:
    """Axes of the motors that turn with several joints."""
    if recording.transmission is None:
        return ()
    axes = []
    for joint, row in zip(
        recording.joints, recording.transmission.build().motor_per_joint, strict=True
    ):
        weights: dict[str, Any] = {
            name: float(ratio / np.abs(row).max())
            for name, ratio in zip(recording.joints, row, strict=True) if ratio != 0.0}
        if len(weights) > 1 and set(weights) <= set(joint_names):
            axes.append(CoupledAxisSettings(name=f'motor_of_{joint}', weights=weights))
    return tuple(axes)
