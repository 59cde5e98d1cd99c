"""FAULTS 15 to 17: wrapped encoders, efforts that are something else, saturated torques."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sysid_ros.errors import ConfigurationError, RecordingError
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.recording.checks.effort import effort_findings
from sysid_ros.recording.checks.effort_finding import EffortFinding, EffortKind
from sysid_ros.recording.checks.effort_reading import readings
from sysid_ros.recording.checks.effort_signs import RecordedSigns, require_right_signs
from sysid_ros.recording.description import RecordingSettings
from sysid_ros.recording.processing.align import align
from sysid_ros.recording.processing.masks import faster_than, saturated_runs
from sysid_ros.recording.processing.settings import Processing
from sysid_ros.recording.recording import Channel, Recording

REPRODUCTION = Path(__file__).parents[1] / 'reproduction'
SEEDS = range(6)
RATE = 200.0
T = np.arange(2000) / RATE


def recording(q, tau, t=T):
    names = ('a', 'b')[:q.shape[1]]
    return Recording((
        Channel('position', names, 'rad', t, q), Channel('effort', names, 'N·m', t, tau),
    ), 'test', '')


def aligned(tau, *, limit=None, q=None, **processing):
    q = np.sin(2 * T) if q is None else q
    limits = {} if limit is None else {'a': limit}
    return align(recording(q[:, None], tau[:, None]), ('a',), Processing(**processing),
                 effort_limits=limits)


def kinds(arm, change, **options):
    data = arm.dataset()
    findings = effort_findings(replace(data, tau=change(arm, data)), arm.model, **options)
    return [finding.kind for finding in findings]


def measured(name, folder, shared_data):
    setup = FitSetup.load(REPRODUCTION / name, shared_data / folder)
    return setup.align(setup.identification.recording()), setup.model


def test_15_a_wrapped_encoder_of_a_joint_with_limits_is_said_and_left_alone():
    turning = np.stack([3 * T, 3 * T], axis=1)
    wrapped = np.angle(np.exp(1j * turning))
    source = recording(wrapped, turning)
    data = align(source, ('a', 'b'), Processing(), continuous=frozenset({'a'}))
    np.testing.assert_allclose(data.q[:, 0], turning[:, 0], atol=1e-9)
    np.testing.assert_array_equal(data.q[:, 1], wrapped[:, 1])
    assert sum("'b' jumps by a turn at 1.05" in text for text in data.warnings) == 1
    assert not any("'a'" in text for text in data.warnings)


def test_16_a_prior_that_is_off_raises_no_alarm(simulated_arm):
    for seed in SEEDS:
        assert set(kinds(simulated_arm(seed), lambda arm, data: data.tau)) == {
            EffortKind.JOINT_TORQUE}


def test_16_a_wrong_sign_is_recognised_on_every_joint_and_refused(simulated_arm):
    for seed in SEEDS:
        found = kinds(simulated_arm(seed), lambda arm, data: -data.tau)
        assert set(found) == {EffortKind.WRONG_SIGN}
    arm = simulated_arm(0)
    data = arm.dataset()
    tau = data.tau * [1.0, 1.0, -1.0, 1.0]
    findings = effort_findings(replace(data, tau=tau), arm.model)
    with pytest.raises(RecordingError, match=r'of elbow_pitch has the wrong.*: \[1, 1, -1, 1\]'):
        require_right_signs(RecordedSigns(findings))
    with pytest.raises(RecordingError, match=r'recording.effort of second\.npz: '):
        require_right_signs(RecordedSigns(findings, recording='second.npz'))
    require_right_signs(RecordedSigns(effort_findings(data, arm.model)))


def test_16_signs_that_were_set_before_are_turned_and_not_set_again(simulated_arm):
    arm = simulated_arm(0)
    data, names = arm.dataset(), arm.joint_names
    findings = effort_findings(replace(data, tau=data.tau * [1.0, 1.0, -1.0, 1.0]), arm.model)
    order = (names[2], *names[:2], names[3])
    for sign, right in ((-1, '[1, -1, -1, -1]'), ((-1, 1, 1, 1), '1')):
        described = RecordingSettings(
            format='rosbag', file='bag', joints=order, effort={'sign': sign})
        with pytest.raises(RecordingError) as refused:
            require_right_signs(RecordedSigns(findings, described))
        assert f'Set recording: {{effort: {{sign: {right}}}}}, or' in str(refused.value)
    with pytest.raises(RecordingError, match=r'joints: \[.*\], effort: {sign: \[1, 1, -1, 1\]}'):
        require_right_signs(
            RecordedSigns(findings, RecordingSettings(format='rosbag', file='bag')))


def test_16_a_motor_side_torque_is_told_from_a_current_by_the_gear_ratio(simulated_arm):
    ratios = dict(zip(simulated_arm(0).joint_names, (100.0, 120.0, 80.0, 50.0), strict=True))
    motor, current = [], []
    for seed in SEEDS:
        def at_motor(arm, data):
            return data.tau / list(ratios.values())
        motor += kinds(simulated_arm(seed), at_motor, ratios=ratios)[:3]
        current += kinds(simulated_arm(seed), at_motor)[:3]
    assert motor.count(EffortKind.MOTOR_SIDE) >= 0.9 * len(motor)
    assert current.count(EffortKind.SCALED) >= 0.9 * len(current)


def test_16_a_current_gets_a_sentence_with_its_scale_and_what_to_put_in_the_settings(
    simulated_arm
):
    arm = simulated_arm(1)
    data = arm.dataset()
    findings = effort_findings(replace(data, tau=data.tau / 40.0), arm.model)
    sentence = findings[1].sentence
    assert sentence.startswith(
        'shoulder_pitch: the effort looks like a current or a motor-side torque: 0.02')
    assert 'Set recording: {effort: {scale: [1, ' in sentence
    assert 'the torque per unit by the description, times what is there now' in sentence
    assert 'or the masses of the description are wrong: correct them' in sentence
    assert 25.0 < 1 / findings[1].scale < 60.0
    assert not findings[1].wrong_sign


def test_16_a_torque_without_gravity_is_recognised_where_there_is_gravity(simulated_arm):
    for seed in SEEDS:
        found = kinds(simulated_arm(seed), lambda arm, data: data.tau - arm.gravity(data.t))
        # Nothing hangs on the vertical first axis.
        assert found[0] is EffortKind.JOINT_TORQUE
        assert found[1:3] == [EffortKind.GRAVITY_COMPENSATED] * 2


@pytest.mark.parametrize('seed', SEEDS)
def test_16_a_torque_below_the_noise_of_its_sensor_is_no_alarm(simulated_arm, seed):
    arm = simulated_arm(seed)
    data = arm.dataset()
    noise = 1.3 * data.tau.std(axis=0) * np.random.default_rng(seed).normal(size=data.tau.shape)
    findings = effort_findings(replace(data, tau=data.tau + noise), arm.model)
    assert all(finding.kind.usable for finding in findings)


def test_16_noise_is_no_excuse_where_the_description_foretells_more(simulated_arm, rng):
    arm = simulated_arm(0)
    data = arm.dataset()
    tau = data.tau.copy()
    # The second joint carries the weight of the arm.
    weight = tau[:, 1].std()
    noise = rng.normal(size=len(tau))
    for sensed, least, most in ((0.05 * weight * noise, 0.0, 0.1),
                                (data.tau[:, 1] + 1.3 * weight * noise, 0.4, 0.8)):
        tau[:, 1] = sensed
        part = list(readings(replace(data, tau=tau), arm.model))[1][0].noise_part
        assert least < part < most


def test_16_an_effort_of_noise_or_of_nothing_is_not_taken_for_a_torque(simulated_arm, rng):
    arm = simulated_arm(1)
    data = arm.dataset()
    tau = data.tau.copy()
    tau[:, 1] = rng.normal(size=len(tau))
    tau[:, 2] = 0.0
    findings = effort_findings(replace(data, tau=tau), arm.model)
    assert findings[1].kind in (EffortKind.UNRELATED, EffortKind.UNKNOWN)
    assert findings[2].kind is EffortKind.CONSTANT
    assert not findings[2].kind.usable
    require_right_signs(RecordedSigns(findings))
    assert 'recording: {unpowered: [elbow_pitch]}' in findings[2].suggestion
    # What has nothing to do with the motion may be another column, or that of no drive at all.
    noise = np.convolve(rng.normal(size=len(tau)), np.full(50, 0.02), mode='same')
    noise *= data.tau[:, 1].std() / noise.std()
    silent = replace(data, tau=np.where(np.arange(4) == 1, noise[:, None], data.tau))
    found = effort_findings(silent, arm.model)[1]
    assert found.kind is EffortKind.UNRELATED
    assert 'recording: {unpowered: [shoulder_pitch]}' in found.suggestion
    # What nothing explains has no sign that could be wrong.
    assert not EffortFinding('a', EffortKind.UNRELATED, -1.0, 0.1, 0.1).wrong_sign
    unpowered = effort_findings(
        replace(data, tau=tau), arm.model, unpowered=[arm.joint_names[2]])
    assert unpowered[2].kind is EffortKind.UNKNOWN


def test_16_the_link_torques_of_the_kuka_are_accepted_and_their_negatives_refused(shared_data):
    data, model = measured('kuka_run1.yaml', 'kuka_lwr4', shared_data)
    findings = effort_findings(data, model)
    assert all(finding.kind.usable for finding in findings)
    require_right_signs(RecordedSigns(findings))
    flipped = effort_findings(replace(data, tau=-data.tau), model)
    assert all(finding.wrong_sign for finding in flipped)


def test_16_raw_motor_torques_of_the_tx40_are_recognised_and_its_joint_torques_accepted(
    shared_data
):
    data, model = measured('tx40.yaml', 'staubli_tx40', shared_data)
    assert {finding.kind for finding in effort_findings(data, model)} == {EffortKind.JOINT_TORQUE}
    ratios = (32.0, 32.0, 45.0, -48.0, 45.0, 32.0)
    coupled = np.diag(ratios)
    coupled[5, 4] = 32.0
    raw = replace(data, tau=data.tau @ np.linalg.inv(coupled))
    findings = effort_findings(raw, model, dict(zip(data.joint_names, ratios, strict=True)))
    assert [finding.kind for finding in findings[:3]] == [EffortKind.MOTOR_SIDE] * 3
    # The fourth motor turns against its joint.
    assert [finding.wrong_sign for finding in findings[:4]] == [False, False, False, True]


def test_17_a_torque_clipped_at_the_limit_is_masked_and_its_fraction_reported():
    tau = np.clip(10 * np.sin(3 * T), -8.0, 8.0)
    data = aligned(tau, limit=8.0)
    np.testing.assert_array_equal(data.mask[:, 0], np.abs(tau) < 0.995 * 8.0)
    masked = int((~data.mask).sum())
    assert data.counts['saturated torque samples masked'] == masked
    assert f'saturates at 8: {100 * masked / len(T):.2g} % of its samples' in data.warnings[-1]
    assert aligned(tau, limit=8.0, mask_saturation=False, frozen_after=20.0).mask.all()


@pytest.mark.parametrize('step', [0.0, 0.02])
def test_17_a_plateau_at_the_largest_torque_is_found_without_a_limit(rng, step):
    tau = 10 * np.sin(3 * T) + 0.05 * rng.normal(size=len(T))
    tau = np.minimum(np.round(tau / step) * step if step else tau, 7.0)
    data = aligned(tau)
    found = ~data.mask[:, 0]
    assert found.sum() > 0.9 * (tau == 7.0).sum()
    assert not found[tau < 7.0].any()


@pytest.mark.parametrize('step', [0.0, 0.05, 1.0])
def test_17_a_smooth_peak_is_not_a_plateau_however_coarse_the_sensor(step):
    tau = 10 * np.sin(3 * T) + 2 * np.cos(7 * T)
    assert saturated_runs(np.round(tau / step) * step if step else tau) == []


def test_17_a_torque_beyond_the_limit_shows_that_the_limit_is_not_the_drive_s():
    tau = 10 * np.sin(3 * T)
    assert saturated_runs(tau, limit=8.0) == []
    assert saturated_runs(tau, limit=10.0) != []


def test_17_a_joint_that_rests_at_its_largest_torque_is_not_saturated():
    swing = np.clip(T - 2.0, 0.0, np.pi)
    q = 1 - np.cos(swing)
    data = aligned(5 * q, q=q, frozen_after=20.0)
    assert data.mask.all()


def test_17_real_recordings_are_not_taken_for_saturated(shared_data):
    for name, folder in (('kuka_run1.yaml', 'kuka_lwr4'), ('tx40.yaml', 'staubli_tx40')):
        data, _ = measured(name, folder, shared_data)
        assert 'saturated torque samples masked' not in data.counts


def test_slow_joints_are_told_by_one_speed_or_one_per_joint():
    v = np.array([[0.05, -0.2], [0.2, 0.05]])
    np.testing.assert_array_equal(
        faster_than(v, 0.1, ('a', 'b')), [[False, True], [True, False]])
    np.testing.assert_array_equal(
        faster_than(v, (0.01, 0.3), ('a', 'b')), [[True, False], [True, False]])
    with pytest.raises(ConfigurationError, match='found 3 numbers; allowed 2'):
        faster_than(v, (0.1, 0.1, 0.1), ('a', 'b'))
