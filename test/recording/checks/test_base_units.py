"""Sensors of a floating base of another unit or sign, told by weight; right ones, not accused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from support import robot_factory as factory
from sysid_ros.errors import RecordingError
from sysid_ros.mechanics.tree.base_motion import BaseMotion
from sysid_ros.recording.checks.base_units import require_right_units
from sysid_ros.recording.dataset import Dataset
from sysid_ros.recording.floating_base import floating_base_dataset
from sysid_ros.robot.floating_base import with_floating_base
from sysid_ros.robot.model import RobotModel

SAMPLES, RATE = 2000, 200.0


@pytest.fixture(scope='module')
def robot():
    rng = np.random.default_rng(3)
    trunk = f'<link name="link0">{factory.random_inertial(rng)}</link>'
    text = factory.random_urdf(11, 2, fixed_fraction=0.0)
    return with_floating_base(RobotModel.from_urdf(text.replace('<link name="link0"/>', trunk)))


def rocking(robot, *, shake=0.5, still=False):
    """A base that rocks about its x axis on the ground, pushed to and fro, and its data."""
    t = np.arange(SAMPLES) / RATE
    rate = 0.0 if still else 2.0 * np.pi * 0.4
    angle, turning = 0.3 * np.sin(rate * t), 0.3 * rate * np.cos(rate * t)
    zero, rng = np.zeros_like(t), np.random.default_rng(0)
    felt = 9.81 * np.column_stack([zero, np.sin(angle), np.cos(angle)])
    felt += shake * np.sin(2.0 * np.pi * rng.uniform(0.5, 3.0, 3) * t[:, None] + [0.0, 1.0, 2.0])
    omega = np.column_stack([turning, zero, zero])
    base = BaseMotion(omega, np.gradient(omega, t, axis=0), felt)
    motion = np.zeros((SAMPLES, len(robot.joint_names) - 6))
    joints = Dataset(
        robot.joint_names[6:], t, motion, motion, motion, motion, np.ones(motion.shape, bool),
        ((0, SAMPLES),), RATE)
    data = floating_base_dataset(robot, joints, base, all_measured=True)
    carried = np.array(data.tau)
    carried[:, :3] = robot.inertial_prior[:, 0].sum() * felt
    return base, replace(data, tau=carried)


def judge(robot, base, data, **named):
    require_right_units(robot, base, data, **{'flies': False, 'carried': True, **named})


@pytest.mark.parametrize('shake', [0.0, 0.5, 4.0])
@pytest.mark.parametrize('still', [False, True])
def test_right_units_are_accepted(robot, shake, still):
    judge(robot, *rocking(robot, shake=shake, still=still))


@pytest.mark.parametrize(('factor', 'words'), [
    (1.0 / 9.81, 'does not show the weight.*unit: g'),
    (0.0, 'does not show the weight.*did not take gravity'),
    (9.81, 'does not show the weight.*m/s² or g')])
def test_an_accelerometer_of_another_unit_is_refused(robot, factor, words):
    base, data = rocking(robot)
    other = replace(base, proper_acceleration=factor * base.proper_acceleration)
    with pytest.raises(RecordingError, match=words):
        judge(robot, other, data, carried=False)


def test_what_flies_feels_no_weight(robot):
    base, data = rocking(robot)
    judge(robot, replace(base, proper_acceleration=0.0 * base.proper_acceleration), data,
          flies=True, carried=False)


@pytest.mark.parametrize(('factor', 'words'), [
    (180.0 / np.pi, 'found 5[0-9.]* times as fast.*deg/s'),
    (np.pi / 180.0, 'found 0.017[0-9]* times as fast.*rad/s')])
def test_a_gyroscope_of_another_unit_is_refused(robot, factor, words):
    base, data = rocking(robot)
    with pytest.raises(RecordingError, match=words):
        judge(robot, replace(base, angular_velocity=factor * base.angular_velocity), data)


@pytest.mark.parametrize(('factor', 'words'), [
    (-1.0, 'pull the robot down.*sign: -1'), (1.0 / 9.81, 'another mass.*unit: kgf'),
    (10.0, 'another mass')])
def test_forces_of_another_sign_or_unit_are_refused(robot, factor, words):
    base, data = rocking(robot)
    tau = np.array(data.tau)
    tau[:, :3] *= factor
    with pytest.raises(RecordingError, match=words):
        judge(robot, base, replace(data, tau=tau))


def test_forces_that_were_not_all_measured_accuse_nobody(robot):
    base, data = rocking(robot)
    judge(robot, base, replace(data, tau=0.0 * data.tau), carried=False)
