"""Commands of bags: which topic has them, when they count, and what is said of mistakes."""

from __future__ import annotations

import numpy as np
import pytest
from rosbags.typesys import Stores, get_typestore

from support.command_bags import (
    Command,
    array_message,
    state_message,
    trajectory,
    write_command_bag,
)
from sysid_ros.errors import ConfigurationError, RecordingError
from sysid_ros.recording.description import RecordingSettings
from sysid_ros.recording.load import load_recording

JOINTS = ('shoulder', 'elbow')
COMMANDS, STATES = '/commands', '/joint_states'
# Stamps of the joint states in [s], and how much later they are received.
T, LATE = np.arange(200) * 0.01, 0.002


def read(folder, *told, command=None, **changes):
    """The channel of commands of a bag that holds joint states and messages of commands."""
    if told:
        write_command_bag(folder / 'bag', T, JOINTS, np.zeros((len(T), 2)), told, late=LATE)
    settings = {'format': 'rosbag', 'file': 'bag', 'joints': JOINTS, 'command': command or {}}
    return load_recording(RecordingSettings(**(settings | changes)), folder).channel('command')


def at(channel, joint, t):
    """The command of a joint that holds at a time."""
    there = np.isfinite(channel.column(joint))
    row = np.searchsorted(channel.t[there], t + 1e-6, side='right') - 1
    return channel.column(joint)[there][row]


def test_numbers_hold_from_their_reception_less_what_joint_states_take(tmp_path):
    told = [Command(t + LATE, array_message(values))
            for t, values in ((0.1, [1.0, 2.0]), (0.5, [3.0, 4.0]))]
    channel = read(tmp_path, *told)
    np.testing.assert_allclose(channel.t, [0.1, 0.5], atol=1e-6)
    np.testing.assert_array_equal(channel.values, [[1.0, 2.0], [3.0, 4.0]])
    assert channel.unit == 'rad'


def test_numbers_are_of_the_joints_that_are_named_for_them(tmp_path):
    channel = read(tmp_path, Command(0.1, array_message([1.0, 2.0])),
                   command={'joints': ('elbow', 'shoulder'), 'scale': 2.0, 'unit': 'A'})
    assert (at(channel, 'elbow', 0.2), at(channel, 'shoulder', 0.2)) == (2.0, 4.0)
    assert channel.unit == 'A'


@pytest.mark.parametrize('field', ['position', 'velocity', 'effort'])
def test_a_field_of_joint_states_may_be_the_command_from_its_stamp_on(tmp_path, field):
    told = [Command(0.3, state_message(0.25, ('elbow', 'shoulder'), **{field: [1.0, 2.0]})),
            Command(0.4, state_message(0.35, ('elbow',), **{field: [5.0]}))]
    channel = read(tmp_path, *told, command={'field': field})
    np.testing.assert_allclose(channel.t, [0.25, 0.35], atol=1e-6)
    assert (at(channel, 'elbow', 0.3), at(channel, 'elbow', 0.36)) == (1.0, 5.0)
    assert at(channel, 'shoulder', 0.36) == 2.0


def test_single_points_hold_until_the_next_message(tmp_path):
    told = [Command(0.1 * k, trajectory(JOINTS, [(0.0, [k, -k])], stamp=0.1 * k))
            for k in (1, 2, 5)]
    channel = read(tmp_path, *told)
    np.testing.assert_allclose(channel.t, [0.1, 0.2, 0.5], atol=1e-6)
    np.testing.assert_array_equal(channel.column('elbow'), [-1.0, -2.0, -5.0])


def test_a_trajectory_is_played_from_its_stamp_on_in_straight_lines(tmp_path):
    points = [(0.0, [0.0, 1.0]), (0.4, [0.8, 1.0]), (1.0, [0.2, 1.0])]
    channel = read(tmp_path, Command(0.2, trajectory(JOINTS, points, stamp=0.3)))
    for t, expected in ((0.3, 0.0), (0.5, 0.4), (0.7, 0.8), (1.0, 0.5), (1.3, 0.2), (1.9, 0.2)):
        assert at(channel, 'shoulder', t) == pytest.approx(expected, abs=1e-9), t


