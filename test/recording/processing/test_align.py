"""Channels put on one uniform clock, against closed forms."""

import numpy as np
import pytest

from sysid_ros.errors import ConfigurationError, RecordingError
from sysid_ros.recording.processing.align import align
from sysid_ros.recording.processing.differentiation import differentiate
from sysid_ros.recording.processing.low_pass import LowPass
from sysid_ros.recording.processing.settings import Processing
from sysid_ros.recording.processing.signals import ParallelFilter
from sysid_ros.recording.recording import Channel, Recording

RATE = 200.0
OMEGA = 2 * np.pi * 0.5
PHASES = np.array([0.0, 1.0])
JOINTS = ('a', 'b')


def motion(t):
    angle = OMEGA * t[:, None] + PHASES
    return np.sin(angle), OMEGA * np.cos(angle), -OMEGA ** 2 * np.sin(angle)


def torque(t):
    return np.stack([np.cos(t), np.sin(2 * t)], axis=1)


def recording(t, *, effort_t=None, names=JOINTS, measured=False, breaks=(), values=None):
    q, v, a = motion(t)
    q = q if values is None else values
    effort_t = t if effort_t is None else effort_t
    channels = [
        Channel('position', names, 'rad', t, q),
        Channel('effort', names, 'N·m', effort_t, torque(effort_t)),
    ]
    if measured:
        channels += [
            Channel('velocity', names, 'rad/s', t, v),
            Channel('acceleration', names, 'rad/s²', t, a),
        ]
    return Recording(tuple(channels), 'test', 'hash', breaks=breaks)


def uniform(seconds=10.0, rate=RATE):
    return np.arange(round(seconds * rate)) / rate


def test_uniform_stamps_are_not_interpolated(rng):
    t = uniform()
    noise = rng.normal(size=(len(t), 2))
    data = align(recording(t, values=noise), JOINTS, Processing())
    np.testing.assert_array_equal(data.q, noise)
    np.testing.assert_array_equal(data.tau, torque(t))
    assert data.rate == pytest.approx(RATE, rel=1e-12)
    assert data.segments == ((0, len(t)),)
    assert data.mask.all()
    assert data.sha256 == 'hash'


@pytest.mark.parametrize(('method', 'bound'), [('central', 6e-4), ('central4', 1e-7)])
def test_velocities_and_accelerations_are_the_derivatives(method, bound):
    t = uniform()
    data = align(recording(t), JOINTS, Processing(differentiation=method))
    _, v, a = motion(data.t)
    assert np.abs(data.v - v).max() < bound * OMEGA
    assert np.abs(data.a - a)[5:-5].max() < 2 * bound * OMEGA ** 2


def test_jittering_stamps_are_interpolated_by_splines(rng):
    t = uniform() + rng.uniform(-1e-3, 1e-3, round(10 * RATE))
    data = align(recording(t), JOINTS, Processing())
    q, v, _ = motion(data.t)
    assert np.abs(data.q - q).max() < 1e-6
    assert np.abs(data.v - v)[5:-5].max() < 2e-3
    assert np.abs(data.tau - torque(data.t)).max() < 1e-4
    assert any('stray by up to' in warning for warning in data.warnings)
    assert not any('evenly' in warning for warning in data.warnings)


def test_stamps_that_jitter_only_on_arrival_are_noticed_and_can_be_straightened(rng):
    true = uniform()
    q, v, _ = motion(true)
    stamps = true + rng.uniform(0, 2e-3, len(true))
    source = Recording((
        Channel('position', JOINTS, 'rad', stamps, q),
        Channel('effort', JOINTS, 'N·m', stamps, torque(true)),
    ), 'test', '')
    measured = align(source, JOINTS, Processing())
    assert any('processing.stamps: uniform' in warning for warning in measured.warnings)
    straight = align(source, JOINTS, Processing(stamps='uniform'))
    np.testing.assert_array_equal(straight.q, q)
    np.testing.assert_allclose(straight.v[5:-5], v[5:-5], atol=2e-3)
    assert straight.rate == pytest.approx(RATE, rel=1e-4)


