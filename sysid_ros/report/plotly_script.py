"""Plotly's script as pages carry it, compressed once in a process."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache

from sysid_ros.errors import ConfigurationError


@cache
def plotly_script() -> str:
    """Plotly's script, compressed, in base 64.

    Raises:
        ConfigurationError: It is not installed, or without its script, as in Debian's package.
    """
    try:
        from plotly.offline import get_plotlyjs

        script = get_plotlyjs()
    except (ImportError, OSError) as error:
        raise ConfigurationError(
            f'the script that draws figures was not found: {error}',
            fix="Install it by 'pip install --upgrade plotly'; then 'sysid report RUN' writes "
            'the page') from error
    return packed(script)


@contextmanager
def packing_plotly() -> Iterator[None]:
    """Compress Plotly's script by a thread, while what is in the context goes on."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(plotly_script)
        yield


def packed(text: str) -> str:
    """Text, compressed by gzip and in base 64."""
    return base64.b64encode(gzip.compress(text.encode(), compresslevel=6, mtime=0)).decode()
