"""Everything that is known of how good an estimate is, and the verdict on it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from sysid_ros.errors import ModelError, RecordingError
from sysid_ros.estimation.estimate import Estimate
from sysid_ros.estimation.measurement import Measurement
from sysid_ros.estimation.measurements import Measurements
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.trajectory.solution import TrajectorySolution
from sysid_ros.evaluation.bound_cost import bound_cost
from sysid_ros.evaluation.common_scale import common_scale, common_scale_of_bodies
from sysid_ros.evaluation.contradictions import ScoreTest, score_products, score_test
from sysid_ros.evaluation.counterweights import counterweights
from sysid_ros.evaluation.cross_validation import CrossValidation
from sysid_ros.evaluation.data_findings import NO_FINDINGS, DataFindings, still_joints
from sysid_ros.evaluation.departures import departures
from sysid_ros.evaluation.disturbances import Disturbances, row_times, unexplained
from sysid_ros.evaluation.faster_motion import FASTER_MOTION, FasterMotion
from sysid_ros.evaluation.motion_prediction import OpenLoop, predict_motion, simulate_commands
from sysid_ros.evaluation.objections import OVERFIT
from sysid_ros.evaluation.prediction import TorquePrediction, predict
from sysid_ros.evaluation.repeated_motion import is_repeated
from sysid_ros.evaluation.residual_patterns import drifting_joints, residual_patterns
from sysid_ros.evaluation.reversed_position import find_reversed_position
from sysid_ros.evaluation.simulation import Simulation, simulate
from sysid_ros.evaluation.undeclared_load import UndeclaredLoad, load_in_one, undeclared_load
from sysid_ros.evaluation.verdict import Verdict, judge
from sysid_ros.mechanics.base_parameters import feels_weight
from sysid_ros.numerics.forked import Forked
from sysid_ros.recording.bag.storage import UNCHECKED
from sysid_ros.recording.checks.motion_range import MotionRange
from sysid_ros.recording.dataset import Dataset
from sysid_ros.robot.parameters import ParameterSet

#: Relative standard deviations to which base parameters are well, and barely, identified.
KNOWN = (0.1, 0.3)
#: Keys of a provenance: how far the motion goes that was fitted, and the one that was judged by.
FITTED_RANGE, JUDGED_RANGE = 'fitted_range', 'judged_range'
#: Key of a provenance: damping and friction that come closest to laws of joints over that motion.
CLOSEST_FRICTION = 'closest_friction'


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Data that was kept from a fit.

    Attributes:
        problem: Rows to predict, filtered as the fitted ones.
        dataset: Motion and torque to simulate, not filtered in parallel.
        loop: What is simulated under commands where no torque was measured.
        still: Joints that did not move.
        measured: What it is a part of; None where it was not read from recordings.
        part: From where to where, as fractions of each recording.
    """

    problem: RegressionProblem
    dataset: Dataset
    loop: OpenLoop | None = None
    still: tuple[str, ...] = ()
    measured: Measurements | None = None
    part: tuple[float, float] = (0.0, 1.0)

    @classmethod
    def of(
        cls, measured: Measurement | Measurements, start: float = 0.0, stop: float = 1.0
    ) -> HeldOut:
        """A part of a recording, or of each of several, from and to fractions of it.

        Raises:
            RecordingError: The part holds too little.
        """
        both = measured if isinstance(measured, Measurements) else Measurements((measured,))
        motions = [part.motion(start, stop) for part in both.parts]
        return cls(
            measured.problem(start, stop), Dataset.joined(motions),
            OpenLoop(both.trajectory_problem(start, stop)) if both.judged_by_motion else None,
            still_joints(motions, both.model), both, (start, stop))

    def driven_by(self, parameters: ParameterSet) -> HeldOut:
        """Held-out data whose rows have torques that commands make by parameters of a fit."""
        if self.measured is None or not self.measured.commanded:
            return self
        return replace(self, problem=self.measured.driven_by(parameters).problem(*self.part))


