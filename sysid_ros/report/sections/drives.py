"""Torque of drives against speed, with what they have left there, and against load, both ways."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

import numpy as np

from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.mechanics.actuators.actuators import ActuatedModel, JointActuator, actuated
from sysid_ros.mechanics.actuators.envelope import Limits, largest_torque
from sysid_ros.report.plots import (
    BEFORE,
    COLOURS,
    IDENTIFIED,
    INK,
    RECORDED,
    Figure,
    axis,
    dots,
    figure,
    line,
)
from sysid_ros.report.report_model import ReportModel
from sysid_ros.report.report_source import ReportSource
from sysid_ros.report.residual_analysis import friction_laws, motion_of_rows
from sysid_ros.report.sections.section import Section
from sysid_ros.report.series import Number, Series, series, some_rows

_DOTS, _POINTS, _HEIGHT = 400, 61, 280
# Torque is at its limit from this part of it on: rows are filtered.
_AT_LIMIT = 0.98
# Speeds that are shown in parts of the fastest row; a no-load speed beyond is not.
_BEYOND, _FARTHEST = 1.15, 4.0
_DRIVING, _DRIVEN = COLOURS[0], COLOURS[5]


class TorqueSpeed(ReportModel):
    """Torque that a drive has left at speeds, in [N·m] or [N]: found, and as given."""

    speed: Series
    found: Series
    given: Series


class DriveAndBackdrive(ReportModel):
    """Torque through the gear beside the load of the links, in [N·m] or [N].

    Attributes:
        load: Torque that the links take.
        torque: Torque through the gear: that of the drive without what its own inertia takes.
        law: The same by the identified friction.
        driving: Whether the drive moves the load, and not the load the drive.
        loss_driving: Mean torque that is lost where it does.
        loss_driven: Mean torque that is lost where the load moves the drive.
    """

    load: Series
    torque: Series
    law: Series
    driving: list[bool]
    loss_driving: Number
    loss_driven: Number


class JointDriveUse(ReportModel):
    """What the drive of one joint did.

    Attributes:
        joint: The joint.
        unit: Of its torques.
        position_unit: Of its positions.
        kind: What drives it.
        by_command: Whether torques are those that commands make; otherwise, since constants of the
            drive were found, those that the identified model takes.
        velocity: Of rows.
        torque: Of the drive in these rows.
        limits: What it has left; None without limits.
        at_limit: Part of the rows at its limits in [%]; None without limits.
        gear: Load and torque; None where friction cannot be told apart.
    """

    joint: str
    unit: str
    position_unit: str
    kind: str
    by_command: bool
    velocity: Series
    torque: Series
    limits: TorqueSpeed | None
    at_limit: Number
    gear: DriveAndBackdrive | None


class DrivesSection(Section):
    """Drives of a robot that was identified from commands.

    Attributes:
        rows: What the rows are called.
        joints: One for each drive.
    """

    section: Literal['drives'] = 'drives'
    title: ClassVar[str] = 'What the drives do'
    rows: str
    joints: list[JointDriveUse]

    @classmethod
    def of(cls, source: ReportSource) -> Self | None:
        """Drives of a run; None where torques were measured, or motion is not in memory."""
        problem = source.judged
        drives, motion = actuated(problem.model), motion_of_rows(problem)
        if drives is None or motion is None:
            return None
        joints = [
            _joint(source, drives, name, motion) for name in source.joint_names
            if name in drives.actuators.names]
        return cls(rows=next(iter(source.rows)), joints=joints)

    def figures(self) -> dict[str, Figure]:
        """Torque over speed of every joint, and over load where friction is known."""
        found = {f'speed-{k}': _speed_figure(joint) for k, joint in enumerate(self.joints)}
        return found | {
            f'load-{k}': _load_figure(joint, joint.gear) for k, joint in enumerate(self.joints)
            if joint.gear is not None}


def _joint(
    source: ReportSource, drives: ActuatedModel, name: str, motion: tuple[np.ndarray, ...]
) -> JointDriveUse:
    problem, k = source.judged, source.joint_names.index(name)
    each = drives.actuators.actuator_of(name)
    assert each is not None  # joints without one are left out
    values = source.values_for(problem)
    by_command = not any(constant.name in each.free for constant in each.kind.constants)
    torque = (problem.torque if by_command else problem.predicted(values))[:, k]
    usable = np.flatnonzero(problem.usable[:, k])
    rows, velocity = some_rows(usable, _DOTS), motion[1][:, k]
    found = each.limits_of(source.estimate.parameters)
    is_limited = bool(np.isfinite(found).any())
    return JointDriveUse(
        joint=name, unit=source.torque_units[k], position_unit=source.position_units[k],
        kind=each.kind.name, by_command=by_command, velocity=series(velocity[rows]),
        torque=series(torque[rows]),
        limits=_torque_speed(each, found, velocity[usable]) if is_limited else None,
        at_limit=_at_limit(torque[usable], velocity[usable], found) if is_limited else None,
        gear=_gear(problem, values, torque, motion, rows, k))


def _torque_speed(each: JointActuator, found: Limits, velocity: np.ndarray) -> TorqueSpeed:
    """What a drive has left from the fastest speed one way to that the other way."""
    fastest = float(np.abs(velocity).max(initial=0.0)) or 1.0
    ends = [limits[2] for limits in (found, each.limits) if np.isfinite(limits[2])]
    reach = _BEYOND * max([fastest, *(min(end, _FARTHEST * fastest) for end in ends)])
    speed = np.linspace(-reach, reach, _POINTS)
    return TorqueSpeed(
        speed=series(speed), found=series(largest_torque(speed, found)),
        given=series(largest_torque(speed, each.limits)))


def _at_limit(torque: np.ndarray, velocity: np.ndarray, limits: Limits) -> float:
    """Part of rows that are at the limits in [%]."""
    highest, lowest = largest_torque(velocity, limits), -largest_torque(-velocity, limits)
    middle, half = 0.5 * (highest + lowest), 0.5 * (highest - lowest)
    return 100.0 * float(np.mean(np.abs(torque - middle) >= _AT_LIMIT * half))


def _gear(
    problem: RegressionProblem, values: np.ndarray, torque: np.ndarray,
    motion: tuple[np.ndarray, ...], rows: np.ndarray, k: int,
) -> DriveAndBackdrive | None:
    """Torque through the gear of joint k at some rows; None without friction that is its own."""
    laws = friction_laws(problem, values, motion, rows) if len(rows) else None
    if laws is None:
        return None
    bodies = 10 * len(problem.model.robot.body_names)
    load = problem.regressor[rows, k, :bodies] @ values[:bodies]
    friction, speed = laws[:, k], motion[1][rows, k]
    others = problem.predicted(values)[rows, k] - load - friction
    through = torque[rows] - others
    loss, driving = (through - load) * np.sign(speed), load * speed > 0.0
    return DriveAndBackdrive(
        load=series(load), torque=series(through), law=series(load + friction),
        driving=driving.tolist(), loss_driving=_mean(loss[driving]),
        loss_driven=_mean(loss[~driving]))


def _mean(values: np.ndarray) -> float | None:
    return float(values.mean()) if len(values) else None


def _speed_figure(joint: JointDriveUse) -> Figure:
    traces = [dots(joint.velocity, joint.torque, 'rows', RECORDED, marker={'opacity': 0.45})]
    if joint.limits is not None:
        both = ((joint.limits.given, 'as given', BEFORE), (joint.limits.found, 'left', IDENTIFIED))
        are_held = joint.limits.given == joint.limits.found
        for values, name, colour in both[1:] if are_held else both:
            mirrored = [None if value is None else -value for value in reversed(values)]
            traces += [
                line(joint.limits.speed, values, name, colour, width=1.8, legendgroup=name),
                line(joint.limits.speed, mirrored, name, colour, width=1.8, legendgroup=name,
                     showlegend=False)]
    return figure(
        traces, axis(f'velocity [{joint.position_unit}/s]'), axis(f'torque [{joint.unit}]'),
        height=_HEIGHT)


def _load_figure(joint: JointDriveUse, gear: DriveAndBackdrive) -> Figure:
    known = [value for value in gear.load if value is not None]
    ends = [min(known, default=0.0), max(known, default=0.0)]
    traces = [line(ends, ends, 'no friction', INK, width=1.0)]
    for name, colour, chosen in (('driving', _DRIVING, True), ('driven', _DRIVEN, False)):
        own = [i for i, driving in enumerate(gear.driving) if driving is chosen]
        traces.append(dots(
            [gear.load[i] for i in own], [gear.torque[i] for i in own], name, colour,
            marker={'opacity': 0.45}))
    traces.append(dots(gear.load, gear.law, 'law', IDENTIFIED, size=3.0))
    return figure(
        traces, axis(f'load of the links [{joint.unit}]'),
        axis(f'through the gear [{joint.unit}]'), height=_HEIGHT)
