"""Messages decoded together against the same messages decoded one by one by rosbags."""

import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.serde import SerdeError
from rosbags.typesys import Stores, get_typestore

from sysid_ros.errors import RecordingError
from sysid_ros.recording.bag import reader as bag_reader
from sysid_ros.recording.bag.joint_state_cdr import FIELDS, JOINT_STATE, JointStateDecoder
from sysid_ros.recording.description import RecordingSettings
from sysid_ros.recording.load import load_recording

TYPES = get_typestore(Stores.ROS2_HUMBLE)
NUMBERS = st.floats(width=64) | st.sampled_from([np.nan, np.inf, -0.0])
# Names of every length, so that every alignment of what follows occurs.
NAMES = st.lists(st.text('abcdefgäß_', max_size=7), max_size=4).map(tuple)


@st.composite
def layouts(draw):
    names = draw(NAMES)
    lengths = [draw(st.sampled_from([0, len(names), len(names), 3])) for _ in FIELDS]
    return names, draw(st.sampled_from(['', 'base', 'base_link'])), lengths, draw(st.booleans())


@st.composite
def messages(draw):
    """Messages of a few layouts in random order, each as (stamp, payload)."""
    kinds = draw(st.lists(layouts(), min_size=1, max_size=4))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    special = draw(st.lists(NUMBERS, min_size=1, max_size=3))
    payloads = []
    for k, kind in enumerate(draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=30))):
        names, frame, lengths, little = kind
        arrays = [random.normal(size=length) for length in lengths]
        for array in arrays:
            array[random.random(len(array)) < 0.2] = special[k % len(special)]
        payload = serialized((100 + k, 17 * k), frame, names, arrays, little)
        payloads.append(payload + bytes(random.integers(0, 4)) if k % 5 == 0 else payload)
    return payloads


def serialized(stamp, frame, names, arrays, little=True):
    time = TYPES.types['builtin_interfaces/msg/Time'](*stamp)
    header = TYPES.types['std_msgs/msg/Header'](time, frame)
    message = TYPES.types[JOINT_STATE](header, list(names), *arrays)
    return bytes(TYPES.serialize_cdr(message, JOINT_STATE, little_endian=little))


def one_by_one(decoder, payloads):
    """What was decoded for every message, to the bit."""
    found = {}
    batches = decoder.decode(payloads)
    firsts = [int(batch.rows[0]) for batch in batches]
    assert firsts == sorted(firsts)
    for batch in batches:
        for k, row in enumerate(batch.rows.tolist()):
            assert row not in found
            values = tuple(batch.values[name][k].tobytes() for name in FIELDS)
            found[row] = (batch.names, int(batch.stamps[k]), values)
    return [found[row] for row in range(len(payloads))]


@settings(derandomize=True, deadline=None, database=None, max_examples=60)
@given(messages())
def test_messages_decoded_together_are_the_same_to_the_bit(payloads):
    together, alone = JointStateDecoder(), JointStateDecoder(remembered=0)
    half = len(payloads) // 2
    for part in (payloads[:half], payloads[half:]):
        assert one_by_one(together, part) == one_by_one(alone, part)


@settings(derandomize=True, deadline=None, database=None, max_examples=60)
@given(messages())
def test_messages_that_come_alone_are_the_same_to_the_bit(payloads):
    together, alone = JointStateDecoder(), JointStateDecoder(remembered=0)
    for payload in 2 * payloads:
        assert one_by_one(together, [payload]) == one_by_one(alone, [payload])


def test_a_message_that_comes_alone_is_not_that_of_another_publisher_of_the_same_length(rng):
    decoder = JointStateDecoder()
    payloads = [serialized((k, 5), 'base', names, rng.normal(size=(3, 2)))
                for k, names in enumerate([('a', 'b'), ('a', 'c'), ('b', 'a')])]
    assert len({len(payload) for payload in payloads}) == 1
    for payload in 2 * payloads:
        assert decoder.decode([payload])[0].names == tuple(
            TYPES.deserialize_cdr(payload, JOINT_STATE).name)


def values_of(message):
    stamp = message.header.stamp
    arrays = tuple(np.array(getattr(message, name), dtype=float).tobytes() for name in FIELDS)
    return tuple(message.name), stamp.sec * 10**9 + stamp.nanosec, arrays