@dataclass(frozen=True, eq=False)
class Evaluation:
    """An estimate with all evidence.

    Attributes:
        estimate: The estimate.
        training: Errors on the fitted rows.
        held_out: Errors on held-out rows, if there are any.
        folds: Cross-validation within the recording, if it was asked for.
        simulation: Stretches of the held-out data, if there are any.
        verdict: What follows.
        motion: What was found beside the parameters, where states were sought with them.
    """

    estimate: Estimate
    training: TorquePrediction
    held_out: TorquePrediction | None
    folds: CrossValidation | None
    simulation: Simulation | None
    verdict: Verdict
    motion: TrajectorySolution | None = None

    def to_json(self) -> dict[str, Any]:
        """Verdict and evidence as plain values for JSON."""
        return self.verdict.to_json() | {
            'base_parameters': {'sought': len(self.estimate.base_values)} | {
                f'known_to_{100.0 * part:.0f}_percent':
                self.estimate.base_parameters_known(part) for part in KNOWN},
            'training': self.training.to_json(),
            'held_out': None if self.held_out is None else self.held_out.to_json(),
            'folds': None if self.folds is None else self.folds.to_json(),
            'simulation': None if self.simulation is None else self.simulation.to_json(),
        }


def evaluate(
    estimate: Estimate,
    training: RegressionProblem,
    held_out: HeldOut | None = None,
    *,
    folds: CrossValidation | None = None,
    data: DataFindings = NO_FINDINGS,
) -> Evaluation:
    """Try an estimate on all data there is, and judge it.

    Args:
        estimate: The estimate.
        training: Rows it was fitted to.
        held_out: Data to predict and to simulate.
        folds: Cross-validation within the fitted recording.
        data: What the data that was fitted shows by itself.

    Returns:
        The evaluation. Where nothing can be simulated, a remark says why.
    """
    prediction: TorquePrediction | None = None
    simulation: Simulation | None = None
    remarks: tuple[str, ...] = ()
    # The score test takes as long as the simulation, and needs nothing of it.
    with Forked(lambda: (score_products(training, estimate),)) as other:
        if held_out is not None:
            prediction = predict(estimate, held_out.problem)
            simulation, remarks = simulate_held_out(estimate, held_out)
            remarks = (*remarks, *remarks_on(estimate, held_out), *_repetition(training, held_out))
            data = replace(
                data, judged_still=held_out.still,
                bounds=bound_cost(training, held_out.problem, estimate))
        fitted = predict(estimate, training, held_out=False)
        scores = score_test(training, estimate, *other.result())
    data = replace(
        with_scores(data, training, scores),
        departures=(
            *departures(training, estimate, scores), *counterweights(training, estimate),
        ) if data.trusts_description else (),
        common_scale=common_scale(training) if data.trusts_description else None,
        reversed_position=find_reversed_position(training, fitted.candidate.relative_error),
        drifting=drifting_joints(training, estimate.parameters.values))
    if estimate.status.found_values:
        disturbed = _disturbed(estimate, fitted, held_out, prediction)
        data = replace(data, disturbed=disturbed) if disturbed is not None else (
            data.with_undeclared_load(
                _undeclared_load(estimate, training, fitted, held_out, prediction)))
    verdict = judge(
        estimate, prediction, folds=folds, simulation=simulation, training=fitted, data=data,
        patterns=residual_patterns(training, estimate.parameters.values))
    return Evaluation(
        estimate=estimate, training=fitted,
        held_out=prediction, folds=folds, simulation=simulation,
        verdict=verdict.with_remarks(remarks),
    )


def _disturbed(
    estimate: Estimate, fitted: TorquePrediction, held_out: HeldOut | None,
    prediction: TorquePrediction | None,
) -> Disturbances | None:
    """Short stretches of a recording to judge by that hold what it is predicted worse."""
    if held_out is None or held_out.measured is None or prediction is None or not (
            prediction.candidate.relative_error > OVERFIT * fitted.candidate.relative_error):
        return None
    parts = held_out.measured.parts
    if len(parts) > 1 or parts[0].bag is not None:
        return None
    parallel = parts[0].setup.settings.processing.parallel_filter
    return unexplained(
        held_out.problem, estimate.parameters.values, row_times(held_out.dataset, parallel))


def _undeclared_load(
    estimate: Estimate, training: RegressionProblem, fitted: TorquePrediction,
    held_out: HeldOut | None, prediction: TorquePrediction | None,
) -> UndeclaredLoad | None:
    """A load in one of several fitted recordings, or in these or those to judge by."""
    values, trained = estimate.parameters.values, fitted.candidate.relative_error
    found = load_in_one(training, values)
    if found is not None or held_out is None or prediction is None or not (
            prediction.candidate.relative_error > OVERFIT * trained):
        return found
    return undeclared_load(training, held_out.problem, values, trained)


