"""CSV and NPZ recordings: columns, units, signs, transmissions, stamps."""

import math

import numpy as np
import pytest
import yaml

from sysid_ros.errors import ConfigurationError, RecordingError
from sysid_ros.recording.description import RecordingSettings
from sysid_ros.recording.load import load_recording
from sysid_ros.recording.table.csv_reader import read_csv_columns
from sysid_ros.recording.table.npz_reader import read_npz_array
from sysid_ros.settings import parse_settings

CSV = 't,a,b,ta,tb\n0.0,1,2,3,4\n0.1,5,6,7,8\n0.2,9,10,11,12\n'


def settings(**changes):
    section = {
        'format': 'csv', 'joints': ['a', 'b'], 'file': 'x.csv', 'time': {'column': 't'},
        'position': {'columns': ['a', 'b']}, 'effort': {'columns': ['ta', 'tb']},
    }
    return parse_settings(RecordingSettings, section | changes, 'recording')


@pytest.fixture
def base(tmp_path):
    (tmp_path / 'x.csv').write_text(CSV)
    return tmp_path


def test_csv_columns_are_found_by_name_and_by_index(base):
    recording = load_recording(settings(effort={'columns': [3, 4]}), base)
    assert recording.channel('position').values.tolist() == [[1, 2], [5, 6], [9, 10]]
    assert recording.channel('effort').values.tolist() == [[3, 4], [7, 8], [11, 12]]
    assert recording.channel('effort').unit == 'N·m'
    np.testing.assert_allclose(recording.channel('effort').t, [0.0, 0.1, 0.2])


def test_joints_without_a_column_have_no_samples_and_may_be_unpowered(base):
    described = settings(effort={'columns': {'b': 'tb'}})
    recording = load_recording(described, base)
    assert recording.channel_of('effort', 'a') is None
    np.testing.assert_array_equal(recording.channel_of('effort', 'b').column('b'), [4, 8, 12])
    free = load_recording(settings(effort={'columns': {'b': 'tb'}}, unpowered=['a']), base)
    np.testing.assert_array_equal(free.channel_of('effort', 'a').column('a'), np.zeros(3))
    np.savez(base / 'x.npz', t=[0.0, 0.1], q=np.ones((2, 2)), tau=[3.0, 5.0])
    archive = load_recording(settings(
        format='npz', file='x.npz', time={'array': 't'}, position={'array': 'q'},
        effort={'array': 'tau', 'columns': {'b': 0}}), base)
    assert archive.channel_of('effort', 'a') is None
    np.testing.assert_array_equal(archive.channel_of('effort', 'b').column('b'), [3, 5])


@pytest.mark.parametrize('changes, words', [
    ({'position': {'columns': {'a': 'a'}}}, 'a column of the position is missing.*none of b'),
    ({'effort': {'columns': {}}}, 'a column of the effort is missing.*leave effort out'),
    ({'effort': {'columns': ['tb']}},
     r'effort: {columns: {b: …}}}, and recording: {unpowered: \[a\]} for joints nothing drives'),
])
def test_columns_of_some_joints_are_refused_with_the_line_that_says_whose(changes, words):
    with pytest.raises(ConfigurationError, match=words):
        settings(**changes)


def test_the_hash_changes_with_a_byte_of_a_source_file(base):
    before = load_recording(settings(), base).sha256
    (base / 'x.csv').write_text(CSV.replace('12', '13'))
    after = load_recording(settings(), base).sha256
    assert len(before) == 64
    assert before != after


def test_signs_scales_units_and_offsets_are_applied_per_joint(base):
    described = settings(
        position={'columns': ['a', 'b'], 'unit': ['deg', 'mm'], 'sign': [-1, 1],
                  'scale': [2, 1], 'offset': [0.5, 0.25]},
        effort={'columns': ['ta', 'tb'], 'unit': ['mN·m', 'N']},
    )
    recording = load_recording(described, base)
    first, second = recording.channels_of('position')
    assert (first.names, first.unit, second.names, second.unit) == (('a',), 'rad', ('b',), 'm')
    np.testing.assert_allclose(first.values[:, 0], 0.5 - 2 * np.radians([1, 5, 9]))
    np.testing.assert_allclose(second.values[:, 0], 0.25 + 1e-3 * np.array([2, 6, 10]))
    np.testing.assert_allclose(recording.channel_of('effort', 'a').values[0], [3e-3])


