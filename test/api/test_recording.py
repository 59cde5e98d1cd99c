"""Recordings of the front door: what each kind says of itself, and what is refused."""

import numpy as np
import pytest

from sysid_ros.api.recording import Recording
from sysid_ros.errors import ConfigurationError, RecordingError
from sysid_ros.recording.description import RecordingSettings
from sysid_ros.recording.load import load_recording

T = np.arange(50) / 100.0
Q = np.column_stack([np.sin(T), np.cos(T)])
TAU = 3.0 * Q
JOINTS = ('shoulder', 'elbow')


class Frame(dict):
    """Columns by name, with an index, as data frames have."""

    index = T


def channels(recording, folder, joints=JOINTS):
    """What a fit reads of a recording: positions and efforts."""
    recording.write(folder / 'recording.npz')
    settings = RecordingSettings(**recording.described(joints))
    loaded = load_recording(settings, folder)
    return loaded, loaded.channel('position'), loaded.channel('effort')


def test_arrays_are_read_as_they_were_given(tmp_path):
    loaded, position, effort = channels(Recording.from_arrays(T, Q, TAU), tmp_path)
    assert loaded.joint_names == JOINTS
    assert np.array_equal(position.values, Q) and np.array_equal(effort.values, TAU)
    np.testing.assert_allclose(position.t, T)


def test_units_and_keys_of_the_recording_section_hold_for_arrays(tmp_path):
    recording = Recording.from_arrays(
        1e3 * T, np.degrees(Q), TAU, joints=JOINTS, units={'time': 'ms', 'position': 'deg'},
        effort={'sign': -1, 'unit': 'N·mm'})
    _, position, effort = channels(recording, tmp_path)
    np.testing.assert_allclose(position.t, T, atol=1e-12)
    np.testing.assert_allclose(position.values, Q)
    np.testing.assert_allclose(effort.values, -1e-3 * TAU)


def test_times_of_numpy_are_seconds_since_the_first(tmp_path):
    stamps = np.datetime64('2024-05-01T12:00') + np.round(1e9 * T).astype('timedelta64[ns]')
    _, position, _ = channels(Recording.from_arrays(stamps, Q, TAU), tmp_path)
    np.testing.assert_allclose(position.t, T, atol=1e-9)


def test_one_joint_may_be_a_vector():
    recording = Recording.from_arrays(T, Q[:, 0], TAU[:, 0], joints=['shoulder'])
    assert recording.arrays['q'].shape == recording.arrays['tau'].shape == (50, 1)


def test_what_was_given_may_change_afterwards(tmp_path):
    given = Q.copy()
    recording = Recording.from_arrays(T, given, TAU)
    given[:] = 0.0
    assert np.array_equal(channels(recording, tmp_path)[1].values, Q)


@pytest.mark.parametrize(('change', 'words'), [
    ({'q': Q.T, 'tau': TAU.T}, r'q does not fit.*\(2, 50\); allowed \(50, n\).*Transpose it: q.T'),
    ({'tau': TAU.T}, r'tau does not fit.*allowed \(50, 2\).*Transpose it: tau.T'),
    ({'tau': TAU[:40]}, r'found \(40, 2\); allowed \(50, 2\).*one row for each stamp'),
    ({'joints': ['shoulder']}, r'found \(50, 2\); allowed \(50, 1\), the joints being shoulder'),
    ({'q': Q[:, :, None]}, r'q has the wrong shape.*\(50, 2, 1\); allowed \(T, n\)'),
    ({'t': T[:, None]}, r't has the wrong shape.*allowed \(T,\)'),
    ({'q': [['a', 'b']] * 50}, 'q is no array of numbers'),
])
def test_arrays_that_do_not_fit_are_refused_with_their_shapes(change, words):
    with pytest.raises(RecordingError, match=words):
        Recording.from_arrays(**{'t': T, 'q': Q, 'tau': TAU} | change)


@pytest.mark.parametrize(('said', 'words'), [
    ({'units': {'time': 'sec'}}, 'time.unit'),
    ({'units': {'position': 'grad'}}, "position.unit.*found 'grad'"),
    ({'efort': {'sign': -1}}, "unknown key 'efort'.*Did you mean 'effort'"),
    ({'joints': ['elbow', 'elbow']}, 'a joint is named twice'),
])
def test_a_misspelt_key_is_refused_where_it_is_written(said, words):
    with pytest.raises(ConfigurationError, match=words):
        Recording.from_arrays(T, Q, TAU, **said)


def test_another_number_of_columns_than_joints_names_the_joints():
    recording = Recording.from_arrays(T, Q, TAU)
    with pytest.raises(RecordingError, match=r'found 2 columns; allowed 3: a, b, c.*joints=\[…\]'):
        recording.described(['a', 'b', 'c'])


def test_a_frame_names_its_joints_by_its_columns(tmp_path):
    frame = Frame({
        'time': 2.0 + T, 'q_elbow': Q[:, 1], 'tau_elbow': TAU[:, 1], 'q_shoulder': Q[:, 0],
        'tau_shoulder': TAU[:, 0]})
    recording = Recording.from_dataframe(frame, time='time')
    assert recording.joints == ('elbow', 'shoulder')
    _, position, effort = channels(recording, tmp_path)
    assert np.array_equal(position.column('shoulder'), Q[:, 0])
    assert np.array_equal(effort.column('elbow'), TAU[:, 1])
    by_index = Recording.from_dataframe(frame, time=None, joints=['elbow'])
    assert np.array_equal(by_index.arrays['t'], T)
    assert by_index.arrays['q'].shape == (50, 1)


@pytest.mark.parametrize(('options', 'words'), [
    ({'time': 'tme'}, "no column 'tme'.*Did you mean 'time'"),
    ({'time': 'time', 'position': 'angle_{joint}'}, 'no column holds a position'),
    ({'time': 'time', 'effort': 'tau'}, 'one column cannot be that of several joints'),
    ({'time': 'time', 'position': ['q_a', 'q_b']}, 'not said which joints'),
])
def test_columns_that_a_frame_has_not_are_named(options, words):
    frame = Frame(dict.fromkeys(('time', 'q_a', 'q_b', 'tau_a', 'tau_b'), T))
    with pytest.raises(RecordingError, match=words):
        Recording.from_dataframe(frame, **options)


def test_a_table_is_read_by_the_pattern_of_its_columns(tmp_path):
    np.savetxt(
        tmp_path / 'motion.csv', np.column_stack([T, Q, TAU]), delimiter=';', comments='',
        header='t;q_shoulder;q_elbow;f_shoulder;f_elbow')
    recording = Recording.from_csv(
        tmp_path / 'motion.csv', effort='f_{joint}', delimiter=';')
    assert recording.needs_joints
    _, position, effort = channels(recording, tmp_path)
    np.testing.assert_allclose(position.values, Q)
    np.testing.assert_allclose(effort.column('elbow'), TAU[:, 1])
    assert not (tmp_path / 'recording.npz').exists()


def test_a_bag_says_its_joints_itself():
    recording = Recording.from_bag('motion', topic='/arm/joint_states')
    assert not recording.needs_joints
    assert recording.described(())['topic'] == '/arm/joint_states'
    with pytest.raises(ConfigurationError, match="'delimiter' means nothing for .* 'rosbag'"):
        Recording.from_bag('motion', delimiter=';')
