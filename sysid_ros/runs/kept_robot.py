"""The robot of a run or of a recording, kept beside it, with what closes its loops."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from sysid_ros.dynamics.torque_model import TorqueModel
from sysid_ros.estimation.identification import Identification
from sysid_ros.settings import load_yaml


def kept_robot(
    identification: Identification, model: TorqueModel, description: str
) -> tuple[Mapping[str, Any], dict[str, bytes]]:
    """What to keep of a robot, so that a folder needs no file outside of it but meshes.

    Args:
        identification: Settings whose robot it is.
        model: Its torque model.
        description: Name of the file that the description gets; what closes the loops of
            ``robot.urdf`` gets ``robot_loops.yaml``.

    Returns:
        Keys of the ``robot`` section that change, and files by name.

    Raises:
        ConfigurationError: There is no robot, or the file that closes its loops cannot be read.
    """
    section: dict[str, Any] = {'xacro_arguments': {}, 'urdf': None, 'description': description}
    files = {description: model.robot.description.xml}
    folder = model.robot.description.asset_folder
    if model.robot.description.format == 'mjcf' and folder is not None:
        needs = model.robot.description.compiled.needs_meshes
        section['assets'] = str(folder.resolve()) if needs else None
    loops = identification.robot().loops
    if loops is not None:
        section['loops'] = f'{description.partition(".")[0]}_loops.yaml'
        text = yaml.safe_dump(load_yaml(identification.base / loops), allow_unicode=True)
        files[section['loops']] = text.encode()
    return section, files
