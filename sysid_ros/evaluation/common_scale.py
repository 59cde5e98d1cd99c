"""Whether all torques are one multiple of what the description predicts.

Of measured efforts the rows of a fit tell it: samples of coarse encoders hide what efforts are
parts of, the filters of a fit leave motion that tells it. A description that is wrong by the same
factor at every joint, frictions too, is none of this robot; a unit or a torque constant is one
factor. Where nothing measured a torque, masses that were found are as large as the constants of the
actuators say, and the torques of the bodies tell it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.mechanics.regressor.regressor import inertial_regressor
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.robot.parameters import ParameterSet

# A joint tells it that follows the prediction so closely; those have to be two, with so much of the
# squared torques that are predicted, and slopes within this factor of their median, which is off by
# so much: a wrong density or a forgotten link is less.
_CORRELATED, _MOST_OF_ALL, _ALIKE, _OFF = 0.9, 0.9, 1.5, 3.0
# Masses of a description are right to such a factor, all together, and torques of every joint by it
# to such a power.
_NOTABLE, _AT_EVERY_JOINT = 1.25, 0.5
# Rows that tell the slopes.
_ROWS = 2000


@dataclass(frozen=True)
class CommonScale:
    """Torques of all joints in parts of what the description predicts.

    Attributes:
        scale: Torque per predicted one, the median of the joints that tell it.
        least: The smallest of them.
        most: The largest.
    """

    scale: float
    least: float
    most: float

    @property
    def beyond_descriptions(self) -> bool:
        """Whether no description is wrong by so much at all joints."""
        return not 1.0 / _OFF < self.scale < _OFF


def common_scale(problem: RegressionProblem) -> CommonScale | None:
    """The scale of all efforts beside the torques of the prior, its joint terms included.

    Args:
        problem: Rows, filtered, of all recordings of a fit.

    Returns:
        None where it is near one, or not the same at joints, or too few of them tell it.
    """
    predicted = np.where(problem.usable, problem.predicted(problem.parameters.prior), 0.0)
    measured = np.where(problem.usable, problem.torque, 0.0)
    found = _alike(predicted, measured)
    return found if found is not None and found.beyond_descriptions else None


def common_scale_of_bodies(
    model: TorqueModel, found: ParameterSet, q: np.ndarray, v: np.ndarray, a: np.ndarray
) -> CommonScale | None:
    """The scale of torques of all bodies as found beside those of the prior.

    Args:
        model: Torque model.
        found: Parameters that were found.
        q: Joint positions in [rad] or [m], shape ``(T, n)``.
        v: Joint velocities.
        a: Joint accelerations.

    Returns:
        None where it is as near one as descriptions are, or not the same at joints, or too few of
        them tell it; for robots with loops or a floating base, too.
    """
    if model.robot.loops is not None or model.robot.free_joint:
        return None
    names = [name for name in model.parameters.names if model.parameters.is_inertial(name)]
    some = slice(None, None, max(len(q) // _ROWS, 1))
    regressor = inertial_regressor(model.robot, q[some], v[some], a[some])
    described, identified = (
        regressor @ np.array([values[name] for name in names])
        for values in (model.parameters.with_values(model.parameters.prior), found))
    scale = _alike(described, identified)
    if scale is None or 1.0 / _NOTABLE < scale.scale < _NOTABLE:
        return None
    of_it = np.log([scale.least, scale.most]) / np.log(scale.scale)
    return scale if of_it.min() > _AT_EVERY_JOINT else None


def _alike(predicted: np.ndarray, measured: np.ndarray) -> CommonScale | None:
    """The scale of measured torques, shape ``(T, n)``, that is the same at all joints."""
    products = np.sum(predicted * measured, axis=0)
    squares, sizes = np.sum(predicted**2, axis=0), np.sum(measured**2, axis=0)
    telling = products > _CORRELATED * np.sqrt(squares * sizes)
    if telling.sum() < 2 or squares[telling].sum() < _MOST_OF_ALL * squares.sum():
        return None
    slopes = products[telling] / squares[telling]
    scale, least, most = (float(of(slopes)) for of in (np.median, np.min, np.max))
    alike = most < _ALIKE * scale and least > scale / _ALIKE
    return CommonScale(scale, least, most) if alike else None
