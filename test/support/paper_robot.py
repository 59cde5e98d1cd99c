"""A robot on paper: what a panel asks of its nodes, answered as told, without ROS."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

from sysid_ros.data_folder import DataFolder
from sysid_ros.errors import SysidError
from sysid_ros.recording.bag.joint_state_cdr import encode
from sysid_ros.studio.live.activity import Outcome
from sysid_ros.studio.live.data_listing import DataListing
from sysid_ros.studio.live.hold import HoldToRun
from sysid_ros.studio.live.panel import Panel
from sysid_ros.studio.live.state import NEEDED, LiveState
from sysid_ros.studio.live.views import (
    MotionPhase,
    MotionStatus,
    NodeSign,
    NodeState,
    RecordingStatus,
    RevisionEntry,
    Revisions,
)

# Longest motion on paper in [s]: a test that forgets it ends all the same.
LONGEST = 30.0


class PaperRobot:
    """Remembers what it was asked for, and says what nodes would say.

    Attributes:
        asked: What it was asked for, in order.
        refuses: Errors by the name of what is refused.
        state: What pages show.
    """

    def __init__(self, state):
        self.asked, self.refuses, self.state = [], {}, state
        self.moves, self.stopped = threading.Event(), threading.Event()
        self.ends = threading.Event()
        self.listen()

    def listen(self):
        """All nodes are heard now."""
        for name in NEEDED:
            self.state.hear(name, NodeSign(NodeState.ACTIVE, '', time.monotonic()))
        self.state.motion = replace(self.state.motion, heard=time.monotonic())

    def tell(self, phase, **fields):
        """The excitation says what it does."""
        self.state.motion = MotionStatus(phase, heard=time.monotonic(), **fields)

    def _ask(self, name, *details):
        self.asked.append((name, *details))
        if name in self.refuses:
            raise SysidError(self.refuses[name], fix='Mend it')

    def request_stop(self):
        self.asked.append(('stop',))
        self.stopped.set()
        if self.state.motion.phase is MotionPhase.ARMED:
            self.tell(MotionPhase.IDLE)
        return 'A stop was asked for.'

    def arm(self, *, allowed):
        self._ask('arm', allowed)
        self.tell(MotionPhase.ARMED if allowed else MotionPhase.IDLE)
        return Outcome(True, 'One motion may start.')

    def reset_monitor(self):
        self._ask('reset')
        return Outcome(True, 'Reset.')

    def play(self, motion, speed, tell):
        self._ask('play', motion, speed)
        self.stopped.clear()
        self.tell(MotionPhase.PLAYING, motion=motion)
        tell('playing', 0.5)
        self.moves.set()
        end = time.monotonic() + LONGEST
        while not (self.stopped.is_set() or self.ends.is_set() or time.monotonic() > end):
            time.sleep(0.005)
        self.moves.clear()
        if self.stopped.is_set():
            self.tell(MotionPhase.HOLDING, motion=motion, reason='A stop was asked for.')
            return Outcome(False, 'Not played to its end (stopped).')
        self.tell(MotionPhase.DONE, motion=motion)
        return Outcome(True, 'Played.', seconds=12.0)

    def begin_recording(self):
        self._ask('record')
        self.state.recording = RecordingStatus(recording=True, name='r1', heard=time.monotonic())
        return Outcome(True, 'Recording.', 'r1')

    def end_recording(self):
        self._ask('recorded')
        self.state.recording = RecordingStatus(name='r1', heard=time.monotonic())
        return Outcome(True, '3000 joint states.', 'r1', 12.0)

    def identify(self, recordings, validation, tell):
        self._ask('identify', recordings, validation)
        tell('Fitting', 0.5)
        return Outcome(True, 'Estimate e1.', 'e1')

    def cancel_fit(self):
        self._ask('cancel')

    def commit(self, estimate, shadow, comment):
        self._ask('commit', estimate, shadow, comment)
        self.state.revisions = Revisions((
            RevisionEntry('r000002', 'commit', estimate, current=True),
            RevisionEntry('r000001', 'as described')), ('controller',))
        return Outcome(True, 'Committed.', 'r000002')

    def roll_back(self, revision, comment):
        self._ask('roll back', revision)
        return Outcome(True, 'Rolled back.', 'r000003')


def paper_panel(folder, patience=0.4):
    """A panel of a robot on paper, and the robot.

    Args:
        folder: Its data folder.
        patience: Longest silence of whoever holds a motion in [s].
    """
    for kind in ('motions', 'recordings', 'estimates'):
        (folder / kind).mkdir(parents=True, exist_ok=True)
    state = LiveState()
    robot = PaperRobot(state)
    return Panel(
        state, robot, DataListing(DataFolder(folder)), HoldToRun(patience), 'arm'), robot


def joint_states(stamps, joints=('shoulder', 'elbow'), value=0.5):
    """Serialized joint states.

    Args:
        stamps: Their stamps in [ns].
        joints: Names of the joints.
        value: Every position; velocities are twice, efforts three times as large.
    """
    import numpy as np

    rows = np.full((len(stamps), len(joints)), value)
    return [row.tobytes() for row in encode(np.array(stamps), joints, {
        'position': rows, 'velocity': 2.0 * rows, 'effort': 3.0 * rows})]
