"""Whether all efforts are one multiple of what the description predicts, by the rows of a fit.

Samples of coarse encoders hide what efforts are parts of; the filters of a fit leave motion that
tells it. A description that is wrong by the same factor at every joint, frictions too, is none of
this robot; a unit or a torque constant is one factor.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_ros.estimation.problem import RegressionProblem

# A joint tells it that follows the prediction so closely; those have to be two, with so much of the
# squared torques that are predicted, and slopes within this factor of their median, which is off by
# so much: a wrong density or a forgotten link is less.
_CORRELATED, _MOST_OF_ALL, _ALIKE, _OFF = 0.9, 0.9, 1.5, 3.0


@dataclass(frozen=True)
class CommonScale:
    """Efforts of all joints in parts of what the description predicts.

    Attributes:
        scale: Recorded effort per predicted torque, the median of the joints that tell it.
        least: The smallest of them.
        most: The largest.
    """

    scale: float
    least: float
    most: float


def common_scale(problem: RegressionProblem) -> CommonScale | None:
    """The scale of all efforts beside the torques of the prior, its joint terms included.

    Args:
        problem: Rows, filtered, of all recordings of a fit.

    Returns:
        None where it is near one, or not the same at joints, or too few of them tell it.
    """
    predicted = np.where(problem.usable, problem.predicted(problem.parameters.prior), 0.0)
    measured = np.where(problem.usable, problem.torque, 0.0)
    products = np.sum(predicted * measured, axis=0)
    squares, sizes = np.sum(predicted**2, axis=0), np.sum(measured**2, axis=0)
    telling = products > _CORRELATED * np.sqrt(squares * sizes)
    if telling.sum() < 2 or squares[telling].sum() < _MOST_OF_ALL * squares.sum():
        return None
    slopes = products[telling] / squares[telling]
    scale, least, most = (float(of(slopes)) for of in (np.median, np.min, np.max))
    alike = most < _ALIKE * scale and least > scale / _ALIKE
    off = not 1.0 / _OFF < scale < _OFF
    return CommonScale(scale, least, most) if alike and off else None
