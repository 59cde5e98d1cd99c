"""A small arm to excite."""

from __future__ import annotations

import pytest

from support.golden_problems import arm_urdf
from sysid_ros.excitation.safety.limits import MotionLimits
from sysid_ros.mechanics.joint_terms.terms import Armature, CoulombFriction, ViscousFriction
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.robot.model import RobotModel


@pytest.fixture(scope='session')
def model() -> TorqueModel:
    terms = [ViscousFriction(), CoulombFriction(smoothing=0.1), Armature()]
    return TorqueModel(RobotModel.from_urdf(arm_urdf()), terms)


@pytest.fixture(scope='session')
def limits(model: TorqueModel) -> MotionLimits:
    return MotionLimits.of(model.robot)
