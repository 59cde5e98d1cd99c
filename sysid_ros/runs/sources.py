"""What can be fitted: a settings file, the folder of a recording, or a bag with settings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.estimation.identification import Identification, IdentificationSettings
from sysid_ros.mechanics.configuration import load_settings_file, with_description
from sysid_ros.recording.bag.storage import bag_files
from sysid_ros.release.atomic import write_atomically
from sysid_ros.runs.stored_robot import stored_robot
from sysid_ros.settings import parse_settings

#: Settings of a recording, beside its bag.
SETTINGS = 'settings.yaml'

# Files that say what to fit, or what of, and hold no samples.
_NO_RECORDINGS = ('.yaml', '.yml', '.urdf', '.xacro', '.xml')
# The robot as it was described when the recording was made, by the format of the description.
_DESCRIPTION = {'urdf': 'robot.urdf', 'mjcf': 'robot.xml'}


def load_source(
    path: str | Path, settings: str | Path | None = None, base: str | Path | None = None
) -> Identification:
    """What to fit, from whatever names it.

    Args:
        path: A settings file; the folder of a recording, with its settings in it; or a bag,
            which needs ``settings``.
        settings: Settings file that names the robot, how a bag is processed, and how it is
            fitted. Its ``recording`` section may be left out; what it says of joints, topics
            and quantities holds for the bag.
        base: Folder that file names in a settings file are relative to; by default its own.

    Raises:
        ConfigurationError: There is no such thing, or it is not said what robot it is of.
        RecordingError: A folder holds no bag.
    """
    path = Path(path)
    if settings is not None:
        return of_bag(path, Path(settings), base)
    if path.is_dir() and (path / SETTINGS).is_file():
        return Identification.load(path / SETTINGS, base)
    if path.is_dir() or path.suffix in ('.mcap', '.db3'):
        bag_files(path)
        raise ConfigurationError(
            'it is not said which robot the bag is of, and how to fit it', where=str(path),
            found=f'no {SETTINGS} in the folder' if path.is_dir() else 'a bag alone',
            fix=f'Write its settings, sysid init ROBOT.urdf {path}, or add --settings FILE, with '
            'the sections robot, processing and fit',
        )
    return Identification.load(path, base)


def load_another(
    path: str | Path, settings: str | Path | None = None, base: str | Path | None = None, *,
    like: Identification | None = None,
) -> Identification:
    """Another recording of a robot that was named before.

    Args:
        path: As for :func:`load_source`; a settings file needs no ``robot`` section.
        settings: Settings of bags; a settings file says itself what it is of.
        base: Folder that file names in a settings file are relative to; by default its own.
        like: The recording that was named before: a table, or a bag, that nothing else is said of
            is read as it was.

    Raises:
        ConfigurationError: As for :func:`load_source`; or a table is not of the kind of the one
            before, or that one is of several files.
        RecordingError: A folder holds no bag.
    """
    path = Path(path)
    own = path.suffix in _NO_RECORDINGS or (path / SETTINGS).is_file()
    if like is not None and settings is None and not own and path.exists():
        return _of_file(path, like)
    return load_source(path, None if path.suffix in ('.yaml', '.yml') else settings, base)


def _of_file(path: Path, like: Identification) -> Identification:
    """A table or a bag that is read as another one.

    Raises:
        ConfigurationError: It is of another kind, or the other one is of several files.
        RecordingError: There is no bag.
    """
    recording = like.settings.recording
    several = [name for name, own in recording.model_dump().items() if _names_a_file(own)]
    is_bag = path.is_dir() or path.suffix in ('.mcap', '.db3')
    if several or is_bag != (recording.format == 'rosbag'):
        raise ConfigurationError(
            'it is not said how to read it', where=str(path), found=(
                f'a file of its own for {several[0]} in {like.path}' if several else
                f'the format {recording.format!r} in {like.path}'),
            fix=f'Write its settings, sysid init ROBOT.urdf {path}, and name these')
    if is_bag:
        bag_files(path)
    settings = like.settings.model_copy(update={
        'recording': recording.model_copy(update={'file': str(path.resolve())})})
    return Identification(settings, like.base, like.path)


def _names_a_file(section: Any) -> bool:
    """Whether a part of a recording's settings, such as its stamps, is in a file of its own."""
    return isinstance(section, Mapping) and (
        section.get('file') is not None or any(map(_names_a_file, section.values())))


def of_bag(
    bag: Path, settings: Path, base: str | Path | None = None
) -> Identification:
    """A bag, with what a settings file says of robot, processing and fit.

    Args:
        bag: Folder or file of the bag.
        settings: The settings file; its ``recording`` section may be left out.
        base: Folder that file names in the settings are relative to; by default their own.

    Raises:
        ConfigurationError: The settings cannot be used.
        RecordingError: There is no bag.
    """
    bag_files(bag)
    data = load_settings_file(settings)
    section = _recording_section(data, settings) | {
        'format': 'rosbag', 'file': str(bag.resolve())}
    parsed = parse_settings(
        IdentificationSettings, data | {'recording': section}, str(settings))
    return Identification(
        parsed, settings.parent if base is None else Path(base), settings)


def load_without_recording(path: Path, description: str = '') -> Identification:
    """Settings for recordings that are still to be made.

    Args:
        path: The settings file; its ``recording`` section may be left out.
        description: URDF or MJCF as text, for a file that names none.

    Returns:
        The settings, with a recording whose file is the folder it will be in.

    Raises:
        ConfigurationError: The file cannot be read, or a key or value is not right.
    """
    data = with_description(load_settings_file(path), description)
    section = _recording_section(data, path) | {'format': 'rosbag', 'file': '.'}
    parsed = parse_settings(IdentificationSettings, data | {'recording': section}, str(path))
    return Identification(parsed, path.parent, path)


def write_recording_settings(
    folder: Path, setup: FitSetup, recording: Mapping[str, Any]
) -> None:
    """Write into a recording's folder all that is needed to fit it, the robot included.

    Args:
        folder: Folder of the recording, which is its bag's.
        setup: Robot, processing and fit.
        recording: Keys of the ``recording`` section that are to be set.

    Raises:
        ReleaseError: A file cannot be written.
    """
    settings = setup.settings.model_dump(mode='json', exclude_unset=True)
    robot, files = stored_robot(setup, _DESCRIPTION[setup.model.robot.description.format])
    settings['robot'] |= robot
    settings['folder'] = '.'
    settings['recording'] |= {'format': 'rosbag', 'file': '.'} | dict(recording)
    parse_settings(IdentificationSettings, settings, str(folder / SETTINGS))
    for name, content in files.items():
        write_atomically(folder / name, content)
    text = yaml.safe_dump(settings, sort_keys=False, allow_unicode=True)
    write_atomically(folder / SETTINGS, text.encode())


def _recording_section(data: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """What the settings say of any bag; what they say of a table says nothing of a bag."""
    section = data.get('recording') or {}
    if not isinstance(section, Mapping):
        raise ConfigurationError(
            'the section recording is no mapping', where=str(path), found=type(section).__name__,
            fix='Write recording: {format: rosbag, file: bag}, or leave it out')
    return dict(section) if section.get('format', 'rosbag') == 'rosbag' else {}
