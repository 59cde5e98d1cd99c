"""The command line of this process, as one could type it again."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path


def command_line() -> str:
    """Program and arguments, quoted for a shell; the program without its folder."""
    program = Path(sys.argv[0]).name
    return shlex.join(['sysid' if program == 'main.py' else program, *sys.argv[1:]])
