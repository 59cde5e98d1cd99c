"""Settings of a fit from keywords, by the models that read settings files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sysid_ros.api.recording import Recording
from sysid_ros.errors import ConfigurationError, ModelError
from sysid_ros.estimation.identification import Identification, IdentificationSettings
from sysid_ros.mechanics.configuration import RobotSettings
from sysid_ros.robot.model import RobotModel
from sysid_ros.settings import parse_settings

#: A description's file, the ``robot:`` section of a settings file, or a model.
Robot = str | Path | Mapping[str, Any] | RobotModel

#: Sections of a settings file, by their names.
Sections = Mapping[str, Any]


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
    file = folder / ('robot.xml' if described.format == 'mjcf' else 'robot.urdf')
    file.write_bytes(described.xml)
    assets = described.asset_folder
    return {
        'description': str(file), 'locked_joints': dict(robot.locked_joints),
        'gravity': robot.gravity.tolist(),
    } | ({} if assets is None or described.format != 'mjcf' else {'assets': str(assets.resolve())})


def joint_names(robot: Mapping[str, Any]) -> tuple[str, ...]:
    """Joints that move, driven ones where loops are closed, in the order of the description.

    Args:
        robot: The ``robot:`` section.

    Raises:
        SysidError: The section or the description cannot be used.
    """
    settings = parse_settings(RobotSettings, dict(robot), 'robot')
    return settings.build(Path.cwd()).robot.joint_names


def identification(
    recording: Recording, file: Path, sections: Sections, joints: Sequence[str] = (),
) -> Identification:
    """Settings of a recording; nothing is written.

    Args:
        recording: The recording.
        file: NPZ file that its arrays, if it has some, will be in when they are read.
        sections: The other sections.
        joints: Joints of the robot, where the recording names none.

    Raises:
        ConfigurationError: A key or a value is not right.
        RecordingError: The recording has other columns.
    """
    data = {
        **sections, 'recording': recording.described(joints, file.name),
        'folder': str(file.parent.absolute())}
    return Identification(parse_settings(IdentificationSettings, data, 'settings'), Path.cwd())


def sections_of(
    robot: Mapping[str, Any], terms: Mapping[str, Any] | None, estimator: str | None,
    fit: Mapping[str, Any] | None, others: Mapping[str, Any],
) -> dict[str, Any]:
    """Sections of settings by name; those that nothing is said of are left out.

    Args:
        robot: The ``robot:`` section.
        terms: Its joint terms, where they are given apart.
        estimator: Name of the estimator, where it is given apart.
        fit: The ``fit:`` section.
        others: ``preset``, ``automatic``, ``processing`` and ``known``; None where nothing is said.

    Raises:
        ConfigurationError: Joint terms or the estimator are said twice.
    """
    said = {key: dict(value) if isinstance(value, Mapping) else value
            for key, value in others.items() if value is not None}
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
    loops = robot.loops is not None and robot.description.format == 'urdf'
    for found, words, key in (
        (rotors, 'geared rotors', 'rotors'), (loops, 'closed loops', 'loops'),
        (robot.base_joints, 'a floating base', 'joints'),
    ):
        if found:
            raise ModelError(
                f'the model has {words}, which its description does not say', where=robot.name,
                fix=f"Give the section in its place: robot={{'urdf': …, '{key}': …}}")
