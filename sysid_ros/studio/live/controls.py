"""Who operates the robot: one browser tab at a time has the arm switch."""

from __future__ import annotations

import time
from dataclasses import dataclass

from sysid_ros.errors import ConfigurationError

# Tabs whose numbers are remembered.
_MOST = 1000


@dataclass(frozen=True)
class Holder:
    """Whoever has the controls.

    Attributes:
        tab: Id of the browser tab.
        name: What it is called on pages.
        since: When it took them in [s] since 1970.
    """

    tab: str
    name: str
    since: float


class OperatorControls:
    """The controls of a robot, which one tab has at a time. Everybody may stop the robot.

    A tab that is closed keeps them: nothing changes by that. Another one takes them over, and the
    page that had them says so.

    Attributes:
        holder: Who has them; None where nobody does.
    """

    def __init__(self) -> None:
        self.holder: Holder | None = None
        self._numbers: dict[str, int] = {}
        self._lost: dict[str, str] = {}

    def name(self, tab: str, address: str = '') -> str:
        """What a tab is called: by the order in which tabs were first seen.

        Args:
            tab: Its id.
            address: Where its browser is.
        """
        if tab not in self._numbers:
            if len(self._numbers) >= _MOST:
                self._numbers.pop(next(iter(self._numbers)))
            self._numbers[tab] = max(self._numbers.values(), default=0) + 1
        return f'tab {self._numbers[tab]}' + (f' at {address}' if address else '')

    def take(self, tab: str, address: str = '', *, over: bool = False) -> None:
        """Give a tab the controls.

        Args:
            tab: Its id.
            address: Where its browser is.
            over: Whether they are taken from whoever has them.

        Raises:
            ConfigurationError: Another tab has them.
        """
        holder = self.holder
        if holder is not None and holder.tab != tab:
            if not over:
                raise ConfigurationError(
                    'another operator has the controls', found=holder.name,
                    fix='Ask, and press Take over')
            self._lost[holder.tab] = self.name(tab, address)
        self._lost.pop(tab, None)
        if holder is None or holder.tab != tab:
            self.holder = Holder(tab, self.name(tab, address), time.time())

    def give_back(self, tab: str) -> None:
        """Let go of the controls, where a tab has them."""
        if self.holds(tab):
            self.holder = None

    def holds(self, tab: str) -> bool:
        """Whether a tab has the controls."""
        return self.holder is not None and self.holder.tab == tab

    def taken_over_by(self, tab: str) -> str:
        """Who took the controls from a tab; empty where nobody did since it had them."""
        return self._lost.get(tab, '')

    def require(self, tab: str) -> None:
        """Refuse what only the operator may do.

        Raises:
            ConfigurationError: The tab does not have the controls.
        """
        if self.holds(tab):
            return
        holder = self.holder
        raise ConfigurationError(
            'this page only watches', found='nobody has the controls' if holder is None
            else f'{holder.name} has the controls',
            fix='Press Take the controls first' if holder is None else 'Ask, and press Take over')
