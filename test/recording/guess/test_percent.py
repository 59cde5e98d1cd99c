"""Positions of LeRobot may be percent of a range: what settles it, and what is asked."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_ros.errors import RecordingError
from sysid_ros.recording.guess.percent import percent_of_range, percent_question
from sysid_ros.robot.model import RobotModel

NAMES = ['observation.state.pan.pos', 'observation.state.gripper.pos']
URDF = """<robot name="two"><link name="a"/>
<link name="b"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>
</inertial></link>
<link name="c"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>
</inertial></link>
<joint name="pan" type="{}"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="3" effort="1" velocity="1"/></joint>
<joint name="gripper" type="revolute"><parent link="b"/><child link="c"/><axis xyz="0 1 0"/>
<limit lower="-0.2" upper="1.8" effort="1" velocity="1"/></joint></robot>"""


@pytest.mark.parametrize(('names', 'q', 'asked'), [
    (NAMES, [[-60.0, 0.0], [90.0, 40.0]], True),
    # Beyond 100 they are degrees, below 7 radians.
    (NAMES, [[-60.0, 0.0], [120.0, 40.0]], False),
    (NAMES, [[-1.0, 0.0], [3.0, 1.0]], False),
    # A gripper in percent is never below zero.
    (NAMES, [[-60.0, -5.0], [90.0, 40.0]], False),
    # Nothing but LeRobot has them.
    (['q_pan', 'q_gripper'], [[-60.0, 0.0], [90.0, 40.0]], False)])
def test_it_is_asked_where_both_are_possible(names, q, asked):
    question = percent_question(names, np.array(q))
    assert (question is not None) == asked
    if question is not None:
        assert question.example == 'deg' and '90' in question.found


def test_a_range_is_that_between_limits_and_a_gripper_begins_at_its_lower_one(tmp_path):
    (tmp_path / 'two.urdf').write_text(URDF.format('revolute'))
    robot = RobotModel.from_description(tmp_path / 'two.urdf')
    scales, offsets = percent_of_range(['pan', 'gripper'], robot)
    assert scales == pytest.approx([0.02, 0.02]) and offsets == pytest.approx([1.0, -0.2])


def test_a_joint_without_limits_has_no_percent(tmp_path):
    (tmp_path / 'two.urdf').write_text(URDF.format('continuous'))
    robot = RobotModel.from_description(tmp_path / 'two.urdf')
    with pytest.raises(RecordingError, match='--position-scale'):
        percent_of_range(['pan', 'gripper'], robot)
