"""The MuJoCo plant obeys the equations that Pinocchio writes for the same robot."""

import numpy as np
import pytest

from support import closed_robots as closed
from sysid_ros.demo.true_robot import Deviations, JointDeviation
from sysid_ros.errors import ModelError
from sysid_ros.mechanics.closures.closed_chain import closed_chain, neutral_configuration
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.robot.model import RobotModel

mujoco = pytest.importorskip('mujoco')

from sysid_ros.demo.mujoco_plant import Plant, PlantFriction  # noqa: E402

PENDULUM = """<mujoco><worldbody><body name="bob"><joint name="swing" axis="0 1 0"/>
<inertial pos="0 0 -0.5" mass="1" diaginertia="0.01 0.01 0.01"/></body></worldbody></mujoco>"""


@pytest.fixture(scope='module')
def urdf(project):
    return (project / 'sysid_ros' / 'demo' / 'demo_arm.urdf').read_text()


def friction(joints: int, viscous: float = 0.0) -> PlantFriction:
    return PlantFriction(np.full(joints, viscous), np.zeros(joints), np.full(joints, 0.05))


def test_the_acceleration_of_the_plant_is_that_of_pinocchio(urdf, rng):
    import pinocchio as pin

    robot = RobotModel.from_urdf(urdf)
    step = 1e-5
    plant = Plant(urdf, robot.joint_names, friction(4), timestep=step)
    model = robot.pinocchio_model
    for _ in range(5):
        q, tau = rng.uniform(-1.0, 1.0, 4), rng.uniform(-3.0, 3.0, 4)
        plant.reset(q)
        plant.step(tau)
        mass = pin.crba(model, model.createData(), q)
        mass = np.triu(mass) + np.triu(mass, 1).T + 0.05 * np.eye(4)
        bias = pin.rnea(model, model.createData(), q, np.zeros(4), np.zeros(4))
        expected = np.linalg.solve(mass, tau - bias)
        # The step is explicit in velocity: the error is of the order of the step.
        assert plant.v / step == pytest.approx(expected, rel=1e-3, abs=1e-2)


def test_viscous_friction_takes_energy(urdf):
    robot = RobotModel.from_urdf(urdf)
    speeds = []
    for viscous in (0.0, 2.0):
        plant = Plant(urdf, robot.joint_names, friction(4, viscous))
        plant.reset(np.array([0.0, 1.2, 0.5, 0.0]))
        for _ in range(300):
            plant.step(np.zeros(4))
        speeds.append(np.linalg.norm(plant.v))
    assert speeds[1] < 0.7 * speeds[0]


def test_joints_that_do_not_exist_are_refused(urdf):
    with pytest.raises(ModelError, match='other joints'):
        Plant(urdf, ('a', 'b', 'c', 'd'), friction(4))


@pytest.mark.parametrize('name', ['four_bar', 'framed_four_bar', 'five_bar', 'spatial', 'leg'])
def test_a_plant_with_closed_loops_moves_as_its_model_says_and_stays_closed(name):
    robot = closed.CLOSED[name]()
    chain, start = closed_chain(robot), neutral_configuration(robot)
    truth = Deviations.drawn(robot, np.random.default_rng(1)).of(robot)
    plant = Plant.of(robot, truth, timestep=1e-3)
    plant.reset(start)
    a, still = np.full(len(start), 0.5), np.zeros(len(start))
    drives = chain.motion(start[None], still[None], a[None])
    expected = TorqueModel(robot).torque(
        truth.inertials.ravel(), start[None], still[None], a[None])
    expected = expected + drives.on_driven((truth.armature * drives.a)[..., None])[:, :, 0]
    assert plant.torque_for(a) == pytest.approx(expected[0], rel=1e-6, abs=1e-6)
    for k in range(300):
        wanted = 3.0 * np.sin(0.03 * k) * np.ones(len(start))
        plant.step(plant.torque_for(wanted - 40.0 * plant.v - 400.0 * (plant.q - start)))
    assert np.abs(plant.q - start).max() > 1e-3
    # MuJoCo's constraints are springs; the softest is the MJCF's own.
    assert np.abs(chain.positions(plant.q[None])[0] - plant.q_all).max() < 1e-3
    assert plant.q_all[robot.loops.actuated] == pytest.approx(plant.q)


def test_loops_that_mujoco_has_no_constraint_for_are_refused():
    robot = closed.rod_five_bar()
    with pytest.raises(ModelError, match="closure 'rod'.*a rod closes"):
        Plant.of(robot, Deviations().of(robot))


def test_the_truth_of_a_passive_joint_may_differ_too():
    robot = closed.five_bar()
    drive = {'left_tip_joint': JointDeviation(armature=0.3)}
    truth = Deviations(joints=drive).of(robot)
    assert truth.armature[robot.opened.joint_index('left_tip_joint')] == 0.3
    plain, heavy = (Plant.of(robot, Deviations(joints=joints).of(robot)) for joints in ({}, drive))
    for plant in (plain, heavy):
        plant.reset(neutral_configuration(robot))
    a = np.array([1.0, 0.0])
    assert heavy.torque_for(a)[0] > plain.torque_for(a)[0] + 0.1


def test_drag_grows_with_the_square_of_the_velocity():
    """A pendulum without gravity: dv/dt = -c v |v| / I is solved by v0 / (1 + c v0 t / I)."""
    friction = PlantFriction(np.zeros(1), np.zeros(1), np.zeros(1), np.full(1, 0.1))
    plant = Plant(PENDULUM, ('swing',), friction, timestep=1e-4, gravity=(0.0, 0.0, 0.0))
    plant.reset(np.zeros(1))
    inertia = plant.torque_for(np.ones(1))[0]
    # One step brings it to speed.
    plant.step(np.full(1, 4.0 * inertia / plant.timestep))
    begin = plant.v[0]
    for _ in range(10_000):
        plant.step(np.zeros(1))
    assert plant.v[0] == pytest.approx(begin / (1.0 + 0.1 * begin / inertia), rel=1e-3)
