"""Fit recordings, judge the fit on held-out data, and leave a run folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from sysid_ros.errors import EstimationError
from sysid_ros.estimation.estimator import REGRESSION_ESTIMATORS
from sysid_ros.estimation.identification import Identification
from sysid_ros.estimation.regression.conditioning import Conditioning
from sysid_ros.evaluation.comparison import Comparison
from sysid_ros.evaluation.evaluation import Evaluation
from sysid_ros.evaluation.study import Study
from sysid_ros.report.drawing import Drawing
from sysid_ros.runs.run_folder import RunFolder

#: In place of an estimator's name: compare all, and take the one that is recommended.
ALL = 'all'

#: Shows that a step of the work is under way.
Stage = Callable[[str], AbstractContextManager[None]]


@dataclass(frozen=True, eq=False)
class Run:
    """What a fit came to.

    Attributes:
        folder: Folder with all that it left.
        evaluation: The estimate, its evidence and the verdict.
        summary: The same for people.
        condition: Condition number of the base regressor of the fitted rows.
    """

    folder: Path
    evaluation: Evaluation
    summary: str
    condition: float


def _silent(_: str) -> AbstractContextManager[None]:
    return nullcontext()


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
    stage: Stage = _silent,
) -> Run:
    """Fit recordings, judge the fit on held-out data, and leave a run folder.

    Args:
        identification: Settings of the recording to fit.
        folder: Run folder to write.
        estimator: Name of the estimator, or ``'all'``.
        others: Settings of more recordings to fit together with it, with the same parameters.
        validation: Settings of another recording to predict.
        holdout: Last part of each recording to predict in its place, between 0 and 1.
        folds: Stretches of the recordings for cross-validation; 0 for none.
        handed_over: Whether the model is for controllers; see
            :meth:`~sysid_ros.evaluation.study.Study.load`.
        stage: Entered for each step, with what is being done in words.

    Raises:
        SysidError: Settings, robot or recording cannot be used.
    """
    if estimator != ALL:
        # A misspelt name is refused before any work is done.
        identification.settings.fit.require_estimator(estimator)
    with stage('Loading the robot'):
        model = identification.model()
    run_folder = RunFolder.create(folder)
    with Drawing() as drawing:
        run_folder.write_inputs(identification, model)
        run_folder.write_others(others)
        run_folder.write_validation_settings(validation)
        recordings = 'recordings' if others else 'recording'
        with stage(f'Reading the {recordings}, and choosing what the settings leave open'):
            study = Study.load(
                identification, model, others=others, validation=validation, holdout=holdout,
                folds=folds, estimator=None if estimator == ALL else estimator,
                handed_over=handed_over,
            )
        if study.identification is not identification:
            run_folder.write_inputs(study.identification, study.training.model)
        comparison = None
        if estimator == ALL:
            with stage(f'Fitting and judging {len(REGRESSION_ESTIMATORS)} estimators'):
                comparison = study.compare()
            evaluation = _recommended(comparison)
            run_folder.draw_torques(study, evaluation.estimate, drawing)
        else:
            with stage(f'Fitting with {estimator}, and judging'):
                evaluation = study.fit(
                    estimator, lambda estimate: run_folder.draw_torques(study, estimate, drawing))
        with stage('Writing URDF, summary and figures'):
            evaluation, text = run_folder.write_study(study, evaluation, drawing, comparison)
    return Run(folder, evaluation, text, Conditioning.of(study.training).number)


def _recommended(comparison: Comparison) -> Evaluation:
    if comparison.recommended is None:
        raise EstimationError(
            comparison.reason.rstrip('.'),
            found='; '.join(f'{name}: {why}' for name, why in comparison.failures.items()),
        )
    return comparison.recommended.evaluation
