"""What pages that are mailed say of whoever made them: a name, and no folder of the machine."""

from __future__ import annotations

import getpass
import os
import platform
import re
import shlex
from pathlib import PurePath

#: Environment variable that says who made a page; empty for nobody.
AUTHOR = 'SYSID_AUTHOR'
# Settings that name files. Topics begin with a slash, too, and stay as they are.
_FILE = re.compile(
    r'^(?P<key>\s*(?:- )?(?:folder|file|urdf|description|srdf|xacro|mjcf): )'
    r'(?P<quote>[\'"]?)(?P<path>(?:/|~|[A-Za-z]:[\\/])[^\n#]*?)(?P=quote)(?=[ \t]*(?:$|[ \t]#))',
    re.MULTILINE)


def author() -> str:
    """Who makes a page: ``SYSID_AUTHOR`` where it is set, or else the user and the machine."""
    named = os.environ.get(AUTHOR)
    if named is not None:
        return named.strip()
    try:
        return f'{getpass.getuser()}@{platform.node()}'
    except (KeyError, OSError):
        # A user without a name, as in some containers.
        return platform.node()


def settings_without_folders(text: str) -> str:
    """Settings whose absolute paths are the names of the files alone.

    Args:
        text: YAML.
    """
    return _FILE.sub(
        lambda found: f'{found["key"]}{found["quote"]}{_name(found["path"])}{found["quote"]}', text)


def command_without_folders(command: str) -> str:
    """A command line whose absolute paths are the names of the files alone.

    Args:
        command: As a shell takes it.
    """
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    return shlex.join(
        _name(word) if word.startswith(('/', '~')) else word for word in words)


def _name(path: str) -> str:
    return PurePath(path.replace('\\', '/')).name or path
