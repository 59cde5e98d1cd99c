"""A recording is judged again and again while it is made, until it ends."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from sysid_ros.errors import ConfigurationError, RecordingError, SysidError
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.estimation.identification import Identification
from sysid_ros.recording.bag.rosbag2_storage import METADATA
from sysid_ros.runs.recording_check import RecordingCheck, check_recording

#: Time between two judgements in [s].
PERIOD = 2.0
# Time in [s] within which the end of a recording is seen.
_LOOK = 0.1


@dataclass
class GrowingBag:
    """A bag that somebody records.

    Attributes:
        path: Its folder, or its only file; need not be there yet.
        patience: It counts as ended when nothing was written for so long, in [s].
        clock: A steady clock in [s].
    """

    path: Path
    patience: float
    clock: Callable[[], float] = time.monotonic
    _size: int = field(default=-1, init=False)
    _changed: float = field(default=float('nan'), init=False)

    def growing(self) -> bool:
        """Whether it may still grow: it has no end yet, and was written to not long ago."""
        size, now = self._bytes(), self.clock()
        if size != self._size:
            self._size, self._changed = size, now
        return not (self.path / METADATA).is_file() and now - self._changed < self.patience

    def _bytes(self) -> int:
        """Size of all its files; of one that is being renamed or removed, none."""
        files = self.path.rglob('*') if self.path.is_dir() else (self.path,)
        total = 0
        for file in files:
            try:
                total += file.stat().st_size
            except OSError:
                continue
        return total


class LiveCheck:
    """The judgement of a bag that is being recorded.

    What was written so far is read as what is left of a damaged bag: it has no end yet.

    Args:
        load: Settings of the recording; raises while there is none.
    """

    def __init__(self, load: Callable[[], Identification]) -> None:
        self._load = load
        self._setup: FitSetup | None = None

    def so_far(self) -> RecordingCheck:
        """Judge what was written so far.

        Raises:
            SysidError: Nothing can be said yet, or what there is is wrong.
        """
        setup = self._loaded()
        identification = setup.identification
        recording = setup.settings.recording.model_copy(update={'salvage': True})
        settings = setup.settings.model_copy(update={'recording': recording})
        return check_recording(
            replace(setup, identification=replace(identification, settings=settings)))

    def ended(self) -> RecordingCheck:
        """Judge all of it, as ``sysid check`` does, or what was written if it has no end.

        Raises:
            SysidError: It cannot be read, or is wrong.
        """
        try:
            return check_recording(self._loaded())
        except RecordingError:
            # Whoever records it may not be done, and may have been killed.
            return self.so_far()

    def _loaded(self) -> FitSetup:
        if self._setup is None:
            setup = FitSetup.of(self._load())
            _require_bag(setup.identification)
            self._setup = setup
        return self._setup


def _require_bag(identification: Identification) -> None:
    """Refuse what does not grow.

    Raises:
        ConfigurationError: The recording is no bag.
    """
    section = identification.settings.recording
    if section.format != 'rosbag':
        raise ConfigurationError(
            'only a bag can be judged while it grows', where='--live', found=section.format,
            allowed='the folder of a bag, with --settings', fix='Leave --live out')


def follow(
    check: LiveCheck, growing: Callable[[], bool], say: Callable[[str], None], *,
    ended: Callable[[], None] = lambda: None, period: float = PERIOD,
    wait: Callable[[float], None] = time.sleep,
) -> RecordingCheck:
    """Judge a recording until it ends, or Ctrl-C is pressed; then all of it.

    Args:
        check: The judgement.
        growing: Whether it goes on.
        say: Takes what there is to say, after each judgement.
        ended: Called when it has ended, before it is judged for the last time.
        period: Time between two judgements in [s].
        wait: Waits for so many seconds.

    Returns:
        The last judgement.

    Raises:
        SysidError: The recording cannot be read, or is wrong.
    """
    try:
        while growing():
            begun = time.monotonic()
            try:
                say(check.so_far().short_text())
            except ConfigurationError:
                raise
            except SysidError as error:
                say(f'{"":11}not yet: {error}')
            while growing() and (left := begun + period - time.monotonic()) > 0.0:
                wait(min(left, _LOOK))
    except KeyboardInterrupt:
        say('')
    ended()
    return check.ended()
