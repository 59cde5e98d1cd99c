"""A friction law in a URDF and an MJCF: the damping and friction closest to it, and said."""

import numpy as np
import pytest

from sysid_ros.errors import ReleaseError
from sysid_ros.mechanics.configuration import TermSettings
from sysid_ros.mechanics.joint_terms.closest_friction import ClosestFriction, closest_frictions
from sysid_ros.mechanics.joint_terms.term import described_dynamics
from sysid_ros.mechanics.joint_terms.terms import CoulombFriction, ViscousFriction
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.release.description_export import export_description, verify_export
from sysid_ros.robot.description.urdf import RobotDescription
from sysid_ros.robot.model import RobotModel

LAW = {'coulomb_smoothing': 'identified', 'power_friction': 'all', 'torque_offset': ()}
MJCF = """<mujoco model="arm"><compiler angle="radian"/><worldbody>
<body name="upper"><joint name="shoulder" axis="0 1 0" range="-2 2" frictionloss="0.3"/>
<inertial pos="0.02 0 0.12" mass="1.5" diaginertia="0.012 0.012 0.004"/></body>
</worldbody></mujoco>"""


@pytest.fixture(params=['urdf', 'mjcf'])
def robot(request, random_urdf):
    if request.param == 'mjcf':
        return RobotModel.from_description(RobotDescription(
            None, MJCF.encode(), 'ab', expanded_from_xacro=False))
    return RobotModel.from_urdf(random_urdf(5, 2))


def law(robot):
    """A model with power-law friction, its values, and a motion."""
    model = TorqueModel(robot, TermSettings.model_validate(LAW).build(robot))
    parameters = model.parameters.with_values({
        f'{joint}.{field}': value for joint in robot.joint_names for field, value in (
            ('viscous_friction', 0.1), ('coulomb_friction', 0.2), ('power_friction', 1.5))})
    rng = np.random.default_rng(0)
    motion = rng.uniform(-1.0, 1.0, (3, 500, len(robot.joint_names)))
    return model, parameters, motion * np.array([1.0, 2.0, 1.0])[:, None, None]


def test_the_export_has_the_closest_pair_and_says_so(robot):
    model, parameters, motion = law(robot)
    closest = closest_frictions(model, parameters.values, *motion)
    export = export_description(robot, parameters, closest)
    verify_export(robot, parameters, export, closest=closest)
    reloaded = RobotModel.from_description(
        type(robot.description)(None, export.xml, export.sha256, expanded_from_xacro=False))
    for k, joint in enumerate(robot.joint_names):
        assert described_dynamics(reloaded, 'damping')[k] == closest[joint].damping
        assert described_dynamics(reloaded, 'friction')[k] == closest[joint].friction
    kind = 'An MJCF' if robot.description.format == 'mjcf' else 'A URDF'
    (note,) = [note for note in export.notes if 'friction laws' in note]
    assert note.startswith(f'{kind} has no place for the friction laws of "{robot.joint_names[0]}"')
    assert 'closest to them over the fitted motion are written' in note
    assert not any('power_friction' in note or 'smoothing' in note for note in export.notes)
    # Over the motion, its torques are as near to the law's as the note says.
    plain = TorqueModel(reloaded, [ViscousFriction(), CoulombFriction()])
    off = plain.torque(plain.parameters.values, *motion) - model.torque(parameters.values, *motion)
    frictionless = parameters.with_values({
        name: 0.0 for name in parameters.names if name.endswith('_friction')}).values
    size = model.torque(parameters.values, *motion) - model.torque(frictionless, *motion)
    for k, joint in enumerate(robot.joint_names):
        error = np.linalg.norm(off[:, k]) / np.linalg.norm(size[:, k])
        assert error == pytest.approx(closest[joint].error, rel=1e-6)
        assert 0.0 < error < 0.2


def test_an_export_with_another_pair_is_refused(robot):
    model, parameters, motion = law(robot)
    closest = closest_frictions(model, parameters.values, *motion)
    export = export_description(robot, parameters, closest)
    other = closest | {robot.joint_names[0]: ClosestFriction(3.0, 0.0, 0.1)}
    with pytest.raises(ReleaseError, match='not the identified one'):
        verify_export(robot, parameters, export, closest=other)


def test_plain_friction_is_written_as_before(robot):
    model = TorqueModel(robot, [ViscousFriction(), CoulombFriction()])
    joint = robot.joint_names[0]
    parameters = model.parameters.with_values({f'{joint}.viscous_friction': 0.123456789})
    motion = np.random.default_rng(0).normal(size=(3, 50, len(robot.joint_names)))
    closest = closest_frictions(model, parameters.values, *motion)
    export = export_description(robot, parameters, closest)
    assert export.xml == export_description(robot, parameters).xml
    assert b'damping="0.123456789"' in export.xml
