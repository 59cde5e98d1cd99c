"""A joint term of one class and one line of registration is one everywhere."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import yaml
from pydantic import Field

from support import golden_problems as golden
from sysid_ros.errors import ConfigurationError, ModelError, ReleaseError
from sysid_ros.estimation.estimator import make_estimator
from sysid_ros.estimation.friction_models import friction_candidate
from sysid_ros.estimation.trajectory.discrete import sweep
from sysid_ros.estimation.trajectory.discrete.mechanism_arrays import workspace_for
from sysid_ros.estimation.trajectory.discrete.robot_mechanism import RobotMechanism, Softness
from sysid_ros.mechanics.configuration import RobotSettings, TermSettings
from sysid_ros.mechanics.integrators.sensitivity import InputTrajectory, Simulator
from sysid_ros.mechanics.integrators.variational.driven_trajectory import DrivenTrajectory
from sysid_ros.mechanics.integrators.variational.integrator import VariationalIntegrator
from sysid_ros.mechanics.integrators.variational.simulator import VariationalSimulator
from sysid_ros.mechanics.joint_terms.closest_friction import closest_frictions
from sysid_ros.mechanics.joint_terms.law import POSITION, VELOCITY, Law, law_function
from sysid_ros.mechanics.joint_terms.term import JointSelection, PerJoint
from sysid_ros.mechanics.joint_terms.terms import (
    Armature,
    AsymmetricCoulombFriction,
    Stiffness,
    ViscousFriction,
    joint_terms,
    registered,
)
from sysid_ros.mechanics.regressor.sample_regressor import (
    fill_samples,
    sample_model,
    sample_workspace,
)
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.mechanics.tree.acceleration import accelerations, linearised_accelerations
from sysid_ros.release.description_export import export_description, verify_export
from sysid_ros.release.link_inertias import require_joint_terms_known
from sysid_ros.release.yaml_export import export_yaml
from sysid_ros.robot.description.urdf import RobotDescription
from sysid_ros.robot.model import RobotModel
from sysid_ros.settings import parse_settings

MJCF = """<mujoco model="arm"><compiler angle="radian"/><worldbody>
<body name="upper"><joint name="elbow" axis="0 1 0" range="-2 2" frictionloss="0.3"/>
<inertial pos="0.02 0 0.12" mass="1.5" diaginertia="0.012 0.012 0.004"/></body>
</worldbody></mujoco>"""
# Central differences of the fourth order, and what they leave.
STEP, BAR = 1e-4, 1e-7


@law_function
def drag(v, shape):
    """Drag that grows with the cube of the speed, over a velocity."""
    return v * v * v / shape[0]


@law_function
def drag_slope(v, value, shape):
    """Derivative of the drag."""
    return 3.0 * v * v / shape[0]


class Drag(PerJoint):
    """Drag of a joint that turns in a fluid."""

    law = Law(VELOCITY, drag, drag_slope)
    shape = (0.7,)
    fields = ('drag',)
    keys = {'drag': (JointSelection, Field((), description='Joints that turn in a fluid.'))}
    rotational_unit = 'N·m'
    linear_unit = 'N'
    lower = 0.0
    friction = True


@pytest.fixture(autouse=True)
def in_the_registry():
    with registered(Drag):
        yield


def model_of(*terms):
    robot = RobotModel.from_urdf(golden.arm_urdf())
    return TorqueModel(robot, (ViscousFriction(), Armature(), Drag(('elbow', 'wrist')), *terms))


def values_of(model):
    """Parameters of which none is zero."""
    values = model.parameters.values.copy()
    values[30:] += np.random.default_rng(2).uniform(0.2, 0.5, len(values) - 30)
    return values


def difference(function, x, k, part=STEP):
    """Derivative of a function of a vector by its entry k, by steps of a part of it."""
    total, step = 0.0, part * max(abs(x[k]), 0.1)
    for far, weight in ((1.0, 8.0), (-1.0, -8.0), (2.0, -1.0), (-2.0, 1.0)):
        moved = x.copy()
        moved[k] += far * step
        total = total + weight / (12.0 * step) * function(moved)
    return total


def assert_close(found, expected):
    assert np.abs(found - expected).max() <= BAR * max(np.abs(expected).max(), 1e-3)


def test_settings_know_its_key_while_it_is_registered(rng):
    settings = parse_settings(
        RobotSettings, {'urdf': 'arm.urdf', 'terms': {'drag': ['elbow'], 'armature': 'all'}}, 'x')
    model = TorqueModel(model_of().robot, settings.terms.build(model_of().robot))
    assert 'elbow.drag' in model.parameters.names and 'wrist.armature' in model.parameters.names
    assert not friction_candidate(settings.terms, 'dry').drag
    with pytest.raises(ConfigurationError, match="unknown key.*'drg'|drg"):
        parse_settings(TermSettings, {'drg': ['elbow']}, 'x')
    assert Drag in joint_terms()


def test_settings_do_not_know_it_before():
    from sysid_ros.mechanics.joint_terms import terms

    terms._added.remove(Drag)
    try:
        with pytest.raises(ConfigurationError, match="unknown key 'drag'"):
            parse_settings(TermSettings, {'drag': ['elbow']}, 'x')
    finally:
        terms._added.append(Drag)


def test_regression_finds_it(rng):
    model = model_of()
    q, v, a = rng.normal(size=(3, 20, 3))
    rows = model.regressor(q, v, a)
    np.testing.assert_allclose(rows[:, 1, -2], v[:, 1] ** 3 / 0.7, rtol=1e-14)
    arrays, written = sample_model(model), np.empty_like(rows)
    fill_samples(arrays, sample_workspace(arrays), q, v, a, written)
    np.testing.assert_allclose(written, rows, atol=1e-12)
    weights = rng.normal(size=rows.shape)
    for place, slope in enumerate(model.regressor_gradient(q, v, a, weights)):
        def weighted(x, place=place):
            motion = [q, v, a]
            motion[place] = x.reshape(q.shape)
            return np.sum(weights * model.regressor(*motion))

        for k in (0, 31, 59):
            x = (q, v, a)[place].ravel().copy()
            assert_close(slope.ravel()[k], difference(weighted, x, k))
    problem = replace(golden.golden('arm'), model=model, truth=values_of(model)).problem()
    estimate = make_estimator('wls').fit(problem)
    assert estimate.parameters['elbow.drag'] == pytest.approx(values_of(model)[-2], rel=1e-6)


def test_accelerations_of_collocation_have_the_derivatives_of_differences(rng):
    model = model_of()
    values, (q, v, torque) = values_of(model), rng.normal(size=(3, 4, 3))
    assert sample_model(model) is not None, 'it is compiled'
    columns = np.array([len(values) - 2, len(values) - 1, 0])
    found = linearised_accelerations(model, values, q, v, torque, columns)
    for c, k in enumerate(columns):
        assert_close(found.by_parameters[:, :, c], difference(
            lambda x: accelerations(model, x, q, v, torque), values, k))
    for j in range(3):
        assert_close(found.by_velocity[:, :, j], difference(
            lambda x: accelerations(model, values, q, v + x, torque), np.zeros(3), j))
    # It is the torque that the regressor says.
    np.testing.assert_allclose(
        model.torque(values, q, v, found.value), torque, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize('simulator', [Simulator, VariationalSimulator])
def test_simulations_have_the_derivatives_of_differences(simulator, rng):
    model = model_of()
    values, columns = values_of(model), np.array([len(model.parameters) - 2, 0])
    trajectory = InputTrajectory(
        rng.uniform(-0.5, 0.5, (2, 3)), rng.uniform(-1.0, 1.0, (12, 3)), 0.01)
    simulation = simulator(model, columns)
    motion = simulation.run(values, [trajectory])[0]
    for c, k in enumerate(columns):
        expected = difference(
            lambda x: simulation.run(x, [trajectory])[0].states[:, :2], values, k)
        assert_close(motion.slopes[:, :2, :, simulation.starts + c], expected)
    without = values.copy()
    without[-2:] = 0.0
    assert np.abs(simulation.run(without, [trajectory])[0].states - motion.states).max() > 1e-6


def test_variational_defects_have_the_derivatives_of_differences(rng):
    model = model_of()
    values, k = values_of(model), len(model.parameters) - 2
    states, torque = rng.uniform(-0.5, 0.5, (6, 2, 3)), rng.uniform(-1.0, 1.0, (6, 3))
    integrator = VariationalIntegrator(model, free_parameters=((k,),))
    trajectory = DrivenTrajectory(states[0], torque, 0.01)
    found = integrator.defects(values, trajectory, states)
    assert_close(found.parameters[:, :, 0], difference(
        lambda x: integrator.defects(x, trajectory, states).values, values, k))


def test_steps_in_maximal_coordinates_have_the_derivatives_of_differences(rng):
    model = model_of()
    values, names = values_of(model), model.parameters.names
    robot = RobotMechanism(model, names, Softness(1e-4, 1e-4))
    mechanism, chosen = robot.mechanism, np.array([len(names) - 2, len(names) - 1])
    arrays, free_map = mechanism.arrays, robot.parameter_map.of_free(chosen)
    bodies, m, f = len(mechanism.bodies), len(arrays.compliance), len(arrays.dry)
    state, torque = robot.states(*rng.uniform(-1.0, 1.0, (2, 1, 3))), np.ones((1, f))
    width = 12 * bodies + 2

    def stepped(at, where):
        velocity, slopes = np.empty((1, 6 * bodies)), np.empty((1, 6 * bodies, width))
        parameters = robot.parameter_map.body_parameters(at, bodies, mechanism.gravity)
        assert sweep.predict(
            arrays, parameters, free_map, 1e-3, where, torque, 0, sweep.ContactModes.of(1, m, f),
            False, False, workspace_for(bodies, m, f), np.empty((6 * bodies + m + f, width)),
            velocity, slopes) == -1
        return velocity[0], slopes[0]

    _, slopes = stepped(values, state)
    for c, k in enumerate(chosen):
        # Velocities are linear in amplitudes, so that steps may be far above rounding.
        expected = difference(lambda x: stepped(x, state)[0], values, k, 1.0)
        size = np.abs(expected).max()
        assert size > 1e-6
        assert_close(slopes[:, 12 * bodies + c] / size, expected / size)
    for body in range(bodies):
        for c in range(6):
            expected = difference(
                lambda x: stepped(values, x[None])[0], state[0], 13 * body + 7 + c)
            assert_close(slopes[:, 12 * body + 6 + c], expected)


@pytest.mark.parametrize('term', [Stiffness(), AsymmetricCoulombFriction(smoothing=0.1)])
def test_steps_refuse_laws_of_positions_and_stiff_ones(term):
    model = model_of(term)
    with pytest.raises(ModelError, match='do not know the term.*smooth functions'):
        RobotMechanism(model, model.parameters.names)


@pytest.mark.parametrize('kind', ['urdf', 'mjcf'])
def test_exports_hold_what_comes_closest_or_say_what_they_cannot_hold(kind, rng):
    robot = RobotModel.from_urdf(golden.arm_urdf()) if kind == 'urdf' else (
        RobotModel.from_description(
            RobotDescription(None, MJCF.encode(), 'ab', expanded_from_xacro=False)))
    model = TorqueModel(robot, (ViscousFriction(), Drag(('elbow',))))
    parameters = model.parameters.with_values({'elbow.drag': 0.8})
    (note,) = [n for n in export_description(robot, parameters).notes if 'no place' in n]
    assert '"elbow.drag": the YAML export holds it' in note
    closest = closest_frictions(
        model, parameters.values, *rng.uniform(-2.0, 2.0, (3, 500, len(robot.joint_names))))
    assert set(closest) == {'elbow'} and closest['elbow'].damping > 1.0
    export = export_description(robot, parameters, closest)
    verify_export(robot, parameters, export, closest=closest)
    assert f'damping="{closest["elbow"].damping!r}"' in export.xml.decode()
    assert any('friction laws of "elbow"' in note for note in export.notes)
    with pytest.raises(ReleaseError, match=r'no place.*elbow\.drag'):
        require_joint_terms_known(robot, parameters)
    written = export_yaml(robot, parameters)
    content = yaml.safe_load(written)
    assert content['joints']['elbow']['drag'] == 0.8
    assert content['parameters']['elbow.drag']['value'] == 0.8


@law_function
def hardening(q, shape):
    """A spring that gets harder."""
    return q + q * q * q


class Hardening(Stiffness):
    """A spring whose energy is not that of a linear one."""

    law = Law(POSITION, hardening)
    fields = ('hardening',)


def test_discrete_mechanics_refuses_springs_whose_energy_it_does_not_know():
    with pytest.raises(ModelError, match='linear springs'):
        VariationalIntegrator(model_of(Hardening()))
