"""Data sets: frozen, finite, uniform, and cut by rows or time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sysid_ros.errors import RecordingError
from sysid_ros.recording.dataset import Dataset

T, RATE = 100, 50.0


def dataset(**changes):
    t = np.arange(T) / RATE
    t[60:] += 3.0
    arrays = {name: np.zeros((T, 2)) for name in ('q', 'v', 'a', 'tau')}
    arrays['v'][:, 1] = np.linspace(-1, 1, T)
    values = {
        'joint_names': ('a', 'b'), 't': t, **arrays, 'mask': np.ones((T, 2), dtype=bool),
        'segments': ((0, 60), (60, T)), 'rate': RATE,
    }
    return Dataset(**(values | changes))


def test_arrays_are_write_locked_copies():
    data = dataset()
    for name in ('t', 'q', 'v', 'a', 'tau', 'mask'):
        assert not getattr(data, name).flags.writeable
    with pytest.raises(TypeError):
        data.counts['x'] = 1
    assert len(data) == T
    assert data.duration == 2.0


def test_a_subset_clips_segments():
    part = dataset().subset(0.5, 0.8)
    assert part.segments == ((0, 10), (10, 30))
    assert part.t[0] == 1.0
    assert dataset().subset(0.0, 0.3).segments == ((0, 30),)


def test_parts_can_be_cut_by_time():
    part = dataset().between(1.1, 4.3)
    assert part.t[0] == pytest.approx(1.1)
    assert part.t[-1] == pytest.approx(4.28)
    assert part.segments == ((0, 5), (5, 10))
    with pytest.raises(RecordingError, match='holds no row'):
        dataset().between(100, 200)


def test_fractions_out_of_order_are_refused():
    with pytest.raises(RecordingError, match='0.7 to 0.2'):
        dataset().subset(0.7, 0.2)


def test_moving_samples_are_told_from_standing_ones():
    moving = dataset().moving(0.5)
    assert not moving[:, 0].any()
    assert 0.45 < moving[:, 1].mean() < 0.55


@pytest.mark.parametrize(('changes', 'message'), [
    ({'q': np.zeros((T, 3))}, r'q: .*found \(100, 3\); allowed \(100, 2\)'),
    ({'segments': ((0, 50), (60, T))}, 'do not cover'),
    ({'segments': ((0, T),)}, 'not sampled uniformly'),
    ({'t': np.zeros(T)}, 'not strictly increasing'),
    ({'rate': 0.0}, 'rate is not a positive number'),
    ({'rate': np.inf}, 'rate is not a positive number'),
    ({'joint_names': ('a', 'a')}, 'a joint is named twice.*a, a'),
    ({'segments': ((0, 60), (60, 60), (60, T))}, 'do not cover'),
    ({'segments': ((60, T), (0, 60))}, 'do not cover'),
    ({'segments': ()}, 'do not cover'),
])
def test_data_that_cannot_be_are_refused(changes, message):
    with pytest.raises(RecordingError, match=message):
        dataset(**changes)


ODD = st.sampled_from([np.nan, np.inf, -np.inf, 0.0, -1.0, 1e300, 5e-324]) | st.floats(-4.0, 4.0)
CHANGES = st.one_of(
    st.tuples(
        st.sampled_from(['t', 'q', 'v', 'a', 'tau']), st.integers(0, T - 1), st.integers(0, 1),
        ODD),
    st.tuples(st.just('rate'), st.just(0), st.just(0), ODD),
    st.tuples(
        st.just('segments'), st.integers(-1, T + 1), st.integers(-1, T + 1), st.just(0.0)))


@given(st.lists(CHANGES, max_size=3))
@settings(max_examples=400, deadline=None)
def test_what_is_a_data_set_is_finite_and_uniform_or_refused(changes):
    given_ = {name: getattr(dataset(), name) for name in ('t', 'q', 'v', 'a', 'tau')}
    given_ = {name: values.copy() for name, values in given_.items()} | {
        'rate': RATE, 'segments': [(0, 60), (60, T)]}
    for name, row, column, value in changes:
        if name == 'rate':
            given_['rate'] = value
        elif name == 'segments':
            given_['segments'] = [(0, row), (column, T)]
        else:
            given_[name][(row, column)[:given_[name].ndim]] = value
    try:
        with np.errstate(over='ignore', invalid='ignore'):
            data = dataset(**given_)
    except RecordingError:
        assert changes
        return
    assert all(np.isfinite(getattr(data, name)).all() for name in ('t', 'q', 'v', 'a', 'tau'))
    assert 0.0 < data.rate < np.inf and np.isfinite(data.duration)
    rows = [row for start, stop in data.segments for row in range(start, stop)]
    assert rows == list(range(T)) and (np.diff(data.t) > 0.0).all()
    for start, stop in data.segments:
        np.testing.assert_allclose(np.diff(data.t[start:stop]) * data.rate, 1.0, atol=1e-3)


@given(st.floats(-0.5, 1.5), st.floats(-0.5, 1.5))
@settings(max_examples=200, deadline=None)
def test_any_part_is_a_data_set_of_its_rows_or_refused(start, stop):
    whole = dataset()
    try:
        part = whole.subset(start, stop)
    except RecordingError:
        assert not 0.0 <= start < stop <= 1.0 or round(start * T) == round(stop * T)
        return
    first = round(start * T)
    assert len(part) == round(stop * T) - first
    np.testing.assert_array_equal(part.v, whole.v[first:first + len(part)])
    # Nothing reaches across the gap.
    assert all((np.diff(part.t[i:j]) < 1.0).all() for i, j in part.segments)


def test_joined_data_sets_keep_their_segments_apart():
    first = dataset(source='one', sha256='1', counts={'dropped': 2}, warnings=('a', 'b'))
    second = dataset(source='two', sha256='2', counts={'dropped': 3}, warnings=('b',)).subset(
        0.5, 1.0)
    both = Dataset.joined([first, second])
    assert both.segments == ((0, 60), (60, 100), (100, 110), (110, 150))
    assert (np.diff(both.t) > 0.0).all()
    # Time goes on by one period, and within a recording as it did.
    assert both.t[100] - both.t[99] == pytest.approx(1.0 / RATE)
    np.testing.assert_allclose(np.diff(both.t[100:]), np.diff(second.t))
    np.testing.assert_array_equal(both.v, np.vstack([first.v, second.v]))
    assert (both.source, both.sha256) == ('one, two', '1, 2')
    assert (both.warnings, dict(both.counts)) == (('a', 'b'), {'dropped': 5})
    assert Dataset.joined([first]) is first


@pytest.mark.parametrize(('changes', 'match'), [
    ({'joint_names': ('a', 'c')}, 'different joints'),
    ({'rate': 100.0, 't': np.arange(T) / 100.0, 'segments': ((0, T),)}, 'processing.rate'),
])
def test_data_sets_that_do_not_go_together_are_not_joined(changes, match):
    with pytest.raises(RecordingError, match=match):
        Dataset.joined([dataset(), dataset(**changes)])


def test_measured_rates_need_not_agree_to_the_last_digit():
    other = dataset(rate=RATE * (1.0 + 4e-4), t=dataset().t / (1.0 + 4e-4))
    assert len(Dataset.joined([dataset(), other])) == 2 * T
