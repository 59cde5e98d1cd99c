"""Limits for planning motions: of the description, of a file beside it, and as they are told."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from sysid_ros.errors import ConfigurationError, did_you_mean, listed
from sysid_ros.excitation.safety.limits import described_limits
from sysid_ros.recording.guess.evidence import Finding, Question
from sysid_ros.robot.description.joint_limits import load_joint_limits
from sysid_ros.robot.model import RobotModel

#: Limits that may be told, by the name of the option: placeholder, and what it is.
LIMIT_OPTIONS: Mapping[str, tuple[str, str]] = {
    name: (metavar, f'{text}: a number for all joints that have none, or JOINT=NUMBER,…')
    for name, metavar, text in (
        ('lower', 'RAD|…', 'lowest positions in rad or m'),
        ('upper', 'RAD|…', 'highest positions in rad or m'),
        ('velocity', 'RAD/S|…', 'highest speeds in rad/s or m/s'),
        ('effort', 'N·m|…', 'highest torques or forces in N·m or N'),
        ('acceleration', 'RAD/S²|…', 'highest accelerations in rad/s² or m/s²'),
        ('jerk', 'RAD/S³|…', 'highest jerks in rad/s³ or m/s³'))}
# Limits that no default may decide, with a question and a number that stands for one's own.
_ASKED = {
    'lower': ('How low may these joints go, in rad (m where they slide)?', '-1.0'),
    'upper': ('How high may these joints go, in rad (m where they slide)?', '1.0'),
    'velocity': ('How fast may these joints move, in rad/s (m/s where they slide)?', '1.0'),
    'effort': ('What torque may these joints have, in N·m (N where they slide)?', '10.0'),
}
# Limits that go down to a smallest value, where others go up to a largest.
_LOWEST = ('lower',)


@dataclass
class GuessedLimits:
    """Limits of a robot on their way into a settings file.

    Attributes:
        robot: The robot.
        values: Limits by name, shape ``(n,)`` each, as far as they are known.
        section: What the settings have to say beside the description, by joint.
        findings: Where they come from.
        questions: What is open.
    """

    robot: RobotModel
    values: dict[str, np.ndarray]
    section: dict[str, dict[str, float]] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)

    @classmethod
    def of(
        cls, robot: RobotModel, told: Mapping[str, str], file: Path | None = None
    ) -> GuessedLimits:
        """Limits of a description, completed.

        Args:
            robot: The robot.
            told: What is known, by the names of :data:`LIMIT_OPTIONS`.
            file: A ``joint_limits.yaml`` as MoveIt has it. Of its limits and those of the
                description the tighter ones count.

        Raises:
            SysidError: The file cannot be used, or what was told.
        """
        values = described_limits(robot)
        # A range that leaves no room, as 0 to 0, is none.
        empty = ~(values['lower'] < values['upper'])
        values['lower'][empty] = values['upper'][empty] = np.nan
        limits = cls(robot, values)
        silent = {name: limits._lacking(name) for name in _ASKED}
        if file is not None:
            limits._take_file(file)
        for name in LIMIT_OPTIONS:
            if name in told:
                limits._take_told(name, told[name])
        for name, (text, example) in _ASKED.items():
            lacking = limits._lacking(name)
            if lacking:
                limits.questions.append(Question(
                    name, text, f'the description gives none of {listed(lacking)}, or zero',
                    example if len(lacking) == 1 or name != 'lower'
                    else ','.join(f'{joint}={example}' for joint in lacking[:2])))
        complete = [joint for joint in robot.joint_names if not any(
            joint in own for own in silent.values())]
        if complete:
            limits.findings.insert(0, Finding(
                'limits', f'{limits._listed(complete)} as described',
                'range, velocity and effort are in the description'))
        limits._find_followers()
        return limits

    def notes(self) -> list[str]:
        """All limits that the description gives, one joint a line, in words."""
        described = described_limits(self.robot)
        lines = []
        for k, joint in enumerate(self.robot.joint_names):
            own = [
                f'{name} {values[k]:.4g}' for name, values in described.items()
                if np.isfinite(values[k])]
            lines.append(f'{joint}: {", ".join(own) or "none"}')
        return ['Limits of the description, in rad or m and s, N·m or N:',
                *(f'  {line}' for line in lines)]

    def _lacking(self, name: str) -> list[str]:
        """Joints without a limit that a motion can keep."""
        values = self.values[name]
        if name in ('lower', 'upper'):
            turns = np.array([kind == 'continuous' for kind in self.robot.joint_types])
            lacks = np.where(turns, np.isnan(values), ~np.isfinite(values))
        else:
            lacks = ~(np.isfinite(values) & (values > 0.0))
        return [joint for joint, bad in zip(self.robot.joint_names, lacks, strict=True) if bad]

    def _take_file(self, file: Path) -> None:
        """Limits of a file that are tighter than those of the description, or that it lacks."""
        given = load_joint_limits(file)
        own = [joint for joint in given if joint in self.robot.joint_names]
        if not own:
            raise ConfigurationError(
                'names no moving joint of the robot', where=str(file), found=listed(given),
                allowed=listed(self.robot.joint_names),
                fix=did_you_mean(next(iter(given), ''), self.robot.joint_names)
                or 'Give the file of this robot')
        others = [joint for joint in given if joint not in own]
        if others:
            self.findings.append(Finding(
                'limits', f'{listed(others)} of {file.name} left out', 'no moving joints here'))
        for joint in own:
            for name, value in given[joint].items():
                self._take_tighter(joint, name, value, file.name)

    def _take_tighter(self, joint: str, name: str, value: float, source: str) -> None:
        described = float(self.values[name][self.robot.joint_index(joint)])
        there = joint not in self._lacking(name) if name in _ASKED else np.isfinite(described)
        tighter = value > described if name in _LOWEST else value < described
        if there and not tighter:
            if value != described:
                self.findings.append(Finding(
                    'limits', f'{name} of {joint} {described:.4g} as described',
                    f'{source} has {value:.4g}, which is wider'))
            return
        was = f', the description has {described:.4g}' if there else ''
        self._take(joint, name, value, f'{source}{was}')

    def _take_told(self, name: str, text: str) -> None:
        """Limits as an option says them."""
        lacking = self._lacking(name) if name in _ASKED else [
            joint for joint, value in zip(
                self.robot.joint_names, self.values[name], strict=True) if np.isnan(value)]
        named = values_by_joint(text, name, self.robot.joint_names, lacking)
        if not named:
            self.findings.append(Finding(
                'limits', f'--{name} {text} not needed',
                f'no joint lacks it; --{name} {self.robot.joint_names[0]}={text} replaces one'))
        for joint, value in named.items():
            if name not in ('lower', 'upper') and not value > 0.0:
                raise ConfigurationError(
                    'is no limit that a motion could keep', where=f'--{name}', found=value,
                    allowed='a number above 0',
                    fix=f'Say --{name} 1.0')
            self._take(joint, name, value, f'--{name}', told=True)
        if named:
            self.findings.append(Finding(
                'limits', f'{name} {self._alike(named)}', f'--{name}'))

    def _take(
        self, joint: str, name: str, value: float, source: str, *, told: bool = False
    ) -> None:
        self.values[name][self.robot.joint_index(joint)] = value
        self.section.setdefault(joint, {})[name] = value
        if not told:
            self.findings.append(Finding('limits', f'{name} of {joint} {value:.4g}', source))

    def _listed(self, joints: Sequence[str]) -> str:
        return 'all joints' if len(joints) == len(self.robot.joint_names) else listed(joints)

    def _alike(self, values: Mapping[str, float]) -> str:
        """Joints with their values, those of one value together."""
        groups: dict[float, list[str]] = {}
        for joint, value in values.items():
            groups.setdefault(value, []).append(joint)
        return '; '.join(
            f'{value:.4g} of {self._listed(names)}' for value, names in groups.items())

    def _find_followers(self) -> None:
        """Say what stands for the limits that follow others."""
        for name, what in (('acceleration', 'full speed within 0.5 s'),
                           ('jerk', 'full acceleration within 0.1 s')):
            open_ = [
                joint for joint, value in zip(
                    self.robot.joint_names, self.values[name], strict=True) if np.isnan(value)]
            if open_:
                self.findings.append(Finding(
                    'limits', f'{name} of {self._listed(open_)}: {what}',
                    f'nothing says it; --{name} or --limits does'))


def values_by_joint(
    text: str, option: str, joints: Sequence[str], alike: Sequence[str] | None = None,
) -> dict[str, float]:
    """Numbers by joint, as an option says them.

    Args:
        text: ``elbow=1.5,wrist_*=2``, or ``1.5`` for one number.
        option: The option, for messages.
        joints: The robot's.
        alike: Joints that one number is for; all of them where left out.

    Raises:
        ConfigurationError: It is neither, or there is no such joint.
    """
    found: dict[str, float] = {}
    for part in text.split(','):
        pattern, equals, number = part.strip().rpartition('=')
        try:
            value = float(number)
        except ValueError:
            value = np.nan
        if not np.isfinite(value) or (not equals and ',' in text):
            raise ConfigurationError(
                'is neither a number nor joints with numbers', where=f'--{option}', found=text,
                allowed=f'1.0, or {joints[0]}=1.0,…',
                fix=f'Say one for all, as --{option} 1.0')
        if not equals:
            return dict.fromkeys(joints if alike is None else alike, value)
        named = fnmatch.filter(joints, pattern)
        if not named:
            raise ConfigurationError(
                'there is no such moving joint', where=f'--{option}', found=repr(pattern),
                allowed=listed(joints), fix=did_you_mean(pattern, joints))
        found.update(dict.fromkeys(named, value))
    return found
