"""Torques of closed chains against MuJoCo, recordings of ADAMS, and energy."""

import numpy as np
import pytest
from scipy.signal import savgol_filter

from support import closed_robots as robots
from sysid_ros.mechanics.base_parameters import base_parameters
from sysid_ros.mechanics.closures.closed_chain import closed_chain
from sysid_ros.mechanics.joint_terms.terms import (
    Armature,
    CoulombFriction,
    Stiffness,
    TorqueOffset,
    ViscousFriction,
)
from sysid_ros.mechanics.regressor.regressor import inertial_regressor
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.robot.model import RobotModel
from sysid_ros.robot.rotors import GearedRotor

mujoco = pytest.importorskip('mujoco')


def moved(robot, seed=0):
    return robots.smooth_motion(robot, np.arange(300) * 5e-3, seed)


def torques_of_mujoco(text, robot, motion, rows):
    """Torques of the motors, and how far MuJoCo's equations are from holding.

    They are the u of MuJoCo's own tree torques = B u + J' λ with its own Jacobian J.
    """
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    names = [model.joint(k).name for k in range(model.njnt)]
    order = [names.index(name) for name in robot.loops.joint_names]
    driven = np.eye(model.nv)[:, [names.index(name) for name in robot.joint_names]]
    torques, errors = [], []
    for k in rows:
        data.qpos[order], data.qvel[order] = motion.q[k], motion.v[k]
        model.opt.disableflags = 0
        mujoco.mj_fwdPosition(model, data)
        equality = data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY
        jacobian = data.efc_J.reshape(-1, model.nv)[equality].copy()
        gap = data.efc_pos[equality].copy()
        model.opt.disableflags = int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
        data.qacc[order] = motion.a[k]
        mujoco.mj_inverse(model, data)
        span = np.hstack([driven, jacobian.T])
        solution = np.linalg.lstsq(span, data.qfrc_inverse, rcond=None)[0]
        torques.append(solution[:driven.shape[1]])
        errors.append([np.abs(gap).max(), np.abs(jacobian @ data.qvel).max(),
                       np.abs(span @ solution - data.qfrc_inverse).max()])
    return np.array(torques), np.max(errors)


@pytest.mark.parametrize('name', ['leg', 'spatial'])
def test_torques_are_those_of_mujoco(name):
    text = (robots.leg_mjcf(friction=False) if name == 'leg'
            else robots.SPATIAL.format(robots.SPATIAL_CONNECT))
    robot = RobotModel.from_mjcf(text)
    model = TorqueModel(robot, (ViscousFriction(), Armature()))
    q, v, a = moved(robot)
    rows = range(0, 300, 15)
    theirs, error = torques_of_mujoco(text, robot, closed_chain(robot).motion(q, v, a), rows)
    assert error < 1e-9
    ours = model.torque(model.parameters.prior, q, v, a)[list(rows)]
    assert not robot.replaced_priors
    np.testing.assert_allclose(ours, theirs, atol=1e-9 * np.abs(theirs).max())


def test_a_weld_is_read_as_mujoco_means_it():
    # A revolute joint at the place of the weld makes a planar four-bar, welded at a free end.
    welded = """
    <mujoco><worldbody>
      <body name="a"><joint name="ja" axis="0 1 0"/><geom size="0.1" pos="0.2 0 0"/>
        <body name="b" pos="0.3 0 0"><joint name="jb" axis="0 1 0"/>
          <geom size="0.1" pos="0.1 0 0"/>
          <body name="c" pos="0.1 0 0.4"><joint name="jc" axis="0 1 0"/><geom size="0.1"/>
            <body name="d" pos="0.3 0 0.1"><joint name="jd" axis="0 1 0"/><geom size="0.1"/></body>
          </body></body></body>
      <body name="post" pos="0.6 0.1 0.4" euler="20 30 40"><geom size="0.1"/></body>
    </worldbody>
    <equality>{}</equality><actuator><motor joint="ja"/></actuator></mujoco>
    """
    for weld in (
        '<weld body1="d" body2="post"/>', '<weld body1="post" body2="d"/>', '<weld body1="d"/>',
        '<weld body1="d" relpose="-0.7 0 -0.5 1 0 0 0"/>',
    ):
        text = welded.format(weld)
        robot = RobotModel.from_mjcf(text)
        q = np.linspace(-0.2, 0.2, 20)[:, None]
        model = TorqueModel(robot)
        motion = closed_chain(robot).motion(q, np.cos(q), np.sin(q))
        theirs, error = torques_of_mujoco(text, robot, motion, range(20))
        assert error < 1e-9
        np.testing.assert_allclose(
            model.torque(model.parameters.prior, q, np.cos(q), np.sin(q)), theirs, atol=1e-9)


@pytest.mark.parametrize('name', list(robots.CLOSED))
def test_power_of_the_motors_is_the_change_of_energy(name):
    robot = robots.CLOSED[name]()
    q, v, a = robots.smooth_motion(robot, np.arange(400) * 1e-3)
    chain, model = closed_chain(robot), TorqueModel(robot)
    theta = model.parameters.prior
    torque = model.torque(theta, q, v, a)
    motion = chain.motion(q, v, a)
    still = np.zeros_like(v)
    # Kinetic energy is half of v' M v, potential energy the work against gravity.
    inertia = model.torque(theta, q, still, v) - model.torque(theta, q, still, still)
    weight = model.torque(theta, q, still, still)
    kinetic = 0.5 * np.sum(v * inertia, axis=1)
    rates = (kinetic[:-4] - 8 * kinetic[1:-3] + 8 * kinetic[3:-1] - kinetic[4:]) / 12e-3
    power = np.sum(torque * v, axis=1)
    np.testing.assert_allclose(
        power[2:-2], rates + np.sum(weight * v, axis=1)[2:-2], atol=1e-6 * np.abs(power).max())
    # And the same power is that of the joints of the cut tree.
    tree = inertial_regressor(robot.opened, motion.q, motion.v, motion.a) @ theta
    np.testing.assert_allclose(np.sum(tree * motion.v, axis=1), power, atol=1e-9)


