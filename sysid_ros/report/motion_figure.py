"""A motion that was fitted: readings, the fit, and what they differ by."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sysid_ros.estimation.trajectory.inertial_sensors import (
    Accelerometer,
    Gyroscope,
    LoadCell,
    PlaceTracker,
)
from sysid_ros.estimation.trajectory.problem import Segment, TrajectoryProblem
from sysid_ros.estimation.trajectory.sensors import Encoder, Sensor, Tachometer
from sysid_ros.estimation.trajectory.solution import TrajectorySolution
from sysid_ros.report.headline import percent
from sysid_ros.report.joint_strips import (
    CANDIDATE,
    ERROR,
    MEASURED,
    JointStrips,
    PlottedLine,
    Strip,
)
from sysid_ros.robot.model import RobotModel

# Most of white noise is within so many standard deviations.
_BAND = 1.96
# Numbers of sensors beyond this many cannot be read, with two strips for each.
_SHOWN = 12
# Letters of a robot's name that leave room for the rest of the title.
_LONGEST = 24

# Times, readings, and these less fitted ones in standard deviations, segment by segment.
_Traces = list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]


def motion_strips(problem: TrajectoryProblem, solution: TrajectorySolution) -> JointStrips:
    """Readings with what was fitted, and what is left in standard deviations of the noise.

    A good fit leaves noise: what keeps a shape shows what the model lacks.

    Args:
        problem: What was measured.
        solution: The fit.
    """
    traces, units = _traces(problem, solution)
    strips: list[Strip] = []
    for name in list(traces)[:_SHOWN]:
        upper, lower = list[PlottedLine](), list[PlottedLine]()
        for number, (t, measured, fitted, error) in enumerate(traces[name]):
            labels = ('', '') if number else ('measured', 'fitted')
            upper.append(PlottedLine(t, measured, MEASURED, 1.6, labels[0]))
            upper.append(PlottedLine(t, fitted, CANDIDATE, 0.9, labels[1]))
            lower.append(PlottedLine(t, error, ERROR, 0.7))
        strips += (
            Strip(name, units[name], tuple(upper)),
            Strip('error', 'σ', tuple(lower), band=_BAND))
    shifted = any(_shifts(problem.segments))
    return JointStrips(
        f'{problem.model.robot.name[:_LONGEST]}: readings of the training data; '
        f'{percent(_within(traces))} of the errors in the grey band, of white noise 95 %',
        'time [s]' + ', recordings one after the other' * shifted, tuple(strips))


def _within(traces: dict[str, _Traces]) -> float:
    """Part of all errors that are in the band; NaN where there are none."""
    errors = np.concatenate(
        [error for each in traces.values() for *_, error in each] or [np.zeros(0)])
    errors = errors[np.isfinite(errors)]
    return float(np.mean(np.abs(errors) <= _BAND)) if len(errors) else float('nan')


def _traces(
    problem: TrajectoryProblem, solution: TrajectorySolution
) -> tuple[dict[str, _Traces], dict[str, str]]:
    """What to draw for each number of each sensor, and its unit."""
    traces: dict[str, _Traces] = {}
    units: dict[str, str] = {}
    for segment, shift, residuals in zip(
        problem.segments, _shifts(problem.segments), solution.residuals, strict=True
    ):
        for observation, residual in zip(segment.observations, residuals, strict=True):
            for column in range(observation.sensor.width):
                name = _label(observation.sensor, column)
                units[name] = _unit(observation.sensor, column, problem.model.robot)
                values = observation.values[:, column]
                traces.setdefault(name, []).append((
                    observation.t + shift, values, values - residual[:, column],
                    residual[:, column] / observation.sigma[column]))
    return traces, units


def _label(sensor: Sensor, column: int) -> str:
    """What a person calls one number of a sensor."""
    if isinstance(sensor, Encoder):
        joints = '+'.join(joint for joint, _ in sensor.weights[column])
        return f'{joints} speed' if isinstance(sensor, Tachometer) else joints
    return sensor.name if sensor.width == 1 else f'{"xyz"[column % 3]} of {sensor.name}'


def _unit(sensor: Sensor, column: int, robot: RobotModel) -> str:
    """The unit of one number of a sensor."""
    if isinstance(sensor, Encoder):
        joint = sensor.weights[column][0][0]
        kind = robot.joint_types[robot.joint_index(joint)]
        unit = 'm' if kind == 'prismatic' else 'rad'
        return f'{unit}/s' if isinstance(sensor, Tachometer) else unit
    if isinstance(sensor, Gyroscope):
        return 'rad/s'
    if isinstance(sensor, Accelerometer):
        return 'm/s²'
    if isinstance(sensor, PlaceTracker):
        return 'm'
    if isinstance(sensor, LoadCell):
        sliding = robot.joint_types[robot.joint_index(sensor.joint)] == 'prismatic'
        return 'N' if sensor.force or (sensor.force is None and sliding) else 'N·m'
    return '-'


def _shifts(segments: Sequence[Segment]) -> list[float]:
    """What to add to the times of each segment, so that recordings do not lie on each other."""
    shifts: list[float] = []
    end = -np.inf
    for segment in segments:
        shift = shifts[-1] if shifts else 0.0
        if segment.t[0] + shift < end:
            shift = end - float(segment.t[0])
        shifts.append(shift)
        end = float(segment.t[-1]) + shift
    return shifts
