"""A bag is judged while it grows, and in the end as ``sysid check`` judges it."""

import sqlite3
import time
from contextlib import closing

import numpy as np
import pytest
import yaml

from support.simulated_arm import DESCRIPTION, SimulatedArm
from sysid_ros.errors import ConfigurationError, RecordingError
from sysid_ros.recording.bag.joint_state_cdr import encode
from sysid_ros.recording.bag.recorder import BagRecorder
from sysid_ros.runs.live_check import GrowingBag, LiveCheck, follow
from sysid_ros.runs.sources import load_source

RATE = 200.0
# Longer than a recorder keeps what it was given, in [s].
FLUSHED = 0.7
START = 1_700_000_000_000_000_000


class Recorded:
    """A bag that grows by some seconds of an arm's motion whenever it is asked for."""

    def __init__(self, folder, *, sign=1.0):
        self.bag = folder / 'bag'
        self.arm, self.sent = SimulatedArm(6), 0
        (folder / 'robot.urdf').write_text(DESCRIPTION)
        self.settings = folder / 'settings.yaml'
        self.settings.write_text(yaml.safe_dump({'robot': {'urdf': 'robot.urdf'}, 'recording': {
            'topic': '/joint_states', 'joints': list(self.arm.joint_names)}}))
        t = np.arange(6000) / RATE
        q, v, _ = self.arm.motion(t)
        noise = 0.01 * np.random.default_rng(0).normal(size=q.shape)
        stamps = START + np.round(1e9 * t).astype(np.int64)
        self.rows = encode(stamps, list(self.arm.joint_names), {
            'position': q, 'velocity': v, 'effort': sign * (self.arm.torque(t) + noise)})
        self.stamps = stamps.tolist()
        self.recorder = None

    def grow(self, seconds):
        """Record some seconds more."""
        if self.recorder is None:
            self.recorder = BagRecorder(self.bag, ['/joint_states'])
        end = self.sent + round(seconds * RATE)
        self.recorder.add(
            0, [row.tobytes() for row in self.rows[self.sent:end]], self.stamps[self.sent:end])
        self.sent = end
        time.sleep(FLUSHED)

    def finish(self):
        """End the bag."""
        self.recorder.finish()
        assert self.recorder.wait(10.0)

    def check(self):
        return LiveCheck(lambda: load_source(self.bag, self.settings))


def stages(*actions):
    """Whether a recording goes on: as long as there is something left to be done to it."""
    pending = list(actions)

    def growing():
        if not pending:
            return False
        pending.pop(0)()
        return True

    return growing


def nothing():
    pass


def test_a_growing_bag_is_judged_again_and_again_until_it_is_enough(tmp_path):
    recorded, said = Recorded(tmp_path), []
    # Each judgement is preceded by a look whether the bag grows, and followed by another one.
    last = follow(recorded.check(), stages(
        nothing, lambda: recorded.grow(1.0), nothing, lambda: recorded.grow(14.0), nothing,
        recorded.finish), said.append, period=0.0)
    assert 'not yet: ' in said[0] and 'there is no bag' in said[0]
    judged = [text for text in said if 'not yet' not in text]
    assert 'good enough to fit' in judged[-1].splitlines()[0]
    assert judged[-1].lstrip().startswith('14.9 s')
    assert any('content' in text.splitlines()[0] for text in said if text is not judged[-1])
    assert last.usable
    assert not any('salvaged' in note for note in last.quality.warnings)


def test_what_is_written_is_judged_where_the_bag_has_no_end(tmp_path):
    recorded = Recorded(tmp_path)
    recorded.grow(12.0)
    assert not (recorded.bag / 'metadata.yaml').exists()
    last = follow(recorded.check(), lambda: False, lambda _: None)
    assert last.usable and last.lights.duration == pytest.approx(12.0, abs=0.3)
    recorded.finish()


def test_efforts_of_the_wrong_sign_are_said_at_once_and_refused_in_the_end(tmp_path):
    recorded, said = Recorded(tmp_path, sign=-1.0), []
    with pytest.raises(RecordingError, match='has the wrong sign'):
        follow(recorded.check(), stages(
            lambda: recorded.grow(12.0), recorded.finish), said.append, period=0.0)
    assert 'not yet: recording.effort of ' in said[0]


def test_control_c_ends_it_with_a_judgement(tmp_path):
    recorded, done = Recorded(tmp_path), []

    def pressed():
        recorded.grow(12.0)
        raise KeyboardInterrupt

    def ended():
        recorded.finish()
        done.append(True)

    last = follow(recorded.check(), pressed, lambda _: None, ended=ended)
    assert last.usable and done == [True]


def test_a_table_does_not_grow(tmp_path):
    recorded = Recorded(tmp_path)
    recorded.settings.write_text(yaml.safe_dump({'robot': {'urdf': 'robot.urdf'}, 'recording': {
        'format': 'npz', 'file': 'a.npz', 'joints': list(recorded.arm.joint_names),
        'time': {'array': 't'}, 'position': {'array': 'q'}, 'effort': {'array': 'tau'}}}))
    check = LiveCheck(lambda: load_source(recorded.settings))
    with pytest.raises(ConfigurationError, match='only a bag can be judged while it grows'):
        follow(check, stages(nothing), lambda _: None)


def test_a_bag_has_ended_with_its_metadata_or_when_nothing_comes_any_more(tmp_path):
    now = [0.0]
    bag = GrowingBag(tmp_path / 'bag', 10.0, clock=lambda: now[0])
    assert bag.growing()
    now[0] = 9.0
    assert bag.growing()
    (tmp_path / 'bag').mkdir()
    (tmp_path / 'bag' / 'a.mcap').write_bytes(b'abc')
    assert bag.growing()
    now[0] = 18.0
    assert bag.growing()
    now[0] = 19.5
    assert not bag.growing()
    (tmp_path / 'bag' / 'a.mcap').write_bytes(b'abcd')
    assert bag.growing()
    (tmp_path / 'bag' / 'metadata.yaml').write_text('')
    assert not bag.growing()


def test_a_bag_of_sqlite_is_judged_by_what_was_committed_to_it(tmp_path):
    recorded = Recorded(tmp_path)
    recorded.bag.mkdir()
    # As rosbag2 writes it, with its default journal.
    with closing(sqlite3.connect(recorded.bag / 'bag_0.db3')) as database:
        database.executescript(
            'PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF;'
            'CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT NOT NULL, type TEXT NOT NULL, '
            'serialization_format TEXT NOT NULL, offered_qos_profiles TEXT NOT NULL);'
            'CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER NOT NULL, '
            'timestamp INTEGER NOT NULL, data BLOB NOT NULL);'
            "INSERT INTO topics VALUES(1, '/joint_states', 'sensor_msgs/msg/JointState', 'cdr', "
            "'');")
        for first, last in ((0, 200), (200, 3000)):
            database.executemany(
                'INSERT INTO messages(topic_id, timestamp, data) VALUES(1, ?, ?)', [
                    (recorded.stamps[k], recorded.rows[k].tobytes()) for k in range(first, last)])
            database.commit()
            checked = recorded.check().so_far()
            assert checked.lights.duration == pytest.approx(last / RATE, abs=0.3)
    assert checked.usable
