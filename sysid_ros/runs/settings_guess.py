"""Settings of a recording on their way: what is known, what was guessed, and what is open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sysid_ros.recording.bag.long_bag import LongBag, is_long
from sysid_ros.recording.description import RecordingSettings
from sysid_ros.recording.guess.evidence import Finding, OpenQuestionsError, Question
from sysid_ros.recording.load import load_recording
from sysid_ros.recording.recording import Recording
from sysid_ros.robot.model import RobotModel
from sysid_ros.settings import parse_settings


@dataclass
class SettingsGuess:
    """Settings of a recording on their way.

    Attributes:
        robot: The ``robot:`` section; joints that were not recorded are locked in it.
        model: The robot.
        recording: The recording.
        folder: Folder that file names of the settings are relative to.
        told: What is known, by the names of
            :data:`~sysid_ros.recording.guess.options.OPTIONS`.
        section: The ``recording:`` section.
        findings: What was guessed, and why.
        questions: What is open.
    """

    robot: dict[str, Any]
    model: RobotModel
    recording: Path
    folder: Path
    told: Mapping[str, str]
    section: dict[str, Any] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)

    def parsed(self) -> RecordingSettings:
        """The section as it is now."""
        return parse_settings(RecordingSettings, self.section, 'recording')

    def loaded(self) -> Recording:
        """The recording as the section says it; of a bag too large for memory, its first part.

        Raises:
            RecordingError: It cannot be read.
        """
        settings = self.parsed()
        if not is_long(settings, self.folder):
            return load_recording(settings, self.folder)
        bag = LongBag.survey(settings, self.folder)
        found = Finding(
            'part', f'its first {min(bag.window, bag.duration):.4g} s were looked at',
            'all of it does not fit into recording.memory_limit')
        if found not in self.findings:
            self.note(found)
        return bag.between(0.0, bag.window)

    def note(self, *told: Finding | Question) -> None:
        """Keep what was guessed or is open."""
        for one in told:
            if isinstance(one, Finding):
                self.findings.append(one)
            else:
                self.questions.append(one)

    def require_answers(self) -> None:
        """Refuse to go on with open questions.

        Raises:
            OpenQuestionsError: There are some.
        """
        if self.questions:
            raise OpenQuestionsError(self.questions, str(self.recording))

    def slides(self, joint: str) -> bool:
        """Whether a joint moves along its axis."""
        return self.model.joint_types[self.model.joint_index(joint)] == 'prismatic'
