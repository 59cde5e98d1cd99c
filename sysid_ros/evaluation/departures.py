r"""Joints whose weight leaves the description's, and no other joint tells which is right.

The scale of an effort is checked by the joints that feel the same masses. A vertical slide shares
its weight with nobody, or with joints that feel little of it: a wrong torque constant is another
mass. Where the rows do not exclude that, the description is all there is to compare with: the
slope of the joint's torque at rest on the weight of the bodies described,

.. math:: s_j = 1 + \frac{(\hat\tau_j - \tau_j) \cdot g_j}{g_j \cdot g_j},

where the torques at rest, :math:`\hat\tau` of what was found and :math:`\tau` of the description,
hold constant torques and springs, too: the weight of a slide is a constant torque, and what a prior
keeps from the mass goes there. That of a slide is a mass, which descriptions know best. Where a
joint turns it is a centre of mass beside its axis, and of a wheel what the description has wrong.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_ros.estimation.estimate import Estimate
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.evaluation.contradictions import ScoreTest
from sysid_ros.mechanics.regressor.regressor import inertial_regressor

# Factor by which a weight may leave the description's; and standard deviation of a scale's
# logarithm up to which a joint is checked by the others.
_FACTOR, _CHECKED = 1.4, 1.0
# The weight described has to be this part of the effort.
_PART = 0.3
# Rows that are looked at, spread evenly.
_ROWS = 500


@dataclass(frozen=True)
class Departure:
    """A factor between found and described weight that the rows cannot check.

    Attributes:
        joint: Name of the joint.
        factor: What the joint was found to carry at rest per described weight.
    """

    joint: str
    factor: float

    @property
    def sentence(self) -> str:
        """The finding in words."""
        return (
            f'{self.joint}: the weight that was found, with its constant torque, is '
            f'{self.factor:.3g} times that of the description, and the other joints feel too '
            'little of it to tell whether the effort is wrong, the description, or something else '
            'carries a part.')

    @property
    def next_step(self) -> str:
        """The next step, in words."""
        return (
            f'Check torque constant and gear (recording.effort.scale: '
            f'{{{self.joint}: {1.0 / self.factor:.3g}}} would agree with the description); if the '
            'description is wrong or lacks a counterweight or spring, correct it, or set '
            'processing.effort_check to warn.')


def departures(
    problem: RegressionProblem, estimate: Estimate, scores: ScoreTest
) -> tuple[Departure, ...]:
    """Factors between found and described weights, of slides that no other joint checks.

    Args:
        problem: Rows that were fitted.
        estimate: What was found.
        scores: What the rows say of themselves.

    Returns:
        What the rows do not exclude; nothing where no joint is checked by others, since a factor
        is the scale of all efforts there.
    """
    robot = problem.model.robot
    if problem.motion is None or not any(
            deviation < _CHECKED for _, deviation in scores.log_scales.values()):
        return ()
    slides = np.array([kind == 'prismatic' for kind in robot.joint_types])
    data = problem.motion.dataset
    rows = np.arange(0, len(data), -(-len(data) // _ROWS))
    still = np.zeros_like(data.q[rows])
    weight = inertial_regressor(robot, data.q[rows], still, still)
    described = weight @ robot.reference_inertials.reshape(-1)
    model, parameters = problem.model, estimate.parameters
    beyond = model.torque(parameters.values, data.q[rows], still, still) - model.torque(
        parameters.prior, data.q[rows], still, still)
    size = np.mean(described**2, axis=0)
    told = slides & (size > _PART**2 * np.nanmean(data.tau[rows]**2, axis=0))
    slope = 1.0 + np.mean(beyond * described, axis=0) / np.where(told, size, 1.0)
    return tuple(
        Departure(name, float(factor))
        for name, factor, known in zip(robot.joint_names, slope, told, strict=True)
        if known and not 1.0 / _FACTOR < factor < _FACTOR
        and not scores.excludes_scale(name, np.log(max(factor, 1e-9))))
