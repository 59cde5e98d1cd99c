"""The command ``sysid``: one verb per step of the workflow."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

import sysid_ros
from sysid_ros.cli import demo, excite, export, fit, model, payload, validate
from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.errors import SysidError

_VERBS = {
    'model': model, 'excite': excite, 'fit': fit, 'validate': validate, 'payload': payload,
    'export': export, 'demo': demo,
}


def parser() -> argparse.ArgumentParser:
    """The argument parser with all verbs."""
    root = argparse.ArgumentParser(
        prog='sysid',
        description='Identify the dynamics of a robot from recordings.',
        epilog='Exit codes: ' + '; '.join(f'{code.value} {code.meaning}' for code in ExitCode),
    )
    root.add_argument('--version', action='version', version=sysid_ros.__version__)
    verbs = root.add_subparsers(dest='verb', metavar='VERB', required=True)
    for name, module in _VERBS.items():
        text = (module.__doc__ or '').strip()
        verb = verbs.add_parser(name, help=text.splitlines()[0], description=text)
        module.add_arguments(verb)
        verb.set_defaults(run=module.run)
    return root


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb.

    Args:
        arguments: Command line without the program's name; by default the process's.

    Returns:
        The exit code, see :class:`~sysid_ros.cli.exit_codes.ExitCode`. Errors that have a
        cause outside of the program are one line on standard error.
    """
    options = parser().parse_args(arguments)
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
