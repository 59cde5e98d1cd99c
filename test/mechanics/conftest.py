"""Robots for the tests of this folder."""

import pytest

from support.robot_factory import gripper_urdf
from sysid_ros.robot.model import RobotModel


@pytest.fixture(scope='session')
def gripper():
    """Two independent joints that move four bodies, two of them by mimic joints."""
    return RobotModel.from_urdf(gripper_urdf())
