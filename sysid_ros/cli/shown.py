"""How much of a result a verb prints: by default what a person needs first."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from enum import Enum, auto
from typing import Any

from sysid_ros.cli.colours import coloured_verdict
from sysid_ros.cli.progress import stage
from sysid_ros.report.brief import wrapped
from sysid_ros.runs.stages import silent


class Shown(Enum):
    """How much is printed."""

    BRIEF = auto()
    FULL = auto()
    JSON = auto()
    NOTHING = auto()

    @property
    def for_people(self) -> bool:
        """Whether anybody reads it."""
        return self in (Shown.BRIEF, Shown.FULL)

    @property
    def stage(self) -> Callable[[str], AbstractContextManager[None]]:
        """What shows the steps of the work, on standard error."""
        return silent if self is Shown.NOTHING else stage

    def say(self, text: str) -> None:
        """Print a sentence that is for people alone."""
        if self.for_people:
            print(text, flush=True)


def add_shown_arguments(
    parser: argparse.ArgumentParser, what: str = 'the verdict', *, verbose: bool = True
) -> None:
    """Arguments that say how much is printed.

    Args:
        parser: Of the verb.
        what: What is printed as JSON.
        verbose: Whether there is more than is printed by default.
    """
    how = parser.add_mutually_exclusive_group()
    if verbose:
        how.add_argument(
            '-v', '--verbose', action='store_true', help='print the whole summary')
    how.add_argument(
        '-q', '--quiet', action='store_true', help='print nothing but errors: the exit code tells')
    how.add_argument(
        '--json', action='store_true', help=f'print {what} as JSON, for programs')


def shown_by(options: argparse.Namespace) -> Shown:
    """How much the arguments ask for."""
    for asked, shown in (
        ('verbose', Shown.FULL), ('quiet', Shown.NOTHING), ('json', Shown.JSON)):
        if getattr(options, asked, False):
            return shown
    return Shown.BRIEF


def show(shown: Shown, *, brief: str, document: Mapping[str, Any], full: str = '') -> None:
    """Print as much of a result as was asked for.

    Args:
        shown: How much.
        brief: What a person needs first.
        document: The same for programs, as plain values.
        full: The whole summary, of verbs that have one.
    """
    if shown is Shown.JSON:
        print(json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False))
    elif shown.for_people:
        text = wrapped(full) if shown is Shown.FULL else brief
        print(coloured_verdict(text, sys.stdout))
