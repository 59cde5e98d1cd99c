"""FAULTS 1 to 15, 27, 47 to 49 and 55, as far as recordings that are read later meet them."""

import numpy as np
import pytest
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from sysid_ros.errors import ConfigurationError, RecordingError
from sysid_ros.recording.bag.write import write_bag
from sysid_ros.recording.dataset import Dataset
from sysid_ros.recording.description import RecordingSettings
from sysid_ros.recording.load import load_recording
from sysid_ros.recording.processing.align import align
from sysid_ros.recording.processing.low_pass import LowPass
from sysid_ros.recording.processing.settings import Processing
from sysid_ros.recording.recording import Channel, Recording
from sysid_ros.settings import parse_settings

TYPES = get_typestore(Stores.ROS2_HUMBLE)
JOINT_STATE = 'sensor_msgs/msg/JointState'
START = 1_700_000_000_000_000_000
STEP = 10_000_000  # 100 Hz
JOINTS = ('a', 'b')


class Bag:
    """Collects messages by hand, then writes and loads them."""

    def __init__(self, folder):
        self.folder = folder
        self.messages = []

    def add(self, k, position, velocity=(), effort=None, *, names=JOINTS, stamp=None,
            received=None, topic='/joint_states'):
        effort = position if effort is None else effort
        stamp = START + k * STEP if stamp is None else stamp
        received = START + k * STEP + 1000 if received is None else received
        self.messages.append((topic, received, stamp, names, position, velocity, effort))

    def fill(self, count=200, **changes):
        for k in range(count):
            self.add(k, [np.sin(0.01 * k), np.cos(0.01 * k)], **changes)
        return self

    def write(self):
        connections = {}
        with Writer(self.folder / 'bag', version=9, storage_plugin=StoragePlugin.MCAP) as writer:
            for topic, received, stamp, names, *fields in self.messages:
                if topic not in connections:
                    connections[topic] = writer.add_connection(topic, JOINT_STATE, typestore=TYPES)
                seconds, nanoseconds = divmod(stamp, 10 ** 9)
                time = TYPES.types['builtin_interfaces/msg/Time'](seconds, nanoseconds)
                header = TYPES.types['std_msgs/msg/Header'](time, '')
                arrays = [np.array(values, dtype=float) for values in fields]
                message = TYPES.types[JOINT_STATE](header, list(names), *arrays)
                writer.write(
                    connections[topic], received, TYPES.serialize_cdr(message, JOINT_STATE))

    def load(self, joints=JOINTS, **changes):
        self.write()
        section = {'format': 'rosbag', 'file': 'bag', 'joints': list(joints)} | changes
        return load_recording(parse_settings(RecordingSettings, section, 'r'), self.folder)


@pytest.fixture
def bag(tmp_path):
    return Bag(tmp_path)


def sampled(t, q=None, tau=None, breaks=()):
    wave = np.stack([np.sin(t), np.cos(2 * t)], axis=1)
    return Recording((
        Channel('position', JOINTS, 'rad', t, wave if q is None else q),
        Channel('effort', JOINTS, 'N·m', t, 3 * wave if tau is None else tau),
    ), 'test', '', breaks=breaks)


def test_01_a_nan_or_inf_position_is_dropped_and_counted(bag):
    bag.fill()
    for k, bad in ((50, np.nan), (51, np.inf)):
        bag.messages[k] = (*bag.messages[k][:4], [0.0, bad], (), [0.0, 0.0])
    recording = bag.load()
    assert recording.counts['samples with a NaN position dropped'] == 2
    assert len(recording.channel('position').t) == 198
    data = align(recording, JOINTS, Processing())
    assert len(data) == 200
    np.testing.assert_allclose(data.q[:, 0], np.sin(0.01 * np.arange(200)), atol=1e-8)


def test_01_a_joint_whose_position_is_always_nan_is_refused_by_name(bag):
    for k in range(20):
        bag.add(k, [k, np.nan])
    with pytest.raises(RecordingError, match='b: a joint has no finite position'):
        bag.load()


@pytest.mark.parametrize('velocity', [(), (np.nan, np.nan)])
def test_02_nan_or_empty_velocities_are_differentiated_from_positions(bag, velocity):
    recording = bag.fill(velocity=velocity).load()
    assert recording.channels_of('velocity') == ()
    data = align(recording, JOINTS, Processing(differentiation='measured'))
    np.testing.assert_allclose(data.v[:, 0], np.cos(0.01 * np.arange(200)), atol=1e-4)
    assert any('velocity was recorded for a, b' in warning for warning in data.warnings)


