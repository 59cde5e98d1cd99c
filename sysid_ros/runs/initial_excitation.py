"""A settings file for planning motions of a robot that nobody has described to us yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sysid_ros.errors import ConfigurationError, ExcitationError, listed
from sysid_ros.excitation.configuration import (
    ClearanceSettings,
    ExcitationPlan,
    ExcitationSettings,
)
from sysid_ros.excitation.design.design import Designer
from sysid_ros.excitation.geometry.clearance import Box
from sysid_ros.excitation.geometry.exact_shapes import GeometryClearance
from sysid_ros.mechanics.configuration import RobotSettings
from sysid_ros.recording.guess.evidence import Finding, OpenQuestionsError, Question
from sysid_ros.robot.model import RobotModel
from sysid_ros.runs.guessed_floor import floor, lowest_of_base
from sysid_ros.runs.guessed_limits import LIMIT_OPTIONS, GuessedLimits, values_by_joint
from sysid_ros.runs.initial_settings import InitialSettings, relative_to, robot_section
from sysid_ros.settings import parse_settings

#: What may be known of a robot that is to move, by the name of the option: placeholder of its
#: value, and what it is.
EXCITE_OPTIONS: Mapping[str, tuple[str, str]] = {
    'joints': ('JOINT,…', 'joints that move; all others are held'),
    **LIMIT_OPTIONS,
    'floor': ('HEIGHT', 'height of the floor or table in the base frame in m; none: nothing is '
              'around the robot but --box'),
    'rest': ('JOINT=RAD,…', 'pose in which the robot is clear of itself, in rad or m'),
}
_HEADING = (
    'Settings for `sysid excite`. Comments say where each value comes from: correct what is',
    'wrong. What is left out has the default that config/excitation.yaml shows.')
_MOTION = {'family': 'fourier', 'duration': 10.0, 'harmonics': [1, 2, 3, 4, 5]}
_NO_FLOOR = 'none'


@dataclass(frozen=True)
class Surroundings:
    """What goes with a description.

    Attributes:
        loops: YAML file that closes the loops of the robot.
        xacro_arguments: Arguments for xacro.
        locks: Joints held at a position in [rad] or [m], by name or pattern.
        srdf: MoveIt's SRDF.
        limits: MoveIt's ``joint_limits.yaml``.
        boxes: What stands around the robot, in its base frame.
    """

    loops: Path | None = None
    xacro_arguments: Mapping[str, str] = field(default_factory=dict)
    locks: Mapping[str, float] = field(default_factory=dict)
    srdf: Path | None = None
    limits: Path | None = None
    boxes: Sequence[Box] = ()


def initial_excitation(
    description: Path, folder: Path, told: Mapping[str, str], around: Surroundings,
) -> InitialSettings:
    """Guess the settings file of a robot that is to move.

    Args:
        description: URDF, xacro or MJCF of the robot.
        folder: Folder of the settings file, which its file names are relative to.
        told: What is known, by the name of the option; see :data:`EXCITE_OPTIONS`.
        around: What goes with the description.

    Returns:
        Settings that ``sysid excite`` can plan by: a pose to begin from was found with them.

    Raises:
        OpenQuestionsError: The description leaves open what no default may decide.
        SysidError: A file cannot be used, or no pose is allowed.
    """
    guess = _Guess.of(description, folder, told, around)
    guess.add_limits()
    guess.add_obstacles()
    guess.require_answers()
    guess.add_pose()
    guess.require_answers()
    return guess.settings


@dataclass
class _Guess:
    """Settings on their way."""

    robot: RobotModel
    folder: Path
    told: Mapping[str, str]
    around: Surroundings
    settings: InitialSettings
    questions: list[Question] = field(default_factory=list)

    @classmethod
    def of(
        cls, description: Path, folder: Path, told: Mapping[str, str], around: Surroundings
    ) -> _Guess:
        """The robot, with joints that do not move held."""
        section = robot_section(description, folder, around.loops, around.xacro_arguments)
        robot = _built(section, folder)
        findings = []
        if robot.free_joint:
            section['base'] = 'fixed'
            findings.append(Finding(
                'base', f'fixed: hang the robot up, or bolt it down, at {robot.base_name}',
                f'motions are planned for a base that is held, not for {robot.free_joint}'))
            robot = _built(section, folder)
        locks: Any = dict(around.locks)
        if 'joints' in told:
            if locks:
                raise ConfigurationError(
                    'joints that move and joints that are held are both named',
                    where='--joints, --lock', allowed='one of them',
                    fix='Leave one of them out: the others follow from it')
            moving = _named(told['joints'], robot)
            locks = [joint for joint in robot.joint_names if joint not in moving]
        if locks:
            section['locked_joints'] = locks
            robot = _built(section, folder)
            findings.append(Finding(
                'locked', listed(robot.locked_joints), '--joints' if 'joints' in told
                else '--lock'))
        findings.append(Finding(
            'robot', f'{len(robot.joint_names)} move: {listed(robot.joint_names)}',
            'all that the description does not hold or let follow another'
            if not locks else 'all that are not held'))
        settings = InitialSettings(
            _HEADING, {'robot': section, 'motion': dict(_MOTION), 'limits': {}, 'clearance': {}},
            findings)
        return cls(robot, folder, told, around, settings)

    def note(self, *found: Finding | Question) -> None:
        """Keep findings and questions."""
        for one in found:
            if isinstance(one, Finding):
                self.settings.findings.append(one)
            else:
                self.questions.append(one)

    def require_answers(self) -> None:
        """Refuse to go on with open questions."""
        if self.questions:
            raise OpenQuestionsError(self.questions, self.robot.name)

    def add_limits(self) -> None:
        """Limits that the description gives, and those it lacks."""
        limits = GuessedLimits.of(self.robot, self.told, self.around.limits)
        self.note(*limits.findings, *limits.questions)
        self.settings.sections['limits'] = limits.section
        self.settings.notes['limits'] = limits.notes()

    def add_obstacles(self) -> None:
        """Allowed collisions, boxes and the floor."""
        clearance = self.settings.sections['clearance']
        if self.around.srdf is not None:
            clearance['srdf'] = relative_to(self.folder, self.around.srdf)
            self.note(Finding('srdf', self.around.srdf.name, 'links that it lets touch may'))
        boxes = list(self.around.boxes)
        if boxes:
            self.note(Finding('boxes', listed(box.name for box in boxes), '--box'))
        height = self.told.get('floor', '')
        if height and height != _NO_FLOOR:
            boxes.append(floor(self.robot, _height(height), ClearanceSettings().distance))
            self.note(Finding('boxes', f'floor up to {float(height):g} m', '--floor'))
        elif height:
            self.note(Finding('clearance', 'no floor', '--floor none'))
        elif not boxes:
            low = lowest_of_base(self.robot)
            self.note(Question(
                'floor', 'At what height is the floor or table that the robot stands on, in its '
                'base frame in m (none: nothing is around it)?',
                'a description does not say what stands around the robot' + (
                    '' if low is None else f'; shapes of its base go down to {low:.3f} m'),
                '-0.05' if low is None else f'{low:.3f}'))
        if boxes:
            clearance['boxes'] = [
                {'name': box.name, 'lower': list(box.lower), 'upper': list(box.upper)}
                for box in boxes]

    def add_pose(self) -> None:
        """A pose in which the robot is clear, where the middle of its ranges is none."""
        said = self.told.get('rest', '')
        if said:
            self.settings.sections['rest'] = values_by_joint(
                said, 'rest', self.robot.joint_names)
            self.note(Finding('rest', said, '--rest'))
        try:
            designer = self._plan().designer()
        except ConfigurationError as error:
            if error.where != 'rest' or said:
                raise
            self.note(Question(
                'rest', 'In which pose is the robot clear of itself?', f'{error.problem}: '
                f'{error.found}; no pose nearby was found', f'{self.robot.joint_names[0]}=0.3'))
            return
        self._tell_shapes(designer)
        if not said:
            self._tell_pose(designer)
        _require_pose(designer)

    def _plan(self) -> ExcitationPlan:
        sections = {name: value for name, value in self.settings.sections.items() if value}
        return ExcitationPlan(
            parse_settings(ExcitationSettings, sections, 'settings'), self.folder)

    def _tell_shapes(self, designer: Designer) -> None:
        missing = [
            link for check in designer.checks if isinstance(check, GeometryClearance)
            for link in check.missing]
        if missing:
            self.note(Finding(
                'clearance', f'capsules stand for {listed(missing)}', 'their meshes were not '
                'found: source the workspace, or set ROS_PACKAGE_PATH, and write this file again'))
        if self.around.srdf is None:
            self.note(Finding(
                'clearance', 'all links but neighbours keep clear of each other',
                'no --srdf says which may touch'))

    def _tell_pose(self, designer: Designer) -> None:
        pose, middle = designer.clear_pose, designer.limits.centre
        if pose is None or np.array_equal(pose, middle):
            return
        self.settings.sections['rest'] = {
            name: float(f'{value:.6g}') for name, value, usual in zip(
                designer.limits.joint_names, pose, middle, strict=True) if value != usual}
        self.note(Finding(
            'rest', 'a pose near the middle of the ranges', 'in the middle the robot touches '
            'itself; here its described shapes do not'))


def _named(text: str, robot: RobotModel) -> list[str]:
    """Joints as ``--joints`` names them, by names or patterns."""
    words = ','.join(f'{part.strip()}=1' for part in text.split(','))
    return list(values_by_joint(words, 'joints', robot.joint_names))


def _built(section: dict[str, Any], folder: Path) -> RobotModel:
    return parse_settings(RobotSettings, section, 'robot').build(folder).robot


def _height(text: str) -> float:
    try:
        height = float(text)
    except ValueError:
        height = np.nan
    if not np.isfinite(height):
        raise ConfigurationError(
            'is no height', where='--floor', found=text, allowed='a number in m, or none',
            fix='Say it, as --floor -0.05')
    return height


def _require_pose(designer: Designer) -> None:
    """Refuse settings by which no motion can begin.

    Raises:
        ConfigurationError: No pose is allowed; what stands in the way is named.
    """
    try:
        designer.rest()
    except ExcitationError as error:
        raise ConfigurationError(
            'the robot has no pose in which it may rest', where=error.where,
            fix='Give it more room: a lower floor, smaller boxes, wider limits, or another --rest'
        ) from error
