"""How much of a result a verb prints: by default what a person needs first."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from enum import Enum, auto
from typing import Any

from sysid_ros.report.brief import wrapped


class Shown(Enum):
    """How much is printed."""

    BRIEF = auto()
    FULL = auto()
    JSON = auto()
    NOTHING = auto()


def add_shown_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments that say how much is printed."""
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        '-v', '--verbose', action='store_true', help='print the whole summary')
    how.add_argument(
        '-q', '--quiet', action='store_true', help='print nothing but errors: the exit code tells')
    how.add_argument(
        '--json', action='store_true', help='print the verdict as JSON, for programs')


def shown_by(options: argparse.Namespace) -> Shown:
    """How much the arguments ask for."""
    for asked, shown in (
        (options.verbose, Shown.FULL), (options.quiet, Shown.NOTHING), (options.json, Shown.JSON)):
        if asked:
            return shown
    return Shown.BRIEF


def show(shown: Shown, *, brief: str, full: str, verdict: Mapping[str, Any]) -> None:
    """Print as much of a result as was asked for.

    Args:
        shown: How much.
        brief: What a person needs first.
        full: The whole summary.
        verdict: The verdict as plain values.
    """
    if shown is Shown.JSON:
        print(json.dumps(verdict, indent=1, allow_nan=False, ensure_ascii=False))
    elif shown is not Shown.NOTHING:
        print(wrapped(full) if shown is Shown.FULL else brief)
