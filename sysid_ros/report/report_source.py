"""What a report is made from: an estimate, its evidence, and the rows that it was tried on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath

import numpy as np

from sysid_ros.estimation.estimate import Estimate
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.regression.conditioning import Conditioning
from sysid_ros.evaluation.comparison import Comparison
from sysid_ros.evaluation.cross_validation import CrossValidation
from sysid_ros.evaluation.model_choice import ModelChoice
from sysid_ros.evaluation.prediction import TorquePrediction
from sysid_ros.evaluation.simulation import Simulation
from sysid_ros.evaluation.verdict import Verdict
from sysid_ros.numerics.least_squares.damped import Iteration
from sysid_ros.recording.checks.quality import DataQuality
from sysid_ros.recording.dataset import Dataset

#: Rows that were kept from the fit, and those that were fitted.
HELD_OUT, TRAINING = 'held-out', 'training'


@dataclass(frozen=True)
class Origin:
    """Where a run came from, for those who have to repeat it.

    Attributes:
        created: When, as ISO 8601 in UTC.
        author: Who; empty where that is not said.
        command: Command line; empty where it was no command.
        versions: Versions by package.
        digests: SHA-256 by file.
        settings: The settings file as text.
    """

    created: str = ''
    command: str = ''
    versions: Mapping[str, str] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)
    settings: str = ''
    author: str = ''


@dataclass(frozen=True, eq=False)
class ReportSource:
    """All that sections of a report are made from.

    Attributes:
        name: Of the run, as its folder is called.
        verdict: The verdict.
        estimate: The estimate.
        rows: Rows by what they are called; those to judge by come first.
        predictions: Errors of torque on them, by the same names.
        motion: Motion to show; None where there is none in memory.
        qualities: What can be said of each recording that was fitted.
        judged_qualities: The same of other recordings that it is judged by.
        simulation: Simulated stretches, if there are any.
        conditioning: How well the motion tells base parameters apart, if it is known.
        folds: Cross-validation, if it was asked for.
        comparison: Other estimators beside it, if they were compared.
        choice: What the settings left open, and how it was chosen.
        iterations: The log of its searches, where it is a fit of states and parameters.
        origin: Where the run came from.
    """

    name: str
    verdict: Verdict
    estimate: Estimate
    rows: Mapping[str, RegressionProblem]
    predictions: Mapping[str, TorquePrediction]
    motion: Dataset | None = None
    qualities: Sequence[DataQuality] = ()
    judged_qualities: Sequence[DataQuality] = ()
    simulation: Simulation | None = None
    conditioning: Conditioning | None = None
    folds: CrossValidation | None = None
    comparison: Comparison | None = None
    choice: ModelChoice | None = None
    iterations: Sequence[Iteration] = ()
    origin: Origin = field(default_factory=Origin)

    @property
    def judged(self) -> RegressionProblem:
        """Rows to judge by: held-out ones where there are any."""
        return next(iter(self.rows.values()))

    @property
    def prediction(self) -> TorquePrediction:
        """Errors on the rows to judge by."""
        return next(iter(self.predictions.values()))

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The joints."""
        return self.judged.model.robot.joint_names

    @property
    def torque_units(self) -> tuple[str, ...]:
        """``'N'`` or ``'N·m'`` of each joint."""
        kinds = self.judged.model.robot.joint_types
        return tuple('N' if kind == 'prismatic' else 'N·m' for kind in kinds)

    @property
    def position_units(self) -> tuple[str, ...]:
        """``'m'`` or ``'rad'`` of each joint."""
        return tuple('m' if unit == 'N' else 'rad' for unit in self.torque_units)

    @property
    def torque_sigma(self) -> np.ndarray:
        """RMS of the fitted residuals of torque, shape ``(n,)``; NaN where motion was fitted."""
        rms = self.estimate.residuals.rms_per_joint
        return np.full_like(rms, np.nan) if self.prediction.what == 'motion' else rms

    def recording_of(self, rows: str) -> str:
        """Names of the files that rows came from, without their folders."""
        return file_names(str(self.rows[rows].provenance.get('source', '')))

    def values_for(self, problem: RegressionProblem) -> np.ndarray:
        """Estimated parameters in the order of a problem, shape ``(p,)``."""
        return np.array([self.estimate.parameters[name] for name in problem.parameters.names])


def file_names(source: str) -> str:
    """Names of the files of a source, without the folders of whoever recorded them."""
    return ', '.join(PurePath(part).name or part for part in source.split(', '))
