"""Filters and derivatives against closed forms."""

import subprocess
import sys

import numpy as np
import pytest
from scipy.signal import butter, sosfiltfilt

from sysid_ros.errors import ConfigurationError, RecordingError
from sysid_ros.recording.processing import butterworth, low_pass
from sysid_ros.recording.processing.differentiation import differentiate
from sysid_ros.recording.processing.low_pass import LowPass
from sysid_ros.recording.processing.signals import ParallelFilter, median_filter

RATE = 1000.0


def sine(frequency, seconds=4.0, rate=RATE):
    t = np.arange(round(seconds * rate)) / rate
    return t, np.sin(2 * np.pi * frequency * t)


@pytest.mark.parametrize('order', [2, 4])
@pytest.mark.parametrize('frequency', [2.0, 10.0, 25.0])
def test_the_low_pass_has_butterworth_gain_squared_and_no_delay(order, frequency):
    low_pass = LowPass(cutoff=10.0, order=order)
    _, x = sine(frequency)
    inner = slice(low_pass.half_length(RATE), -low_pass.half_length(RATE))
    # |H|² of a Butterworth filter made by the bilinear transform.
    warped = np.tan(np.pi * frequency / RATE) / np.tan(np.pi * low_pass.cutoff / RATE)
    gain = 1 / (1 + warped ** (2 * order))
    np.testing.assert_allclose(low_pass.apply(x, RATE)[inner], gain * x[inner], atol=3e-3)


def test_the_low_pass_leaves_straight_lines_alone():
    line = np.linspace(-3.0, 5.0, 2000)
    low_pass = LowPass(cutoff=20.0)
    inner = slice(low_pass.half_length(RATE), -low_pass.half_length(RATE))
    np.testing.assert_allclose(low_pass.apply(line, RATE)[inner], line[inner], atol=1e-6)


def test_the_half_length_is_where_the_impulse_response_has_died_out():
    low_pass = LowPass(cutoff=15.0)
    impulse = np.zeros(4001)
    impulse[2000] = 1.0
    response = np.abs(low_pass.apply(impulse, RATE)[2000:])
    length = low_pass.half_length(RATE)
    assert response[length + 1:].max() <= 1.001e-3 * response[0]
    assert response[length] > 0.999e-3 * response[0]
    assert 0 < low_pass.support(RATE) < length


@pytest.mark.parametrize('order', [1, 4, 9])
def test_the_low_pass_is_what_scipy_makes_of_second_order_sections(rng, order):
    low_pass = LowPass(cutoff=12.0, order=order)
    x = np.cumsum(rng.normal(size=(3000, 2, 3)), axis=0)
    sections = butter(order, 12.0, fs=RATE, output='sos')
    expected = sosfiltfilt(sections, x, axis=0, padlen=low_pass.half_length(RATE))
    np.testing.assert_allclose(low_pass.apply(x, RATE), expected, rtol=1e-12, atol=1e-12)
    keep = np.array([0, 7, 1500, 2999])
    np.testing.assert_array_equal(low_pass.apply(x, RATE, keep), low_pass.apply(x, RATE)[keep])


@pytest.mark.parametrize('order', [8, 9, 10])
@pytest.mark.parametrize('cutoff', [0.1, 1.0])
def test_sharp_filters_at_very_low_cutoffs_warn_of_nothing_and_keep_constants(order, cutoff):
    low_pass = LowPass(cutoff=cutoff, order=order)
    steady = np.full(low_pass.half_length(RATE) + 500, 3.0)
    np.testing.assert_allclose(low_pass.apply(steady, RATE), steady, atol=1e-4)
    assert 0 < low_pass.support(RATE) < low_pass.half_length(RATE) < low_pass.memory(RATE)


def test_beyond_its_memory_a_filter_does_not_know_where_the_signal_was_cut(rng):
    low_pass = LowPass(cutoff=10.0)
    x = np.cumsum(rng.normal(size=5000))
    cut, memory = 1200, low_pass.memory(RATE)
    whole, part = low_pass.apply(x, RATE)[cut:], low_pass.apply(x[cut:], RATE)
    np.testing.assert_allclose(part[memory:], whole[memory:], rtol=0, atol=1e-10 * np.ptp(x))


