"""A campaign: recordings are fitted as they come, and each tells which motion is next."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.linalg

from sysid_ros.errors import ConfigurationError, EstimationError
from sysid_ros.estimation.actuator_commands import with_actuator_torques
from sysid_ros.estimation.data_information import data_information
from sysid_ros.estimation.estimate import Estimate
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.excitation.campaign import CampaignPlanner, Decision, Evidence, WantedAccuracy
from sysid_ros.excitation.design.design import Designer, Progress
from sysid_ros.recording.dataset import Dataset
from sysid_ros.recording.recording import Recording

# Standard deviations of chance by which noise alone may look systematic.
_CHANCE = 3.0


class Campaign:
    """Recordings of one robot, from the first motion to the wanted accuracy.

    Args:
        setup: Settings and torque model that recordings are aligned and fitted by.
        designer: The search for motions of the same robot with the same joint terms.
        wanted: Accuracy at which it ends.
        most_motions: Most motions that are played.

    Attributes:
        estimate: The fit of all recordings so far; None before the first.

    Raises:
        ConfigurationError: Settings and search are of other parameters.
    """

    def __init__(
        self, setup: FitSetup, designer: Designer, wanted: WantedAccuracy | None = None,
        most_motions: int = 6,
    ) -> None:
        names = setup.model.parameters.names
        other = sorted(set(names) ^ set(designer.model.parameters.names))
        if other:
            raise ConfigurationError(
                'recordings have other parameters than motions are designed for',
                found=', '.join(other[:6]),
                fix='Use the same robot and joint terms in both files')
        self._setup = setup
        self._planner = CampaignPlanner(designer, wanted or WantedAccuracy(), most_motions)
        self._datasets: list[Dataset] = []
        self._problem: RegressionProblem | None = None
        self.estimate: Estimate | None = None

    def begin(self, progress: Progress | None = None) -> Decision:
        """The first motion, by the prior alone.

        Args:
            progress: Is told of every beginning of the search for a motion.

        Raises:
            ExcitationError: No motion is allowed at all.
        """
        parameters = self._setup.model.parameters
        return self._planner.decide(
            Evidence(np.zeros((len(parameters),) * 2), parameters.prior), progress)

    def step(self, recording: Recording, progress: Progress | None = None) -> Decision:
        """Fit all recordings so far, and decide.

        Args:
            recording: What was recorded of the last motion.
            progress: Is told of every beginning of the search for a motion.

        Raises:
            RecordingError: It does not fit.
            EstimationError: The fit did not converge.
            ExcitationError: No motion is allowed at all.
        """
        setup = self._setup
        dataset = setup.align(with_actuator_torques(recording, setup.model))
        datasets = [*self._datasets, dataset]
        problem = setup.problem(Dataset.joined(datasets) if self._datasets else dataset)
        estimate = setup.settings.fit.build().fit(problem)
        if not estimate.status.ok:
            raise EstimationError(
                'the campaign cannot go on', found=estimate.status.value,
                fix='See whether the recording can be used: sysid check')
        new = setup.problem(dataset)
        # Of the first recording it is what its own fit leaves, less than of any other.
        before = self.estimate or estimate
        unexplained = _systematic_error(new, before.parameters.values)
        explained = self._expected_error(new)
        # What cannot be used changes nothing.
        self._datasets, self._problem, self.estimate = datasets, problem, estimate
        values = estimate.parameters.values
        return self._planner.decide(Evidence(
            self._information(problem, estimate), values, self._noise(datasets, estimate),
            len(datasets), unexplained, explained), progress)

    def _information(self, problem: RegressionProblem, estimate: Estimate) -> np.ndarray:
        return data_information(problem.at(estimate.parameters.values), estimate.residuals)

    def _noise(self, datasets: Sequence[Dataset], estimate: Estimate) -> np.ndarray:
        """Noise at which rows of a design tell as much as the recordings did, ``(n,)``."""
        residuals, designer = estimate.residuals, self._planner.designer
        rows = designer.settings.rows_per_second * sum(one.duration for one in datasets)
        effective = np.maximum(residuals.effective_rows, 1.0)
        noise = residuals.rms_per_joint * np.sqrt(rows / effective)
        return np.where(noise > 0.0, noise, designer.information.noise)

    def _expected_error(self, new: RegressionProblem) -> float:
        """Relative torque error of a recording that the fit before it lets expect."""
        size = float(np.linalg.norm(np.where(new.usable, new.torque, 0.0)))
        if self._problem is None or self.estimate is None or size == 0.0:
            return 0.0
        values = self.estimate.parameters.values
        evidence = Evidence(self._information(self._problem, self.estimate), values)
        information = self._planner.informed(evidence).information
        factor = np.linalg.cholesky(information.known)
        own = information.base.independent
        rows = new.at(values).factors[:, :, own].reshape(-1, len(own))
        spread = scipy.linalg.solve_triangular(factor, rows.T, lower=True)
        return float(np.linalg.norm(spread)) / size


def _systematic_error(problem: RegressionProblem, values: np.ndarray) -> float:
    r"""Relative torque error that is not white noise, with its chance taken off.

    Neighbouring residuals :math:`e_t, e_{t+1}` share what varies slowly and none of the noise, so
    that the sum of their products is the square of a systematic error; of white noise it has the
    standard deviation :math:`\sqrt{N}\sigma^2`.

    Args:
        problem: Rows, N per joint.
        values: Parameters that predict them, shape ``(p,)``.
    """
    residual = problem.residuals(values)
    size = float(np.linalg.norm(np.where(problem.usable, problem.torque, 0.0)))
    shared = float(np.sum(residual[1:] * residual[:-1]))
    squares = np.sum(residual**2, axis=0)
    chance = np.linalg.norm(squares / np.sqrt(np.maximum(problem.usable.sum(axis=0), 1)))
    systematic = np.sqrt(max(shared - _CHANCE * float(chance), 0.0))
    return float(systematic) / size if size > 0.0 else 0.0
