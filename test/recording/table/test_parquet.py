"""Parquet files as recordings: numbers, lists of joints, times, and what is wrong in them."""

from __future__ import annotations

import json

import numpy as np
import pytest
import yaml

from support.driver_recordings import SERVOS
from sysid_ros.api.recording import Recording
from sysid_ros.errors import ConfigurationError, RecordingError
from sysid_ros.recording.description import RecordingSettings
from sysid_ros.recording.guess.evidence import OpenQuestionsError
from sysid_ros.recording.guess.table_head import read_head
from sysid_ros.recording.load import load_recording
from sysid_ros.recording.table import parquet_reader
from sysid_ros.recording.table.parquet_reader import read_parquet_array, read_parquet_headers
from sysid_ros.robot.model import RobotModel
from sysid_ros.runs.initial_settings import initial_settings

arrow = pytest.importorskip('pyarrow', reason='Parquet needs pyarrow: pip install pyarrow')
parquet = pytest.importorskip('pyarrow.parquet')

Q = np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6], [0.7, 0.8]])
T = np.array([0.0, 0.1, 0.2, 0.3])


def write(path, **columns):
    """A file of columns, in several groups of rows."""
    table = arrow.table(columns)
    parquet.write_table(table, path, row_group_size=max(2, len(table) // 2))
    return path


def settings(**changes):
    return RecordingSettings(**{
        'format': 'parquet', 'file': 'x.parquet', 'joints': ['a', 'b'],
        'time': {'array': 't'}, 'position': {'array': 'q'}} | changes)


@pytest.mark.parametrize('kind', [
    None, arrow.list_(arrow.float32()), arrow.list_(arrow.float64(), 2),
    arrow.large_list(arrow.float64())], ids=str)
def test_a_list_in_every_row_is_an_array_of_joints(tmp_path, kind):
    write(tmp_path / 'x.parquet', t=T, q=arrow.array(Q.tolist(), type=kind), tau=-T)
    recording = load_recording(settings(), tmp_path)
    np.testing.assert_allclose(recording.channel('position').values, Q, rtol=1e-6)
    np.testing.assert_allclose(recording.channel('position').t, T)
    swapped = load_recording(settings(position={'array': 'q', 'columns': [1, 0]}), tmp_path)
    np.testing.assert_allclose(swapped.channel('position').values, Q[:, ::-1], rtol=1e-6)


def test_times_are_seconds_and_what_is_missing_is_no_number(tmp_path):
    stamps = np.array(['2026-01-01T00:00:00', '2026-01-01T00:00:00.25', 'NaT'], dtype='M8[us]')
    path = write(
        tmp_path / 'x.parquet', at=stamps, since=stamps - stamps[0],
        whole=arrow.array([1, None, 3]), word=['x', 'y', 'z'])
    at = read_parquet_array(path, 'at')[:, 0]
    assert at[0] == np.datetime64('2026-01-01').astype('M8[s]').astype(float)
    np.testing.assert_allclose(np.diff(at), [0.25, np.nan], atol=1e-6)
    np.testing.assert_allclose(read_parquet_array(path, 'since')[:, 0], [0.0, 0.25, np.nan])
    np.testing.assert_array_equal(read_parquet_array(path, 'whole')[:, 0], [1.0, np.nan, 3.0])
    with pytest.raises(RecordingError, match='word: is not a table of real numbers'):
        read_parquet_array(path, 'word')


def test_columns_beside_nested_ones_keep_their_sizes(tmp_path):
    path = write(
        tmp_path / 'x.parquet', pose=[{'x': 1.0, 'y': [1.0, 2.0]}] * 4, q=Q.tolist(), t=T,
        frames=[[[1, 2]], [[3]], [], [[4]]])
    shapes = {name: header.shape for name, header in read_parquet_headers(path).items()}
    assert shapes['q'] == (4, 2) and shapes['t'] == (4,)
    head = read_head(path, 'parquet')
    assert head.names == ('q[0]', 'q[1]', 't')
    np.testing.assert_allclose(head.values[1], Q[:, 1])


def test_lists_of_different_lengths_are_refused(tmp_path):
    for rows in ([[1.0, 2.0], [1.0], [1.0, 2.0, 3.0]], [[1.0], []], [[1.0, 2.0, 3.0], []]):
        path = write(tmp_path / 'x.parquet', q=rows)
        with pytest.raises(RecordingError, match='q: (is not a table|lists of a column are not)'):
            read_parquet_array(path, 'q')


@pytest.mark.parametrize('change, match', [
    ({'position': {'array': 'p'}}, "there is no array 'p'.*found t, q"),
    ({'position': {'array': 'q', 'columns': [0, 2]}}, 'no such column.*found 2; allowed.*0 to 1'),
    ({'position': {'array': 't'}}, 'another number of columns.*found 1 columns'),
    ({'time': {'array': 'q'}, 'position': {'array': 'many'}}, 'there is no array'),
])
def test_wrong_names_and_columns_are_named(tmp_path, change, match):
    write(tmp_path / 'x.parquet', t=T, q=Q.tolist())
    with pytest.raises(RecordingError, match=match):
        load_recording(settings(**change), tmp_path)


def test_settings_of_other_formats_are_refused():
    with pytest.raises(ConfigurationError, match="'delimiter' means nothing for .*'parquet'"):
        settings(delimiter=';')
    with pytest.raises(ConfigurationError, match="position: the key 'array' is missing"):
        settings(position={'columns': [0, 1]})


def test_damage_is_one_clear_error(tmp_path):
    path = write(tmp_path / 'x.parquet', t=T, q=Q.tolist())
    whole = path.read_bytes()
    for cut in (5, len(whole) // 2, len(whole) - 4):
        path.write_bytes(whole[:cut])
        with pytest.raises(RecordingError, match=r'x\.parquet: cannot be read'):
            load_recording(settings(), tmp_path)
    path.write_text('t,q\n0,1\n')
    with pytest.raises(RecordingError, match='x.parquet'):
        load_recording(settings(), tmp_path)


def test_a_small_file_of_very_many_numbers_is_refused(tmp_path):
    count = 4_000_000
    path = write(tmp_path / 'x.parquet', t=np.zeros(count), q=np.zeros(count))
    assert path.stat().st_size < 300_000
    with pytest.raises(RecordingError, match='unpack to more than is allowed'):
        load_recording(settings(joints=['a'], memory_limit=20), tmp_path)


def test_without_pyarrow_it_says_how_to_go_on(tmp_path, monkeypatch):
    path = write(tmp_path / 'x.parquet', t=T)
    monkeypatch.setattr(parquet_reader.importlib.util, 'find_spec', lambda name: None)
    with pytest.raises(RecordingError, match='pip install pyarrow, or save the table as CSV'):
        read_parquet_headers(path)


def data_set(folder, names):
    """An episode of LeRobot, and what its entries are called, where it says that."""
    t, q, *_ = SERVOS.measured()
    degrees = np.degrees(q)
    episode = folder / 'data' / 'chunk-000' / 'episode_000000.parquet'
    episode.parent.mkdir(parents=True)
    write(episode, **{
        'action': arrow.array(degrees.tolist(), type=arrow.list_(arrow.float32())),
        'observation.state': arrow.array(degrees.tolist(), type=arrow.list_(arrow.float32())),
        'timestamp': t.astype(np.float32), 'frame_index': np.arange(len(t)),
        'episode_index': np.zeros(len(t), dtype=int)})
    (folder / 'meta').mkdir()
    (folder / 'meta' / 'info.json').write_text(json.dumps({'features': {
        'action': {'dtype': 'float32', 'names': names},
        'observation.state': {'dtype': 'float32', 'names': names},
        'timestamp': {'dtype': 'float32', 'names': None}}}))
    return episode


@pytest.mark.parametrize('nested', [False, True], ids=['names', 'names by motors'])
def test_a_data_set_of_lerobot_is_one_of_servos(tmp_path, nested):
    names = [f'{name}.pos' for name in SERVOS.joints]
    episode = data_set(tmp_path / 'set', {'motors': names} if nested else names)
    assert read_head(episode, 'parquet').names[0] == f'action.{names[0]}'
    (tmp_path / 'robot.urdf').write_text(SERVOS.urdf)
    with pytest.raises(OpenQuestionsError, match='percent of the range.*--position-unit deg'):
        initial_settings(tmp_path / 'robot.urdf', episode, tmp_path, {'constants': 'kp=15'})
    found = initial_settings(
        tmp_path / 'robot.urdf', episode, tmp_path,
        {'constants': 'kp=15', 'position-unit': 'deg'})
    recording = found.sections['recording']
    assert recording['format'] == 'parquet' and recording['joints'] == list(SERVOS.joints)
    assert recording['position'] == {'array': 'observation.state', 'unit': 'deg'}
    assert recording['command'] == {'array': 'action', 'unit': 'deg'}
    assert recording['time'] == {'array': 'timestamp'}


def test_percent_of_the_range_is_taken_from_the_limits(tmp_path):
    t, q, *_ = SERVOS.measured()
    (tmp_path / 'robot.urdf').write_text(SERVOS.urdf)
    robot = RobotModel.from_description(tmp_path / 'robot.urdf')
    places = [robot.joint_index(name) for name in SERVOS.joints]
    lower, upper = (ends[places] for ends in (robot.limits.lower, robot.limits.upper))
    percent = (200.0 * (q - lower) / (upper - lower) - 100.0).tolist()
    names = [f'{name}.pos' for name in SERVOS.joints]
    episode = data_set(tmp_path / 'set', names)
    write(episode, **{
        'action': percent, 'observation.state': percent, 'timestamp': t.astype(np.float32)})
    found = initial_settings(tmp_path / 'robot.urdf', episode, tmp_path, {
        'constants': 'kp=15', 'position-unit': '%'})
    loaded = load_recording(
        RecordingSettings(**yaml.safe_load(found.text())['recording']), tmp_path)
    for quantity in ('position', 'command'):
        np.testing.assert_allclose(loaded.channel(quantity).values, q, atol=1e-4)


def test_in_python_an_episode_is_guessed_and_a_table_described(tmp_path):
    episode = data_set(tmp_path / 'set', [f'{name}.pos' for name in SERVOS.joints])
    (tmp_path / 'robot.urdf').write_text(SERVOS.urdf)
    guess = Recording.from_parquet(episode, constants='kp=15', position_unit='deg').guessed(
        {'urdf': str(tmp_path / 'robot.urdf')})
    assert guess.section['position']['array'] == 'observation.state' and guess.actuators
    write(tmp_path / 'x.parquet', t=T, q=Q.tolist())
    said = Recording.from_parquet(
        tmp_path / 'x.parquet', joints=['a', 'b'], time={'array': 't'}, position={'array': 'q'})
    loaded = load_recording(RecordingSettings(**said.described(['a', 'b'])), tmp_path)
    np.testing.assert_array_equal(loaded.channel('position').values, Q)


@pytest.mark.parametrize('text', ['', '[]', '{"features": 3}', '{"features": {"action": null}}'])
def test_names_that_cannot_be_read_are_numbers(tmp_path, text):
    episode = data_set(tmp_path, [])
    (tmp_path / 'meta' / 'info.json').write_text(text)
    assert read_head(episode, 'parquet').names[:2] == ('action[0]', 'action[1]')
