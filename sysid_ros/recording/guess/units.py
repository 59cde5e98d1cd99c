"""Units of angles, velocities and stamps, by the limits of the joints and by one another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sysid_ros.errors import listed
from sysid_ros.recording.guess.evidence import Finding, Question
from sysid_ros.recording.samples import within_half_a_turn
from sysid_ros.recording.units import DEGREE, TIME_UNITS, TURN
from sysid_ros.robot.model import RobotModel

#: Units of angles and of slides, the likelier first, with their factors to SI.
ANGLES: Mapping[str, float] = {'rad': 1.0, 'deg': DEGREE, 'rev': TURN}
SLIDES: Mapping[str, float] = {'m': 1.0, 'mm': 1e-3}
# Positions are within their limits up to this factor and so many radians or metres.
_WITHIN, _MARGIN = 1.1, 0.1
# Joints without limits may turn so far, in [rad].
_TURNS = 6.0 * np.pi
# Robots are recorded with periods in [s] from the first to the second of these.
_PERIODS = (0.9e-4, 0.25)
# Speeds of the fastest joint, in parts of its limit: more is impossible, less is hardly excited.
_FASTEST, _SLOWEST = 3.0, 2e-3
# Limit of a joint whose description has none, in [rad/s] or [m/s].
_USUAL = 2.0
# Ratio of a recorded velocity to the derivative of the position that is believed, and least
# correlation of the two.
_ALIKE, _CORRELATED = 1.25, 0.8
# A turn a minute in [rad/s].
_RPM = 2.0 * np.pi / 60.0


@dataclass(frozen=True)
class PositionGuess:
    """What positions are, in words of settings.

    Attributes:
        units: Unit of each joint; empty where that stays open.
        wrapped: Whether each joint is counted within one turn.
        findings: What was guessed.
        questions: What is open.
    """

    units: tuple[str, ...] = ()
    wrapped: tuple[bool, ...] = ()
    findings: tuple[Finding, ...] = ()
    questions: tuple[Question, ...] = ()


def position_guess(
    q: Sequence[np.ndarray], joints: Sequence[str], robot: RobotModel, named: str
) -> PositionGuess:
    """Guess the units of recorded positions, and whether they are counted within one turn.

    Args:
        q: Positions of each joint as they were recorded, shape ``(T,)`` each.
        joints: The joints.
        robot: The robot, whose limits say which are possible.
        named: Unit in the names of the columns, or empty.
    """
    kinds = [robot.joint_types[robot.joint_index(joint)] for joint in joints]
    turning = np.array([kind != 'prismatic' for kind in kinds])
    limits = np.array([_limit(robot, joint) for joint in joints])
    reach = np.array([np.max(np.abs(own[np.isfinite(own)]), initial=0.0) for own in q])
    slide = 'm' if named in ANGLES else _first_fitting(reach, limits, ~turning, SLIDES)
    angle = named if named in ANGLES else _first_fitting(reach, limits, turning, ANGLES)
    wrapped = np.zeros(len(joints), dtype=bool)
    if named in ANGLES or angle is None:
        tried = {named: ANGLES[named]} if named in ANGLES else ANGLES
        for unit, factor in tried.items():
            turned = _within_one_turn(q, limits, turning, factor)
            if turned is not None:
                angle, wrapped = unit, turned
                break
    if angle is None or slide is None:
        return PositionGuess(questions=_open_units(q, reach, limits, joints))
    units = tuple(angle if turns else slide for turns in turning)
    said = ' and '.join(dict.fromkeys(units))
    evidence = _limit_evidence(reach, limits, joints, units)
    if named in ANGLES:
        evidence = 'by the names of the columns'
    elif wrapped.any():
        evidence = 'counted from 0 to a whole turn'
    findings = [Finding('position', f'in {said}', evidence)]
    if wrapped.any():
        names = [joint for joint, is_so in zip(joints, wrapped, strict=True) if is_so]
        findings.append(Finding(
            'position', f'{listed(names)} counted within one turn',
            'beyond their limits, which they keep if a turn is taken off'))
    return PositionGuess(units, tuple(map(bool, wrapped)), tuple(findings))


def _first_fitting(
    reach: np.ndarray, limits: np.ndarray, of: np.ndarray, units: Mapping[str, float]
) -> str | None:
    """The first unit in which all of some joints stay within their limits."""
    return next((
        unit for unit, factor in units.items()
        if (reach * factor <= _WITHIN * limits + _MARGIN)[of].all()), None)


def _within_one_turn(
    q: Sequence[np.ndarray], limits: np.ndarray, turning: np.ndarray, factor: float
) -> np.ndarray | None:
    """Which joints keep their limits only if a turn is taken off what lies beyond half a turn.

    Returns:
        Shape ``(n,)``; None where not all angles lie between 0 and a turn, or one keeps its limits
        in no way.
    """
    wrapped = np.zeros(len(q), dtype=bool)
    for k in map(int, np.flatnonzero(turning)):
        angle = factor * q[k][np.isfinite(q[k])]
        if not len(angle):
            continue
        if angle.min() < -_MARGIN or angle.max() > 2.0 * np.pi + _MARGIN:
            return None
        most = _WITHIN * limits[k] + _MARGIN
        wrapped[k] = angle.max() > most
        if np.abs(within_half_a_turn(angle)).max() > most:
            return None
    return wrapped if wrapped.any() else None


def _open_units(
    q: Sequence[np.ndarray], reach: np.ndarray, limits: np.ndarray, joints: Sequence[str]
) -> tuple[Question, ...]:
    """What to ask of positions that keep the limits in no unit."""
    worst = int(np.argmax(reach / limits))
    found = (
        f'{joints[worst]} goes to {reach[worst]:.4g}, its limit is {limits[worst]:.4g}, '
        'far beyond it in radians and in degrees alike')
    if not all(np.array_equal(own, np.rint(own), equal_nan=True) for own in q):
        return (Question(
            'position-unit', 'In which unit are the positions, and are they those of the motors? '
            '(--position-scale takes radians or metres for one unit, too)', found, 'deg'),)
    middle = float(np.nanmedian(np.concatenate(q)))
    return (
        Question(
            'position-scale', 'How many radians (or metres) is one count of the positions?',
            f'whole numbers; {found}', f'{2.0 * np.pi / 4096:.6g} for 4096 counts a turn'),
        Question(
            'position-offset', 'What is to be added to them, in radians (or metres), for the zero '
            'of the description?', f'counts around {middle:.5g}', '-3.14159'))


def _limit(robot: RobotModel, joint: str) -> float:
    k = robot.joint_index(joint)
    ends = np.abs([robot.limits.lower[k], robot.limits.upper[k]])
    limit = float(ends.max()) if np.isfinite(ends).all() else np.inf
    continuous = robot.joint_types[k] == 'continuous' or not np.isfinite(limit) or limit == 0.0
    return _TURNS if continuous else limit


def _limit_evidence(
    reach: np.ndarray, limits: np.ndarray, joints: Sequence[str], units: Sequence[str]
) -> str:
    """The joint that comes nearest to its limit."""
    factors = np.array([{'deg': DEGREE, 'mm': 1e-3}.get(unit, 1.0) for unit in units])
    k = int(np.argmax(reach * factors / limits))
    return (
        f'{joints[k]} goes to {reach[k]:.3g} {units[k]}, its limit is '
        f'{limits[k] / factors[k]:.3g} {units[k]}')


def velocity_unit(
    t: np.ndarray, q: np.ndarray, v: np.ndarray, names: str
) -> tuple[float, Finding]:
    """Factor of recorded velocities to the derivative of the positions, both in SI units.

    Args:
        t: Stamps in [s], shape ``(T,)``.
        q: Positions in [rad] or [m], shape ``(T, n)``.
        v: Velocities as recorded, shape ``(T, n)``.
        names: Columns, in words.

    Returns:
        1 where velocities are in SI units, the degree where they are in degrees; NaN where they
        are no derivative of the positions; and the finding.
    """
    with np.errstate(divide='ignore', invalid='ignore'):
        derivative = np.gradient(q, axis=0) / np.gradient(t)[:, None]
    usable = np.isfinite(derivative) & np.isfinite(v)
    derivative, v = np.where(usable, derivative, 0.0), np.where(usable, v, 0.0)
    power = np.sqrt(np.sum(v**2, axis=0) * np.sum(derivative**2, axis=0))
    moving = power > 0.0
    product = np.sum(v * derivative, axis=0)
    if not moving.any() or float(np.median(product[moving] / power[moving])) < _CORRELATED:
        return np.nan, Finding(
            'velocity', 'not used', f'{names} are not the derivative of the positions')
    ratio = float(np.median(product[moving] / np.sum(v[:, moving] ** 2, axis=0)))
    for factor, unit in ((1.0, 'rad/s'), (DEGREE, 'deg/s')):
        if 1.0 / _ALIKE < ratio / factor < _ALIKE:
            return factor, Finding(
                'velocity', f'in {unit}',
                f'{ratio / factor:.2f} of the derivative of the positions')
    like = ', as if these were in rpm' if 1.0 / _ALIKE < ratio / _RPM < _ALIKE else ''
    return np.nan, Finding(
        'velocity', 'not used',
        f'the derivative of the positions is {ratio:.3g} times as much{like}')


def time_unit(
    stamps: np.ndarray, q: np.ndarray, limits: np.ndarray, named: str,
    v: np.ndarray | None = None,
) -> tuple[str | None, Finding | Question]:
    """Unit of stamps.

    Args:
        stamps: As they were recorded, shape ``(T,)``.
        q: Positions in [rad] or [m], shape ``(T, n)``.
        limits: Speed limits of the joints in [rad/s] or [m/s], shape ``(n,)``.
        named: Unit in the name of the column, or empty.
        v: Velocities in [rad/s] or [m/s], where they were recorded, shape ``(T, n)``.

    Returns:
        ``s``, ``ms``, ``us`` or ``ns``, None where it stays open; the finding or the question.
    """
    steps = np.diff(stamps[np.isfinite(stamps)])
    steps = steps[steps > 0.0]
    if not len(steps):
        return None, Question(
            'rate', 'How many rows were recorded in a second?', 'stamps that do not grow', '1000')
    period = float(np.median(steps))
    if named in TIME_UNITS:
        return named, Finding('time', f'in {named}', 'by the name of the column')
    possible = [unit for unit, s in TIME_UNITS.items() if _PERIODS[0] <= period * s <= _PERIODS[1]]
    speed = _speed(stamps, q, limits)
    likely = [
        unit for unit in possible if _SLOWEST <= speed / TIME_UNITS[unit] <= _FASTEST]
    told = _by_velocity(stamps, q, v)
    likely = [told] if told in possible else likely or possible
    if len(likely) != 1:
        return None, Question(
            'time-unit', 'In which unit is the time?',
            f'{period:.4g} between rows', ' or '.join(likely) or 's')
    rate = 1.0 / (period * TIME_UNITS[likely[0]])
    return likely[0], Finding('time', f'in {likely[0]}', f'{rate:.4g} rows a second')


def _speed(stamps: np.ndarray, q: np.ndarray, limits: np.ndarray) -> float:
    """Speed of the fastest joint in parts of its limit, per unit of the stamps."""
    apart = max(len(q) // 400, 1)
    duration = stamps[apart:] - stamps[:-apart]
    moved = np.abs(q[apart:] - q[:-apart])
    usable = duration > 0.0
    if not usable.any() or not np.isfinite(moved[usable]).any(axis=0).all():
        return np.nan
    speeds = np.nanquantile(moved[usable] / duration[usable, None], 0.99, axis=0)
    usual = np.where(np.isfinite(limits) & (limits > 0.0), limits, _USUAL)
    return float(np.max(speeds / usual))


def _by_velocity(stamps: np.ndarray, q: np.ndarray, v: np.ndarray | None) -> str | None:
    """The unit in which recorded velocities are the derivative of the positions."""
    if v is None:
        return None
    for unit, seconds in TIME_UNITS.items():
        factor, _ = velocity_unit(stamps * seconds, q, v, '')
        if np.isfinite(factor):
            return unit
    return None
