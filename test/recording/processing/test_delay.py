"""Delays between torque and motion, recovered and applied."""

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from support.simulated_arm import DESCRIPTION
from sysid_ros.errors import ConfigurationError, RecordingError
from sysid_ros.mechanics.joint_terms.terms import TorqueOffset
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.recording.processing import torque_delays
from sysid_ros.recording.processing.align import align
from sysid_ros.recording.processing.delay import estimate_delays
from sysid_ros.recording.processing.settings import Processing
from sysid_ros.recording.processing.shift import HALF_WIDTH, sampled_at, shifted
from sysid_ros.recording.recording import Channel, Recording
from sysid_ros.settings import parse_settings

RATE = 200.0


def test_random_delays_are_recovered_to_a_fifth_of_a_sample(simulated_arm, rng):
    errors, scaled = [], []
    for seed in range(5):
        arm = simulated_arm(seed)
        late = rng.uniform(-5.0, 20.0, len(arm.joint_names)) / RATE
        recording = arm.recording(20.0, RATE, delays=late, noise=0.01)
        found = estimate_delays(align(recording, arm.joint_names, Processing()), arm.model)
        errors.append((found.seconds - late) * RATE)
        scaled.append((found.seconds - late) / found.deviation)
    assert np.abs(errors).max() < 0.2
    # The deviations are what they say.
    assert 0.4 < np.sqrt(np.mean(np.square(scaled))) < 2.0


def test_a_delay_once_applied_is_gone(simulated_arm):
    arm = simulated_arm(3)
    late = np.array([0.0153, -0.004, 0.031, 0.0075])
    recording = arm.recording(20.0, RATE, delays=late)
    found = estimate_delays(align(recording, arm.joint_names, Processing()), arm.model)
    assert found.significant.all()
    again = Processing(torque_delay=found.setting())
    left = estimate_delays(align(recording, arm.joint_names, again), arm.model)
    assert np.abs(left.samples).max() < 0.05
    assert left.setting() == {}


def test_friction_that_the_model_lacks_does_not_look_like_a_delay(simulated_arm):
    arm = simulated_arm(5, friction=0.8)
    frictionless = TorqueModel(arm.model.robot, (TorqueOffset(),))
    late = np.array([0.01, 0.02, -0.01, 0.0])
    recording = arm.recording(20.0, RATE, delays=late)
    found = estimate_delays(align(recording, arm.joint_names, Processing()), frictionless)
    assert np.abs(found.seconds - late).max() * RATE < 0.2


def four_of(description: str) -> str:
    """Four of an arm on one body, as legs are."""
    robot = ElementTree.fromstring('<robot name="four"><link name="body"/></robot>')
    for leg in 'abcd':
        arm = ElementTree.fromstring(description)
        for named in (*arm.iter('link'), *arm.iter('joint')):
            named.set('name', f'{leg}_{named.get("name")}')
        for end in (*arm.iter('parent'), *arm.iter('child')):
            end.set('link', f'{leg}_{end.get("link")}')
        children = {end.get('link') for end in arm.iter('child')}
        root = next(link for link in arm.iter('link') if link.get('name') not in children)
        robot.extend([*arm.iter('link'), *arm.iter('joint')])
        weld = ElementTree.SubElement(robot, 'joint', name=f'{leg}_weld', type='fixed')
        ElementTree.SubElement(weld, 'parent', link='body')
        ElementTree.SubElement(weld, 'child', link=root.get('name'))
    return ElementTree.tostring(robot, encoding='unicode')


@pytest.mark.slow
@pytest.mark.parametrize(('description', 'seeds'), [
    pytest.param(DESCRIPTION, 3, id='one'), pytest.param(four_of(DESCRIPTION), 1, id='four')])
