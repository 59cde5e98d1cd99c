r"""Joints whose weight leaves the description's, and other joints do not speak for it.

The scale of an effort is checked by the joints that feel the same masses. A vertical slide shares
its weight with nobody, or with joints that feel little of it: a wrong torque constant is another
mass. Where the rows do not exclude that, the description is all there is to compare with: the
slope of the joint's torque at rest on the weight of the bodies described,

.. math:: s_j = 1 + \frac{(\hat\tau_j - \tau_j) \cdot g_j}{g_j \cdot g_j},

where the torques at rest, :math:`\hat\tau` of what was found and :math:`\tau` of the description,
hold constant torques and springs, too: the weight of a slide is a constant torque, and what a prior
keeps from the mass goes there. That of a slide is a mass, which descriptions know best. Where a
joint turns it is a centre of mass beside its axis, and of a wheel what the description has wrong:
there the description alone says nothing, but confirms a scale that the rows suggest and do not
prove.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_ros.estimation.estimate import Estimate
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.evaluation.contradictions import ScoreTest
from sysid_ros.mechanics.regressor.regressor import inertial_regressor
from sysid_ros.recording.checks.settings_lines import signal_line

# Factor by which a weight may leave the description's; and standard deviation of a scale's
# logarithm up to which a joint is checked by the others.
_FACTOR, _CHECKED = 1.4, 1.0
# The weight described has to be this part of the effort.
_PART = 0.3
# Standard deviations from which on rows suggest a scale.
_SUGGESTS = 3.0
# Rows that are looked at, spread evenly.
_ROWS = 500


@dataclass(frozen=True)
class Departure:
    """A factor between found and described weight that the rows do not speak against.

    Attributes:
        joint: Name of the joint.
        factor: What the joint was found to carry at rest per described weight.
        joints: All joints, in their order.
        sigmas: Standard deviations by which the rows suggest a scale of the effort to the same
            side; 0 where they cannot tell.
    """

    joint: str
    factor: float
    joints: tuple[str, ...]
    sigmas: float = 0.0

    @property
    def sentence(self) -> str:
        """The finding in words."""
        others = (
            'the efforts of the other joints speak for a wrong scale of its effort, too, by '
            f'{self.sigmas:.1f} standard deviations' if self.sigmas else
            'the other joints feel too little of it to tell whether the effort is wrong, the '
            'description, or something else carries a part')
        return (
            f'{self.joint}: the weight that was found, with its constant torque, is '
            f'{self.factor:.3g} times that of the description, and {others}.')

    @property
    def next_step(self) -> str:
        """The next step, in words."""
        return (
            'Check torque constant and gear: '
            f'{signal_line("effort", "scale", self.joints, {self.joint: 1.0 / self.factor}, 1.0)}'
            ', times what is there now, would agree with the description; if the description is '
            'wrong or lacks a counterweight or spring, correct it, or set '
            'processing: {effort_check: warn}.')


def departures(
    problem: RegressionProblem, estimate: Estimate, scores: ScoreTest
) -> tuple[Departure, ...]:
    """Factors between found and described weights that the rows do not speak against.

    Args:
        problem: Rows that were fitted.
        estimate: What was found.
        scores: What the rows say of themselves.

    Returns:
        Those of slides that the rows do not exclude, and of all joints those that they suggest;
        nothing where no joint is checked by others, since a factor is the scale of all efforts
        there.
    """
    robot = problem.model.robot
    if problem.motion is None or not any(
            deviation < _CHECKED for _, deviation in scores.log_scales.values()):
        return ()
    named = {one.joint for one in scores.contradictions}
    found = []
    for name, kind, factor in zip(
        robot.joint_names, robot.joint_types, _factors(problem, estimate), strict=True
    ):
        if name in named or 1.0 / _FACTOR < factor < _FACTOR or np.isnan(factor):
            continue
        logarithm = float(np.log(max(factor, 1e-9)))
        scale, deviation = scores.log_scales[name]
        sigmas = np.sign(logarithm) * scale / deviation
        if sigmas >= _SUGGESTS:
            found.append(Departure(
                name, float(factor), robot.joint_names, float(sigmas)))
        elif kind == 'prismatic' and not scores.excludes_scale(name, logarithm):
            found.append(Departure(name, float(factor), robot.joint_names))
    return tuple(found)


def _factors(problem: RegressionProblem, estimate: Estimate) -> np.ndarray:
    """What each joint carries at rest per described weight; NaN where that is little, ``(n,)``."""
    assert problem.motion is not None
    data, robot, model = problem.motion.dataset, problem.model.robot, problem.model
    rows = np.arange(0, len(data), -(-len(data) // _ROWS))
    q, still = data.q[rows], np.zeros_like(data.q[rows])
    weight = inertial_regressor(robot, q, still, still)
    described = weight @ robot.reference_inertials.reshape(-1)
    parameters = estimate.parameters
    beyond = (
        model.torque(parameters.values, q, still, still)
        - model.torque(parameters.prior, q, still, still))
    size = np.mean(described**2, axis=0)
    told = size > _PART**2 * np.nanmean(data.tau[rows]**2, axis=0)
    factor: np.ndarray = 1.0 + np.mean(beyond * described, axis=0) / np.where(told, size, np.nan)
    return factor
