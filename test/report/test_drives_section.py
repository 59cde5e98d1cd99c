"""The section on drives: their limits over speed, and what gears lose driving and driven."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest

from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.mechanics.actuators.actuators import Actuators, JointActuator
from sysid_ros.mechanics.actuators.envelope import largest_torque
from sysid_ros.mechanics.actuators.kinds import kind_named
from sysid_ros.mechanics.joint_terms.terms import (
    Armature,
    CoulombFriction,
    LoadFriction,
    TorqueOffset,
)
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.recording.dataset import Dataset
from sysid_ros.report.page import render_page
from sysid_ros.report.report import Report
from sysid_ros.report.sections.drives import DrivesSection
from sysid_ros.robot.model import RobotModel

PENDULUM = """<mujoco model="pendulum"><compiler angle="radian"/><worldbody>
<body name="link"><joint name="hinge" axis="0 1 0"/>
<inertial pos="0 0 -0.2" mass="2" diaginertia="0.01 0.01 0.01"/></body></worldbody></mujoco>"""
RATE, DRY, SHARE, OFFSET = 200.0, 0.3, 0.15, 0.4
LIMITS = 3.0, 4.0, 6.0
FRICTION = (CoulombFriction(smoothing=0.0), LoadFriction())


@pytest.fixture
def robot(tmp_path):
    path = tmp_path / 'pendulum.xml'
    path.write_text(PENDULUM)
    return RobotModel.from_description(path)


def source_of(robot, sought=(), terms=FRICTION, **changed):
    """A run whose torques are those of its model, cut to the limits of the drive."""
    drive = JointActuator('hinge', kind_named('position_servo'), (40.0, 1.0), LIMITS[0], sought,
                          *LIMITS[1:])
    model = TorqueModel(robot, [*terms, TorqueOffset(), Armature(), Actuators((drive,))])
    values = model.parameters.values.copy()
    named = {'coulomb_friction': DRY, 'load_friction': SHARE, 'torque_offset': OFFSET,
             'armature': 0.05} | changed
    for name, value in named.items():
        if f'hinge.{name}' in model.parameters:
            values[model.parameters.index(f'hinge.{name}')] = value
    t = np.arange(1600) / RATE
    w = 2.0 * np.pi * 0.5
    q, v, a = (part[:, None] for part in (
        np.sin(w * t), w * np.cos(w * t), -w**2 * np.sin(w * t)))
    torque = model.torque(values, q, v, a)
    torque = np.clip(torque, -largest_torque(-v, LIMITS), largest_torque(v, LIMITS))
    dataset = Dataset(
        ('hinge',), t, q, v, a, torque, np.ones_like(q, dtype=bool), ((0, len(t)),), RATE)
    problem = RegressionProblem.from_dataset(model, dataset, minimum_velocity=0.2)
    return SimpleNamespace(
        judged=problem, rows={'held-out': problem}, values_for=lambda _: values,
        joint_names=('hinge',), torque_units=('N·m',), position_units=('rad',),
        estimate=SimpleNamespace(parameters=problem.parameters.with_values(values)))


def left_of(joint):
    """Torque and, the same way, what the drive has left in the rows of a joint."""
    torque, velocity = np.array(joint.torque), np.array(joint.velocity)
    return torque, np.where(torque > 0.0, largest_torque(velocity, LIMITS),
                            largest_torque(-velocity, LIMITS))


def test_what_is_lost_is_friction_driving_and_driven(robot):
    drives = DrivesSection.of(source_of(robot, armature=0.0))
    joint, = drives.joints
    gear = joint.gear
    load, driving = np.array(gear.load), np.array(gear.driving)
    torque, left = left_of(joint)
    free = np.abs(torque) < 0.99 * left
    assert 0.5 < free.mean() < 1.0
    np.testing.assert_allclose(
        np.array(gear.torque)[free], np.array(gear.law)[free], atol=2e-4)
    loss = np.abs(np.array(gear.law) - load)
    np.testing.assert_allclose(loss, DRY + SHARE * np.abs(load), atol=2e-4)
    # Both ways the hinge spends half of its time.
    assert driving.mean() == pytest.approx(0.5, abs=0.1)
    assert gear.loss_driven == pytest.approx(loss[~driving].mean(), rel=0.1)


def test_rows_at_the_limit_are_counted_and_the_limit_is_drawn(robot):
    joint, = DrivesSection.of(source_of(robot)).joints
    torque, left = left_of(joint)
    part = 100.0 * np.mean(np.abs(torque) > 0.98 * left)
    assert 2.0 < part < 60.0 and joint.at_limit == pytest.approx(part, abs=3.0)
    assert joint.limits.found == joint.limits.given
    assert max(joint.limits.speed) == pytest.approx(1.15 * LIMITS[2], rel=1e-3)
    figures = DrivesSection.of(source_of(robot)).figures()
    assert figures.keys() == {'speed-0', 'load-0'}
    assert [trace['name'] for trace in figures['speed-0']['data']] == ['rows', 'left', 'left']
    upper, lower = figures['speed-0']['data'][1:]
    at = len(upper['x']) // 2
    assert (upper['y'][at], lower['y'][at]) == (LIMITS[0], -LIMITS[0])
    json.dumps(figures, allow_nan=False)


def test_limits_that_were_found_are_beside_those_given_and_constants_make_no_torque(robot):
    section = DrivesSection.of(source_of(robot, ('stall_torque', 'kp'), stall_torque=2.5))
    joint, = section.joints
    rest = joint.limits.speed.index(0.0)
    assert (joint.limits.found[rest], joint.limits.given[rest]) == (2.5, LIMITS[0])
    names = [trace['name'] for trace in section.figures()['speed-0']['data']]
    assert names == ['rows', 'as given', 'as given', 'left', 'left']
    # Commands make no torque that could be shown by constants that were guessed.
    assert not joint.by_command
    np.testing.assert_allclose(joint.gear.torque, joint.gear.law, atol=2e-4)


def test_without_friction_or_limits_nothing_of_the_kind_is_drawn(robot):
    source = source_of(robot, terms=())
    drives = DrivesSection.of(source)
    assert drives.joints[0].gear is None and list(drives.figures()) == ['speed-0']


def test_torques_that_were_measured_have_no_such_section(robot):
    source = source_of(robot)
    plain = TorqueModel(robot, [Armature()])
    dataset = source.judged.motion.dataset
    source.judged = RegressionProblem.from_dataset(plain, dataset)
    assert DrivesSection.of(source) is None


def test_the_page_shows_it(robot):
    section = DrivesSection.of(source_of(robot, ('kp',)))
    page = render_page(Report.model_construct(name='run', robot='arm', sections=[section])).decode()
    assert 'What the drives do' in page and 'position_servo' in page
    assert 'Torques of hinge are those that the identified model takes' in page
