"""Simulated stretches: measured motion, and what the parameters make of what drove it."""

from __future__ import annotations

import numpy as np

from sysid_ros.evaluation.simulation import Simulation
from sysid_ros.report.joint_strips import (
    CANDIDATE,
    MEASURED,
    PRIOR,
    JointStrips,
    PlottedLine,
    Strip,
)
from sysid_ros.report.tables import number

# More stretches than this cannot be told apart in a figure.
_SHOWN = 12
# Room between two stretches, in lengths of one.
_GAP = 0.15
# Letters of a robot's name that leave room for the legend.
_LONGEST = 24


def simulation_strips(simulation: Simulation, robot: str) -> JointStrips:
    """Some stretches side by side, each from the measured state on, for every joint.

    The scale is that of the measured motion: what leaves it has gone astray.

    Args:
        simulation: The stretches.
        robot: Name of the robot.
    """
    count = len(simulation.starts)
    shown = np.unique(np.linspace(0, count - 1, min(_SHOWN, count)).round().astype(int))
    places = np.arange(len(shown)) * (1.0 + _GAP) * simulation.horizon
    along = _joined(places[:, None] + simulation.t)
    strips = []
    for joint, (name, unit) in enumerate(
        zip(simulation.joint_names, simulation.units, strict=True)
    ):
        origin = simulation.measured[shown, :1, joint]
        curves = tuple(
            PlottedLine(along, _joined(paths[shown, :, joint] - origin), colour, width, label)
            for paths, colour, width, label in (
                (simulation.prior.path, PRIOR, 0.9, 'prior'),
                (simulation.measured, MEASURED, 1.6, 'measured'),
                (simulation.candidate.path, CANDIDATE, 1.0, 'identified'),
            ))
        reach = 1.5 * float(np.abs(simulation.measured[shown, :, joint] - origin).max())
        strips.append(Strip(name, unit, curves, reach=max(reach, 1e-6)))
    starts = simulation.starts[shown].round(1) + 0.0
    return JointStrips(
        f'{robot[:_LONGEST]}: motion simulated under {simulation.under}, {_size(simulation)}',
        f'stretches of {simulation.horizon:.2g} s, from these times of the recording on [s]',
        tuple(strips), margin=0.01, ticks=(places, tuple(f'{start:.1f}' for start in starts)))


def _size(simulation: Simulation) -> str:
    """How far off the simulated motion is, in times of what coasting would be."""
    after, before = (
        f'{number(simulation.relative(errors), 2)} times' if errors.problem() is None
        else 'astray' for errors in (simulation.candidate, simulation.prior))
    return f'{after} as far off as coasting ({before} before)' if after != 'astray' else (
        f'astray ({before} before)')


def _joined(stretches: np.ndarray) -> np.ndarray:
    """Stretches ``(S, k)`` one after the other, with a hole after each."""
    holes = np.full((len(stretches), 1), np.nan)
    return np.hstack([stretches, holes]).ravel()
