"""Bags that are written while messages come in."""

import errno
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import yaml
from rosbags.highlevel import AnyReader

from support import TESTS
from support.joint_state_stream import JOINTS, START, messages
from sysid_ros.errors import RecordingError
from sysid_ros.recording.bag import mcap
from sysid_ros.recording.bag.recorder import BagRecorder
from sysid_ros.recording.description import RecordingSettings
from sysid_ros.recording.load import load_recording
from sysid_ros.settings import parse_settings


def load(folder, **changes):
    section = {'format': 'rosbag', 'file': folder.name, 'joints': list(JOINTS)} | changes
    return load_recording(parse_settings(RecordingSettings, section, 'r'), folder.parent)


def record(folder, count=3000, topics=('/joint_states',)):
    recorder = BagRecorder(folder, topics)
    for first in range(0, count, 10):
        for topic in range(len(topics)):
            recorder.add(topic, *messages(10, first))
    recorder.finish()
    assert recorder.wait(20.0)
    assert (recorder.error, recorder.lost) == ('', 0)
    return recorder


def test_what_is_recorded_is_read_back_to_the_bit_without_a_warning(tmp_path):
    assert record(tmp_path / 'bag').written == 3000
    recording = load(tmp_path / 'bag')
    assert recording.warnings == ()
    assert not recording.counts
    k = np.arange(3000)
    np.testing.assert_array_equal(recording.channel('position').values[:, 0], np.sin(0.01 * k))
    np.testing.assert_allclose(recording.channel('effort').t, k * 1e-3, atol=1e-9)


def test_another_reader_finds_the_same_messages(tmp_path):
    record(tmp_path / 'bag', topics=('/joint_states', '/efforts'))
    with AnyReader([tmp_path / 'bag']) as reader:
        assert {item.topic: item.msgcount for item in reader.connections} == {
            '/joint_states': 3000, '/efforts': 3000}
        payloads, received = messages(3000)
        found = [(t, bytes(raw)) for connection, t, raw in reader.messages()
                 if connection.topic == '/efforts']
    assert found == list(zip(received, payloads, strict=True))


def test_every_part_of_the_file_has_a_checksum(tmp_path):
    record(tmp_path / 'bag')
    file = tmp_path / 'bag' / 'bag.mcap'
    assert mcap.verify(file, 1e8)
    whole = bytearray(file.read_bytes())
    for at in np.linspace(20, len(whole) - 20, 40).astype(int):
        damaged = whole.copy()
        damaged[at] ^= 0x10
        file.write_bytes(damaged)
        with pytest.raises(RecordingError, match='damaged'):
            load(tmp_path / 'bag')


def test_metadata_counts_what_is_there(tmp_path):
    record(tmp_path / 'bag', 1000)
    text = yaml.safe_load((tmp_path / 'bag' / 'metadata.yaml').read_text())
    about = text['rosbag2_bagfile_information']
    assert about['message_count'] == 1000
    assert about['starting_time']['nanoseconds_since_epoch'] == START + 500
    assert about['duration']['nanoseconds'] == 999_000_000


def test_a_recording_of_nothing_is_a_bag_too(tmp_path):
    record(tmp_path / 'bag', 0)
    assert mcap.verify(tmp_path / 'bag' / 'bag.mcap', 1e8)
    with pytest.raises(RecordingError, match='too short'):
        load(tmp_path / 'bag')


def test_a_bag_is_not_written_over(tmp_path):
    record(tmp_path / 'bag', 10)
    with pytest.raises(RecordingError, match='File exists'):
        BagRecorder(tmp_path / 'bag', ('/joint_states',))


KILLED = """
import sys, time
from pathlib import Path
sys.path.insert(0, {tests!r})
from support import TESTS
from support.joint_state_stream import messages
from sysid_ros.recording.bag.recorder import BagRecorder
recorder = BagRecorder(Path({folder!r}), ('/joint_states',))
first = 0
payloads, received = messages(60000)
start = time.monotonic()
while True:
    now = int((time.monotonic() - start) * 1000)
    recorder.add(0, payloads[first:now], received[first:now])
    first = now
    print(first, flush=True)
    time.sleep(0.01)
"""


def test_47_a_killed_recorder_loses_at_most_a_second_and_the_rest_is_salvaged(tmp_path):
    folder = tmp_path / 'bag'
    program = KILLED.format(tests=str(TESTS), folder=str(folder))
    process = subprocess.Popen([sys.executable, '-c', program], stdout=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + 60.0
        added = 0
        while added < 2500 and time.monotonic() < deadline:
            added = int(process.stdout.readline())
    finally:
        process.send_signal(signal.SIGKILL)
        rest = process.communicate()[0].split()
    added = int(rest[-1]) if rest else added
    with pytest.raises(RecordingError, match='not finished'):
        load(folder)
    recording = load(folder, salvage=True)
    assert any('salvaged' in warning for warning in recording.warnings)
    kept = len(recording.channel('position').t)
    assert added - 1000 <= kept <= added + 1000
    assert kept > 1000
    np.testing.assert_array_equal(
        recording.channel('position').values[:, 0], np.sin(0.01 * np.arange(kept)))


def test_a_disk_that_is_too_slow_costs_messages_that_are_counted_and_no_time(tmp_path):
    recorder = BagRecorder(tmp_path / 'bag', ('/joint_states',), waiting=100)
    payloads, received = messages(400)
    begin = time.monotonic()
    for first in range(0, 400, 40):
        recorder.add(0, payloads[first:first + 40], received[first:first + 40])
    assert time.monotonic() - begin < 0.2
    recorder.finish()
    assert recorder.wait(20.0)
    assert recorder.written + recorder.lost == 400
    assert recorder.lost > 0


def test_a_full_disk_ends_the_recording_with_a_sentence(tmp_path, monkeypatch):
    recorder = BagRecorder(tmp_path / 'bag', ('/joint_states',))

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(recorder._writer._writer, 'flush', full)
    recorder.add(0, *messages(10))
    assert recorder.wait(20.0)
    assert 'No space left on device' in recorder.error
    recorder.add(0, *messages(10))
    assert recorder.lost >= 10
