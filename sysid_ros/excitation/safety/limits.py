"""What a motion may do: limits per joint, with the margins that are kept from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

import numpy as np

from sysid_ros.errors import ConfigurationError, did_you_mean
from sysid_ros.robot.model import RobotModel

# Without other word, a joint takes this long from rest to full speed, and this long from
# rest to full acceleration; descriptions in URDF have no limit of either.
_TIME_TO_SPEED = 0.5
_TIME_TO_ACCELERATION = 0.1


@dataclass(frozen=True, eq=False)
class MotionLimits:
    """Limits of the n joints, shape ``(n,)`` each, in SI units.

    Attributes:
        joint_names: The joints.
        lower: Lowest position, ``-inf`` where a joint turns without end.
        upper: Highest position, ``inf`` where a joint turns without end.
        velocity: Highest speed.
        acceleration: Highest acceleration in size.
        jerk: Highest jerk in size.
        effort: Highest torque or force in size.
    """

    joint_names: tuple[str, ...]
    lower: np.ndarray
    upper: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    jerk: np.ndarray
    effort: np.ndarray

    def __post_init__(self) -> None:
        for field in fields(self)[1:]:
            values = np.array(getattr(self, field.name), dtype=float)
            values.setflags(write=False)
            object.__setattr__(self, field.name, values)
        for field in fields(self)[1:]:
            values = getattr(self, field.name)
            for name, value in zip(self.joint_names, values, strict=True):
                signed = field.name in ('lower', 'upper')
                if np.isnan(value) or not (signed or value > 0.0):
                    raise ConfigurationError(
                        'the joint has no limit that a motion could keep',
                        where=f'{name}: {field.name}', found=value,
                        allowed='a number' if signed else 'a number above 0',
                        fix=self._line(),
                    )
        for name, lower, upper in zip(self.joint_names, self.lower, self.upper, strict=True):
            if not lower < upper:
                raise ConfigurationError(
                    'the limits leave no room to move', where=name, found=f'{lower} to {upper}',
                    allowed='lower < upper',
                    fix=self._line(),
                )

    def _line(self) -> str:
        """What completes all limits that are missing, with numbers that stand for one's own."""
        wanted = []
        for k, name in enumerate(self.joint_names):
            ends = [] if self.lower[k] < self.upper[k] else ['lower: -1.0', 'upper: 1.0']
            # Without a velocity there is no acceleration and no jerk either.
            named = ('velocity', 'acceleration', 'jerk', 'effort')
            follow = named[1:3] if not self.velocity[k] > 0.0 else ()
            others = [
                f'{limit}: 1.0' for limit in named
                if limit not in follow and not getattr(self, limit)[k] > 0.0]
            if ends or others:
                wanted.append(f'{name}: {{{", ".join((*ends, *others))}}}')
        return (
            'Complete the description, where what is left out is 0, or give them, in rad or m and '
            f'seconds, as limits: {{{", ".join(wanted)}}}')

    @classmethod
    def of(
        cls, robot: RobotModel, overrides: Mapping[str, Mapping[str, float]] | None = None
    ) -> MotionLimits:
        """Limits of a robot's description, with what it does not say.

        Args:
            robot: The robot.
            overrides: Limits per joint that replace or complete those of the description.

        Returns:
            The limits, of the joints and of those that follow them. Acceleration and jerk
            that nobody gives are those that reach full speed in half a second, and full
            acceleration in a tenth.

        Raises:
            ConfigurationError: A limit is missing, not usable, or of an unknown joint.
        """
        values = described_limits(robot)
        for joint, given in (overrides or {}).items():
            if joint not in robot.joint_names:
                raise ConfigurationError(
                    'there is no such moving joint', where='limits', found=repr(joint),
                    allowed=', '.join(robot.joint_names),
                    fix=did_you_mean(joint, robot.joint_names),
                )
            for name, value in given.items():
                if name not in values:
                    raise ConfigurationError(
                        'there is no such limit', where=f'limits: {joint}', found=repr(name),
                        allowed=', '.join(values), fix=did_you_mean(name, values),
                    )
                values[name][robot.joint_index(joint)] = value
        for name, base, time in (
            ('acceleration', 'velocity', _TIME_TO_SPEED),
            ('jerk', 'acceleration', _TIME_TO_ACCELERATION),
        ):
            values[name] = np.where(np.isnan(values[name]), values[base] / time, values[name])
        _require_ends(robot, values['lower'], values['upper'])
        return cls(robot.joint_names, **values)

    def within(self, margin: float, effort_margin: float) -> MotionLimits:
        """The limits drawn in.

        Args:
            margin: Part of the range, and of each limit but the effort's, that is kept free.
            effort_margin: Part of the effort limit that is kept free.

        Raises:
            ConfigurationError: A margin is not between 0 and 1.
        """
        for name, value in (('margin', margin), ('effort_margin', effort_margin)):
            if not 0.0 <= value < 1.0:
                raise ConfigurationError(
                    'is not a part', where=name, found=value, allowed='from 0 to below 1',
                    fix='Say 0.1 for a tenth',
                )
        keep = 1.0 - margin
        return replace(
            self, lower=self.lower + margin * self.reach, upper=self.upper - margin * self.reach,
            velocity=keep * self.velocity, acceleration=keep * self.acceleration,
            jerk=keep * self.jerk, effort=(1.0 - effort_margin) * self.effort,
        )

    @property
    def centre(self) -> np.ndarray:
        """Middle of the range, zero for joints that turn without end, shape ``(n,)``."""
        bounded = np.isfinite(self.lower) & np.isfinite(self.upper)
        with np.errstate(invalid='ignore'):
            middle = 0.5 * (self.lower + self.upper)
        one_sided = np.where(np.isfinite(self.lower), self.lower,
                             np.where(np.isfinite(self.upper), self.upper, 0.0))
        return np.where(bounded, middle, one_sided)

    @property
    def reach(self) -> np.ndarray:
        """Half of the range; half a turn where there is no end, shape ``(n,)``."""
        half = 0.5 * (self.upper - self.lower)
        return np.where(np.isfinite(half), half, np.pi)


