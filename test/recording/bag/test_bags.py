"""Bags written and read back, and every kind of damage to them."""

import zlib

import numpy as np
import pytest
from rosbags.rosbag2 import CompressionFormat, CompressionMode, Reader, StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from sysid_ros.errors import RecordingError
from sysid_ros.recording.bag import mcap
from sysid_ros.recording.bag.write import write_bag
from sysid_ros.recording.description import RecordingSettings
from sysid_ros.recording.load import load_recording

JOINTS = ('a', 'b', 'c')
STORAGES = ('mcap', 'sqlite3')
# Bytes that a chunk may hold.
LIMIT = 1e8


def settings(**changes):
    return RecordingSettings(**({'format': 'rosbag', 'file': 'bag', 'joints': JOINTS} | changes))


def written(folder, storage, rows=400, seed=0):
    values = np.random.default_rng(seed).normal(size=(3, rows, len(JOINTS)))
    write_bag(folder / 'bag', np.arange(rows) * 1e-2, JOINTS, *values, start=1.7e9, storage=storage)
    return values


def storage_file(folder):
    return next(path for path in (folder / 'bag').iterdir() if path.suffix in ('.mcap', '.db3'))


@pytest.mark.parametrize('storage', STORAGES)
def test_what_is_written_is_read_back_bit_by_bit(tmp_path, storage):
    q, v, tau = written(tmp_path, storage)
    recording = load_recording(settings(joints=('c', 'a')), tmp_path)
    for quantity, values in (('position', q), ('velocity', v), ('effort', tau)):
        channel = recording.channel(quantity)
        assert channel.names == ('c', 'a')
        np.testing.assert_array_equal(channel.values, values[:, [2, 0]])
        np.testing.assert_allclose(channel.t, np.arange(400) * 1e-2, rtol=0, atol=1e-9)
    assert recording.start == 1.7e9
    assert 'joints in the bag that were ignored: b' in recording.warnings
    assert dict(recording.counts) == {}


def test_a_storage_file_alone_is_a_bag(tmp_path):
    q, _, _ = written(tmp_path, 'mcap')
    recording = load_recording(settings(file='bag/bag.mcap', joints=()), tmp_path)
    np.testing.assert_array_equal(recording.channel('position').values, q)


def test_names_in_the_bag_can_be_renamed(tmp_path):
    q, _, _ = written(tmp_path, 'mcap')
    recording = load_recording(settings(joints=('elbow',), rename={'b': 'elbow'}), tmp_path)
    np.testing.assert_array_equal(recording.channel('position').values[:, 0], q[:, 1])


def test_signs_scales_and_transmissions_apply_to_bags_too(tmp_path):
    q, _, tau = written(tmp_path, 'mcap')
    recording = load_recording(settings(
        position={'unit': 'deg', 'sign': [1, -1, 1]},
        effort={'side': 'motor', 'scale': 0.5}, transmission={'ratios': [2, 3, 4]},
    ), tmp_path)
    np.testing.assert_allclose(
        recording.channel('position').values, np.radians(q) * [1, -1, 1])
    np.testing.assert_allclose(recording.channel('effort').values, tau * [1, 1.5, 2])
    assert recording.channel('position').unit == 'rad'


def test_written_mcap_files_carry_every_checksum(tmp_path):
    written(tmp_path, 'mcap')
    assert mcap.verify(storage_file(tmp_path), LIMIT)
    data = storage_file(tmp_path).read_bytes()
    footer = len(data) - len(mcap.MAGIC) - 20
    summary = int.from_bytes(data[footer:footer + 8], 'little')
    crc = int.from_bytes(data[footer + 16:footer + 20], 'little')
    assert crc == zlib.crc32(data[summary:footer + 16]) != 0
    with Reader(tmp_path / 'bag') as reader:  # and stay readable for others
        assert reader.message_count == 400


