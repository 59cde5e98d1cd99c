"""Shadow test: would a candidate have predicted the torques of the last seconds better?

The robot runs on the current parameters while both sets predict what it measures, through the
same filters. What the candidate was fitted to does not count.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pydantic import Field

from sysid_ros.errors import RecordingError
from sysid_ros.estimation.estimate import ResidualStatistics
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.regression.noise import residual_statistics
from sysid_ros.evaluation.objections import clearly_worse_joints
from sysid_ros.evaluation.prediction import TorquePrediction
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.recording.checks.motion_range import MotionRange
from sysid_ros.recording.dataset import Dataset
from sysid_ros.recording.processing.signals import ParallelFilter
from sysid_ros.robot.parameters import ParameterSet
from sysid_ros.settings import StrictSettings


class ShadowSettings(StrictSettings):
    """Settings of a shadow test.

    Attributes:
        least_motion: Time in which some joint moves, in [s].
        velocity: Slower joints count as standing still, in [rad/s] or [m/s].
    """

    least_motion: float = Field(default=2.0, gt=0.0)
    velocity: float = Field(default=0.05, gt=0.0)


@dataclass(frozen=True, eq=False)
class Candidate:
    """Parameters and the model that they belong to."""

    model: TorqueModel
    parameters: ParameterSet

    def statistics(
        self, dataset: Dataset, parallel: ParallelFilter,
        minimum_velocity: float | tuple[float, ...],
    ) -> ResidualStatistics:
        """Errors of the torques that it predicts."""
        problem = RegressionProblem.from_dataset(
            self.model, dataset, parallel_filter=parallel, minimum_velocity=minimum_velocity)
        names = self.model.parameters.names
        return residual_statistics(
            problem, np.array([self.parameters[name] for name in names]))


@dataclass(frozen=True, eq=False)
class Shadow:
    """How a candidate did beside the current parameters.

    Attributes:
        candidate: Errors of the candidate.
        current: Errors of what runs now.
        motion: Time in which some joint moved, in [s].
        still: Joints that did not move, whose parameters were tested the less.
        needed: Largest error of the candidate that is better beyond chance, in parts of the
            current one's.
        worse: Joints that it predicts clearly worse, with both errors.
        beyond: In what the motion goes beyond the one that the candidate was fitted to.
    """

    candidate: ResidualStatistics
    current: ResidualStatistics
    motion: float
    still: tuple[str, ...]
    needed: float
    worse: tuple[str, ...]
    beyond: tuple[str, ...] = ()

    @property
    def won(self) -> bool:
        """Whether the candidate is better beyond chance, and clearly worse in no joint."""
        better = self.candidate.relative_error < self.needed * self.current.relative_error
        return bool(better) and not self.worse

    @property
    def sentence(self) -> str:
        """The outcome for people."""
        mine, before = self.candidate.relative_error, self.current.relative_error
        text = (
            f'In {self.motion:.3g} s of motion the candidate predicts torques with '
            f'{100 * mine:.3g} % error, the current parameters with {100 * before:.3g} %'
        )
        if self.worse:
            text += f'; it is clearly worse in {", ".join(self.worse)}'
        elif not self.won:
            text += f'; beyond chance would be less than {100 * self.needed * before:.3g} %'
        if self.still:
            text += f'; {", ".join(self.still)} did not move'
        if self.beyond:
            further = ', '.join(self.beyond)
            text += f'; beyond the motion that the candidate was fitted to: {further}'
        return f'{text}.'


def shadow_test(
    candidate: Candidate,
    current: Candidate,
    dataset: Dataset,
    *,
    parallel_filter: ParallelFilter | None = None,
    minimum_velocity: float | tuple[float, ...] = 0.0,
    settings: ShadowSettings | None = None,
    fitted: MotionRange | None = None,
) -> Shadow:
    """Predict the torques of live data with a candidate and with the current parameters.

    Args:
        candidate: What may be committed.
        current: What runs now.
        dataset: Data that the candidate was not fitted to.
        parallel_filter: Low-pass and decimation of torques, measured and predicted.
        minimum_velocity: Rows whose joint is slower do not count, in [rad/s] or [m/s].
        settings: What is asked of the motion.
        fitted: How far, how fast and under which load the motion went that the candidate was
            fitted to; None where it is not known.

    Returns:
        Errors of both, and who won.

    Raises:
        RecordingError: The robot hardly moved; how much is needed is said.
    """
    settings = settings or ShadowSettings()
    moving = dataset.moving(settings.velocity)
    motion = float(moving.any(axis=1).sum() / dataset.rate)
    if motion < settings.least_motion:
        raise RecordingError(
            'the robot hardly moved, so that nothing can be told',
            found=f'{motion:.3g} s of motion',
            allowed=f'at least {settings.least_motion:g} s faster than {settings.velocity:g} rad/s '
            'or m/s', fix='Move the robot as in its work, and commit right after',
        )
    parallel = parallel_filter or ParallelFilter()
    mine, before = (
        each.statistics(dataset, parallel, minimum_velocity) for each in (candidate, current))
    prediction = TorquePrediction(
        dataset.joint_names, mine, before, held_out=True, source=dataset.source)
    return Shadow(
        candidate=mine, current=before, motion=motion,
        still=tuple(dataset.joint_names[k] for k in np.flatnonzero(~np.any(moving, axis=0))),
        needed=prediction.needed,
        worse=tuple(clearly_worse_joints(prediction)),
        beyond=() if fitted is None else MotionRange.of(dataset).beyond(fitted),
    )
