"""Motion of a pendulum without an encoder, on a cart that has one."""

import numpy as np
import pytest

from support import cart_with_pendulum as cart
from sysid_ros.estimation.trajectory.collocation_estimator import CollocationEstimator
from sysid_ros.estimation.trajectory.problem import Observation, Segment, TrajectoryProblem
from sysid_ros.estimation.trajectory.sensors import Encoder
from sysid_ros.estimation.trajectory.shooting_estimator import ShootingEstimator
from sysid_ros.estimation.trajectory.starts import hidden_joints, initial_states, smoothed_states
from sysid_ros.mechanics.configuration import TermSettings
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.robot.model import RobotModel

NOISE = 2e-4


def problem(factor=1.0, starts=((0.0, 0.0), (0.1, 0.5))):
    """Two recordings of the cart's encoder, and descriptions whose masses are off."""
    robot = RobotModel.from_urdf(cart.urdf(factor))
    terms = TermSettings(viscous_friction='all', coulomb_friction=[]).described(robot)
    model = TorqueModel(robot, terms.build(robot))
    motions = [cart.motion(start, seed=k) for k, start in enumerate(starts)]
    random = np.random.default_rng(1)
    segments = tuple(
        Segment(
            motion.t, np.column_stack([motion.force, np.zeros(len(motion.t))]),
            (Observation(
                Encoder.of(['slide']), motion.t,
                motion.q[:, :1] + NOISE * random.standard_normal((len(motion.t), 1)),
                np.array([NOISE])),))
        for motion in motions)
    return TrajectoryProblem(model, model.parameters, segments), motions


def rms(errors):
    return np.sqrt(np.mean(np.concatenate(errors)**2, axis=0))


def test_dynamics_tell_the_motion_of_a_joint_without_encoder():
    made, motions = problem()
    np.testing.assert_array_equal(hidden_joints(made), [False, True])
    found = initial_states(made)
    q = rms([states[0] - motion.q for states, motion in zip(found, motions, strict=True)])
    swing = rms([motion.q for motion in motions])[1]
    assert swing > 0.3
    assert q[0] < NOISE
    assert q[1] < 0.1 * swing


def test_a_wrong_description_tells_it_roughly():
    made, motions = problem(1.3)
    found = initial_states(made)
    q = rms([states[0] - motion.q for states, motion in zip(found, motions, strict=True)])
    assert q[1] < 0.4 * rms([motion.q for motion in motions])[1]


def test_measured_joints_are_smoothed_as_ever():
    made, _ = problem()
    robot, (one, _) = made.model.robot, made.segments
    q, v = smoothed_states(robot, one)
    assert not q[:, 1].any()
    assert not v[:, 1].any()
    both = TrajectoryProblem(made.model, made.parameters, (Segment(
        one.t, one.torque, (*one.observations, Observation(
            Encoder.of(['swing']), one.t, np.zeros((len(one.t), 1)), np.array([NOISE])))),))
    assert not hidden_joints(both).any()
    np.testing.assert_array_equal(initial_states(both)[0][0][:, 0], q[:, 0])


@pytest.mark.slow
@pytest.mark.parametrize('estimator', [ShootingEstimator, CollocationEstimator])
def test_parameters_and_hidden_motion_are_found_together(estimator):
    made, motions = problem(1.25)
    estimate, found = estimator().fitted(made)
    assert estimate.status.ok
    q = rms([part - motion.q for part, motion in zip(found.positions, motions, strict=True)])
    assert q[1] < 5e-3
    # The cart's force tells the masses, which were a quarter too large.
    total = estimate.parameters['cart.mass'] + estimate.parameters['pendulum.mass']
    assert total == pytest.approx(cart.CART + cart.PENDULUM, rel=0.01)
    moment = estimate.parameters['pendulum.first_moment_z']
    assert moment == pytest.approx(-cart.PENDULUM * cart.LENGTH, rel=0.02)
