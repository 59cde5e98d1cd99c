"""A hidden robot: within what is said of it, the same by its seed, and comparable with a fit."""

import numpy as np
import pytest

from support.golden_problems import arm_urdf
from sysid_ros.demo import hidden_robot as drawn
from sysid_ros.demo.hidden_robot import HiddenRobot
from sysid_ros.robot.inertia import central_inertia, is_consistent
from sysid_ros.robot.model import RobotModel


@pytest.fixture(scope='module')
def robot():
    return RobotModel.from_urdf(arm_urdf())


def test_it_differs_from_its_description_within_what_is_said(robot):
    hidden = HiddenRobot.drawn(robot, 3)
    for body, described in zip(hidden.truth.inertials, robot.reference_inertials, strict=True):
        assert is_consistent(body)
        mass, centre, _ = central_inertia(body)
        known_mass, known_centre, _ = central_inertia(described)
        assert 0.0 < abs(mass / known_mass - 1.0) <= drawn.MASS
        assert 0.0 < np.linalg.norm(centre - known_centre) <= drawn.FARTHEST
    for values in (hidden.truth.viscous, hidden.truth.coulomb, hidden.noise, hidden.inertia):
        assert (values > 0.0).all()


def test_friction_that_is_described_is_off_by_a_part_of_itself(project):
    robot = RobotModel.from_urdf(project / 'sysid_ros' / 'demo' / 'demo_arm.urdf')
    described = np.array([joint.friction for joint in robot.described_joints.values()])
    factor = HiddenRobot.drawn(robot, 0).truth.coulomb / described
    assert (np.abs(factor - 1.0) <= drawn.FRICTION).all() and np.ptp(factor) > 0.01


def test_a_seed_and_the_names_draw_it_whatever_the_order(robot):
    first, again, other = (HiddenRobot.drawn(robot, seed).truth for seed in (1, 1, 2))
    assert np.array_equal(first.inertials, again.inertials)
    assert not np.array_equal(first.inertials, other.inertials)
    # Holding the last joint leaves the first body as it was.
    held = RobotModel.from_urdf(arm_urdf(), locked_joints=[robot.joint_names[-1]])
    assert np.array_equal(HiddenRobot.drawn(held, 1).truth.inertials[0], first.inertials[0])
