"""Bags aligned window by window against the same bags aligned at once."""

import itertools

import numpy as np
import pytest

from sysid_ros.errors import RecordingError
from sysid_ros.recording.bag.long_bag import LongBag, is_long
from sysid_ros.recording.bag.write import write_bag, write_bag_in_blocks
from sysid_ros.recording.description import RecordingSettings
from sysid_ros.recording.load import load_recording
from sysid_ros.recording.processing.align import align
from sysid_ros.recording.processing.differentiation import SavitzkyGolay
from sysid_ros.recording.processing.low_pass import LowPass
from sysid_ros.recording.processing.settings import Processing
from sysid_ros.recording.processing.windows import AlignedWindows, without_repetition

JOINTS = ('a', 'b')
RATE = 200.0
LIMIT = 1.05  # MB, for windows of 6 s: a tenth of the bag needs 0.7, and half as much is made ahead


@pytest.fixture
def described():
    def settings(**changes):
        section = {'format': 'rosbag', 'file': 'bag', 'joints': JOINTS, 'memory_limit': LIMIT}
        return RecordingSettings(**(section | changes))
    return settings


def motion(t):
    return np.stack([np.sin(0.9 * t), 0.8 * np.cos(1.7 * t + 0.3)], axis=1)


def recorded(folder, t=None, q=None, tau=None, storage='mcap', **more):
    t = np.arange(0.0, 60.0, 1 / RATE) if t is None else t
    noise = 0.01 * np.random.default_rng(0).normal(size=(len(t), 2))
    v = np.gradient(motion(t), t, axis=0)
    write_bag(
        folder / 'bag', t, JOINTS, motion(t) if q is None else q, v,
        3.0 * motion(t + 0.1) + noise if tau is None else tau, start=1.7e9, storage=storage, **more)


def both_ways(settings, folder, processing, continuous=frozenset(), **part):
    """The data set made at once, and that made of windows, of which there are several."""
    whole = align(load_recording(settings, folder), JOINTS, processing, continuous)
    assert is_long(settings, folder)
    windows = AlignedWindows(
        LongBag.survey(settings, folder), JOINTS, processing, continuous, {}, **part)
    return whole, windows, list(windows)


def assert_same(whole, parts):
    for name in ('t', 'q', 'v', 'a', 'tau'):
        joined = np.concatenate([getattr(part.dataset, name) for part in parts])
        expected = getattr(whole, name)
        np.testing.assert_allclose(joined, expected, rtol=0, atol=1e-9 * np.ptp(expected))
    np.testing.assert_array_equal(
        np.concatenate([part.dataset.mask for part in parts]), whole.mask)
    assert segments_of(parts) == whole.segments


def segments_of(parts):
    """Segments of the whole that parts make up."""
    starts, row = [], 0
    for part in parts:
        first = 1 if part.goes_on else 0
        starts += [row + start for start, _ in part.dataset.segments[first:]]
        row += len(part.dataset)
    return tuple(itertools.pairwise([*starts, row]))


@pytest.fixture(scope='module')
def recorded_once(tmp_path_factory):
    """Folders of the bag in both storages."""
    folders = {}
    for storage in ('mcap', 'sqlite3'):
        folders[storage] = tmp_path_factory.mktemp(storage)
        recorded(folders[storage], storage=storage)
    return folders


@pytest.mark.parametrize('storage', ['mcap', 'sqlite3'])
@pytest.mark.parametrize('processing', [
    Processing(),
    Processing(position_filter=LowPass(cutoff=12.0), velocity_filter=LowPass(cutoff=15.0, order=2),
               acceleration_filter=LowPass(cutoff=20.0)),
    Processing(differentiation='savitzky_golay', savitzky_golay=SavitzkyGolay(window=0.1)),
    Processing(differentiation='measured', median_window=5, torque_delay={'b': 0.0123}),
    Processing(differentiation='central4', trim=(1.5, 2.5), rate=250.0),
], ids=['differences', 'filters', 'polynomials', 'measured and delayed', 'trimmed, resampled'])
def test_windows_together_are_the_data_set_made_at_once(
    recorded_once, described, processing, storage
):
    whole, windows, parts = both_ways(described(), recorded_once[storage], processing)
    assert len(parts) >= 4
    assert all(part.goes_on for part in parts[1:])
    assert_same(whole, parts)
    assert sorted(windows.warnings[1:]) == sorted(whole.warnings)
    assert f'read in {len(parts)} windows' in windows.warnings[0]


