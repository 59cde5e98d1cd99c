"""What a study cannot be made of, refused before any work is done."""

from __future__ import annotations

from sysid_ros.errors import ConfigurationError, EstimationError
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.estimation.measurements import Measurements
from sysid_ros.mechanics.actuators.actuators import actuated


def require_simulation(setup: FitSetup, estimator: str | None) -> None:
    """Refuse estimators that need torques where commands were recorded in their place.

    Args:
        setup: The settings and the torque model.
        estimator: Estimator that is to be used; None where several are.

    Raises:
        ConfigurationError: It needs torques.
    """
    if actuated(setup.model) is not None and estimator != 'shooting':
        raise ConfigurationError(
            'the robot has actuators, whose torques nobody measured', where='fit.estimator',
            found=estimator or 'all estimators', allowed='shooting, which simulates them',
            fix='Say fit: {estimator: shooting}')


def require_regression(measured: Measurements) -> None:
    """Refuse recordings that regression finds nothing in.

    Args:
        measured: The recordings.

    Raises:
        EstimationError: Nothing drove the robot, or positions of a joint were not measured.
    """
    if measured.hidden:
        raise EstimationError(
            f'nothing measured how {", ".join(measured.hidden)} moved, and regression needs the '
            'positions of all joints', where=measured.dataset.source,
            fix='Use an estimator of states and parameters: fit: {estimator: shooting}')
    if not measured.driven:
        raise EstimationError(
            'nothing drove the robot, and without torques regression finds nothing',
            where=measured.dataset.source,
            fix='Use an estimator of states and parameters, collocation or shooting')


def require_split(holdout: float | None, folds: int, by_states: bool) -> None:
    """Refuse a part to hold out, or a number of folds, that cannot be.

    Args:
        holdout: Last part of each recording to judge by.
        folds: Number of stretches for cross-validation; 0 for none.
        by_states: Whether states are sought with the parameters.

    Raises:
        ConfigurationError: It cannot be.
    """
    if holdout is not None and not 0.0 < holdout < 1.0:
        raise ConfigurationError(
            'is not a part of the recording', where='--holdout', found=holdout,
            allowed='a number between 0 and 1',
            fix=f'For {holdout:g} % say {holdout / 100.0:g}' if 1.0 < holdout < 100.0 else
            'For its last 30 % say 0.3',
        )
    if folds < 0 or folds == 1:
        raise ConfigurationError(
            'there is nothing to leave out', where='--folds', found=folds, allowed='2 or more',
            fix='Say --folds 5, or leave --folds out',
        )
    if folds and by_states:
        raise ConfigurationError(
            'stretches are left out in turn by regression only', where='--folds', found=folds,
            fix='Keep a part of the recording back with --holdout')