def test_a_transmission_keeps_power_and_offsets_come_after_it(base):
    matrix = np.array([[10.0, 0.0], [3.0, -5.0]])
    described = settings(
        position={'columns': ['a', 'b'], 'side': 'motor', 'offset': [0.1, -0.2]},
        velocity={'columns': ['a', 'b'], 'side': 'motor'},
        effort={'columns': ['ta', 'tb'], 'side': 'motor'},
        transmission={'motor_per_joint': matrix.tolist()},
    )
    recording = load_recording(described, base)
    motor, motor_torque = np.array([[1, 2], [5, 6], [9, 10]]), np.array([3, 4])
    q, v = (recording.channel(name).values for name in ('position', 'velocity'))
    np.testing.assert_allclose((q - [0.1, -0.2]) @ matrix.T, motor)
    np.testing.assert_allclose(
        v[0] @ recording.channel('effort').values[0], motor[0] @ motor_torque)


def test_ratios_are_the_diagonal_of_a_transmission(base):
    described = settings(
        position={'columns': ['a', 'b'], 'side': 'motor'}, transmission={'ratios': [10, -5]})
    recording = load_recording(described, base)
    np.testing.assert_allclose(recording.channel('position').values[0], [0.1, -0.4])


def test_stamps_come_from_a_rate_or_another_file_in_other_units(base):
    by_rate = load_recording(settings(time={'rate': 50.0}), base)
    np.testing.assert_allclose(by_rate.channel('position').t, [0, 0.02, 0.04])
    (base / 'time.csv').write_text('1000\n1500\n2000\n')
    by_file = load_recording(
        settings(time={'file': 'time.csv', 'column': 0, 'unit': 'ms'}), base)
    np.testing.assert_allclose(by_file.channel('position').t, [0, 0.5, 1.0])
    assert by_file.start == 1.0


def test_nanoseconds_are_added_to_seconds(base):
    (base / 'x.csv').write_text('sec,nanosec,a\n7,999000000,0\n8,1000000,1\n')
    recording = load_recording(settings(
        joints=['a'], time={'column': 'sec', 'nanoseconds': 'nanosec'},
        position={'columns': ['a']}, effort=None), base)
    np.testing.assert_allclose(recording.channel('position').t, [0.0, 0.002], atol=1e-9)
    np.savez(base / 'x.npz', s=[7, 8], ns=[999000000, 1000000], q=[[0.0], [1.0]])
    recording = load_recording(settings(
        format='npz', file='x.npz', joints=['a'], time={'array': 's', 'nanoseconds': 'ns'},
        position={'array': 'q'}, effort=None), base)
    np.testing.assert_allclose(recording.channel('position').t, [0.0, 0.002], atol=1e-9)
    with pytest.raises(ConfigurationError, match='nanoseconds are added.*found unit: ms'):
        settings(time={'column': 'sec', 'nanoseconds': 'nanosec', 'unit': 'ms'})


def test_decimal_commas_are_read_where_they_are_said(base):
    (base / 'x.csv').write_text(
        't;a;b;ta;tb\n0,0;1,5;2;3;4\n0,1;5;6e-1;7,25;8\n')
    recording = load_recording(settings(delimiter=';', decimal=','), base)
    assert recording.channel('position').values.tolist() == [[1.5, 2], [5, 0.6]]
    np.testing.assert_allclose(recording.channel('effort').t, [0.0, 0.1])
    with pytest.raises(ConfigurationError, match='separator and decimal mark are the same'):
        settings(decimal=',')


def test_positions_within_one_turn_go_from_minus_half_a_turn_to_half(base):
    (base / 'x.csv').write_text('t,a,b\n0,350,350\n1,10,10\n2,170,190\n')
    recording = load_recording(settings(
        position={'columns': ['a', 'b'], 'unit': 'deg', 'wrapped': [True, False]},
        effort=None), base)
    np.testing.assert_allclose(
        np.degrees(recording.channel('position').values), [[-10, 350], [10, 10], [170, 190]])
    with pytest.raises(ConfigurationError, match='positions alone'):
        settings(effort={'columns': ['ta', 'tb'], 'wrapped': True})


def test_rows_without_a_stamp_are_dropped_and_counted(base):
    (base / 'x.csv').write_text(CSV.replace('0.1,', ','))
    recording = load_recording(settings(), base)
    assert recording.channel('position').values.tolist() == [[1, 2], [9, 10]]
    assert recording.counts['rows without a stamp dropped'] == 1
    (base / 'x.csv').write_text('t,a,b,ta,tb\n,1,2,3,4\n')
    with pytest.raises(RecordingError, match='stamp is not finite.*found 1 of 1'):
        load_recording(settings(), base)


