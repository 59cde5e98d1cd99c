"""What of a page is drawn anew when what it shows has changed, and how all pages look."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from sysid_ros.studio.page.parts import Live

#: Of buttons and inputs: 7 to 1 beside white.
PRIMARY = '#005a8c'
#: Style sheet of all pages.
STYLE = Path(__file__).with_name('style.css')


class Drawing:
    """Parts of a page of one browser that change."""

    def __init__(self) -> None:
        self._parts: list[tuple[Any, Callable[[], None]]] = []

    def live(self, key: Callable[[], object], draw: Callable[[], None]) -> None:
        """Show something that changes; see :class:`~sysid_ros.studio.page.parts.Live`."""
        part = Live(key, draw)
        self.follow(part.place, part.refresh)

    def follow(self, element: Any, update: Callable[[], None]) -> None:
        """Have something called after every change, as long as an element is on the page.

        Args:
            element: The element.
            update: Called.
        """
        self._parts.append((element, update))

    def draw_changes(self) -> None:
        """Draw what has changed."""
        self._parts = [part for part in self._parts if not part[0].is_deleted]
        for element, update in list(self._parts):
            # What is drawn anew takes what was in it along.
            if not element.is_deleted:
                update()