def test_the_low_pass_refuses_nan_short_segments_and_high_cutoffs():
    low_pass = LowPass(cutoff=10.0)
    with pytest.raises(RecordingError, match='non-finite'):
        low_pass.apply(np.full(5000, np.nan), RATE)
    with pytest.raises(RecordingError, match='too short.*found 20 samples.*allowed more than'):
        low_pass.apply(np.zeros(20), RATE)
    with pytest.raises(ConfigurationError, match='found 500 Hz; allowed at most 490 Hz'):
        LowPass(cutoff=500.0).apply(np.zeros(5000), RATE)


@pytest.mark.parametrize('cutoff', [5e-324, 1e-20, 1e-10])
def test_a_cutoff_whose_poles_round_to_one_is_refused(cutoff):
    with pytest.raises(ConfigurationError, match='allowed at least 1e-06 Hz'):
        LowPass(cutoff=cutoff).half_length(RATE)


@pytest.mark.parametrize('accuracy', [2, 4])
def test_derivatives_are_exact_for_polynomials_up_to_the_ends(accuracy):
    t = np.arange(30) / 100.0
    polynomial = np.polynomial.Polynomial(np.arange(1.0, accuracy + 2))
    columns = np.stack([polynomial(t), 2 * polynomial(t)], axis=1)
    slope = polynomial.deriv()(t)
    np.testing.assert_allclose(
        differentiate(columns, 100.0, accuracy), np.stack([slope, 2 * slope], axis=1), rtol=1e-10)


