"""Bags that only rosbag2 itself knows: read and written where it is there, refused by name else."""

import importlib
import sys
import types
import zlib

import numpy as np
import pytest
import yaml

from support import rosbag2_py_stand_in
from sysid_ros.errors import RecordingError
from sysid_ros.recording.bag.long_bag import LongBag
from sysid_ros.recording.bag.messages import joint_state_messages, joint_state_topics
from sysid_ros.recording.bag.rosbag2_storage import (
    ForeignBag,
    Rosbag2Reader,
    foreign_bag,
    open_bag,
)
from sysid_ros.recording.bag.write import write_bag
from sysid_ros.recording.description import RecordingSettings
from sysid_ros.recording.load import load_recording

JOINTS, ROWS, START = ('a', 'b'), 300, 1_700_000_000
VALUES = np.random.default_rng(0).normal(size=(3, ROWS, 2))
ABOUT = 'rosbag2_bagfile_information'


@pytest.fixture
def rosbag2(monkeypatch):
    """A sourced distribution whose rosbag2 has one more storage, ``lines``."""
    module = types.ModuleType('rosbag2_py')
    vars(module).update(vars(rosbag2_py_stand_in))
    monkeypatch.setitem(sys.modules, 'rosbag2_py', module)
    return module


@pytest.fixture
def no_rosbag2(monkeypatch):
    """No distribution, as with the wheels."""
    monkeypatch.setitem(sys.modules, 'rosbag2_py', None)


def settings(**changes):
    return RecordingSettings(**({'format': 'rosbag', 'file': 'bag', 'joints': JOINTS} | changes))


def written(folder, storage='lines'):
    write_bag(folder / 'bag', np.arange(ROWS) * 1e-2, JOINTS, *VALUES, start=float(START),
              storage=storage)
    return folder / 'bag'


def change(bag, **changes):
    """Change what the metadata of a bag says."""
    file = bag / 'metadata.yaml'
    about = yaml.safe_load(file.read_text())
    about[ABOUT].update(changes)
    file.write_text(yaml.safe_dump(about))


def test_a_bag_of_another_storage_is_written_and_read_back_bit_by_bit(rosbag2, tmp_path):
    bag = written(tmp_path)
    assert isinstance(open_bag(bag), Rosbag2Reader)
    recording = load_recording(settings(), tmp_path)
    for quantity, values in zip(('position', 'velocity', 'effort'), VALUES, strict=True):
        np.testing.assert_array_equal(recording.channel(quantity).values, values)
    assert recording.start == START
    assert dict(recording.counts) == {}
    # Nobody else looks at what is in its files.
    assert any('no checksums in bag_0.lines' in warning for warning in recording.warnings)


def test_it_is_told_what_is_in_it_as_of_any_bag(rosbag2, tmp_path):
    bag = written(tmp_path)
    with pytest.raises(RecordingError, match=rf'no topic /states.*/joint_states.*{ROWS}'):
        load_recording(settings(topic='/states'), tmp_path)
    with pytest.raises(RecordingError, match='joints are not on /joint_states: wrist'):
        load_recording(settings(joints=('a', 'wrist')), tmp_path)
    assert joint_state_topics(bag) == ('/joint_states',)
    messages = list(joint_state_messages(bag, ['/joint_states']))
    assert [message.received for message in messages] == [
        START * 10**9 + k * 10**7 for k in range(ROWS)]
    with open_bag(bag) as reader:
        assert reader.end_time == messages[-1].received + 1


def test_a_part_of_it_is_read_by_the_time_of_reception(rosbag2, tmp_path):
    written(tmp_path)
    whole = load_recording(settings(), tmp_path).channel('position')
    part = LongBag.survey(settings(), tmp_path).between(1.0, 2.0).channel('position')
    inside = (whole.t >= 1.0) & (whole.t < 2.0)
    np.testing.assert_array_equal(part.values, whole.values[inside])


def test_messages_that_are_missing_are_noticed(rosbag2, tmp_path):
    bag = written(tmp_path)
    file = bag / 'bag_0.lines'
    file.write_text(''.join(file.read_text().splitlines(keepends=True)[:-1]))
    with pytest.raises(RecordingError, match=f'missing or too many.*found {ROWS - 1}'):
        load_recording(settings(), tmp_path)


def test_a_compressed_bag_is_read_by_the_reader_of_compressed_bags(rosbag2, tmp_path):
    bag = written(tmp_path)
    file = bag / 'bag_0.lines'
    file.write_bytes(zlib.compress(file.read_bytes()))
    change(bag, compression_mode='FILE', compression_format='lz4')
    position = load_recording(settings(), tmp_path).channel('position').values
    np.testing.assert_array_equal(position, VALUES[0])


