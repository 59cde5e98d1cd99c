"""Reading the file of a planar mechanism, and its tree as a URDF."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from sysid_ros.robot.description.planar.mbds import is_mbds, mechanism_of_mbds
from sysid_ros.robot.description.planar.mechanism_settings import MechanismSettings
from sysid_ros.robot.description.planar.planar_tree import PlanarTree
from sysid_ros.robot.description.planar.spanning_tree import planar_tree
from sysid_ros.settings import load_yaml, parse_settings, parse_yaml

#: How names of such files end.
SUFFIXES = ('.yaml', '.yml')


@dataclass(frozen=True, eq=False)
class MechanismFile:
    """A planar mechanism as its file describes it.

    Attributes:
        settings: What the file says.
        text: The file itself, by which a run can be repeated.
        where: The file, for messages.
    """

    settings: MechanismSettings
    text: bytes
    where: str

    @cached_property
    def tree(self) -> PlanarTree:
        """The mechanism as a tree of joints, and what closes its loops.

        Raises:
            ModelError: The mechanism cannot be one; see :func:`.planar_tree`.
        """
        return planar_tree(self.settings, self.where)


def names_mechanism(path: Path) -> bool:
    """Whether a path is that of a planar mechanism: a YAML file with points or bodies.

    Raises:
        ConfigurationError: It is called a YAML file and cannot be read as one.
    """
    return path.suffix.lower() in SUFFIXES and path.is_file() and is_mechanism(load_yaml(path))


def read_mechanism_file(path: Path) -> MechanismFile:
    """Read a planar mechanism, in the YAML of this package or of MBDS.

    Args:
        path: A YAML file of :class:`.MechanismSettings` or :class:`.MbdsSettings`.

    Raises:
        ConfigurationError: The file cannot be read, or a key or value is not right.
        ModelError: As for :func:`.mechanism_of_mbds`.
    """
    settings = _mechanism(load_yaml(path), path.stem, str(path))
    return MechanismFile(settings, path.read_bytes(), str(path))


def is_mechanism(data: Mapping[str, Any]) -> bool:
    """Whether a YAML mapping is the file of a planar mechanism: it has points or bodies."""
    return 'robot' not in data and bool(data.keys() & {'points', 'bodies', 'planar_bodies'})


def mechanism_of_text(text: str, name: str, where: str) -> MechanismSettings:
    """A planar mechanism from the text of a file; see :func:`read_mechanism_file`.

    Args:
        text: The text.
        name: What the mechanism is called where the text has no place for a name.
        where: Name of the source for messages.
    """
    return _mechanism(parse_yaml(text, where), name, where)


def _mechanism(data: dict[str, Any], name: str, where: str) -> MechanismSettings:
    if is_mbds(data):
        return mechanism_of_mbds(data, name, where)
    return parse_settings(MechanismSettings, data, where)
