"""What the data folder of a robot's nodes holds, by the ids that nodes take."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sysid_ros.data_folder import DataFolder, require_id
from sysid_ros.errors import SysidError
from sysid_ros.runs.report_files import PAGE
from sysid_ros.runs.run_files import read_verdict

_ESTIMATE = 'estimate.json'
# Entries of a kind that are listed, the newest of them, and least time between two looks in [s].
_MOST, _LOOK = 200, 1.0


@dataclass(frozen=True)
class Listing:
    """Ids of what there is, the newest first.

    Attributes:
        motions: Motions, by name.
        recordings: Recordings.
        estimates: Estimates.
        strange: Entries whose names are no ids, so that no node takes them.
    """

    motions: tuple[str, ...] = ()
    recordings: tuple[str, ...] = ()
    estimates: tuple[str, ...] = ()
    strange: int = 0


class DataListing:
    """The data folder, looked at now and then.

    Args:
        data: The folder.

    Attributes:
        data: The folder.
    """

    def __init__(self, data: DataFolder) -> None:
        self.data = data
        self._listing, self._looked = Listing(), -_LOOK
        self._verdicts: dict[str, tuple[int, dict[str, Any] | SysidError]] = {}

    def listing(self) -> Listing:
        """What there is, as it was within the last second."""
        now = time.monotonic()
        if now - self._looked >= _LOOK:
            self._looked = now
            motions, strange = self._ids('motions', '.yaml')
            recordings, others = self._ids('recordings', '')
            estimates, more = self._ids('estimates', '')
            self._listing = Listing(
                tuple(sorted(motions)), recordings, tuple(
                    name for name in estimates
                    if (self.data.root / 'estimates' / name / _ESTIMATE).is_file()),
                strange + others + more)
        return self._listing

    def expire(self) -> None:
        """Read the folder anew the next time that somebody asks."""
        self._looked = -_LOOK

    def verdict(self, estimate: str) -> Mapping[str, Any]:
        """The verdict of an estimate.

        Args:
            estimate: Its id.

        Raises:
            SysidError: There is no such estimate, or its verdict cannot be read.
        """
        folder = self.data.estimate(estimate)
        stamp = _stamp(folder / 'verdict.json')
        if self._verdicts.get(estimate, (-1,))[0] != stamp:
            try:
                self._verdicts[estimate] = (stamp, read_verdict(folder))
            except SysidError as error:
                self._verdicts[estimate] = (stamp, error)
        found = self._verdicts[estimate][1]
        if isinstance(found, SysidError):
            raise found
        return found

    def report(self, estimate: str) -> Path:
        """The page of an estimate's report, whether or not it is there.

        Raises:
            ConfigurationError: It is no id.
        """
        return self.data.estimate(estimate) / PAGE

    def report_stamp(self, estimate: str) -> int:
        """When that page was written in [ns] since 1970; 0 where there is none."""
        return _stamp(self.report(estimate))

    def _ids(self, kind: str, suffix: str) -> tuple[tuple[str, ...], int]:
        """Ids of a kind, the newest first, and how many entries have other names."""
        found, strange = [], 0
        try:
            entries = list((self.data.root / kind).iterdir())
        except OSError:
            return (), 0
        for path in entries:
            if path.name.startswith('.') or not path.name.endswith(suffix) or (
                    path.is_file() != bool(suffix)):
                continue
            try:
                name = require_id(path.name.removesuffix(suffix))
            except SysidError:
                strange += 1
                continue
            found.append((-_stamp(path), name))
        return tuple(name for _, name in sorted(found)[:_MOST]), strange


def _stamp(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
