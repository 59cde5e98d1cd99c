"""Curves of many rows are drawn by their extremes, so that nothing that stands out is lost."""

from __future__ import annotations

import numpy as np

from sysid_ros.report import figures, joint_axes
from sysid_ros.report.joint_strips import ERROR, JointStrips, PlottedLine, Strip


def drawn(values):
    stretches = figures._stretches(len(values))
    return figures._reach(values, stretches), stretches


def test_few_rows_are_drawn_as_they_are():
    values = np.arange(8000.0)
    shown, stretches = drawn(values)
    assert stretches is None
    assert shown is values


def test_a_peak_of_one_row_is_drawn_wherever_it_is(rng):
    values = rng.normal(size=100_000)
    for row in (0, 57_123, 99_999):
        peak = values.copy()
        peak[row] = 40.0
        shown, stretches = drawn(peak)
        assert len(shown) <= 8000
        assert shown.max() == 40.0
        assert abs(stretches[np.argmax(shown) // 2] - row) < 26
    assert (shown[::2] <= shown[1::2]).all()


def test_a_gap_does_not_hide_what_is_around_it():
    values = np.ones(20_000)
    values[10_000] = np.nan
    assert (drawn(values)[0] == 1.0).all()


def test_one_row_that_did_not_count_is_shaded():
    mask = np.zeros(50_000, dtype=bool)
    mask[31_234] = True
    stretches = figures._stretches(len(mask))
    shaded = figures._anywhere(mask, stretches)
    assert shaded.sum() == 2
    time = np.repeat(stretches, 2).astype(float)
    ((begin, length),) = figures._times_of_runs(time, shaded)
    assert begin < 31_234 < begin + length + 13 and 0 < length < 26


def test_runs_reach_half_a_row_beyond_their_ends():
    time, mask = np.arange(6.0), np.array([1, 0, 1, 1, 0, 1], dtype=bool)
    np.testing.assert_allclose(
        figures._times_of_runs(time, mask), [[0.0, 0.5], [1.5, 2.0], [4.5, 0.5]])
    assert figures._times_of_runs(time, np.zeros(6, dtype=bool)).shape == (0, 2)
    assert figures._times_of_runs(time, np.ones(6, dtype=bool)).tolist() == [[0.0, 5.0]]


def test_shading_changes_no_scale():
    limits = []
    for mask in (np.zeros(6, dtype=bool), np.array([1, 0, 1, 1, 0, 1], dtype=bool)):
        curve = PlottedLine(np.arange(6.0), 20.0 + np.arange(6.0), ERROR, 1.0, 'curve')
        strip = Strip('joint', 'N', (curve,), figures._times_of_runs(curve.x, mask))
        (axis,) = joint_axes.drawn(JointStrips('title', 'time [s]', (strip,))).axes
        limits.append((axis.get_xlim(), axis.get_ylim()))
    assert limits[0] == limits[1]


def test_lines_at_the_ticks_go_through_all_strips_and_only_the_lowest_is_labelled():
    curves = (PlottedLine(np.linspace(0.0, 9.0, 50), np.linspace(-1.0, 1.0, 50), 'black', 1.0),)
    strips = tuple(Strip(name, 'rad', curves) for name in ('shoulder', 'elbow', 'wrist'))
    *upper, lowest = joint_axes.drawn(JointStrips('title', 'time [s]', strips)).axes
    ticks = lowest.get_xticks()
    assert lowest.xaxis.get_visible() and len(ticks) > 2
    for axis in upper:
        (lines,) = axis.collections
        np.testing.assert_array_equal([line[0, 0] for line in lines.get_segments()], ticks)
        assert axis.get_xlim() == lowest.get_xlim() and not axis.xaxis.get_visible()
