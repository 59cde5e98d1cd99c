"""Sensor models against Pinocchio, and their derivatives against central differences."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from support import closed_robots as closed
from support import golden_problems as golden
from support import robot_factory as factory
from sysid_ros.errors import EstimationError, ModelError
from sysid_ros.estimation.trajectory.inertial_sensors import (
    Accelerometer,
    Gyroscope,
    LoadCell,
    Mounting,
    PlaceTracker,
)
from sysid_ros.estimation.trajectory.sensors import Encoder, Tachometer
from sysid_ros.mechanics.joint_terms.terms import ViscousFriction
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.mechanics.tree.kinematics import body_poses
from sysid_ros.robot.floating_base import with_floating_base
from sysid_ros.robot.model import RobotModel

ORIGIN, RPY = (0.1, -0.2, 0.05), (0.4, -0.7, 1.1)
# The bar of the derivatives: central differences make errors of about 1e-9 themselves.
BAR = 1e-6


def trees():
    """Robots and the link of each that carries the sensor, the farthest from the base."""
    for seed in range(6):
        robot = RobotModel.from_urdf(factory.random_urdf(seed, 6))
        yield pytest.param(robot, robot.links[-1].name, id=f'random tree {seed}')
    arm = RobotModel.from_urdf(golden.arm_urdf(mimic=True))
    yield pytest.param(arm, 'finger', id='mimic joint')
    yield pytest.param(arm.with_rotors([golden.ROTOR]), 'hand', id='geared rotor')
    gripper = RobotModel.from_urdf(factory.gripper_urdf())
    yield pytest.param(gripper, 'tip', id='gripper')
    base = RobotModel.from_urdf(golden.arm_urdf())
    yield pytest.param(with_floating_base(base), 'hand', id='floating base')


def inertial_sensors(link):
    return [Gyroscope(Mounting(link, ORIGIN, RPY)), Accelerometer(Mounting(link, ORIGIN, RPY))]


def random_motion(robot, samples=4, seed=0):
    return np.random.default_rng(seed).normal(size=(3, samples, len(robot.joint_names)))


def tree_motion(robot, q, v, a):
    """Motion of the joints in Pinocchio's model, ``(S, m)`` each."""
    coupling, offset = robot.tree.coupling, robot.tree.coupling_offset
    joints = robot.pinocchio_model.nv
    return [x[:, :joints] for x in (q @ coupling.T + offset, v @ coupling.T, a @ coupling.T)]


def configuration(model, position):
    """Continuous joints are a cosine and a sine in Pinocchio."""
    return pin.integrate(model, pin.neutral(model), position)


def assert_slopes(sensor, robot, q, v, a, values, columns):
    """Every derivative against central differences, relative to the largest of its kind."""
    reading = sensor.read(robot, q, v, a, values=values, columns=columns)
    for name, place in (('position', 0), ('velocity', 1), ('acceleration', 2), ('parameters', 3)):
        found = getattr(reading, f'by_{name}')
        at = [q, v, a, values]
        size = len(columns) if place == 3 else q.shape[1]
        expected = np.empty((len(q), sensor.width, size))
        for k in range(size):
            ahead, behind = [list(at), list(at)]
            away = np.zeros(at[place].shape[-1])
            away[columns[k] if place == 3 else k] = step = 1e-6
            ahead[place], behind[place] = at[place] + away, at[place] - away
            expected[:, :, k] = (_value(sensor, robot, *ahead, columns)
                                 - _value(sensor, robot, *behind, columns)) / (2.0 * step)
        if found is None:
            found = np.zeros_like(expected)
        assert found.shape == expected.shape
        error = np.abs(found - expected).max(initial=0.0) / np.abs(expected).max(initial=1.0)
        assert error < BAR, (sensor.name, name, error)


def _value(sensor, robot, q, v, a, values, columns):
    return sensor.read(robot, q, v, a, values=values, columns=columns).value


@pytest.mark.parametrize(('robot', 'link'), list(trees()))
def test_they_measure_what_pinocchio_says_of_the_frame(robot, link):
    q, v, a = random_motion(robot)
    gyroscope, accelerometer = inertial_sensors(link)
    turned = gyroscope.read(robot, q, v, None)
    felt = accelerometer.read(robot, q, v, a)
    model = robot.pinocchio_model
    frame = model.frames[model.getBodyId(link)]
    joint = robot.place_of(link)[0] + 1
    place = frame.placement * pin.SE3(pin.rpy.rpyToMatrix(*RPY), np.array(ORIGIN))
    data = model.createData()
    for k, (x, speed, rate) in enumerate(zip(*tree_motion(robot, q, v, a), strict=True)):
        pin.forwardKinematics(model, data, configuration(model, x), speed, rate)
        where = (model, data, joint, place, pin.ReferenceFrame.LOCAL)
        velocity = pin.getFrameVelocity(*where)
        acceleration = pin.getFrameClassicalAcceleration(*where)
        down = (data.oMi[joint] * place).rotation.T @ robot.gravity
        np.testing.assert_allclose(turned.value[k], velocity.angular, atol=1e-12)
        np.testing.assert_allclose(felt.value[k], acceleration.linear - down, atol=1e-10)


