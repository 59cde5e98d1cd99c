r"""A joint whose position has another sign than the description says, told by all efforts.

No masses make up for a joint that turns the other way: weights of all that it carries, and its own
friction, act against what they should. Where a fit leaves much of the efforts, least squares over
all parameters, free of a prior and of what physics allows, is tried with the motion of each joint
turned around.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.recording.checks.settings_lines import signal_line

# Part of the efforts that a fit has to leave, for a sign to be looked for; and part of what is left
# that the other sign may leave.
_MUCH, _BETTER = 0.05, 0.5
# Most rows that are looked at, spread evenly, and efforts in all of them.
_ROWS, _EFFORTS = 1000, 8000


@dataclass(frozen=True)
class ReversedPosition:
    """A joint whose position has the other sign.

    Attributes:
        joint: Its name.
        left: Part of all efforts, each over its size, that the best parameters leave as it is.
        left_reversed: The same with the other sign.
        joints: All joints, in their order.
    """

    joint: str
    left: float
    left_reversed: float
    joints: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """The finding in words."""
        return (
            f'{self.joint}: the efforts agree with the motion only if its position has the other '
            f'sign: any masses leave {100.0 * self.left:.2g} % of them as it is, and '
            f'{100.0 * self.left_reversed:.2g} % then.')

    @property
    def next_step(self) -> str:
        """The next step, in words."""
        return (
            'Check which way the joint turns in the description: '
            f'{signal_line("position", "sign", self.joints, {self.joint: -1.0}, 1.0)}'
            ', times what is there now, would agree.')


def find_reversed_position(problem: RegressionProblem, error: float) -> ReversedPosition | None:
    """The joint whose position has the other sign.

    Args:
        problem: Rows that were fitted.
        error: Part of their torques that the fit leaves.

    Returns:
        None where the fit leaves little, no sign leaves much less, loops are closed, or the motion
        is not at hand.
    """
    robot = problem.model.robot
    if problem.motion is None or robot.loops is not None or not error > _MUCH:
        return None
    data = problem.motion.dataset
    sound = np.flatnonzero(data.mask.all(axis=1) & np.isfinite(data.tau).all(axis=1))
    most = min(_ROWS, _EFFORTS // len(robot.joint_names))
    rows = sound[::max(-(-len(sound) // most), 1)]
    motion, torque = np.stack([data.q[rows], data.v[rows], data.a[rows]]), data.tau[rows]
    size = np.sqrt(np.mean(torque**2, axis=0))
    loaded = np.flatnonzero(size > 0.0)
    if not len(loaded) or len(rows) * len(loaded) <= 2 * len(problem.parameters):
        return None

    def left(signs: np.ndarray) -> float:
        """Part of the efforts, each over its size, that the best parameters leave."""
        regressor = problem.model.regressor(*(signs * motion))[:, loaded] / size[loaded, None]
        columns = regressor.reshape(-1, regressor.shape[2])
        efforts = (torque[:, loaded] / size[loaded]).ravel()
        rest = columns @ np.linalg.lstsq(columns, efforts, rcond=1e-9)[0] - efforts
        return float(np.sqrt(np.mean(rest**2)))

    joints = len(robot.joint_names)
    plain = left(np.ones(joints))
    if not plain > _MUCH:
        return None
    tried = [left(1.0 - 2.0 * np.eye(joints)[joint]) for joint in range(joints)]
    best = int(np.argmin(tried))
    if not tried[best] < _BETTER * plain:
        return None
    return ReversedPosition(robot.joint_names[best], plain, tried[best], robot.joint_names)