def test_a_quantity_may_have_stamps_of_its_own(base):
    (base / 'slow.csv').write_text('1,2\n3,4\n')
    recording = load_recording(
        settings(effort={'file': 'slow.csv', 'time': {'rate': 5.0}}), base)
    assert recording.channel('effort').t.tolist() == [0.0, 0.2]
    assert len(recording.channel('position').t) == 3


def test_columns_of_other_lengths_are_refused_with_both_lengths(base):
    (base / 'short.csv').write_text('1,2\n3,4\n')
    with pytest.raises(RecordingError, match='position 3 rows, effort 2 rows'):
        load_recording(settings(effort={'file': 'short.csv'}), base)


def test_a_missing_column_is_refused_with_the_columns_there_are(base):
    with pytest.raises(RecordingError, match="no column 'c'.*t, a, b, ta, tb"):
        load_recording(settings(position={'columns': ['a', 'c']}), base)


@pytest.mark.parametrize(('text', 'message'), [
    ('', 'empty'),
    ('a,b\n1,x\n', "line 2, column 1.*'x'"),
    ('a,b\n1\n', 'line 2.*too short'),
    ('a,a\n1,2\n', "'a' is there 2 times"),
    ('1,2\n3,4\n', "no column 'a'.*without a header"),
])
def test_a_csv_file_that_cannot_be_understood_is_refused(tmp_path, text, message):
    (tmp_path / 'bad.csv').write_text(text)
    with pytest.raises(RecordingError, match=message):
        read_csv_columns(tmp_path / 'bad.csv', ['a', 1])


@pytest.mark.parametrize('separator', [';', '\t', '|', ' '])
def test_another_separator_is_named_with_its_setting(tmp_path, separator):
    (tmp_path / 'x.csv').write_text(CSV.replace(',', separator))
    written = {'\t': r'"\t"'}.get(separator, f"'{separator}'")
    for columns in (['a', 'tb'], [1, 4]):
        with pytest.raises(RecordingError) as refused:
            read_csv_columns(tmp_path / 'x.csv', columns)
        assert f'separated by {written}' in str(refused.value)
        assert refused.value.fix == f'Set recording: {{delimiter: {written}}}'
    assert yaml.safe_load(f'delimiter: {written}') == {'delimiter': separator}
    assert len(read_csv_columns(tmp_path / 'x.csv', ['a'], separator)) == 3


def test_no_separator_is_named_by_which_the_columns_are_missing_too(tmp_path):
    (tmp_path / 'x.csv').write_text('time;a\n0;1\n')
    with pytest.raises(RecordingError, match="no column 't' .found time;a."):
        read_csv_columns(tmp_path / 'x.csv', ['t'])
    (tmp_path / 'x.csv').write_text('time of day,a joint\n0,1\n')
    with pytest.raises(RecordingError, match='no such column .found 3; allowed 0 to 1'):
        read_csv_columns(tmp_path / 'x.csv', [3])


def test_decimal_commas_are_told_from_other_text(tmp_path):
    (tmp_path / 'x.csv').write_text('t;a\n0,5;1,25e-3\n')
    with pytest.raises(RecordingError, match="separated by ';'.*decimal commas.*decimal: ','"):
        read_csv_columns(tmp_path / 'x.csv', ['t', 'a'])
    with pytest.raises(RecordingError, match="line 2, column 0: a number has a comma.*'0,5'"):
        read_csv_columns(tmp_path / 'x.csv', ['t', 'a'], ';')
    values = read_csv_columns(tmp_path / 'x.csv', ['t', 'a'], ';', ',')
    np.testing.assert_array_equal(values, [[0.5, 1.25e-3]])
    (tmp_path / 'x.csv').write_text('t;a\n0,5;1.250,5\n')
    with pytest.raises(RecordingError, match='column 1: a cell is not a number'):
        read_csv_columns(tmp_path / 'x.csv', ['t', 'a'], ';', ',')
    (tmp_path / 'x.csv').write_text('0,0;1\n2,0;3\n')
    with pytest.raises(RecordingError, match="line 2, column 1: .*separates.*delimiter: ';'"):
        read_csv_columns(tmp_path / 'x.csv', [0, 1])
    (tmp_path / 'x.csv').write_text('t;a\n0;one,two\n')
    with pytest.raises(RecordingError, match='column 1: a cell is not a number'):
        read_csv_columns(tmp_path / 'x.csv', ['t', 'a'], ';')


def test_the_last_comment_with_a_name_for_each_column_is_the_header(tmp_path):
    (tmp_path / 'x.csv').write_text('# made on Monday\n# t,a\n# in s, rad, all of them\n0,1\n1,2\n')
    assert read_csv_columns(tmp_path / 'x.csv', ['a']).tolist() == [[1], [2]]
    with pytest.raises(RecordingError, match="no column 'A'.*found t, a.*Did you mean 'a'"):
        read_csv_columns(tmp_path / 'x.csv', ['A'])