def test_the_four_bar_linkage_of_adams(shared_data):
    folder = shared_data / 'four_bar_adams'
    torque = np.loadtxt(folder / 'InverseDynamics_4bars_MSC.tab', comments='%')[:, 1]
    crank = np.loadtxt(folder / 'fourbars1-with-rel-angle-trajectory.txt', comments='%')[:, 1:]
    errors = torque_errors(robots.four_bar(), crank, -torque[:, None], 15)
    assert np.linalg.norm(errors) < 1.5e-4 * np.linalg.norm(torque)


def test_the_pick_and_place_robot_of_adams(shared_data):
    folder = shared_data / 'four_bar_adams'
    torque = np.loadtxt(folder / 'InverseDynamics_pprobot_MSC.tab', comments='%')[:, 1:]
    cranks = np.loadtxt(folder / 'pick-and-place-robot-trajectory.txt', comments='%')[:, 1:]
    robot, drawn = robots.pick_and_place()
    chain = closed_chain(robot)
    assert dict(zip(chain.joint_names, chain.assembly, strict=True)) == pytest.approx(drawn)
    errors, size = torque_errors(robot, cranks, torque, 7), np.linalg.norm(torque, axis=0)
    assert (np.linalg.norm(errors, axis=0) < 7e-3 * size).all()
    # Most of it is the recording's own: its torques jump by 1 N·m from one sample to the next.
    smooth = savgol_filter(errors, 31, 3, axis=0)
    assert (np.linalg.norm(smooth, axis=0) < 5e-4 * size).all()


def torque_errors(robot, q, torque, window):
    """Predicted minus recorded torque, the motion differentiated by Savitzky and Golay."""
    v, a = (savgol_filter(q, window, 4, order, 5e-3, axis=0) for order in (1, 2))
    model = TorqueModel(robot)
    assert not robot.replaced_priors
    return model.torque(model.parameters.prior, q, v, a) - torque


def test_joint_terms_act_on_driven_and_passive_joints():
    robot = robots.five_bar()
    joint = 'left_tip_joint'
    q, v, a = moved(robot)
    motion = closed_chain(robot).motion(q, v, a)
    k = robot.loops.joint_names.index(joint)
    for term, signal in (
        (ViscousFriction((joint,)), motion.v), (Armature((joint,)), motion.a),
        (Stiffness((joint,)), motion.q), (CoulombFriction((joint,)), np.sign(motion.v)),
        (TorqueOffset((joint,)), np.ones_like(motion.q)),
    ):
        model = TorqueModel(robot, (term,))
        column = model.regressor(q, v, a)[:, :, -1]
        np.testing.assert_allclose(column, motion.coupling[:, k] * signal[:, k, None])


def test_terms_without_names_are_those_of_motors_and_of_passive_joints_described_with_them():
    text = robots.leg_mjcf().replace(
        'name="tarsus_swing"', 'name="tarsus_swing" damping="0.2" armature="0.01"')
    model = TorqueModel(RobotModel.from_mjcf(text), (ViscousFriction(), TorqueOffset()))
    parameters = model.parameters
    assert parameters['tarsus_swing.viscous_friction'] == 0.2
    assert sum(name.endswith('.viscous_friction') for name in parameters.names) == 7
    assert sum(name.endswith('.torque_offset') for name in parameters.names) == 6


def test_base_parameters_of_a_closed_chain_predict_what_all_parameters_do():
    robot = robots.five_bar()
    model = TorqueModel(robot, (ViscousFriction(), Armature()))
    base = base_parameters(model)
    # Planar bodies have four parameters each that could matter; fewer do in closed loops.
    assert base.rank < base_parameters(TorqueModel(robot.opened, model.terms)).rank
    regressor = model.regressor(*moved(robot, 5)).reshape(-1, len(model.parameters))
    random = np.random.default_rng(0).normal(size=len(model.parameters))
    np.testing.assert_allclose(
        regressor[:, base.independent] @ base.values(random), regressor @ random, atol=1e-9)


def test_where_a_loop_is_cut_does_not_change_how_much_can_be_known():
    ranks = {base_parameters(TorqueModel(getattr(robots, name)())).rank
             for name in ('four_bar', 'framed_four_bar')}
    assert len(ranks) == 1


def test_the_rank_tells_that_friction_of_passive_joints_can_be_known():
    robot = robots.leg()
    motors = base_parameters(TorqueModel(robot, (ViscousFriction(),)))
    names = robot.loops.joint_names
    # The second hinge of the rod in the plane of the knee stands still.
    model = TorqueModel(robot, (ViscousFriction(names),))
    everywhere = base_parameters(model)
    assert everywhere.rank == motors.rank + 8
    still = model.parameters.index('achilles_roll.viscous_friction')
    assert not everywhere.matrix[:, still].any()
    assert everywhere.gap[0] > 1e10 * everywhere.gap[1]


def test_geared_rotors_of_closed_chains_turn_with_their_joint():
    robot = robots.five_bar()
    rotor = GearedRotor('rotor', 'left_joint', 20.0, 'world',
                        inertial=(0.1, 0, 0, 0, 1e-4, 0, 1e-4, 0, 0, 1e-4))
    geared = robot.with_rotors([rotor])
    q, v, a = moved(robot)
    column = inertial_regressor(geared, q, v, a)[:, :, -1]
    np.testing.assert_allclose(column[:, 0], 400.0 * a[:, 0], atol=1e-9)
