"""What a simulated robot is in truth: drawn or given, and the same in MuJoCo as in Pinocchio."""

from dataclasses import replace

import numpy as np
import pytest

from sysid_ros.demo.true_robot import Deviations
from sysid_ros.errors import ConfigurationError
from sysid_ros.mechanics.joint_terms.terms import Armature, CoulombFriction, ViscousFriction
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.robot.inertia import central_inertia
from sysid_ros.robot.model import RobotModel

ARMATURE = np.array([0.12, 0.12, 0.05, 0.01])


@pytest.fixture(scope='module')
def robot(project):
    return RobotModel.from_urdf(project / 'sysid_ros' / 'demo' / 'demo_arm.urdf')


def test_drawn_deviations_are_as_large_as_they_are_said_to_be(robot, rng):
    truth = Deviations.drawn(robot, rng, ARMATURE).of(robot)
    for true, described in zip(truth.inertials, robot.reference_inertials, strict=True):
        mass, com, inertia = central_inertia(true)
        mass_0, com_0, inertia_0 = central_inertia(described)
        assert 0.8 <= mass / mass_0 <= 1.2
        assert np.linalg.norm(com - com_0) == pytest.approx(0.02)
        np.testing.assert_allclose(inertia, mass / mass_0 * inertia_0, atol=1e-12)
    ratio = truth.viscous / [0.6, 0.6, 0.3, 0.05]
    assert set(np.round(ratio, 12)) <= {0.5, 1.5}
    np.testing.assert_array_equal(truth.armature, ARMATURE)


def test_the_same_seed_draws_the_same_deviations(robot):
    first, again = (Deviations.drawn(robot, np.random.default_rng(3)) for _ in range(2))
    assert first == again
    assert first != Deviations.drawn(robot, np.random.default_rng(4))


def test_deviations_are_read_from_a_file(robot, tmp_path):
    file = tmp_path / 'truth.yaml'
    file.write_text(
        'bodies: {wrist: {mass: 1.5, shift: [0.01, 0, 0]}}\n'
        'joints: {base_yaw: {viscous: 2.0, coulomb: 0.0, armature: 0.3}}\n')
    truth = Deviations.load(file).of(robot)
    assert truth.inertials[3, 0] == pytest.approx(1.5 * 0.9)
    np.testing.assert_array_equal(truth.inertials[:3], robot.reference_inertials[:3])
    assert (truth.viscous[0], truth.coulomb[0], truth.armature[0]) == (1.2, 0.0, 0.3)
    np.testing.assert_array_equal(truth.viscous[1:], [0.6, 0.3, 0.05])


@pytest.mark.parametrize(('said', 'found'), [
    ({'bodies': {'hand': {}}}, 'hand'),
    ({'joints': {'elbow': {}}}, 'elbow'),
    ({'bodies': {'wrist': {'mass': 0.0}}}, 'wrist'),
    ({'joints': {'base_yaw': {'viscous': -1.0}}}, 'damping'),
])
def test_deviations_that_cannot_be_are_refused(robot, said, found):
    with pytest.raises(ConfigurationError, match=found):
        Deviations(**said).of(robot)


def test_the_plant_has_the_true_dynamics_and_writes_them_down(robot, rng, tmp_path):
    pytest.importorskip('mujoco')
    from sysid_ros.demo.mujoco_plant import Plant

    truth = Deviations.drawn(robot, rng, ARMATURE).of(robot)
    step, file = 1e-5, tmp_path / 'truth.xml'
    Plant.of(robot, truth, save=file)
    model = TorqueModel(
        robot, (ViscousFriction(), CoulombFriction(smoothing=1e-6), Armature()))
    values = np.concatenate(
        [truth.inertials.ravel(), truth.viscous, truth.coulomb, truth.armature])
    written = RobotModel.from_mjcf(file)
    read = TorqueModel(written, model.terms)
    np.testing.assert_allclose(read.parameters.values, values, rtol=2e-5, atol=2e-6)
    # MuJoCo's dry friction is soft: a plant without it shows the inertias.
    plant = Plant.of(robot, replace(truth, coulomb=np.zeros(4)), timestep=step)
    for _ in range(5):
        q, a = rng.uniform(-1.0, 1.0, (2, 1, 4))
        torque = model.torque(values, q, np.zeros((1, 4)), a)
        plant.reset(q[0])
        plant.step(torque[0])
        # The step is explicit in velocity: the error is of the order of the step.
        assert plant.v / step == pytest.approx(a[0], rel=2e-3, abs=5e-3)