def test_a_header_alone_is_no_recording(tmp_path):
    (tmp_path / 'x.csv').write_text('t,a\n')
    with pytest.raises(RecordingError, match='the table has no rows .found a header alone: t, a'):
        read_csv_columns(tmp_path / 'x.csv', ['a'])


def test_stamps_that_are_all_the_same_are_called_so(base):
    (base / 'x.csv').write_text('t,a,b,ta,tb\n7,1,2,3,4\n7,5,6,7,8\n')
    with pytest.raises(RecordingError, match='same time .found 7 s in all 2 rows.*rate: 500'):
        load_recording(settings(), base)


def test_a_missing_file_is_refused_by_name(tmp_path):
    with pytest.raises(RecordingError, match='gone.csv.*cannot be read'):
        read_csv_columns(tmp_path / 'gone.csv')


def test_empty_cells_are_missing_and_comment_lines_are_skipped(tmp_path):
    (tmp_path / 'x.csv').write_text('% made by a simulator\na;b\n1;\n\n2;3\n')
    values = read_csv_columns(tmp_path / 'x.csv', delimiter=';')
    np.testing.assert_array_equal(values, [[1, np.nan], [2, 3]])


def test_npz_arrays_are_read_with_a_choice_of_columns(tmp_path):
    np.savez(tmp_path / 'x.npz', q=np.arange(12.0).reshape(4, 3), t=np.arange(4) * 2)
    section = {
        'format': 'npz', 'joints': ['a', 'b'], 'file': 'x.npz', 'time': {'array': 't'},
        'position': {'array': 'q', 'columns': [2, 0], 'unit': 'deg'},
    }
    recording = load_recording(parse_settings(RecordingSettings, section, 'r'), tmp_path)
    np.testing.assert_allclose(recording.channel('position').values[1], np.radians([5, 3]))
    assert recording.channel('position').t.tolist() == [0, 2, 4, 6]


def test_npz_never_loads_pickled_objects(tmp_path):
    np.savez(tmp_path / 'x.npz', q=np.array([{'a': 1}], dtype=object))
    with pytest.raises(RecordingError, match='not a table of real numbers .found object'):
        read_npz_array(tmp_path / 'x.npz', 'q')


def test_npz_that_is_damaged_or_lacks_the_array_is_refused(tmp_path):
    np.savez(tmp_path / 'x.npz', q=np.zeros((3, 2)), name='text')
    with pytest.raises(RecordingError, match="no array 'p'.*q, name"):
        read_npz_array(tmp_path / 'x.npz', 'p')
    with pytest.raises(RecordingError, match='not a table of real numbers'):
        read_npz_array(tmp_path / 'x.npz', 'name')
    whole = (tmp_path / 'x.npz').read_bytes()
    for size in range(0, len(whole) - 1, 37):
        (tmp_path / 'cut.npz').write_bytes(whole[:size])
        with pytest.raises(RecordingError, match='cut.npz'):
            read_npz_array(tmp_path / 'cut.npz', 'q')


@pytest.mark.parametrize(('changes', 'message'), [
    ({'position': {'columns': ['a', 'b'], 'sgin': 1}}, "Did you mean 'sign'"),
    ({'position': {'columns': ['a', 'b'], 'sign': [1, 2]}}, 'not \\+1 or -1'),
    ({'position': {'columns': ['a', 'b'], 'unit': 'grad'}}, "found 'grad'.*rad, deg"),
    ({'position': {'columns': ['a', 'b'], 'side': 'motor'}}, 'needs the transmission'),
    ({'position': {'columns': ['a', 'b'], 'array': 'q'}}, "'array' means nothing"),
    ({'topic': '/joint_states'}, "'topic' means nothing for the format 'csv'"),
    ({'time': {'rate': 1.0, 'column': 't'}}, 'exactly one source.*rate, column'),
    ({'time': {'array': 't'}}, "'csv' comes from a rate or column"),
    ({'time': None}, "'time' is missing"),
    ({'position': None}, "'position' is missing"),
    ({'joints': ['a', 'a']}, 'named twice'),
    ({'transmission': {}}, 'exactly one form'),
    ({'transmission': {'motor_per_joint': [[1, 0], [0]]}}, r'motor_per_joint\[1\].*found 1 values'),
    ({'position': {'columns': ['a', 'b'], 'scale': math.nan}}, 'not finite'),
])
def test_a_description_that_cannot_be_meant_is_refused(changes, message):
    with pytest.raises(ConfigurationError, match=message):
        settings(**changes)
