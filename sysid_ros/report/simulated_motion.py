"""Simulated motion beside the measured one, as poses over time: what a player of a page shows."""

from __future__ import annotations

from typing import Self

import numpy as np

from sysid_ros.errors import SysidError
from sysid_ros.evaluation.simulation import HORIZON, Simulation
from sysid_ros.mechanics.tree.kinematics import body_poses
from sysid_ros.numerics.rotations import quaternions
from sysid_ros.report.report_model import ReportModel
from sysid_ros.report.robot_motion import PlayedMotion
from sysid_ros.report.series import Series, series
from sysid_ros.robot.model import RobotModel

# Stretches that are played, frames per second, and numbers of all frames together.
_STRETCHES, _RATE, _MOST_NUMBERS = 6, 25.0, 60_000
# Numbers of a body in a frame: a pose as measured, and two points.
_BODY = 13
# How long the end of a stretch is shown in [s], and how soon the next one begins.
_HOLD, _JUMP = 0.4, 1e-3


class SimulatedMotion(ReportModel):
    """Some stretches one after the other: b bodies at F times, in the base frame.

    Attributes:
        measured: The motion as measured.
        identified: Origins of the joint frames as simulated by the identified model in [m]: x, y,
            z of each body, frame by frame; None after a stretch has diverged.
        prior: The same of the description.
        stretches: Number of stretches.
    """

    measured: PlayedMotion
    identified: Series
    prior: Series
    stretches: int

    @classmethod
    def of(cls, robot: RobotModel, run: Simulation) -> Self | None:
        """Stretches of a simulation, evenly chosen; None where the robot cannot be placed.

        Args:
            robot: The robot.
            run: What was simulated.
        """
        count = min(_STRETCHES, len(run.starts))
        chosen = np.unique(np.linspace(0, len(run.starts) - 1, count).round().astype(int))
        bodies = len(robot.tree.parent)
        most = max(_MOST_NUMBERS // (_BODY * max(bodies, 1) * len(chosen)), 3)
        frames = min(int(np.ceil(_RATE * run.horizon)) + 1, most, len(run.t))
        rows = np.unique(np.linspace(0, len(run.t) - 1, frames).round().astype(int))
        # The last frame twice: it stays before the next stretch begins.
        shown = np.append(rows, rows[-1])
        part = np.append(run.t[rows], run.t[rows[-1]] + _HOLD)
        time = (part + np.arange(len(chosen))[:, None] * (part[-1] + _JUMP)).reshape(-1)
        try:
            measured, identified, prior = (
                _poses(robot, path[np.ix_(chosen, shown)]) for path in (
                    run.measured, run.candidate.path, run.prior.path))
        except SysidError:
            return None
        return cls(
            measured=PlayedMotion(
                time=series(time), duration=float(time[-1]), parent=robot.tree.parent.tolist(),
                # As far ahead as the verdict looks.
                shown=int(np.abs(part - HORIZON).argmin()), origin=series(measured[0]),
                turn=series(quaternions(measured[1]))),
            identified=series(identified[0]), prior=series(prior[0]), stretches=len(chosen))


def _poses(robot: RobotModel, path: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Origins ``(F, b, 3)`` and rotations of all bodies along a path; NaN where it has none.

    Raises:
        SysidError: The robot cannot be there.
    """
    q = path.reshape(-1, path.shape[-1])
    there = np.isfinite(q).all(axis=1)
    bodies = len(robot.tree.parent)
    origin, rotation = np.full((len(q), bodies, 3), np.nan), np.full((len(q), bodies, 3, 3), np.nan)
    if there.any():
        poses = body_poses(robot, q[there])
        origin[there], rotation[there] = poses.origin, poses.rotation
    return origin, rotation
