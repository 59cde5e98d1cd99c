"""Drift of parameters in run folders, whose values are written as a robot's that wears."""

import csv
import dataclasses
import json
import math
import shutil

import numpy as np
import pytest

from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.cli.main import main
from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.estimate import Estimate
from sysid_ros.fleet.change_points import ChangeKind
from sysid_ros.fleet.drift import find_drift
from sysid_ros.fleet.history import parse_date, read_conditions
from sysid_ros.runs.run_files import PROVENANCE

_RUNS, _BEGIN = 30, parse_date('2026-03-01', 'the test')
_WORN = 'elbow_pitch.viscous_friction'
#: Scatter of runs, friction by degree, and growth by day from the twelfth on.
_SCATTER, _BY_DEGREE, _GROWTH, _SINCE = 0.01, -0.01, 0.01, 12


def write_runs(folder, made, growth, *, by_degree=0.0, provenance=False, seed=0):
    """Run folders of a robot, one a day, and their table of conditions."""
    random, estimate = np.random.default_rng(seed), Estimate.load(made / 'estimate.json')
    rows, temperatures = [], 22.0 + 4.0 * random.normal(size=_RUNS)
    deviation = np.where(
        np.isfinite(estimate.standard_deviation), 0.002 * np.abs(estimate.parameters.values),
        np.inf)
    for day in range(_RUNS):
        own = folder / f'day_{day:02}'
        own.mkdir(parents=True)
        for name in ('settings.yaml', 'verdict.json', 'prior.urdf'):
            shutil.copy(made / name, own)
        values = estimate.parameters.values * np.exp(
            _SCATTER * random.normal(size=len(deviation)))
        k = estimate.parameters.index(_WORN)
        values[k] *= math.exp(
            growth * max(day - _SINCE, 0) + by_degree * (temperatures[day] - 22.0))
        (own / 'estimate.json').write_text(dataclasses.replace(
            estimate, standard_deviation=deviation,
            parameters=estimate.parameters.with_values(values)).to_json())
        stamp = _BEGIN + 86400.0 * day
        if provenance:
            (own / PROVENANCE).write_text(json.dumps({'recording_end': int(1e9 * stamp)}))
        rows.append([own.name, f'2026-03-{day + 1:02}', f'{temperatures[day]:.2f}'])
    table = folder / 'conditions.csv'
    with table.open('w', newline='') as file:
        csv.writer(file).writerows([['run', 'recorded', 'temperature'], *rows])
    return table


@pytest.fixture(scope='module')
def worn(tmp_path_factory, fits):
    folder = tmp_path_factory.mktemp('worn')
    return folder, write_runs(folder, fits.folder, _GROWTH, by_degree=_BY_DEGREE)


@pytest.fixture(scope='module')
def drift(worn):
    folder, table = worn
    return find_drift(folder, conditions=read_conditions(table), dates=(
        _BEGIN + 86400.0 * 5, _BEGIN + 86400.0 * 25))


def row_of(drift, name):
    return next(row for row in drift.rows if row.parameter == name)


def test_a_friction_that_grows_is_the_only_change_and_comes_first(drift):
    assert [row.parameter for row in drift.rows if row.changes] == [_WORN]
    row = drift.rows[0]
    assert row.nearness > 1.0
    assert (row.parameter, row.relative, row.drifts) == (_WORN, True, True)
    assert row.changes[0].kind is ChangeKind.TREND
    assert row.changes[0].size == pytest.approx(7.0 * _GROWTH, rel=0.25)
    assert '2026-03-07' < row.changes[0].since < row.changes[0].found < '2026-03-28'


def test_friction_by_temperature_is_told_apart_from_its_growth(drift):
    row = row_of(drift, _WORN)
    # Half-widths are 1.96 standard deviations.
    assert row.per_degree == pytest.approx(_BY_DEGREE, abs=2.0 * row.per_degree_interval)
    assert row.per_degree_interval < 0.3 * abs(_BY_DEGREE)


