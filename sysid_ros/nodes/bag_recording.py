"""Record topics of joint states to a bag with its settings, until a signal comes.

Started as a process by ``sysid check --live --topic``, with what to record as JSON, then arguments
of ROS. Nothing is published.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState

from sysid_ros.errors import RecordingError, SysidError
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.nodes.context import end_ros, start_ros
from sysid_ros.recording.bag.joint_state_cdr import FIELDS
from sysid_ros.recording.live.joint_states import LiveJointStates, LiveSettings
from sysid_ros.recording.live.readiness import require_recordable
from sysid_ros.runs.live_recording import LiveRecording
from sysid_ros.runs.sources import load_without_recording

# Exit codes, as of every verb.
_DONE, _BAD = 0, 2
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# What may wait while the process has no time, and time between two polls in [s].
_DEPTH, _POLL = 2000, 0.05
# Longest wait for joint states that can be recorded, and for the bag to be complete, in [s].
_PATIENCE, _COMPLETION = 15.0, 30.0


class TopicRecorder:
    """Joint states of one or two topics on their way to a bag.

    Args:
        node: Node that subscribes.
        setup: Robot, processing and fit.
        topics: Topic of the joint states, and that of the efforts where there is one.
    """

    def __init__(self, node: Node, setup: FitSetup, topics: Sequence[str]) -> None:
        section, robot = setup.settings.recording, setup.model.robot
        self._setup = setup
        self._joints = section.joints or robot.limb_joints
        settings = LiveSettings(
            rename=section.rename, stamps=section.stamps, clock_warning=section.clock_warning,
            clock_limit=section.clock_limit, reset_tolerance=section.reset_tolerance)
        quantities = (FIELDS,) if len(topics) == 1 else (FIELDS[:2], FIELDS[2:])
        self._live = [
            LiveJointStates(self._joints, settings=settings, quantities=own) for own in quantities]
        self._taken: list[list[tuple[bytes, int]]] = [[] for _ in topics]
        self._topics = [
            node.create_subscription(
                JointState, topic, self._tap(number), QoSProfile(
                    depth=_DEPTH, reliability=ReliabilityPolicy.BEST_EFFORT), raw=True).topic_name
            for number, topic in enumerate(topics)]
        self._recording: LiveRecording | None = None

    def _tap(self, number: int) -> Any:
        return lambda payload: self._taken[number].append((payload, time.time_ns()))

    def poll(self) -> None:
        """Decode and record what came since the last call."""
        for number, live in enumerate(self._live):
            taken, self._taken[number] = self._taken[number], []
            payloads = [payload for payload, _ in taken]
            received = [stamp for _, stamp in taken]
            if self._recording is not None:
                self._recording.add(number, payloads, received)
            live.receive(payloads, received, [time.monotonic()] * len(payloads))

    def problem(self) -> SysidError | None:
        """Why what comes in could not be fitted; None where it could."""
        try:
            for live, topic in zip(self._live, self._topics, strict=True):
                own = live is self._live[0]
                require_recordable(
                    live, topic, time.monotonic(),
                    processing=self._setup.settings.processing if own else None,
                    effort=not own or len(self._live) == 1)
        except SysidError as error:
            return error
        return None

    def start(self, folder: Path) -> None:
        """Begin the bag.

        Raises:
            SysidError: It is there already, or cannot be written.
        """
        self._recording = LiveRecording(
            folder.name, folder, self._setup, joints=self._joints, topics=self._topics,
            live=self._live)

    def error(self) -> str:
        """Why the recording ended by itself; empty when it did not."""
        return '' if self._recording is None else self._recording.error

    def finish(self) -> None:
        """Complete the bag.

        Raises:
            RecordingError: It takes too long.
        """
        if self._recording is not None:
            self._recording.stop()
            if not self._recording.wait(_COMPLETION):
                raise RecordingError(
                    'the bag is not complete', where=str(self._recording.folder),
                    found=f'nothing for {_COMPLETION:g} s', fix='Look at the disk')


def record(recorder: TopicRecorder, folder: Path, spin: Any, stopped: Any) -> None:
    """Wait for joint states that can be recorded, and record them until it is stopped.

    Args:
        recorder: What records.
        folder: Folder of the new bag.
        spin: Lets callbacks run for some seconds.
        stopped: Whether a signal has come.

    Raises:
        SysidError: Nothing usable comes in, or the bag cannot be written.
    """
    deadline = time.monotonic() + _PATIENCE
    while (problem := recorder.problem()) is not None:
        if stopped():
            return
        if time.monotonic() > deadline:
            raise problem
        spin(_POLL)
        recorder.poll()
    recorder.start(folder)
    try:
        while not (stopped() or recorder.error()):
            spin(_POLL)
            recorder.poll()
    finally:
        recorder.finish()
    if recorder.error():
        raise RecordingError(recorder.error())


def main(arguments: Sequence[str] | None = None) -> int:
    """Record; returns the exit code.

    Args:
        arguments: Folder, settings, topics and parent process as JSON, then arguments of ROS; by
            default the process's.
    """
    given, *ros = sys.argv[1:] if arguments is None else list(arguments)
    wanted = json.loads(given)
    signals: list[int] = []
    for number in _SIGNALS:
        signal.signal(number, lambda received, _: signals.append(received))
    start_ros(ros)
    node = Node('_sysid_check')
    executor = SingleThreadedExecutor()
    executor.add_node(node)

    def spin(seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0.0:
            executor.spin_once(timeout_sec=left)

    try:
        setup = FitSetup.of(load_without_recording(Path(wanted['settings'])))
        # Whoever judges it may be killed.
        record(TopicRecorder(node, setup, wanted['topics']), Path(wanted['folder']), spin,
               lambda: bool(signals) or os.getppid() != wanted['parent'])
    except SysidError as error:
        print(f'sysid check: {error}', file=sys.stderr)
        return _BAD
    finally:
        executor.shutdown()
        end_ros([node])
    return _DONE


if __name__ == '__main__':
    sys.exit(main())
