"""What efforts look like is said once, with one block of settings, for joints and recordings."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
import yaml

from sysid_ros.recording.checks.effort import effort_findings
from sysid_ros.recording.checks.effort_finding import EffortFinding, EffortKind
from sysid_ros.recording.checks.effort_statements import effort_statements
from sysid_ros.recording.description import RecordingSettings

SEEDS = range(6)


def said(arm, factors):
    data = arm.dataset()
    return effort_statements(effort_findings(replace(data, tau=data.tau * factors), arm.model))


def pasted(arm, statement):
    """Scales that the line of a statement has, read as settings."""
    line = re.search(r'recording: \{effort: \{.*?\}\}', statement.next_step).group()
    described = RecordingSettings(
        format='rosbag', file='bag', joints=arm.joint_names, **yaml.safe_load(line)['recording'])
    return described.effort.scale


def test_clean_efforts_are_not_spoken_of(simulated_arm):
    for seed in SEEDS:
        assert said(simulated_arm(seed), 1.0) == ()


def test_currents_of_all_joints_are_one_statement_with_one_scale_to_paste(simulated_arm):
    for seed in SEEDS:
        arm = simulated_arm(seed)
        (one,) = said(arm, 0.06)
        assert one.joints == ('all joints',)
        assert one.kind in (EffortKind.SCALED, EffortKind.INCONSISTENT)
        if one.kind is EffortKind.SCALED:
            assert pasted(arm, one) == pytest.approx(1.0 / 0.06, rel=0.3)
            assert one.sentence.startswith(
                'all joints: the effort looks like a current or a motor-side torque: 0.0')


def test_currents_of_two_joints_are_one_statement_with_the_scales_of_both(simulated_arm):
    arm = simulated_arm(1)
    (one,) = said(arm, [1.0, 0.02, 0.02, 1.0])
    assert one.joints == arm.joint_names[1:3]
    assert one.sentence.startswith('shoulder_pitch, elbow_pitch: the effort looks like a')
    first, *both, last = pasted(arm, one)
    assert (first, last) == (1.0, 1.0)
    assert both == pytest.approx([50.0, 50.0], rel=0.5)


def test_currents_of_other_gears_are_not_taken_for_one_scale(simulated_arm):
    arm = simulated_arm(1)
    kinds = [one.joints for one in said(arm, [1.0, 0.05, 0.005, 1.0])]
    assert ('all joints',) not in kinds


def test_recordings_that_show_the_same_are_said_once_and_others_apart():
    def found(joint, kind, recording, scale=0.1):
        return EffortFinding(joint, kind, scale, 0.9, 0.9, f'mend {joint}', recording)

    usual = [found('hip', EffortKind.JOINT_TORQUE, name, 1.0) for name in 'abc']
    same, other, dead = effort_statements([
        *usual, found('knee', EffortKind.SCALED, 'a'), found('knee', EffortKind.SCALED, 'c', 0.2),
        found('toe', EffortKind.SCALED, 'b'), found('hip', EffortKind.CONSTANT, 'b')])
    assert (same.joints, same.recordings) == (('knee',), ('a', 'c'))
    assert same.scales == pytest.approx((0.15,))
    assert same.next_step == 'mend knee'
    assert (other.joints, other.recordings, other.kind) == (('toe',), ('b',), EffortKind.SCALED)
    assert (dead.joints, dead.recordings, dead.kind) == (('hip',), ('b',), EffortKind.CONSTANT)


@pytest.mark.parametrize(('kind', 'line'), [
    (EffortKind.CONSTANT, 'recording: {unpowered: [hip, knee]}'),
    (EffortKind.UNRELATED, 'recording: {unpowered: [hip, knee]}'),
    (EffortKind.INCONSISTENT, 'recording: {effort: {scale: [2, 2]}}')])
def test_joints_of_one_kind_share_a_line(kind, line):
    (one,) = effort_statements([
        EffortFinding(joint, kind, 0.5, 0.1, 0.1, f'mend {joint}') for joint in ('hip', 'knee')])
    assert one.joints == ('hip', 'knee')
    assert line in one.next_step