def test_gaps_jitter_missing_samples_and_resets_are_met_as_at_once(tmp_path, described, rng):
    t = np.arange(0.0, 60.0, 1 / RATE)
    t = np.delete(t, [*range(2000, 2300), 5000, *range(7777, 7790), *range(9000, 9100)])
    t += 1e-5 * rng.uniform(-1, 1, len(t))
    tau = 3.0 * motion(t)
    tau[4000:4100, 1] = np.nan
    q = motion(t)
    q[6000, 0] = np.nan
    recorded(tmp_path, t, q, tau)
    whole, _, parts = both_ways(described(), tmp_path, Processing(position_filter=LowPass(
        cutoff=20.0)))
    assert len(whole.segments) == 4
    assert_same(whole, parts)


def test_a_reset_of_the_clock_splits_windows_as_it_splits_the_whole(tmp_path, described):
    t = np.arange(0.0, 60.0, 1 / RATE)
    back = np.where(t < 31.0, t, t - 20.0)
    # What the bag says is the time of reception goes on; stamps jump back.
    blocks = [(back[rows], motion(t[rows]), None, 3 * motion(t[rows]))
              for rows in (t < 31.0, t >= 31.0)]
    stamped(tmp_path, t, blocks)
    whole, windows, parts = both_ways(
        described(clock_limit=100.0, clock_warning=100.0), tmp_path, Processing())
    assert len(whole.segments) == 2
    assert_same(whole, parts)
    assert sum('the clock jumped back' in warning for warning in windows.warnings) == 1


