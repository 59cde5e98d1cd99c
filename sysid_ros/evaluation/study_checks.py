"""What a study cannot be made of, refused before any work is done."""

from __future__ import annotations

from sysid_ros.errors import ConfigurationError, EstimationError, listed
from sysid_ros.estimation.estimator import TRAJECTORY_ESTIMATORS
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.estimation.identification import Identification
from sysid_ros.estimation.measurements import Measurements
from sysid_ros.mechanics.actuators.actuators import actuated
from sysid_ros.recording.link_sensors import WRENCH_KINDS


def require_fitting_estimator(setup: FitSetup, estimator: str | None) -> None:
    """Refuse estimators that need torques where commands were recorded, or other sensors.

    Args:
        setup: The settings and the torque model.
        estimator: Estimator that is to be used; None where several are.

    Raises:
        ConfigurationError: It needs torques, or makes nothing of the sensors.
    """
    require_fitting_sensors(setup.identification, estimator)
    if actuated(setup.model) is not None and estimator != 'shooting':
        raise ConfigurationError(
            'the robot has actuators, whose torques nobody measured', where='fit.estimator',
            found=estimator or 'all estimators', allowed='shooting, which simulates them',
            fix='Say fit: {estimator: shooting}')


def require_fitting_sensors(identification: Identification, estimator: str | None) -> None:
    """Refuse sensors on links, and a base that floats, where the estimator makes nothing of them.

    Args:
        identification: The settings.
        estimator: Estimator that is to be used; None where several are.

    Raises:
        ConfigurationError: It does not.
    """
    settings, by_states = identification.settings, estimator in TRAJECTORY_ESTIMATORS
    floats = settings.robot is not None and settings.robot.base == 'floating'
    sensors = settings.recording.sensors
    if by_states and floats:
        raise ConfigurationError(
            'the motion of a base that floats is measured, and not sought', where='robot: base',
            found=f'estimator {estimator}', allowed='estimators by regression',
            fix='Say fit: {estimator: entropic}, or take base: floating out')
    of_base = ('gyroscope', 'accelerometer') if floats else ()
    useless = [
        name for name, sensor in sensors.items()
        if (sensor.kind in WRENCH_KINDS) == by_states and sensor.kind not in of_base]
    if useless and by_states:
        raise ConfigurationError(
            'forces on links are for estimators by regression', where='recording: sensors',
            found=f'{listed(useless)}, and estimator {estimator}',
            allowed='estimators by regression',
            fix='Say fit: {estimator: entropic}, or take these sensors out')
    if useless:
        raise ConfigurationError(
            'sensors on links tell of a motion that the estimator does not seek',
            where='recording: sensors',
            found=f'{listed(useless)}, and estimator {estimator or "all"}',
            allowed=', '.join(TRAJECTORY_ESTIMATORS),
            fix='Name one of these, as --estimator collocation, or take the sensors out; of a base '
            'that moves say robot: {base: floating}')


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
