"""Commands and Python of a page of the documentation, as they are written."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
README = PROJECT / 'README.md'
TEN_MINUTES = PROJECT / 'docs' / 'tutorials' / 'ten-minutes.md'
HOUR, QUADRUPED = (TEN_MINUTES.with_name(name) for name in ('your-robot.md', 'quadruped.md'))
# What a page installs, where its reader has nothing yet.
_INSTALLS = ('pip', 'compile')


def shell_of(page: Path) -> list[list[str]]:
    """Words of every command line of a page."""
    lines = [shlex.split(line, comments=True)
             for block in _blocks(page, 'sh') for line in block.splitlines()]
    return [words for words in lines if words]


def commands_of(page: Path) -> list[list[str]]:
    """Arguments of every ``sysid`` of a page, without those that install."""
    return [words[1:] for words in shell_of(page)
            if words[0] == 'sysid' and words[1] not in _INSTALLS]


def python_of(page: Path) -> str:
    """The Python of a page, which has one block of it."""
    (program,) = _blocks(page, 'python')
    return program


def _blocks(page: Path, language: str) -> list[str]:
    text = page.read_text(encoding='utf-8')
    return re.findall(rf'```{language}\n(.*?)```', text, re.DOTALL)