@pytest.mark.parametrize(('stamp', 'far'), [(0.5, 2.0e9), (0.0, 4e6), (-1.0e6, 2.0e9)])
def test_a_trajectory_to_a_far_time_takes_no_more_than_the_bag_is_long(tmp_path, stamp, far):
    told = [Command(0.5, trajectory(JOINTS, [(0.0, [1.0, 0.0]), (far, [1.0 + far, 0.0])],
                                    stamp=stamp)),
            Command(1.0, trajectory(JOINTS, [(0.0, [5.0, 5.0])], stamp=1.0))]
    channel = read(tmp_path, *told, clock_limit=1e7)
    assert len(channel.t) <= len(T) + 2
    for t in (0.6, 0.9):
        assert at(channel, 'shoulder', t) == pytest.approx(1.0 + t - stamp, abs=0.02)
    assert at(channel, 'shoulder', 1.5) == 5.0


def test_points_with_velocities_and_accelerations_are_joined_by_the_smoothest_polynomial(tmp_path):
    ends = [(0.0, [1.0, 0.0], [0.5, 0.0], [-1.0, 0.0]), (0.5, [2.0, 0.0], [-0.5, 0.0], [2.0, 0.0])]
    for number, derivatives in enumerate((2, 1)):
        folder = tmp_path / str(number)
        folder.mkdir()
        message = trajectory(JOINTS, [point[:2 + derivatives] for point in ends], stamp=0.2)
        channel = read(folder, Command(0.2, message))
        order = 2 * derivatives + 2
        # The polynomial with these values and derivatives at its ends.
        rows, wanted = [], []
        for t, p, *rest in ends:
            for k, value in enumerate([p, *rest][:derivatives + 1]):
                rows.append([np.polynomial.Polynomial.basis(c).deriv(k)(t) for c in range(order)])
                wanted.append(value[0])
        expected = np.polynomial.Polynomial(np.linalg.solve(rows, wanted))
        for t in (0.1, 0.23, 0.4):
            assert at(channel, 'shoulder', 0.2 + t) == pytest.approx(expected(t), abs=1e-8)


def test_points_hold_where_that_is_asked_for(tmp_path):
    points = [(0.0, [0.0, 0.0]), (0.4, [0.8, 0.0]), (1.0, [0.2, 0.0])]
    channel = read(tmp_path, Command(0.3, trajectory(JOINTS, points, stamp=0.3)),
                   command={'between_points': 'hold'})
    np.testing.assert_allclose(channel.t, [0.3, 0.7, 1.3], atol=1e-6)
    np.testing.assert_array_equal(channel.column('shoulder'), [0.0, 0.8, 0.2])


def test_a_message_ends_the_trajectory_before_it_and_leads_on_from_there(tmp_path):
    first = trajectory(JOINTS, [(0.0, [0.0, 0.0]), (1.0, [1.0, 1.0])], stamp=0.2)
    second = trajectory(('shoulder',), [(0.2, [0.0])], stamp=0.6)
    channel = read(tmp_path, Command(0.2, first), Command(0.6, second))
    assert at(channel, 'shoulder', 0.59) == pytest.approx(0.39, abs=1e-6)
    assert at(channel, 'shoulder', 0.7) == pytest.approx(0.2, abs=1e-6)
    assert at(channel, 'shoulder', 1.9) == 0.0
    # Which it does not name goes on.
    assert at(channel, 'elbow', 1.0) == pytest.approx(0.8, abs=1e-6)


def test_a_trajectory_without_points_holds_what_was_commanded(tmp_path):
    first = trajectory(JOINTS, [(0.0, [0.0, 0.0]), (1.0, [1.0, 1.0])], stamp=0.2)
    channel = read(tmp_path, Command(0.2, first), Command(0.6, trajectory(JOINTS, [], stamp=0.6)))
    assert at(channel, 'shoulder', 1.9) == pytest.approx(0.4, abs=1e-6)


def test_efforts_of_a_trajectory_hold_from_point_to_point(tmp_path):
    types = get_typestore(Stores.ROS2_HUMBLE)
    message = trajectory(JOINTS, [(0.0, [0.0, 0.0]), (0.5, [0.0, 0.0])], stamp=0.2)
    content = types.deserialize_cdr(message.data, message.kind)
    for k, point in enumerate(content.points):
        point.effort = np.array([k + 1.0, 0.0])
    message = message._replace(data=bytes(types.serialize_cdr(content, message.kind)))
    channel = read(tmp_path, Command(0.2, message), command={'field': 'effort', 'unit': 'N·m'})
    np.testing.assert_allclose(channel.t, [0.2, 0.7], atol=1e-6)
    np.testing.assert_array_equal(channel.column('shoulder'), [1.0, 2.0])


