"""Where parameters of a run are exported to, by format."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sysid_ros.errors import ConfigurationError
from sysid_ros.studio.jobs import EXPORT_FORMATS

#: Folder of what is exported.
EXPORTS = 'exports'
_NAMES = {
    'description': 'identified.urdf', 'yaml': 'identified.yaml', 'isaac_lab': 'isaac_lab.yaml',
    'mjcf': 'mujoco.xml', 'ros2_control': 'ros2_control.yaml', 'sdf': 'identified.sdf',
    'usd': 'identified.usda'}
# Description of a run of a robot that an MJCF describes.
_MJCF, _IDENTIFIED = 'prior.xml', 'identified.xml'


def export_files(root: Path, run: str, formats: Sequence[str]) -> dict[str, Path]:
    """Files that formats of a run are written to, relative to the folder of the page.

    The description is written in the format of the one that was identified; for an MJCF that is
    what the format ``mjcf`` means, too.

    Args:
        root: Folder of the page.
        run: Name of the run.
        formats: Some of :data:`~sysid_ros.studio.jobs.EXPORT_FORMATS`.

    Raises:
        ConfigurationError: There is no such format.
    """
    unknown = [name for name in formats if name not in EXPORT_FORMATS]
    if unknown:
        raise ConfigurationError(
            'there is no such format', found=repr(unknown[0][:80]),
            allowed=', '.join(EXPORT_FORMATS), fix='Choose one of the list')
    folder = Path(EXPORTS) / run
    if not (root / run / _MJCF).is_file():
        return {name: folder / _NAMES[name] for name in formats}
    own = {'description' if name == 'mjcf' else name for name in formats}
    return {name: folder / (_IDENTIFIED if name == 'description' else _NAMES[name])
            for name in EXPORT_FORMATS if name in own}
