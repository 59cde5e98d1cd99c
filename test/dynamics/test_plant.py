"""The MuJoCo plant obeys the equations that Pinocchio writes for the same robot."""

import numpy as np
import pytest

from sysid_ros.errors import ModelError
from sysid_ros.robot.model import RobotModel

mujoco = pytest.importorskip('mujoco')

from sysid_ros.dynamics.plant import Plant, PlantFriction  # noqa: E402


@pytest.fixture(scope='module')
def urdf(project):
    return (project / 'sysid_ros' / 'cli' / 'demo_arm.urdf').read_text()


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
