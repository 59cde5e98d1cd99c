"""A settings file for a recording that nobody has described yet, guessed from the recording."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from sysid_ros.recording.guess.evidence import Finding
from sysid_ros.runs.guessed_recording import GuessedRecording


@dataclass
class InitialSettings:
    """A settings file, and what speaks for it.

    Attributes:
        sections: What it says.
        findings: What was guessed, and why.
    """

    sections: dict[str, Any] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    def text(self) -> str:
        """The file, with the evidence as comments."""
        comments: dict[str, list[str]] = {}
        for finding in self.findings:
            comments.setdefault(finding.subject, []).append(f'{finding.value}: {finding.evidence}')
        lines = [
            '# Settings for `sysid fit`. Comments say what speaks for each guess: correct what is',
            '# wrong. What is left out here, the data decides.', 'robot:']
        lines += _written(self.sections['robot'], {'locked_joints': comments.get('locked', [])})
        lines += ['', 'recording:']
        lines += _written(self.sections['recording'], comments)
        # What needs no key, as SI units of a bag, was guessed all the same.
        known = {'locked', *self.sections['recording']}
        lines += [
            f'  # {subject} {said}' for subject, own in comments.items() if subject not in known
            for said in own]
        return '\n'.join(lines) + '\n'


def initial_settings(
    description: Path, recording: Path, folder: Path, told: Mapping[str, str] | None = None, *,
    loops: Path | None = None, xacro_arguments: Mapping[str, str] | None = None,
) -> InitialSettings:
    """Guess the settings file of a recording.

    Args:
        description: URDF, xacro or MJCF of the robot.
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
    robot: dict[str, Any] = {'urdf': os.path.relpath(description.resolve(), folder.resolve())}
    if loops is not None:
        robot['loops'] = os.path.relpath(loops.resolve(), folder.resolve())
    if xacro_arguments:
        robot['xacro_arguments'] = dict(xacro_arguments)
    guess = GuessedRecording.of(robot, recording, folder, told or {})
    return InitialSettings({'robot': guess.robot, 'recording': guess.section}, guess.findings)


def _written(section: Mapping[str, Any], comments: Mapping[str, Sequence[str]]) -> list[str]:
    """Lines of a section, each key with its comments above it."""
    lines = []
    for key, value in section.items():
        lines += [f'  # {comment}' for comment in comments.get(key, ())]
        if isinstance(value, dict) and len(value) > 1:
            lines.append(f'  {key}:')
            lines += [f'  {line}' for line in _written(value, {})]
        else:
            written = yaml.safe_dump(
                value, default_flow_style=True, allow_unicode=True, sort_keys=False, width=80)
            first, *more = written.removesuffix('...\n').rstrip().splitlines()
            lines += [f'  {key}: {first}', *(f'    {line}' for line in more)]
    return lines
