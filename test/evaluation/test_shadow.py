"""A candidate has to beat what runs now on data that it has not seen."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2, norm

from sysid_ros.errors import RecordingError
from sysid_ros.evaluation.shadow import Candidate, ShadowSettings, shadow_test
from sysid_ros.recording.checks.motion_range import MotionRange
from sysid_ros.recording.description import QuantitySettings, RecordingSettings
from sysid_ros.recording.live.window import LiveWindow
from sysid_ros.recording.processing.align import align
from sysid_ros.recording.processing.low_pass import LowPass
from sysid_ros.recording.processing.settings import Processing
from sysid_ros.recording.processing.signals import ParallelFilter

FILTER = ParallelFilter(cutoff=10.0, decimate_to=25.0)


@pytest.fixture(scope='module')
def arm(simulated_arm):
    return simulated_arm(3)


@pytest.fixture(scope='module')
def prior(arm):
    return Candidate(arm.model, arm.model.parameters)


@pytest.fixture(scope='module')
def truth(arm):
    return Candidate(arm.model, arm.model.parameters.with_values(arm.truth))


@pytest.fixture(scope='module')
def data(arm):
    return arm.dataset(8.0, 250.0, noise=0.05)


def test_the_better_set_wins_and_the_worse_one_loses(truth, prior, data):
    shadow = shadow_test(truth, prior, data, parallel_filter=FILTER)
    assert shadow.won
    assert shadow.candidate.relative_error < 0.05 < shadow.current.relative_error
    other = shadow_test(prior, truth, data, parallel_filter=FILTER)
    assert not other.won
    assert 'clearly worse in' in other.sentence


def test_motion_beyond_what_the_candidate_was_fitted_to_is_said(truth, prior, data):
    slow = MotionRange.of(replace(data, v=data.v / 2.0))
    shadow = shadow_test(truth, prior, data, parallel_filter=FILTER, fitted=slow)
    assert shadow.won
    assert 'beyond the motion that the candidate was fitted to: 2.0 times the speed (' in (
        shadow.sentence)
    within = shadow_test(truth, prior, data, parallel_filter=FILTER, fitted=MotionRange.of(data))
    assert within.beyond == ()
    assert 'beyond the motion' not in within.sentence


def test_a_set_that_is_as_good_does_not_win(truth, data):
    assert not shadow_test(truth, truth, data, parallel_filter=FILTER).won


def test_what_is_better_by_chance_does_not_win(arm, truth, rng):
    """Sets whose errors differ far below the noise: about half of them are better by luck."""
    values = truth.parameters.values
    better = wins = 0
    data = arm.dataset(4.0, 100.0, noise=0.3)
    for _ in range(40):
        nearby = values * (1.0 + 1e-4 * rng.normal(size=len(values)))
        other = Candidate(arm.model, truth.parameters.with_values(nearby))
        shadow = shadow_test(other, truth, data)
        better += shadow.candidate.relative_error < shadow.current.relative_error
        wins += shadow.won
    assert better > 5
    assert wins == 0


def test_one_joint_that_gets_clearly_worse_is_enough_to_lose(arm, prior, truth, data):
    joint = arm.joint_names[-1]
    spoilt = truth.parameters.with_values({f'{joint}.viscous_friction': 0.3})
    shadow = shadow_test(Candidate(arm.model, spoilt), prior, data, parallel_filter=FILTER)
    assert shadow.candidate.relative_error < shadow.needed * shadow.current.relative_error
    assert not shadow.won
    assert joint in shadow.sentence


def test_a_robot_that_hardly_moved_tells_nothing_and_how_much_is_needed_is_said(
    truth, prior, data
):
    still = replace(data, v=np.zeros_like(data.v))
    with pytest.raises(RecordingError, match=r'found 0 s of motion.*at least 3 s') as refused:
        shadow_test(truth, prior, still, settings=ShadowSettings(least_motion=3.0))
    assert 'Move the robot' in str(refused.value)


def test_joints_that_did_not_move_are_named(arm, truth, prior, data):
    v = data.v.copy()
    v[:, 1] = 0.0
    shadow = shadow_test(truth, prior, replace(data, v=v), parallel_filter=FILTER)
    assert shadow.still == (arm.joint_names[1],)
    assert f'{arm.joint_names[1]} did not move' in shadow.sentence


def test_models_with_other_terms_are_compared_on_the_same_rows(arm, truth, prior, data):
    """A candidate may have friction that the current parameters do not know at all."""
    frictionless = replace(arm.model, terms=())
    parameters = frictionless.parameters
    shadow = shadow_test(
        truth, Candidate(frictionless, parameters), data, parallel_filter=FILTER)
    assert shadow.won
    assert (shadow.candidate.rows == shadow.current.rows).all()


def live(arm, seconds=6.0, rate=200.0):
    recording = arm.recording(seconds, rate, noise=0.02)
    t = recording.channels[0].t
    q, tau = (channel.values for channel in recording.channels)
    return LiveWindow(arm.joint_names, t, q, np.full_like(q, np.nan), tau, 1.7e9)


def test_live_joint_states_go_through_the_same_processing_as_a_recording(arm, truth, prior):
    window = live(arm)
    processing = Processing(position_filter=LowPass(cutoff=20.0), parallel_filter=FILTER)
    dataset = align(window.recording(), arm.joint_names, processing)
    assert shadow_test(truth, prior, dataset, parallel_filter=FILTER).won


def test_joint_states_in_other_units_are_converted_as_in_the_recording(arm):
    window = live(arm)
    scaled = replace(window, tau=window.tau * 50.0)
    settings = RecordingSettings(
        format='rosbag', file='bag', joints=arm.joint_names, effort=QuantitySettings(scale=0.02))
    effort = scaled.recording(settings).channel('effort')
    np.testing.assert_allclose(effort.values, window.tau)


def test_only_what_came_after_the_fitted_recording_counts(arm):
    window = live(arm)
    later = window.after(1.7e9 + 5.0)
    assert later.t[0] > 5.0
    assert later.recording().start == pytest.approx(1.7e9 + 5.0, abs=0.01)
    assert later.recording().duration == pytest.approx(1.0, abs=0.02)
    with pytest.raises(RecordingError, match='no joint states were heard since'):
        window.after(1.7e9 + 100.0).recording()


def test_joints_without_effort_are_named(arm):
    window = live(arm)
    tau = window.tau.copy()
    tau[:, 2] = np.nan
    with pytest.raises(RecordingError, match=f'no effort of {arm.joint_names[2]}'):
        replace(window, tau=tau).recording()


def test_the_last_motion_is_found_behind_a_standstill_and_through_steps_of_encoders(arm):
    window = live(arm)
    step = 2.0 * np.pi / 4096
    q = np.round(window.q / step) * step
    stands = window.t > 4.0
    q[stands] = q[np.flatnonzero(stands)[0]]
    # An encoder on the edge between two steps.
    q[stands, 0] += step * (np.arange(stands.sum()) % 2)
    last = replace(window, q=q).last_motion(2.0, 0.05)
    assert last.t[-1] == pytest.approx(4.0, abs=0.1)
    assert last.duration == pytest.approx(2.0, abs=0.02)
    assert not len(replace(window, q=np.zeros_like(q)).last_motion(2.0, 0.05).t)
    assert last.after(1.8e9).last_motion(2.0, 0.05).duration == 0.0


def test_efforts_may_come_in_messages_of_their_own(arm, truth, prior):
    window = live(arm)
    t = window.t[:-1] + 0.002
    own = replace(
        window, t=t, q=np.full((len(t), 4), np.nan), v=np.full((len(t), 4), np.nan),
        tau=arm.torque(t), origin=window.origin - 1.0)
    own = replace(own, t=t + 1.0)
    apart = replace(window, tau=np.full_like(window.tau, np.nan), efforts=own)
    recording = apart.after(window.origin + 1.0).recording()
    assert recording.channel('effort').period == pytest.approx(0.005)
    dataset = align(recording, arm.joint_names, Processing(parallel_filter=FILTER))
    assert shadow_test(truth, prior, dataset, parallel_filter=FILTER).won
    tau = own.tau.copy()
    tau[:, 1] = np.nan
    with pytest.raises(RecordingError, match=f'no effort of {arm.joint_names[1]} was heard'):
        replace(apart, efforts=replace(own, tau=tau)).recording()


def test_82_a_candidate_has_to_be_better_by_two_standard_errors(truth, prior, data):
    """A sum of N independent squares is distributed as chi-square, and spreads by sqrt(2 / N)."""
    shadow = shadow_test(truth, prior, data, parallel_filter=FILTER)
    squares = shadow.candidate.rows * shadow.candidate.rms_per_joint**2
    variance = np.sum(2.0 * squares**2 / shadow.candidate.effective_rows)
    rows = 2.0 * squares.sum()**2 / variance
    assert shadow.needed == pytest.approx(np.sqrt(chi2.ppf(norm.cdf(-2.0), rows) / rows))
    assert shadow.needed == pytest.approx(1.0 - 2.0 / np.sqrt(2.0 * rows), rel=0.02)
    assert 0.5 < shadow.needed < 0.99
    ratio = shadow.candidate.relative_error / shadow.current.relative_error
    assert replace(shadow, needed=1.001 * ratio).won
    close = replace(shadow, needed=0.999 * ratio)
    assert not close.won and 'beyond chance would be less than' in close.sentence
    assert not replace(shadow, worse=('elbow',)).won