@pytest.mark.parametrize(('effort', 'missing'), [((), 'a, b'), ((1.0, np.nan), 'b')])
def test_02_without_effort_a_torque_fit_is_refused_and_the_joint_named(bag, effort, missing):
    recording = bag.fill(effort=effort).load()
    with pytest.raises(RecordingError, match=f'no effort was recorded for {missing}: without it'):
        align(recording, JOINTS, Processing())


def test_02_single_missing_efforts_are_bridged_and_long_ones_masked():
    t = np.arange(400) * 0.01
    tau = np.ones((400, 2))
    tau[100, 0] = np.nan
    tau[200:250, 1] = np.nan
    data = align(sampled(t, tau=tau), JOINTS, Processing())
    assert data.mask[:, 0].all()
    np.testing.assert_array_equal(np.flatnonzero(~data.mask[:, 1]), np.arange(200, 250))
    assert np.isfinite(data.tau).all()


def test_03_messages_whose_lengths_differ_are_dropped_and_counted(bag):
    bag.fill()
    bag.add(200, [1.0])
    bag.add(201, [1.0, 2.0, 3.0])
    bag.add(202, [1.0, 2.0], velocity=[1.0])
    recording = bag.load()
    assert recording.counts['messages whose lengths differ dropped'] == 3
    assert len(recording.channel('position').t) == 200


def test_04_joints_in_another_order_are_mapped_by_name_in_every_message(bag):
    for k in range(100):
        if k % 3:
            bag.add(k, [1.0 + k, -1.0 - k], effort=[1.0, 2.0])
        else:
            bag.add(k, [-1.0 - k, 1.0 + k], effort=[2.0, 1.0], names=('b', 'a'))
    recording = bag.load()
    expected = 1.0 + np.arange(100)
    np.testing.assert_array_equal(
        recording.channel('position').values, np.stack([expected, -expected], axis=1))
    np.testing.assert_array_equal(recording.channel('effort').values, [[1.0, 2.0]] * 100)


def test_05_joints_split_over_several_messages_are_merged_with_a_stamp_each(bag):
    for k in range(300):
        bag.add(k, [np.sin(0.01 * k)], names=('a',))
        stamp = START + k * STEP + STEP // 2
        bag.add(k, [np.sin(0.01 * (k + 0.5))], names=('b',), stamp=stamp, received=stamp + 1000)
    recording = bag.load()
    first, second = recording.channels_of('position')
    assert (first.names, second.names) == (('a',), ('b',))
    assert second.t[0] - first.t[0] == pytest.approx(0.005)
    data = align(recording, JOINTS, Processing())
    expected = np.sin(data.t)
    np.testing.assert_allclose(data.q, np.stack([expected, expected], axis=1), atol=1e-6)
    assert data.mask.all()


def test_05_a_joint_that_is_never_there_is_refused_with_the_joints_that_are(bag):
    with pytest.raises(RecordingError, match='joints are not on /joint_states: c.*found a, b'):
        bag.fill().load(joints=('a', 'c'))


def test_06_unknown_joints_are_ignored_and_listed_once(bag):
    for k in range(100):
        bag.add(k, [1.0, np.nan, 2.0], names=('a', 'gripper', 'b'))
    recording = bag.load()
    assert recording.channel('position').names == JOINTS
    assert [text for text in recording.warnings if 'gripper' in text] == [
        'joints in the bag that were ignored: gripper']


def test_07_messages_that_name_a_joint_twice_are_rejected(bag):
    bag.fill()
    bag.add(200, [1.0, 2.0, 3.0], names=('a', 'b', 'a'))
    recording = bag.load()
    assert recording.counts['messages with a joint named twice rejected'] == 1
    assert len(recording.channel('position').t) == 200


def test_08_of_equal_stamps_the_first_is_kept_and_the_others_counted(bag):
    bag.fill()
    bag.add(100, [7.0, 7.0], received=START + 100 * STEP + 2000)
    recording = bag.load()
    assert recording.counts['samples with a repeated stamp dropped'] == 1
    np.testing.assert_allclose(recording.channel('position').values[100, 0], np.sin(1.0))


