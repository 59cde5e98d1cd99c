"""Flexible objects in a gripper: what is built, where it closes, and what cannot be built."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from support import flexible_experiment as experiment
from sysid_ros.errors import ModelError
from sysid_ros.mechanics.integrators.variational.assembly import constraints
from sysid_ros.mechanics.integrators.variational.integrator import VariationalIntegrator
from sysid_ros.mechanics.integrators.variational.system import discrete_system
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.robot.flexible import FlexibleLoop, FlexibleRod, attach
from sysid_ros.robot.model import RobotModel


@pytest.fixture(scope='module')
def table():
    return experiment.bench()


def loop(**changed):
    settings = {
        'name': 'loop', 'links': 12, 'mass': 0.132, 'thickness': 0.03, 'stiffness': (4.0, 1.0),
        'damping': (0.01, 0.01), 'radius': 0.355} | changed
    return FlexibleLoop(**settings)


def rod(**changed):
    settings = {
        'name': 'rod', 'links': 5, 'mass': 0.2, 'thickness': 0.02, 'stiffness': (3.0, 2.0),
        'damping': (0.02, 0.01), 'length': 0.8} | changed
    return FlexibleRod(**settings)


def hand():
    return RobotModel.from_urdf(experiment.arm_urdf())


def test_the_loop_of_the_paper_has_31_coordinates_and_12_constraints(table):
    assert len(table.robot.opened.joint_names) == 31
    system = discrete_system(table.model, table.robot.loops.closures)
    assert system.rows == 12
    here = constraints(system, None, table.start)
    assert np.linalg.matrix_rank(here.jacobian) == 12
    assert np.abs(here.gap).max() < 1e-12


def test_the_loop_weighs_and_measures_what_it_should(table):
    robot = table.robot.opened
    model = robot.pinocchio_model
    data = model.createData()
    pin.forwardKinematics(model, data, table.start)
    joints = [k for k, name in enumerate(model.names) if name.startswith('loop_')]
    mass = sum(model.inertias[k].mass for k in joints)
    assert mass == pytest.approx(0.132, rel=1e-12)
    corners = np.array([data.oMi[k].translation for k in joints])
    top, centre = corners[0], corners[0] - [0.0, 0.0, 0.355]
    np.testing.assert_allclose(np.linalg.norm(corners - centre, axis=1), 0.355, rtol=1e-9)
    # It hangs straight down, and is clamped a diameter below the gripper.
    for closure in table.robot.loops.closures:
        np.testing.assert_allclose(
            closure.poses[0][:3, 3], top - [0.0, 0.0, 0.71], atol=1e-9)


def test_stiffness_and_damping_may_differ_from_joint_to_joint():
    stiff = tuple(np.linspace(1.0, 2.0, 12))
    held = attach(hand(), 'gripper', loop(stiffness=(stiff, 0.5)), pose=np.eye(4))
    assert [held.stiffness[name] for name in held.joints[0]] == pytest.approx(stiff)
    assert {held.stiffness[name] for name in held.joints[1]} == {0.5}
    weak = tuple(np.linspace(0.0, 0.1, 12))
    held = attach(hand(), 'gripper', loop(damping=(weak, 0.5)), pose=np.eye(4))
    robot = RobotModel.from_urdf(held.urdf)
    damping = [robot.described_joints[name].damping for name in held.joints[0]]
    assert damping == pytest.approx(weak)


@pytest.mark.parametrize('clamped', [True, False])
def test_a_rod_is_clamped_where_it_was_at_rest_or_swings_freely(clamped, rng):
    arm, pose = hand(), np.eye(4)
    at = dict(zip(arm.joint_names, rng.uniform(-1.0, 1.0, 7), strict=True))
    held = attach(arm, 'gripper', rod(clamped=clamped), pose=pose, at=at)
    if not clamped:
        assert held.loops == ()
        assert len(RobotModel.from_urdf(held.urdf).joint_names) == 17
        return
    robot = RobotModel.from_urdf(held.urdf, loops=held.settings(arm.joint_names, at))
    integrator = VariationalIntegrator(
        TorqueModel(robot.opened), robot.loops.closures, robot.loops.assembly)
    assert integrator.system.rows == 6


def test_the_settings_beside_the_urdf_survive_a_file(tmp_path):
    import yaml

    from sysid_ros.robot.loops import LoopSettings

    arm = hand()
    held = attach(arm, 'gripper', loop(), pose=np.eye(4))
    settings = held.settings(arm.joint_names, {'joint2': 0.0})
    (tmp_path / 'loop.yaml').write_text(yaml.safe_dump(settings.model_dump(mode='json')))
    robot = RobotModel.from_urdf(held.urdf, loops=LoopSettings.load(tmp_path / 'loop.yaml'))
    assert len(robot.passive_joints) == 24
    assert robot.joint_names == arm.joint_names


@pytest.mark.parametrize('changed', [
    {'links': 7}, {'links': 2}, {'mass': 0.0}, {'thickness': -1.0}, {'clamped': False},
    {'stiffness': ((1.0, 2.0), 1.0)}, {'damping': (-0.1, 0.0)}, {'radius': 0.0},
    {'mass': float('inf')}, {'stiffness': (float('nan'), 1.0)}])
def test_what_cannot_be_built_is_refused(changed):
    with pytest.raises(ModelError, match='flexible object cannot be built'):
        loop(**changed)


def test_a_rod_without_a_length_is_refused():
    with pytest.raises(ModelError, match=r'rod.length.*above zero'):
        rod(length=0.0)


def test_links_that_are_not_there_or_there_twice_are_named():
    with pytest.raises(ModelError, match='no such link'):
        attach(hand(), 'claw', loop(), pose=np.eye(4))
    held = attach(hand(), 'gripper', loop(), pose=np.eye(4))
    with pytest.raises(ModelError, match='has a link of that name'):
        attach(RobotModel.from_urdf(held.urdf), 'gripper', loop(), pose=np.eye(4))
