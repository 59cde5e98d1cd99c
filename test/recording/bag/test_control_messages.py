"""Commands from what ros2_control says: states of a controller, and values of interfaces."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from sysid_ros.errors import RecordingError
from sysid_ros.recording.bag.control_messages import (
    CONTROLLER_STATE,
    INTERFACE_VALUES,
    control_types,
)
from sysid_ros.recording.bag.joint_state_cdr import JOINT_STATE
from sysid_ros.recording.bag.mcap_writer import _definition, _types
from sysid_ros.recording.bag.recorder import BagRecorder
from sysid_ros.recording.description import CommandSettings, RecordingSettings
from sysid_ros.recording.guess.bag_topics import bag_topics
from sysid_ros.recording.load import load_recording

JOINTS = ('shoulder', 'elbow')
RATE, STATES, SECONDS = 100.0, 20.0, 4.0
POINT = 'trajectory_msgs/JointTrajectoryPoint'
# As distributions differ: how what is wanted is called, and what comes behind it.
DEFINITIONS = {
    'reference': (
        'std_msgs/Header header\nstring[] joint_names\n'
        f'{POINT} reference\n{POINT} feedback\n{POINT} error\n{POINT} output\nfloat64 scaling'),
    'desired': (
        'std_msgs/Header header\nstring[] joint_names\n'
        f'{POINT} desired\n{POINT} actual\n{POINT} error')}
VALUES = (
    'std_msgs/Header header\nstring[] joint_names\nInterfaceValue[] interface_values\n'
    + '=' * 80 + '\nMSG: control_msgs/InterfaceValue\nstring[] interface_names\nfloat64[] values')


def motion(t):
    """What is wanted of two joints, and its velocity, shape ``(..., 2)``."""
    w = np.array([3.0, 2.0])
    phase = np.multiply.outer(t, w)
    return 0.5 * np.sin(phase), 0.5 * w * np.cos(phase)


class Messages:
    """Makes messages of one definition, as a bag has them."""

    def __init__(self, kind, definition):
        self.kind, self.store = kind, get_typestore(Stores.ROS2_HUMBLE)
        self.store.register(get_types_from_msg(definition, kind))

    def stamp(self, t, kind='Time'):
        nanoseconds = round(1e9 * t)
        return self.store.types[f'builtin_interfaces/msg/{kind}'](
            sec=nanoseconds // 10**9, nanosec=nanoseconds % 10**9)

    def header(self, t):
        return self.store.types['std_msgs/msg/Header'](stamp=self.stamp(t), frame_id='')

    def point(self, *fields):
        own = [np.array(field, dtype=float) for field in fields]
        own += [np.empty(0)] * (4 - len(own))
        return self.store.types['trajectory_msgs/msg/JointTrajectoryPoint'](
            *own, time_from_start=self.stamp(0.0, 'Duration'))

    def state(self, t, wanted, told=()):
        """The state of a controller: what it wants, and what it tells the drives."""
        names = self.store.fielddefs[self.kind][1]
        fields = {'header': self.header(t), 'joint_names': list(JOINTS)}
        for name, _ in names[2:]:
            fields[name] = 1.0 if name == 'scaling' else self.point(
                *(wanted if name in ('reference', 'desired') else
                  told if name == 'output' else ([9.0, 9.0],)))
        return self.store.types[self.kind](**fields)

    def values(self, t, **interfaces):
        """Values of interfaces of both joints."""
        one = self.store.types['control_msgs/msg/InterfaceValue']
        return self.store.types[self.kind](
            header=self.header(t), joint_names=list(JOINTS), interface_values=[
                one(interface_names=list(interfaces),
                    values=np.array([values[k] for values in interfaces.values()]))
                for k in range(len(JOINTS))])


def write(path, messages, told, topic='/controller_state'):
    """A bag of joint states, and what is told beside them as times and messages."""
    states = get_typestore(Stores.ROS2_HUMBLE)
    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        joints = writer.add_connection('/joint_states', JOINT_STATE, typestore=states)
        other = writer.add_connection(topic, messages.kind, typestore=messages.store)
        rows = []
        for t in np.arange(0.0, SECONDS, 1.0 / RATE):
            content = states.types[JOINT_STATE](
                header=messages.header(100.0 + t), name=list(JOINTS), position=motion(t)[0],
                velocity=np.empty(0), effort=np.empty(0))
            rows.append((t, joints, states.serialize_cdr(content, JOINT_STATE)))
        rows += [(t, other, messages.store.serialize_cdr(content, messages.kind))
                 for t, content in told]
        for t, connection, data in sorted(rows, key=lambda row: row[0]):
            writer.write(connection, round(1e9 * (100.0 + t)), data)
    return path


def commands(path, **command):
    """Commands of a bag at their times, by joint."""
    recording = load_recording(RecordingSettings(
        format='rosbag', file=path.name, joints=list(JOINTS), command=command), path.parent)
    found = {}
    for channel in recording.channels:
        if channel.quantity == 'command':
            found |= {name: (channel.t, channel.column(name)) for name in channel.names}
    return found


def states(messages, told=()):
    times = np.arange(0.0, SECONDS - 0.01, 1.0 / STATES)
    return [(t, messages.state(100.0 + t, motion(t), told)) for t in times]


@pytest.mark.parametrize('wanted', DEFINITIONS)
def test_what_a_controller_wants_is_followed_between_its_states(tmp_path, wanted):
    messages = Messages(CONTROLLER_STATE, DEFINITIONS[wanted])
    path = write(tmp_path / 'bag', messages, states(messages))
    found = commands(path)
    for k, joint in enumerate(JOINTS):
        t, values = found[joint]
        assert len(t) > 0.9 * RATE * (SECONDS - 1.0 / STATES)
        # Cubics between states 50 ms apart; held they would be off by up to 0.07.
        np.testing.assert_allclose(values, motion(t)[0][:, k], atol=1e-4)
    held = commands(path, between_points='hold')
    assert len(held['elbow'][0]) == len(states(messages))


def test_what_drives_of_torques_are_told_is_the_output(tmp_path):
    messages = Messages(CONTROLLER_STATE, DEFINITIONS['reference'])
    path = write(tmp_path / 'bag', messages, states(messages, ([], [], [], [2.5, -1.0])))
    found = commands(path, field='effort')
    assert set(found['shoulder'][1]) == {2.5} and set(found['elbow'][1]) == {-1.0}
    with pytest.raises(RecordingError, match='no message has one velocity.*field: (pos|eff)'):
        commands(write(tmp_path / 'other', messages, [
            (0.5, messages.state(100.5, ([1.0, 2.0],), ([], [], [], [2.5, -1.0])))]),
            field='velocity')


def test_a_controller_that_pauses_tells_nothing_in_between(tmp_path):
    messages = Messages(CONTROLLER_STATE, DEFINITIONS['reference'])
    there = [(t, content) for t, content in states(messages) if not 1.0 < t < 2.0]
    t, values = commands(write(tmp_path / 'bag', messages, there))['shoulder']
    assert not ((t > 1.01) & (t < 1.99)).any()
    np.testing.assert_allclose(values[t > 2.0], motion(t[t > 2.0])[0][:, 0], atol=1e-4)


def test_values_of_interfaces_are_commands_where_their_topic_is_named(tmp_path):
    messages = Messages(INTERFACE_VALUES, VALUES)
    path = write(tmp_path / 'bag', messages, [
        (t, messages.values(100.0 + t, position=[t, -t], effort=[1.0, 2.0]))
        for t in np.arange(0.0, 3.0, 0.1)], '/dynamic_joint_states')
    t, values = commands(path, topic='/dynamic_joint_states')['elbow']
    np.testing.assert_allclose(values, -t, atol=1e-9)
    assert set(commands(path, topic='/dynamic_joint_states', field='effort')['elbow'][1]) == {2.0}
    with pytest.raises(RecordingError, match='no topic of commands'):
        commands(path)
    with pytest.raises(RecordingError, match='no message has one velocity.*field: position'):
        commands(path, topic='/dynamic_joint_states', field='velocity')


def test_init_finds_the_states_of_a_controller(tmp_path):
    messages = Messages(CONTROLLER_STATE, DEFINITIONS['reference'])
    path = write(tmp_path / 'bag', messages, states(messages))
    found = bag_topics(path, JOINTS, 1e8)
    assert found.command_topic == '/controller_state' and not found.questions


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A ``control_msgs`` with definitions as a distribution installs them."""
    package, share = tmp_path / 'lib' / 'control_msgs', tmp_path / 'share/control_msgs/msg'
    for folder in (package, share):
        folder.mkdir(parents=True)
    (package / '__init__.py').touch()
    values, inner = VALUES.split('=' * 80 + '\nMSG: control_msgs/InterfaceValue\n')
    for name, text in (('JointTrajectoryControllerState', DEFINITIONS['reference']),
                       ('DynamicJointState', values), ('InterfaceValue', inner)):
        (share / f'{name}.msg').write_text(text)
    monkeypatch.syspath_prepend(package.parent)
    monkeypatch.delitem(sys.modules, 'control_msgs', raising=False)
    _definition.cache_clear()
    _types.cache_clear()
    yield share
    _definition.cache_clear()
    _types.cache_clear()