def test_09_stamps_out_of_order_in_a_bag_are_sorted_and_counted(bag):
    bag.fill()
    late = START + 90 * STEP + STEP // 2
    bag.add(0, [9.0, 9.0], stamp=late, received=START + 100 * STEP + 2000)
    recording = bag.load()
    assert recording.counts['stamps out of order sorted'] == 1
    position = recording.channel('position')
    assert position.values[91, 0] == 9.0
    assert position.t[91] == pytest.approx(0.905)
    assert recording.breaks == ()


def test_09_samples_of_a_driver_whose_stamps_jitter_keep_the_order_of_arrival(bag, rng):
    early = rng.normal(0.0, 0.5 * STEP, 200).astype(int)
    for k in range(200):
        bag.add(k, [np.sin(0.01 * k), np.cos(0.01 * k)], stamp=START + k * STEP + int(early[k]))
    recording = bag.load()
    position = recording.channel('position')
    np.testing.assert_array_equal(position.values[:, 0], np.sin(0.01 * np.arange(200)))
    assert (np.diff(position.t) > 0.0).all()
    words = 'stamps out of order, samples kept in the order of arrival'
    assert set(recording.counts) == {words} and recording.counts[words] > 5


def test_09_samples_that_overtook_each_other_are_sorted_by_their_stamps(bag, rng):
    for k in range(200):
        bag.add(k, [np.sin(0.01 * k), np.cos(0.01 * k)],
                received=START + k * STEP + int(rng.uniform(0.0, 3.0 * STEP)))
    bag.messages.sort(key=lambda message: message[1])
    recording = bag.load()
    np.testing.assert_array_equal(
        recording.channel('position').values[:, 0], np.sin(0.01 * np.arange(200)))
    assert recording.counts['stamps out of order sorted'] > 5


def test_10_zero_stamps_are_refused_unless_reception_is_to_be_used(bag):
    bag.fill(stamp=0)
    with pytest.raises(RecordingError, match='zero stamp.*found 200 of 200.*stamps: receive'):
        bag.load()
    section = {'format': 'rosbag', 'file': 'bag', 'joints': list(JOINTS), 'stamps': 'receive'}
    recording = load_recording(parse_settings(RecordingSettings, section, 'r'), bag.folder)
    np.testing.assert_allclose(recording.channel('position').t, np.arange(200) * 0.01, atol=1e-9)


def test_10_a_first_message_without_a_stamp_is_one_that_is_dropped(bag):
    bag.add(0, [9.0, 9.0], stamp=0)
    for k in range(1, 200):
        bag.add(k, [np.sin(0.01 * k), np.cos(0.01 * k)])
    recording = bag.load()
    assert recording.counts['messages with a zero stamp dropped'] == 1
    position = recording.channel('position')
    assert len(position.t) == 199
    assert position.values.max() <= 1.0
    assert recording.breaks == ()


def test_72_stamps_that_count_from_zero_are_read_with_the_first(tmp_path):
    t = np.arange(200) * 0.01
    q = np.stack([np.sin(t), np.cos(t)], axis=1)
    write_bag(tmp_path / 'bag', t, JOINTS, q, q, q, start=0.0)
    section = {'format': 'rosbag', 'file': 'bag', 'joints': list(JOINTS)}
    recording = load_recording(parse_settings(RecordingSettings, section, 'r'), tmp_path)
    assert recording.start == 0.0
    assert (dict(recording.counts), recording.warnings) == ({}, ())
    np.testing.assert_allclose(recording.channel('position').t, t, atol=1e-9)
    np.testing.assert_array_equal(recording.channel('position').values, q)


def test_11_stamps_far_from_reception_are_warned_of_then_refused(tmp_path):
    for name, seconds in (('near', 2), ('far', 20)):
        folder = tmp_path / name
        folder.mkdir()
        bag = Bag(folder)
        for k in range(100):
            stamp = START + k * STEP
            bag.add(k, [1.0, 2.0], stamp=stamp, received=stamp + seconds * 10 ** 9)
        if name == 'near':
            recording = bag.load()
            assert recording.counts['stamps far from the time of reception'] == 100
            assert any('more than 1 s' in warning for warning in recording.warnings)
        else:
            with pytest.raises(RecordingError, match='found 20 s; allowed 10 s'):
                bag.load()
            section = {'format': 'rosbag', 'file': 'bag', 'clock_limit': 60.0}
            load_recording(parse_settings(RecordingSettings, section, 'r'), folder)


