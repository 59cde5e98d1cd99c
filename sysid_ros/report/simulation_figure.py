"""Figure of simulated stretches: measured motion, and what the parameters make of its torque."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sysid_ros.evaluation.simulation import Simulation
from sysid_ros.report.joint_axes import CANDIDATE, MEASURED, PRIOR, joint_axes, save

# More stretches than this cannot be told apart in a figure.
_SHOWN = 12
# Room between two stretches, in lengths of one.
_GAP = 0.15


def simulation_figure(path: str | Path, simulation: Simulation) -> None:
    """Draw some stretches side by side, each from the measured state on, for every joint.

    The scale is that of the measured motion: what leaves it has gone astray.

    Args:
        path: PNG file to write.
        simulation: The stretches.
    """
    count = len(simulation.starts)
    shown = np.unique(np.linspace(0, count - 1, min(_SHOWN, count)).round().astype(int))
    places = np.arange(len(shown)) * (1.0 + _GAP) * simulation.horizon
    figure, axes = joint_axes(simulation.joint_names, simulation.units)
    for joint, axis in enumerate(axes):
        origin = simulation.measured[shown, :1, joint]
        for paths, colour, width, label in (
            (simulation.prior.path, PRIOR, 0.9, 'prior'),
            (simulation.measured, MEASURED, 1.6, 'measured'),
            (simulation.candidate.path, CANDIDATE, 1.0, 'identified'),
        ):
            axis.plot(
                _joined(places[:, None] + simulation.t), _joined(paths[shown, :, joint] - origin),
                color=colour, linewidth=width, label=label,
            )
        reach = 1.5 * float(np.abs(simulation.measured[shown, :, joint] - origin).max())
        axis.set_ylim(-max(reach, 1e-6), max(reach, 1e-6))
        axis.margins(x=0.01)
    starts = simulation.starts[shown].round(1) + 0.0
    axes[-1].set_xticks(places, [f'{start:.1f}' for start in starts])
    axes[-1].set_xlabel(
        f'stretches of {simulation.horizon:.2g} s, from these times of the recording on [s]',
        fontsize=9,
    )
    save(figure, path, 'Motion simulated under the measured torque')


def _joined(stretches: np.ndarray) -> np.ndarray:
    """Stretches ``(S, k)`` one after the other, with a hole after each."""
    holes = np.full((len(stretches), 1), np.nan)
    return np.hstack([stretches, holes]).ravel()
