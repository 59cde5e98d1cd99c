"""What else is done with a torque model, done with one of a closed chain."""

import numpy as np
import pytest

from support import closed_robots as robots
from sysid_ros.errors import ModelError
from sysid_ros.excitation.safety.limits import MotionLimits
from sysid_ros.mechanics.base_parameters import random_motion
from sysid_ros.mechanics.closures.closed_chain import closed_chain
from sysid_ros.mechanics.configuration import RobotSettings
from sysid_ros.mechanics.control import ComputedTorque
from sysid_ros.mechanics.forward_dynamics import ForwardDynamics
from sysid_ros.mechanics.joint_terms.drive_gain import DriveGain
from sysid_ros.mechanics.joint_terms.terms import (
    Armature,
    CoulombFriction,
    TorqueOffset,
    ViscousFriction,
)
from sysid_ros.mechanics.regressor.regressor import inertial_regressor
from sysid_ros.mechanics.regressor.regressor_adjoint import regressor_gradient
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.mechanics.tree.kinematics import body_poses
from sysid_ros.robot.floating_base import with_floating_base
from sysid_ros.robot.model import RobotModel

TERMS = (ViscousFriction(), CoulombFriction(smoothing=0.1), TorqueOffset(), Armature())


def moved(robot, samples=40, seed=0):
    return robots.smooth_motion(robot, np.arange(samples) * 0.03, seed)


@pytest.mark.parametrize('name', ['five_bar', 'spatial', 'leg'])
def test_the_gradient_of_the_regressor_is_that_of_finite_differences(name):
    robot = robots.CLOSED[name]()
    model = TorqueModel(robot, (*TERMS, ViscousFriction(('left_tip_joint',)))
                        if name == 'five_bar' else TERMS)
    motion = moved(robot, 4)
    random = np.random.default_rng(2)
    weights = random.normal(size=(*motion[0].shape, len(model.parameters)))
    gradient = model.regressor_gradient(*motion, weights)
    for k, step in ((0, 1e-5), (1, 1e-4), (2, 1e-2)):
        for joint in range(motion[0].shape[1]):
            away = np.zeros((3, 1, motion[0].shape[1]))
            away[k, 0, joint] = step
            ahead, behind = (
                np.sum(weights * model.regressor(*(np.array(motion) + sign * away)), axis=(1, 2))
                for sign in (1.0, -1.0))
            np.testing.assert_allclose(
                gradient[k][:, joint], (ahead - behind) / (2 * step), rtol=2e-6,
                atol=2e-6 * np.abs(gradient[k]).max())


def test_the_gradient_of_the_bodies_alone_is_part_of_that_of_all():
    robot = robots.five_bar()
    motion = moved(robot, 5)
    model = TorqueModel(robot)
    weights = np.random.default_rng(0).normal(size=(5, 2, len(model.parameters)))
    np.testing.assert_allclose(
        regressor_gradient(robot, *motion, weights), model.regressor_gradient(*motion, weights))


def test_a_drive_gain_divides_the_rows_of_its_driven_joint():
    robot = robots.five_bar()
    gain = DriveGain(('left_joint',), (('left_joint.drive_gain', 2.0),))
    model, motion = TorqueModel(robot, (*TERMS, gain)), moved(robot, 5)
    rows, plain = (x.regressor(*motion) for x in (model, TorqueModel(robot, TERMS)))
    left = robot.joint_index('left_joint')
    np.testing.assert_allclose(rows[:, left, :plain.shape[2]], plain[:, left] / 2.0, rtol=1e-12)
    np.testing.assert_array_equal(rows[:, 1 - left, :plain.shape[2]], plain[:, 1 - left])


def test_forces_on_passive_bodies_are_felt_at_the_motors():
    robot = robots.leg()
    q, body = moved(robot, 3)[0], 8
    poses = body_poses(robot, q)
    bodies, local = np.array([body]), np.array([[0.1, 0.2, 0.3]])
    force = np.random.default_rng(0).normal(size=(3, 1, 3))
    torque = poses.joint_forces(bodies, poses.points(bodies, local), force)
    for joint in range(q.shape[1]):
        away = np.zeros(q.shape[1])
        away[joint] = 1e-6
        ahead, behind = (
            body_poses(robot, q + sign * away).points(bodies, local) for sign in (1.0, -1.0))
        power = np.sum(force * (ahead - behind) / 2e-6, axis=(1, 2))
        np.testing.assert_allclose(torque[:, joint], power, atol=1e-8)


