"""Finished recordings and estimates of a robot, copied into a store by a URL."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from sysid_ros.errors import ConfigurationError
from sysid_ros.fleet.locks import locked
from sysid_ros.fleet.stores import StoredRecording, is_url
from sysid_ros.release.atomic import write_atomically

#: What is shipped: folders of a data folder, and the file that each of theirs is complete with.
COMPLETE = {'recordings': 'metadata.yaml', 'estimates': 'verdict.json'}
_LEDGER, _LOCK = 'shipped.json', 'shipped.lock'


@dataclass(frozen=True)
class Shipment:
    """What was copied.

    Attributes:
        sent: Recordings and estimates that were copied now, as ``recordings/monday``.
        there: How many were in the store already, unchanged.
        unfinished: Those that are not complete, and were left for another time.
    """

    sent: tuple[str, ...]
    there: int
    unfinished: tuple[str, ...]

    def __str__(self) -> str:
        lines = [f'{len(self.sent)} sent, {self.there} there already']
        if self.unfinished:
            lines.append(f'not complete, and left: {", ".join(self.unfinished)}')
        return '\n'.join(lines)


def ship(data: Path, url: str, show: Callable[[str], None] = lambda _: None) -> Shipment:
    """Copy what is finished and not in the store yet, or has changed since.

    What was interrupted is copied again. The file that says that a folder is complete comes last.

    Args:
        data: Data folder of a robot's nodes, with ``recordings/`` and ``estimates/``.
        url: Where in the store, as ``s3://lab/arm_03``.
        show: Takes the name of what is copied next.

    Raises:
        ConfigurationError: There is no such folder, or the URL is none.
        RecordingError: The store does not take it.
        ReleaseError: The data folder cannot be written, where it is noted what was copied.
    """
    if not is_url(url):
        raise ConfigurationError(
            'the store has no URL', found=repr(url), allowed='as s3://lab/arm_03',
            fix=f'Say file://{Path(url).absolute()} for a folder')
    if not data.is_dir():
        raise ConfigurationError(
            'there is no such data folder', where=str(data),
            allowed='the folder of the nodes, with recordings/ and estimates/',
            fix='Say the data_folder of the nodes: ~/sysid_data')
    with locked(data / _LOCK):
        return _shipped(data, url.rstrip('/'), show)


def _shipped(data: Path, url: str, show: Callable[[str], None]) -> Shipment:
    ledger = _ledger(data)
    known = ledger.setdefault(url, {})
    sent, unfinished, there = list[str](), list[str](), 0
    for name, folder, last in _folders(data):
        if not (folder / last).is_file():
            unfinished.append(name)
            continue
        state = _state(folder)
        if known.get(name) == state:
            there += 1
            continue
        show(name)
        StoredRecording.of(f'{url}/{name}').send(folder, last)
        known[name] = state
        write_atomically(data / _LEDGER, json.dumps(ledger, indent=1).encode())
        sent.append(name)
    return Shipment(tuple(sent), there, tuple(unfinished))


def _folders(data: Path) -> Iterator[tuple[str, Path, str]]:
    """Name, folder, and the file it is complete with, of all that is there."""
    for kind, last in COMPLETE.items():
        if (data / kind).is_dir():
            for folder in sorted((data / kind).iterdir()):
                if folder.is_dir() and not folder.name.startswith('.'):
                    yield f'{kind}/{folder.name}', folder, last


def _state(folder: Path) -> str:
    """What changes with a folder: names, sizes and times of its files."""
    files = sorted(path for path in folder.rglob('*') if path.is_file())
    told = [(str(path.relative_to(folder)), path.stat().st_size, path.stat().st_mtime_ns)
            for path in files]
    return hashlib.sha256(repr(told).encode()).hexdigest()


def _ledger(data: Path) -> dict[str, dict[str, str]]:
    """What was copied where, by URL; nothing where that cannot be read: all is copied again."""
    try:
        ledger = json.loads((data / _LEDGER).read_bytes())
        return {str(url): dict(names) for url, names in ledger.items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}
