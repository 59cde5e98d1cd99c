"""Files of another format than the settings say."""

import numpy as np
import pytest

from sysid_ros.errors import RecordingError
from sysid_ros.recording.bag.storage import bag_files
from sysid_ros.recording.file_kind import file_kind
from sysid_ros.recording.table.csv_reader import read_csv_columns
from sysid_ros.recording.table.npz_reader import read_npz_array


@pytest.fixture
def files(tmp_path):
    """One file or folder of each kind."""
    np.savez(tmp_path / 'arrays.npz', q=np.zeros(3))
    np.save(tmp_path / 'one.npy', np.zeros(3))
    (tmp_path / 'table.csv').write_text('t,q\n0,1\n')
    (tmp_path / 'messages').write_bytes(b'\x89MCAP0\r\n and more')
    (tmp_path / 'bag').mkdir()
    (tmp_path / 'bag' / 'bag_0.db3').write_bytes(b'SQLite format 3\0')
    (tmp_path / 'empty').mkdir()
    return tmp_path


@pytest.mark.parametrize(('name', 'wanted'), [
    ('arrays.npz', 'npz'), ('one.npy', None), ('table.csv', 'csv'), ('messages', 'rosbag'),
    ('bag', 'rosbag'), ('empty', None)])
def test_first_bytes_say_what_reads_a_file(files, name, wanted):
    assert file_kind(files / name)[1] == wanted


@pytest.mark.parametrize(('read', 'name', 'fix'), [
    (read_csv_columns, 'arrays.npz', 'format: npz'),
    (read_csv_columns, 'bag', 'format: rosbag'),
    (read_csv_columns, 'messages', 'format: rosbag'),
    (read_csv_columns, 'one.npy', 'Name the file itself'),
    (read_csv_columns, 'empty', 'Name the file itself'),
    (lambda path: read_npz_array(path, 'q'), 'table.csv', 'format: csv'),
    (bag_files, 'table.csv', 'format: csv'),
    (bag_files, 'arrays.npz', 'format: npz'),
    (bag_files, 'messages', 'Name it .mcap'),
    (bag_files, 'bags', "Did you mean '.*/bag'"),
])
def test_a_file_of_another_format_is_called_what_it_is(files, read, name, fix):
    with pytest.raises(RecordingError, match=f'{name}: (is no|there is no bag).*found.*{fix}'):
        read(files / name)