def test_an_mcap_file_without_checksums_is_read_with_a_warning(tmp_path):
    q, _, _ = written(tmp_path, 'mcap')
    strip_checksums(storage_file(tmp_path))
    recording = load_recording(settings(), tmp_path)
    np.testing.assert_array_equal(recording.channel('position').values, q)
    assert any('no checksums' in warning for warning in recording.warnings)


def strip_checksums(path):
    """What a recorder with its default settings leaves: every checksum zero."""
    with path.open('r+b') as file:
        for record in list(mcap.read_records(file, path)):
            at = {0x06: record.body + 24, 0x0F: record.body, 0x02: record.stop - 4}
            if record.opcode in at:
                file.seek(at[record.opcode])
                file.write(bytes(4))


def test_any_flipped_byte_of_a_sealed_mcap_file_is_noticed(tmp_path, rng):
    written(tmp_path, 'mcap', rows=100)
    path = storage_file(tmp_path)
    whole = path.read_bytes()
    for at in rng.integers(0, len(whole), 150):
        damaged = bytearray(whole)
        damaged[at] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        with pytest.raises(RecordingError):
            load_recording(settings(), tmp_path)


@pytest.mark.parametrize('storage', STORAGES)
def test_a_bag_cut_off_anywhere_is_one_clear_error(tmp_path, storage, rng):
    written(tmp_path, storage, rows=100)
    path = storage_file(tmp_path)
    whole = path.read_bytes()
    for size in rng.integers(0, len(whole), 60):
        path.write_bytes(whole[:size])
        with pytest.raises(RecordingError, match='bag'):
            load_recording(settings(), tmp_path)


@pytest.mark.parametrize('storage', STORAGES)
def test_bytes_without_checksums_never_end_in_anything_but_data_or_one_error(
    tmp_path, storage, rng
):
    written(tmp_path, storage, rows=60)
    path = storage_file(tmp_path)
    if storage == 'mcap':
        strip_checksums(path)
    whole = path.read_bytes()
    refused = 0
    for salvage in (False, True):
        for _ in range(30):
            damaged = bytearray(whole)
            for at in rng.integers(0, len(whole), 5):
                damaged[at] = int(rng.integers(256))
            path.write_bytes(damaged)
            try:
                recording = load_recording(settings(salvage=salvage), tmp_path)
            except RecordingError as error:
                refused += 1
                assert str(error)
            else:
                assert np.isfinite(recording.channel_of('position', 'a').values).all()
    assert refused > 0