def test_what_was_commanded_before_the_first_joint_state_holds_from_there_on(tmp_path):
    told = [Command(-2.0, array_message([1.0, 1.0])), Command(-1.0, array_message([2.0, 2.0])),
            Command(1.0, array_message([3.0, 3.0])), Command(9.0, array_message([4.0, 4.0]))]
    channel = read(tmp_path, *told)
    np.testing.assert_allclose(channel.t, [0.0, 1.0], atol=LATE + 1e-6)
    np.testing.assert_array_equal(channel.column('elbow'), [2.0, 3.0])


def test_received_commands_count_where_stamps_do_not(tmp_path):
    told = [Command(0.5, state_message(0.1, JOINTS, position=[1.0, 2.0]))]
    assert read(tmp_path, *told, stamps='receive').t[0] == pytest.approx(0.5 - LATE, abs=1e-6)


def test_other_names_in_the_messages_are_renamed(tmp_path):
    told = Command(0.5, state_message(0.5, ('j1', 'j2'), position=[1.0, 2.0]))
    channel = read(tmp_path, told, rename={'j1': 'shoulder', 'j2': 'elbow'})
    assert at(channel, 'elbow', 1.0) == 2.0


def test_what_is_left_of_a_damaged_bag_has_its_commands(tmp_path):
    write_command_bag(
        tmp_path / 'bag', T, JOINTS, np.zeros((len(T), 2)),
        [Command(0.5, array_message([1.0, 2.0]))], late=LATE)
    file = tmp_path / 'bag' / 'bag.mcap'
    file.write_bytes(file.read_bytes()[:-200])
    assert at(read(tmp_path, salvage=True), 'elbow', 1.0) == 2.0


NUMBERS = Command(0.5, array_message([1.0, 2.0]))
POINT = Command(0.5, trajectory(JOINTS, [(0.0, [1.0, 2.0])], stamp=0.5))


@pytest.mark.parametrize(('told', 'changes', 'words'), [
    ([NUMBERS, POINT._replace(topic='/arm/joint_trajectory')], {},
     r'several topics may hold the commands.*/commands \(std_msgs/msg/Float64MultiArray\), '
     r'/arm/joint_trajectory.*recording: \{command: \{topic: /commands\}\}'),
    ([NUMBERS], {'command': {'topic': '/comands'}},
     r'there is no topic /comands.*found /commands \(std_msgs.*topic: /commands'),
    ([], {}, 'there is no topic of commands.*none of these types beside /joint_states'),
    ([NUMBERS], {'command': {'joints': ('shoulder',)}},
     r'found 2 numbers.*1 joints: shoulder.*joints: \[shoulder, elbow\]'),
    ([Command(0.5, state_message(0.5, JOINTS, effort=[1.0, 2.0]))], {},
     r'no message has one position for each joint.*found effort.*field: effort'),
    ([Command(0.5, state_message(0.5, ('j1', 'j2'), position=[1.0, 2.0]))], {},
     'no joint was told anything of shoulder, elbow.*commands of j1, j2.*rename'),
    ([NUMBERS._replace(received=5.0 + LATE)], {},
     'commands come after the last joint state only.*at 5 s.*same time'),
    ([Command(0.5, state_message(90.0, JOINTS, position=[1.0, 2.0]))], {},
     r'stamps of commands are far.*89\.5 s.*stamps: receive'),
])
def test_mistakes_are_told_with_what_to_do(tmp_path, told, changes, words):
    write_command_bag(tmp_path / 'bag', T, JOINTS, np.zeros((len(T), 2)), told, late=LATE)
    with pytest.raises(RecordingError, match=words):
        read(tmp_path, **changes)


def test_a_topic_of_another_type_is_refused(tmp_path):
    text = get_typestore(Stores.ROS2_HUMBLE)
    message = text.types['std_msgs/msg/String'](data='go')
    told = Command(0.5, NUMBERS.message._replace(
        kind='std_msgs/msg/String', data=bytes(text.serialize_cdr(message, 'std_msgs/msg/String'))))
    write_command_bag(tmp_path / 'bag', T, JOINTS, np.zeros((len(T), 2)),
                      [told, POINT._replace(topic='/arm')], late=LATE)
    with pytest.raises(RecordingError, match='/commands is of the wrong type.*String.*topic: /arm'):
        read(tmp_path, command={'topic': COMMANDS})


def test_keys_of_topics_mean_nothing_for_a_table():
    with pytest.raises(ConfigurationError, match="'topic' means nothing for the format 'csv'"):
        RecordingSettings(
            format='csv', file='a.csv', joints=JOINTS, time={'rate': 100.0},
            position={'columns': ('a', 'b')}, command={'prefix': 'u_', 'topic': '/commands'})
