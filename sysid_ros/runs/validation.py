"""One more recording, predicted with the parameters of a run, and the verdict by it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sysid_ros.estimation.identification import Identification
from sysid_ros.estimation.measurement import Measurement
from sysid_ros.evaluation.contradictions import score_test
from sysid_ros.evaluation.data_findings import DataFindings, delays_of
from sysid_ros.evaluation.evaluation import HeldOut, remarks_on, simulate_held_out
from sysid_ros.evaluation.motion_prediction import predict_motion
from sysid_ros.evaluation.prediction import TorquePrediction, predict
from sysid_ros.evaluation.study import FINGERPRINTS, quality_of
from sysid_ros.evaluation.verdict import Verdict, judge
from sysid_ros.recording.checks.effort import EffortFinding
from sysid_ros.recording.fingerprint import is_known
from sysid_ros.recording.processing.delay import TorqueDelays
from sysid_ros.report.brief import prediction_brief
from sysid_ros.report.report_source import HELD_OUT, TRAINING
from sysid_ros.report.summary import prediction_summary
from sysid_ros.runs.judged import digests
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
        setup = run.setup().recording_of(other)
        model = setup.model
    with stage('Reading the recording, predicting and simulating it'):
        measured = Measurement.read(setup).evenly_stamped()
        held_out = HeldOut.of(measured)
        efforts: tuple[EffortFinding, ...] = ()
        delays: TorqueDelays | None = None
        if held_out.loop is None:
            efforts = measured.setup.effort_findings(measured.dataset)
            delays = delays_of(measured.dataset, model)
        problem = held_out.problem
        known = estimate.provenance.get(FINGERPRINTS, ())
        unseen = not (
            estimate.has_seen(str(problem.provenance['sha256']))
            or is_known(measured.recording, model.robot.joint_names, known))
        prediction = (
            predict(estimate, problem, held_out=unseen) if held_out.loop is None
            else predict_motion(estimate, held_out.loop, held_out=unseen))
        simulation, remarks = simulate_held_out(estimate, held_out)
        remarks = (*remarks, *remarks_on(estimate, held_out))
        data = DataFindings(efforts, () if delays is None else (delays,))
        if held_out.loop is None:
            data = data.without_excluded_clock(score_test(problem, estimate))
    verdict = judge(
        estimate, prediction, simulation=simulation if unseen else None,
        data=data,
    ).with_remarks(remarks)
    file = run.write_validation(name, estimate, verdict, problem, simulation)
    note = write_report(run.path, validation_source(
        f'{run.path.resolve().name}: {name}', estimate, verdict, prediction, held_out,
        simulation, quality_of(measured, efforts, delays),
        origin(run.path, command, digests(run.path))), name)
    label = HELD_OUT if unseen else TRAINING
    return Validation(
        name, verdict, prediction,
        prediction_brief(verdict, {label: prediction}, estimate, simulation),
        prediction_summary(verdict, prediction, simulation), file, note)
