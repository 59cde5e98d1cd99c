"""Fit recordings, judge the fit on held-out data, and leave a run folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from sysid_ros.errors import EstimationError
from sysid_ros.estimation.estimator import REGRESSION_ESTIMATORS, TRAJECTORY_ESTIMATORS, own_name
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.estimation.identification import Identification
from sysid_ros.estimation.regression.conditioning import Conditioning
from sysid_ros.estimation.regression.consistent.interior_point.program import compiling
from sysid_ros.estimation.regression.consistent.lmi import SemidefiniteLeastSquares
from sysid_ros.estimation.regression.consistent.log_det import EntropicLeastSquares
from sysid_ros.estimation.regression.robust.irls import ReweightedSemidefinite
from sysid_ros.evaluation.comparison import Comparison
from sysid_ros.evaluation.evaluation import Evaluation
from sysid_ros.evaluation.study import Study
from sysid_ros.evaluation.study_checks import require_fitting_sensors, require_split
from sysid_ros.report.brief import brief_summary
from sysid_ros.report.drawing import Drawing
from sysid_ros.report.headline import headline
from sysid_ros.report.plotly_script import packing_plotly
from sysid_ros.report.report_source import HELD_OUT, TRAINING
from sysid_ros.runs.judged import digests
from sysid_ros.runs.report_files import longer_simulation, report_source, write_report
from sysid_ros.runs.run_folder import RunFolder
from sysid_ros.runs.stages import Stage, silent

#: In place of an estimator's name: compare all, and take the one that is recommended.
ALL = 'all'
# Those that call the interior-point method.
_INTERIOR_POINT = (
    ALL, EntropicLeastSquares.name, SemidefiniteLeastSquares.name, ReweightedSemidefinite.name)


@dataclass(frozen=True, eq=False)
class Run:
    """What a fit came to.

    Attributes:
        folder: Folder with all that it left.
        evaluation: The estimate, its evidence and the verdict.
        summary: The same for people.
        brief: What a terminal shows of it.
        condition: Condition number of the base regressor of the fitted rows.
        note: Why there is no ``report.html``, in words; empty where there is one.
    """

    folder: Path
    evaluation: Evaluation
    summary: str
    brief: str
    condition: float
    note: str = ''

    @property
    def headline(self) -> tuple[str, ...]:
        """What the model gained, where it is worst, and how much of it the data told."""
        held_out = self.evaluation.held_out
        predictions = {} if held_out is None else {HELD_OUT: held_out}
        return headline(
            predictions | {TRAINING: self.evaluation.training}, self.evaluation.estimate)


def fit_to_folder(
    identification: Identification,
    folder: Path,
    *,
    estimator: str,
    others: Sequence[Identification] = (),
    validation: Identification | None = None,
    holdout: float | None = None,
    folds: int = 0,
    handed_over: bool = False,
    command: str = '',
    stage: Stage = silent,
    drawing: Drawing | None = None,
    write_recordings: Callable[[], None] | None = None,
) -> Run:
    """Fit recordings, judge the fit on held-out data, and leave a run folder.

    The folder gets its files together in the end: a fit that fails, or is interrupted, leaves
    nothing, and an earlier run as it was.

    Args:
        identification: Settings of the recording to fit.
        folder: Run folder to write.
        estimator: Name of the estimator, or ``'all'``.
        others: Settings of more recordings to fit together with it, with the same parameters.
        validation: Settings of another recording to predict.
        holdout: Last part of each recording to predict in its place, between 0 and 1.
        folds: Stretches of the recordings for cross-validation; 0 for none.
        handed_over: Whether the model is for controllers; see :meth:`.Study.load`.
        command: Command line, for the provenance in the report.
        stage: Entered for each step, with what is being done in words.
        drawing: What draws the figures, where it was started before.
        write_recordings: Writes files that the settings name, where these lie in the run folder;
            called when the folder is there, and nothing that was in it is needed any more.

    Raises:
        SysidError: Settings, robot or recording cannot be used.
    """
    estimator = own_name(estimator)
    _require_possible(identification, estimator, holdout, folds)
    with stage('Loading the robot'):
        setup = FitSetup.of(identification)
    with (
        RunFolder.written(folder) as run_folder, drawing or Drawing() as drawing,
        _compiling(estimator),
    ):
        if write_recordings is not None:
            # An earlier run loses what it was fitted to.
            RunFolder.clear(folder)
            write_recordings()
        _write_inputs(run_folder, setup, others, validation)
        with stage(f'Reading the recording{"s" if others else ""}, and choosing what the settings '
                   'leave open'):
            study = Study.load(
                setup, others=others, validation=validation, holdout=holdout, folds=folds,
                estimator=None if estimator == ALL else estimator, handed_over=handed_over)
        if study.setup is not setup:
            run_folder.write_inputs(study.setup)
        evaluation, comparison = _evaluate(study, estimator, run_folder, drawing, stage)
        with stage('Writing URDF, summary, report and figures'):
            return _write(run_folder, study, evaluation, comparison, drawing, command)


def _require_possible(
    identification: Identification, estimator: str, holdout: float | None, folds: int
) -> None:
    """Refuse what cannot begin, before any work is done or an earlier run is replaced.

    Raises:
        ConfigurationError: The settings do not have what the estimator needs, or data cannot be
            held out this way.
    """
    if estimator != ALL:
        identification.settings.require_estimator(estimator)
    require_fitting_sensors(identification, estimator)
    require_split(holdout, folds, estimator in TRAJECTORY_ESTIMATORS)


def _write_inputs(
    run_folder: RunFolder, setup: FitSetup, others: Sequence[Identification],
    validation: Identification | None,
) -> None:
    """Write what the fit is of: the robot, and settings of all recordings."""
    run_folder.write_inputs(setup)
    run_folder.write_others(others)
    run_folder.write_validation_settings(validation)


def _compiling(estimator: str) -> AbstractContextManager[None]:
    """Compile what an estimator needs last, if that was never done, while data is read."""
    return compiling() if estimator in _INTERIOR_POINT else nullcontext()


def _evaluate(
    study: Study, estimator: str, run_folder: RunFolder, drawing: Drawing, stage: Stage
) -> tuple[Evaluation, Comparison | None]:
    """The fit and its judgement; for all estimators the recommended one and their comparison."""
    if estimator == ALL:
        with stage(f'Fitting and judging {len(REGRESSION_ESTIMATORS)} estimators'):
            comparison = study.compare()
        evaluation = _recommended(comparison)
        run_folder.draw_torques(study, evaluation.estimate, drawing)
        return evaluation, comparison
    with stage(f'Fitting with {estimator}, and judging'):
        return study.fit(
            estimator, lambda estimate: run_folder.draw_torques(study, estimate, drawing)), None


def _write(
    run_folder: RunFolder, study: Study, evaluation: Evaluation, comparison: Comparison | None,
    drawing: Drawing, command: str,
) -> Run:
    """Write what was fitted, with its summary, figures and report."""
    evaluation, text = run_folder.write_study(study, evaluation, drawing, comparison)
    brief = brief_summary(evaluation, comparison)
    run_folder.write_brief(brief)
    conditioning = Conditioning.of(study.training)
    simulation = longer_simulation(evaluation.estimate, study.held_out, evaluation.simulation)
    folder = run_folder.path
    # No process is forked from here on, which a thread would forbid.
    with packing_plotly():
        place = run_folder.place or folder
        note = write_report(folder, report_source(
            folder, study, evaluation, name=place.resolve().name, simulation=simulation,
            comparison=comparison, conditioning=conditioning, command=command,
            digests=digests(folder)))
        return Run(place, evaluation, text, brief, conditioning.number, note)


def _recommended(comparison: Comparison) -> Evaluation:
    if comparison.recommended is None:
        raise EstimationError(
            comparison.reason.rstrip('.'),
            found='; '.join(f'{name}: {why}' for name, why in comparison.failures.items()),
            fix='Name one estimator, as --estimator entropic',
        )
    return comparison.recommended.evaluation
