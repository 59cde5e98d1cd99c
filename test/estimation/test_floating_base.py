"""Robots that float: identified from free motion, and from measured wrenches on their links."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from support import robot_factory as factory
from sysid_ros.errors import RecordingError
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.regression.consistent.lmi import SemidefiniteLeastSquares
from sysid_ros.estimation.regression.least_squares import WeightedLeastSquares
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.mechanics.tree.base_motion import BaseMotion
from sysid_ros.recording.dataset import Dataset
from sysid_ros.recording.floating_base import (
    MeasuredWrench,
    base_motion_from_poses,
    floating_base_dataset,
)
from sysid_ros.recording.processing.differentiation import Spline
from sysid_ros.robot.floating_base import with_floating_base
from sysid_ros.robot.inertia import central_inertia, inertial_parameters
from sysid_ros.robot.model import RobotModel

SAMPLES, RATE = 400, 100.0


@pytest.fixture(scope='module')
def robot():
    rng = np.random.default_rng(3)
    text = factory.random_urdf(11, 4, fixed_fraction=0.0)
    trunk = f'<link name="link0">{factory.random_inertial(rng)}</link>'
    return with_floating_base(RobotModel.from_urdf(text.replace('<link name="link0"/>', trunk)))


def truth_of(robot):
    """Masses up to 30 % and centres of mass 3 cm off the description."""
    rng = np.random.default_rng(0)
    values = []
    for phi in robot.inertial_prior:
        mass, com, inertia = central_inertia(phi)
        factor = rng.uniform(0.7, 1.3)
        values.append(inertial_parameters(
            factor * mass, com + rng.uniform(-0.03, 0.03, 3), factor * inertia))
    return np.concatenate(values)


def free_motion(robot, truth, seed, wrenches=()):
    """Joint motion that is chosen, and the base motion that the physics makes of it."""
    rng = np.random.default_rng(seed)
    joints = len(robot.joint_names) - 6
    q, v, a = rng.normal(size=(3, SAMPLES, joints))
    omega = rng.normal(size=(SAMPLES, 3))
    model = TorqueModel(robot)
    zero = np.zeros((SAMPLES, 3))

    def torque(alpha, felt):
        return model.torque(truth, *BaseMotion(omega, alpha, felt).with_joints(q, v, a))

    bias = torque(zero, zero)
    columns = []
    for k in range(6):
        unit = np.zeros((2, SAMPLES, 3))
        unit[k // 3, :, k % 3] = 1.0
        columns.append(torque(unit[0], unit[1]) - bias)
    mass = np.stack(columns, axis=2)[:, :6]
    outside = sum(
        (at_base(robot, q, wrench) for wrench in wrenches), np.zeros((SAMPLES, 6 + joints)))
    base = np.linalg.solve(mass, (outside[:, :6] - bias[:, :6])[..., None])[..., 0]
    motion = BaseMotion(omega, base[:, :3], base[:, 3:])
    tau = (torque(base[:, :3], base[:, 3:]) - outside)[:, 6:]
    tau += 0.01 * np.sqrt(np.mean(tau**2, axis=0)) * rng.normal(size=tau.shape)
    t = np.arange(SAMPLES) / RATE
    data = Dataset(robot.joint_names[6:], t, q, v, a, tau, np.ones(tau.shape, dtype=bool),
                   ((0, SAMPLES),), RATE, source='simulated')
    return data, motion


def at_base(robot, q, wrench):
    """Generalised forces of a wrench, from Pinocchio's recursion with external forces."""
    model = robot.pinocchio_model
    data, frame = model.createData(), model.frames[model.getBodyId(wrench.link)]
    joint = frame.parentJoint if hasattr(frame, 'parentJoint') else frame.parent
    rows = []
    for position, force, moment in zip(q, wrench.force, wrench.moment, strict=True):
        outside = [pin.Force.Zero() for _ in range(model.njoints)]
        outside[joint] = frame.placement.act(pin.Force(force, moment))
        state = np.concatenate([np.zeros(6), position])
        still = np.zeros(model.nv)
        rows.append(-pin.rnea(model, data, state, still, still, outside))
    return np.array(rows)


def fit(robot, dataset, estimator):
    return estimator.fit(RegressionProblem.from_dataset(TorqueModel(robot), dataset))


def test_base_parameters_are_recovered_from_free_flight(robot):
    truth = truth_of(robot)
    data, base = free_motion(robot, truth, 1)
    dataset = floating_base_dataset(robot, data, base, all_measured=True)
    assert not dataset.tau[:, :6].any() and dataset.mask.all()
    estimate = fit(robot, dataset, WeightedLeastSquares())
    assert estimate.status.ok and not estimate.unidentified
    expected = RegressionProblem.from_dataset(TorqueModel(robot), dataset).base.values(truth)
    scaled = (estimate.base_values - expected) / estimate.base_standard_deviation()
    assert np.abs(scaled).max() < 4.5
    assert np.sqrt(np.mean(scaled**2)) < 1.4
    # The mass of the whole robot, which no fixed base would tell.
    assert estimate.parameters['link0.mass'] == pytest.approx(truth[0], rel=0.2)


