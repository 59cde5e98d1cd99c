"""Estimators by name: the one list a new estimator is added to."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import fields
from importlib import import_module
from typing import Any, Protocol

from sysid_ros.errors import ConfigurationError, did_you_mean
from sysid_ros.estimation.estimate import Estimate
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.regression.consistent.lmi import SemidefiniteLeastSquares
from sysid_ros.estimation.regression.consistent.log_cholesky import LogCholeskyLeastSquares
from sysid_ros.estimation.regression.consistent.log_det import EntropicLeastSquares
from sysid_ros.estimation.regression.least_squares import (
    OrdinaryLeastSquares,
    WeightedLeastSquares,
)
from sysid_ros.estimation.regression.recursive.recursive import RecursiveLeastSquares
from sysid_ros.estimation.regression.robust.instrumental import InstrumentalVariables
from sysid_ros.estimation.regression.robust.irls import (
    ReweightedLeastSquares,
    ReweightedSemidefinite,
)
from sysid_ros.estimation.trajectory.problem import TrajectoryProblem
from sysid_ros.estimation.trajectory.solution import TrajectorySolution


class Estimator(Protocol):
    """Estimator of parameters from a regression; fitting keeps no state on its settings."""

    def fit(self, problem: RegressionProblem) -> Estimate:
        """Infer the parameters of a problem."""


class TrajectoryEstimator(Protocol):
    """Estimator of states together with parameters; fitting keeps no state on its settings."""

    @property
    def smooths_friction(self) -> bool:
        """Whether the sign of dry friction has to be smoothed."""

    def fit(self, problem: TrajectoryProblem) -> Estimate:
        """Infer the parameters of a problem."""

    def fitted(self, problem: TrajectoryProblem) -> tuple[Estimate, TrajectorySolution]:
        """Infer the parameters of a problem, and its motion."""


REGRESSION_ESTIMATORS: dict[str, type] = {
    estimator.name: estimator
    for estimator in (
        OrdinaryLeastSquares,
        WeightedLeastSquares,
        ReweightedLeastSquares,
        InstrumentalVariables,
        SemidefiniteLeastSquares,
        EntropicLeastSquares,
        LogCholeskyLeastSquares,
        ReweightedSemidefinite,
        RecursiveLeastSquares,
    )
}

#: Module and class of each: their compiled parts are loaded by those who ask for them.
TRAJECTORY_ESTIMATORS: dict[str, str] = {
    'collocation': 'collocation_estimator.CollocationEstimator',
    'shooting': 'shooting_estimator.ShootingEstimator',
    'discrete': 'discrete.estimator.MaximalCoordinatesEstimator',
    'variational': 'variational_estimator.VariationalEstimator',
    'graph': 'graph_estimator.GraphEstimator',
}

#: Names of the field for estimators whose own names are in the files of earlier fits.
ALIASES: dict[str, str] = {
    'log_det': EntropicLeastSquares.name,
    'maximal_coordinates': 'discrete',
}


def own_name(name: str) -> str:
    """The name that an estimator has in files, of it or of its alias; others stay as they are."""
    return ALIASES.get(name, name)


def shown_name(name: str) -> str:
    """An estimator's name for people, with its alias where it has one."""
    others = [alias for alias, own in ALIASES.items() if own == name]
    return f'{name} ({", ".join(others)})' if others else name


def make_estimator(name: str, **settings: Any) -> Estimator:
    """An estimator by name.

    Args:
        name: One of :data:`REGRESSION_ESTIMATORS`, or its alias.
        settings: Its settings.

    Raises:
        ConfigurationError: There is no such estimator, or it has no such setting.
    """
    name = _known(name, REGRESSION_ESTIMATORS)
    made: Estimator = _made(_class_of(name), name, settings)
    return made


def make_trajectory_estimator(name: str, **settings: Any) -> TrajectoryEstimator:
    """An estimator of states and parameters by name.

    Args:
        name: One of :data:`TRAJECTORY_ESTIMATORS`, or its alias.
        settings: Its settings.

    Raises:
        ConfigurationError: There is no such estimator, or it has no such setting.
    """
    name = _known(name, TRAJECTORY_ESTIMATORS)
    made: TrajectoryEstimator = _made(_class_of(name), name, settings)
    return made


def _made(kind: type, name: str, settings: dict[str, Any]) -> Any:
    try:
        return kind(**settings)
    except TypeError as error:
        raise ConfigurationError(
            f'{name} has no such setting: {error}', found=', '.join(settings),
            allowed=', '.join(sorted(settings_of(name))), fix='Correct it, or take it out',
        ) from error


def settings_of(name: str) -> frozenset[str]:
    """Names of the settings of an estimator.

    Raises:
        ConfigurationError: There is no such estimator.
    """
    name = _known(name, [*REGRESSION_ESTIMATORS, *TRAJECTORY_ESTIMATORS])
    return frozenset(field.name for field in fields(_class_of(name)))


def _class_of(name: str) -> type:
    if name in REGRESSION_ESTIMATORS:
        return REGRESSION_ESTIMATORS[name]
    module, _, kind = TRAJECTORY_ESTIMATORS[name].rpartition('.')
    found: type = getattr(import_module(f'sysid_ros.estimation.trajectory.{module}'), kind)
    return found


def _known(name: str, known: Collection[str]) -> str:
    """The own name of one of some estimators."""
    if own_name(name) not in known:
        names = [*known, *(alias for alias, own in ALIASES.items() if own in known)]
        raise ConfigurationError(
            'there is no such estimator', found=repr(name), allowed=', '.join(names),
            fix=did_you_mean(name, names),
        )
    return own_name(name)