def test_12_a_clock_that_jumps_back_closes_the_segment_and_time_goes_on(bag):
    bag.fill(300)
    for k in range(300, 600):
        bag.add(k, [np.sin(0.01 * k), np.cos(0.01 * k)], stamp=START + (k - 300) * STEP)
    recording = bag.load()
    position = recording.channel('position')
    np.testing.assert_allclose(position.t, np.arange(600) * 0.01, atol=1e-8)
    assert recording.breaks == pytest.approx((2.99,))
    assert any('jumped back at 2.990 s' in warning for warning in recording.warnings)
    data = align(recording, JOINTS, Processing())
    assert data.segments == ((0, 300), (300, 600))


def test_12_a_table_whose_clock_jumps_back_is_split_too(tmp_path):
    t = np.concatenate([np.arange(300), np.arange(300)]) * 0.01
    np.savez(tmp_path / 'x.npz', t=t, q=np.sin(np.arange(600) * 0.01))
    section = {'format': 'npz', 'file': 'x.npz', 'joints': ['a'], 'time': {'array': 't'},
               'position': {'array': 'q'}, 'effort': {'array': 'q'}}
    recording = load_recording(parse_settings(RecordingSettings, section, 'r'), tmp_path)
    np.testing.assert_allclose(recording.channel('position').t, np.arange(600) * 0.01, atol=1e-8)
    assert align(recording, ('a',), Processing()).segments == ((0, 300), (300, 600))