def test_a_consistent_fit_of_a_floating_robot_stays_consistent(robot):
    truth = truth_of(robot)
    dataset = floating_base_dataset(robot, *free_motion(robot, truth, 2), all_measured=True)
    estimate = fit(robot, dataset, SemidefiniteLeastSquares())
    assert estimate.status.ok and estimate.consistent
    assert estimate.residuals.relative_error < 0.02


def test_measured_wrenches_move_to_the_other_side(robot):
    truth = truth_of(robot)
    rng = np.random.default_rng(5)
    wrenches = [
        MeasuredWrench(link, 20.0 * rng.normal(size=(SAMPLES, 3)), rng.normal(size=(SAMPLES, 3)))
        for link in ('link4', 'link2')
    ]
    data, base = free_motion(robot, truth, 3, wrenches)
    dataset = floating_base_dataset(robot, data, base, wrenches=wrenches, all_measured=True)
    expected = sum(at_base(robot, data.q, wrench) for wrench in wrenches)
    found = dataset.tau - np.hstack([np.zeros((SAMPLES, 6)), data.tau])
    np.testing.assert_allclose(found, expected, atol=1e-10)
    estimate = fit(robot, dataset, WeightedLeastSquares())
    grouping = RegressionProblem.from_dataset(TorqueModel(robot), dataset).base
    scaled = (estimate.base_values - grouping.values(truth)) / estimate.base_standard_deviation()
    assert np.sqrt(np.mean(scaled**2)) < 1.4
    without = fit(robot, floating_base_dataset(robot, data, base, all_measured=True),
                  WeightedLeastSquares())
    assert without.residuals.relative_error > 10.0 * estimate.residuals.relative_error


def test_rows_of_the_base_do_not_count_where_a_wrench_is_missing(robot):
    data, base = free_motion(robot, truth_of(robot), 4)
    dataset = floating_base_dataset(robot, data, base, all_measured=False)
    assert not dataset.mask[:, :6].any() and dataset.mask[:, 6:].all()
    estimate = fit(robot, dataset, WeightedLeastSquares())
    assert estimate.status.ok and estimate.unidentified


def test_motion_of_the_base_follows_from_its_poses():
    t = np.arange(400) / 200.0
    pace = np.array([2.0, 3.1, 1.7])
    position = np.sin(pace * t[:, None])
    # A turn about an axis that does not move, times one about an axis of the body.
    axes = np.array([[0.6, 0.0, 0.8], [0.0, 1.0, 0.0]])
    angle, rate, bend = np.sin(1.3 * t), 1.3 * np.cos(1.3 * t), -1.69 * np.sin(1.3 * t)
    quaternion, omega, alpha, felt = [], [], [], []
    gravity = np.array([0.0, 0.0, -9.81])
    for k in range(len(t)):
        second = 2.0 * t[k]
        turn = pin.exp3(axes[0] * angle[k]) @ pin.exp3(axes[1] * second)
        back = pin.exp3(axes[1] * second).T
        quaternion.append(pin.Quaternion(turn).coeffs() * (-1.0) ** k)
        spin = back @ axes[0] * rate[k]
        omega.append(spin + 2.0 * axes[1])
        alpha.append(back @ axes[0] * bend[k] - np.cross(2.0 * axes[1], spin))
        felt.append(turn.T @ (-(pace**2) * position[k] - gravity))
    found = base_motion_from_poses(
        position, np.array(quaternion), 200.0, smoothing=Spline(spacing=0.1))
    inside = slice(20, -20)
    np.testing.assert_allclose(found.angular_velocity[inside], omega[inside], atol=1e-5)
    np.testing.assert_allclose(found.angular_acceleration[inside], alpha[inside], atol=2e-3)
    np.testing.assert_allclose(found.proper_acceleration[inside], felt[inside], atol=1e-2)


def test_data_that_does_not_fit_is_refused(robot):
    data, base = free_motion(robot, truth_of(robot), 6)
    fixed = RobotModel.from_urdf(robot.description)
    with pytest.raises(RecordingError, match='does not belong to this robot'):
        floating_base_dataset(fixed, data, base, all_measured=True)
    shape = np.zeros((SAMPLES, 3))
    with pytest.raises(RecordingError, match="no such link .*'link44'.*Did you mean 'link4'"):
        floating_base_dataset(robot, data, base, all_measured=True,
                              wrenches=[MeasuredWrench('link44', shape, shape)])
    with pytest.raises(RecordingError, match='wrench does not fit'):
        floating_base_dataset(robot, data, base, all_measured=True,
                              wrenches=[MeasuredWrench('link4', shape[:5], shape[:5])])
    still = np.tile([0.0, 0.0, 0.0, 1.0], (SAMPLES, 1))
    for bad, message in ((np.zeros((SAMPLES, 4)), 'is zero'), (still[:5], 'cannot be used')):
        with pytest.raises(RecordingError, match=message):
            base_motion_from_poses(shape, bad, 100.0)
    still[7] = [1.0, 0.0, 0.0, 0.0]
    with pytest.raises(RecordingError, match='quarter turn .*samples 6 and 7'):
        base_motion_from_poses(shape, still, 100.0)
