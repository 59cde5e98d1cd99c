"""Random robots for the tests of this folder."""

import runpy
from pathlib import Path

import pytest

from sysid_ros.robot.model import RobotModel

FACTORY = Path(__file__).parents[1] / 'robot_factory.py'


@pytest.fixture(scope='session')
def random_urdf():
    """``random_urdf(seed, joints, ...)``: text of a random valid description."""
    return runpy.run_path(str(FACTORY))['random_urdf']


@pytest.fixture(scope='session')
def gripper():
    """Two independent joints that move four bodies, two of them by mimic joints."""
    return RobotModel.from_urdf(runpy.run_path(str(FACTORY))['gripper_urdf']())
