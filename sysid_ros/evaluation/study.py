"""A study: recordings to fit, data to judge by, and estimators tried on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.actuator_commands import gain_warnings
from sysid_ros.estimation.estimate import Estimate
from sysid_ros.estimation.estimator import (
    REGRESSION_ESTIMATORS,
    TRAJECTORY_ESTIMATORS,
    Estimator,
)
from sysid_ros.estimation.fit_settings import FitSettings
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.estimation.identification import Identification
from sysid_ros.estimation.measurements import Measurements
from sysid_ros.estimation.motion_advice import with_identifiability
from sysid_ros.estimation.outer_iteration import frozen_at
from sysid_ros.estimation.payload.known import find_load
from sysid_ros.estimation.payload.weighing import weighing_of
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.regression.noise import residual_statistics
from sysid_ros.estimation.trajectory.problem import TrajectoryProblem
from sysid_ros.evaluation.comparison import Comparison, compare
from sysid_ros.evaluation.cross_validation import (
    CrossValidation,
    cross_validate,
    enough_folds,
)
from sysid_ros.evaluation.data_findings import (
    DataFindings,
    delays_from_arrays,
    delays_of,
    delays_to_arrays,
    named_efforts,
    still_joints,
)
from sysid_ros.evaluation.evaluation import (
    CLOSEST_FRICTION,
    FITTED_RANGE,
    JUDGED_RANGE,
    Evaluation,
    HeldOut,
    evaluate,
    evaluate_motion,
)
from sysid_ros.evaluation.faster_motion import FASTER_MOTION
from sysid_ros.evaluation.friction_selection import FrictionChoice
from sysid_ros.evaluation.model_choice import ModelChoice, choose_model, left_in
from sysid_ros.evaluation.motion_prediction import OpenLoop
from sysid_ros.evaluation.study_checks import (
    require_fitting_estimator,
    require_regression,
    require_split,
)
from sysid_ros.evaluation.supported_links import supported_links
from sysid_ros.mechanics.joint_terms.closest_friction import closest_frictions, frictions_to_json
from sysid_ros.numerics.forked import Forked
from sysid_ros.recording.checks.motion_range import MotionRange
from sysid_ros.recording.dataset import Dataset

#: Key of a provenance: what the fitted recordings are known again by.
FINGERPRINTS = 'fingerprints'


@dataclass(frozen=True, eq=False)
class Study:
    """Training data, held-out data, and findings on both.

    Attributes:
        setup: The settings, with what was chosen, and the torque model.
        training: Rows to fit.
        held_out: Data to judge by, if there is any.
        data: What the recordings show by themselves.
        loaded: Rows of a recording with a load of known mass, if there is one.
        folds: Number of stretches for cross-validation; 0 for none.
        choice: What the settings left open, and how it was chosen.
        trajectory: What sensors measured, where states are to be sought with the parameters.
        fingerprints: What the fitted recordings are known again by.
        fitted_range: How far, how fast and under which load the fitted motion goes.
        holdout: Last part of each recording that is judged by, if it is that.
        loop: What is simulated to judge by where commands were recorded in place of torques, or
            positions of some joints were not.
    """

    setup: FitSetup
    training: RegressionProblem
    held_out: HeldOut | None
    data: DataFindings
    loaded: RegressionProblem | None = None
    folds: int = 0
    choice: ModelChoice | None = None
    trajectory: TrajectoryProblem | None = None
    fingerprints: tuple[str, ...] = ()
    fitted_range: MotionRange | None = None
    holdout: float | None = None
    loop: OpenLoop | None = None

    @classmethod
    def load(
        cls,
        setup: FitSetup,
        *,
        others: Sequence[Identification] = (),
        validation: Identification | None = None,
        holdout: float | None = None,
        folds: int = 0,
        estimator: str | None = None,
        handed_over: bool = False,
        coarse: tuple[str, ...] | None = None,
    ) -> Study:
        """Read recordings and build their rows, with what the settings leave open chosen.

        Args:
            setup: Settings of the recording to fit, and the torque model.
            others: Settings of more recordings to fit, together with it.
            validation: Settings of another recording to judge by.
            holdout: Last part of each recording to judge by in its place, between 0 and 1.
            folds: Number of stretches for cross-validation; 0 for none.
            estimator: Estimator that is to be used; None where several are.
            handed_over: Whether the model is for controllers, which know links and plain joint
                terms alone; nothing else is chosen then.
            coarse: Of a study that was made before, joints whose accelerations the positions were
                found not to tell; its settings leave nothing to choose.

        Raises:
            ConfigurationError: ``holdout`` or ``folds`` cannot be used, or a file is given twice.
            EstimationError: No friction model could be fitted, or nothing drove the robot and the
                estimator needs torques.
            RecordingError: A recording cannot be read, its efforts have the wrong sign, or
                rates differ.
        """
        by_states = estimator in TRAJECTORY_ESTIMATORS
        require_split(holdout, folds, by_states)
        if coarse is None:
            require_fitting_estimator(setup, estimator)
        measured, end = Measurements.read(setup, others), 1.0 - (holdout or 0.0)
        if coarse is not None:
            return cls._of(ModelChoice(measured, coarse=coarse), validation, holdout, folds)
        if not by_states:
            require_regression(measured)
        choice = choose_model(measured, end, estimator, handed_over)
        return cls._of(choice, validation, holdout, folds, by_states)

    @classmethod
    def _of(
        cls, choice: ModelChoice, validation: Identification | None, holdout: float | None,
        folds: int, by_states: bool = False,
    ) -> Study:
        """The study of recordings whose settings leave nothing open."""
        measured, end = choice.measured, 1.0 - (holdout or 0.0)
        if measured.judged_by_motion:
            return cls._by_motion(choice, validation, holdout)
        other = None if holdout is not None else _validation(choice, validation)
        # What was fitted is looked at: what comes after says nothing of it.
        motions = [part.motion(0.0, end) if holdout else part.dataset for part in measured.parts]
        # Delays take as long as the efforts and rows, and need none of them.
        with Forked(lambda: delays_to_arrays(
                delays_of(motion, measured.model) for motion in motions)) as parallel:
            undisturbed, touched = left_in(choice, end)
            findings = undisturbed.effort_findings(
                motions if undisturbed is measured else
                [part.motion(0.0, end) for part in undisturbed.parts], other, end)
            training = measured.problem(0.0, end)
            held_out = _held_out(measured, other, holdout)
            delays = delays_from_arrays(parallel.result(), motions)
        return cls(
            setup=choice.resolved if choice.choices else measured.setup,
            training=training, held_out=held_out,
            data=DataFindings(
                efforts=named_efforts(findings, motions),
                delays=tuple(found for found in delays if found is not None),
                still=still_joints(motions, measured.model), coarse=choice.coarse,
                touched=touched,
                qualities=tuple(
                    part.quality(efforts, late)
                    for part, efforts, late in zip(
                        measured.parts, findings, delays, strict=True)),
                trusts_description=choice.trusts_description),
            loaded=_with_known_load(choice), folds=folds, choice=choice,
            trajectory=measured.trajectory_problem(stop=end) if by_states else None,
            fingerprints=measured.fingerprints,
            fitted_range=MotionRange.of(Dataset.joined(motions)), holdout=holdout,
        )

    @classmethod
    def _by_motion(
        cls, choice: ModelChoice, validation: Identification | None, holdout: float | None
    ) -> Study:
        """The study of recordings that lack torques, or positions of some joints."""
        measured, end = choice.measured, 1.0 - (holdout or 0.0)
        problem, rows = measured.trajectory_problem(stop=end), measured.problem(0.0, end)
        other = None if holdout is not None else _validation(choice, validation)
        if other is not None and not other.judged_by_motion:
            other.effort_findings()
        problem = replace(problem, warnings=(*problem.warnings, *gain_warnings(rows)))
        loop = OpenLoop(problem)
        if choice.values is not None:
            problem = replace(problem.with_values(choice.values), near=True)
        return cls(
            setup=choice.resolved if choice.choices else measured.setup, training=rows,
            held_out=_held_out(measured, other, holdout),
            data=DataFindings(
                still=still_joints(
                    [part.motion(0.0, end) for part in measured.parts], measured.model),
                qualities=tuple(part.quality() for part in measured.parts),
                supported=supported_links(rows),
                trusts_description=choice.trusts_description),
            choice=choice, trajectory=problem, fingerprints=measured.fingerprints,
            fitted_range=MotionRange.of(measured.motion(0.0, end)), holdout=holdout, loop=loop)

    @property
    def friction(self) -> FrictionChoice | None:
        """How the friction model was chosen; None where the settings gave it."""
        return None if self.choice is None else self.choice.friction

    @property
    def settings(self) -> FitSettings:
        """How it is fitted."""
        return self.setup.settings.fit

    def fit(self, name: str, found: Callable[[Estimate], None] | None = None) -> Evaluation:
        """Fit with one estimator and judge what it finds.

        Args:
            name: Name of the estimator.
            found: Takes the estimate before it is judged.

        Raises:
            ConfigurationError: There is no such estimator.
            EstimationError: There are too few rows, or they are ill-conditioned.
        """
        if self.trajectory is not None:
            estimate, motion = self.settings.build_trajectory(name).fitted(self.trajectory)
            estimate = self._with_provenance(estimate)
            estimate = replace(
                estimate, notes=(*estimate.notes, *self.settings.old_spellings(name)))
            values = estimate.parameters.values
            # Judged by torques, as any other, where these were measured.
            estimate = replace(estimate, residuals=(
                residual_statistics(self.training, values) if self.loop is None
                else self.loop.statistics(values)))
            if found is not None:
                found(estimate)
            return replace(self._judged(estimate), motion=motion)
        estimator = self.settings.build(name)
        estimate = estimator.fit(self.training)
        if found is not None:
            found(estimate)
        return self.evaluate(estimator, estimate)

    def evaluate(
        self, estimator: Estimator, estimate: Estimate, folds: CrossValidation | None = None
    ) -> Evaluation:
        """Judge what an estimator found, and say what would tell more.

        Args:
            estimator: The estimator, for folds where some are asked for.
            estimate: What it found.
            folds: Folds that are at hand.
        """
        estimate = with_identifiability(self.training, estimate)
        estimate = self._with_provenance(estimate)
        if self.friction is not None:
            estimate = replace(estimate, notes=(*estimate.notes, self.friction.note))
        if self.folds:
            folds = cross_validate(estimator, self.training, estimate, count=self.folds)
        return evaluate(
            estimate, self.training, self.held_out, folds=folds, data=self._findings(estimate))

    def judge_again(self, estimate: Estimate) -> Evaluation:
        """Judge an estimate that was made before, as it was judged when it was made.

        Stretches are left out in turn only where nothing else is judged by.

        Args:
            estimate: The estimate.

        Raises:
            ParameterError: It has other parameters.
        """
        if estimate.estimator in TRAJECTORY_ESTIMATORS:
            return self._judged(estimate)
        folds = None
        if self.folds and self.held_out is None:
            folds = cross_validate(
                self.settings.build(estimate.estimator), self.training, estimate,
                count=self.folds)
        return evaluate(
            estimate, self.training, self.held_out, folds=folds, data=self._findings(estimate))

    def _judged(self, estimate: Estimate) -> Evaluation:
        """An estimate of states and parameters, judged by torques or by simulated motion."""
        if self.loop is not None:
            return evaluate_motion(estimate, self.loop, self.held_out, data=self.data)
        return evaluate(
            estimate, self.training, self.held_out, data=self._findings(estimate))

    def _findings(self, estimate: Estimate) -> DataFindings:
        """What the recordings show, of weighed masses and a load of known mass, too."""
        known = self.setup.settings.known
        if not estimate.status.found_values:
            return self.data
        values = estimate.parameters.values
        data = replace(self.data, weighing=weighing_of(known, self.training, values))
        if self.loaded is None or known.payload is None:
            return data
        return replace(data, load=find_load(
            known.payload, known.accuracy, self.loaded, self.training, values))

    def _with_provenance(self, estimate: Estimate) -> Estimate:
        """The estimate with what its recordings are known by, and how far it was tried."""
        ranges = {} if self.fitted_range is None else {FITTED_RANGE: self.fitted_range.to_json()}
        if self.held_out is not None:
            ranges[JUDGED_RANGE] = MotionRange.of(self.held_out.dataset).to_json()
        if self.friction is not None and self.friction.faster is not None:
            ranges[FASTER_MOTION] = self.friction.faster.to_json()
        motion = self.training.motion
        if motion is not None and estimate.status.found_values:
            fitted = motion.dataset
            closest = closest_frictions(
                self.training.model, estimate.parameters.values, fitted.q, fitted.v, fitted.a,
                self.settings.minimum_velocity)
            if closest:
                ranges[CLOSEST_FRICTION] = frictions_to_json(closest)
        return replace(estimate, provenance={
            **estimate.provenance, FINGERPRINTS: list(self.fingerprints), **ranges})

    def compare(self) -> Comparison:
        """Fit with every registered estimator and judge what they find.

        They are told apart by folds of the training data, where it is long enough for any. Only
        those whose bodies can exist have some, with shapes and loads as all rows have them: a
        comparison need not take six times as long as its fits.
        """
        makers = {name: partial(self.settings.build, name) for name in REGRESSION_ESTIMATORS}
        count = enough_folds(self.training)

        def judged(estimator: Estimator, estimate: Estimate) -> Evaluation:
            if not (count and estimate.status.ok and estimate.consistent) or self.folds:
                return self.evaluate(estimator, estimate)
            rows = frozen_at(self.training, estimate.parameters.values)
            return self.evaluate(
                estimator, estimate, cross_validate(estimator, rows, estimate, count=count))

        return compare(makers, self.training, judged, preferred=self.settings.estimator)


def _validation(choice: ModelChoice, validation: Identification | None) -> Measurements | None:
    """Another recording to judge by, if there is one."""
    if validation is None:
        return None
    other, measured = choice.read(validation), choice.measured
    if other.holds(measured.fingerprints):
        raise ConfigurationError(
            'the recording to judge by holds samples that are fitted',
            where=other.dataset.source, found=measured.dataset.source,
            fix='Validate by another recording, or keep the last part of this one back with '
            '--holdout')
    return other


def _held_out(
    measured: Measurements, other: Measurements | None, holdout: float | None
) -> HeldOut | None:
    """Data to judge by: the last part of each recording, or another one."""
    if holdout is not None:
        return HeldOut.of(measured, 1.0 - holdout, 1.0)
    return None if other is None else HeldOut.of(other)


def _with_known_load(choice: ModelChoice) -> RegressionProblem | None:
    """Rows of the recording with a load of known mass."""
    setup = choice.setup
    known = setup.settings.known.payload
    if known is None:
        return None
    measured = choice.read(Identification.load(setup.identification.base / known.recording))
    if measured.holds(choice.measured.fingerprints):
        raise ConfigurationError(
            'the recording with the load holds samples that are fitted without it',
            where='known.payload.recording', found=measured.dataset.source,
            fix='Record the robot once without and once with the load')
    return measured.problem()