def test_a_forecast_holds_what_comes(drift):
    row = row_of(drift, _WORN)
    value, low, high = row.forecast
    comes = row.values[_SINCE] * math.exp(_GROWTH * (_RUNS - 1 - _SINCE + 28))
    assert low < comes < high
    assert low < value < high < 1.5 * value
    still = row_of(drift, 'base_yaw.viscous_friction')
    assert still.forecast[1] < np.mean(still.values) < still.forecast[2]


def test_what_changed_between_two_dates_is_told_with_its_interval(drift):
    assert [row.parameter for row in drift.rows if row.between.differs] == [_WORN]
    between = row_of(drift, _WORN).between
    # From 0 to the mean of the last five days.
    assert between.change == pytest.approx(math.expm1(_GROWTH * 15), abs=2.0 * between.interval)


def test_stamps_come_from_what_is_noted_beside_a_run(tmp_path, fits):
    write_runs(tmp_path, fits.folder, 0.0, provenance=True, seed=2)
    found = find_drift(tmp_path)
    assert found.runs == _RUNS
    # By the rate of false alarms one such month in twelve has one.
    assert found.changed == ()
    near = [row.nearness for row in found.rows]
    assert near == sorted(near, reverse=True) and 0.0 < near[0] <= 1.0
    assert found.rows[0].recorded[0] == '2026-03-01T00:00:00+00:00'
    assert found.rows[0].per_degree is None


def test_runs_without_a_time_or_of_the_same_time_do_not_count_and_are_named(
    worn, tmp_path, fits
):
    shutil.copytree(worn[0], tmp_path / 'runs')
    lines = (tmp_path / 'runs' / 'conditions.csv').read_text().splitlines()
    lines[2] = lines[2].replace('2026-03-02', '2026-03-01')
    table = tmp_path / 'some.csv'
    table.write_text('\n'.join(lines[:-1]) + '\n')
    verdict = tmp_path / 'runs' / 'day_05' / 'verdict.json'
    verdict.write_text(json.dumps(json.loads(verdict.read_text()) | {'committable': False}))
    reasons = dict(find_drift(tmp_path, conditions=read_conditions(table)).skipped)
    assert 'of the same time as runs/day_01' in reasons['runs/day_00']
    assert 'when it was recorded' in reasons[f'runs/day_{_RUNS - 1}']
    assert reasons['runs/day_05'] == 'not committable'


def test_the_verb_prints_a_table_and_its_exit_code_says_that_something_changed(worn, capsys):
    folder, table = worn
    arguments = ['drift', str(folder), '--conditions', str(table)]
    assert main(arguments) == ExitCode.CHANGED
    printed = capsys.readouterr().out
    assert f'{_RUNS} runs of 1 robot,' in printed
    assert _WORN in printed
    assert '% a week' in printed
    assert main([*arguments, '--json', '--between', '2026-03-05', '2026-03-20']) == (
        ExitCode.CHANGED)
    data = json.loads(capsys.readouterr().out)
    assert data['format'] == 'sysid_ros drift 1'
    assert data['rows'][0]['between']['differs']


@pytest.mark.parametrize(('text', 'reason'), [
    ('day,recorded\n', 'no table of conditions'), ('', 'no table of conditions'),
    ('run,recorded\nday_00,soon\n', 'no date'),
    ('run,temperature\nday_00,warm\n', 'no temperature'),
    ('run,recorded\nday_77,2026-03-01\n', 'no such run'),
])
def test_a_table_of_conditions_that_cannot_be_used_is_refused(worn, tmp_path, text, reason):
    table = tmp_path / 'conditions.csv'
    table.write_text(text)
    with pytest.raises(ConfigurationError, match=reason):
        find_drift(worn[0], conditions=read_conditions(table))


def test_a_folder_without_runs_or_with_few_is_refused(tmp_path, worn):
    with pytest.raises(ConfigurationError, match='there is no run'):
        find_drift(tmp_path)
    shutil.copytree(worn[0] / 'day_00', tmp_path / 'day_00')
    with pytest.raises(ConfigurationError, match='too few runs'):
        find_drift(tmp_path)
    with pytest.raises(ConfigurationError, match='out of range'):
        find_drift(worn[0], false_alarms=0.0)
