"""Robots for the tests of this folder."""

import pytest

from sysid_ros.robot.model import RobotModel


@pytest.fixture(scope='session')
def gripper(robot_factory):
    """Two independent joints that move four bodies, two of them by mimic joints."""
    return RobotModel.from_urdf(robot_factory['gripper_urdf']())