@pytest.mark.parametrize('storage', STORAGES)
def test_salvage_reads_what_is_left_and_says_so(tmp_path, storage):
    q, _, _ = written(tmp_path, storage, rows=12_000)
    path = storage_file(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole[:len(whole) // 2])
    with pytest.raises(RecordingError, match='salvage'):
        load_recording(settings(), tmp_path)
    recording = load_recording(settings(salvage=True), tmp_path)
    rows = recording.channel('position').values
    assert 2_000 < len(rows) < 8_000
    # Where the cut goes through a page of a database, some of its rows survive.
    np.testing.assert_array_equal(rows, q[np.isin(q[:, 0], rows[:, 0])])
    assert any('salvaged from a damaged bag' in warning for warning in recording.warnings)


def test_salvage_skips_a_chunk_with_a_wrong_checksum(tmp_path):
    q, _, _ = written(tmp_path, 'mcap', rows=20_000)
    path = storage_file(tmp_path)
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    path.write_bytes(damaged)
    recording = load_recording(settings(salvage=True), tmp_path)
    rows = recording.channel('position').values
    assert 10_000 < len(rows) < 20_000
    kept = np.isin(q[:, 0], rows[:, 0])
    np.testing.assert_array_equal(rows, q[kept])
    assert any('checksum of a chunk' in warning for warning in recording.warnings)


def test_salvage_does_without_the_first_chunk_where_the_summary_is_left(tmp_path):
    q, _, _ = written(tmp_path, 'mcap', rows=20_000)
    path = storage_file(tmp_path)
    damaged = bytearray(path.read_bytes())
    damaged[100_000] ^= 1
    path.write_bytes(damaged)
    rows = load_recording(settings(salvage=True), tmp_path).channel('position').values
    assert 10_000 < len(rows) < 20_000
    np.testing.assert_array_equal(rows, q[-len(rows):])


def test_a_bag_that_was_never_finished_is_refused_with_the_way_out(tmp_path):
    written(tmp_path, 'mcap')
    (tmp_path / 'bag' / 'metadata.yaml').unlink()
    with pytest.raises(RecordingError, match='was not finished.*ros2 bag reindex'):
        load_recording(settings(), tmp_path)


def test_metadata_that_disagrees_with_the_messages_is_refused(tmp_path):
    written(tmp_path, 'sqlite3')
    metadata = tmp_path / 'bag' / 'metadata.yaml'
    metadata.write_text(metadata.read_text().replace('message_count: 400', 'message_count: 401'))
    with pytest.raises(RecordingError, match='found 400; allowed 401'):
        load_recording(settings(), tmp_path)


def test_a_missing_bag_is_refused(tmp_path):
    with pytest.raises(RecordingError, match='no bag.*no such folder'):
        load_recording(settings(), tmp_path)


def test_bags_are_never_overwritten_and_need_arrays_that_fit(tmp_path):
    written(tmp_path, 'mcap')
    with pytest.raises(RecordingError, match='something already'):
        written(tmp_path, 'mcap')
    with pytest.raises(RecordingError, match='another shape'):
        write_bag(tmp_path / 'new', np.arange(5.0), JOINTS, np.zeros((5, 2)))


@pytest.mark.parametrize(('storage', 'mode'), [
    ('mcap', 'STORAGE'), ('mcap', 'MESSAGE'), ('sqlite3', 'MESSAGE'), ('sqlite3', 'FILE')])
def test_compressed_bags_are_read(tmp_path, storage, mode):
    written(tmp_path, storage, rows=50, seed=3)
    plain = load_recording(settings(), tmp_path).channel('position').values
    compress(tmp_path / 'bag', tmp_path / 'small', storage, mode)
    small = load_recording(settings(file='small'), tmp_path)
    np.testing.assert_array_equal(small.channel('position').values, plain)
    assert any('no checksums' in warning for warning in small.warnings)


def compress(source, target, storage, mode):
    plugin = StoragePlugin.MCAP if storage == 'mcap' else StoragePlugin.SQLITE3
    writer = Writer(target, version=9, storage_plugin=plugin)
    writer.set_compression(CompressionMode[mode], CompressionFormat.ZSTD)
    with Reader(source) as reader, writer:
        kind = reader.connections[0].msgtype
        connection = writer.add_connection(
            '/joint_states', kind, typestore=get_typestore(Stores.ROS2_HUMBLE))
        for _, received, data in reader.messages(connections=reader.connections):
            writer.write(connection, received, data)


def test_efforts_may_come_on_a_topic_of_their_own(tmp_path):
    q, _, tau = written(tmp_path, 'mcap', rows=100)
    write_bag(tmp_path / 'tau', np.arange(50) * 0.02, JOINTS, tau[:50], tau=tau[50:],
              start=1.7e9, topic='/torque')
    with Reader(tmp_path / 'bag') as first, Reader(tmp_path / 'tau') as second, Writer(
        tmp_path / 'both', version=9, storage_plugin=StoragePlugin.MCAP
    ) as writer:
        for reader in (first, second):
            (connection,) = reader.connections
            added = writer.add_connection(
                connection.topic, connection.msgtype, typestore=get_typestore(Stores.ROS2_HUMBLE))
            for _, received, data in reader.messages(connections=[connection]):
                writer.write(added, received, data)
    recording = load_recording(settings(file='both', effort_topic='/torque'), tmp_path)
    np.testing.assert_array_equal(recording.channel('position').values, q)
    np.testing.assert_array_equal(recording.channel('effort').values, tau[50:])
    np.testing.assert_allclose(recording.channel('effort').t, np.arange(50) * 0.02, atol=1e-9)