def test_straightened_stamps_leave_room_for_missing_samples(rng):
    true = np.delete(uniform(), [100, 101, 500])
    q, _, _ = motion(true)
    stamps = true + rng.uniform(0, 2e-3, len(true))
    source = Recording((
        Channel('position', JOINTS, 'rad', stamps, q),
        Channel('effort', JOINTS, 'N·m', stamps, torque(true)),
    ), 'test', '')
    data = align(source, JOINTS, Processing(stamps='uniform'))
    assert len(data) == round(10 * RATE)
    shift = data.t[0] - true[0]
    # The slope of 2000 stamps with 0.6 ms of jitter is known to 5e-6: 45 µs at the end of 10 s.
    assert np.abs(data.q - motion(data.t - shift)[0]).max() < 3 * 45e-6 * OMEGA


def test_channels_with_other_stamps_are_cut_to_what_they_share():
    t = uniform()
    effort_t = np.arange(300) / 40.0 + 1.0
    data = align(recording(t, effort_t=effort_t), JOINTS, Processing())
    known = (data.t >= 1.0 - 1e-9) & (data.t <= effort_t[-1] + 1e-9)
    np.testing.assert_array_equal(data.mask.all(axis=1), known)
    assert np.abs(data.tau - torque(data.t))[known].max() < 1e-3


def test_joints_are_selected_and_ordered_by_name():
    t = uniform()
    source = recording(t, names=('b', 'a'))
    data = align(source, ('a',), Processing())
    np.testing.assert_array_equal(data.q[:, 0], source.channel('position').values[:, 1])
    assert 'recorded but not used: b' in data.warnings


def test_measured_velocities_and_accelerations_are_used_when_asked_for():
    t = uniform(rate=50.0)
    data = align(recording(t, measured=True), JOINTS, Processing(differentiation='measured'))
    _, v, a = motion(t)
    np.testing.assert_array_equal(data.v, v)
    np.testing.assert_array_equal(data.a, a)


def test_missing_measurements_are_differentiated_and_that_is_said():
    data = align(recording(uniform()), JOINTS, Processing(differentiation='measured'))
    assert sum('differentiated from' in warning for warning in data.warnings) == 2
    np.testing.assert_allclose(data.v, motion(data.t)[1], atol=2e-3)


def test_filter_edges_are_cut_off_every_segment():
    t = np.concatenate([uniform(4.0), 10.0 + uniform(5.0)])
    processing = Processing(position_filter=LowPass(cutoff=20.0), median_window=5)
    data = align(recording(t), JOINTS, processing)
    edge = processing.edge(RATE)
    assert data.segments == ((0, 800 - 2 * edge), (800 - 2 * edge, 1800 - 4 * edge))
    assert data.t[0] == pytest.approx(edge / RATE)
    np.testing.assert_allclose(data.q, motion(data.t)[0], atol=2e-3)
    np.testing.assert_allclose(data.v, motion(data.t)[1], atol=1e-2)


def test_the_ends_can_be_trimmed_by_time():
    data = align(recording(uniform()), JOINTS, Processing(trim=(1.0, 2.0)))
    assert data.t[0] == pytest.approx(1.0)
    assert data.t[-1] == pytest.approx(10.0 - 1 / RATE - 2.0)


def test_a_higher_rate_interpolates_and_a_lower_one_is_refused():
    data = align(recording(uniform()), JOINTS, Processing(rate=500.0))
    assert data.rate == 500.0
    np.testing.assert_allclose(data.q, motion(data.t)[0], atol=1e-7)
    with pytest.raises(RecordingError, match='folds frequencies back.*decimate_to'):
        align(recording(uniform()), JOINTS, Processing(rate=100.0))


def test_wraps_are_undone_on_the_named_continuous_joints_only():
    t = uniform()
    turning = np.stack([3.0 * t, 3.0 * t], axis=1)
    wrapped = np.angle(np.exp(1j * turning))
    source = recording(t, values=wrapped)
    data = align(source, JOINTS, Processing(), continuous=frozenset({'a'}))
    np.testing.assert_allclose(data.v[:, 0], 3.0, atol=1e-9)
    assert np.abs(data.v[:, 1]).max() > 100


def test_a_filter_that_does_not_fit_the_rate_is_refused():
    with pytest.raises(ConfigurationError, match='at most 98 Hz'):
        align(recording(uniform()), JOINTS, Processing(position_filter=LowPass(cutoff=100.0)))
    parallel = ParallelFilter(cutoff=20.0, decimate_to=400.0)
    with pytest.raises(ConfigurationError, match='more than the sampling rate'):
        align(recording(uniform()), JOINTS, Processing(parallel_filter=parallel))