def described_limits(robot: RobotModel) -> dict[str, np.ndarray]:
    """Limits of a robot's joints and of those that follow them, as the description gives them.

    Args:
        robot: The robot.

    Returns:
        By the names of :class:`MotionLimits`, in its units, shape ``(n,)`` each; ``nan`` or zero
        where the description is silent, as it always is of acceleration and jerk.
    """
    described = robot.limits
    silent = np.full_like(described.velocity, np.nan)
    values = {
        'lower': described.lower, 'upper': described.upper, 'velocity': described.velocity,
        'acceleration': silent, 'jerk': silent, 'effort': described.effort}
    values = {name: np.array(array) for name, array in values.items()}
    _apply_follower_limits(robot, values)
    return values


def _apply_follower_limits(robot: RobotModel, values: dict[str, np.ndarray]) -> None:
    """Draw the limits of joints in, so that those that follow them keep theirs."""
    for row, (name, joint) in enumerate(robot.described_joints.items()):
        column = int(np.argmax(np.abs(robot.tree.coupling[row])))
        ratio, offset = robot.tree.coupling[row, column], robot.tree.coupling_offset[row]
        followed = robot.opened.joint_names[column]
        if name == followed or ratio == 0.0 or followed not in robot.joint_names:
            continue
        source = robot.joint_names.index(followed)
        ends = sorted(((joint.lower - offset) / ratio, (joint.upper - offset) / ratio))
        values['lower'][source] = np.fmax(values['lower'][source], ends[0])
        values['upper'][source] = np.fmin(values['upper'][source], ends[1])
        values['velocity'][source] = np.fmin(
            values['velocity'][source], joint.velocity / abs(ratio))


def _require_ends(robot: RobotModel, lower: np.ndarray, upper: np.ndarray) -> None:
    """Refuse joints without position limits, but those that turn freely."""
    reach = upper - lower
    endless = [
        name for name, kind in zip(robot.joint_names, robot.joint_types, strict=True)
        if kind != 'continuous' and not np.isfinite(reach[robot.joint_index(name)])]
    if endless:
        first = robot.joint_index(endless[0])
        line = ', '.join(f'{name}: {{lower: -1.0, upper: 1.0}}' for name in endless)
        raise ConfigurationError(
            f'there is no position limit of {", ".join(endless)}', where=robot.name,
            found=f'{endless[0]} from {lower[first]:g} to {upper[first]:g}',
            allowed='none for joints of type continuous alone',
            fix=f'Complete the description, or give them in rad or m: limits: {{{line}}}')
