r"""Slides whose found mass weighs something else than what their drive holds at rest.

At a vertical slide a constant torque and the weight are the same column of the regressor: the mass
is told by what accelerates it alone, and the constant torque takes the difference. A counterweight
or a gas spring is such a torque; so is what a clock leaves that runs k times as fast, on which
masses look :math:`k^2` times as large. No recording tells which.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_ros.estimation.estimate import Estimate
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.mechanics.regressor.regressor import inertial_regressor

# Factor by which the weight of the found mass may leave what is held, standard deviations of the
# constant torque that it takes, and the part of the effort that weight has to be.
_FACTOR, _SURE, _PART = 1.4, 3.0, 0.3
# Rows that are looked at, spread evenly.
_ROWS = 500


@dataclass(frozen=True)
class Counterweight:
    """A constant force beside the weight of a slide.

    Attributes:
        joint: Name of the joint.
        factor: Weight of the mass that was found per force that the drive holds at rest.
        force: The constant force that was found, in [N].
    """

    joint: str
    factor: float
    force: float

    @property
    def sentence(self) -> str:
        """The finding in words."""
        return (
            f'{self.joint}: the mass that was found weighs {self.factor:.3g} times what the drive '
            f'holds at rest, and a constant force of {self.force:.3g} N makes up for it, as a '
            'counterweight or spring would that the description lacks, or a clock of the '
            f'recording that runs {np.sqrt(self.factor):.3g} times as fast as it should.')

    @property
    def next_step(self) -> str:
        """The next step, in words."""
        return (
            'Check unit and rate of the stamps (recording.time). If a counterweight or spring '
            'carries a part of the weight, say so: processing: {effort_check: warn}.')


def counterweights(
    problem: RegressionProblem, estimate: Estimate
) -> tuple[Counterweight, ...]:
    """Constant forces that weigh on slides as much as a good part of their mass.

    Args:
        problem: Rows that were fitted.
        estimate: What was found.

    Returns:
        Those of slides along which gravity is most of the described effort, beyond chance.
    """
    robot, model, parameters = problem.model.robot, problem.model, estimate.parameters
    if problem.motion is None or 'prismatic' not in robot.joint_types:
        return ()
    data = problem.motion.dataset
    rows = np.arange(0, len(data), -(-len(data) // _ROWS))
    q, still = data.q[rows], np.zeros_like(data.q[rows])
    weight = inertial_regressor(robot, q, still, still)
    described = weight @ robot.reference_inertials.reshape(-1)
    bodies = weight @ parameters.values[:weight.shape[2]]
    held = model.torque(parameters.values, q, still, still)
    size = np.mean(described**2, axis=0)
    told = size > _PART**2 * np.nanmean(data.tau[rows]**2, axis=0)
    found = []
    for joint, (name, kind) in enumerate(zip(robot.joint_names, robot.joint_types, strict=True)):
        offset = f'{name}.torque_offset'
        if kind != 'prismatic' or not told[joint] or offset not in parameters.names:
            continue
        at = parameters.names.index(offset)
        factor = float(np.mean(bodies[:, joint] * described[:, joint]) / np.mean(
            held[:, joint] * described[:, joint]))
        sure = abs(parameters.values[at]) > _SURE * estimate.standard_deviation[at]
        if sure and factor > 0.0 and not 1.0 / _FACTOR < factor < _FACTOR:
            found.append(Counterweight(name, factor, float(parameters.values[at])))
    return tuple(found)
