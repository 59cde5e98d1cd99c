"""Trajectory problems of recordings: nodes, stamps, noise, gaps, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sysid_ros.errors import ConfigurationError, EstimationError, ModelError, RecordingError
from sysid_ros.estimation.trajectory.from_recording import (
    NodeSettings,
    problem_from_recordings,
)
from sysid_ros.estimation.trajectory.sensors import Encoder, Tachometer
from sysid_ros.estimation.trajectory.starts import initial_states
from sysid_ros.mechanics.joint_terms.terms import CoulombFriction, ViscousFriction
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.recording.processing.settings import Processing
from sysid_ros.recording.recording import Channel, Recording
from sysid_ros.settings import parse_settings

STEP = 0.01
SECONDS = 4.0


@pytest.fixture(scope='module')
def arm(simulated_arm):
    return simulated_arm(1)


@pytest.fixture(scope='module')
def model(arm):
    return TorqueModel(arm.model.robot, [ViscousFriction(), CoulombFriction(smoothing=0.01)])


def noisy(arm, rate=1000.0, sigma=1e-4, seed=0, t=None):
    """Encoders, tachometers and torques of the arm, with encoder noise."""
    t = np.arange(round(SECONDS * rate) + 1) / rate if t is None else t
    q, v, _ = arm.motion(t)
    random = np.random.default_rng(seed)
    return Recording((
        Channel('position', arm.joint_names, 'rad', t, q + sigma * random.normal(size=q.shape)),
        Channel('velocity', arm.joint_names, 'rad/s', t, v),
        Channel('effort', arm.joint_names, 'N·m', t, arm.torque(t)),
    ), 'simulated', 'a hash')


def problem(model, *recordings, processing=None, **settings):
    return problem_from_recordings(
        model, recordings, NodeSettings(**{'step': STEP, **settings}), processing=processing)


def without(recording, *quantities):
    return replace(recording, channels=tuple(
        channel for channel in recording.channels if channel.quantity not in quantities))


def with_channel(recording, channel):
    return replace(recording, channels=(*without(recording, channel.quantity).channels, channel))


def test_encoders_keep_their_stamps_and_torques_come_to_the_nodes(arm, model):
    recording = noisy(arm)
    found = problem(model, recording)
    (segment,) = found.segments
    np.testing.assert_allclose(segment.t, np.arange(401) * STEP, atol=1e-12)
    (observation,) = segment.observations
    assert observation.sensor == Encoder.of(arm.joint_names)
    np.testing.assert_array_equal(observation.t, recording.channel('position').t)
    np.testing.assert_array_equal(observation.values, recording.channel('position').values)
    size = np.abs(segment.torque).max(axis=0)
    # Dry friction jumps, where nothing on nodes can follow: the median leaves that out.
    off = np.median(np.abs(segment.torque - arm.torque(segment.t)) / size, axis=0)
    assert (off < 1e-3).all()
    assert found.provenance == {'source': 'simulated', 'sha256': 'a hash', 'step': STEP}
    assert found.warnings == ()


def test_the_start_is_the_recorded_one(arm, model):
    (segment,) = problem(model, noisy(arm, sigma=1e-6)).segments
    q, v, _ = arm.motion(segment.t[:1])
    np.testing.assert_allclose(segment.start, [q[0], v[0]], atol=1e-5)
    (segment,) = problem(model, without(noisy(arm), 'velocity')).segments
    assert segment.start is None


def test_states_to_begin_at_are_those_of_the_motion(arm, model):
    found = problem(model, noisy(arm))
    ((q, v),) = initial_states(found)
    true_q, true_v, _ = arm.motion(found.segments[0].t)
    assert np.sqrt(np.mean((q - true_q) ** 2)) < 1e-4
    assert np.sqrt(np.mean((v - true_v) ** 2)) < 1e-2


def test_velocities_count_when_they_are_asked_for(arm, model):
    (segment,) = problem(model, noisy(arm), velocities=True).segments
    kinds = [type(observation.sensor) for observation in segment.observations]
    assert kinds == [Encoder, Tachometer]


def test_joints_with_stamps_of_their_own_are_observed_one_by_one(arm, model):
    recording = noisy(arm)
    channel = recording.channel('position')
    slow = Channel('position', channel.names[:1], 'rad', channel.t[::10], channel.values[::10, :1])
    fast = Channel('position', channel.names[1:], 'rad', channel.t, channel.values[:, 1:])
    found = problem(model, replace(without(recording, 'position'), channels=(
        slow, fast, *without(recording, 'position').channels)))
    observations = found.segments[0].observations
    assert [observation.sensor.width for observation in observations] == [1, len(channel.names) - 1]
    assert [len(observation.t) for observation in observations] == [401, 4001]


@pytest.mark.parametrize('sigma', [1e-3, 1e-5])
def test_white_noise_is_told_from_the_samples(arm, model, sigma):
    (segment,) = problem(model, noisy(arm, sigma=sigma)).segments
    np.testing.assert_allclose(segment.observations[0].sigma, sigma, rtol=0.1)


def test_noise_of_coarse_encoders_is_that_of_rounding(arm, model):
    recording = arm.recording(SECONDS, 1000.0, bits=12)
    (segment,) = problem(model, recording).segments
    step = 2.0 * np.pi / 2**12
    # Slow joints stay in one step for many samples: there rounding alone is seen.
    assert (segment.observations[0].sigma >= 0.99 * step / np.sqrt(12.0)).all()
    assert (segment.observations[0].sigma < 2.0 * step).all()


def test_noise_may_be_given_for_all_joints_or_by_name(arm, model):
    (segment,) = problem(model, noisy(arm), position_noise=2e-3).segments
    np.testing.assert_array_equal(segment.observations[0].sigma, 2e-3)
    given = {name: 1e-3 * (k + 1) for k, name in enumerate(arm.joint_names)}
    (segment,) = problem(model, noisy(arm), position_noise=given).segments
    np.testing.assert_array_equal(segment.observations[0].sigma, list(given.values()))
    missing = arm.joint_names[-1]
    del given[missing]
    with pytest.raises(ConfigurationError, match=f'position_noise: .*{missing!r}'):
        problem(model, noisy(arm), position_noise=given)
    with pytest.raises(ConfigurationError, match='not above zero'):
        problem(model, noisy(arm), position_noise=0.0)


def test_a_signal_without_noise_asks_for_a_number(arm, model):
    recording = noisy(arm)
    channel = recording.channel('position')
    held = channel.values.copy()
    held[:, 0] = 0.5
    still = with_channel(recording, Channel('position', channel.names, 'rad', channel.t, held))
    with pytest.raises(RecordingError, match=f'{channel.names[0]!r} never changes.*position_noise'):
        problem(model, still)
    assert problem(model, still, position_noise=1e-4).segments


def test_gaps_and_resets_are_never_bridged(arm, model):
    t = np.arange(4001) / 1000.0
    recording = replace(noisy(arm, t=t[(t < 1.0) | (t > 1.5)]), breaks=(2.5003,))
    found = problem(model, recording)
    spans = [(segment.t[0], segment.t[-1]) for segment in found.segments]
    np.testing.assert_allclose(spans, [(0.0, 0.99), (1.501, 2.491), (2.501, 3.991)], atol=1e-9)
    for segment in found.segments:
        (observation,) = segment.observations
        assert observation.t[0] >= segment.t[0]
        assert observation.t[-1] <= segment.t[-1]
    assert any('cut into 3 stretches' in warning for warning in found.warnings)


def test_a_gap_of_torque_cuts_too_and_single_samples_may_miss(arm, model):
    recording = noisy(arm)
    channel = recording.channel('effort')
    values = channel.values.copy()
    values[1000:1002, 0] = np.nan
    values[2000:2100, 1] = np.nan
    found = problem(model, with_channel(
        recording, Channel('effort', channel.names, 'N·m', channel.t, values)))
    assert len(found.segments) == 2
    assert all(np.isfinite(segment.torque).all() for segment in found.segments)


def test_short_stretches_are_left_out_and_named(arm, model):
    t = np.arange(4001) / 1000.0
    found = problem(model, noisy(arm, t=t[(t < 1.0) | ((t > 1.5) & (t < 1.53)) | (t > 2.0)]))
    assert len(found.segments) == 2
    assert any('shorter than 4 steps' in warning for warning in found.warnings)


def test_several_recordings_make_one_problem(arm, model):
    found = problem(model, noisy(arm), replace(noisy(arm, seed=1), source='other', sha256='b'))
    assert len(found.segments) == 2
    assert found.provenance['source'] == 'simulated, other'


def test_late_torques_are_moved_back(arm, model):
    late = arm.recording(SECONDS, 1000.0, delays=np.full(len(arm.joint_names), 0.02), noise=0.0)
    (moved,) = problem(model, late, position_noise=1e-4,
                       processing=Processing(torque_delay=0.02)).segments
    off = np.median(np.abs(moved.torque - arm.torque(moved.t)), axis=0)
    assert (off < 1e-3 * np.abs(moved.torque).max(axis=0)).all()


def test_jittering_stamps_are_made_even_and_ends_cut_off_as_the_settings_say(arm, model):
    random = np.random.default_rng(0)
    t = np.arange(4001) / 1000.0
    recording = noisy(arm, t=t)
    shaken = t + random.uniform(-2e-4, 2e-4, len(t))
    jittering = replace(recording, channels=tuple(
        replace(channel, t=shaken) for channel in recording.channels))
    (segment,) = problem(
        model, jittering, processing=Processing(stamps='uniform', trim=(0.5, 1.0))).segments
    np.testing.assert_allclose(np.diff(segment.observations[0].t), 1e-3, atol=1e-8)
    assert segment.t[0] == pytest.approx(0.5, abs=1e-3)
    assert segment.t[-1] == pytest.approx(3.0, abs=2e-2)


def test_free_swing_needs_no_effort_of_joints_named_as_unpowered(arm, model):
    swing = without(noisy(arm), 'effort')
    with pytest.raises(RecordingError, match='no effort was recorded for .*unpowered'):
        problem(model, swing)
    (segment,) = problem(model, swing, unpowered=arm.joint_names).segments
    assert not segment.torque.any()
    found = problem(model, noisy(arm), unpowered=arm.joint_names[:1])
    assert not found.segments[0].torque[:, 0].any()
    assert any('nothing drives' in warning for warning in found.warnings)


def test_some_encoders_may_be_left_out_by_name(arm, model):
    recording = noisy(arm)
    channel = recording.channel('position')
    some = with_channel(recording, Channel(
        'position', channel.names[:-1], 'rad', channel.t, channel.values[:, :-1]))
    with pytest.raises(RecordingError, match=f'no position was recorded for {channel.names[-1]}'):
        problem(model, some)
    found = problem(model, some, observed=channel.names[:-1])
    assert found.segments[0].start is None
    # The dynamics say how the last joint moves: its weight and friction are a first guess's.
    ((q, v),) = initial_states(found)
    assert np.isfinite(v).all()
    assert np.ptp(q[:, -1]) > 0.1
    np.testing.assert_allclose(q[:, :-1], arm.motion(found.segments[0].t)[0][:, :-1], atol=1e-3)


def test_velocities_that_were_not_recorded_are_asked_for(arm, model):
    with pytest.raises(RecordingError, match='no velocity was recorded'):
        problem(model, without(noisy(arm), 'velocity'), velocities=True)


@pytest.mark.parametrize(('step', 'match'), [
    (1e-6, 'far closer than the samples.*at least 1e-05 s'),
    (2.0, 'no stretch without a gap is long enough.*at least 8 s'),
])
def test_a_step_that_does_not_fit_the_samples_is_refused(arm, model, step, match):
    with pytest.raises(RecordingError, match=match):
        problem(model, noisy(arm), step=step)


@pytest.mark.parametrize('step', [0.0, -0.01, float('nan'), 'fast'])
def test_a_step_that_is_no_time_is_refused(step):
    with pytest.raises(ConfigurationError, match='step'):
        parse_settings(NodeSettings, {'step': step}, 'settings.yaml')


@pytest.mark.parametrize('setting', ['observed', 'unpowered'])
def test_a_joint_of_the_settings_that_does_not_exist_is_named(arm, model, setting):
    with pytest.raises(ModelError, match="no such moving joint.*'nonsense'"):
        problem(model, noisy(arm), **{setting: ('nonsense',)})


def test_nothing_observed_is_refused(arm, model):
    with pytest.raises(ConfigurationError, match='no joint is observed'):
        problem(model, noisy(arm), observed=())


def test_a_recording_too_short_for_its_parameters_is_refused(arm, model):
    short = noisy(arm, rate=100.0, t=np.arange(9) / 100.0)
    with pytest.raises(EstimationError, match='too little data'):
        problem(model, short)
