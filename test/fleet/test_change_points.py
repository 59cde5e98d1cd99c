"""Change points of simulated series whose change, or its absence, is known."""

import numpy as np
import pytest

from sysid_ros.fleet.change_points import (
    LEAST,
    ChangeKind,
    alarm_threshold,
    find_changes,
    run_deviations,
    scatter,
    trend_since,
    without_bad_runs,
)

#: A robot with thirty parameters may raise one alarm a year: each of them one in thirty.
_PARAMETERS = 30
#: Days of history, days in which friction grows by 1 % a week, and scatter of daily estimates.
_BEFORE, _AFTER, _GROWTH, _SCATTER = 90, 42, 0.01 / 7.0, 0.015


def found_in(t, values, threshold):
    kept = without_bad_runs(values[None], np.zeros(len(t)))
    deviations, values = np.full(len(t), scatter(kept)[0]), kept[0]
    return find_changes(t, values, deviations, threshold)


@pytest.fixture(scope='module')
def threshold():
    t = np.arange(float(_BEFORE + _AFTER))
    return alarm_threshold(t, len(t) / 365.0 / _PARAMETERS)


def test_series_without_a_change_raise_an_alarm_as_often_as_asked(rng):
    t, chance, series = np.arange(40.0), 0.1, 400
    threshold = alarm_threshold(t, chance)
    alarms = sum(bool(found_in(t, values, threshold)) for values in rng.normal(
        scale=0.3, size=(series, len(t))))
    # Three standard deviations of the binomial, and as many of the threshold's own 1000 series.
    assert alarms / series == pytest.approx(chance, abs=3.0 * 0.018)


def test_friction_that_grows_by_one_percent_a_week_is_found_within_four_weeks(rng, threshold):
    t = np.arange(float(_BEFORE + _AFTER))
    days = []
    for _ in range(40):
        values = np.log1p(_GROWTH * np.maximum(t - _BEFORE, 0.0))
        values += _SCATTER * rng.normal(size=len(t))
        changes = [each for each in found_in(t, values, threshold) if each.found > _BEFORE]
        days.append(changes[0].found - _BEFORE if changes else np.inf)
    assert np.median(days) <= 28.0
    assert np.mean(np.array(days) <= 28.0) > 0.8


def test_a_step_has_its_place_and_its_size(rng, threshold):
    t = np.arange(float(_BEFORE + _AFTER))
    values = 0.2 * (t >= 60) + 0.02 * rng.normal(size=len(t))
    change, = found_in(t, values, threshold)
    assert change.kind is ChangeKind.STEP
    assert abs(change.begin - 60) <= 1
    assert change.found <= 64
    assert change.size == pytest.approx(0.2, abs=4.0 * change.deviation)


def test_two_steps_are_two_changes(rng, threshold):
    t = np.arange(float(_BEFORE + _AFTER))
    values = 0.2 * (t >= 40) - 0.3 * (t >= 90) + 0.02 * rng.normal(size=len(t))
    first, second = found_in(t, values, threshold)
    assert (first.size > 0.0, second.size < 0.0) == (True, True)
    assert abs(second.begin - 90) <= 1


def test_a_trend_that_goes_on_is_one_change_with_its_slope(rng, threshold):
    t = np.arange(float(_BEFORE + _AFTER))
    values = 0.01 * np.maximum(t - 60.0, 0.0) + 0.02 * rng.normal(size=len(t))
    changes = found_in(t, values, threshold)
    assert [each.kind for each in changes][-1] is ChangeKind.TREND
    line, covariance = trend_since(t, values, np.full(len(t), 0.02), 65)
    assert line[1] == pytest.approx(0.01, abs=4.0 * np.sqrt(covariance[1, 1]))


def test_one_bad_run_is_no_step(rng, threshold):
    t = np.arange(float(_BEFORE + _AFTER))
    values = 0.02 * rng.normal(size=len(t))
    values[-1] += 0.3
    assert found_in(t, values, threshold) == ()


def test_runs_scatter_more_than_they_say(rng):
    own = np.full(400, 0.3)
    values = rng.normal(scale=0.5, size=400) + np.linspace(0.0, 3.0, 400)
    np.testing.assert_allclose(run_deviations(values, own), 0.5, atol=0.06)


def test_errors_that_all_runs_share_do_not_hide_a_change(rng):
    """Seven runs, of which each says ± 15 %, while they scatter by 2.5 %: a step of 26 %."""
    t, own = np.arange(7.0), np.full(7, 0.15)
    threshold, found, alarms = alarm_threshold(t, 0.01), 0, 0
    for _ in range(100):
        runs = 0.3 + 0.025 * rng.normal(size=7)
        deviations = run_deviations(runs, own)
        alarms += bool(find_changes(t, runs, deviations, threshold))
        changes = find_changes(t, runs + 0.26 * (t >= 4), run_deviations(
            runs + 0.26 * (t >= 4), own), threshold)
        found += [(each.kind, each.begin) for each in changes[:1]] == [(ChangeKind.STEP, 4)]
    assert found > 80
    assert alarms <= 5


def test_a_run_that_knows_less_counts_less_whatever_all_of_them_share(rng):
    own = np.where(np.arange(200) % 10, 0.2, 0.6)
    values = 0.1 * own / 0.2 * rng.normal(size=200)
    deviations = run_deviations(values, own)
    np.testing.assert_allclose(deviations[1::10] / deviations[::10], 1.0 / 3.0)
    assert deviations[1] == pytest.approx(0.1, rel=0.3)


def test_of_too_few_runs_nothing_is_said():
    t = np.arange(float(LEAST - 1))
    assert find_changes(t, 1e6 * t, np.ones(len(t)), 1.0) == ()
