"""The summary of a recording's quality."""

import json

import numpy as np
import pytest

from sysid_ros.recording.checks.effort import effort_findings
from sysid_ros.recording.checks.quality import assess_quality
from sysid_ros.recording.processing.align import align
from sysid_ros.recording.processing.delay import estimate_delays
from sysid_ros.recording.processing.resolution import resolution
from sysid_ros.recording.processing.settings import Processing
from sysid_ros.recording.recording import Channel, Recording


@pytest.mark.parametrize('bits', [12, 16, 20])
def test_the_resolution_of_an_encoder_is_found_in_bits(simulated_arm, bits):
    arm = simulated_arm(0)
    source = arm.recording(10.0, 500.0, bits=bits)
    data = align(source, arm.joint_names, Processing())
    quality = assess_quality(source, data, arm.model.robot)
    assert [joint.encoder_bits for joint in quality.joints] == pytest.approx([bits] * 4, abs=1e-3)
    coarse = [text for text in quality.warnings if 'bits' in text]
    assert len(coarse) == (4 if bits == 12 else 0)


def test_a_continuous_signal_has_no_resolution(rng):
    t = np.linspace(0, 10, 5000)
    assert resolution(np.sin(t)) is None
    assert resolution(rng.normal(size=5000)) is None
    assert resolution(np.zeros(100)) is None
    assert resolution(np.round(np.sin(t) / 0.01) * 0.01) == pytest.approx(0.01)


def test_noise_of_a_torque_is_told_from_its_motion(simulated_arm):
    arm = simulated_arm(4)
    source = arm.recording(10.0, 500.0, noise=0.02)
    data = align(source, arm.joint_names, Processing())
    true = 0.02 * np.sqrt(np.mean(arm.torque(data.t) ** 2, axis=0))
    found = [joint.torque_noise for joint in assess_quality(source, data, arm.model.robot).joints]
    np.testing.assert_allclose(found, true, rtol=0.1)


def test_gaps_jitter_and_little_motion_are_counted_and_said(rng):
    t = np.arange(4000) / 200.0
    t = np.delete(t, slice(1000, 1100)) + rng.normal(0.0, 1e-4, 3900)
    q = np.stack([0.01 * np.sin(t), np.where(t < 2, np.sin(3 * t), np.sin(6.0))], axis=1)
    source = Recording((
        Channel('position', ('base_yaw', 'shoulder_pitch'), 'rad', t, q),
        Channel('effort', ('base_yaw', 'shoulder_pitch'), 'N·m', t,
                np.stack([np.sin(t), rng.normal(size=len(t))], axis=1)),
    ), 'test', '')
    robot = type('Robot', (), {
        'limits': type('Limits', (), {'lower': np.array([-2.0, -np.inf]),
                                      'upper': np.array([2.0, np.inf])}),
        'joint_types': ('revolute', 'continuous'), 'base_joints': (),
        'limb_joints': ('base_yaw', 'shoulder_pitch'),
    })
    data = align(source, ('base_yaw', 'shoulder_pitch'), Processing())
    quality = assess_quality(source, data, robot, processing=Processing(standstill_velocity=0.1))
    assert quality.rate == pytest.approx(200.0, rel=1e-3)
    assert quality.gaps == 1
    assert quality.longest_gap == pytest.approx(0.505, abs=1e-3)
    assert quality.segments == 2
    assert quality.jitter == pytest.approx(np.sqrt(2) * 0.02, rel=0.1)
    assert quality.joints[0].range_used == pytest.approx(0.005, rel=0.01)
    assert quality.joints[1].range_used is None
    said = ' '.join(quality.warnings)
    assert "'base_yaw' used 0 % of its range only" in said
    assert "'base_yaw' moves in 0 % of the samples only" in said
    assert "'shoulder_pitch' is noisy" in said


def test_the_summary_tells_delays_and_odd_efforts_and_serialises(simulated_arm):
    arm = simulated_arm(1)
    source = arm.recording(20.0, 200.0, delays=np.array([0.02, 0.0, 0.0, 0.0]))
    data = align(source, arm.joint_names, Processing())
    quality = assess_quality(
        source, data, arm.model.robot, delays=estimate_delays(data, arm.model),
        efforts=effort_findings(data, arm.model),
    )
    text = quality.text()
    assert text.startswith('Data\n  20 s in 1 segment, recorded at 200 Hz')
    assert 'base_yaw: the torque arrives 20' in text
    assert quality.efforts == ()
    assert max(map(len, text.splitlines())) < 140
    assert json.loads(json.dumps(quality.to_json()))['joints'][0]['name'] == 'base_yaw'
