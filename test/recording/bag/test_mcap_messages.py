"""Messages of MCAP files, many at a time: those that rosbags reads one by one."""

from __future__ import annotations

import numpy as np
import pytest
from mcap.writer import CompressionType, Writer
from rosbags.rosbag2 import Reader

from sysid_ros.errors import RecordingError
from sysid_ros.recording.bag.joint_state_cdr import JOINT_STATE
from sysid_ros.recording.bag.mcap_messages import ChunkedFile, Messages
from sysid_ros.recording.bag.storage import messages_of

MOST = 1e7
TOPICS = ('/joint_states', '/efforts')


def written(path, rng, *, compression=CompressionType.NONE, shuffle=0, **options):
    """Messages of three topics and several lengths, some received before what is written first."""
    count = 3000
    received = 1_700_000_000_000_000_000 + np.sort(rng.integers(0, 10**9, count))
    received += rng.integers(0, shuffle + 1, count)
    with path.open('xb') as file:
        writer = Writer(file, chunk_size=4096, compression=compression, **options)
        writer.start('ros2', 'test')
        schema = writer.register_schema(JOINT_STATE, 'ros2msg', b'')
        channels = [writer.register_channel(topic, 'cdr', schema) for topic in (*TOPICS, '/tf')]
        for k in range(count):
            data = k.to_bytes(4, 'little') + bytes(int(rng.choice([0, 8, 200])))
            writer.add_message(
                channels[int(rng.integers(3))], int(received[k]), data, int(received[k]))
        writer.finish()
    return received


def found(blocks):
    return [
        (block.topics[topic], received, block.data[start:start + length].tobytes())
        for block in blocks for topic, received, start, length in zip(
            block.topic.tolist(), block.received.tolist(), block.start.tolist(),
            block.length.tolist(), strict=True)]


def one_by_one(path, topics, start=None, stop=None):
    with Reader(path) as reader:
        wanted = [item for item in reader.connections if item.topic in topics]
        return [(connection.topic, received, bytes(data))
                for connection, received, data in reader.messages(wanted, start, stop)]


@pytest.mark.parametrize('shuffle', [0, 10**6, 10**8])
@pytest.mark.parametrize('compression', list(CompressionType))
def test_all_are_found_in_the_order_of_reception(tmp_path, rng, compression, shuffle):
    path = tmp_path / 'bag.mcap'
    received = written(path, rng, compression=compression, shuffle=shuffle)
    file = ChunkedFile(path, MOST)
    assert file.whole
    for topics in (TOPICS, TOPICS[:1]):
        for start, stop in ((None, None), *np.sort(rng.choice(received, (5, 2)), axis=1).tolist()):
            expected = one_by_one(path, topics, start, stop)
            assert found(file.messages(topics, start, stop)) == expected
            assert expected or start is not None


@pytest.mark.parametrize('options', [
    {'use_chunking': False}, {'repeat_channels': False}, {'use_chunking': False, 'shuffle': 0}])
def test_files_of_another_layout_are_left_to_rosbags(tmp_path, rng, options):
    path = tmp_path / 'bag.mcap'
    written(path, rng, **options)
    assert not ChunkedFile(path, MOST).whole
    with Reader(path) as reader:
        assert found(messages_of(reader, path, TOPICS, MOST)) == one_by_one(path, TOPICS)


def test_what_waits_for_the_next_chunk_does_not_keep_the_one_it_came_in(rng):
    block = Messages.of(TOPICS, [0, 1, 0], [1, 2, 3], [b'first', bytes(10**6), b'last'])
    rest = block.select(slice(2, None)).copied()
    assert len(rest.data) == 4
    assert found([rest]) == [('/joint_states', 3, b'last')]


def test_a_record_that_goes_beyond_its_chunk_is_damage(tmp_path, rng):
    path = tmp_path / 'bag.mcap'
    written(path, rng, enable_crcs=False)
    whole = bytearray(path.read_bytes())
    at = whole.index(b'\x05', 600)
    whole[at + 1:at + 9] = (2**40).to_bytes(8, 'little')
    path.write_bytes(whole)
    with pytest.raises(RecordingError, match='goes beyond its chunk'):
        list(ChunkedFile(path, MOST).messages(TOPICS))