@pytest.mark.parametrize('accuracy', [2, 4])
def test_derivatives_of_a_sine_converge_at_their_order(accuracy):
    errors = []
    for rate in (100.0, 200.0):
        t, x = sine(1.0, 2.0, rate)
        exact = 2 * np.pi * np.cos(2 * np.pi * t)
        errors.append(np.abs(differentiate(x, rate, accuracy) - exact).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(accuracy, abs=0.15)


def test_derivatives_of_too_few_samples_or_of_other_orders_are_refused():
    with pytest.raises(RecordingError, match='found 4 samples; allowed at least 5'):
        differentiate(np.zeros(4), RATE, 4)
    with pytest.raises(ConfigurationError, match='found 3; allowed 2 or 4'):
        differentiate(np.zeros(9), RATE, 3)


def test_a_running_median_removes_single_outliers_only():
    t, x = sine(1.0)
    spoiled = np.stack([x, x], axis=1)
    spoiled[1234, 0] = 50.0
    np.testing.assert_allclose(median_filter(spoiled, 5), np.stack([x, x], axis=1), atol=1e-2)


def test_no_parallel_filter_is_the_identity(rng):
    columns = rng.normal(size=(50, 3))
    rows, index, segments = ParallelFilter().apply(columns, RATE, ((0, 20), (20, 50)))
    np.testing.assert_array_equal(rows, columns)
    assert index.tolist() == list(range(50))
    assert segments == ((0, 20), (20, 50))


def test_parallel_filtering_is_low_pass_then_trim_then_decimate(rng):
    parallel = ParallelFilter(cutoff=20.0, decimate_to=60.0)
    columns = rng.normal(size=(3000, 2, 3))
    segments = ((0, 1000), (1000, 1010), (1010, 3000))
    rows, index, kept = parallel.apply(columns, RATE, segments)
    trim = parallel.trimmed(RATE)
    assert parallel.factor(RATE) == 17
    expected = [np.arange(trim, 1000 - trim, 17), np.arange(1010 + trim, 3000 - trim, 17)]
    np.testing.assert_array_equal(index, np.concatenate(expected))
    assert kept == ((0, len(expected[0])), (len(expected[0]), len(index)))
    filtered = np.concatenate([
        parallel.low_pass.apply(columns[:1000], RATE)[expected[0]],
        parallel.low_pass.apply(columns[1010:], RATE)[expected[1] - 1010],
    ])
    np.testing.assert_allclose(rows, filtered, atol=1e-12)


def test_filtering_both_sides_keeps_a_linear_model_exact(rng):
    columns, theta = rng.normal(size=(2000, 4)), rng.normal(size=4)
    parallel = ParallelFilter(cutoff=15.0, decimate_to=40.0)
    left, _, _ = parallel.apply(columns @ theta, RATE, ((0, 2000),))
    right, _, _ = parallel.apply(columns, RATE, ((0, 2000),))
    np.testing.assert_allclose(left, right @ theta, atol=1e-10)


def test_blocks_of_columns_give_the_same_rows(rng, monkeypatch):
    columns = rng.normal(size=(1500, 7))
    columns[:, 3] = 0.0
    parallel = ParallelFilter(cutoff=20.0)
    at_once, _, _ = parallel.apply(columns, RATE, ((0, 1500),))
    monkeypatch.setattr(low_pass, '_SCRATCH', 2 * 8 * 1800)
    np.testing.assert_array_equal(parallel.apply(columns, RATE, ((0, 1500),))[0], at_once)


def test_trimmed_rows_do_not_depend_on_how_the_signal_was_continued(rng):
    parallel = ParallelFilter(cutoff=10.0)
    signal = np.cumsum(rng.normal(size=(4000, 1)), axis=0)
    long, _, _ = parallel.apply(signal, RATE, ((0, 4000),))
    short, index, _ = parallel.apply(signal[1000:3000], RATE, ((0, 2000),))
    trim = parallel.trimmed(RATE)
    same = long[index + 1000 - trim]
    assert np.abs(short - same).max() < 2e-2 * np.abs(signal).max()


def test_a_row_is_masked_when_its_main_support_holds_an_unusable_sample():
    parallel = ParallelFilter(cutoff=20.0, decimate_to=100.0)
    mask = np.ones((1000, 2), dtype=bool)
    mask[500, 1] = False
    index, _ = parallel.retained_samples(RATE, ((0, 1000),))
    rows = parallel.apply_mask(mask, RATE, ((0, 1000),))
    assert rows[:, 0].all()
    reach = parallel.low_pass.support(RATE)
    np.testing.assert_array_equal(rows[:, 1], np.abs(index - 500) > reach)


@pytest.mark.parametrize(('settings', 'message'), [
    ({'decimate_to': 2000.0, 'cutoff': 10.0}, 'more than the sampling rate'),
    ({'decimate_to': 100.0}, 'needs a low-pass'),
    ({'decimate_to': 30.0, 'cutoff': 20.0}, 'fold frequencies back.*at least 40 Hz'),
])
def test_decimation_that_would_alias_is_refused(settings, message):
    with pytest.raises(ConfigurationError, match=message):
        ParallelFilter(**settings).factor(RATE)


def test_segments_shorter_than_the_filter_are_refused_with_what_is_needed():
    with pytest.raises(RecordingError, match='found 100 samples.*allowed more than'):
        ParallelFilter(cutoff=5.0).apply(np.zeros((100, 1)), RATE, ((0, 100),))


@pytest.mark.parametrize('order', range(1, 11))
@pytest.mark.parametrize('cutoff', [2.0, 80.0, 400.0])
def test_the_slowest_pole_is_the_bilinear_transform_of_the_prototypes(order, cutoff):
    # Oppenheim and Schafer 2010, section 7.3: poles evenly on a half circle, the slowest next to
    # the imaginary axis.
    angle = np.pi * (0.5 + 1 / (2 * order))
    pole = np.tan(np.pi * cutoff / RATE) * np.exp(1j * angle)
    assert butterworth.slowest_pole(order, cutoff, RATE) == pytest.approx(
        abs((1 + pole) / (1 - pole)))


@pytest.mark.parametrize('order', [1, 4, 5])
def test_the_zero_phase_response_is_the_transform_of_the_squared_gain(order):
    length = LowPass(cutoff=30.0, order=order).memory(RATE)
    half = np.linspace(0.0, np.pi / 2, length + 1)
    gain = 1.0 / (1.0 + (np.tan(half) / np.tan(np.pi * 30.0 / RATE)) ** (2 * order))
    np.testing.assert_allclose(
        butterworth.zero_phase_response(order, 30.0, RATE, length),
        np.fft.irfft(gain)[:length], atol=1e-12)


def test_commands_that_filter_nothing_do_not_import_scipys_signal_package():
    # It takes a third of a second.
    code = 'import sys, sysid_ros.cli.fit; sys.exit("scipy.signal" in sys.modules)'
    assert subprocess.run([sys.executable, '-c', code], check=False).returncode == 0


def test_a_row_is_as_slow_as_its_slowest_main_ingredient(rng):
    # Friction that turns round is spread over the rows around by the filter.
    v, rate = rng.normal(size=(400, 2)), 100.0
    parallel = ParallelFilter(cutoff=5.0, row_speed='slowest')
    reach = int(1.5 * parallel.low_pass.support(rate))
    index = np.arange(reach, 400 - reach, 7)
    expected = [np.abs(v[k - reach:k + reach + 1]).min(axis=0) for k in index]
    np.testing.assert_array_equal(parallel.speeds_at(v, rate, index), expected)
    for plain in (ParallelFilter(), ParallelFilter(cutoff=5.0)):
        np.testing.assert_array_equal(plain.speeds_at(v, rate, index), np.abs(v[index]))
