"""Efforts of several recordings of one robot: told by one fit, each named where it is wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sysid_ros.errors import RecordingError
from sysid_ros.recording.checks.effort import RecordedEfforts, effort_findings_together
from sysid_ros.recording.checks.effort_finding import EffortFinding, EffortKind
from sysid_ros.recording.checks.effort_reading import readings as effort_readings
from sysid_ros.recording.checks.effort_scale import effort_scales
from sysid_ros.recording.checks.effort_signs import RecordedSigns, require_right_signs

SEEDS = range(6)
CLEAN = np.ones(4)
PARTS = ((0.0, 0.34), (0.34, 0.67), (0.67, 1.0))


def odd(arm, *factors):
    """Names and scales of efforts that are no joint torques, by recording."""
    whole = arm.dataset(60.0)
    parts = [whole.subset(*part) for part in PARTS]
    found = effort_findings_together(
        [RecordedEfforts(replace(part, tau=part.tau * factor))
         for part, factor in zip(parts, factors, strict=True)], arm.model)
    return [{one.joint: one.scale for one in those if not one.kind.usable} for those in found]


def of_joint(joint, factor):
    return np.where(np.arange(4) == joint, factor, 1.0)


@pytest.mark.slow
def test_clean_recordings_of_one_robot_accuse_nobody(simulated_arm):
    for seed in range(12):
        assert odd(simulated_arm(seed), CLEAN, CLEAN, CLEAN) == [{}, {}, {}]


@pytest.mark.slow
@pytest.mark.parametrize('factor', [0.06, 0.6, 0.7, 1.5])
@pytest.mark.parametrize('joint', [1, 2])
def test_an_effort_of_another_scale_in_one_recording_is_found_there_alone(
    simulated_arm, joint, factor
):
    for seed in SEEDS:
        arm = simulated_arm(seed)
        first, second, third = odd(arm, CLEAN, of_joint(joint, factor), CLEAN)
        assert first == third == {}
        assert second == {arm.joint_names[joint]: pytest.approx(factor, rel=0.25)}


@pytest.mark.slow
def test_a_joint_off_in_all_recordings_is_found_in_each_of_them(simulated_arm):
    found = 0
    for seed in SEEDS:
        arm = simulated_arm(seed)
        for one in odd(arm, *3 * [of_joint(1, 2.0)]):
            assert set(one) <= {arm.joint_names[1]}
            found += len(one)
    assert found >= 3 * (len(SEEDS) - 1)


@pytest.mark.slow
def test_efforts_of_one_recording_that_are_all_of_another_scale_are_found_there_alone(
    simulated_arm
):
    for seed in SEEDS:
        arm = simulated_arm(seed)
        first, second, third = odd(arm, CLEAN, 0.5 * CLEAN, CLEAN)
        assert first == third == {}
        assert len(second) >= 2
        assert list(second.values()) == pytest.approx(len(second) * [0.5], rel=0.15)


def test_wrong_signs_of_several_recordings_are_refused_at_once_with_each_line():
    def signs(name, *wrong):
        return RecordedSigns([
            EffortFinding(joint, EffortKind.WRONG_SIGN, -1.0, 0.9, 0.9) if joint in wrong
            else EffortFinding(joint, EffortKind.JOINT_TORQUE, 1.0, 0.9, 0.9)
            for joint in ('hip', 'knee')], None, name)

    require_right_signs(signs('a'), signs('b'))
    with pytest.raises(RecordingError) as refused:
        require_right_signs(signs('a', 'hip'), signs('b'), signs('c', 'hip', 'knee'))
    said = str(refused.value)
    assert 'recording.effort of a, c: the effort of hip, knee has the wrong sign' in said
    assert 'for a recording: {joints: [hip, knee], effort: {sign: [-1, 1]}}; ' in said
    assert 'for c recording: {effort: {sign: -1}}, or' in said
    with pytest.raises(RecordingError, match=r'sign: -1}} in the settings of each, or'):
        require_right_signs(signs('a', 'hip', 'knee'), signs('c', 'hip', 'knee'))


@pytest.mark.slow
def test_a_scale_that_a_recording_beside_does_not_show_is_not_said(simulated_arm):
    for seed in SEEDS:
        arm = simulated_arm(seed)
        whole = arm.dataset(60.0)
        fitted, beside = whole.subset(0.0, 0.5), whole.subset(0.5, 1.0)

        def scaled(part, factor):
            return RecordedEfforts(replace(part, tau=part.tau * of_joint(2, factor)))

        said = {
            factor: effort_findings_together(
                [scaled(fitted, 0.6)], arm.model, [scaled(beside, factor)])
            for factor in (1.0, 0.6)}
        alone = effort_findings_together([scaled(fitted, 0.6)], arm.model)
        assert [one.joint for one in alone[0] if not one.kind.usable] == [arm.joint_names[2]]
        assert all(one.kind.usable for one in said[1.0][0])
        # Where both show it, it is said of the one that is judged, and of the other nothing.
        assert said[0.6][0] == alone[0]
        assert all(one.kind.usable for one in said[0.6][1])


def accused_clock(arm, parts, beside=()):
    """Whether recordings are said to be on another clock; each is given with its clock."""
    recorded = [RecordedEfforts(on_clocks(arm, *one)) for one in (parts, *beside)]
    found = effort_findings_together(recorded[:1], arm.model, recorded[1:])
    assert all(one.kind is not EffortKind.OTHER_CLOCK for those in found[1:] for one in those)
    return any(one.kind is EffortKind.OTHER_CLOCK for one in found[0])


def on_clocks(arm, *clocks):
    """A recording in equal parts, each on a clock of its own."""
    data = arm.dataset(60.0)
    clock = np.repeat(clocks, len(data) // len(clocks))[:, None]
    return replace(
        data.subset(0.0, len(clock) / len(data)), v=data.v[:len(clock)] / clock,
        a=data.a[:len(clock)] / clock**2)


@pytest.mark.slow
def test_a_clock_that_half_of_a_recording_does_not_show_is_none(simulated_arm):
    suggested = 0
    for seed in SEEDS:
        arm = simulated_arm(seed)
        assert accused_clock(arm, (0.7, 0.7))
        assert not accused_clock(arm, (0.55, 1.0))
        whole = on_clocks(arm, 0.55, 1.0)
        readings = {
            name: own[0] for name, own in zip(
                arm.joint_names, effort_readings(whole, arm.model), strict=True)}
        suggested += effort_scales(readings).clock_off
    # Taken together, the two halves look like a clock.
    assert suggested >= len(SEEDS) // 2


@pytest.mark.slow
def test_a_clock_that_a_recording_beside_does_not_show_is_none(simulated_arm):
    for seed in SEEDS:
        arm = simulated_arm(seed)
        assert accused_clock(arm, (0.7,), [(0.7,)])
        assert not accused_clock(arm, (0.7,), [(1.0,)])