@pytest.mark.parametrize('salvage', [False, True])
def test_what_comes_in_is_recorded_with_the_definitions_of_the_distribution(
    tmp_path, installed, salvage
):
    messages, joints = Messages(CONTROLLER_STATE, DEFINITIONS['reference']), Messages(
        INTERFACE_VALUES, VALUES)
    bag, joint_states = tmp_path / 'bag', get_typestore(Stores.ROS2_HUMBLE)
    recorder = BagRecorder(bag, ['/joint_states', '/state', '/values'], [
        JOINT_STATE, CONTROLLER_STATE, INTERFACE_VALUES])
    for t in np.arange(0.0, SECONDS, 1.0 / RATE):
        now = [round(1e9 * (100.0 + t))]
        position = joint_states.types[JOINT_STATE](
            header=messages.header(100.0 + t), name=list(JOINTS), position=motion(t)[0],
            velocity=np.empty(0), effort=np.empty(0))
        recorder.add(0, [bytes(joint_states.serialize_cdr(position, JOINT_STATE))], now)
        for topic, kind, content in (
            (1, messages, messages.state(100.0 + t, motion(t))),
            (2, joints, joints.values(100.0 + t, position=[t, -t]))):
            recorder.add(topic, [bytes(kind.store.serialize_cdr(content, kind.kind))], now)
    recorder.finish()
    assert recorder.wait(20.0) and not recorder.error
    if salvage:
        (file,) = bag.glob('*.mcap')
        file.write_bytes(file.read_bytes()[:-3000])
        (bag / 'metadata.yaml').unlink()
    settings = RecordingSettings(
        format='rosbag', file='bag', joints=list(JOINTS), salvage=salvage,
        command={'topic': '/values'})
    for topic, expected in (('/state', lambda t: motion(t)[0][:, 1]), ('/values', np.negative)):
        recording = load_recording(settings.model_copy(update={
            'command': CommandSettings(topic=topic)}), tmp_path)
        (channel,) = recording.channels_of('command')
        assert len(channel.t) > 0.5 * RATE * SECONDS
        np.testing.assert_allclose(channel.column('elbow'), expected(channel.t), atol=1e-4)


def test_a_distribution_without_the_messages_is_told_apart(tmp_path, installed):
    (installed / 'DynamicJointState.msg').unlink()
    with pytest.raises(RecordingError, match='does not have this type'):
        BagRecorder(tmp_path / 'bag', ['/values'], [INTERFACE_VALUES])
    for file in installed.iterdir():
        file.unlink()
    installed.rmdir()
    with pytest.raises(RecordingError, match='Install control_msgs'):
        BagRecorder(tmp_path / 'bag', ['/state'], [CONTROLLER_STATE])
    assert not (tmp_path / 'bag' / 'bag.mcap').exists()


def test_without_a_definition_it_says_how_to_record():
    with pytest.raises(RecordingError, match='does not say what a message.*--storage mcap'):
        control_types(CONTROLLER_STATE, ' ', 'bag: /state')
