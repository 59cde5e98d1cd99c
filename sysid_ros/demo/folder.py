"""The folder that the demo runs in: robot, settings, motions, and what comes of them."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from sysid_ros.data_folder import DataFolder
from sysid_ros.errors import ConfigurationError
from sysid_ros.excitation.configuration import ExcitationPlan
from sysid_ros.excitation.files import load_excitation
from sysid_ros.excitation.playback.preparation import stopping_time

#: Robots of the demonstration, and the folder of ``config/`` that each comes from.
ROBOTS = {'arm': 'demo', 'quadruped_leg': 'demo_quadruped_leg'}
# A folder with this file was made by a demo, and may be replaced by one.
_MARK = 'nodes.yaml'


def share() -> Path:
    """The folder that holds ``config/`` and ``launch/``.

    Raises:
        ConfigurationError: The package was installed without it.
    """
    prefixes = [Path(sys.prefix), *map(Path, os.environ.get('AMENT_PREFIX_PATH', '').split(':'))]
    candidates = [
        Path(__file__).parents[2], *(prefix / 'share' / 'sysid_ros' for prefix in prefixes)]
    for folder in candidates:
        if (folder / 'config' / ROBOTS['arm'] / _MARK).is_file():
            return folder
    raise ConfigurationError(
        'the files of the demo were not installed', where='config/demo',
        found=', '.join(map(str, candidates)), fix='Install the package again')


def prepare(folder: str | Path, robot: str = 'arm') -> Path:
    """Fill a folder with what the nodes of the demo read; an earlier demo's is replaced.

    Args:
        folder: The folder.
        robot: One of ``ROBOTS``.

    Returns:
        Its absolute path. ``data/motions`` below it has the motions.

    Raises:
        ConfigurationError: It holds something that is no demo's, or cannot be written.
    """
    folder = Path(folder).expanduser().resolve()
    source = share() / 'config' / ROBOTS[robot]
    if folder.exists() and not folder.is_dir():
        raise ConfigurationError('is not a folder', where=str(folder), fix='Choose another')
    if folder.is_dir() and any(folder.iterdir()) and not (folder / _MARK).is_file():
        raise ConfigurationError(
            'the folder holds something else', where=str(folder), fix='Choose another')
    try:
        for old in ('data', 'log', 'report'):
            shutil.rmtree(folder / old, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
        for file in (folder / 'results.json', folder / 'truth.xml'):
            file.unlink(missing_ok=True)
        for file in (file for kind in ('yaml', 'urdf', 'xml') for file in source.glob(f'*.{kind}')):
            shutil.copyfile(file, folder / file.name)
        data = DataFolder(folder / 'data')
        for file in (source / 'motions').glob('*.yaml'):
            shutil.copyfile(file, data.motion(file.stem))
    except OSError as error:
        raise ConfigurationError(
            f'cannot be written: {error}', where=str(folder),
            fix='Name a folder that can be written to') from error
    return folder


def verify(folder: Path) -> None:
    """Verify the motions of a folder, as the excitation node will once more.

    What is compiled for it is then there for all nodes, which would compile it side by side, and
    one of them with the robot in motion.

    Args:
        folder: What :func:`prepare` gave.

    Raises:
        ExcitationError: A motion must not be played.
    """
    designer = ExcitationPlan.load(folder / 'excitation.yaml').designer()
    for file in sorted((folder / 'data' / 'motions').glob('*.yaml')):
        motion = load_excitation(file)
        designer.verify(designer.dense(motion)).require()
        stopping_time(designer, motion)
