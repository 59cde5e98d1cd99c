"""Which friction a robot has, told by how well other and faster motion is predicted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from sysid_ros.errors import ConfigurationError, EstimationError
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.estimation.friction_models import (
    FrictionModel,
    FrictionSelection,
    friction_candidate,
    leaves_out_described,
)
from sysid_ros.estimation.measurement import Measurement
from sysid_ros.estimation.measurements import Measurements
from sysid_ros.estimation.outer_iteration import OuterIteration
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.evaluation.candidates import (
    SAME,
    CandidateErrors,
    as_good_as_best,
    candidate_errors,
    excess_over_best,
    simplest,
)
from sysid_ros.evaluation.faster_motion import FasterMotion
from sysid_ros.mechanics.configuration import TermSettings
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.numerics.forked import Arrays, forked_map
from sysid_ros.numerics.json_values import finite_or_null
from sysid_ros.recording.processing.masks import faster_than
from sysid_ros.robot.model import RobotModel

# Part of the speed below which rows are not fitted down to which they are predicted: a curve that
# fits fast rows alone may go anywhere below.
_SLOWER = 0.3
# The model with viscous and dry friction, and standard errors from which on one that leaves out
# what the description has is surely better.
_PLAIN, _SURELY = 'coulomb', 2.0


@dataclass(frozen=True, eq=False)
class FrictionChoice:
    """The friction model that was chosen, and why.

    Attributes:
        chosen: Its name.
        terms: Joint terms with it.
        candidates: Errors of all candidates, the simplest first.
        excess: Mean logarithm of each candidate's errors over the best one's, and its standard
            error, shape ``(candidates, 2)``; infinite where a fit failed.
        faster: What to expect of the chosen one on faster motion, if that was tried.
        lacking: Candidates that leave out friction which the description has, and are not surely
            better than the chosen one that has it.
    """

    chosen: FrictionModel
    terms: TermSettings
    candidates: tuple[CandidateErrors, ...]
    excess: np.ndarray
    faster: FasterMotion | None = None
    lacking: frozenset[str] = frozenset()

    @property
    def best(self) -> str:
        """The candidate with the smallest errors, which need not be the chosen one."""
        return self.candidates[int(np.argmin(self.excess[:, 0]))].name

    def reason(self, name: str) -> str:
        """Why a candidate was chosen or not, in words."""
        k = [each.name for each in self.candidates].index(name)
        if name == self.chosen:
            return f'chosen: {self._merit}'
        if name in self.lacking:
            return 'not surely better than one with the friction that the description has'
        if name == self.best:
            return 'the best, but a simpler one is as good'
        if not np.isfinite(self.excess[k, 0]):
            return 'not fitted to every fold'
        return 'as good, but not the simplest' if as_good_as_best(self.excess)[k] else 'worse'

    @property
    def _merit(self) -> str:
        if self.lacking:
            return (f'{" and ".join(sorted(self.lacking))} leaves out friction that the '
                    'description has, and is not surely better')
        if self.chosen == self.best:
            return 'the best, and no simpler one is as good'
        return f'the simplest that is as good as {self.best}'

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
            'faster_motion': None if self.faster is None else self.faster.to_json(),
            'candidates': [
                {
                    'model': each.name, 'parameters': each.parameters,
                    'stretches': finite_or_null(each.stretches),
                    'faster': finite_or_null(each.faster),
                    'excess_over_best': finite_or_null(excess)[0],
                    'standard_error': finite_or_null(excess)[1],
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
    setup = measured.setup
    fit, terms = setup.settings.fit, setup.identification.robot().terms
    if measured.bag is not None:
        raise ConfigurationError(
            'a friction model is chosen with the whole recording in memory',
            where='friction_selection', found=measured.dataset.source,
            fix='Cut the bag or raise recording.memory_limit',
        )
    dataset = measured.motion(0.0, stop)
    parallel, speeds = setup.settings.processing.parallel_filter, setup.speeds(dataset)
    slowest = tuple(_SLOWER * np.atleast_1d(np.asarray(fit.minimum_velocity, dtype=float)))
    judged = parallel.apply_mask(dataset.mask, dataset.rate, dataset.segments) & faster_than(
        speeds, slowest, dataset.joint_names)
    return select_friction(
        setup.model.robot, terms,
        lambda model: FitSetup(setup.identification, model).problem(dataset), speeds,
        fit.build(estimator), fit.friction_selection or FrictionSelection(), judged)


def select_friction(
    robot: RobotModel,
    terms: TermSettings,
    rows: Callable[[TorqueModel], RegressionProblem],
    speeds: np.ndarray,
    estimator: OuterIteration,
    settings: FrictionSelection,
    judged: np.ndarray | None = None,
) -> FrictionChoice:
    """Choose a friction model by cross-validation, candidates side by side on all processors.

    Args:
        robot: The robot.
        terms: Its joint terms, in which the friction is replaced.
        rows: Makes the problem of a torque model, always of the same data.
        speeds: Speed of every joint at every row in [rad/s] or [m/s], shape ``(T, n)``.
        estimator: The estimator that will fit.
        settings: Candidates and folds.
        judged: Rows that are to be predicted in stretches of time, shape ``(T, n)``; those that
            are fitted, where left out.

    Returns:
        The choice.

    Raises:
        ConfigurationError: There are fewer rows than folds.
        EstimationError: No candidate could be fitted to all folds.
    """
    names = tuple(dict.fromkeys(settings.candidates))

    def tried(number: int) -> Arrays:
        """Errors of a candidate, and which rows count."""
        name = names[number]
        joint_terms = friction_candidate(terms, name).described(robot).build(robot)
        problem = rows(TorqueModel(robot, joint_terms))
        errors = candidate_errors(
            name, problem, speeds, estimator,
            folds=settings.folds, gap=settings.gap, judged=judged)
        return *errors.to_arrays(), problem.usable

    found = forked_map(tried, len(names))
    candidates = [CandidateErrors.from_arrays(*errors) for *errors, _ in found]
    # Which rows count does not depend on the terms.
    usable = found[-1][-1]
    candidates.sort(key=lambda each: (each.parameters, each.errors.mean()))
    excess = excess_over_best(candidates)
    best = simplest(excess)
    if best is None:
        raise EstimationError(
            'no friction model could be fitted to all folds', found=', '.join(settings.candidates),
            fix='Take fewer folds, or record longer',
        )
    best, lacking = _with_described_friction(candidates, excess, best, robot)
    chosen = next(name for name in settings.candidates if name == candidates[best].name)
    return FrictionChoice(
        chosen, friction_candidate(terms, chosen), tuple(candidates), excess,
        FasterMotion.of(candidates[best].faster, robot.joint_names, speeds, usable), lacking)


def _with_described_friction(
    candidates: Sequence[CandidateErrors], excess: np.ndarray, best: int, robot: RobotModel
) -> tuple[int, frozenset[str]]:
    """The candidate to choose in place of one that leaves out what the description has.

    Under much noise a model with fewer terms is as good as any, or better by chance: that a robot
    lacks friction which its description has takes more than that.

    Args:
        candidates: All of them.
        excess: Their errors over the best one's, and standard errors, shape ``(candidates, 2)``.
        best: Place of the one that errors alone choose.
        robot: The robot.

    Returns:
        The place of the one to choose, and the names of those that are given up for it.
    """
    names = [each.name for each in candidates]
    lacking = frozenset(
        name for name in get_args(FrictionModel) if leaves_out_described(name, robot))
    good = as_good_as_best(excess)
    if names[best] not in lacking or _PLAIN not in names:
        return best, frozenset()
    plain = names.index(_PLAIN)
    mean, error = excess[plain]
    if not np.isfinite(mean) or mean - excess[best, 0] > max(_SURELY * error, SAME):
        return best, frozenset()
    return plain, lacking & {name for name, one in zip(names, good, strict=True) if one}
