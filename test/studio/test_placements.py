"""Bodies of a scene are where forward kinematics has them."""

import numpy as np
import pytest

from support.golden_problems import arm_urdf
from sysid_ros.mechanics.tree.kinematics import body_poses
from sysid_ros.robot.model import RobotModel
from sysid_ros.studio.placements import body_placements
from sysid_ros.studio.robot_scene import robot_scene

SLIDER = """<robot name="slider"><link name="base"/>
<link name="carriage"><inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0"
iyz="0"/></inertial><collision><geometry><mesh filename="package://nowhere/x.stl"/></geometry>
</collision></link>
<joint name="slide" type="prismatic"><parent link="base"/><child link="carriage"/>
<origin xyz="0.1 0.2 0.3" rpy="0.3 0.2 0.1"/><axis xyz="0.6 0 0.8"/>
<limit lower="0.2" upper="0.5" effort="1" velocity="1"/></joint></robot>"""


def world(bodies, placed):
    """Origins of all bodies."""
    turns, origins = [], []
    for body, (rotation, translation) in zip(bodies, placed, strict=True):
        turn, origin = np.eye(3), np.zeros(3)
        if body['parent'] >= 0:
            turn, origin = turns[body['parent']], origins[body['parent']]
        origins.append(origin + turn @ translation)
        turns.append(turn @ rotation)
    return np.array(origins), np.array(turns)


@pytest.mark.parametrize('description', [arm_urdf(), SLIDER])
def test_they_are_those_of_forward_kinematics(description, tmp_path):
    robot = RobotModel.from_urdf(description)
    scene = robot_scene(robot, tmp_path)
    q = np.linspace(0.2, 0.4, len(robot.joint_names))
    origins, turns = world(scene['bodies'], body_placements(scene['bodies'], q.tolist()))
    poses = body_poses(robot, q[None])
    assert origins == pytest.approx(poses.origin[0], abs=1e-12)
    assert turns == pytest.approx(poses.rotation[0], abs=1e-12)


def test_a_joint_is_first_shown_within_its_limits_and_a_mesh_that_is_lost_is_named(tmp_path):
    scene = robot_scene(RobotModel.from_urdf(SLIDER), tmp_path)
    joint, = scene['joints']
    assert (joint['at'], joint['lower'], joint['upper']) == (0.2, 0.2, 0.5)
    assert [one['link'] for one in scene['missing']] == ['carriage']
    assert 'AMENT_PREFIX_PATH' in scene['missing'][0]['reason']
