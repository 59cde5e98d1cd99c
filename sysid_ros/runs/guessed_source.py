"""A recording without a settings file: what ``sysid init`` would write is guessed on the way."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sysid_ros.errors import ConfigurationError, RecordingError
from sysid_ros.estimation.identification import Identification, IdentificationSettings
from sysid_ros.recording.bag.recorded_description import recorded_description
from sysid_ros.recording.guess.evidence import Finding, OpenQuestionsError
from sysid_ros.runs.initial_settings import initial_settings
from sysid_ros.runs.sources import SETTINGS
from sysid_ros.settings import parse_settings

_BAGS, _TABLES = ('.mcap', '.db3'), ('.csv', '.npz', '.parquet')


@dataclass(frozen=True, eq=False)
class GuessedSource:
    """A recording with the settings that were guessed.

    Attributes:
        identification: The settings.
        findings: What was guessed, and why.
    """

    identification: Identification
    findings: tuple[Finding, ...]

    @classmethod
    def of(cls, recording: Path, robot: Path | None, folder: Path) -> GuessedSource:
        """Guess the settings of a recording.

        Args:
            recording: CSV, NPZ or Parquet file, or bag.
            robot: URDF, xacro or MJCF of the robot; by default what the bag has of it.
            folder: A folder for the description that a bag has.

        Raises:
            ConfigurationError: It is not known what robot it is.
            RecordingError: The recording leaves open what no default may decide.
            SysidError: Robot or recording cannot be read.
        """
        description = robot or _described_by(recording, folder)
        try:
            guess = initial_settings(description, recording, folder)
        except OpenQuestionsError as error:
            first = error.questions[0]
            named = 'ROBOT.urdf' if robot is None else robot
            raise RecordingError(
                first.text.rstrip('?'), where=str(recording), found=first.found,
                fix=f'Write its settings and say it: sysid init {named} {recording} '
                    f'--{first.option} {first.example}') from error
        settings = parse_settings(IdentificationSettings, guess.sections, str(recording))
        return cls(Identification(settings, folder), tuple(guess.findings))


def needs_guess(recording: Path, settings: Path | None) -> bool:
    """Whether nothing says how a recording is to be read.

    Args:
        recording: What was named.
        settings: A settings file that was named with it.
    """
    if settings is not None or not recording.exists():
        return False
    if recording.is_dir():
        return not (recording / SETTINGS).is_file()
    return recording.suffix.lower() in (*_BAGS, *_TABLES)


def _described_by(recording: Path, folder: Path) -> Path:
    """File of the description that a bag has."""
    bag = recording.is_dir() or recording.suffix.lower() in _BAGS
    text = recorded_description(recording) if bag else None
    if text is None:
        raise ConfigurationError(
            'it is not said which robot was recorded', where=str(recording),
            found='no /robot_description in the bag' if bag else 'a table',
            fix='Name its description, as --robot robot.urdf; or write settings, '
                f'sysid init robot.urdf {recording}')
    file = folder / 'robot_description.xml'
    file.write_text(text, encoding='utf-8')
    return file
