r"""A joint that turns the other way than the description says, told by all efforts.

No masses make up for that: weights of all that the joint carries, and its own friction, act against
what they should. Where a fit leaves much of the efforts, least squares over all parameters, free of
a prior and of what physics allows, is tried with the motion of each joint turned around, by itself
and together with its effort, as drivers that count the other way record both.
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
    """A joint whose position has the other sign, and its effort or not.

    Attributes:
        joint: Its name.
        left: Part of all efforts, each over its size, that the best parameters leave as it is.
        left_reversed: The same with the other sign.
        joints: All joints, in their order.
        effort: Whether the effort has the other sign, too.
    """

    joint: str
    left: float
    left_reversed: float
    joints: tuple[str, ...]
    effort: bool = False

    @property
    def sentence(self) -> str:
        """The finding in words."""
        what = 'its position and effort have' if self.effort else 'its position has'
        return (
            f'{self.joint}: the efforts agree with the motion only if {what} the other sign: any '
            f'masses leave {100.0 * self.left:.2g} % of them as it is, and '
            f'{100.0 * self.left_reversed:.2g} % then.')

    @property
    def next_step(self) -> str:
        """The next step, in words."""
        signals = ('position', 'effort') if self.effort else ('position',)
        line = signal_line(signals, 'sign', self.joints, {self.joint: -1.0}, 1.0)
        return (
            f'Check which way the joint turns in the description: {line}, times what is there '
            'now, and the same of a velocity that was recorded, would agree.')


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

    def left(signs: np.ndarray) -> list[float]:
        """Parts of the efforts, each over its size, that the best parameters leave.

        Args:
            signs: Of the motion, shape ``(n,)``.

        Returns:
            With efforts as they are, and with these signs as well.
        """
        regressor = problem.model.regressor(*(signs * motion))[:, loaded] / size[loaded, None]
        columns = regressor.reshape(-1, regressor.shape[2])
        efforts = np.column_stack([
            (sign * torque[:, loaded] / size[loaded]).ravel() for sign in (1.0, signs[loaded])])
        rest = columns @ np.linalg.lstsq(columns, efforts, rcond=1e-9)[0] - efforts
        return [float(one) for one in np.sqrt(np.mean(rest**2, axis=0))]

    joints = len(robot.joint_names)
    plain = left(np.ones(joints))[0]
    if not plain > _MUCH:
        return None
    tried = np.array([left(1.0 - 2.0 * np.eye(joints)[joint]) for joint in range(joints)])
    best, effort = np.unravel_index(int(np.argmin(tried)), tried.shape)
    least = float(tried[best, effort])
    if not least < _BETTER * plain:
        return None
    return ReversedPosition(
        robot.joint_names[int(best)], plain, least, robot.joint_names, bool(effort))
