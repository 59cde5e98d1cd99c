"""A small arm to excite."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from sysid_ros.dynamics.terms import Armature, CoulombFriction, ViscousFriction
from sysid_ros.dynamics.torque_model import TorqueModel
from sysid_ros.excitation.limits import MotionLimits
from sysid_ros.robot.model import RobotModel

arm_urdf = runpy.run_path(str(Path(__file__).parent.parent / 'golden_problems.py'))['arm_urdf']


@pytest.fixture(scope='session')
def model() -> TorqueModel:
    terms = [ViscousFriction(), CoulombFriction(smoothing=0.1), Armature()]
    return TorqueModel(RobotModel.from_urdf(arm_urdf()), terms)


@pytest.fixture(scope='session')
def limits(model: TorqueModel) -> MotionLimits:
    return MotionLimits.of(model.robot)
