"""Figure of a motion that was fitted: what the sensors' readings and the fit differ by."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sysid_ros.estimation.trajectory.problem import TrajectoryProblem
from sysid_ros.estimation.trajectory.sensors import Encoder, Sensor, Tachometer
from sysid_ros.estimation.trajectory.solution import TrajectorySolution
from sysid_ros.report.joint_axes import CANDIDATE, joint_axes, save

# Most of white noise is within so many standard deviations.
_BAND = 1.96
# Strips of every number of every sensor beyond this many cannot be read.
_SHOWN = 24


def motion_figure(
    path: str | Path, problem: TrajectoryProblem, solution: TrajectorySolution
) -> None:
    """Draw measured less fitted readings, in standard deviations of the sensors' noise.

    A good fit leaves noise: what keeps a shape shows what the model lacks.

    Args:
        path: PNG file to write.
        problem: What was measured.
        solution: The fit.
    """
    traces: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
    for stretch, residuals in zip(problem.stretches, solution.residuals, strict=True):
        for observation, residual in zip(stretch.observations, residuals, strict=True):
            for column in range(observation.sensor.width):
                traces.setdefault(_label(observation.sensor, column), []).append(
                    (observation.t, residual[:, column] / observation.sigma[column]))
    names = list(traces)[:_SHOWN]
    figure, axes = joint_axes(names, ['σ'] * len(names))
    for name, axis in zip(names, axes, strict=True):
        axis.axhspan(-_BAND, _BAND, color='0.93', zorder=0, label='95 % of white noise')
        for number, (t, values) in enumerate(traces[name]):
            axis.plot(
                t, values, color=CANDIDATE, linewidth=0.7,
                label='' if number else 'measured − fitted')
        axis.margins(x=0.0)
    axes[-1].set_xlabel('time [s]', fontsize=9)
    save(figure, path, 'Readings of the training data')


def _label(sensor: Sensor, column: int) -> str:
    """What a person calls one number of a sensor."""
    if isinstance(sensor, Encoder):
        joints = '+'.join(joint for joint, _ in sensor.weights[column])
        return f'{joints} speed' if isinstance(sensor, Tachometer) else joints
    return sensor.name if sensor.width == 1 else f'{"xyz"[column % 3]} of {sensor.name}'
