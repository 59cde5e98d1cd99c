"""The command ``sysid``: one verb per step of the workflow."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from types import ModuleType

import sysid_ros
from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.errors import SysidError
from sysid_ros.kernel_indexes import remove_unreadable_indexes

_VERBS = ('model', 'excite', 'fit', 'validate', 'payload', 'export', 'replay', 'compile', 'demo')


def parser(verbs: Sequence[str] = _VERBS) -> argparse.ArgumentParser:
    """The argument parser.

    Args:
        verbs: Verbs that it knows; only what these need is imported.
    """
    root = argparse.ArgumentParser(
        prog='sysid',
        description='Identify the dynamics of a robot from recordings.',
        epilog='Exit codes: ' + '; '.join(f'{code.value} {code.meaning}' for code in ExitCode),
    )
    root.add_argument('--version', action='version', version=sysid_ros.__version__)
    add_verbs(root, verbs)
    return root


def add_verbs(command: argparse.ArgumentParser, verbs: Sequence[str]) -> None:
    """Add verbs with their arguments to a command.

    Args:
        command: Parser of the command.
        verbs: Names; only what these need is imported.
    """
    subparsers = command.add_subparsers(dest='verb', metavar='VERB', required=True)
    for name in verbs:
        module = _module(name)
        text = (module.__doc__ or '').strip()
        verb = subparsers.add_parser(name, help=text.splitlines()[0], description=text)
        module.add_arguments(verb)
        verb.set_defaults(run=module.run)


def named_verbs(words: Sequence[str]) -> Sequence[str]:
    """The verb that a command line begins with; all of them if it begins with none."""
    return words[:1] if words and words[0] in _VERBS else _VERBS


@cache
def _module(verb: str) -> ModuleType:
    with _nothing_is_garbage():
        return import_module(f'sysid_ros.cli.{verb}')


@contextmanager
def _nothing_is_garbage() -> Iterator[None]:
    """Spare the collector what importing makes.

    These are a million objects which stay to the end: to look for garbage among them, again and
    again, would take a fifth of the time of a fit.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb.

    Args:
        arguments: Command line without the program's name; by default the process's.

    Returns:
        The exit code, see :class:`~sysid_ros.cli.exit_codes.ExitCode`. Errors that have a
        cause outside of the program are one line on standard error.
    """
    given = sys.argv[1:] if arguments is None else arguments
    options = parser(named_verbs(given)).parse_args(given)
    remove_unreadable_indexes()
    try:
        return int(options.run(options))
    except SysidError as error:
        print(f'sysid {options.verb}: {error}', file=sys.stderr)
        return int(ExitCode.BAD_INPUT)
    except KeyboardInterrupt:
        print(f'sysid {options.verb}: stopped', file=sys.stderr)
        return int(ExitCode.INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output has gone (sysid … | head): nothing more to say to anybody.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return int(ExitCode.OK)


if __name__ == '__main__':
    sys.exit(main())
