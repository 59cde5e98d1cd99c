"""Settings of a fit from keywords, by the models that read settings files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from sysid_ros.api.recording import Recording
from sysid_ros.errors import ConfigurationError, ModelError
from sysid_ros.estimation.identification import Identification, IdentificationSettings
from sysid_ros.mechanics.configuration import RobotSettings, load_settings_file
from sysid_ros.release.atomic import write_atomically
from sysid_ros.robot.model import RobotModel
from sysid_ros.settings import parse_settings

#: A description's file, the ``robot:`` section of a settings file, or a model.
Robot = str | Path | Mapping[str, Any] | RobotModel

#: Sections of a settings file, by their names.
Sections = Mapping[str, Any]

# What settings say of their recording, which goes with that.
_OF_RECORDING = ('recording', 'folder')
# Stands for the recording where settings say none, which a settings file has to.
_ANY_RECORDING = {'format': 'rosbag', 'file': 'recording'}


@dataclass(frozen=True, eq=False)
class Settings:
    """What a settings file says, read from one or made in Python, and checked.

    Attributes:
        sections: Its sections and keys by name: ``robot``, ``recording``, ``processing``, ``fit``,
            ``known``, ``preset``, ``automatic``, ``folder``.
        base: Folder that file names are relative to.

    Raises:
        ConfigurationError: A key is not known, or a value is not right.
    """

    sections: Sections
    base: Path = field(default_factory=Path.cwd)

    def __post_init__(self) -> None:
        parse_settings(
            IdentificationSettings, {'recording': _ANY_RECORDING, **self.sections}, 'Settings')

    @classmethod
    def load(cls, path: str | Path) -> Settings:
        """Read a settings file: one of ``sysid init``, or that of a run.

        Raises:
            ConfigurationError: It cannot be read, a key is not known, or a value is not right.
        """
        path = Path(path)
        return cls(load_settings_file(path), path.parent.absolute())

    def save(self, path: str | Path) -> None:
        """Write them as a settings file.

        Args:
            path: The file, in the folder that file names are relative to.

        Raises:
            ReleaseError: It cannot be written.
        """
        text = yaml.safe_dump(dict(self.sections), sort_keys=False, allow_unicode=True)
        write_atomically(Path(path), text.encode())

    def recording(self) -> Recording | None:
        """The recording that they describe; None where they describe none."""
        section = self.sections.get('recording')
        if section is None:
            return None
        return Recording(section, folder=self.base / self.sections.get('folder', '.'))


def robot_section(robot: Robot, folder: Path) -> dict[str, Any]:
    """The ``robot:`` section of settings; its files are relative to the current folder.

    Args:
        robot: A description's file, a section, or a model.
        folder: Where the description of a model is written.

    Raises:
        ModelError: The model has parts that no description says.
    """
    if isinstance(robot, Mapping):
        return dict(robot)
    if not isinstance(robot, RobotModel):
        return {'description': str(robot)}
    _require_described(robot)
    described = robot.description
    if described.mechanism is None:
        file = folder / ('robot.xml' if described.format == 'mjcf' else 'robot.urdf')
        file.write_bytes(described.xml)
    else:
        file = folder / 'robot_mechanism.yaml'
        file.write_bytes(described.mechanism.text)
    assets = described.asset_folder
    floats = bool(robot.base_joints)
    return {
        'description': str(file), 'locked_joints': dict(robot.locked_joints),
        # Of a base that floats gravity is a part of its acceleration.
        **({'base': 'floating'} if floats else {'gravity': robot.gravity.tolist()}),
    } | ({} if assets is None or described.format != 'mjcf' else {'assets': str(assets.resolve())})


def joint_names(robot: Mapping[str, Any], base: Path) -> tuple[str, ...]:
    """Joints that move, driven ones where loops are closed, in the order of the description.

    Args:
        robot: The ``robot:`` section.
        base: Folder that its file names are relative to.

    Raises:
        SysidError: The section or the description cannot be used.
    """
    settings = parse_settings(RobotSettings, dict(robot), 'robot')
    return settings.build(base).robot.limb_joints


def identification(
    recording: Recording, file: Path, sections: Sections, joints: Sequence[str] = (),
    base: Path | None = None,
) -> Identification:
    """Settings of a recording; nothing is written.

    Args:
        recording: The recording.
        file: NPZ file that its arrays, if it has some, will be in when they are read.
        sections: The other sections.
        joints: Joints of the robot, where the recording names none.
        base: Folder that file names of the sections are relative to; by default the current one.

    Raises:
        ConfigurationError: A key or a value is not right.
        RecordingError: The recording has other columns.
    """
    data = {
        **sections, 'recording': recording.described(joints, file.name),
        'folder': str((recording.folder or file.parent).absolute())}
    return Identification(
        parse_settings(IdentificationSettings, data, 'settings'), base or Path.cwd())


def sections_of(
    robot: Mapping[str, Any], terms: Mapping[str, Any] | None, estimator: str | None,
    fit: Mapping[str, Any] | None, others: Mapping[str, Any], settings: Settings | None = None,
) -> dict[str, Any]:
    """Sections of settings by name; those that nothing is said of are left out.

    Args:
        robot: The ``robot:`` section.
        terms: Its joint terms, where they are given apart.
        estimator: Name of the estimator, where it is given apart.
        fit: The ``fit:`` section.
        others: ``preset``, ``automatic``, ``processing`` and ``known``; None where nothing is said.
        settings: Sections that were made before.

    Raises:
        ConfigurationError: Joint terms, the estimator or a section are said twice.
    """
    before = {} if settings is None else settings.sections
    said = {key: dict(value) if isinstance(value, Mapping) else value
            for key, value in {**others, 'fit': fit}.items() if value is not None}
    for key in said.keys() & before.keys():
        raise ConfigurationError(
            f'{key} is said twice', where=f'fit(…, settings=…, {key}=…)',
            found=f'{said[key]} and {before[key]}', fix='Say it once')
    said = {key: value for key, value in before.items() if key not in _OF_RECORDING} | said
    fit = said.get('fit')
    for section, key, value in ((robot, 'terms', terms), (fit or {}, 'estimator', estimator)):
        if value is not None and key in section:
            raise ConfigurationError(
                f'{key} are said twice' if key == 'terms' else f'the {key} is said twice',
                where=f'fit(…, {key}=…)', found=f'{value} and {section[key]}', fix='Say it once')
    said['robot'] = {**robot} | ({} if terms is None else {'terms': dict(terms)})
    said['fit'] = {**(fit or {})} | ({} if estimator is None else {'estimator': estimator})
    return said


def _require_described(robot: RobotModel) -> None:
    """Refuse a model of which the description does not say everything."""
    rotors = sorted(set(robot.body_names) - {link.body for link in robot.links})
    described = robot.description
    loops = robot.loops is not None and (
        described.format == 'urdf' and described.mechanism is None)
    for found, words, key in (
        (rotors, 'geared rotors', 'rotors'), (loops, 'closed loops', 'loops'),
    ):
        if found:
            raise ModelError(
                f'the model has {words}, which its description does not say', where=robot.name,
                fix=f"Give the section in its place: robot={{'urdf': …, '{key}': …}}")
