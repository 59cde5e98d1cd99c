"""A recording under way: the bag, its settings, and what there is to say of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.recording.bag.joint_state_cdr import JOINT_STATE
from sysid_ros.recording.bag.recorder import BagRecorder
from sysid_ros.recording.live.joint_states import LiveJointStates
from sysid_ros.runs.sources import write_recording_settings


@dataclass(frozen=True)
class Tally:
    """What came in for a recording.

    Attributes:
        samples: Usable joint states.
        dropped: Messages that were dropped, or not written.
        duration: Time from the first to the last sample in [s].
        counts: Faults by name.
    """

    samples: int = 0
    dropped: int = 0
    duration: float = 0.0
    counts: Counter[str] | None = None


class LiveRecording:
    """Records what comes in, from its making until :meth:`stop`.

    Args:
        name: Its id.
        folder: Its folder, which must not exist.
        setup: Robot, processing and fit, written beside the bag.
        joints: Joints to be fitted.
        topics: Topic of the joint states, and that of the efforts where there is one.
        live: What comes in on them.
        beside: Further topics that are recorded, and the type of each.
        commands: That of them which has the commands of actuators; empty where there is none.

    Attributes:
        name: Its id.
        folder: Its folder.

    Raises:
        ConfigurationError: There is such a recording already.
        RecordingError: The bag cannot be written.
        ReleaseError: The settings cannot be written.
    """

    def __init__(
        self, name: str, folder: Path, setup: FitSetup, *,
        joints: Sequence[str], topics: Sequence[str], live: Sequence[LiveJointStates],
        beside: Sequence[tuple[str, str]] = (), commands: str = '',
    ) -> None:
        if folder.exists():
            raise ConfigurationError(
                'there is such a recording already', where=name, fix='Choose another id')
        self.name, self.folder = name, folder
        self._live = tuple(live)
        kinds = [*(JOINT_STATE for _ in topics), *(kind for _, kind in beside)]
        self._recorder = BagRecorder(
            folder, [*topics, *(topic for topic, _ in beside)], kinds)
        section: dict[str, Any] = {'joints': list(joints), 'topic': topics[0]}
        if len(topics) > 1:
            section['effort_topic'] = topics[1]
        if commands:
            described = setup.settings.recording.command
            said = {} if described is None else described.model_dump(exclude_unset=True)
            section['command'] = said | {'topic': commands}
        try:
            write_recording_settings(folder, setup, section)
        except BaseException:
            self._recorder.finish()
            raise
        self._samples = [own.samples for own in self._live]
        self._dropped = [own.dropped for own in self._live]
        self._counts = [own.counts.copy() for own in self._live]
        self._resets = self._live[0].clock_resets
        latest = self._live[0].latest
        self._first = None if latest is None else latest.stamp
        self._ended: Tally | None = None

    @property
    def running(self) -> bool:
        """Whether it takes messages."""
        return self._ended is None

    @property
    def finished(self) -> bool:
        """Whether its bag is complete, or given up."""
        return self._recorder.finished

    def wait(self, seconds: float) -> bool:
        """Wait until its bag is complete, or given up; whether it is.

        Args:
            seconds: Longest time to wait.
        """
        return self._recorder.wait(seconds)

    @property
    def error(self) -> str:
        """Why it ended by itself; empty when it did not."""
        return self._recorder.error

    @property
    def tally(self) -> Tally:
        """What came in so far, or until it was stopped."""
        if self._ended is not None:
            return self._ended
        counts: Counter[str] = Counter()
        for live, before in zip(self._live, self._counts, strict=True):
            counts += live.counts - before
        if self._live[0].clock_resets > self._resets:
            counts['clock resets'] = self._live[0].clock_resets - self._resets
        if self._recorder.lost:
            counts['messages that could not be written'] = self._recorder.lost
        latest = self._live[0].latest
        dropped = sum(
            live.dropped - before
            for live, before in zip(self._live, self._dropped, strict=True))
        first = self._live[0].first_stamp if self._first is None else self._first
        duration = 0.0 if latest is None or first is None else (latest.stamp - first) * 1e-9
        return Tally(
            self._live[0].samples - self._samples[0], dropped + self._recorder.lost,
            max(duration, 0.0), counts)

    def add(self, topic: int, payloads: Sequence[bytes], received: Sequence[int]) -> None:
        """Record messages; returns at once.

        Args:
            topic: Number of the topic; those of joint states come first.
            payloads: Serialized messages.
            received: Their times of reception in [ns].
        """
        if self.running:
            self._recorder.add(topic, payloads, received)

    def stop(self) -> Tally:
        """End the recording; returns at once, and the bag is completed in the background."""
        if self._ended is None:
            self._ended = self.tally
            self._recorder.finish()
        return self._ended
