"""FAULTS 75: archives that expand beyond bounds are refused before they do."""

from __future__ import annotations

import struct
from pathlib import Path

import lz4.frame
import numpy as np
import pytest
import zstandard

from sysid_ros.errors import RecordingError
from sysid_ros.recording.bag.long_bag import LongBag, is_long
from sysid_ros.recording.bag.write import write_bag
from sysid_ros.recording.description import RecordingSettings
from sysid_ros.recording.guess.table_head import read_head
from sysid_ros.recording.load import load_recording
from sysid_ros.settings import parse_settings

JOINTS = ('a', 'b')
# What the settings allow and what the bomb holds, in [MB], and what reading it may take.
LIMIT, BOMB, MOST = 20, 1000, 40


def memory(kind):
    status = Path('/proc/self/status').read_text()
    return float(status.split(f'{kind}:')[1].split()[0]) / 1e3


def spent(read):
    """Largest memory in [MB] that something takes while it is refused, and the refusal."""
    Path('/proc/self/clear_refs').write_text('5')
    before = memory('VmRSS')
    with pytest.raises(RecordingError) as refused:
        read()
    return memory('VmHWM') - before, str(refused.value)


def settings(**changes):
    section = {
        'format': 'rosbag', 'file': 'bag', 'joints': list(JOINTS), 'memory_limit': LIMIT} | changes
    return parse_settings(RecordingSettings, section, 'recording')


def table(**changes):
    return parse_settings(RecordingSettings, {
        'format': 'npz', 'file': 'table.npz', 'joints': ['a'], 'time': {'array': 't'},
        'position': {'array': 'q'}} | changes, 'recording')


def zeros_packed(compression, *, with_size):
    block = bytes(1_000_000)
    if compression == 'lz4':
        context = lz4.frame.create_compression_context()
        size = BOMB * len(block) if with_size else 0
        begun = lz4.frame.compress_begin(context, source_size=size)
        blocks = [lz4.frame.compress_chunk(context, block) for _ in range(BOMB)]
        return b''.join([begun, *blocks, lz4.frame.compress_flush(context)])
    compressor = zstandard.ZstdCompressor().compressobj(
        size=BOMB * len(block) if with_size else -1)
    return b''.join([*(compressor.compress(block) for _ in range(BOMB)), compressor.flush()])


def bomb(folder, compression, *, stated, with_size):
    """A bag whose first chunk unpacks to a gigabyte, whatever it states; nothing else is wrong."""
    t = np.arange(400) * 1e-2
    q = np.random.default_rng(0).normal(size=(400, 2))
    write_bag(folder / 'bag', t, JOINTS, q, q, q, start=1.7e9)
    file = folder / 'bag' / 'bag.mcap'
    whole = file.read_bytes()
    start = whole.index(b'\x06', 9 + 8 + struct.unpack_from('<Q', whole, 9)[0])
    (length,) = struct.unpack_from('<Q', whole, start + 1)
    packed = zeros_packed(compression, with_size=with_size)
    body = whole[start + 9:start + 25] + struct.pack('<QI', stated, 0) + struct.pack(
        '<I', len(compression)) + compression.encode() + struct.pack('<Q', len(packed)) + packed
    changed = bytearray(
        whole[:start] + b'\x06' + struct.pack('<Q', len(body)) + body + whole[start + 9 + length:])
    # Without the checksum of the data section, which would be wrong.
    end = changed.rindex(b'\x0f\x04\0\0\0\0\0\0\0')
    changed[end + 9:end + 13] = bytes(4)
    grown = len(changed) - len(whole)
    footer = len(changed) - 8 - 20
    (summary,) = struct.unpack_from('<Q', changed, footer)
    struct.pack_into('<Q', changed, footer, summary + grown)
    struct.pack_into('<I', changed, footer + 16, 0)
    file.write_bytes(changed)
    return file