def test_12_two_clocks_on_one_topic_are_refused(bag):
    for k in range(600):
        late = (k // 10) % 2 * 5 * 10 ** 9
        bag.add(k, [1.0, 2.0], stamp=START + k * STEP - late)
    with pytest.raises(RecordingError, match='jumps back again and again'):
        bag.load()


def test_13_segments_are_split_at_gaps_and_never_interpolated_across():
    t = np.arange(1000) * 0.01
    t = t[(t < 3.0) | (t > 4.0)]
    data = align(sampled(t), JOINTS, Processing())
    assert data.segments == ((0, 300), (300, 899))
    assert not ((data.t > 3.0) & (data.t < 4.0)).any()
    np.testing.assert_allclose(data.q[:, 0], np.sin(data.t), atol=1e-12)
    np.testing.assert_allclose(data.v[:, 0], np.cos(data.t), atol=1e-4)
    assert any('split into 2 segments' in warning for warning in data.warnings)


@pytest.mark.parametrize('jitter', [0.1, 0.4])
def test_13_jitter_of_the_period_splits_nothing_and_moves_no_sample(rng, jitter):
    t = (np.arange(2000) + jitter * rng.uniform(-1.0, 1.0, 2000)) * 0.01
    data = align(sampled(t), JOINTS, Processing())
    assert len(data.segments) == 1
    # What was measured belongs to its own stamp, wherever the common clock puts its samples.
    np.testing.assert_allclose(data.q[:, 0], np.sin(data.t), atol=3e-4)
    np.testing.assert_allclose(data.tau[:, 1], 3 * np.cos(2 * data.t), atol=3e-3)
    np.testing.assert_allclose(data.v[:, 0], np.cos(data.t), atol=0.03)


def test_13_a_break_in_the_stamps_splits_even_without_a_gap():
    data = align(sampled(np.arange(1000) * 0.01, breaks=(4.995,)), JOINTS, Processing())
    assert data.segments == ((0, 500), (500, 1000))


def test_13_a_rate_below_the_bandwidth_needed_is_refused():
    t = np.arange(1000) * 0.01
    with pytest.raises(RecordingError, match='too slow.*found 100 Hz; allowed at least 250 Hz'):
        align(sampled(t), JOINTS, Processing(minimum_rate=250.0))
    with pytest.raises(ConfigurationError, match='cut-off is not below half the sampling rate'):
        align(sampled(t), JOINTS, Processing(position_filter=LowPass(cutoff=80.0)))


@pytest.mark.parametrize('until', [420, 1000])
def test_14_a_position_that_is_stuck_in_motion_is_warned_of_and_masked(until):
    t = np.arange(1000) * 0.01
    q = np.stack([np.sin(t), np.cos(2 * t)], axis=1)
    q[360:until, 1] = q[360, 1]
    data = align(sampled(t, q=q), JOINTS, Processing())
    # Two differentiations reach two samples farther to either side.
    expected = np.arange(358, min(until + 2, 1000))
    np.testing.assert_array_equal(np.flatnonzero(~data.mask[:, 0]), expected)
    np.testing.assert_array_equal(data.mask[:, 0], data.mask[:, 1])
    assert data.counts['stuck sensors masked'] == 1
    assert any("position of joint 'b' is stuck from 3.600 s" in text for text in data.warnings)


@pytest.mark.parametrize('bits', [12, 16, 20, 50])
@pytest.mark.parametrize('smooth', [True, False])
def test_14_an_encoder_at_rest_is_not_taken_for_a_stuck_one(bits, smooth):
    # Up, rest, down, rest, by minimum-jerk profiles or at constant speed, on any encoder.
    t = np.arange(6000) * 0.005
    phase = np.stack([t, t + 1.3], axis=1) / 5.0
    s = np.clip(2.5 * (phase % 1.0), 0.0, 1.0)
    profile = s ** 3 * (10 - 15 * s + 6 * s ** 2) if smooth else s
    q = np.where(np.floor(phase) % 2 == 0, profile, 1 - profile)
    step = 2 * np.pi / 2 ** bits
    tau = np.stack([np.cos(3 * t), np.sin(5 * t)], axis=1)
    data = align(sampled(t, q=np.round(q / step) * step, tau=tau), JOINTS, Processing())
    assert [text for text in data.warnings if 'stuck' in text] == []
    assert data.mask.all()


def test_14_a_torque_that_is_stuck_in_motion_is_masked_for_its_joint_only():
    t = np.arange(1000) * 0.01
    tau = np.stack([np.sin(t), np.cos(t)], axis=1)
    tau[500:600, 0] = tau[500, 0]
    data = align(sampled(t, tau=tau), JOINTS, Processing())
    np.testing.assert_array_equal(np.flatnonzero(~data.mask[:, 0]), np.arange(500, 600))
    assert data.mask[:, 1].all()


@pytest.mark.parametrize('noise', [0.0, 0.3])
def test_14_a_coarse_current_is_not_taken_for_a_stuck_sensor(rng, noise):
    t = np.arange(4000) * 0.005
    tau = np.stack([3.0 * np.sin(0.5 * t), np.cos(t)], axis=1)
    tau[:, 0] = 0.5 * np.round((tau[:, 0] + noise * rng.normal(size=len(t))) / 0.5)
    data = align(sampled(t, tau=tau), JOINTS, Processing())
    assert data.mask.all()
    # One that sticks leaves its value by more than a step.
    tau[1000:1400, 0] = tau[1000, 0]
    assert not align(sampled(t, tau=tau), JOINTS, Processing()).mask[1000:1400, 0].any()


def test_14_a_command_that_is_held_is_not_taken_for_a_stuck_sensor():
    t = np.arange(4000) * 0.005
    tau = np.stack([np.sin(np.floor(t / 0.4)), np.cos(t)], axis=1)
    assert align(sampled(t, tau=tau), JOINTS, Processing()).mask.all()


def test_15_encoder_wrap_is_undone_on_continuous_joints_only():
    t = np.arange(1000) * 0.01
    wrapped = np.stack([np.angle(np.exp(2j * t)), np.angle(np.exp(2j * t))], axis=1)
    data = align(sampled(t, q=wrapped), JOINTS, Processing(), continuous=frozenset({'b'}))
    np.testing.assert_allclose(data.q[:, 1], 2 * t, atol=1e-12)
    assert np.abs(data.q[:, 0]).max() <= np.pi


@pytest.mark.parametrize('key', ['columns', 'unit', 'sign', 'scale', 'offset'])
def test_27_a_per_joint_list_of_the_wrong_length_is_refused_with_expected_and_found(key):
    value = {'columns': ['x'], 'unit': ['rad'], 'sign': [1], 'scale': [1.0], 'offset': [0.0]}[key]
    section = {'format': 'csv', 'file': 'x.csv', 'joints': ['a', 'b', 'c'], 'time': {'rate': 1.0},
               'position': {key: value}}
    with pytest.raises(ConfigurationError, match=f'position.{key}.*found 1 values; allowed 3'):
        parse_settings(RecordingSettings, section, 'recording')


@pytest.mark.parametrize('transmission', [
    {'ratios': [1.0, 2.0]}, {'motor_per_joint': [[1.0, 0.0], [0.0, 1.0]]}])
def test_27_a_transmission_for_another_number_of_joints_is_refused(transmission):
    section = {'format': 'csv', 'file': 'x.csv', 'joints': ['a', 'b', 'c'], 'time': {'rate': 1.0},
               'position': {}, 'transmission': transmission}
    with pytest.raises(ConfigurationError, match='transmission.*found 2 values; allowed 3'):
        parse_settings(RecordingSettings, section, 'recording')


def load(folder, **changes):
    section = {'format': 'rosbag', 'file': 'bag', 'joints': list(JOINTS)} | changes
    return load_recording(parse_settings(RecordingSettings, section, 'r'), folder)


def test_47_a_bag_with_a_wrong_checksum_is_one_clear_error_and_salvaged_only_when_asked(tmp_path):
    t = np.arange(20_000) * 1e-3
    q = np.stack([np.sin(t), np.cos(t)], axis=1)
    write_bag(tmp_path / 'bag', t, JOINTS, q, q, q)
    path = tmp_path / 'bag' / 'bag.mcap'
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 2] ^= 4
    path.write_bytes(damaged)
    with pytest.raises(RecordingError, match=r'bag.mcap.*bag is damaged: the checksum') as caught:
        load(tmp_path)
    assert '\n' not in str(caught.value)
    data = align(load(tmp_path, salvage=True), JOINTS, Processing())
    assert any('salvaged from a damaged bag' in warning for warning in data.warnings)
    assert len(data.segments) > 1 or len(data) < len(t)


