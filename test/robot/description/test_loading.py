"""Descriptions that the loader beneath would refuse or misread, and models can still be made of."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from sysid_ros.errors import ModelError
from sysid_ros.robot.model import RobotModel


def slider(parts='', kind='prismatic'):
    return (
        '<robot name="r"><link name="base"/><link name="a"/>'
        f'<joint name="j" type="{kind}"><parent link="base"/><child link="a"/>{parts}</joint>'
        '</robot>'
    )


@pytest.mark.parametrize('kind', ['revolute', 'continuous', 'prismatic'])
@pytest.mark.parametrize(('effort', 'velocity'), [(-1, 2), (3, -1), (-1, -1), (0, 0)])
def test_negative_limits_do_not_keep_a_robot_from_being_identified(kind, effort, velocity):
    robot = RobotModel.from_urdf(slider(
        f'<limit lower="-1" upper="1" effort="{effort}" velocity="{velocity}"/>', kind))
    assert robot.limits.effort[0] == effort
    assert robot.limits.velocity[0] == velocity
    assert 'zero-limits' in {found.code for found in robot.findings}


def test_swapped_limits_are_kept_as_written():
    limits = RobotModel.from_urdf(
        slider('<limit lower="1" upper="-1" effort="1" velocity="1"/>')).limits
    assert (limits.lower[0], limits.upper[0]) == (1.0, -1.0)


def test_friction_of_the_wrong_sign_does_not_keep_a_robot_from_being_identified():
    robot = RobotModel.from_urdf(slider('<dynamics damping="-1" friction="-2"/>'))
    assert 'negative-friction' in {found.code for found in robot.findings}


@pytest.mark.parametrize('kind', ['revolute', 'prismatic'])
def test_an_axis_that_is_lost_in_rounding_is_refused(kind):
    with pytest.raises(ModelError, match='j: the axis of the joint is lost in rounding'):
        RobotModel.from_urdf(slider('<axis xyz="1e300 1e300 0"/>', kind))


def test_a_long_axis_is_normalised():
    robot = RobotModel.from_urdf(slider('<axis xyz="0 30 40"/>'))
    np.testing.assert_allclose(robot.tree.axis, [[0.0, 0.6, 0.8]])


@pytest.mark.parametrize('error', [ValueError, RuntimeError])
def test_what_the_loader_refuses_is_an_error_for_people(monkeypatch, error):
    def refuse(text):
        raise error('min greater than max')

    monkeypatch.setattr(pin, 'buildModelFromXML', refuse)
    with pytest.raises(ModelError, match='cannot be loaded: min greater than max.*model check'):
        RobotModel.from_urdf(slider())