@pytest.mark.parametrize('salvage', [False, True])
@pytest.mark.parametrize('with_size', [False, True])
@pytest.mark.parametrize('stated', [1_000_000_000, 1000])
@pytest.mark.parametrize('compression', ['zstd', 'lz4'])
def test_75_a_chunk_that_unpacks_to_a_gigabyte_takes_no_more_than_is_allowed(
    tmp_path, compression, stated, with_size, salvage
):
    file = bomb(tmp_path, compression, stated=stated, with_size=with_size)
    assert file.stat().st_size < 10_000_000
    described = settings(salvage=salvage)
    assert not is_long(described, tmp_path)
    took, said = spent(lambda: load_recording(described, tmp_path))
    assert took < MOST
    if not salvage:
        assert ('a chunk is too large' if stated > 1000 else 'damaged') in said
        took, _ = spent(lambda: LongBag.survey(described, tmp_path))
        assert took < MOST


def test_75_what_is_allowed_is_said_and_can_be_raised(tmp_path):
    bomb(tmp_path, 'zstd', stated=1_000_000_000, with_size=True)
    with pytest.raises(RecordingError, match=r'found 1000 MB.*allowed 20 MB.*memory_limit'):
        load_recording(settings(), tmp_path)
    # What is in it are no records.
    with pytest.raises(RecordingError, match='the bag is damaged'):
        load_recording(settings(memory_limit=1100), tmp_path)


def test_75_a_file_that_would_fill_the_disk_is_refused_before_it_is_unpacked(tmp_path):
    write_bag(tmp_path / 'bag', np.arange(9.0), JOINTS, np.zeros((9, 2)), storage='sqlite3')
    folder = tmp_path / 'bag'
    next(folder.glob('*.db3')).unlink()
    (folder / 'bag.db3.zstd').write_bytes(zeros_packed('zstd', with_size=True))
    metadata = folder / 'metadata.yaml'
    text = metadata.read_text().replace("compression_mode: ''", 'compression_mode: file')
    text = text.replace("compression_format: ''", 'compression_format: zstd')
    metadata.write_text(text.replace('.db3', '.db3.zstd'))
    assert 'mode: file' in text
    for read in (load_recording, LongBag.survey):
        took, said = spent(lambda read=read: read(settings(), tmp_path))
        assert 'unpacks to more than is allowed' in said
        assert took < MOST


@pytest.mark.parametrize('kind', ['f8', 'f4', 'u1'])
def test_75_an_array_that_is_mostly_nothing_is_refused(tmp_path, kind):
    rows = 30_000_000
    np.savez_compressed(tmp_path / 'table.npz', t=np.arange(9.0), q=np.zeros((rows, 1), kind))
    took, said = spent(lambda: load_recording(table(), tmp_path))
    assert 'unpack to more than is allowed' in said and 'uncompressed' in said
    assert took < MOST
    took, said = spent(lambda: read_head(tmp_path / 'table.npz', 'npz'))
    assert 'unpack to more than is allowed' in said
    assert took < MOST


def test_75_arrays_that_are_not_looked_at_are_not_unpacked(tmp_path):
    np.savez_compressed(
        tmp_path / 'table.npz', t=np.arange(9.0), q=np.arange(9.0), image=np.zeros(125_000_000))
    Path('/proc/self/clear_refs').write_text('5')
    before = memory('VmRSS')
    with pytest.raises(RecordingError, match='unpack to more'):
        read_head(tmp_path / 'table.npz', 'npz')
    assert len(load_recording(table(), tmp_path).channel('position').t) == 9
    assert memory('VmHWM') - before < MOST


def test_75_many_arrays_count_together_and_the_settings_say_how_much_is_allowed(tmp_path):
    column = np.zeros((700_000, 1))
    np.savez_compressed(
        tmp_path / 'table.npz', t=np.arange(700_000.0), q=column, v=column, tau=column)
    described = table(
        memory_limit=20, time={'rate': 100}, velocity={'array': 'v'}, effort={'array': 'tau'})
    took, said = spent(lambda: load_recording(described, tmp_path))
    assert 'unpack to more than is allowed' in said and 'memory_limit' in said
    assert took < MOST
    few = table(memory_limit=30, time={'rate': 100})
    assert len(load_recording(few, tmp_path).channel('position').t) == 700_000


def test_75_what_is_packed_well_is_read(tmp_path):
    t = np.arange(200_000) * 1e-3
    q = np.round(np.sin(t), 3)[:, None]
    np.savez_compressed(tmp_path / 'table.npz', t=t, q=q)
    np.testing.assert_array_equal(
        load_recording(table(), tmp_path).channel('position').values, q)