def stamped(folder, received, blocks):
    """A bag whose times of reception are others than its stamps."""
    from rosbags.rosbag2 import Reader, StoragePlugin, Writer
    from rosbags.typesys import Stores, get_typestore

    write_bag_in_blocks(folder / 'raw', JOINTS, blocks[:1], start=1.7e9)
    write_bag_in_blocks(folder / 'raw2', JOINTS, blocks[1:], start=1.7e9)
    with Writer(folder / 'bag', version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        connection = writer.add_connection(
            '/joint_states', 'sensor_msgs/msg/JointState',
            typestore=get_typestore(Stores.ROS2_HUMBLE))
        times = iter(received.tolist())
        for name in ('raw', 'raw2'):
            with Reader(folder / name) as reader:
                for _, _, data in reader.messages(reader.connections):
                    writer.write(connection, round((1.7e9 + next(times)) * 1e9), data)


def test_encoders_that_wrap_go_on_from_window_to_window(tmp_path, described):
    t = np.arange(0.0, 60.0, 1 / RATE)
    turning = np.stack([2.0 * t + np.sin(t), motion(t)[:, 1]], axis=1)
    recorded(tmp_path, t, np.angle(np.exp(1j * turning)))
    whole, _, parts = both_ways(described(), tmp_path, Processing(), frozenset({'a'}))
    assert whole.q[:, 0].max() > 100.0
    assert_same(whole, parts)


def test_stuck_sensors_are_masked_in_whatever_window_they_stick(tmp_path, described):
    t = np.arange(0.0, 60.0, 1 / RATE)
    q, tau = motion(t), 3.0 * motion(t)
    q[3000:3200, 1] = q[3000, 1]
    tau[8000:8300, 0] = tau[8000, 0]
    recorded(tmp_path, t, q, tau)
    whole, windows, parts = both_ways(described(), tmp_path, Processing())
    assert whole.counts['stuck sensors masked'] == 2
    assert_same(whole, parts)
    assert sum('is stuck from' in warning for warning in windows.warnings) == 2


def test_a_part_of_a_bag_sees_nothing_of_the_rest(tmp_path, described):
    recorded(tmp_path)
    processing = Processing(position_filter=LowPass(cutoff=5.0))
    _, _, first = both_ways(described(), tmp_path, processing, stop=0.6)
    t = np.arange(0.0, 60.0, 1 / RATE)
    other = motion(t)
    other[t >= 0.6 * t[-1]] = 7.0
    for file in (tmp_path / 'bag').iterdir():
        file.unlink()
    (tmp_path / 'bag').rmdir()
    recorded(tmp_path, t, other)
    _, _, again = both_ways(described(), tmp_path, processing, stop=0.6)
    for one, two in zip(first, again, strict=True):
        np.testing.assert_array_equal(one.dataset.q, two.dataset.q)
    assert first[-1].dataset.t[-1] < 0.6 * t[-1]


def test_a_window_of_no_use_is_left_out_and_said(tmp_path, described):
    t = np.arange(0.0, 60.0, 1 / RATE)
    tau = 3.0 * motion(t)
    tau[:4000] = np.nan
    recorded(tmp_path, t, tau=tau)
    whole, windows, parts = both_ways(described(), tmp_path, Processing())
    lost = [warning for warning in windows.warnings if 'could not be used' in warning]
    assert len(lost) == 1
    assert 'no effort was recorded for a, b' in lost[0]
    rows = whole.t >= parts[0].dataset.t[0]
    np.testing.assert_allclose(
        np.concatenate([part.dataset.v for part in parts]), whole.v[rows], atol=1e-9)


def test_a_bag_of_no_use_is_refused_for_the_reason_it_is_refused_at_once(tmp_path, described):
    t = np.arange(0.0, 60.0, 1 / RATE)
    recorded(tmp_path, t, tau=np.full((len(t), 2), np.nan))
    bag = LongBag.survey(described(), tmp_path)
    windows = AlignedWindows(bag, JOINTS, Processing(), frozenset(), {})
    for use in (windows.sample, lambda: list(windows)):
        with pytest.raises(RecordingError, match='no effort was recorded for a, b'):
            use()
    with pytest.raises(RecordingError, match='too slow.*found 200 Hz; allowed at least 500 Hz'):
        AlignedWindows(bag, JOINTS, Processing(minimum_rate=500.0), frozenset(), {})
    with pytest.raises(RecordingError, match='none of the joints.*found a, b; allowed c'):
        AlignedWindows(bag, ('c',), Processing(), frozenset(), {})


def test_a_bag_that_changes_while_it_is_read_is_refused(tmp_path, described):
    recorded(tmp_path)
    bag = LongBag.survey(described(), tmp_path)
    for file in (tmp_path / 'bag').iterdir():
        file.unlink()
    (tmp_path / 'bag').rmdir()
    t = np.arange(0.0, 60.0, 1 / RATE)
    recorded(tmp_path, np.delete(t, slice(100, 200)))
    with pytest.raises(RecordingError, match='has changed while it was read'):
        bag.between(0.0, 10.0)
    with pytest.raises(RecordingError, match='there is no sample.*none in 70 s to 80 s'):
        bag.between(70.0, 80.0)


def test_only_bags_that_need_more_than_the_limit_are_long(tmp_path, described):
    assert not is_long(described(), tmp_path)  # there is none: reading it will say so
    recorded(tmp_path)
    assert is_long(described(), tmp_path)
    assert not is_long(described(memory_limit=10.0), tmp_path)
    assert not is_long(described(salvage=True), tmp_path)
    table = RecordingSettings(
        format='npz', joints=JOINTS, file='x', time={'rate': 1.0}, position={'array': 'q'})
    assert not is_long(table, tmp_path)


def test_sentences_that_differ_in_numbers_only_are_said_once():
    found = without_repetition([
        "the torque of joint 'joint_1' saturates at 3.5: 1e-2 % of its samples are masked",
        "the torque of joint 'joint_1' saturates at 4: 2 % of its samples are masked",
        "the torque of joint 'joint_2' saturates at 4: 2 % of its samples are masked",
        'something else', 'something else',
    ])
    assert found == (
        "the torque of joint 'joint_1' saturates at 3.5: 1e-2 % of its samples are masked "
        '(and 1 times more)',
        "the torque of joint 'joint_2' saturates at 4: 2 % of its samples are masked",
        'something else',
    )
