"""Positions that count turns: as angles in radians they contradict the efforts of the prior."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.recording.checks.column_order import explained_efforts, improvement
from sysid_ros.recording.dataset import Dataset
from sysid_ros.recording.units import TURN

# Rows that are looked at, spread evenly over the recording.
_ROWS = 500
# Turns are believed that leave so many times less of the efforts, and explain so much of the one of
# the middle joint; where angles within one turn, and the limits of the joints, allow them.
_DECISIVE, _EXPLAINED = 8.0, 0.8
# Positions are within their limits up to this factor and so many radians.
_WITHIN, _MARGIN = 1.1, 0.1


@dataclass(frozen=True)
class Turns:
    """Positions that look like turns.

    Attributes:
        before: Part of the efforts that the prior explains by angles in radians, on average.
        after: The same by turns.
    """

    before: float
    after: float

    @property
    def sentence(self) -> str:
        """The finding in words."""
        return (
            f'in turns the description explains {100.0 * self.after:.0f} % of the efforts, in '
            f'radians {100.0 * self.before:.0f} %')


def counted_turns(dataset: Dataset, model: TorqueModel) -> Turns | None:
    """Whether positions that are taken for radians count turns, as drivers of motors do.

    Args:
        dataset: Motion and effort; its joints are the model's, in order.
        model: Torque model with the prior.
    """
    robot = model.robot
    turning = np.array([kind != 'prismatic' for kind in robot.joint_types])
    reach = TURN * np.abs(dataset.q).max(axis=0)
    limits = np.maximum(np.abs(robot.limits.lower), np.abs(robot.limits.upper))
    within = reach <= _WITHIN * np.where(np.isfinite(limits), limits, np.inf) + _MARGIN
    if not turning.any() or not within[turning].all():
        return None
    factor = np.where(turning, TURN, 1.0)
    turned = replace(
        dataset, q=factor * dataset.q, v=factor * dataset.v, a=factor * dataset.a)
    rows = np.arange(0, len(dataset), max(len(dataset) // _ROWS, 1))
    named = np.arange(len(turning))
    before, after = (
        np.diag(explained_efforts(data, model, rows, named)) for data in (dataset, turned))
    if np.median(after) < _EXPLAINED or improvement(before, after) < _DECISIVE:
        return None
    return Turns(float(before.mean()), float(after.mean()))