@settings(derandomize=True, deadline=None, database=None, max_examples=30)
@given(messages())
def test_messages_are_what_rosbags_makes_of_them(payloads):
    expected = [values_of(TYPES.deserialize_cdr(payload, JOINT_STATE)) for payload in payloads]
    assert one_by_one(JointStateDecoder(), payloads) == expected


@pytest.mark.parametrize(
    'distribution', [store for store in Stores if store.name.startswith('ROS2')])
def test_the_message_is_that_of_every_distribution(distribution):
    known, own = get_typestore(distribution), JointStateDecoder()._types
    for name in own.fielddefs.keys() - {'builtin_interfaces/msg/Duration'}:
        assert own.fielddefs[name][1] == known.fielddefs[name][1]
    assert {JOINT_STATE, 'std_msgs/msg/Header'} <= own.fielddefs.keys()


def test_messages_are_what_rclpy_makes_of_them(rng):
    serialization = pytest.importorskip('rclpy.serialization')
    kind = pytest.importorskip('sensor_msgs.msg').JointState
    layouts = [
        (('a', 'bcd'), (2, 2, 2)), (('bcd', 'a'), (2, 2, 2)), (('a', 'bcd'), (2, 0, 0)),
        (('a', 'bcd'), (2, 0, 2)), (('a',), (1, 1, 0)), ((), (0, 0, 0)), (('joint',), (0, 0, 3)),
    ]
    payloads = []
    for k in range(140):
        names, lengths = layouts[k % 7 if k < 70 else int(rng.integers(7))]
        message = kind()
        message.header.stamp.sec, message.header.stamp.nanosec = 1_700_000_000 + k, 17 * k
        message.header.frame_id, message.name = 'base_link'[:k % 3], list(names)
        for name, length in zip(FIELDS, lengths, strict=True):
            setattr(message, name, rng.normal(size=length).tolist())
        payloads.append(bytes(serialization.serialize_message(message)))
    # It reserves room for the alignment of empty arrays, and hands out all of it.
    expected = [values_of(serialization.deserialize_message(data, kind)) for data in payloads]
    assert one_by_one(JointStateDecoder(), payloads) == expected


@pytest.mark.parametrize('lengths', [(2, 2, 2), (2, 0, 2), (2, 2, 0), (2, 0, 0)])
@pytest.mark.parametrize('little', [True, False])
def test_no_truncated_message_passes_for_a_whole_one(rng, lengths, little):
    arrays = [rng.normal(size=length) for length in lengths]
    whole = serialized((7, 5), 'base', ('a', 'bcd'), arrays, little)
    decoder = JointStateDecoder()
    decoder.decode([whole])
    for length in range(len(whole)):
        with pytest.raises(SerdeError):
            decoder.decode([whole, whole[:length]])


@pytest.mark.parametrize('extra', [1, 8, 32])
def test_bytes_that_middleware_reserved_do_not_count(rng, extra):
    whole = serialized((7, 5), 'base', ('a', 'b'), [rng.normal(size=2), *np.empty((2, 0))])
    payloads = [whole + bytes(rng.integers(256, size=extra).tolist()) for _ in range(5)]
    decoder = JointStateDecoder()
    assert one_by_one(decoder, payloads) == 5 * one_by_one(decoder, [whole])
    with pytest.raises(SerdeError, match='size mismatch'):
        decoder.decode([whole + bytes(33)])


@pytest.mark.parametrize('storage', ['MCAP', 'SQLITE3'])
def test_a_bag_with_a_truncated_message_is_damaged(tmp_path, rng, storage):
    with Writer(tmp_path / 'bag', version=9, storage_plugin=StoragePlugin[storage]) as writer:
        connection = writer.add_connection('/joint_states', JOINT_STATE, typestore=TYPES)
        for k in range(50):
            stamp = (1_700_000_000, k * 10_000_000)
            data = serialized(stamp, '', ('a', 'b'), rng.normal(size=(3, 2)))
            received = stamp[0] * 10**9 + stamp[1]
            writer.write(connection, received, data[:-9] if k == 30 else data)
    described = RecordingSettings(format='rosbag', file='bag', joints=['a', 'b'])
    with pytest.raises(RecordingError, match='the bag is damaged: SerdeError: Invalid sequence'):
        load_recording(described, tmp_path)
    salvaged = load_recording(described.model_copy(update={'salvage': True}), tmp_path)
    assert salvaged.counts['messages that cannot be decoded dropped'] == 1