@pytest.mark.parametrize('settings', [{'median_window': 4}, {'trim': (-1.0, 0.0)}])
def test_processing_that_cannot_be_meant_is_refused(settings):
    with pytest.raises(ConfigurationError):
        Processing(**settings)


def test_measured_velocities_are_differentiated_to_fourth_order_when_asked_to():
    t = uniform()
    _, v, a = motion(t)
    told = recording(t, measured=True)
    told = Recording(told.channels[:3], 'test', 'hash')
    data = align(told, JOINTS, Processing(differentiation='measured4'))
    np.testing.assert_array_equal(data.v, v)
    np.testing.assert_allclose(data.a, a, atol=1e-7)


def test_every_signal_may_have_a_filter_of_its_own(rng):
    t = uniform()
    q, v, _ = motion(t)
    noisy, tau = v + rng.normal(size=v.shape), rng.normal(size=v.shape)
    channels = (
        Channel('position', JOINTS, 'rad', t, q), Channel('velocity', JOINTS, 'rad/s', t, noisy),
        Channel('effort', JOINTS, 'N·m', t, tau))
    low, slow, wide = (LowPass(cutoff=cutoff) for cutoff in (18.0, 15.0, 33.0))
    processing = Processing(
        differentiation='measured4', velocity_filter=low, acceleration_filter=slow,
        differentiate_filtered=False, torque_filter=wide)
    data = align(Recording(channels, 'test', ''), JOINTS, processing)
    inner = slice(processing.edge(RATE), len(t) - processing.edge(RATE))
    np.testing.assert_array_equal(data.q, q[inner])
    np.testing.assert_array_equal(data.v, low.apply(noisy, RATE)[inner])
    np.testing.assert_array_equal(data.tau, wide.apply(tau, RATE)[inner])
    np.testing.assert_array_equal(
        data.a, slow.apply(differentiate(noisy, RATE, 4), RATE)[inner])
    once_more = align(Recording(channels, 'test', ''), JOINTS, processing.model_copy(
        update={'differentiate_filtered': True}))
    np.testing.assert_array_equal(
        once_more.a, slow.apply(differentiate(low.apply(noisy, RATE), RATE, 4), RATE)[inner])


def test_a_torque_that_is_not_known_or_clipped_spoils_what_its_filter_makes_of_it():
    t = uniform()
    told = recording(t)
    values = 2.0 * told.channels[1].values
    values[:, 1] = np.clip(values[:, 1], -1.5, 1.5)
    values[700:705, 0] = np.nan
    clipped = np.abs(values[:, 1]) >= 0.995 * 1.5  # so near is at the limit
    told = Recording(
        (told.channels[0], Channel('effort', JOINTS, 'N·m', t, values)), 'test', 'hash')
    low_pass = LowPass(cutoff=20.0)
    reach = low_pass.support(RATE)
    data = align(told, JOINTS, Processing(torque_filter=low_pass, max_gap=2.0),
                 effort_limits={'b': 1.5})
    first = round((data.t[0] - t[0]) * RATE)
    lost = np.flatnonzero(~data.mask[:, 0]) + first
    assert (lost[0], lost[-1], len(lost)) == (700 - reach, 704 + reach, 5 + 2 * reach)
    near = np.convolve(clipped, np.ones(2 * reach + 1), 'same') > 0
    np.testing.assert_array_equal(data.mask[:, 1], ~near[first:first + len(data.t)])


@pytest.mark.parametrize(('change', 'words'), [
    ({'torque_filter': None}, 'torque_filter.*no filter'),
    ({'velocity_filter': LowPass(cutoff=30.0)}, 'velocity_filter.*30 Hz.*at most 20 Hz'),
    ({'differentiate_filtered': False}, 'acceleration_filter.*no filter'),
])
def test_rows_are_not_thinned_out_where_a_signal_may_hold_more_than_they_can(change, words):
    low = LowPass(cutoff=20.0)
    filters = {'velocity_filter': low, 'torque_filter': low,
               'parallel_filter': ParallelFilter(bandwidth=20.0, decimate_to=50.0)}
    assert Processing(**filters).parallel_filter.factor(RATE) == 4
    with pytest.raises(ConfigurationError, match=words):
        Processing(**(filters | change))


def test_rows_thinned_out_below_the_bandwidth_of_the_signals_are_refused():
    with pytest.raises(ConfigurationError, match='fold frequencies back.*at least 66 Hz'):
        ParallelFilter(bandwidth=33.0, decimate_to=50.0).factor(RATE)