def test_friction_that_sticks_does_not_look_like_a_delay(simulated_arm, description, seeds):
    # Dahl's friction turns only after some way; with rows near reversals up to 37 ms. Rows without
    # suffice for a leg, whatever the other legs have to be told.
    for seed in range(seeds):
        arm = simulated_arm(seed, description, friction=0.6)
        fine = 20
        t = np.arange(round(20.0 * RATE * fine)) / (RATE * fine)
        _, v, _ = arm.motion(t)
        count = len(arm.joint_names)
        dry = arm.truth[-2 * count:-count]
        friction = np.zeros_like(v)
        for k in range(1, len(t)):
            bent = friction[k - 1] + dry / 5e-3 * v[k] / (RATE * fine)
            friction[k] = np.clip(bent, -dry, dry)
        late = np.tile([0.0, 0.02], count // 2)
        rows = np.arange(0, len(t), fine)
        tau = np.stack([
            arm.torque(t[rows] - d)[:, j] - dry[j] * np.sign(arm.motion(t[rows] - d)[1][:, j])
            + friction[np.maximum(rows - round(d * RATE * fine), 0), j]
            for j, d in enumerate(late)], axis=1)
        data = arm.dataset(20.0, RATE)
        noise = 0.01 * np.sqrt(np.mean(tau**2, axis=0))
        tau += noise * np.random.default_rng(seed).normal(size=tau.shape)
        found = estimate_delays(replace(data, tau=tau), arm.model)
        assert np.abs(found.seconds - late).max() * RATE < 1.0


def test_the_report_says_which_torque_is_late_and_by_how_much(simulated_arm):
    arm = simulated_arm(1)
    recording = arm.recording(20.0, RATE, delays=np.array([0.02, -0.015, 0.0, 0.0]))
    found = estimate_delays(align(recording, arm.joint_names, Processing()), arm.model)
    late, early, *rest = found.sentences()
    assert late.startswith('base_yaw: the torque arrives 20')
    assert 'later than the motion; moved back' in late
    assert early.startswith('shoulder_pitch: the torque arrives 1')
    assert 'earlier than the motion' in early
    assert all('no delay' in sentence for sentence in rest)


def test_a_joint_that_stands_still_has_no_known_delay(simulated_arm):
    arm = simulated_arm(2)
    data = arm.dataset()
    tau = data.tau.copy()
    tau[:, 3] = 0.0
    found = estimate_delays(replace(data, tau=tau), arm.model)
    assert found.known.tolist() == [True, True, True, False]
    assert 'does not tell the delay' in found.sentences()[3]


def test_a_recording_too_short_to_look_for_delays_says_what_is_needed(simulated_arm):
    arm = simulated_arm(2)
    with pytest.raises(RecordingError, match='to look for a delay.*allowed more than'):
        estimate_delays(arm.dataset(seconds=0.8), arm.model)
    with pytest.raises(RecordingError, match='other joints'):
        estimate_delays(replace(arm.dataset(), joint_names=('a', 'b', 'c', 'd')), arm.model)


@pytest.mark.parametrize('lag', [0.0, 0.3, -0.5, 7.25, -3.9])
def test_a_band_limited_signal_is_known_between_its_samples(lag):
    t = np.arange(400)
    index = np.arange(HALF_WIDTH + 10, 360)
    for frequency in (0.01, 0.1, 0.25, 0.4):
        wave = np.sin(2 * np.pi * frequency * t)
        moved = sampled_at(wave, index, lag)
        assert np.abs(moved - np.sin(2 * np.pi * frequency * (index + lag))).max() < 1e-3


def test_a_moved_signal_is_masked_where_it_leans_on_what_is_not_there():
    mask = np.ones(100, dtype=bool)
    mask[50] = False
    moved, usable = shifted(np.arange(100.0), mask, 0.25)
    assert not usable[[0, 50, 99]].any()
    assert usable[10:40].all()
    np.testing.assert_allclose(moved[20:80], np.arange(20, 80) + 0.25, atol=2e-3)
    assert shifted(np.arange(100.0), mask, 0.0)[1] is mask


@pytest.mark.parametrize('delay', [0.0125, 0.01, -0.00725])
def test_align_moves_torques_back_by_their_delay(delay):
    t = np.arange(2000) / RATE
    q = np.stack([np.sin(t), np.cos(t)], axis=1)
    tau = np.stack([np.sin(5 * (t - delay)), np.cos(5 * t)], axis=1)
    source = Recording((
        Channel('position', ('a', 'b'), 'rad', t, q), Channel('effort', ('a', 'b'), 'N·m', t, tau),
    ), 'test', '')
    data = align(source, ('a', 'b'), Processing(torque_delay={'a': delay}))
    used = data.mask[:, 0]
    assert used.sum() > 1980
    np.testing.assert_allclose(data.tau[used, 0], np.sin(5 * data.t[used]), atol=2e-4)
    np.testing.assert_array_equal(data.tau[:, 1], tau[:, 1])
    assert data.mask[:, 1].all()


def test_delays_are_given_at_once_in_a_list_or_by_joint():
    names = ('a', 'b')
    for given, expected in ((0.1, [0.1, 0.1]), ([0.1, 0.2], [0.1, 0.2]), ({'b': 0.3}, [0, 0.3])):
        settings = parse_settings(Processing, {'torque_delay': given}, 'p')
        np.testing.assert_array_equal(settings.delays(names), expected)
    with pytest.raises(ConfigurationError, match="no joint 'c'.*allowed a, b"):
        Processing(torque_delay={'c': 0.1}).delays(names)
    with pytest.raises(ConfigurationError, match='found 3 values; allowed 1 or 2'):
        Processing(torque_delay=(0.1, 0.1, 0.1)).delays(names)


def test_noise_as_large_as_the_torque_is_no_delay(simulated_arm, monkeypatch):
    # Some joints have a best lag that is sharp, and far from zero: it is the best of many.
    with_ratio, without = 0, 0
    for seed in range(8):
        arm = simulated_arm(seed)
        recording = arm.recording(20.0, RATE, noise=1.0)
        found = estimate_delays(align(recording, arm.joint_names, Processing()), arm.model)
        with_ratio += int(found.significant.sum())
        with monkeypatch.context() as patch:
            patch.setattr(torque_delays, '_BEYOND_CHANCE', 0.0)
            without += int(found.significant.sum())
    assert with_ratio == 0 < without
