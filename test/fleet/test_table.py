"""The table of a batch: which fits it names, and rows that name none."""

import pytest

from sysid_ros.errors import ConfigurationError
from sysid_ros.fleet.table import FleetFit, RowFault, read_table


@pytest.fixture
def table(tmp_path):
    """``table(text)``: a table beside recordings of two robots."""
    for robot in ('a', 'b'):
        (tmp_path / robot).mkdir()
        for day in ('monday', 'tuesday'):
            (tmp_path / robot / f'{day}.csv').touch()

    def write(text, name='fleet.csv'):
        (tmp_path / name).write_text(text, encoding='utf-8')
        return tmp_path / name

    return write


def test_a_pattern_is_a_fit_of_each_recording_that_it_matches(table, tmp_path):
    fits = read_table(table('robot,settings,recordings\na,a.yaml,a/*.csv\n'))
    assert [fit.recordings for fit in fits] == [
        (tmp_path / 'a' / 'monday.csv',), (tmp_path / 'a' / 'tuesday.csv',)]
    assert {fit.settings for fit in fits} == {tmp_path / 'a.yaml'}
    assert [fit.holdout for fit in fits] == [0.25, 0.25]
    assert len({fit.name for fit in fits}) == 2


def test_recordings_of_a_row_are_fitted_together_where_it_says_so(table):
    fit, = read_table(table(
        'robot,settings,recordings,together\na,a.yaml,a/monday.csv; a/tuesday.csv,yes\n'))
    assert [path.name for path in fit.recordings] == ['monday.csv', 'tuesday.csv']
    assert fit.source == 'a/monday.csv; a/tuesday.csv'


def test_the_recording_to_judge_by_is_not_fitted(table):
    fit, = read_table(table(
        'robot,settings,recordings,validation\na,a.yaml,a/*.csv,a/tuesday.csv\n'))
    assert [path.name for path in fit.recordings] == ['monday.csv']
    assert fit.validation.name == 'tuesday.csv'
    assert fit.holdout is None


def test_yaml_says_the_same_as_csv(table):
    by_csv = read_table(table(
        'robot,urdf,recordings,folds,estimator\na,a.urdf,a/*.csv;b/monday.csv,4,lmi\n'))
    by_yaml = read_table(table(
        'fits:\n- {robot: a, urdf: a.urdf, recordings: [a/*.csv, b/monday.csv], folds: 4, '
        'estimator: lmi}\n', 'fleet.yaml'))
    assert by_csv == by_yaml
    assert len(by_csv) == 3


def test_a_fit_has_the_same_name_whatever_stands_beside_it_in_the_table(table):
    alone = read_table(table('robot,settings\nb,b.yaml\n'))
    beside = read_table(table('robot,settings\na,a.yaml\nb,b.yaml\n'))
    assert alone[0] == beside[1]


def test_a_row_that_is_there_twice_is_fitted_once(table):
    assert len(read_table(table('robot,settings\na,a.yaml\na,a.yaml\n'))) == 1


@pytest.mark.parametrize(
    ('row', 'reason'),
    [
        ('a,,,', 'the robot needs settings or a description'),
        (',a.yaml,,', "the key 'robot' is missing"),
        ('a,a.yaml,c/*.csv,', "no file matches the pattern (found 'c/*.csv')"),
        ('a,a.yaml,,half', 'holdout'),
        ('a,a.yaml,,1.5', "the value is out of range (found '1.5'; allowed below 1)"),
        ('a,a.yaml,,0.5,7', "unknown key 'more'"),
    ],
)
def test_a_row_that_cannot_be_used_holds_up_no_other(table, row, reason):
    fault, fit = read_table(table(f'robot,settings,recordings,holdout\n{row}\nb,b.yaml,,0.5\n'))
    assert isinstance(fault, RowFault)
    assert reason in fault.reason
    assert fault.source == 'line 2'
    assert isinstance(fit, FleetFit)
    assert fit.holdout == 0.5


@pytest.mark.parametrize(
    ('text', 'reason'),
    [
        ('', 'Begin with a line such as robot,settings,recordings'),
        ('robot,settings\n', 'the table has no rows'),
        ('robot,setings\na,a.yaml\n', "Did you mean 'settings'"),
        ('settings\na.yaml\n', 'Begin with a line such as robot,settings,recordings'),
    ],
)
def test_a_table_that_names_no_fits_says_why(table, text, reason):
    with pytest.raises(ConfigurationError, match=reason):
        read_table(table(text))


@pytest.mark.parametrize('text', ['robots: []\n', 'fits: 3\n'])
def test_a_yaml_file_without_fits_says_how_they_are_written(table, text):
    with pytest.raises(ConfigurationError, match=r'Write fits: \[\{robot: arm_1'):
        read_table(table(text, 'fleet.yaml'))
