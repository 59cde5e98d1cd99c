"""A terminal that says what is about to be done, and asks whether it may."""

from __future__ import annotations

import sys
from typing import Protocol

from sysid_ros.errors import ConfigurationError

# What clears a line of a terminal, from its beginning.
_CLEAR = '\r\x1b[K'


class Listener(Protocol):
    """Whom steps tell what they do, and who may end them."""

    def say(self, text: str) -> None:
        """Take a sentence."""

    def require(self, action: str) -> None:
        """Take what is next; raises where it may not be done."""

    def progress(self, text: str) -> None:
        """Take what is being done just now."""


class Terminal:
    """Says, asks, and shows progress on one line where somebody sees it.

    Args:
        yes: Whether every question is answered by yes, and is not asked.
    """

    def __init__(self, *, yes: bool = False) -> None:
        self._yes, self._step, self._shown = yes, 0, ''

    def say(self, text: str) -> None:
        """Print a line."""
        self._end_progress()
        print(text, flush=True)

    def require(self, action: str) -> None:
        """Say what is next, and go on if it may be done.

        Args:
            action: What will be done, as a sentence.

        Raises:
            KeyboardInterrupt: It may not.
            ConfigurationError: Nobody can be asked.
        """
        self._step += 1
        self.say(f'\n{self._step}. {action}')
        if self._yes:
            return
        print('   Go on? [y/N] ', end='', flush=True)
        answer = sys.stdin.readline()
        if not answer:
            raise ConfigurationError(
                'nobody can be asked', found='no input', fix='Run it in a terminal, or with --yes')
        if answer.strip().lower() not in ('y', 'yes'):
            raise KeyboardInterrupt

    def progress(self, text: str) -> None:
        """Show what is being done on a line that the next one replaces; a log has each once."""
        if text == self._shown or not sys.stdout.isatty():
            return
        self._shown = text
        print(f'{_CLEAR}   {text}', end='', flush=True)

    def _end_progress(self) -> None:
        if self._shown:
            print(_CLEAR, end='')
            self._shown = ''
