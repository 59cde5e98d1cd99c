# PYTHON_ARGCOMPLETE_OK (for activate-global-python-argcomplete, which reads no more of this file)
"""The command ``sysid``: one verb per step of the workflow."""

from __future__ import annotations

import argparse
import ast
import gc
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from itertools import takewhile
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, NoReturn

import sysid_ros
from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.errors import ConfigurationError, SysidError, did_you_mean

if TYPE_CHECKING:
    from sysid_ros.report.drawing import Drawing

#: Verbs, in the order of the workflow.
VERBS = (
    'model', 'init excite', 'excite', 'simulate', 'init', 'check', 'fit', 'validate', 'report',
    'view', 'studio', 'compare', 'batch', 'drift', 'ship', 'pack', 'payload', 'export', 'replay',
    'init nodes', 'init policy', 'run', 'compile', 'demo')
# Options that ask for the command itself.
_ASKS = frozenset({'-h', '--help', '--version'})


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, as all others, and not its usage as well."""

    def error(self, message: str) -> NoReturn:
        """Refuse a command line.

        Raises:
            ConfigurationError: Always.
        """
        raise ConfigurationError(message, where=self.prog, fix=f'See {self.prog} --help')


def parser(verbs: Sequence[str] = VERBS) -> argparse.ArgumentParser:
    """The argument parser.

    Args:
        verbs: Verbs that it knows. Only what a single one needs is imported; where there are
            several, they are named with what they do, and without their arguments.
    """
    root = _Parser(
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
        verbs: Names; see :func:`parser`.
    """
    subparsers = command.add_subparsers(dest='verb', metavar='VERB', required=True)
    for name in verbs:
        text = _docstring(name)
        first, *rest = name.split() if len(verbs) == 1 else (name,)
        verb = subparsers.add_parser(first, help=text.splitlines()[0], description=text)
        for word in rest:
            verb = verb.add_subparsers(metavar=word, required=True).add_parser(
                word, description=text)
        if len(verbs) == 1:
            module = _module(name)
            module.add_arguments(verb)
            verb.set_defaults(run=module.run, describe=verb.format_help, verb=name)


def named_verbs(words: Sequence[str]) -> Sequence[str]:
    """The verb of a command line; all of them where it has none, or asks for those there are."""
    before = list(takewhile(lambda word: word.startswith('-'), words))
    words = words[len(before):]
    # Of init and init excite the longer one.
    named = [verb for verb in (' '.join(words[:2]), *words[:1]) if verb in VERBS]
    asks = _ASKS.intersection(before)
    return named[:1] if named and not asks else VERBS


def _complete() -> None:
    """Answer a shell that completes a command line: verbs, their options, files."""
    import argcomplete

    line, point = os.environ.get('COMP_LINE', ''), os.environ.get('COMP_POINT', '')
    words = line[:int(point) if point.isdigit() else None].split()[1:]
    # A word that is being written is completed among the first words of verbs.
    known = [verb for verb in VERBS if ' ' not in verb]
    named = named_verbs(words)
    argcomplete.autocomplete(parser(known if named is VERBS else named))


def _docstring(verb: str) -> str:
    """What a verb says of itself, without importing it."""
    source = Path(__file__).with_name(f'{_module_name(verb)}.py').read_text(encoding='utf-8')
    return (ast.get_docstring(ast.parse(source)) or '').strip()


@cache
def _module(verb: str) -> ModuleType:
    with _nothing_is_garbage():
        return import_module(f'sysid_ros.cli.{_module_name(verb)}')


def _module_name(verb: str) -> str:
    return verb.replace(' ', '_')


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
    if '_ARGCOMPLETE' in os.environ:
        _complete()
    drawing = _early_drawing(given)
    try:
        _require_verb(given)
        # The verb finds what was started among its options.
        options, unknown = parser(named_verbs(given)).parse_known_args(
            given, argparse.Namespace(drawing=drawing))
        _require_known(options, unknown)
        return _run(options)
    except SysidError as error:
        said = str(error)
        print(said if said.startswith('sysid') else f'sysid: {said}', file=sys.stderr)
        return int(ExitCode.BAD_INPUT)
    except (KeyboardInterrupt, SystemError) as error:
        # Before the verb runs: while what it needs is imported.
        if not _is_interrupt(error):
            raise
        print('sysid: stopped', file=sys.stderr)
        return int(ExitCode.INTERRUPTED)
    finally:
        if drawing is not None:
            drawing.end()


def _early_drawing(words: Sequence[str]) -> Drawing | None:
    """What draws the figures of a fit: it loads Matplotlib while this process imports the rest."""
    if not words or words[0] != 'fit' or {'-h', '--help'}.intersection(words):
        return None
    from sysid_ros.report.drawing import Drawing

    drawing = Drawing()
    drawing.start()
    return drawing


def _require_verb(words: Sequence[str]) -> None:
    if not words or words[0].startswith('-') or words[0] in VERBS:
        return
    is_file = '.' in words[0] or os.path.exists(words[0])
    raise ConfigurationError(
        'there is no such verb', found=repr(words[0]), allowed=', '.join(VERBS),
        fix=f'Put the verb before it, as sysid fit {words[0]}' if is_file
        else did_you_mean(words[0], VERBS) or 'See sysid --help')


def _require_known(options: argparse.Namespace, unknown: Sequence[str]) -> None:
    if unknown:
        known = sorted(set(re.findall(r'(?<!\w)--[a-z][\w-]*', options.describe())))
        raise ConfigurationError(
            f'{options.verb} has no such argument', found=' '.join(unknown),
            allowed=', '.join(known),
            fix=f'Put it behind the verb: sysid {options.verb} … {unknown[0]}'
            if unknown[0] in known
            else did_you_mean(_in_full(unknown[0], known), known)
            or f'See sysid {options.verb} --help')


def _in_full(argument: str, known: Sequence[str]) -> str:
    """The first known option that begins with the letter of a short one; others as they are."""
    if re.fullmatch(r'-\w', argument):
        return next((name for name in known if name.startswith(f'-{argument}')), argument)
    return argument


def _run(options: argparse.Namespace) -> int:
    from sysid_ros.numerics.kernel_indexes import remove_unreadable_indexes

    remove_unreadable_indexes()
    try:
        return int(options.run(options))
    except SysidError as error:
        print(f'sysid {options.verb}: {error}', file=sys.stderr)
        return int(ExitCode.BAD_INPUT)
    except (KeyboardInterrupt, SystemError) as error:
        if not _is_interrupt(error):
            raise
        print(f'sysid {options.verb}: stopped; what was not complete is not kept', file=sys.stderr)
        return int(ExitCode.INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output has gone (sysid … | head): nothing more to say to anybody.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return int(ExitCode.OK)


def _is_interrupt(error: BaseException) -> bool:
    """Whether an error is Ctrl-C, or what compiled code that calls Python makes of it.

    Such code tells of every error in a call as a ``SystemError``, with the error as its cause.
    """
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, KeyboardInterrupt):
        cause = cause.__cause__
    return cause is not None


if __name__ == '__main__':
    sys.exit(main())
