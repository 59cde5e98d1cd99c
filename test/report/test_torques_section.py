"""Torques of a robot of many joints: the worst are seen at once, the others a click away."""

import pytest

from sysid_ros.report.sections.torques import JointTorque, TorqueRows


def rows(left):
    return TorqueRows(rows='held-out', time=[0.0, 1.0, 2.0], every=1, joints=[
        JointTorque(
            joint=f'joint{k}', unit='N·m', sigma=1.0, measured=[2.0, None, -2.0],
            identified=[2.0, 0.0, -2.0], prior=[2.0, 0.0, -2.0], residual=[part, None, part])
        for k, part in enumerate(left)])


@pytest.mark.parametrize('count', [1, 7, 10])
def test_all_joints_of_an_arm_are_seen_at_once(count):
    assert rows([0.1] * count).parts == [list(range(count))]


def test_of_many_joints_those_are_seen_at_once_of_which_most_is_left():
    at_once, others = rows([0.1, 0.9, 0.2, 0.8, 0.0, 0.7, 0.3, 0.6, 0.1, 0.5, 0.0, 0.4]).parts
    assert at_once == [1, 3, 5, 7, 9, 11]
    assert others == [0, 2, 4, 6, 8, 10]


def test_a_joint_without_torque_is_no_reason_to_fail():
    found = rows([0.0] * 12)
    silent = found.joints[0].model_copy(update={'measured': [None, None, None]})
    parts = found.model_copy(update={'joints': [silent, *found.joints[1:]]}).parts
    assert sorted(parts[0] + parts[1]) == list(range(12))
