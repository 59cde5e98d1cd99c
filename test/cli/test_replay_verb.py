"""``sysid replay`` as far as it goes without ROS: what it refuses."""

import numpy as np
import pytest
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.cli.main import main
from sysid_ros.recording.bag.messages import joint_state_messages, joint_state_topics
from sysid_ros.recording.bag.write import write_bag


@pytest.fixture
def bag(tmp_path):
    t = np.arange(50) * 0.01
    write_bag(tmp_path / 'bag', t, ['a'], np.sin(t)[:, None], start=7.0)
    return tmp_path / 'bag'


def refused(capsys, *arguments):
    assert main(['replay', *map(str, arguments)]) == ExitCode.BAD_INPUT
    return capsys.readouterr().err


def test_messages_come_as_they_lie_in_the_bag(bag):
    assert joint_state_topics(bag) == ('/joint_states',)
    messages = list(joint_state_messages(bag, ['/joint_states']))
    assert [message.received for message in messages] == [
        7_000_000_000 + k * 10_000_000 for k in range(50)]


def test_what_is_no_bag_is_refused(tmp_path, capsys):
    assert 'there is no bag' in refused(capsys, tmp_path)


def test_47_a_damaged_bag_is_not_published(bag, capsys):
    file = bag / 'bag.mcap'
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    assert 'damaged' in refused(capsys, bag)


def test_48_a_topic_that_is_not_there_is_refused_and_what_is_there_is_listed(bag, capsys):
    assert '/joint_states' in refused(capsys, bag, '--topic', '/efforts')


def test_48_a_bag_without_joint_states_is_refused(tmp_path, capsys):
    store = get_typestore(Stores.ROS2_HUMBLE)
    with Writer(tmp_path / 'bag', version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        connection = writer.add_connection('/text', 'std_msgs/msg/String', typestore=store)
        message = store.types['std_msgs/msg/String']('hello')
        writer.write(connection, 1, store.serialize_cdr(message, 'std_msgs/msg/String'))
    assert '/text (std_msgs/msg/String)' in refused(capsys, tmp_path / 'bag')


@pytest.mark.parametrize('rate', ['0', '-1', '1e9', 'nan'])
def test_a_rate_at_which_nothing_can_be_played_is_refused(bag, capsys, rate):
    assert '--rate' in refused(capsys, bag, f'--rate={rate}')
