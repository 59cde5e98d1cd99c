"""A settings file for a recording that nobody has described yet, guessed from the recording."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from sysid_ros.recording.guess.evidence import Finding
from sysid_ros.robot.description.planar.mechanism_file import SUFFIXES
from sysid_ros.runs.guessed_recording import GuessedRecording

# Keys that findings call by another name.
_KEYS = {'locked': 'locked_joints'}
_LONGEST = 100
_HEADING = (
    'Settings for `sysid fit`. Comments say what speaks for each guess: correct what is',
    'wrong. What is left out here, the data decides.')


@dataclass
class InitialSettings:
    """A settings file, and what speaks for it.

    Attributes:
        heading: Lines of the comment at its head.
        sections: What it says.
        findings: What was guessed, and why.
        notes: Further lines of comment by section.
    """

    heading: Sequence[str]
    sections: dict[str, Any] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    notes: dict[str, list[str]] = field(default_factory=dict)

    def text(self) -> str:
        """The file, with the evidence as comments: above its key or section, or at the end."""
        comments: dict[str, list[str]] = {}
        for finding in self.findings:
            subject = _KEYS.get(finding.subject, finding.subject)
            comments.setdefault(subject, []).append(f'{finding.value}: {finding.evidence}')
        lines = [f'# {line}' for line in self.heading]
        for name, section in self.sections.items():
            for line in comments.pop(name, ()):
                lines += textwrap.wrap(
                    line, _LONGEST, initial_indent='# ', subsequent_indent='#   ')
            lines += [f'# {line}' for line in self.notes.get(name, ())]
            own = {key: comments.pop(key) for key in section if key in comments}
            lines += [f'{name}:', *_written(section, own)] if section else []
            lines.append('')
        lines.pop()
        # What needs no key, as SI units of a bag, was guessed all the same.
        lines += [f'  # {subject} {said}' for subject, own in comments.items() for said in own]
        return '\n'.join(lines) + '\n'


def initial_settings(
    description: Path, recording: Path, folder: Path, told: Mapping[str, str] | None = None, *,
    loops: Path | None = None, xacro_arguments: Mapping[str, str] | None = None,
) -> InitialSettings:
    """Guess the settings file of a recording.

    Args:
        description: URDF, xacro or MJCF of the robot, or the file of a planar mechanism.
        recording: CSV or NPZ file, or bag.
        folder: Folder of the settings file, which its file names are relative to.
        told: What is known, by the name of the option; see
            :data:`~sysid_ros.recording.guess.options.OPTIONS`.
        loops: YAML file that closes the loops of the robot.
        xacro_arguments: Arguments for xacro.

    Returns:
        Settings that read the recording.

    Raises:
        OpenQuestionsError: The recording leaves open what no default may decide.
        SysidError: Robot or recording cannot be read.
    """
    robot = robot_section(description, folder, loops, xacro_arguments or {})
    guess = GuessedRecording.of(robot, recording, folder, told or {})
    sections = {'robot': guess.robot, 'recording': guess.section}
    if set(guess.section.get('unpowered', ())) == set(guess.section['joints']):
        # Regression needs torques.
        sections['fit'] = {'estimator': 'shooting'}
    return InitialSettings(_HEADING, sections, guess.findings)


def robot_section(
    description: Path, folder: Path, loops: Path | None, xacro_arguments: Mapping[str, str],
) -> dict[str, Any]:
    """The ``robot:`` section of a settings file, without its joint terms.

    Args:
        description: URDF, xacro or MJCF of the robot, or the file of a planar mechanism.
        folder: Folder of the settings file, which its file names are relative to.
        loops: YAML file that closes the loops of the robot.
        xacro_arguments: Arguments for xacro.
    """
    key = 'description' if description.suffix.lower() in SUFFIXES else 'urdf'
    robot: dict[str, Any] = {key: relative_to(folder, description)}
    if loops is not None:
        robot['loops'] = relative_to(folder, loops)
    if xacro_arguments:
        robot['xacro_arguments'] = dict(xacro_arguments)
    return robot


def relative_to(folder: Path, file: Path) -> str:
    """Path of a file as a settings file in a folder names it."""
    return os.path.relpath(file.resolve(), folder.resolve())


def _written(
    section: Mapping[str, Any], comments: Mapping[str, Sequence[str]], level: int = 1
) -> list[str]:
    """Lines of a section, each key with its comments above it, and what it holds below it."""
    lines = []
    for key, value in section.items():
        lines += [f'  # {comment}' for comment in comments.get(key, ())]
        if isinstance(value, dict) and len(value) > 1 and level < 2:
            lines.append(f'  {key}:')
            lines += [f'  {line}' for line in _written(value, {}, level + 1)]
        else:
            written = yaml.safe_dump(
                value, default_flow_style=True, allow_unicode=True, sort_keys=False, width=80)
            first, *more = written.removesuffix('...\n').rstrip().splitlines()
            lines += [f'  {key}: {first}', *(f'    {line}' for line in more)]
    return lines
