"""Closed loops at run time: can the motors still be braked before a passive joint or a dead point?

Motors brake each for itself, and so leave the path that was verified. Where they would go until
they rest is followed by the loops, sample by sample.
"""

from __future__ import annotations

import numpy as np

from sysid_ros.excitation.design.closed_loops import KEPT_BY_STOPS
from sysid_ros.excitation.design.constraints import ANGULAR_UNITS, LINEAR_UNITS
from sysid_ros.excitation.safety.braking import BrakingStop
from sysid_ros.excitation.safety.limits import MotionLimits
from sysid_ros.mechanics.closures.closed_chain import ClosedChain, closed_chain
from sysid_ros.robot.model import RobotModel

# Samples per second of the way to rest, in [Hz], and their least number while motors react.
_RATE, _LEAST = 100.0, 3


class LoopGuard:
    """Follows what braking does to the loops of one robot, from one look to the next.

    Args:
        robot: A robot with closed loops.
        limits: Limits of its driven joints.
        singularity: Part of the singularity margin of the assembly that motions are designed to
            keep; half of it is left to errors of tracking and to stops.
    """

    def __init__(self, robot: RobotModel, limits: MotionLimits, singularity: float) -> None:
        assert robot.loops is not None
        tree = robot.opened
        self._chain: ClosedChain = closed_chain(robot)
        self._limits, self._described = limits, tree.limits
        self._actuated, self._passive = robot.loops.actuated, robot.loops.passive
        self._units = [
            (LINEAR_UNITS if kind == 'prismatic' else ANGULAR_UNITS)[:2]
            for kind in tree.joint_types
        ]
        self._kept = KEPT_BY_STOPS * singularity
        self._assembled = float(self._chain.singularity_margin(self._chain.assembly[None])[0])
        self._here = self._chain.assembly

    @classmethod
    def of(cls, robot: RobotModel, limits: MotionLimits, singularity: float) -> LoopGuard | None:
        """The guard of a robot; None for one without loops."""
        return None if robot.loops is None else cls(robot, limits, singularity)

    def findings(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray, *, reaction_time: float, over: float
    ) -> tuple[str, ...]:
        """Reasons to stop now, one sentence each; empty when all is well.

        Args:
            q: Positions of the driven joints in [rad] or [m], shape ``(n,)``.
            v: Their velocities in [rad/s] or [m/s], shape ``(n,)``.
            a: Their accelerations until braking begins, shape ``(n,)``.
            reaction_time: Time until braking begins in [s].
            over: Part by which passive joints may exceed their velocity limits.
        """
        path, closed = self._followed(self._way_to_rest(q, v, a, reaction_time))
        if not closed[0]:
            return ('The loops cannot be closed where the motors are.',)
        self._here = path[0]
        if not closed.all():
            return ('The motors cannot stop before a dead point of the loops.',)
        margin = float(self._chain.singularity_margin(path).min()) / self._assembled
        near = [] if margin >= self._kept else [
            f'The motors cannot stop before the loops come to {margin:.3g} of their assembled '
            f'distance from a dead point; {self._kept:.3g} is allowed.']
        return (*near, *self._beyond(path), *self._too_fast(path[0], v, over))

    def _way_to_rest(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray, time: float
    ) -> np.ndarray:
        """Positions of the driven joints while they react and brake, shape ``(K, n)``."""
        t = np.linspace(0.0, time, max(int(time * _RATE), _LEAST))[:, None]
        reacting = q + t * v + 0.5 * t**2 * a
        stop = BrakingStop(self._limits, reacting[-1], v + time * a, a)
        return np.concatenate([reacting, stop.grid(_RATE).q])

    def _followed(self, path: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Positions of all joints along a way, and where the loops could be closed."""
        q, closed = self._chain.reachable(path, self._here)
        if not closed[0]:
            # Joint states may have been away for long.
            q, closed = self._chain.reachable(path)
        return q, closed

    def _beyond(self, path: np.ndarray) -> list[str]:
        """Passive joints that do not stop within their range."""
        lowest, highest = path.min(axis=0), path.max(axis=0)
        found = []
        for k in self._passive.tolist():
            lower, upper = self._described.lower[k], self._described.upper[k]
            for reach, bound, kept in (
                (lowest[k], lower, not lowest[k] < lower),
                (highest[k], upper, not highest[k] > upper),
            ):
                if not kept:
                    found.append(
                        f'The passive {self._chain.joint_names[k]} at {path[0, k]:.4g} '
                        f'{self._units[k][0]} cannot stop before {reach:.4g} {self._units[k][0]}; '
                        f'its limit is {bound:.4g}.')
        return found

    def _too_fast(self, q: np.ndarray, v: np.ndarray, over: float) -> list[str]:
        speed = self._chain.motion_at(q[None], v[None], np.zeros_like(v)[None]).v[0]
        limit = self._described.velocity
        # A limit that is not given is a NaN, which nothing exceeds.
        return [
            f'The velocity of the passive {self._chain.joint_names[k]} is {speed[k]:.4g} '
            f'{self._units[k][1]}; its limit is {limit[k]:.4g}.'
            for k in self._passive.tolist() if abs(speed[k]) > (1.0 + over) * limit[k]
        ]