@pytest.mark.parametrize(('robot', 'link'), list(trees()))
def test_slopes_of_motion_on_links_are_central_differences(robot, link):
    q, v, a = random_motion(robot, seed=1)
    for sensor in (*inertial_sensors(link), PlaceTracker(Mounting(link, ORIGIN))):
        assert_slopes(sensor, robot, q, v, a, np.zeros(0), np.zeros(0, dtype=int))


@pytest.mark.parametrize('name', ['four_bar', 'five_bar', 'rod_five_bar', 'spatial', 'leg'])
def test_slopes_hold_in_closed_loops(name):
    robot = closed.CLOSED[name]()
    q, v, a = closed.smooth_motion(robot, np.linspace(0.3, 1.0, 3), part=0.3)
    link = robot.links[-1].name
    for sensor in (*inertial_sensors(link), PlaceTracker(Mounting(link, ORIGIN))):
        assert_slopes(sensor, robot, q, v, a, np.zeros(0), np.zeros(0, dtype=int))


def test_a_sensor_in_a_closed_loop_measures_the_derivatives_of_its_pose():
    robot = closed.five_bar()
    t = np.linspace(0.5, 0.51, 1001)
    motion = closed.smooth_motion(robot, t)
    gyroscope, accelerometer = inertial_sensors('right_tip')
    felt = accelerometer.read(robot, *motion).value[500]
    poses = body_poses(robot, motion[0])
    body, _, point = gyroscope.mounting.placement(robot)
    where = poses.points(np.array([body]), point[None])[:, 0]
    # Second difference over 1 ms, its error about (1 ms)² times the fourth derivative.
    pulled = (where[600] - 2.0 * where[500] + where[400]) / (100 * (t[1] - t[0])) ** 2
    axes = poses.rotation[500, body] @ pin.rpy.rpyToMatrix(*RPY)
    np.testing.assert_allclose(felt, axes.T @ (pulled - robot.gravity), atol=1e-4)


@pytest.mark.parametrize(('robot', 'link'), list(trees()))
def test_a_tracker_sees_the_place_that_pinocchio_says(robot, link):
    q, v, a = random_motion(robot)
    seen = PlaceTracker(Mounting(link, ORIGIN)).read(robot, q, v, None).value
    model = robot.pinocchio_model
    data, frame = model.createData(), model.frames[model.getBodyId(link)]
    for place, x in zip(seen, tree_motion(robot, q, v, a)[0], strict=True):
        pin.forwardKinematics(model, data, configuration(model, x))
        pose = data.oMi[robot.place_of(link)[0] + 1] * frame.placement
        np.testing.assert_allclose(place, pose.act(np.array(ORIGIN)), atol=1e-12)


def test_sensors_on_the_base_feel_gravity_and_no_turning():
    robot = RobotModel.from_urdf(golden.arm_urdf())
    q, v, a = random_motion(robot)
    turned = Gyroscope(Mounting('base', ORIGIN, RPY)).read(robot, q, v, a)
    felt = Accelerometer(Mounting('base')).read(robot, q, v, a)
    assert not turned.value.any()
    np.testing.assert_allclose(felt.value, np.tile([0.0, 0.0, 9.81], (4, 1)))
    assert felt.by_position.shape == (4, 3, 3)
    assert not felt.by_acceleration.any()


def load_cells(robot):
    """Cells in every joint of the tree: its own axis, a skewed torque and a skewed force."""
    for joint in tuple(robot.pinocchio_model.names)[1:]:
        yield LoadCell(joint)
        yield LoadCell(joint, axis=(1.0, -2.0, 0.5), origin=ORIGIN, force=False)
        yield LoadCell(joint, axis=(0.3, 1.0, 0.5), force=True)


@pytest.mark.parametrize('robot', [
    RobotModel.from_urdf(factory.random_urdf(seed, 5, fixed_fraction=0.0)) for seed in range(4)
] + [RobotModel.from_urdf(golden.arm_urdf(mimic=True)),
     RobotModel.from_urdf(factory.gripper_urdf())])
