"""Predict another recording with the parameters of a run, and judge them by it."""

from __future__ import annotations

import argparse
from pathlib import Path

from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.cli.progress import stage
from sysid_ros.estimation.identification import Identification
from sysid_ros.estimation.measurement import Measurement
from sysid_ros.evaluation.contradictions import score_test
from sysid_ros.evaluation.data_findings import DataFindings, delays_of
from sysid_ros.evaluation.evaluation import HeldOut, remarks_on, simulate_held_out
from sysid_ros.evaluation.prediction import predict
from sysid_ros.evaluation.study import FINGERPRINTS
from sysid_ros.evaluation.verdict import judge
from sysid_ros.recording.fingerprint import is_known
from sysid_ros.report.summary import prediction_summary
from sysid_ros.runs.run_folder import RunFolder


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``sysid validate``."""
    parser.add_argument('run_folder', type=Path, metavar='RUN', help="folder of 'sysid fit'")
    parser.add_argument('settings', type=Path, help='settings file of the other recording')
    parser.add_argument(
        '--base', type=Path, help="folder that file names are relative to; the settings file's own"
    )


def run(options: argparse.Namespace) -> ExitCode:
    """Predict, judge, write and print."""
    folder = RunFolder.open(options.run_folder)
    estimate = folder.estimate()
    fitted = folder.identification()
    other = fitted.recording_of(Identification.load(options.settings, options.base))
    with stage('Loading the robot'):
        model = fitted.model()
    with stage('Reading the recording, predicting and simulating it'):
        measured = Measurement.read(other, model).evenly_stamped()
        efforts = measured.identification.effort_findings(model, measured.dataset)
        delays = delays_of(measured.dataset, model)
        held_out = HeldOut.of(measured)
        problem = held_out.problem
        known = estimate.provenance.get(FINGERPRINTS, ())
        unseen = not (
            estimate.has_seen(str(problem.provenance['sha256']))
            or is_known(measured.recording, model.robot.joint_names, known))
        prediction = predict(estimate, problem, held_out=unseen)
        simulation, remarks = simulate_held_out(estimate, held_out)
        remarks = (*remarks, *remarks_on(estimate, held_out))
        data = DataFindings(
            efforts, () if delays is None else (delays,)
        ).without_excluded_clock(score_test(problem, estimate))
    verdict = judge(
        estimate, prediction, simulation=simulation if unseen else None,
        data=data,
    ).with_remarks(remarks)
    name = options.settings.stem
    folder.write_validation(name, estimate, verdict, problem, simulation)
    print(prediction_summary(verdict, prediction, simulation))
    print(f'Written to {folder.path / f"verdict_{name}.json"}')
    return ExitCode.OK if verdict.committable else ExitCode.NOT_COMMITTABLE