def test_what_rosbag2_cannot_read_is_one_clear_error(rosbag2, tmp_path):
    bag = written(tmp_path)
    (bag / 'bag_0.lines').write_text('{')
    with pytest.raises(RecordingError, match='the bag is damaged'):
        load_recording(settings(), tmp_path)
    with pytest.raises(RecordingError, match='nothing of /joint_states could be salvaged'):
        load_recording(settings(salvage=True), tmp_path)
    (bag / 'bag_0.lines').unlink()
    with pytest.raises(RecordingError, match='there is no bag'):
        load_recording(settings(), tmp_path)


def test_a_storage_without_its_plugin_is_refused_by_name(rosbag2, tmp_path):
    bag = written(tmp_path)
    change(bag, storage_identifier='tape')
    with pytest.raises(RecordingError, match=r"found 'tape'; allowed lines.*rosbag2_storage_"):
        load_recording(settings(), tmp_path)
    with pytest.raises(RecordingError, match=r"found 'tape'; allowed lines"):
        write_bag(tmp_path / 'new', np.arange(3.0), JOINTS, np.zeros((3, 2)), storage='tape')
    assert not (tmp_path / 'new').exists()


@pytest.mark.parametrize(('changes', 'why'), [
    ({'storage_identifier': 'tape'}, "storage 'tape'"),
    ({'compression_mode': 'MESSAGE', 'compression_format': 'lz4'}, "compression 'lz4'"),
    ({'version': 10}, 'metadata of version 10'),
])
def test_without_rosbag2_such_a_bag_is_refused_with_the_way_out(
    no_rosbag2, tmp_path, changes, why
):
    change(written(tmp_path, 'mcap'), **changes)
    with pytest.raises(RecordingError, match=rf'found {why}; allowed storage mcap.*Source the ROS'):
        load_recording(settings(), tmp_path)


def test_without_rosbag2_no_bag_of_another_storage_is_written(no_rosbag2, tmp_path):
    with pytest.raises(RecordingError, match=r"found storage 'lines'.*Source the ROS"):
        written(tmp_path)
    assert not (tmp_path / 'bag').exists()


@pytest.mark.parametrize('storage', ['mcap', 'sqlite3'])
def test_bags_of_the_usual_storages_are_read_without_it_even_where_it_is_there(
    rosbag2, tmp_path, storage
):
    bag = written(tmp_path, storage)
    assert foreign_bag(bag) is None
    assert not isinstance(open_bag(bag), Rosbag2Reader)
    assert foreign_bag(next(bag.glob('bag*'))) is None


@pytest.mark.parametrize('content', [
    b'', b'[]', b'rosbag2_bagfile_information: 3', b'{', b'a: b: c', b'\xff\xfe\x00', b'\x00'])
def test_damaged_metadata_is_an_error_of_its_own(rosbag2, tmp_path, content):
    bag = written(tmp_path, 'mcap')
    (bag / 'metadata.yaml').write_bytes(content)
    assert foreign_bag(bag) is None
    with pytest.raises(RecordingError):
        load_recording(settings(), tmp_path)


def test_files_of_the_metadata_stay_within_the_folder(tmp_path):
    bag = written(tmp_path, 'mcap')
    change(bag, storage_identifier='tape', relative_file_paths=['../../secret', '/etc/passwd'])
    assert foreign_bag(bag).files == (bag / 'secret', bag / 'passwd')


def test_a_sourced_distribution_reads_and_writes_as_the_stand_in_does(tmp_path):
    """Where there is one: the names and kinds of arguments are those of the real module."""
    try:
        module = importlib.import_module('rosbag2_py')
    except ImportError:
        pytest.skip('no ROS distribution is sourced')
    storage = 'mcap' if 'mcap' in module.get_registered_writers() else 'sqlite3'
    from sysid_ros.recording.bag.rosbag2_storage import write_joint_states

    bag = written(tmp_path, 'mcap')
    messages = list(joint_state_messages(bag, ['/joint_states']))
    again = tmp_path / 'again'
    write_joint_states(again, storage, '/joint_states', [(
        [message.received for message in messages], [message.data for message in messages])])
    foreign = ForeignBag(again, (), storage, False, 'a test')
    with Rosbag2Reader(foreign) as reader:
        assert [item.msgcount for item in reader.connections] == [ROWS]
        assert reader.end_time == messages[-1].received + 1
        first = messages[10].received
        found = [
            (received, bytes(data)) for _, received, data in reader.messages(
                reader.connections, first, first + 10**8)]
    assert found == [(message.received, message.data) for message in messages[10:20]]
