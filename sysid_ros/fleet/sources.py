"""Settings of the recordings of one fit of a batch, and digests of all that the fit depends on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.estimation.identification import Identification, IdentificationSettings
from sysid_ros.fleet.table import FleetFit
from sysid_ros.mechanics.configuration import load_settings_file
from sysid_ros.recording.bag.storage import bag_files
from sysid_ros.recording.load import hash_files
from sysid_ros.runs.initial_settings import initial_settings
from sysid_ros.runs.sources import SETTINGS, load_another
from sysid_ros.runs.stored_robot import stored_robot
from sysid_ros.settings import parse_settings

_TABLES = {'.csv': 'csv', '.npz': 'npz', '.parquet': 'parquet'}
# Name of the description among the files of the prior.
_DESCRIPTION = 'robot'


@dataclass(frozen=True, eq=False)
class FitSources:
    """What one fit of a batch is made from.

    Attributes:
        first: Settings of the recording that says what the robot is and how it is fitted.
        others: Settings of more recordings to fit together with it.
        validation: Settings of the recording to judge by.
    """

    first: Identification
    others: tuple[Identification, ...]
    validation: Identification | None

    @classmethod
    def of(cls, fit: FleetFit) -> FitSources:
        """Read the settings of a fit.

        Args:
            fit: The fit.

        Raises:
            SysidError: Settings cannot be used, or cannot be guessed.
        """
        first, *others = [_identification(Path(path), fit) for path in fit.recordings] or [
            Identification.load(fit.settings or '')]
        validation = None
        if fit.validation is not None:
            validation = _identification(Path(fit.validation), fit)
        return cls(first, tuple(others), validation)

    def digest(self, fit: FleetFit) -> str:
        """SHA-256 of settings, prior and recordings, which does not depend on where they lie.

        Args:
            fit: The fit, of which it also takes how it is judged.

        Raises:
            SysidError: A recording or the robot cannot be read.
        """
        setup = FitSetup.of(self.first)
        described = setup.model.robot.description
        _, prior = stored_robot(setup, f'{_DESCRIPTION}.{described.format}')
        fitted = [_settings(each) for each in (self.first, *self.others)]
        parts = {
            'settings': fitted,
            'validation': None if self.validation is None else _settings(self.validation),
            'judged': [fit.holdout, fit.folds, fit.estimator],
            'prior': {name: hashlib.sha256(content).hexdigest()
                      for name, content in prior.items()},
            'recordings': [
                hash_files(_files(each)) for each in self._recordings()],
        }
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def _recordings(self) -> Iterator[Identification]:
        yield from (self.first, *self.others)
        if self.validation is not None:
            yield self.validation
        load = self.first.settings.known.payload
        if load is not None:
            yield Identification.load(self.first.base / load.recording)


def _identification(path: Path, fit: FleetFit) -> Identification:
    """Settings of one recording, whatever it is."""
    own = path.suffix in ('.yaml', '.yml') or (path / SETTINGS).is_file()
    if own:
        return load_another(path)
    if fit.description is not None:
        sections = initial_settings(fit.description, path, path.parent).sections
        settings = parse_settings(IdentificationSettings, sections, str(path))
        return Identification(settings, path.parent)
    kind = _TABLES.get(path.suffix.lower())
    if kind is None or fit.settings is None:
        return load_another(path, fit.settings)
    return _of_table(path, fit.settings, kind)


def _of_table(path: Path, settings: Path, kind: str) -> Identification:
    """A CSV or NPZ file whose columns the settings describe.

    Raises:
        ConfigurationError: The settings describe none.
    """
    data = load_settings_file(settings)
    section = data.get('recording')
    found = section.get('format') if isinstance(section, Mapping) else None
    if found != kind:
        raise ConfigurationError(
            'the settings do not say what is in the file', where=str(settings),
            found=f'recording: format: {found} for {path.name}', allowed=kind,
            fix=f'Write recording: {{format: {kind}, …}} with its columns, as sysid init does')
    described = dict(section or {}) | {'file': str(path.resolve())}
    parsed = parse_settings(
        IdentificationSettings, data | {'recording': described}, str(settings))
    return Identification(parsed, settings.parent, settings)


def _settings(identification: Identification) -> dict[str, Any]:
    """Settings without names of files, whose contents count."""
    settings = identification.settings.model_dump(
        mode='json', exclude_unset=True, exclude={'folder': True, 'robot': {
            'urdf', 'description', 'loops', 'assets', 'xacro_arguments'}})
    return settings | {'recording': without_files(settings['recording'])}


def without_files(section: Any) -> Any:
    """A ``recording:`` section without the names of its files."""
    if isinstance(section, Mapping):
        return {
            key: without_files(value) for key, value in section.items()
            if key != 'file' or not isinstance(value, str)}
    return section


def _files(identification: Identification) -> list[Path]:
    """Files of a recording."""
    recording, folder = identification.settings.recording, identification.folder
    if recording.format == 'rosbag':
        return list(bag_files(folder / str(recording.file)))
    return [folder / name for name in dict.fromkeys(_named(recording.model_dump()))]


def _named(section: Any) -> Iterator[str]:
    """Names of files in a section of settings."""
    if isinstance(section, Mapping):
        for key, value in section.items():
            if key == 'file' and isinstance(value, str):
                yield value
            else:
                yield from _named(value)
