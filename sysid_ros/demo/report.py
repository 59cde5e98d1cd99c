"""What the demo came to: a table for people, figures, and the same as numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, model_validator

from sysid_ros.demo.operator_results import OperatorResults, ResultsPart
from sysid_ros.demo.outcome import Outcome
from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.estimate import ResidualStatistics
from sysid_ros.estimation.measurement import Measurement
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.regression.noise import residual_statistics
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.report.figures import torque_strips
from sysid_ros.report.sections.demonstration import DemonstratedCheck, DemonstratedError
from sysid_ros.robot.model import RobotModel
from sysid_ros.runs.run_folder import RunFolder
from sysid_ros.runs.sources import load_source

#: What the demo shows: errors of what was identified, in times those of the truth.
TORQUE_BAR, TRACKING_BAR = 1.3, 1.2

# Files of the fit that belong into the report, beside those of every demonstration.
_KEPT = {
    'torque_training.png': 'Torques of the motion that was fitted',
    'identified.urdf': 'The robot, identified'}


class _Commit(ResultsPart):
    candidate_error: float
    current_error: float
    revision: str


class _Tracking(ResultsPart):
    rms: Annotated[float, Field(gt=0.0)]
    typical: Annotated[float, Field(gt=0.0)]


class DemonstrationResults(OperatorResults):
    """What the operator of a demonstration with torque sensors has written.

    Attributes:
        commit: Errors of the shadow test in parts of the torque, and the revision it led to.
        tracking: Errors of tracking the same motion by each model in [rad], their root mean
            square and their median over seconds.
    """

    commit: _Commit
    tracking: Mapping[Literal['prior', 'revision', 'truth'], _Tracking]

    @model_validator(mode='after')
    def _check(self) -> DemonstrationResults:
        if len(self.tracking) != 3:
            raise ConfigurationError(
                'is not what a whole demonstration leaves', where='tracking',
                found=f'errors by {len(self.tracking)} models', allowed='errors by 3',
                fix='Run the demonstration once more')
        return self


@dataclass(frozen=True, eq=False)
class HeldOutErrors:
    """Torque errors on a motion that nothing was fitted to.

    Attributes:
        problem: Its rows.
        prior: Of the description.
        identified: Of the estimate.
        truth: Of the true parameters through the same filters: the noise floor.
    """

    problem: RegressionProblem
    prior: ResidualStatistics
    identified: ResidualStatistics
    truth: ResidualStatistics


def held_out_errors(folder: Path, estimate: str, motion: str) -> HeldOutErrors:
    """Predict the torques of a recording by the prior, an estimate and the truth.

    Args:
        folder: Folder of the demo.
        estimate: Id of the estimate.
        motion: Id of the recording.
    """
    run = RunFolder.open(folder / 'data' / 'estimates' / estimate)
    setup = run.setup()
    recording = load_source(folder / 'data' / 'recordings' / motion)
    problem = Measurement.read(setup.recording_of(recording)).problem()
    names = problem.parameters.names
    found = run.estimate().parameters
    truth = TorqueModel(
        RobotModel.from_description(folder / 'truth.xml'),
        setup.identification.robot().terms.build(setup.model.robot)).parameters
    return HeldOutErrors(
        problem, *(
            residual_statistics(problem, np.array([values[name] for name in names]))
            for values in (problem.parameters, found, truth)
        ))


def report(folder: Path) -> tuple[str, bool]:
    """Judge a demo that has come to its end, and write ``report/``.

    Args:
        folder: Folder of the demo.

    Returns:
        The summary for people, and whether everything is as it should be.

    Raises:
        ConfigurationError: The operator's results cannot be read.
    """
    results = DemonstrationResults.read(folder / 'results.json')
    errors = held_out_errors(folder, results.estimate, 'held_out')
    estimate = RunFolder.open(folder / 'data' / 'estimates' / results.estimate).estimate()
    tracking, typical = (
        {name: getattr(error, figure) for name, error in results.tracking.items()}
        for figure in ('rms', 'typical'))
    figures = {
        'torque_error': {
            'prior': errors.prior.relative_error,
            'identified': errors.identified.relative_error,
            'noise_floor': errors.truth.relative_error,
        },
        'tracking_error': tracking,
        'typical_tracking_error': typical,
        'consistent_links': sum(margin > 0.0 for margin in estimate.margins.values()),
        'links': len(estimate.margins),
        'torque_ratio': errors.identified.relative_error / errors.truth.relative_error,
        'tracking_ratio': tracking['revision'] / tracking['truth'],
        'typical_tracking_ratio': typical['revision'] / typical['truth'],
    }
    outcome = Outcome(
        errors.problem.model.robot.name, results.estimate, _errors(figures),
        _checks(results, figures), figures, _KEPT, {
            'torque_held_out.png': (
                'Torques of a motion that was not fitted', torque_strips(
                    errors.problem, estimate, title='torques of the motion that was not fitted'))})
    return outcome.write(folder), outcome.met


def _errors(figures: dict[str, Any]) -> list[DemonstratedError]:
    """Errors by each set of parameters."""
    torque = {
        'prior': figures['torque_error']['prior'],
        'revision': figures['torque_error']['identified'],
        'truth': figures['torque_error']['noise_floor']}
    return [
        DemonstratedError(
            name=name, unit=unit, prior=scale * found['prior'],
            identified=scale * found['revision'], truth=scale * found['truth'], ratio=ratio,
            at_most=most)
        for name, unit, scale, found, ratio, most in (
            ('torque error of an unseen motion', '%', 100.0, torque, figures['torque_ratio'],
             TORQUE_BAR),
            ('tracking error', 'mrad', 1e3, figures['tracking_error'], figures['tracking_ratio'],
             TRACKING_BAR),
            ('tracking error in the median of its seconds', 'mrad', 1e3,
             figures['typical_tracking_error'], figures['typical_tracking_ratio'], None))]


def _checks(results: DemonstrationResults, figures: dict[str, Any]) -> list[DemonstratedCheck]:
    """What should be."""
    current, commit = results.current, results.commit
    return [DemonstratedCheck(sentence=sentence, met=met) for sentence, met in (
        (f'the torque error is at most {TORQUE_BAR} times that of the truth',
         figures['torque_ratio'] <= TORQUE_BAR),
        (f'the tracking error is at most {TRACKING_BAR} times that by the truth',
         figures['tracking_ratio'] <= TRACKING_BAR),
        (f'{figures["consistent_links"]} of {figures["links"]} links are physically consistent',
         figures['consistent_links'] == figures['links']),
        ('the verdict allowed the commit', results.committable),
        (f'the shadow test was won: {100.0 * commit.candidate_error:.2f} % against '
         f'{100.0 * commit.current_error:.2f} %', commit.candidate_error < commit.current_error),
        (f'the controller took revision {commit.revision}, and after the rollback '
         f'{current.revision}, which holds what {current.restored or "nothing"} held',
         results.restores))]
