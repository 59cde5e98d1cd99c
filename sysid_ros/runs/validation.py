"""One more recording, predicted with the parameters of a run, and the verdict by it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from sysid_ros.errors import SysidError
from sysid_ros.estimation.estimate import Estimate
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.estimation.identification import Identification
from sysid_ros.estimation.measurement import Measurement
from sysid_ros.estimation.measurements import Measurements
from sysid_ros.estimation.payload.known import LoadFinding, find_load
from sysid_ros.estimation.payload.weighing import weighing_of
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.regression.noise import residual_statistics
from sysid_ros.evaluation.contradictions import score_test
from sysid_ros.evaluation.data_findings import DataFindings, delays_of
from sysid_ros.evaluation.data_objections import pattern_objections
from sysid_ros.evaluation.evaluation import HeldOut, remarks_on, simulate_held_out, with_scores
from sysid_ros.evaluation.motion_prediction import predict_motion
from sysid_ros.evaluation.objections import OVERFIT
from sysid_ros.evaluation.prediction import TorquePrediction, predict
from sysid_ros.evaluation.residual_patterns import residual_patterns
from sysid_ros.evaluation.simulation import Simulation
from sysid_ros.evaluation.study import FINGERPRINTS
from sysid_ros.evaluation.undeclared_load import undeclared_load
from sysid_ros.evaluation.verdict import Verdict, judge
from sysid_ros.recording.checks.effort_finding import EffortFinding
from sysid_ros.recording.fingerprint import is_known
from sysid_ros.recording.processing.choice import too_coarse, without_filters
from sysid_ros.recording.processing.torque_delays import TorqueDelays
from sysid_ros.release.whole_folder import whole_folder
from sysid_ros.report.brief import prediction_brief
from sysid_ros.report.report_source import HELD_OUT, TRAINING
from sysid_ros.report.summary import prediction_summary
from sysid_ros.runs.judged import digests, objections_since
from sysid_ros.runs.report_files import origin, validation_source, write_report
from sysid_ros.runs.run_folder import RunFolder
from sysid_ros.runs.stages import Stage, silent


@dataclass(frozen=True, eq=False)
class Validation:
    """How well a run predicts one more recording.

    Attributes:
        name: Name of the recording, which goes into the names of the files.
        verdict: The verdict by it.
        prediction: Errors of torque or of simulated motion; ``prediction.held_out`` is False where
            the recording was fitted.
        brief: What a terminal shows of it.
        summary: All of it for people.
        file: The verdict, as it was written beside the run.
        note: Why there is no page, in words; empty where there is one.
    """

    name: str
    verdict: Verdict
    prediction: TorquePrediction
    brief: str
    summary: str
    file: Path
    note: str = ''

    def __str__(self) -> str:
        return self.brief


def validate_run(
    run: RunFolder, other: Identification, name: str, *, command: str = '', stage: Stage = silent
) -> Validation:
    """Predict a recording with the parameters of a run, judge them by it, and write that.

    Args:
        run: The run.
        other: Settings of the recording; its robot is that of the run.
        name: Goes into the names of the files.
        command: Command line, for the provenance in the report.
        stage: Entered for each step, with what is being done in words.

    Raises:
        SysidError: A file of the run, the settings or the recording cannot be used.
    """
    estimate = run.estimate()
    with stage('Loading the robot'):
        setup = run.setup()
    with stage('Reading the recording, predicting and simulating it'):
        measured = Measurement.read(setup.recording_of(other)).evenly_stamped()
        held_out = HeldOut.of(measured).driven_by(estimate.parameters)
        evidence = _Evidence.of(estimate, measured, held_out)
        prediction, simulation = evidence.prediction, evidence.simulation
        if prediction.held_out and held_out.loop is None:
            evidence = evidence.by_rows(estimate, held_out.problem)
            evidence = evidence.with_loads(run, setup, estimate, held_out.problem)
    unseen = prediction.held_out
    verdict = judge(
        estimate, prediction, simulation=simulation if unseen else None, data=evidence.data,
    ).with_objections(objections_since(run.path)).with_remarks(evidence.remarks)
    source = validation_source(
        f'{run.path.resolve().name}: {name}', estimate, verdict, prediction, held_out,
        simulation, evidence.data.qualities[0], origin(run.path, command, digests(run.path)))
    with whole_folder(run.path) as part:
        written = RunFolder(part, run.path)
        file = written.write_validation(name, estimate, verdict, held_out, simulation)
        note = write_report(part, source, name)
    label = HELD_OUT if unseen else TRAINING
    return Validation(
        name, verdict, prediction,
        prediction_brief(verdict, {label: prediction}, estimate, simulation),
        prediction_summary(verdict, prediction, simulation), run.path / file.name, note)


@dataclass(frozen=True, eq=False)
class _Evidence:
    """What a recording says of an estimate, and of itself."""

    prediction: TorquePrediction
    simulation: Simulation | None
    data: DataFindings
    remarks: tuple[str, ...]

    @classmethod
    def of(cls, estimate: Estimate, measured: Measurement, held_out: HeldOut) -> _Evidence:
        """Errors of torque or of simulated motion, and what the signals look like."""
        problem = held_out.problem
        efforts: tuple[EffortFinding, ...] = ()
        delays: TorqueDelays | None = None
        if held_out.loop is None:
            efforts = measured.setup.effort_findings(measured.dataset)
            delays = delays_of(measured.dataset, measured.setup.model)
        known = estimate.provenance.get(FINGERPRINTS, ())
        unseen = not (
            estimate.has_seen(str(problem.provenance['sha256']))
            or is_known(measured.recording, measured.recorded_names, known))
        prediction = (
            predict(estimate, problem, held_out=unseen) if held_out.loop is None
            else predict_motion(estimate, held_out.loop, held_out=unseen))
        simulation, remarks = simulate_held_out(estimate, held_out)
        return cls(
            prediction, simulation,
            DataFindings(
                efforts, () if delays is None else (delays,),
                qualities=(measured.quality(efforts, delays),), judged_still=held_out.still),
            (*remarks, *remarks_on(estimate, held_out), *_coarse(measured)))

    def by_rows(self, estimate: Estimate, problem: RegressionProblem) -> _Evidence:
        """With what the rows contradict, whatever the masses are, and what residuals follow.

        Rows that were not fitted are believed as far as their own residuals go. What residuals
        follow is only a remark here: the masses were not adapted to them.
        """
        if not estimate.status.found_values or not problem.counts.any():
            return self
        values = estimate.parameters.values
        own = replace(estimate, residuals=residual_statistics(problem, values))
        followed = tuple(
            objection.reason for objection in pattern_objections(residual_patterns(
                problem, values)))
        return replace(
            self, data=with_scores(self.data, problem, score_test(
                problem, own, tools=False)),
            remarks=(*self.remarks, *followed))

    def with_loads(
        self, run: RunFolder, setup: FitSetup, estimate: Estimate, problem: RegressionProblem
    ) -> _Evidence:
        """With the load of known mass, and one that explains why the rows are predicted worse."""
        if not estimate.status.found_values:
            return self
        values, trained = estimate.parameters.values, estimate.residuals.relative_error
        try:
            data = replace(
                self.data, load=_known_load(setup, values, problem),
                weighing=weighing_of(setup.settings.known, problem, values))
            if self.prediction.candidate.relative_error > OVERFIT * trained:
                fitted = Measurements.read(setup, run.others()).problem()
                data = replace(
                    data, undeclared_load=undeclared_load(fitted, problem, values, trained))
        except SysidError as error:
            return replace(self, remarks=(
                *self.remarks, f'Its load was not compared with that of the fit: {error}'))
        return replace(self, data=data)


def _coarse(measured: Measurement) -> tuple[str, ...]:
    """That positions do not tell accelerations; nothing was fitted to these, so it is a remark."""
    if measured.bag is not None:
        return ()
    plain = measured.with_processing(without_filters(measured.setup.settings.processing))
    joints = too_coarse(plain.dataset)
    return (
        f'The positions of {", ".join(joints)} are too coarse in the data to judge by: what they '
        'say of inertia is mostly noise.',) if joints else ()


def _known_load(
    setup: FitSetup, values: np.ndarray, problem: RegressionProblem
) -> LoadFinding | None:
    """A load of known mass, by these rows without it; None where the run knows of none."""
    known = setup.settings.known
    if known.payload is None:
        return None
    other = Identification.load(setup.identification.base / known.payload.recording)
    loaded = Measurement.read(setup.recording_of(other)).evenly_stamped().problem()
    return find_load(known.payload, known.accuracy, loaded, problem, values)
