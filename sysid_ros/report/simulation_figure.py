"""Figure of simulated stretches: measured motion, and what the parameters make of its torque."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from sysid_ros.evaluation.simulation import Simulation
from sysid_ros.report.figures import CANDIDATE, MEASURED, PRIOR

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
    count, joints = len(simulation.starts), len(simulation.joint_names)
    shown = np.unique(np.linspace(0, count - 1, min(_SHOWN, count)).round().astype(int))
    places = np.arange(len(shown)) * (1.0 + _GAP) * simulation.horizon
    figure = Figure(figsize=(11.0, 1.0 + 1.7 * joints), layout='constrained')
    FigureCanvasAgg(figure)
    axes = figure.subplots(joints, 1, sharex=True, squeeze=False)[:, 0]
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
        axis.set_ylabel(
            f'{simulation.joint_names[joint]}\n[{simulation.units[joint]}]', fontsize=8
        )
        axis.margins(x=0.01)
        axis.grid(color='0.92', linewidth=0.6)
        axis.tick_params(labelsize=8)
    starts = simulation.starts[shown].round(1) + 0.0
    axes[-1].set_xticks(places, [f'{start:.1f}' for start in starts])
    axes[-1].set_xlabel(
        f'stretches of {simulation.horizon:.2g} s, from these times of the recording on [s]',
        fontsize=9,
    )
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc='upper right', ncols=3, fontsize=8, frameon=False)
    figure.suptitle('Motion simulated under the measured torque', fontsize=11, x=0.01, ha='left')
    figure.savefig(path, dpi=110)


def _joined(stretches: np.ndarray) -> np.ndarray:
    """Stretches ``(S, k)`` one after the other, with a hole after each."""
    holes = np.full((len(stretches), 1), np.nan)
    return np.hstack([stretches, holes]).ravel()