def with_scores(
    data: DataFindings, problem: RegressionProblem, scores: ScoreTest
) -> DataFindings:
    """Findings on data, with what its rows say of themselves.

    Args:
        data: Other findings.
        problem: The rows.
        scores: Their score test.
    """
    return replace(
        data.without_excluded_clock(scores), contradictions=scores.contradictions,
        weightless=not feels_weight(problem.model.robot))


def evaluate_motion(
    estimate: Estimate, training: OpenLoop, held_out: HeldOut | None = None, *,
    data: DataFindings = NO_FINDINGS,
) -> Evaluation:
    """Try an estimate by the motion that it simulates under recorded commands, and judge it.

    Args:
        estimate: The estimate, its residuals those of :meth:`OpenLoop.statistics`.
        training: What it was fitted to.
        held_out: Data that was kept from the fit.
        data: What the data that was fitted shows by itself.
    """
    fitted = predict_motion(estimate, training, held_out=False)
    commanded = training.problem.actuated is not None
    if estimate.status.found_values and commanded and data.trusts_description:
        data = replace(data, scale_of_bodies=common_scale_of_bodies(
            training.problem.model, estimate.parameters, *training.measured_motion()))
    prediction, simulation = None, None
    remarks: tuple[str, ...] = ()
    if held_out is not None and held_out.loop is not None:
        prediction = predict_motion(estimate, held_out.loop)
        simulation, remarks = simulate_held_out(estimate, held_out)
        remarks = (*remarks, *remarks_on(estimate, held_out))
        data = replace(data, judged_still=held_out.still)
    verdict = judge(
        estimate, prediction, simulation=simulation, training=fitted, data=data)
    return Evaluation(
        estimate=estimate, training=fitted, held_out=prediction, folds=None,
        simulation=simulation, verdict=verdict.with_remarks(remarks))


def remarks_on(estimate: Estimate, held_out: HeldOut) -> tuple[str, ...]:
    """Remarks on held-out data: motion beyond that of the fit, and damaged signals.

    Args:
        estimate: The estimate, with the range of its motion in its provenance.
        held_out: The data.
    """
    unchecked = tuple(
        f'Of the data it was judged by: {warning}. Record to MCAP with checksums.'
        for warning in held_out.problem.warnings if warning.startswith(UNCHECKED))
    return (*_range_remarks(estimate, held_out.dataset), *unchecked)


def _repetition(training: RegressionProblem, held_out: HeldOut) -> tuple[str, ...]:
    """That the motion to judge by is nothing new."""
    if training.motion is None or not is_repeated(held_out.dataset, training.motion.dataset):
        return ()
    return (
        'The motion it was judged by is one that was fitted, once more: that shows how well it '
        'repeats, and nothing of another motion. Validate it by another one.',)


def _range_remarks(estimate: Estimate, dataset: Dataset) -> tuple[str, ...]:
    joints = dataset.joint_names
    fitted = MotionRange.from_json(estimate.provenance.get(FITTED_RANGE, {}), joints)
    further = () if fitted is None else MotionRange.of(dataset).beyond(fitted)
    if not further:
        return ()
    faster = FasterMotion.from_json(estimate.provenance.get(FASTER_MOTION))
    return (
        'This motion goes beyond the one that was fitted: ' + ', '.join(further) + '. What it '
        'says of the model holds up to there; nothing is known of faster or more loaded motion.',
        *(() if faster is None else (faster.sentence,)),
    )


def simulate_held_out(
    estimate: Estimate, held_out: HeldOut
) -> tuple[Simulation | None, tuple[str, ...]]:
    """Simulate stretches of held-out data.

    Returns:
        The simulation, or None and a remark that says why there is none.
    """
    model = held_out.problem.model
    found = estimate.parameters
    if held_out.loop is not None:
        try:
            return simulate_commands(estimate, held_out.loop), ()
        except RecordingError as error:
            return None, (f'Nothing was simulated: {error}',)
    values = model.parameters.with_values(dict(zip(found.names, found.values, strict=True)))
    try:
        return simulate(model, values.values, held_out.dataset), ()
    except (ModelError, RecordingError) as error:
        return None, (f'Nothing was simulated: {error}',)