@pytest.mark.parametrize('fields', [(3, 3, 3), (3, 0, 3), (3, 0, 0)])
def test_messages_of_one_publisher_are_one_batch(rng, fields):
    payloads = [
        serialized((k, 5), 'base', ('a', 'bcd', 'ef'), [rng.normal(size=n) for n in fields])
        for k in range(50)
    ]
    decoder = JointStateDecoder()
    for _ in range(2):
        assert [len(batch.rows) for batch in decoder.decode(payloads)] == [50]


def test_bytes_of_padding_may_be_anything(rng):
    names = ('a', 'b')
    clean = [serialized((k, 5), 'x', names, rng.normal(size=(3, 2))) for k in range(6)]
    zero = serialized((0, 0), 'x', names, np.zeros((3, 2)))
    one = serialized((0, 0), 'x', names, np.full((3, 2), np.pi))
    # The strings end at odd places: what is between them and the next length is padding.
    padding = [at for at in range(4, len(zero)) if zero[at] == one[at] == 0]
    gaps = [at for at in padding if zero[at - 1:at + 1] == b'\0\0' and at in (18, 19)]
    assert gaps == [18, 19]
    dirty = [bytearray(payload) for payload in clean]
    for payload in dirty:
        for at in gaps:
            payload[at] = int(rng.integers(256))
    decoder = JointStateDecoder()
    assert one_by_one(decoder, clean) == one_by_one(decoder, [bytes(x) for x in dirty])
    assert [len(batch.rows) for batch in decoder.decode([bytes(x) for x in dirty])] == [6]


def test_more_layouts_than_are_remembered_are_decoded_all_the_same(rng):
    payloads = [
        serialized((k, 5), f'{k:04d}', ('a', 'b'), rng.normal(size=(3, 2))) for k in range(40)]
    decoder = JointStateDecoder(remembered=4)
    assert one_by_one(decoder, payloads) == one_by_one(JointStateDecoder(remembered=0), payloads)


@pytest.mark.parametrize('storage', ['MCAP', 'SQLITE3'])
def test_a_bag_of_all_kinds_of_messages_reads_the_same_either_way(
    tmp_path, rng, monkeypatch, storage
):
    kinds = [
        (('a', 'b'), (2, 2, 2), True), (('b', 'a'), (2, 2, 2), True), (('a', 'b'), (2, 0, 2), True),
        (('a', 'b'), (1, 2, 2), True), (('a', 'a'), (2, 2, 2), True), (('c',), (1, 1, 1), True),
        (('a', 'b'), (2, 2, 0), False), (('b',), (1, 1, 1), True), (('a',), (1, 0, 1), False),
    ]
    start = 1_700_000_000
    with Writer(tmp_path / 'bag', version=9, storage_plugin=StoragePlugin[storage]) as writer:
        connections = [
            writer.add_connection(topic, JOINT_STATE, typestore=TYPES) for topic in ('/q', '/tau')]
        for k in range(900):
            names, lengths, little = kinds[int(rng.choice(len(kinds), p=[0.6] + [0.05] * 8))]
            arrays = [rng.normal(size=n) for n in lengths]
            if k % 97 == 0 and lengths[0]:
                arrays[0][0] = np.nan
            stamp = (start + k // 100, k % 100 * 10_000_000 + int(rng.integers(3)) * 9_000_000)
            data = serialized(stamp, 'base', names, arrays, little)
            received = (start + k // 100) * 10**9 + k % 100 * 10_000_000
            writer.write(connections[k % 3 == 0], received, data)
    monkeypatch.setattr(bag_reader, '_BLOCK', 64)
    for joints in ([], ['b', 'a']):
        described = RecordingSettings(
            format='rosbag', file='bag', topic='/q', effort_topic='/tau', joints=joints)
        fast = load_recording(described, tmp_path)
        with monkeypatch.context() as patch:
            patch.setattr(
                bag_reader, 'JointStateDecoder', functools.partial(JointStateDecoder, remembered=0))
            slow = load_recording(described, tmp_path)
        assert fast.counts == slow.counts
        assert fast.counts['messages whose lengths differ dropped'] > 5
        assert (fast.warnings, fast.breaks, fast.start, fast.sha256) == (
            slow.warnings, slow.breaks, slow.start, slow.sha256)
        for one, other in zip(fast.channels, slow.channels, strict=True):
            assert (one.quantity, one.names, one.unit) == (other.quantity, other.names, other.unit)
            np.testing.assert_array_equal(one.t, other.t)
            np.testing.assert_array_equal(one.values, other.values)