def test_48_a_missing_topic_is_refused_with_the_topics_there_are(bag):
    bag.fill(topic='/left/joint_states')
    with pytest.raises(
        RecordingError,
        match=r'no topic /joint_states.*/left/joint_states \(sensor_msgs/msg/JointState, 200\)',
    ):
        bag.load()


def test_48_a_topic_of_another_type_is_refused(tmp_path):
    with Writer(tmp_path / 'bag', version=9, storage_plugin=StoragePlugin.SQLITE3) as writer:
        kind = 'std_msgs/msg/String'
        connection = writer.add_connection('/joint_states', kind, typestore=TYPES)
        text = TYPES.types[kind]('hello')
        writer.write(connection, START, TYPES.serialize_cdr(text, kind))
    with pytest.raises(RecordingError, match=r'wrong type.*std_msgs/msg/String, 1.*JointState'):
        load(tmp_path)


def test_48_the_bag_of_another_robot_is_refused_with_its_joints(bag):
    with pytest.raises(RecordingError, match='found shoulder, elbow.*this robot'):
        bag.fill(names=('shoulder', 'elbow')).load()


@pytest.mark.parametrize('count', [0, 1])
def test_49_an_empty_bag_is_refused_with_what_is_needed(tmp_path, count):
    t = np.arange(float(count))
    write_bag(tmp_path / 'bag', t, JOINTS, np.zeros((count, 2)))
    with pytest.raises(RecordingError, match=f'found {count} usable messages.*allowed at least 2'):
        load(tmp_path)


def test_49_a_recording_too_short_for_its_filters_is_refused_with_what_is_needed():
    processing = Processing(position_filter=LowPass(cutoff=2.0))
    needed = processing.needed(100.0) / 100.0
    with pytest.raises(RecordingError, match=f'found 0.49 s; allowed at least {needed:.4g} s'):
        align(sampled(np.arange(50) * 0.01), JOINTS, processing)


def test_55_nan_anywhere_in_a_data_set_is_found_with_joint_and_time():
    t = np.arange(10) * 0.1
    for name, word in (
        ('q', 'position'), ('v', 'velocity'), ('a', 'acceleration'), ('tau', 'torque')
    ):
        arrays = {key: np.zeros((10, 2)) for key in ('q', 'v', 'a', 'tau')}
        arrays[name][7, 1] = np.nan
        with pytest.raises(RecordingError, match=f"{word} of joint 'b'.*nan at 0.700000 s"):
            Dataset(JOINTS, t, **arrays, mask=np.ones((10, 2)), segments=((0, 10),), rate=10.0)
