r"""Units and signs of sensors on a robot whose base floats, told by its weight.

On average an accelerometer shows 9.81 m/s², and what pushes the robot carries its mass. A base that
turns sees the direction of its weight turn against it, :math:`\dot f \approx -\omega \times f`.
"""

from __future__ import annotations

import numpy as np

from sysid_ros.errors import RecordingError
from sysid_ros.mechanics.tree.base_motion import BaseMotion
from sysid_ros.recording.dataset import Dataset
from sysid_ros.robot.model import RobotModel

# Size of the specific force in [m/s²], on average, of what stands, walks or hangs.
_WEIGHT = (7.0, 14.0)
# A mass that is carried is not within this factor of the description's by chance.
_MASS = 4.0
# Time in [s] over which the weight turns, least correlation at which it is seen to, and factors by
# which angular velocities are those of another unit.
_TURN, _SEEN, _OTHER = 0.1, 0.3, (0.1, 10.0)


def require_right_units(
    robot: RobotModel, base: BaseMotion, dataset: Dataset, *, flies: bool, carried: bool
) -> None:
    """Refuse sensors on the base and forces on links of another unit or sign.

    Args:
        robot: The robot.
        base: Motion of its base.
        dataset: Motion and torques, which hold what forces do.
        flies: Whether nothing touches the robot.
        carried: Whether all that pushes it was measured.

    Raises:
        RecordingError: One is.
    """
    felt = base.proper_acceleration
    size = float(np.mean(np.linalg.norm(felt, axis=1)))
    if not flies and not _WEIGHT[0] < size < _WEIGHT[1]:
        raise RecordingError(
            'the accelerometer of the base does not show the weight', where=dataset.source,
            found=f'{size:.3g} m/s² on average', allowed='about 9.81 m/s²', fix=_weight_fix(size))
    rate = _turning_rate(base, dataset)
    if rate is not None and not _OTHER[0] < rate < _OTHER[1]:
        raise RecordingError(
            'the gyroscope of the base turns at another rate than the weight that the '
            'accelerometer shows', where=dataset.source, found=f'{1.0 / rate:.3g} times as fast',
            allowed='as fast', fix='Set the unit of the gyroscope: '
            + ('deg/s' if rate < 1.0 else 'rad/s'))
    if carried:
        _require_mass(robot, felt, dataset)


def _weight_fix(size: float) -> str:
    if size < 0.5:
        return (
            'Record what the sensor measures, from which its driver did not take gravity; of a '
            'robot that flies write recording: {contacts: none}')
    if 0.5 <= size < 2.0:
        return 'Set unit: g for the accelerometer'
    return 'Set the unit of the accelerometer, m/s² or g'


def _turning_rate(base: BaseMotion, dataset: Dataset) -> float | None:
    """How fast the weight turns beside the gyroscope; None where it is not seen to."""
    felt = base.proper_acceleration
    width = max(round(_TURN * dataset.rate), 1)
    turned, foretold = [], []
    for first, last in dataset.segments:
        count = (last - first) // width
        if count < 2:
            continue
        rows = slice(first, first + count * width)
        means = felt[rows].reshape(count, width, 3).mean(axis=1)
        omega = base.angular_velocity[rows].reshape(count, width, 3).mean(axis=1)
        middle = 0.5 * (means[1:] + means[:-1])
        foretold.append(-np.cross(0.5 * (omega[1:] + omega[:-1]), middle) * width / dataset.rate)
        turned.append(np.diff(means, axis=0))
    if not turned:
        return None
    seen, told = np.concatenate(turned).ravel(), np.concatenate(foretold).ravel()
    product, square = float(seen @ told), float(told @ told)
    if not product > _SEEN * np.sqrt(square * float(seen @ seen)):
        return None
    return product / square


def _require_mass(robot: RobotModel, felt: np.ndarray, dataset: Dataset) -> None:
    """Refuse forces that carry another mass than the robot's by far, or pull it down."""
    net = dataset.tau[:, :3]
    carried = float(np.sum(net * felt) / np.sum(felt**2))
    mass = float(robot.inertial_prior[:, 0].sum())
    if carried < 0.0:
        raise RecordingError(
            'forces on links pull the robot down', where=dataset.source,
            found=f'{carried:.3g} kg that they carry', allowed=f'about {mass:.3g} kg',
            fix='Set sign: -1 for sensors that measure what links exert')
    if mass > 0.0 and not mass / _MASS < carried < _MASS * mass:
        raise RecordingError(
            'forces on links carry another mass than that of the robot', where=dataset.source,
            found=f'{carried:.3g} kg', allowed=f'about {mass:.3g} kg, as described',
            fix='Set the unit of the sensors, as unit: kgf; name those of all links that are '
            'touched, or write recording: {contacts: unmeasured}; where the masses of the '
            'description are wrong, processing: {unit_check: warn}')