def test_a_load_cell_measures_the_wrench_of_pinocchio(robot):
    q, v, a = random_motion(robot)
    values = TorqueModel(robot).parameters.values
    model = robot.pinocchio_model
    data = model.createData()
    motion = tree_motion(robot, q, v, a)
    for cell in load_cells(robot):
        found = cell.read(robot, q, v, a, values=values, columns=np.arange(3)).value[:, 0]
        joint = model.getJointId(cell.joint)
        axis = np.array(robot.tree.axis[joint - 1] if cell.axis is None else cell.axis)
        axis = axis / np.linalg.norm(axis)
        force = cell.force
        if force is None:
            force = not robot.tree.revolute[joint - 1]
        for k, (x, speed, rate) in enumerate(zip(*motion, strict=True)):
            pin.rnea(model, data, configuration(model, x), speed, rate)
            outside = model.jointPlacements[joint].inverse() * data.liMi[joint]
            wrench = outside.act(data.f[joint])
            moment = wrench.angular - np.cross(cell.origin, wrench.linear)
            expected = axis @ (wrench.linear if force else moment)
            assert found[k] == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize('robot', [
    RobotModel.from_urdf(factory.random_urdf(7, 5)),
    RobotModel.from_urdf(golden.arm_urdf(mimic=True)).with_rotors([golden.ROTOR]),
], ids=['tree', 'mimic joint and rotor'])
def test_slopes_of_a_load_cell_are_central_differences(robot):
    q, v, a = random_motion(robot, seed=2)
    model = TorqueModel(robot, [ViscousFriction()])
    values = model.parameters.values + 0.1
    # Of friction, too, which is no part of the load.
    columns = np.array([0, 11, 14, 27, len(values) - 1])
    for cell in load_cells(robot):
        assert_slopes(cell, robot, q, v, a, values, columns)


def test_the_load_along_a_joint_is_its_torque_without_friction():
    robot = RobotModel.from_urdf(golden.arm_urdf())
    q, v, a = random_motion(robot)
    model = TorqueModel(robot)
    torque = model.torque(model.parameters.values, q, v, a)
    for k, joint in enumerate(robot.joint_names):
        found = LoadCell(joint).read(
            robot, q, v, a, values=model.parameters.values, columns=np.arange(30))
        np.testing.assert_allclose(found.value[:, 0], torque[:, k], atol=1e-12)
        np.testing.assert_allclose(
            found.by_parameters[:, 0], model.regressor(q, v, a)[:, k], atol=1e-12)


def test_encoders_and_tachometers_take_what_other_sensors_need():
    robot = RobotModel.from_urdf(golden.arm_urdf())
    q, v, a = random_motion(robot)
    rows = ((('waist', 1.0), ('elbow', -2.0)), (('wrist', 1.0),))
    for sensor, moved in ((Encoder(rows), q), (Tachometer(rows), v)):
        plain = sensor.read(robot, q, v, None)
        given = sensor.read(robot, q, v, a, values=np.zeros(30), columns=np.arange(3))
        np.testing.assert_array_equal(plain.value, given.value)
        np.testing.assert_allclose(plain.value[:, 0], moved[:, 0] - 2.0 * moved[:, 1])
        assert plain.by_parameters is None
        assert not (sensor.needs_acceleration or sensor.needs_parameters)
        assert_slopes(sensor, robot, q, v, a, np.zeros(0), np.zeros(0, dtype=int))


@pytest.mark.parametrize('sensor', [
    Gyroscope(Mounting('hnad')), Accelerometer(Mounting('hnad')), LoadCell('wirst'),
    Encoder.of(['wirst']), Tachometer.of(['wirst']),
], ids=lambda sensor: sensor.name)
def test_a_robot_without_what_the_sensor_sits_on_is_refused_by_name(sensor):
    robot = RobotModel.from_urdf(golden.arm_urdf())
    with pytest.raises(ModelError, match=r"no such.*'(hnad|wirst)'.*allowed.*(hand|wrist)"):
        sensor.require_robot(robot)


def test_a_load_cell_in_closed_loops_is_refused():
    with pytest.raises(ModelError, match='loops are closed'):
        LoadCell('left_joint').require_robot(closed.five_bar())


def test_numbers_of_a_mounting_that_do_not_fit_are_refused():
    with pytest.raises(ModelError, match='sensor on hand: origin.*three finite numbers'):
        Mounting('hand', origin=(0.0, np.nan, 0.0))
    with pytest.raises(ModelError, match='sensor on hand: rpy.*three finite numbers'):
        Mounting('hand', rpy=(0.0, 1.0))
    with pytest.raises(ModelError, match='no axis'):
        LoadCell('wrist', axis=(0.0, 0.0, 0.0))
    with pytest.raises(ModelError, match='load cell in wrist: origin'):
        LoadCell('wrist', origin='here')


def test_a_sensor_says_what_it_was_not_given():
    robot = RobotModel.from_urdf(golden.arm_urdf())
    q, v, a = random_motion(robot)
    with pytest.raises(EstimationError, match='accelerometer on hand.*accelerations'):
        Accelerometer(Mounting('hand')).read(robot, q, v, None)
    with pytest.raises(EstimationError, match='load cell in wrist.*depends on parameters'):
        LoadCell('wrist').read(robot, q, v, a)
