"""What a folder holds that a page can show: recordings, descriptions, plans, motions and runs.

A name is the path of the entry in the folder, with ``/`` between its parts. Names come back from
browsers: one becomes a path only where the folder lists it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sysid_ros.errors import ConfigurationError, SysidError
from sysid_ros.runs.run_files import MOTION, TRAJECTORY
from sysid_ros.settings import MAX_YAML_BYTES, load_yaml

#: Folder of what the page itself notes.
NOTES = '.studio'
# Deepest entries that are listed, and how many of all kinds are looked at.
_DEPTH, _MOST = 3, 5000
_SETTINGS, _ESTIMATE = 'settings.yaml', 'estimate.json'
_BAGS, _TABLES = ('.mcap', '.db3'), ('.csv', '.npz', '.parquet')
_YAML = ('.yaml', '.yml')
# First bytes of a description in which its root element is looked for.
_HEAD = 4096
_ROOT = re.compile(rb'<(robot|mujoco)[\s>]')
_RECORDING = re.compile(r'^recording\s*:', re.MULTILINE)
_ROBOT, _MOTION = (re.compile(rf'^{key}\s*:', re.MULTILINE) for key in ('robot', 'motion'))

#: What kind of recording an entry is: a settings file, a folder with settings, a bag, or a table.
RecordingKind = Literal['settings', 'folder', 'bag', 'table']


@dataclass(frozen=True)
class RecordingEntry:
    """A recording in the folder.

    Attributes:
        name: Its name.
        kind: What it is.
    """

    name: str
    kind: RecordingKind

    @property
    def described(self) -> bool:
        """Whether settings say what it is of, so that it can be fitted."""
        return self.kind in ('settings', 'folder')


@dataclass(frozen=True)
class Contents:
    """What a folder holds.

    Attributes:
        recordings: Recordings, those with settings first; a table or bag that settings name is not
            listed beside them.
        descriptions: Names of robot descriptions.
        runs: Names of folders of fits, the newest first.
        srdfs: Names of files that say which links of a robot may touch.
        plans: Names of settings files of motions.
        motions: Names of folders of a motion that was designed, the newest first.
        more: Whether there is more than is looked at.
    """

    recordings: tuple[RecordingEntry, ...] = ()
    descriptions: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    srdfs: tuple[str, ...] = ()
    plans: tuple[str, ...] = ()
    motions: tuple[str, ...] = ()
    more: bool = False

    def recording(self, name: str) -> RecordingEntry | None:
        """The recording of a name; None where there is none."""
        return next((entry for entry in self.recordings if entry.name == name), None)

    @property
    def described(self) -> tuple[str, ...]:
        """Names of recordings that can be fitted."""
        return tuple(entry.name for entry in self.recordings if entry.described)


@dataclass(frozen=True)
class StudioFolder:
    """The folder.

    Attributes:
        root: Its path.
    """

    root: Path

    @classmethod
    def open(cls, root: Path) -> StudioFolder:
        """A folder that exists and can be written.

        Raises:
            ConfigurationError: It is none.
        """
        path = root.expanduser().resolve()
        if not path.is_dir():
            raise ConfigurationError(
                'there is no such folder', where=str(root),
                fix=f'Make it, mkdir {root}, and put a recording and a robot description into it')
        if not os.access(path, os.W_OK):
            raise ConfigurationError(
                'the folder cannot be written, and fits belong into it', where=str(root),
                fix=f'Allow it: chmod u+w {root}')
        return cls(path)

    @property
    def notes(self) -> Path:
        """Folder of what the page notes, which is made where it is not there."""
        folder = self.root / NOTES
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder

    def path(self, name: str) -> Path:
        """The path of an entry.

        Args:
            name: Its name.

        Raises:
            ConfigurationError: The name leads out of the folder, or to what the page notes.
        """
        parts = name.split('/')
        inside = '\0' not in name and not any(part in ('', '.', '..') for part in parts)
        try:
            path = (self.root / name).resolve() if inside else self.root
        except (OSError, RuntimeError):  # a loop of links is a RuntimeError before 3.13
            path = self.root
        if self.root not in path.parents or parts[0] == NOTES:
            raise ConfigurationError(
                'is no name of an entry in the folder', where=repr(name[:80]),
                allowed='names that the page lists', fix='Choose one of the list')
        return path

    def contents(self) -> Contents:
        """What the folder holds now."""
        listing = _Listing(self.root)
        listing.read(self.root, 0)
        named = {path for entry in listing.recordings if entry.kind == 'settings'
                 for path in _named_files(self.root / entry.name)}
        recordings = [entry for entry in listing.recordings
                      if entry.described or (self.root / entry.name).resolve() not in named]
        recordings.sort(key=lambda entry: (not entry.described, entry.name))
        return Contents(
            tuple(recordings), tuple(sorted(listing.descriptions)),
            self._newest_first(listing.runs, _ESTIMATE), tuple(sorted(listing.srdfs)),
            tuple(sorted(listing.plans)), self._newest_first(listing.motions, MOTION),
            listing.more)

    def _newest_first(self, folders: list[str], file: str) -> tuple[str, ...]:
        """Folders by the age of a file in each."""
        def age(folder: str) -> tuple[float, str]:
            try:
                return -(self.root / folder / file).stat().st_mtime, folder
            except OSError:
                return 0.0, folder

        return tuple(sorted(folders, key=age))


class _Listing:
    """Entries of a folder as they are found.

    Args:
        root: The folder.
    """

    def __init__(self, root: Path) -> None:
        self._root, self._count = root, 0
        self.recordings: list[RecordingEntry] = []
        self.descriptions: list[str] = []
        self.runs: list[str] = []
        self.srdfs: list[str] = []
        self.plans: list[str] = []
        self.motions: list[str] = []

    @property
    def more(self) -> bool:
        """Whether there was more than is looked at."""
        return self._count > _MOST

    def read(self, folder: Path, depth: int) -> None:
        """Look through a folder, and through those in it that are no entries themselves."""
        for path in _visible(folder):
            self._count += 1
            if self.more:
                return
            name = path.relative_to(self._root).as_posix()
            if path.is_dir():
                self._read_folder(path, name, depth)
            else:
                self._read_file(path, name)

    def _read_folder(self, path: Path, name: str, depth: int) -> None:
        if (path / _ESTIMATE).is_file():
            self.runs.append(name)
        elif all((path / file).is_file() for file in (MOTION, TRAJECTORY)):
            self.motions.append(name)
        elif _has_sections(path / _SETTINGS, _RECORDING) and _is_bag(path):
            self.recordings.append(RecordingEntry(name, 'folder'))
        elif _is_bag(path):
            self.recordings.append(RecordingEntry(name, 'bag'))
        elif depth + 1 < _DEPTH:
            self.read(path, depth + 1)

    def _read_file(self, path: Path, name: str) -> None:
        suffix = path.suffix.lower()
        if suffix in _YAML and _has_sections(path, _RECORDING):
            self.recordings.append(RecordingEntry(name, 'settings'))
        elif suffix in _YAML and _has_sections(path, _ROBOT, _MOTION):
            self.plans.append(name)
        elif suffix in _BAGS:
            self.recordings.append(RecordingEntry(name, 'bag'))
        elif suffix in _TABLES:
            self.recordings.append(RecordingEntry(name, 'table'))
        elif suffix == '.srdf':
            self.srdfs.append(name)
        elif suffix in ('.urdf', '.xacro') or (suffix == '.xml' and _is_description(path)):
            self.descriptions.append(name)


def _visible(folder: Path) -> Iterator[Path]:
    """Entries of a folder by name, without hidden ones and links that lead out of it."""
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries if not entry.name.startswith('.'))
    except OSError:
        return
    for name in names:
        path = folder / name
        # A name that cannot be printed, as one that is not UTF-8, cannot be shown.
        if name.isprintable() and not _leads_out(path, folder):
            yield path


def _leads_out(path: Path, folder: Path) -> bool:
    if not path.is_symlink():
        return False
    try:
        return folder.resolve() not in path.resolve().parents
    except (OSError, RuntimeError):
        return True


def _is_bag(folder: Path) -> bool:
    try:
        return any(path.suffix.lower() in _BAGS for path in folder.iterdir())
    except OSError:
        return False


def _has_sections(path: Path, *sections: re.Pattern[str]) -> bool:
    """Whether a YAML file has sections: a recording, as settings of a fit, or robot and motion."""
    try:
        if path.stat().st_size > MAX_YAML_BYTES:
            return False
        text = path.read_text(encoding='utf-8')
        return all(section.search(text) is not None for section in sections)
    except (OSError, UnicodeDecodeError):
        return False


def _is_description(path: Path) -> bool:
    """Whether an XML file is a URDF or MJCF by its root."""
    try:
        with path.open('rb') as file:
            return _ROOT.search(file.read(_HEAD)) is not None
    except OSError:
        return False


def _named_files(settings: Path) -> Iterator[Path]:
    """Files that a settings file names as its recording; none where it cannot be read."""
    try:
        data = load_yaml(settings)
    except SysidError:
        return
    section, folder = data.get('recording'), data.get('folder', '.')
    file = section.get('file') if isinstance(section, dict) else None
    if isinstance(file, str) and isinstance(folder, str) and '\0' not in file + folder:
        yield (settings.parent / folder / file).resolve()
