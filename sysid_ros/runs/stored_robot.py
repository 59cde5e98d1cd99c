"""Files of the robot of a run or a recording: its description, and what closes its loops."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.settings import load_yaml


def stored_robot(
    setup: FitSetup, description: str
) -> tuple[Mapping[str, Any], dict[str, bytes]]:
    """Settings and files of a robot by which a folder needs none outside of it but meshes.

    A planar mechanism is kept as the file that describes it, beside its tree as a URDF.

    Args:
        setup: Settings whose robot it is, and its torque model.
        description: Name of the file that the description gets; what closes the loops of
            ``robot.urdf`` gets ``robot_loops.yaml``, and a planar mechanism
            ``robot_mechanism.yaml``.

    Returns:
        Keys of the ``robot`` section that change, and files by name.

    Raises:
        ConfigurationError: There is no robot, or the file that closes its loops cannot be read.
    """
    section: dict[str, Any] = {'xacro_arguments': {}, 'urdf': None, 'description': description}
    described, identification = setup.model.robot.description, setup.identification
    files = {description: described.xml}
    if described.mechanism is not None:
        section['description'] = f'{description.partition(".")[0]}_mechanism.yaml'
        files[section['description']] = described.mechanism.text
    folder = described.asset_folder
    if described.format == 'mjcf' and folder is not None:
        needs = described.compiled.needs_meshes
        section['assets'] = str(folder.resolve()) if needs else None
    loops = identification.robot().loops
    if loops is not None:
        section['loops'] = f'{description.partition(".")[0]}_loops.yaml'
        text = yaml.safe_dump(load_yaml(identification.base / loops), allow_unicode=True)
        files[section['loops']] = text.encode()
    return section, files
