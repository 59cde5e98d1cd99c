"""Recordings of stores on this computer, while a fit of a batch needs them.

Each is fetched by the worker that fits it, into a folder that lives as long as its fit, or into a
cache, from where it is taken while the store says that it has not changed.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from sysid_ros.fleet.locks import locked
from sysid_ros.fleet.stores import StoredRecording, is_url, name_of
from sysid_ros.fleet.table import FleetFit
from sysid_ros.release.atomic import write_atomically

_CONTENT, _STATE = 'content', 'state.json'
# Hexadecimal digits that tell URLs apart.
_DIGITS = 24


@contextmanager
def fetched(fit: FleetFit, cache: Path | None = None) -> Iterator[FleetFit]:
    """A fit whose recordings are all files of this computer while the context lasts.

    Args:
        fit: The fit.
        cache: Folder to keep what was fetched in; without it, it is removed afterwards.

    Raises:
        SysidError: A recording cannot be fetched.
    """
    places = [*fit.recordings, *([] if fit.validation is None else [fit.validation])]
    if not any(is_url(str(place)) for place in places):
        yield fit
        return
    with ExitStack() as stack:
        folder = cache
        if folder is None:
            folder = Path(stack.enter_context(
                tempfile.TemporaryDirectory(prefix='sysid_fetched_')))
        near = {place: _near(place, folder) for place in dict.fromkeys(places)}
        yield replace(
            fit, recordings=tuple(near[place] for place in fit.recordings),
            validation=None if fit.validation is None else near[fit.validation])


def _near(place: Path | str, folder: Path) -> Path:
    """The file or folder of this computer that holds a recording."""
    if not is_url(str(place)):
        return Path(place)
    stored = StoredRecording.of(str(place))
    own = folder / hashlib.sha256(stored.url.encode()).hexdigest()[:_DIGITS]
    with locked(own.with_suffix('.lock')):
        state, note = stored.state(), own / _STATE
        if state and _noted(note) == state:
            return own / _CONTENT / name_of(stored.url)
        shutil.rmtree(own, ignore_errors=True)
        (own / _CONTENT).mkdir(parents=True)
        target = stored.fetch(own / _CONTENT)
        # Last: what was interrupted is fetched again.
        write_atomically(note, json.dumps({'url': stored.url, 'state': state}).encode())
    return target


def _noted(note: Path) -> str:
    """The state in which a recording was fetched; empty where that is not known."""
    try:
        return str(json.loads(note.read_bytes())['state'])
    except (OSError, ValueError, KeyError, TypeError):
        return ''
