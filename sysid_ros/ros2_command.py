"""``ros2 sysid``: the verbs of ``sysid`` in the command of ROS 2."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from ros2cli.command import CommandExtension

from sysid_ros.cli.main import add_verbs, named_verbs


class SysidCommand(CommandExtension):
    """Identify the dynamics of a robot from recordings."""

    def add_arguments(
        self, parser: argparse.ArgumentParser, cli_name: str, *, argv: Sequence[str] | None = None,
    ) -> None:
        """Add the verbs, of which only the one that was given is imported.

        Args:
            parser: That of ``ros2 sysid``.
            cli_name: How it was called.
            argv: Words after ``ros2``; by default the process's.
        """
        words = list(sys.argv[1:] if argv is None else argv)
        # A shell that completes a line gives it elsewhere.
        words = os.environ.get('COMP_LINE', '').split() or words
        self._words = words[words.index('sysid') + 1:] if 'sysid' in words else []
        add_verbs(parser, named_verbs(self._words))

    def main(self, *, parser: argparse.ArgumentParser, args: argparse.Namespace) -> int:
        """Become ``sysid``.

        ROS 2 has loaded NumPy, with as many threads as there are cores, which the terminal avoids
        (:mod:`sysid_ros.cli`).
        """
        sys.stdout.flush()
        os.execv(  # noqa: S606  # no shell, and the words are those of the user
            sys.executable, [sys.executable, '-m', 'sysid_ros.cli.main', *self._words])
