"""Torques over time, measured and predicted: what the figures of a fit show."""

from __future__ import annotations

import numpy as np

from sysid_ros.estimation.estimate import Estimate
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.evaluation.commanded_torque import torque_name
from sysid_ros.numerics.arrays import runs
from sysid_ros.report.headline import percent
from sysid_ros.report.joint_strips import (
    CANDIDATE,
    ERROR,
    MEASURED,
    PRIOR,
    JointStrips,
    PlottedLine,
    Strip,
)

# Points of a curve that can be told apart: some for each of a thousand dots.
_SHOWN = 8000
# Height of a strip of residuals, in parts of one of torques.
_RESIDUALS = 0.5
# Letters of a robot's name that leave room for the legend.
_LONGEST = 24


def torque_strips(
    problem: RegressionProblem, estimate: Estimate, *, title: str, by_motion: bool = False
) -> JointStrips:
    """Measured, identified and prior torques of every joint, and below them what is left over.

    Residuals have a scale of their own; twice the root mean square of those that were fitted is
    shaded on either side. Rows that did not count (masked, or too slow) are shaded, too.

    Args:
        problem: Rows to show.
        estimate: The estimate.
        title: What the rows are.
        by_motion: Whether motion was fitted, whose residuals say nothing of those of torque.
    """
    robot = problem.model.robot
    theta = np.array([estimate.parameters[name] for name in problem.parameters.names])
    units = ['N' if kind == 'prismatic' else 'N·m' for kind in robot.joint_types]
    time, breaks = _time(problem)
    stretches = _stretches(len(time))
    shown = time if stretches is None else np.repeat(time[stretches], 2)
    predictions = (problem.predicted(theta), problem.predicted(problem.parameters.prior))
    strips = []
    for joint, (name, unit) in enumerate(zip(robot.joint_names, units, strict=True)):
        candidate, prior = (prediction[:, joint] for prediction in predictions)
        measured, made = problem.torque[:, joint], torque_name(problem.model, name)
        left_over = f'{made} − identified' + ('' if by_motion else ', ±2 σ')
        torques, residual = (
            tuple(PlottedLine(
                shown, _reach(_broken(values, breaks), stretches), colour, width, label)
                  for values, colour, width, label in curves)
            for curves in (
                ((prior, PRIOR, 0.8, 'prior'), (measured, MEASURED, 1.2, made),
                 (candidate, CANDIDATE, 0.9, 'identified')),
                ((measured - candidate, ERROR, 0.7, left_over),)))
        shaded = _times_of_runs(shown, _anywhere(~problem.usable[:, joint], stretches))
        sigma = np.nan if by_motion else float(estimate.residuals.rms_per_joint[joint])
        strips += [
            Strip(name, unit, torques, shaded),
            Strip('left over', unit, residual, shaded,
                  band=2.0 * sigma if np.isfinite(sigma) else None, height=_RESIDUALS)]
    after, before = (percent(_error(problem, prediction)) for prediction in predictions)
    return JointStrips(
        f'{robot.name[:_LONGEST]}: {title}, {after} off, {before} before', 'time of the rows [s]',
        tuple(strips))


def _error(problem: RegressionProblem, predicted: np.ndarray) -> float:
    """Relative error of torque over the rows that count; NaN where there is no torque."""
    residual, torque = (
        float(np.linalg.norm(np.where(problem.usable, values, 0.0)))
        for values in (problem.torque - predicted, problem.torque))
    return residual / torque if torque > 0.0 else float('nan')


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


def _times_of_runs(time: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Begin and length of each run of rows of a mask, to half a row beyond its ends, ``(k, 2)``."""
    middles = np.concatenate([time[:1], 0.5 * (time[1:] + time[:-1]), time[-1:]])
    begin, end = middles[np.array(runs(mask), dtype=int).reshape(-1, 2)].T
    return np.stack([begin, end - begin], axis=1)


def _broken(values: np.ndarray, breaks: np.ndarray) -> np.ndarray:
    """Values with a hole where a segment begins, so that no line crosses a gap."""
    broken = values.copy()
    broken[breaks] = np.nan
    return broken
