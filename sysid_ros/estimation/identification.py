"""Settings files: the robot, a recording, how it is processed and fitted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import model_validator

from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.estimator import REGRESSION_ESTIMATORS, settings_of
from sysid_ros.estimation.fit_settings import FitSettings
from sysid_ros.estimation.payload.known import Known
from sysid_ros.estimation.presets import filled_in
from sysid_ros.estimation.regression.consistent.plausibility import Plausibility
from sysid_ros.mechanics.configuration import RobotSettings, TermSettings, load_settings_file
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.recording.checks.unpowered import with_unpowered
from sysid_ros.recording.description import RecordingSettings
from sysid_ros.recording.load import load_recording
from sysid_ros.recording.processing.choice import filled_from
from sysid_ros.recording.processing.settings import Processing
from sysid_ros.recording.recording import Recording
from sysid_ros.settings import StrictSettings, parse_settings

# Setting of the estimators that keep a total mass.
_KEEPS = 'plausibility'


class IdentificationSettings(StrictSettings):
    """A settings file: the robot, what was recorded, how it is processed and fitted.

    A file that only names another recording of a known robot needs no ``robot`` section.

    Attributes:
        preset: Name of settings for ``processing`` and ``fit`` that hold where the file says
            nothing, one of :data:`~sysid_ros.estimation.presets.PRESETS`.
        automatic: Whether a fit by regression chooses what ``robot: terms``, ``processing`` and
            ``fit`` leave open, by the data; otherwise that has the defaults written there. For
            estimators of states and parameters it is how they are judged: stamps and filters.
        robot: The robot and its joint terms.
        folder: Folder of the recording's files, relative to the settings file.
        recording: What was recorded.
        processing: How it is filtered and differentiated.
        fit: How it is fitted.
        known: What is known from elsewhere: weighed links, a load of known mass.
    """

    preset: str | None = None
    automatic: bool = True
    robot: RobotSettings | None = None
    folder: str = '.'
    recording: RecordingSettings
    processing: Processing = Processing()
    fit: FitSettings = FitSettings()
    known: Known = Known()

    @model_validator(mode='before')
    @classmethod
    def _fill_in(cls, data: Any) -> Any:
        return filled_in(data) if isinstance(data, Mapping) else data

    @model_validator(mode='after')
    def _simulate_actuators(self) -> IdentificationSettings:
        """A robot with actuators is simulated, unless the settings say otherwise."""
        if self.robot is None or not self.robot.actuators or 'estimator' in (
            self.fit.model_fields_set
        ):
            return self
        fit = self.fit.model_copy(update={'estimator': 'shooting'})
        return self.model_copy(update={'fit': fit})

    def require_estimator(self, name: str) -> None:
        """Refuse an estimator that does not exist, or does not fit the settings.

        Raises:
            ConfigurationError: There is no such estimator, a setting does not go with it, or it
                keeps no total mass.
        """
        known = self.known.total_mass
        if known is not None and name == self.fit.estimator and _KEEPS not in settings_of(name):
            keeping = [one for one in REGRESSION_ESTIMATORS if _KEEPS in settings_of(one)]
            raise ConfigurationError(
                f'{name} keeps no total mass', where='known.total_mass', found=known,
                allowed=f'with an estimator of real bodies: {", ".join(keeping)}',
                fix='Say fit: {estimator: entropic}, or take known.total_mass out')
        self.fit.require_estimator(name)

    @model_validator(mode='after')
    def _keep_total(self) -> IdentificationSettings:
        """A weighed total is kept as closely as it is known."""
        given = self.known.plausibility
        plausibility = self.fit.plausibility or Plausibility()
        if set(given) <= plausibility.model_fields_set:
            return self
        fit = self.fit.model_copy(update={
            'plausibility': Plausibility(**(plausibility.model_dump(exclude_unset=True) | given))})
        return self.model_copy(update={'fit': fit})


@dataclass(frozen=True)
class Identification:
    """Settings together with the folder that their file names are relative to."""

    settings: IdentificationSettings
    base: Path
    path: Path | None = None

    @classmethod
    def load(cls, path: str | Path, base: str | Path | None = None) -> Identification:
        """Read a settings file.

        Args:
            path: The YAML file.
            base: Folder that its file names are relative to; by default its own.

        Raises:
            ConfigurationError: The file cannot be read, or a key or value is not right.
        """
        path = Path(path)
        settings = parse_settings(IdentificationSettings, load_settings_file(path), str(path))
        return cls(settings, path.parent if base is None else Path(base), path)

    def model(self) -> TorqueModel:
        """The torque model of the robot.

        Raises:
            ConfigurationError: The settings have no robot.
            ModelError: The description cannot be used.
        """
        return self.robot().build(
            self.base, self.settings.recording.joints, self.described.unpowered)

    def robot(self) -> RobotSettings:
        """The robot's section of the settings.

        Raises:
            ConfigurationError: There is none.
        """
        if self.settings.robot is None:
            raise ConfigurationError(
                'there is no robot', where=str(self.path or 'settings'),
                fix='Add robot: {urdf: robot.urdf}',
            )
        return self.settings.robot

    def recording_of(self, other: Identification) -> Identification:
        """Another recording of this robot, fitted rows made the same way.

        Args:
            other: Settings that name the recording; what they say of its processing is kept, since
                it may have other rates, and filters are this one's where they say nothing; rows
                count by this one's fit settings.
        """
        processing = other.settings.processing
        if other.settings.automatic:
            processing = filled_from(processing, self.settings.processing)
        settings = other.settings.model_copy(update={
            'robot': self.settings.robot, 'fit': self.settings.fit,
            'known': self.settings.known, 'processing': processing})
        return Identification(settings, other.base, other.path)

    @property
    def folder(self) -> Path:
        """Folder of the recording's files."""
        return self.base / self.settings.folder

    @property
    def described(self) -> RecordingSettings:
        """The recording's settings, with all joints that no motor drives."""
        recording = self.settings.recording
        names = (*recording.unpowered, *self.settings.fit.trajectory.unpowered)
        return recording.model_copy(update={'unpowered': tuple(dict.fromkeys(names))})

    def recording(self) -> Recording:
        """The recording's section of the settings.

        Raises:
            RecordingError: It cannot be read.
        """
        described, observed = self.described, self.settings.fit.trajectory.observed
        # Joints without encoders may have no positions that a torque of zero could belong to.
        hidden = () if observed is None else tuple(
            name for name in described.unpowered if name not in observed)
        found = load_recording(described.model_copy(update={
            'unpowered': tuple(name for name in described.unpowered if name not in hidden)}),
            self.folder)
        return with_unpowered(
            found, [name for name in hidden if found.channel_of('position', name)])

    def with_processing(self, processing: Processing) -> Identification:
        """The identification with other processing of the recording."""
        return replace(
            self, settings=self.settings.model_copy(update={'processing': processing}))

    def with_fit(self, **changes: Any) -> Identification:
        """The identification with some settings of the fit changed."""
        fit = self.settings.fit.model_copy(update=changes)
        return replace(self, settings=self.settings.model_copy(update={'fit': fit}))

    def with_robot(self, **changes: Any) -> Identification:
        """The identification with some settings of the robot changed.

        Raises:
            ConfigurationError: The settings have no robot.
        """
        robot = self.robot().model_copy(update=changes)
        return replace(self, settings=self.settings.model_copy(update={'robot': robot}))

    def with_terms(self, terms: TermSettings) -> Identification:
        """The identification with other joint terms, among which friction is not chosen again.

        Raises:
            ConfigurationError: The settings have no robot.
        """
        return self.with_robot(terms=terms).with_fit(friction_selection=None)
