"""Figures of a fit: torques over time, measured and predicted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from sysid_ros.estimation.problem import RegressionProblem

# Colours that stay apart in print and for colour-blind eyes.
MEASURED, CANDIDATE, PRIOR, ERROR = '#222222', '#0072b2', '#e69f00', '#d55e00'


def torque_figure(
    path: str | Path, problem: RegressionProblem, theta: np.ndarray, *, title: str
) -> None:
    """Draw measured, identified and prior torques of every joint, and what is left over.

    Rows that did not count (masked, or too slow) are shaded.

    Args:
        path: PNG file to write.
        problem: Rows to draw.
        theta: Identified parameters, shape ``(p,)``.
        title: What the rows are.
    """
    joints = problem.model.robot.joint_names
    time, breaks = _time(problem)
    predictions = (problem.predicted(theta), problem.predicted(problem.parameters.prior))
    figure = Figure(figsize=(11.0, 1.0 + 1.7 * len(joints)), layout='constrained')
    FigureCanvasAgg(figure)
    axes = figure.subplots(len(joints), 1, sharex=True, squeeze=False)[:, 0]
    for joint, (name, axis) in enumerate(zip(joints, axes, strict=True)):
        candidate, prior = (prediction[:, joint] for prediction in predictions)
        measured = problem.torque[:, joint]
        for values, colour, width, label in (
            (prior, PRIOR, 0.8, 'prior'),
            (measured, MEASURED, 1.2, 'measured'),
            (candidate, CANDIDATE, 0.9, 'identified'),
            (measured - candidate, ERROR, 0.7, 'measured − identified'),
        ):
            axis.plot(time, _broken(values, breaks), color=colour, linewidth=width, label=label)
        axis.fill_between(
            time, 0.0, 1.0, where=~problem.usable[:, joint], color='0.9', step='mid', zorder=0,
            transform=axis.get_xaxis_transform(), linewidth=0.0,
        )
        unit = 'N' if problem.model.robot.joint_types[joint] == 'prismatic' else 'N·m'
        axis.set_ylabel(f'{name}\n[{unit}]', fontsize=8)
        axis.margins(x=0.0)
        axis.grid(color='0.92', linewidth=0.6)
        axis.tick_params(labelsize=8)
    axes[-1].set_xlabel('time of the rows [s]', fontsize=9)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc='upper right', ncols=4, fontsize=8, frameon=False)
    figure.suptitle(title, fontsize=11, x=0.01, ha='left')
    figure.savefig(path, dpi=110)


def _time(problem: RegressionProblem) -> tuple[np.ndarray, np.ndarray]:
    """Time without the gaps between segments in [s], and the first row of each segment."""
    starts = np.array([start for start, _ in problem.segments[1:]], dtype=int)
    return np.arange(len(problem.torque)) / problem.rate, starts


def _broken(values: np.ndarray, breaks: np.ndarray) -> np.ndarray:
    """Values with a hole where a segment begins, so that no line crosses a gap."""
    broken = values.copy()
    broken[breaks] = np.nan
    return broken
