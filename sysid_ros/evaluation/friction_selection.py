"""Which friction a robot has, told by how well other and faster motion is predicted.

More columns always fit better and often predict worse, so candidates are compared on rows they
were not fitted to: stretches of time, and the fast half of every joint's rows predicted from the
slow half of other stretches. The simplest candidate that is not worse than the best one by more
than one standard error of their difference is chosen (Breiman et al. 1984, section 3.4.3;
Hastie, Tibshirani and Friedman 2009, section 7.10). A difference below a part in a hundred is
none, however sure it is.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sysid_ros.dynamics.configuration import TermSettings
from sysid_ros.dynamics.torque_model import TorqueModel
from sysid_ros.errors import ConfigurationError, EstimationError
from sysid_ros.estimation.folds import Fold, speed_folds, time_folds
from sysid_ros.estimation.friction_models import (
    FrictionModel,
    FrictionSelection,
    friction_candidate,
)
from sysid_ros.estimation.identification import Measurement
from sysid_ros.estimation.measurements import Measurements
from sysid_ros.estimation.motion import Motion
from sysid_ros.estimation.outer_iteration import OuterIteration
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.row_source import RowSource
from sysid_ros.estimation.shape_search import find_shapes
from sysid_ros.robot.model import RobotModel

# Errors that differ by less than this part are the same; fits of folds need few digits more.
_SAME = 0.01
_COARSE = 1e-4


@dataclass(frozen=True, eq=False)
class CandidateErrors:
    """How a friction model predicted what it was not fitted to.

    Attributes:
        name: The friction model.
        parameters: Number of its free joint-term parameters, shapes included.
        stretches: Relative torque error per held-out stretch of time, shape ``(folds,)``.
        faster: The same for fast rows predicted from slow ones, shape ``(folds,)``.
        seconds: Time that all its fits took.
    """

    name: FrictionModel
    parameters: int
    stretches: np.ndarray
    faster: np.ndarray
    seconds: float

    @property
    def errors(self) -> np.ndarray:
        """All errors, shape ``(2 folds,)``; infinite where a fit failed."""
        return np.concatenate([self.stretches, self.faster])


@dataclass(frozen=True, eq=False)
class FrictionChoice:
    """The friction model that was chosen, and why.

    Attributes:
        chosen: Its name.
        terms: Joint terms with it.
        candidates: Errors of all candidates, the simplest first.
        excess: Mean logarithm of each candidate's errors over the best one's, and its standard
            error, shape ``(candidates, 2)``; infinite where a fit failed.
    """

    chosen: FrictionModel
    terms: TermSettings
    candidates: tuple[CandidateErrors, ...]
    excess: np.ndarray

    @property
    def best(self) -> FrictionModel:
        """The candidate with the smallest errors, which need not be the chosen one."""
        return self.candidates[int(np.argmin(self.excess[:, 0]))].name

    def reason(self, name: FrictionModel) -> str:
        """Why a candidate was chosen or not, in words."""
        k = [each.name for each in self.candidates].index(name)
        if name == self.chosen:
            if name == self.best:
                return 'chosen: the best, and no simpler one is as good'
            return f'chosen: the simplest that is as good as {self.best}'
        if name == self.best:
            return 'the best, but a simpler one is as good'
        if not np.isfinite(self.excess[k, 0]):
            return 'not fitted to every fold'
        return 'as good, but not the simplest' if _as_good(self.excess)[k] else 'worse'

    @property
    def note(self) -> str:
        """One sentence for the notes of an estimate."""
        names = ', '.join(each.name for each in self.candidates)
        return (
            f'The friction model {self.chosen!r} was chosen from {names} by errors on stretches '
            f'of this recording that were held out of the fits: {self.reason(self.chosen)}.'
        )

    def to_json(self) -> dict[str, Any]:
        """Plain values; what is not finite as null."""
        return {
            'chosen': self.chosen,
            'candidates': [
                {
                    'model': each.name, 'parameters': each.parameters,
                    'stretches': _plain(each.stretches), 'faster': _plain(each.faster),
                    'excess_over_best': _plain(excess)[0],
                    'standard_error': _plain(excess)[1],
                    'seconds': each.seconds, 'reason': self.reason(each.name),
                }
                for each, excess in zip(self.candidates, self.excess, strict=True)
            ],
        }


def choose_friction(
    measured: Measurement | Measurements, stop: float = 1.0, estimator: str | None = None
) -> FrictionChoice:
    """Choose a friction model by the settings of an identification.

    Args:
        measured: The recordings and their settings.
        stop: Where the data to fit ends, as a fraction of each recording; what comes after is
            not looked at.
        estimator: Estimator to use in place of the one in the settings.

    Returns:
        The choice.

    Raises:
        ConfigurationError: The settings have no robot, the recording does not fit into memory,
            or there are fewer rows than folds.
        EstimationError: No candidate could be fitted to all folds.
    """
    identification = measured.identification
    fit, terms = identification.settings.fit, identification.robot().terms
    if measured.bag is not None:
        raise ConfigurationError(
            'a friction model is chosen with the whole recording in memory',
            where='friction_selection', found=measured.dataset.source,
            fix='Cut the bag or raise recording.memory_limit',
        )
    dataset = measured.motion(0.0, stop)
    source = RowSource(Motion(dataset, identification.settings.processing.parallel_filter))
    return select_friction(
        measured.model.robot, terms, lambda model: identification.problem(model, dataset),
        source.speeds(), fit.build(estimator), fit.friction_selection or FrictionSelection(),
    )


def select_friction(
    robot: RobotModel,
    terms: TermSettings,
    rows: Callable[[TorqueModel], RegressionProblem],
    speeds: np.ndarray,
    estimator: OuterIteration,
    settings: FrictionSelection,
) -> FrictionChoice:
    """Choose a friction model by cross-validation.

    Args:
        robot: The robot.
        terms: Its joint terms, in which the friction is replaced.
        rows: Makes the problem of a torque model, always of the same data.
        speeds: Speed of every joint at every row in [rad/s] or [m/s], shape ``(T, n)``.
        estimator: The estimator that will fit.
        settings: Candidates and folds.

    Returns:
        The choice.

    Raises:
        ConfigurationError: There are fewer rows than folds.
        EstimationError: No candidate could be fitted to all folds.
    """
    quick = replace(estimator, tolerance=_COARSE, search_tolerance=_COARSE)
    candidates = []
    for name in dict.fromkeys(settings.candidates):
        joint_terms = friction_candidate(terms, name).described(robot).build(robot)
        problem = rows(TorqueModel(robot, joint_terms))
        candidates.append(_candidate(name, problem, speeds, quick, settings))
    candidates.sort(key=lambda each: (each.parameters, each.errors.mean()))
    excess = _excess(candidates)
    good = np.flatnonzero(_as_good(excess))
    if not len(good):
        raise EstimationError(
            'no friction model could be fitted to all folds', found=', '.join(settings.candidates),
            fix='Take fewer folds, or record longer',
        )
    chosen = candidates[int(good[0])].name
    return FrictionChoice(chosen, friction_candidate(terms, chosen), tuple(candidates), excess)


def _candidate(
    name: FrictionModel, problem: RegressionProblem, speeds: np.ndarray,
    estimator: OuterIteration, settings: FrictionSelection,
) -> CandidateErrors:
    begin = time.perf_counter()
    # Shapes of folds are searched from those of all rows, which only spares the way to them.
    start = None if problem.source is None else find_shapes(problem)
    stretches, faster = (
        np.array([_error(fold, estimator, start) for fold in folds]) for folds in (
            time_folds(problem, settings.folds, settings.gap),
            speed_folds(problem, speeds, settings.folds, settings.gap),
        )
    )
    bodies = 10 * len(problem.model.robot.body_names)
    return CandidateErrors(
        name, int(problem.free[bodies:].sum()), stretches, faster, time.perf_counter() - begin
    )


def _error(fold: Fold, estimator: OuterIteration, start: np.ndarray | None) -> float:
    """Relative torque error of the held-out rows, infinite where there is no fit."""
    values = estimator.values(fold.training, start)
    if values is None:
        return np.inf
    held_out = fold.held_out
    torque = np.where(held_out.usable, held_out.torque, 0.0)
    return float(np.linalg.norm(held_out.residuals(values)) / np.linalg.norm(torque))


def _excess(candidates: Sequence[CandidateErrors]) -> np.ndarray:
    """Mean logarithm of errors over the best candidate's, and its standard error."""
    logarithms = np.log([candidate.errors for candidate in candidates])
    best = logarithms[int(np.argmin(logarithms.mean(axis=1)))]
    with np.errstate(invalid='ignore'):
        over = np.where(np.isfinite(logarithms), logarithms - best, np.inf)
        mean = over.mean(axis=1)
        error = over.std(axis=1, ddof=1) / np.sqrt(over.shape[1])
    return np.stack([mean, np.where(np.isfinite(mean), error, np.inf)], axis=1)


def _as_good(excess: np.ndarray) -> np.ndarray:
    """Candidates that are not worse than the best, given their excess and its standard error."""
    mean, error = excess.T
    return np.isfinite(mean) & (mean <= np.maximum(error, _SAME))


def _plain(values: np.ndarray) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in values]
