"""Messages recorded to a bag while they come in, by a thread that nobody waits for."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path

from sysid_ros.errors import RecordingError
from sysid_ros.recording.bag.mcap_writer import McapWriter

# What a killed process loses of a recording at most, in [s].
_FLUSH_EVERY = 0.5

# Messages that may wait for a slow disk: a minute at 1 kHz.
_WAITING = 60_000


class BagRecorder:
    """Records messages, as they are on the wire, to a rosbag2 recording in MCAP.

    Adding messages never waits for the disk: those that find too many waiting are counted, not
    recorded. What was added half a second ago survives the end of the process, and can be
    salvaged.

    Args:
        folder: Folder of the new bag, which may exist but must not hold one.
        topics: Its topics.
        kinds: Type of the messages of each, ``sensor_msgs/msg/JointState`` where there are none.
        waiting: Messages that may wait to be written.

    Raises:
        RecordingError: The bag cannot be made.
    """

    def __init__(
        self, folder: Path, topics: Sequence[str], kinds: Sequence[str] = (), *,
        waiting: int = _WAITING,
    ) -> None:
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._writer = McapWriter(folder / f'{folder.name}.mcap', topics, kinds)
        except OSError as error:
            raise RecordingError(
                f'the bag cannot be written: {error.strerror or error}', where=str(folder),
                fix='Check the folder, its permissions and the space on the disk',
            ) from error
        self._limit = waiting
        self._blocks: deque[tuple[int, Sequence[int], Sequence[bytes]]] = deque()
        self._waiting = 0
        self._wake = threading.Condition()
        self._ending = False
        self._lost = 0
        self._error = ''
        self._thread = threading.Thread(target=self._run, name='bag', daemon=True)
        self._thread.start()

    @property
    def lost(self) -> int:
        """Messages that could not be recorded."""
        return self._lost

    @property
    def error(self) -> str:
        """Why it stopped to record; empty while it does."""
        return self._error

    @property
    def written(self) -> int:
        """Messages that were written."""
        return sum(self._writer.counts)

    @property
    def finished(self) -> bool:
        """Whether the bag is complete, or given up."""
        return not self._thread.is_alive()

    def add(self, topic: int, payloads: Sequence[bytes], received: Sequence[int]) -> None:
        """Record messages; returns at once.

        Args:
            topic: Number of the topic, from 0 on.
            payloads: Serialized messages; the sequence must not change any more.
            received: Their times of reception in [ns].
        """
        with self._wake:
            if self._ending or self._error or self._waiting + len(payloads) > self._limit:
                self._lost += len(payloads)
                return
            self._blocks.append((topic, received, payloads))
            self._waiting += len(payloads)

    def finish(self) -> None:
        """End the recording; the bag is completed in the background."""
        with self._wake:
            self._ending = True
            self._wake.notify()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until the bag is complete, or given up; whether it is.

        Args:
            seconds: Longest time to wait.
        """
        self._thread.join(seconds)
        return self.finished

    def _run(self) -> None:
        try:
            while self._record():
                pass
            self._writer.close()
        except OSError as error:
            self._error = f'{self.folder}: the recording ended: {error.strerror or error}'
            self._writer.abandon()
            with self._wake:
                self._lost += self._waiting
                self._blocks.clear()

    def _record(self) -> bool:
        """Write what is waiting; whether there may be more."""
        with self._wake:
            # Seldom enough that the thread takes next to no time from the others.
            self._wake.wait_for(lambda: self._ending, timeout=_FLUSH_EVERY)
            blocks, self._blocks = self._blocks, deque()
            ending, self._waiting = self._ending, 0
        for topic, received, payloads in blocks:
            self._writer.write(topic, received, payloads)
            # Lets others run, who have less time than this thread.
            time.sleep(0)
        self._writer.flush()
        return not ending
