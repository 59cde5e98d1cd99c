"""Export of robots with closed loops: the tree is written, its loops stay as they were."""

import numpy as np
import pytest

from support import closed_robots as robots
from sysid_ros.mechanics.closures.closed_chain import closed_chain
from sysid_ros.mechanics.joint_terms.terms import (
    Armature,
    CoulombFriction,
    TorqueOffset,
    ViscousFriction,
)
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.release.description_export import export_description, verify_export
from sysid_ros.robot.loops import LoopSettings
from sysid_ros.robot.model import RobotModel


@pytest.mark.parametrize('name', ['leg', 'four_bar'])
def test_the_export_has_the_identified_bodies_and_friction_and_the_same_loops(name):
    robot = robots.CLOSED[name]()
    joints = robot.loops.joint_names
    model = TorqueModel(
        robot, (ViscousFriction(joints), CoulombFriction(joints), TorqueOffset(), Armature()))
    values = {f'{joints[1]}.viscous_friction': 0.33, f'{joints[-1]}.viscous_friction': 0.44}
    body = robot.body_names[-1]
    values |= {f'{body}.mass': 1.1 * model.parameters[f'{body}.mass']}
    found = model.parameters.with_values(values)
    export = export_description(robot, found)
    assert {joints[1], joints[-1]} <= set(export.joints)
    assert verify_export(robot, found, export) < 1e-9
    loops = None if name == 'leg' else LoopSettings.model_validate({
        'actuated': robot.joint_names, 'closures': robots.four_bar_linkage().closures,
        'assembly': robots.FOUR_BAR_ASSEMBLY})
    again = RobotModel.from_description(export.xml.decode(), loops=loops)
    assert again.joint_names == robot.joint_names
    assert again.described_joints[joints[-1]].damping == 0.44
    np.testing.assert_allclose(
        closed_chain(again).assembly, closed_chain(robot).assembly, atol=1e-9)
