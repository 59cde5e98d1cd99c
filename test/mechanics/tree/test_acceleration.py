"""Accelerations and their derivatives against Pinocchio and central differences."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from support import closed_robots as closed
from support import golden_problems as golden
from support import kernel_caches as caches
from support import robot_factory as factory
from sysid_ros.errors import ModelError, ParameterError
from sysid_ros.mechanics.joint_terms import terms as laws
from sysid_ros.mechanics.joint_terms.drive_gain import DriveGain
from sysid_ros.mechanics.joint_terms.load_friction import LoadFriction
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.mechanics.tree import driven_kernels
from sysid_ros.mechanics.tree.acceleration import (
    accelerations,
    linearised_accelerations,
    require_smooth,
)
from sysid_ros.robot.floating_base import with_floating_base
from sysid_ros.robot.model import RobotModel

# The bar of the derivatives: central differences make errors of about 1e-9 themselves.
BAR = 1e-6
SMOOTH = (
    laws.ViscousFriction(), laws.CoulombFriction(smoothing=0.2), laws.TorqueOffset(),
    laws.Armature())
AXIS = (('drive', (('elbow', 1.0), ('wrist', -2.0))),)


def arm(*terms, **options):
    return TorqueModel(RobotModel.from_urdf(golden.arm_urdf(**options)), terms)


def with_values(model, seed=0):
    """Parameters of which none is zero, those without an inertial prior above zero."""
    random = np.random.default_rng(seed)
    values = model.parameters.values.copy()
    first = 10 * len(model.robot.body_names)
    values[first:] += random.uniform(0.1, 0.4, len(values) - first)
    return values


def random_state(model, samples=5, seed=1):
    return np.random.default_rng(seed).uniform(
        -1.0, 1.0, (3, samples, len(model.robot.joint_names)))


def assert_slopes(model, q, v, torque, values, columns=None):
    """Every derivative against central differences, relative to the largest of its kind."""
    columns = np.arange(len(values)) if columns is None else columns
    found = linearised_accelerations(model, values, q, v, torque, columns)
    np.testing.assert_allclose(
        found.value, accelerations(model, values, q, v, torque), rtol=1e-12)
    for place, name in enumerate(('position', 'velocity', 'torque', 'parameters')):
        at = [q, v, torque, values]
        # Parameters enter fractions, whose differences need steps in parts of their size.
        size = np.maximum(np.abs(values), 0.1) if place == 3 else np.ones(q.shape[1])
        for k, entry in enumerate(columns if place == 3 else range(q.shape[1])):
            away = np.zeros(len(size))
            away[entry] = 1e-5 * size[entry]
            moved = []
            for sign in (1.0, -1.0):
                there = list(at)
                there[place] = at[place] + sign * away
                moved.append(accelerations(model, there[3], *there[:3]))
            expected = (moved[0] - moved[1]) / (2.0 * away[entry])
            slope = getattr(found, f'by_{name}')[:, :, k]
            error = np.abs(slope - expected).max() / np.abs(expected).max(initial=1.0)
            assert error < BAR, (name, k, error)


@pytest.mark.parametrize('seed', range(6))
def test_value_and_slopes_are_those_of_pinocchios_articulated_bodies(seed):
    robot = RobotModel.from_urdf(factory.random_urdf(seed, 6))
    model, dynamics = TorqueModel(robot), robot.pinocchio_model
    q, v, torque = random_state(model, seed=seed)
    values = model.parameters.values
    found = linearised_accelerations(model, values, q, v, torque, np.arange(0))
    data = dynamics.createData()
    for k in range(len(q)):
        position = pin.integrate(dynamics, pin.neutral(dynamics), q[k])
        expected = pin.aba(dynamics, data, position, v[k], torque[k])
        np.testing.assert_allclose(found.value[k], expected, rtol=1e-8, atol=1e-8)
        slopes = pin.computeABADerivatives(dynamics, data, position, v[k], torque[k])
        inverse = np.triu(slopes[2]) + np.triu(slopes[2], 1).T
        for own, theirs in zip(
            (found.by_position[k], found.by_velocity[k], found.by_torque[k]),
            (slopes[0], slopes[1], inverse), strict=True,
        ):
            np.testing.assert_allclose(own, theirs, atol=1e-8 * np.abs(theirs).max())
    assert found.by_parameters.shape == (*q.shape, 0)


@pytest.mark.parametrize('terms', [
    (), SMOOTH, (laws.Stiffness(), laws.Armature(joints=('wrist',))),
    (laws.AsymmetricCoulombFriction(smoothing=0.3),),
    (laws.CoupledAxis('drive', AXIS[0][1], smoothing=0.2),),
    (laws.SmoothCoulombFriction(),), (laws.StribeckFriction(smoothing=0.3),),
    (laws.SmoothCoulombFriction(), laws.StribeckFriction(smoothing=None), laws.Armature()),
    (laws.SmoothCoulombFriction((), AXIS), laws.ViscousFriction()), (laws.PowerLawFriction(),),
    (laws.ViscousFriction(), DriveGain()), (*SMOOTH, DriveGain(joints=('elbow',))),
    (*SMOOTH, LoadFriction(smoothing=0.3)),
    (LoadFriction(('elbow',), smoothing=0.1), laws.StribeckFriction(smoothing=0.3)),
], ids=lambda terms: '+'.join(type(term).__name__ for term in terms) or 'bodies alone')
def test_slopes_are_central_differences_whatever_the_joint_terms(terms):
    model = arm(*terms)
    assert_slopes(model, *random_state(model), with_values(model))


@pytest.mark.parametrize('robot', [
    RobotModel.from_urdf(golden.arm_urdf(mimic=True)),
    RobotModel.from_urdf(golden.arm_urdf()).with_rotors([golden.ROTOR]),
    RobotModel.from_urdf(factory.gripper_urdf()),
], ids=['mimic joint', 'geared rotor', 'gripper'])
def test_slopes_hold_where_joints_move_several_bodies(robot):
    model = TorqueModel(robot, SMOOTH)
    assert_slopes(model, *random_state(model), with_values(model))


@pytest.mark.parametrize('robot', [
    RobotModel.from_urdf(golden.arm_urdf(mimic=True)),
    RobotModel.from_urdf(factory.gripper_urdf()),
    with_floating_base(RobotModel.from_urdf(golden.arm_urdf())),
], ids=['mimic joint', 'gripper', 'floating base'])
def test_slopes_hold_for_the_load_of_joints_that_move_several_bodies(robot):
    model = TorqueModel(robot, (*SMOOTH, LoadFriction(smoothing=0.3)))
    assert_slopes(model, *random_state(model), with_values(model))


@pytest.mark.parametrize('friction', [0.1, 0.6, 0.99])
@pytest.mark.parametrize('seed', range(4))
def test_under_friction_by_load_they_are_the_inverse_of_the_torque(seed, friction):
    # The sign of each load depends on all accelerations: none may be taken for granted.
    robot = RobotModel.from_urdf(factory.random_urdf(seed, 6))
    model = TorqueModel(robot, (*SMOOTH, LoadFriction(smoothing=0.05)))
    random, joints = np.random.default_rng(seed), len(robot.joint_names)
    values = with_values(model, seed)
    values[[name.endswith('.load_friction') for name in model.parameters.names]] = friction
    sizes = np.array([3.0, 1.0, 20.0])[:, None, None]
    q, v, a = sizes * random.uniform(-1.0, 1.0, (3, 400, joints))
    found = accelerations(model, values, q, v, model.torque(values, q, v, a))
    np.testing.assert_allclose(found, a, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(('term', 'found'), [
    (laws.CoupledAxis('drive', AXIS[0][1], smoothing=0.2), 'a drive that turns several joints'),
    (DriveGain(), 'a drive gain'),
], ids=['axis', 'gain'])
def test_friction_by_load_is_refused_where_accelerations_are_not_known(term, found):
    with pytest.raises(ModelError, match=f'{found}.*Leave load_friction out'):
        require_smooth(arm(term, LoadFriction(smoothing=0.2)))


@pytest.mark.parametrize('name', closed.CLOSED)
def test_slopes_hold_in_closed_loops(name):
    robot = closed.CLOSED[name]()
    model = TorqueModel(robot, (*SMOOTH, laws.Stiffness()))
    q, v, _ = closed.smooth_motion(robot, np.linspace(0.2, 0.9, 4), part=0.3)
    torque = np.random.default_rng(0).normal(size=q.shape)
    assert_slopes(model, q, v, torque, with_values(model))


@pytest.mark.parametrize('name', closed.CLOSED)
@pytest.mark.parametrize('sound', [True, False], ids=['', 'whatever the masses'])
def test_they_are_the_inverse_of_the_torque_in_closed_loops(name, sound):
    robot = closed.CLOSED[name]()
    model = TorqueModel(robot, SMOOTH)
    motion = closed.smooth_motion(robot, np.linspace(0.0, 1.0, 20), part=0.3)
    values = with_values(model)
    if not sound:
        values = np.random.default_rng(4).normal(size=len(values))
    found = accelerations(model, values, *motion[:2], model.torque(values, *motion))
    np.testing.assert_allclose(found, motion[2], rtol=1e-8, atol=1e-8)


def test_they_are_the_inverse_of_the_torque():
    for name in golden.NAMES:
        problem = golden.golden(name)
        q, v, a = golden.motion(problem.model.robot, 20, 5)
        torque = problem.model.torque(problem.truth, q, v, a)
        found = accelerations(problem.model, problem.truth, q, v, torque)
        np.testing.assert_allclose(found, a, rtol=1e-8, atol=1e-8)


def test_twice_the_gain_is_twice_the_torque():
    plain, geared = arm(laws.ViscousFriction()), arm(laws.ViscousFriction(), DriveGain())
    q, v, torque = random_state(plain)
    values = with_values(plain)
    doubled = np.append(values, np.full(3, 2.0))
    np.testing.assert_allclose(
        accelerations(geared, doubled, q, v, torque),
        accelerations(plain, values, q, v, 2.0 * torque), rtol=1e-10)


def test_many_samples_are_as_many_single_ones():
    model = arm(*SMOOTH)
    q, v, torque = random_state(model, samples=4100)
    values, columns = with_values(model), np.array([33, 0, 12])
    found = linearised_accelerations(model, values, q, v, torque, columns)
    np.testing.assert_allclose(accelerations(model, values, q, v, torque), found.value)
    for k in (0, 2047, 2048, 4099):
        alone = linearised_accelerations(
            model, values, q[k:k + 1], v[k:k + 1], torque[k:k + 1], columns)
        for part, whole in zip(alone, found, strict=True):
            np.testing.assert_allclose(part[0], whole[k], rtol=1e-9, atol=1e-12)


def test_no_samples_make_empty_arrays():
    model = arm(*SMOOTH)
    none = np.empty((0, 3))
    found = linearised_accelerations(model, with_values(model), none, none, none, np.arange(2))
    assert found.by_parameters.shape == (0, 3, 2)
    assert accelerations(model, with_values(model), none, none, none).shape == (0, 3)


@pytest.mark.parametrize('terms', [
    (), SMOOTH, (laws.SmoothCoulombFriction(),), (laws.StribeckFriction(smoothing=0.1),),
    (laws.CoupledAxis('drive', AXIS[0][1], dry=False),),
    (DriveGain(), laws.Armature(), laws.Stiffness()),
])
def test_smooth_models_are_accepted(terms):
    require_smooth(arm(*terms))


@pytest.mark.parametrize(('term', 'match'), [
    (laws.CoulombFriction(), 'CoulombFriction with coulomb_smoothing 0'),
    (laws.AsymmetricCoulombFriction(), 'AsymmetricCoulombFriction with coulomb_smoothing 0'),
    (laws.CoupledAxis('drive', AXIS[0][1]), 'CoupledAxis with coulomb_smoothing 0'),
    (laws.StribeckFriction(smoothing=0.0), 'StribeckFriction with coulomb_smoothing 0'),
    (LoadFriction(), 'LoadFriction with coulomb_smoothing 0'),
    (LoadFriction(smoothing=None), 'coulomb_smoothing: identified'),
])
def test_models_whose_torque_jumps_are_refused_with_what_to_do(term, match):
    with pytest.raises(ModelError, match=f'arm: .*{match}.*(Give coulomb_smoothing|Leave fr)'):
        require_smooth(arm(laws.ViscousFriction(), term))


def test_a_robot_without_mass_has_no_acceleration():
    model = arm()
    q, v, torque = random_state(model)
    with pytest.raises(np.linalg.LinAlgError):
        accelerations(model, np.zeros(30), q, v, torque)


def test_the_cache_of_accelerations_looks_at_the_files_they_call():
    caches.assert_cache_looks_at_its_sources(driven_kernels, driven_kernels.accelerate_driven)


@pytest.mark.parametrize('wrong', [
    {'v': np.zeros((3, 5))}, {'torque': np.zeros((4, 2))}, {'q': np.zeros((3, 1))},
    {'values': np.zeros(3)}])
def test_arrays_of_another_shape_are_refused_before_kernels_read_beyond_them(wrong):
    model = arm(laws.ViscousFriction())
    still = np.zeros((3, len(model.robot.joint_names)))
    arrays = {
        'values': model.parameters.values, 'q': still, 'v': still, 'torque': still} | wrong
    with pytest.raises(ParameterError):
        accelerations(model, **arrays)
    with pytest.raises(ParameterError):
        linearised_accelerations(model, **arrays, columns=np.arange(0))
