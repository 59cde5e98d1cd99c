"""Up to which frequency motion stands out of encoder noise, and filters that follow from it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sysid_ros.recording.dataset import Dataset
from sysid_ros.recording.processing.bandwidth import motion_bandwidth, torque_bandwidth
from sysid_ros.recording.processing.choice import choose_filters, filled_from, too_coarse
from sysid_ros.recording.processing.low_pass import LowPass
from sysid_ros.recording.processing.settings import Processing
from sysid_ros.recording.processing.signals import ParallelFilter

RATE, SECONDS = 200.0, 20.0


def recorded(frequency, *, step=0.0, noise=0.0, torque=None, rate=RATE, segments=None):
    """Sums of sines up to a frequency in two joints, with coarse encoders or noise."""
    random = np.random.default_rng(3)
    t = np.arange(round(SECONDS * rate)) / rate
    tones = np.linspace(0.2, 1.0, 12) * frequency
    # Accelerations of all tones are alike, as those of a robot are.
    q = np.stack([
        sum(np.sin(2 * np.pi * f * t + p) / f**2 for f, p in zip(tones, phases, strict=True))
        for phases in random.uniform(0, 2 * np.pi, (2, 12))], axis=1)
    q = np.round(q / step) * step if step else q
    q = q + noise * random.normal(size=q.shape)
    tau = np.repeat((np.sin(2 * np.pi * 0.5 * t) if torque is None else torque(t))[:, None], 2, 1)
    tau = tau + 1e-4 * random.normal(size=tau.shape)
    still = np.zeros_like(q)
    return Dataset(
        ('a', 'b'), t, q, still, still, tau, np.ones(q.shape, bool),
        segments or ((0, len(t)),), rate, source='simulated')


def pieces(*edges):
    return tuple(zip(edges[:-1], edges[1:], strict=True))


def where_noise_counts(q, noise, rate=RATE):
    """Frequency below which white noise is 3 % of the acceleration, by its density."""
    a = np.gradient(np.gradient(q, 1.0 / rate, axis=0), 1.0 / rate, axis=0)[5:-5]
    density = 2.0 * noise**2 / rate
    return (5.0 * 0.03**2 * a.var(axis=0) / (density * (2 * np.pi) ** 4)) ** 0.2


@pytest.mark.parametrize('frequency', [3.0, 8.0, 20.0])
@pytest.mark.parametrize('noise', [3e-5, 3e-4])
def test_the_band_ends_where_noise_is_a_small_part_of_accelerations(frequency, noise):
    found = motion_bandwidth(recorded(frequency, noise=noise))
    expected = where_noise_counts(recorded(frequency).q, noise)
    np.testing.assert_allclose(found, np.minimum(expected, 100.0), rtol=0.1)


def test_coarse_encoders_are_as_noise_of_their_step():
    found = motion_bandwidth(recorded(8.0, step=1e-3))
    expected = where_noise_counts(recorded(8.0).q, 1e-3 / np.sqrt(12.0))
    np.testing.assert_allclose(found, expected, rtol=0.2)


def test_exact_positions_tell_all_frequencies():
    assert (motion_bandwidth(recorded(8.0)) > 0.4 * RATE).all()


def test_a_joint_of_noise_alone_has_no_motion():
    data = recorded(5.0, noise=3e-5)
    silent = data.q.copy()
    silent[:, 1] = 1e-6 * np.random.default_rng(1).normal(size=len(silent))
    found = motion_bandwidth(replace(data, q=silent))
    assert found[0] > 10.0
    assert found[1] < 1.0


def test_segments_count_together():
    whole = recorded(8.0, noise=1e-6)
    parts = recorded(8.0, noise=1e-6, segments=pieces(0, 1500, 4000))
    np.testing.assert_allclose(motion_bandwidth(parts), motion_bandwidth(whole), atol=1.0)


def test_the_band_of_a_torque_holds_nearly_all_of_its_power():
    np.testing.assert_allclose(torque_bandwidth(recorded(8.0)), 0.75, atol=0.3)
    fast = recorded(8.0, torque=lambda t: np.sin(2 * np.pi * t) + 0.2 * np.sin(2 * np.pi * 9 * t))
    np.testing.assert_allclose(torque_bandwidth(fast), 9.0, atol=0.3)
    constant = recorded(8.0)
    constant = replace(constant, tau=np.ones_like(constant.tau))
    assert (torque_bandwidth(constant) == 0.0).all()


def jumps(t):
    """A torque with steps, as dry friction makes it: its band is wide."""
    return np.sign(np.sin(2 * np.pi * 3.0 * t))


def test_filters_follow_the_motion():
    processing, chosen = choose_filters(
        recorded(8.0, noise=1e-2, torque=jumps), Processing())
    expected = where_noise_counts(recorded(8.0).q, 1e-2).mean()
    assert processing.parallel_filter.cutoff == pytest.approx(expected, rel=0.15)
    assert processing.position_filter.cutoff == 3.0 * processing.parallel_filter.cutoff
    assert processing.parallel_filter.decimate_to == 2.5 * processing.parallel_filter.cutoff
    assert [choice.key for choice in chosen] == [
        'processing.position_filter', 'processing.parallel_filter']
    assert 'noise of the positions counts' in chosen[0].reason
    # Written into a file, the same comes out.
    read = Processing.model_validate({c.key.split('.')[1]: c.value for c in chosen})
    assert (read.parallel_filter, read.position_filter) == (
        processing.parallel_filter, processing.position_filter)


def test_torques_that_a_driver_has_filtered_narrow_the_rows():
    processing, chosen = choose_filters(recorded(20.0, noise=1e-9), Processing())
    assert processing.parallel_filter.cutoff <= 3.0
    assert 'torques hold next to nothing above' in chosen[0].reason


def test_no_robot_is_rigid_at_high_frequencies():
    processing, _ = choose_filters(
        recorded(60.0, noise=1e-9, torque=lambda t: jumps(10.0 * t)), Processing())
    assert processing.parallel_filter.cutoff == 20.0


def test_a_slow_recording_is_filtered_as_far_as_it_can_be():
    slow = recorded(9.0, noise=1e-7, rate=25.0, torque=jumps)
    processing, _ = choose_filters(slow, Processing())
    assert 25.0 / processing.parallel_filter.factor(25.0) >= 2.0 * 5.0
    assert processing.parallel_filter.cutoff <= 5.0
    assert processing.position_filter is None


@pytest.mark.parametrize('given', [
    {'position_filter': LowPass(cutoff=7.0)}, {'parallel_filter': ParallelFilter(cutoff=7.0)},
    {'differentiation': 'measured'}])
def test_filters_that_are_given_stay_and_no_others_are_added(given):
    processing = Processing(**given)
    assert choose_filters(recorded(8.0, noise=1e-6), processing) == (processing, ())


def test_a_recording_too_short_for_a_spectrum_is_left_as_it_is():
    short = recorded(8.0, noise=1e-6, segments=pieces(*range(0, 4001, 40)))
    assert choose_filters(short, Processing()) == (Processing(), ())
    still = recorded(8.0)
    still = replace(still, q=np.zeros_like(still.q))
    assert choose_filters(still, Processing()) == (Processing(), ())


def test_another_recording_takes_the_filters_it_does_not_give():
    fitted = Processing(
        position_filter=LowPass(cutoff=9.0), torque_delay={'a': 0.01}, stamps='uniform',
        trim=(1.0, 1.0))
    taken = filled_from(Processing(), fitted)
    assert taken.position_filter == LowPass(cutoff=9.0)
    assert taken.torque_delay == {'a': 0.01}
    # Stamps and ends are each recording's own.
    assert (taken.stamps, taken.trim) == ('measured', (0.0, 0.0))
    own = Processing(parallel_filter=ParallelFilter(cutoff=3.0), torque_delay=0.0)
    assert filled_from(own, fitted) == own


def test_joints_that_move_on_coarse_encoders_are_named():
    slow = recorded(0.5)
    steps = np.array([1e-6, 3.0])
    mixed = replace(slow, q=np.round(slow.q / steps) * steps)
    assert too_coarse(mixed) == ('b',)
    assert too_coarse(slow) == ()
    # A joint that does not move has no acceleration to tell.
    assert too_coarse(replace(slow, q=0.01 * mixed.q / np.ptp(mixed.q, axis=0))) == ()
    assert too_coarse(recorded(0.5, segments=pieces(*range(0, 4001, 40)))) == ()
