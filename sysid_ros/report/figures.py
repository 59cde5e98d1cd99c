"""Figures of a fit: torques over time, measured and predicted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.report.joint_axes import CANDIDATE, ERROR, MEASURED, PRIOR, joint_axes, save

# Points of a curve that can be told apart: some for each of a thousand dots.
_SHOWN = 8000


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
    robot = problem.model.robot
    units = ['N' if kind == 'prismatic' else 'N·m' for kind in robot.joint_types]
    time, breaks = _time(problem)
    stretches = _stretches(len(time))
    shown = time if stretches is None else np.repeat(time[stretches], 2)
    predictions = (problem.predicted(theta), problem.predicted(problem.parameters.prior))
    figure, axes = joint_axes(robot.joint_names, units)
    for joint, axis in enumerate(axes):
        candidate, prior = (prediction[:, joint] for prediction in predictions)
        measured = problem.torque[:, joint]
        for values, colour, width, label in (
            (prior, PRIOR, 0.8, 'prior'),
            (measured, MEASURED, 1.2, 'measured'),
            (candidate, CANDIDATE, 0.9, 'identified'),
            (measured - candidate, ERROR, 0.7, 'measured − identified'),
        ):
            axis.plot(
                shown, _reach(_broken(values, breaks), stretches), color=colour, linewidth=width,
                label=label)
        _shade(axis, shown, _anywhere(~problem.usable[:, joint], stretches))
        axis.margins(x=0.0)
    axes[-1].set_xlabel('time of the rows [s]', fontsize=9)
    save(figure, path, title)


def _time(problem: RegressionProblem) -> tuple[np.ndarray, np.ndarray]:
    """Time without the gaps between segments in [s], and the first row of each segment."""
    starts = np.array([start for start, _ in problem.segments[1:]], dtype=int)
    return np.arange(len(problem.torque)) / problem.rate, starts


def _stretches(rows: int) -> np.ndarray | None:
    """First rows of stretches that are a line's width each; None for so few rows that all show."""
    return None if rows <= _SHOWN else np.unique(
        np.linspace(0, rows, _SHOWN // 2, endpoint=False).astype(int))


def _reach(values: np.ndarray, stretches: np.ndarray | None) -> np.ndarray:
    """Least and largest value of each stretch in turn, which draws the same as all of them."""
    if stretches is None:
        return values
    both = [extreme.reduceat(values, stretches) for extreme in (np.fmin, np.fmax)]
    return np.stack(both, axis=1).ravel()


def _anywhere(mask: np.ndarray, stretches: np.ndarray | None) -> np.ndarray:
    """Stretches in which something holds anywhere, each twice."""
    if stretches is None:
        return mask
    return np.repeat(np.logical_or.reduceat(mask, stretches), 2)


def _shade(axis: Axes, time: np.ndarray, mask: np.ndarray) -> None:
    """Shade rows of a mask over the whole height, at less cost than filling between curves."""
    axis.broken_barh(
        _runs(time, mask).tolist(), (0.0, 1.0), color='0.9', zorder=0,
        transform=axis.get_xaxis_transform(), linewidth=0.0)


def _runs(time: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Begin and length of each run of rows of a mask, to half a row beyond its ends, ``(k, 2)``."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(int)))
    middles = np.concatenate([time[:1], 0.5 * (time[1:] + time[:-1]), time[-1:]])
    begin, end = middles[edges].reshape(-1, 2).T
    return np.stack([begin, end - begin], axis=1)


def _broken(values: np.ndarray, breaks: np.ndarray) -> np.ndarray:
    """Values with a hole where a segment begins, so that no line crosses a gap."""
    broken = values.copy()
    broken[breaks] = np.nan
    return broken