def test_a_closed_chain_on_a_floating_base_at_rest_has_the_torques_of_a_fixed_one():
    robot = robots.five_bar()
    floating = with_floating_base(robot)
    assert floating.joint_names[6:] == robot.joint_names
    q, v, a = moved(robot, 10)
    lifted = [np.hstack([np.zeros((10, 6)), x]) for x in (q, v, a)]
    lifted[2][:, :3] = -robot.gravity
    fixed = inertial_regressor(robot, q, v, a)
    np.testing.assert_allclose(
        inertial_regressor(floating, *lifted)[:, 6:, 10:], fixed, atol=1e-9)


def test_loops_closed_at_the_base_move_with_it():
    linkage = (
        robots.Linkage('braced').rod('arm', 'world', (0.0, 0.0), 1.0, 1.0)
        .rod('pin', 'arm', (1.0, 0.0), 0.5, 0.5)
        .close('brace', 'pin', (0.5, 0.0), 'world', (0.5, -0.8), kind='rod', length=0.9)
    )
    urdf = linkage.urdf.replace('"world"', '"frame"')
    robot = RobotModel.from_urdf(urdf, loops=linkage.loops(['arm_joint'], {'pin_joint': -1.0}))
    floating = with_floating_base(robot)
    assert floating.loops.closures[0].links == ('pin', 'frame')
    q = np.zeros((1, 7))
    coupling = closed_chain(floating).motion(q, q, q).coupling
    assert not coupling[:, floating.loops.passive, :6].any()
    assert coupling[:, floating.loops.passive, 6].all()


def test_the_control_law_of_a_closed_chain_is_its_torque_model():
    robot = robots.leg()
    model = TorqueModel(robot, TERMS)
    control = ComputedTorque(model, model.parameters.prior, natural_frequency=10.0)
    q, v, a = (x[7] for x in moved(robot))
    expected = model.torque(model.parameters.prior, q[None], v[None], a[None])[0]
    np.testing.assert_allclose(control.command(q, v, q, v, a).torque, expected, atol=1e-9)


def test_forward_dynamics_undo_inverse_dynamics_and_refuse_dry_friction_of_passive_joints():
    robot = robots.five_bar()
    model = TorqueModel(robot, TERMS)
    q, v, a = moved(robot, 20)
    forward = ForwardDynamics(model, model.parameters.prior)
    torque = model.torque(model.parameters.prior, q, v, a)
    np.testing.assert_allclose(forward.acceleration(q, v, torque), a, atol=1e-8)
    dry = TorqueModel(robot, (CoulombFriction(('left_tip_joint',)),))
    values = dry.parameters.prior.copy()
    values[-1] = 0.1
    with pytest.raises(ModelError, match='dry friction of passive joints.*left_tip_joint'):
        ForwardDynamics(dry, values).step(q, v, torque, 1e-3)


def test_random_motion_stays_where_loops_are_closed_and_limits_kept():
    robot = robots.rod_five_bar()
    q, _, _ = random_motion(robot, 200, 1)
    chain = closed_chain(robot)
    found, reached = chain.reachable(q)
    assert reached.all() and q.shape == (200, 2)
    assert (chain.singularity_margin(found) > 1e-3).all()


def test_motion_limits_are_those_of_the_driven_joints():
    robot = robots.five_bar()
    limits = MotionLimits.of(robot)
    assert limits.joint_names == robot.joint_names
    np.testing.assert_array_equal(limits.upper, robot.limits.upper)


def test_a_settings_file_names_the_file_that_closes_the_loops(tmp_path):
    linkage = robots.four_bar_linkage()
    (tmp_path / 'linkage.urdf').write_text(linkage.urdf)
    (tmp_path / 'loops.yaml').write_text("""
actuated: [crank_joint]
assembly: {coupler_joint: 1.5, rocker_joint: 2.5}
closures:
  - name: tip
    kind: point
    first: {link: coupler, origin: [2, 0, 0]}
    second: {link: rocker, origin: [3.605551275463989, 0, 0]}
""")
    settings = RobotSettings.model_validate({
        'urdf': 'linkage.urdf', 'loops': 'loops.yaml', 'gravity': (0.0, -9.80665, 0.0),
        'terms': {'viscous_friction': ['crank_joint', 'rocker_joint'], 'coulomb_friction': []},
    })
    model = settings.build(tmp_path)
    motion = moved(model.robot)
    own = TorqueModel(robots.four_bar(), model.terms)
    np.testing.assert_allclose(model.regressor(*motion), own.regressor(*motion), atol=1e-9)
    assert model.robot.joint_names == ('crank_joint',)
