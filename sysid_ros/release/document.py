"""What an export needs to know of the language a robot description is written in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Protocol

from sysid_ros.release.link_shares import BodyShares, Inertial
from sysid_ros.release.xml_splice import Splice


class Document(Protocol):
    """A robot description whose inertias and joint terms can be replaced in place."""

    #: The format with its article, for messages.
    name: ClassVar[str]

    @property
    def terms(self) -> Mapping[str, str]:
        """Joint terms that it has a place for, and the attribute of each."""

    def described(self) -> dict[str, bool]:
        """Links that have an inertia of their own, and whether it can be read."""

    def splices(
        self, shares: Sequence[BodyShares], terms: Mapping[str, Mapping[str, str]]
    ) -> Iterator[Splice]:
        """Edits that write inertias of links and attributes of joints."""

    def written(self, link: str) -> Inertial | None:
        """Numbers of one link as they stand in the document, or None."""


def start_tag(name: str, attributes: Mapping[str, str]) -> str:
    """An element without content."""
    return f'<{name} ' + ' '.join(f'{key}="{value}"' for key, value in attributes.items()) + '/>'
