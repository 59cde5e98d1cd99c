"""What a MoveIt SRDF says of collisions: which pairs of links need not be looked at."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from sysid_ros.errors import ModelError, unreadable
from sysid_ros.robot.description.safe_xml import attribute, parse_xml

Pair = frozenset[str]


@dataclass(frozen=True)
class AllowedCollisions:
    """Pairs of links that may touch, as MoveIt's allowed collision matrix has them.

    Attributes:
        pairs: Pairs that need not be looked at.
        silent: Links that are looked at only in pairs that are enabled.
        enabled: Pairs that are looked at though one of the two is silent.
    """

    pairs: frozenset[Pair]
    silent: frozenset[str] = frozenset()
    enabled: frozenset[Pair] = frozenset()

    @classmethod
    def load(cls, path: str | Path, links: Iterable[str]) -> AllowedCollisions:
        """Read an SRDF.

        Args:
            path: The file.
            links: Links of the robot.

        Raises:
            ModelError: The file cannot be read, is no SRDF, or names no link of the robot.
        """
        path = Path(path)
        try:
            root = parse_xml(path.read_bytes(), str(path))
        except OSError as error:
            raise unreadable(
                ModelError, path, error, 'Give the path of an SRDF') from error
        if root.tag != 'robot' or root.find('link') is not None:
            raise ModelError(
                'is not an SRDF', where=str(path), found=f'root element <{root.tag}>'
                + (' with <link> elements, as a URDF has' if root.tag == 'robot' else ''),
                allowed='<robot> with <disable_collisions> elements',
                fix='Name the .srdf file of the MoveIt configuration')

        def pairs(tag: str) -> frozenset[Pair]:
            return frozenset(
                frozenset((attribute(e, 'link1'), attribute(e, 'link2')))
                for e in root.findall(tag))

        found = cls(
            pairs('disable_collisions'),
            frozenset(attribute(e, 'link') for e in root.findall('disable_default_collisions')),
            pairs('enable_collisions'))
        named = set(found.silent).union(*found.pairs, *found.enabled)
        if named and not named & set(links):
            raise ModelError(
                'names no link of the robot', where=str(path),
                found=', '.join(sorted(named)[:8]), allowed=', '.join(sorted(links)[:8]),
                fix='Give the SRDF of this robot')
        return found

    def counts(self, first: str, second: str) -> bool:
        """Whether two links must keep clear of each other."""
        pair = frozenset((first, second))
        if pair in self.pairs:
            return False
        return pair in self.enabled or not pair & self.silent
