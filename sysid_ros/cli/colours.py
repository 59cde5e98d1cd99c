"""Colours of a terminal, where it has them and nobody asked for none (https://no-color.org)."""

from __future__ import annotations

import os
import re
from typing import TextIO

_GREEN, _RED, _PLAIN = '\x1b[1;32m', '\x1b[1;31m', '\x1b[0m'
_VERDICT = re.compile(r'^VERDICT: (NOT )?.*$', re.MULTILINE)


def has_colours(stream: TextIO) -> bool:
    """Whether a stream is a terminal that shows colours.

    Args:
        stream: Standard output or error.
    """
    return (
        stream.isatty() and not os.environ.get('NO_COLOR')
        and os.environ.get('TERM', '') != 'dumb')


def coloured_verdict(text: str, stream: TextIO) -> str:
    """Text whose line with the verdict is green or red, where the stream has colours.

    Args:
        text: What is printed.
        stream: Where to.
    """
    if not has_colours(stream):
        return text
    return _VERDICT.sub(
        lambda found: f'{_RED if found[1] else _GREEN}{found[0]}{_PLAIN}', text)
