"""The exported URDF differs in what was identified, and only there; reloaded, it is the robot."""

from __future__ import annotations

import difflib
import itertools

import mujoco
import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sysid_ros.errors import ReleaseError
from sysid_ros.mechanics.joint_terms.terms import Armature, CoulombFriction, ViscousFriction
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.release.description_export import (
    TORQUE_TOLERANCE,
    DescriptionExport,
    export_description,
    verify_export,
    write_description,
)
from sysid_ros.robot.inertia import inertial_parameters, is_consistent
from sysid_ros.robot.model import RobotModel

TERMS = (ViscousFriction(), CoulombFriction(), Armature())
LOWER = (
    '<link name="lower"><inertial><origin xyz="0 0 0.1"/><mass value="{}"/><inertia ixx="{}" '
    'ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>'
)

ARM = """<?xml version='1.0'?>
<!-- An arm with everything that must survive: quotes, <tags> in comments, entities. -->
<robot name='arm' xmlns:xacro="http://www.ros.org/wiki/xacro">
  <link name="base" />
  <link name="upper">
    <!-- from the CAD of March -->
    <inertial>
      <mass   value = '2.0'/><!-- weighed -->
      <inertia izz="0.03" ixx="0.01" iyy="0.02" ixy="0" ixz="0" iyz="0" ></inertia>
    </inertial>
    <visual><geometry><box size="1 1 1"/></geometry></visual>
  </link>
  <joint name="shoulder" type="continuous" note="&lt;&amp;&quot;">
    <parent link="base"/> <child link="upper"/>
    <axis xyz='0 1 0'/>
    <dynamics friction="0.1" damping='0.2' stiffness="9"/>
    <limit effort="5" velocity="5"/>
  </joint>
  <joint name="mount" type="fixed">
    <origin xyz="0.1 0 0.3" rpy="0.3 0.2 0.1"/>
    <parent link="upper"/><child link="tool"/>
  </joint>
  <link name="tool">
    <inertial>
      <mass value="0.5"/>
      <inertia ixx="0.001" ixy="0" ixz="0" iyy="0.001" iyz="0" izz="0.001"/>
    </inertial>
  </link>
  <joint name="elbow" type="revolute">
    <origin xyz="0 0 0.5"/>
    <parent link="upper"/><child link="lower"/><axis xyz="1 0 0"/>
    <limit lower="-1" upper="1" effort="5" velocity="5"/>
  </joint>
  <link name="lower"/>
  <ros2_control name="c" type="system"><joint name="elbow"/></ros2_control>
  <?keep this?>
</robot>
"""


def solid(mass: float, com: tuple[float, float, float], size: float = 0.2) -> np.ndarray:
    """A homogeneous ball."""
    return inertial_parameters(mass, np.array(com), 0.4 * mass * size**2 * np.eye(3))


def parameters_of(robot: RobotModel, bodies: dict[str, np.ndarray], **others: float):
    parameters = TorqueModel(robot, TERMS).parameters
    values = parameters.values.copy()
    for body, phi in bodies.items():
        values[parameters.body_slice(body)] = phi
    named = {name.replace('__', '.'): value for name, value in others.items()}
    return parameters.with_values(values).with_values(named)


def changed_lines(robot: RobotModel, export: DescriptionExport) -> tuple[list[str], list[str]]:
    old, new = robot.description.xml.decode(), export.xml.decode()
    lines = list(difflib.ndiff(old.splitlines(keepends=True), new.splitlines(keepends=True)))
    return tuple([line[2:].strip() for line in lines if line[0] == sign] for sign in '-+')


@pytest.fixture
def arm() -> RobotModel:
    return RobotModel.from_urdf(ARM)


def test_an_export_at_the_prior_is_the_same_file(arm):
    ball = solid(1.0, (0, 0, 0.1))
    first = export_description(arm, parameters_of(arm, {'lower': ball}))
    robot = RobotModel.from_urdf(first.xml.decode())
    again = export_description(robot, TorqueModel(robot, TERMS).parameters)
    assert again.xml == first.xml
    assert again.links == again.joints == ()


def test_only_the_identified_lines_differ(arm):
    parameters = parameters_of(
        arm, {'upper': arm.inertial_prior[0] + solid(0.5, (0, 0, 0.2)),
              'lower': solid(1.0, (0.0, 0.0, 0.125))},
        shoulder__viscous_friction=0.75, elbow__coulomb_friction=0.5,
    )
    export = export_description(arm, parameters)
    old, new = changed_lines(arm, export)
    assert old == [
        "<mass   value = '2.0'/><!-- weighed -->",
        '<inertia izz="0.03" ixx="0.01" iyy="0.02" ixy="0" ixz="0" iyz="0" ></inertia>',
        '<dynamics friction="0.1" damping=\'0.2\' stiffness="9"/>',
        '<link name="lower"/>',
    ]
    assert new[0].startswith('<origin xyz="0.0') and new[0].endswith(' rpy="0 0 0"/>')
    assert new[1] == "<mass   value = '2.5'/><!-- weighed -->"
    assert new[2].startswith('<inertia izz="0.0') and new[2].endswith('></inertia>')
    assert new[3] == '<dynamics friction="0.1" damping=\'0.75\' stiffness="9"/>'
    assert new[4] == '<dynamics friction="0.5"/>'
    assert new[5:8] == [
        '<link name="lower">', '<inertial>', '<origin xyz="0.0 0.0 0.125" rpy="0 0 0"/>']
    assert new[8:] == ['<mass value="1.0"/>', new[9], '</inertial>', '</link>']
    assert export.links == ('upper', 'lower')
    assert export.joints == ('shoulder', 'elbow')


def test_links_fixed_to_the_first_one_keep_their_values(arm):
    export = export_description(arm, parameters_of(
        arm, {'upper': arm.inertial_prior[0] + solid(0.5, (0, 0, 0.2)),
              'lower': solid(1.0, (0, 0, 0.1))}))
    reloaded = RobotModel.from_urdf(export.xml.decode())
    described = {link.name: link.inertial for link in arm.links}
    written = {link.name: link.inertial for link in reloaded.links}
    np.testing.assert_array_equal(written['tool'], described['tool'])
    np.testing.assert_allclose(
        written['upper'] - described['upper'], solid(0.5, (0, 0, 0.2)), atol=1e-15)
    assert any('"tool", link "upper" gets the remainder' in note for note in export.notes)


def test_the_first_link_gets_all_where_no_real_body_would_remain(arm):
    light = solid(0.4, (0, 0, 0.1))  # lighter than the tool alone
    parameters = parameters_of(arm, {'upper': light, 'lower': solid(1.0, (0, 0, 0.1))})
    export = export_description(arm, parameters)
    robot = RobotModel.from_urdf(export.xml.decode())
    written = {link.name: link.inertial for link in robot.links}
    np.testing.assert_allclose(written['upper'], light, atol=1e-15)
    assert not written['tool'].any()
    assert robot.description.root.find("link[@name='tool']/inertial") is None
    assert any('"tool" none, because no real body remains' in note for note in export.notes)
    assert verify_export(arm, parameters, export) < TORQUE_TOLERANCE


def test_a_fixed_link_with_an_impossible_inertia_is_emptied_and_named():
    robot = RobotModel.from_urdf(ARM.replace('<mass value="0.5"/>', '<mass value="-0.5"/>'))
    parameters = parameters_of(
        robot, {'upper': solid(2.0, (0, 0, 0.1)), 'lower': solid(1.0, (0, 0, 0.1))})
    export = export_description(robot, parameters)
    assert b'-0.5' not in export.xml
    assert any('"tool" belongs to no real body and is removed' in note for note in export.notes)
    assert verify_export(robot, parameters, export) < TORQUE_TOLERANCE


def test_links_beyond_a_locked_joint_keep_their_values_and_the_angle_is_said():
    text = ARM.replace('<link name="lower"/>', LOWER.format(1, 0.01))
    robot = RobotModel.from_urdf(text, locked_joints={'elbow': 0.5})
    parameters = parameters_of(robot, {'upper': robot.inertial_prior[0] + solid(1.0, (0, 0, 0.3))})
    export = export_description(robot, parameters)
    assert LOWER.format(1, 0.01).encode() in export.xml
    assert any('"elbow" at 0.5' in note for note in export.notes)
    assert verify_export(robot, parameters, export) < TORQUE_TOLERANCE


def test_what_a_urdf_cannot_hold_is_said(arm):
    export = export_description(arm, parameters_of(
        arm, {'lower': solid(1.0, (0, 0, 0.1))}, elbow__armature=0.3))
    assert 'A URDF has no place for "elbow.armature": the YAML export holds it.' in export.notes


def test_an_inertial_given_as_quaternion_or_twice_is_written_unambiguously():
    twice = '<inertial><origin quat_xyzw="0 0 0 1"/><mass value="1"/></inertial>'
    lower = LOWER.format(3, 0.01).replace('<inertial>', f'{twice}<inertial>')
    robot = RobotModel.from_urdf(ARM.replace('<link name="lower"/>', lower))
    parameters = parameters_of(robot, {'lower': solid(1.0, (0, 0, 0.1))})
    export = export_description(robot, parameters)
    assert b'quat' not in export.xml
    assert verify_export(robot, parameters, export) < TORQUE_TOLERANCE


def test_a_xacro_source_is_expanded_and_said(tmp_path):
    path = tmp_path / 'arm.xacro'
    path.write_text(ARM.replace("'2.0'", "'${1 + 1}'"))
    robot = RobotModel.from_urdf(path)
    export = export_description(robot, parameters_of(robot, {'lower': solid(1.0, (0, 0, 0.1))}))
    assert any('xacro' in note for note in export.notes)
    assert b'${' not in export.xml


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), joints=st.integers(1, 8), scale=st.floats(0.05, 3.0))
def test_any_identified_tree_reloads_with_the_same_torques(random_urdf, seed, joints, scale):
    robot = RobotModel.from_urdf(random_urdf(seed, joints, bare_frames=True))
    # Scaled down, the remainder of a body with fixed links is not a real body.
    bodies = dict(zip(robot.body_names, scale * robot.inertial_prior, strict=True))
    parameters = parameters_of(robot, bodies)
    export = export_description(robot, parameters)
    assert verify_export(robot, parameters, export) < TORQUE_TOLERANCE
    # Independent of RobotModel: Pinocchio's own loader on the bytes, against the regressor.
    model = pin.buildModelFromXML(export.xml.decode().replace('"continuous"', '"revolute"'))
    q, v, a = np.random.default_rng(seed).normal(size=(3, model.nv))
    phi = np.concatenate([bodies[name] for name in robot.body_names])
    expected = pin.computeJointTorqueRegressor(model, model.createData(), q, v, a) @ phi
    tau = pin.rnea(model, model.createData(), q, v, a)
    np.testing.assert_allclose(tau, expected, atol=1e-10)
    assert all(is_consistent(i.toDynamicParameters()) for i in list(model.inertias)[1:])


def test_mujoco_reads_the_export_as_the_same_robot(random_urdf):
    """An independent loader and an independent inverse dynamics."""
    robot = RobotModel.from_urdf(random_urdf(7, 6))
    bodies = dict(zip(robot.body_names, 0.7 * robot.inertial_prior, strict=True))
    export = export_description(robot, parameters_of(robot, bodies))
    model = mujoco.MjModel.from_xml_string(export.xml.decode())
    flags = mujoco.mjtDisableBit
    for name in ('mjDSBL_CONSTRAINT', 'mjDSBL_DAMPER', 'mjDSBL_SPRING'):
        model.opt.disableflags |= getattr(flags, name)
    data = mujoco.MjData(model)
    names = [model.joint(k).name for k in range(model.njnt)]
    order = [names.index(name) for name in robot.joint_names]
    rng = np.random.default_rng(7)
    q, v, a = rng.normal(size=(3, len(names)))
    data.qpos[order], data.qvel[order], data.qacc[order] = q, v, a
    mujoco.mj_inverse(model, data)
    tau = TorqueModel(robot).torque(
        np.concatenate([bodies[name] for name in robot.body_names]), q[None], v[None], a[None])
    np.testing.assert_allclose(data.qfrc_inverse[order], tau[0], atol=1e-8)


def test_verification_fails_where_the_bytes_say_something_else(arm):
    parameters = parameters_of(arm, {'lower': solid(1.0, (0, 0, 0.1))})
    export = export_description(arm, parameters)
    other = export.xml.replace(b'<mass value="1.0"/>', b'<mass value="1.00000001"/>')
    assert other != export.xml
    with pytest.raises(ReleaseError, match='does not reproduce the torques'):
        verify_export(arm, parameters, DescriptionExport(other, '', (), (), ()))
    other = export.xml.replace(b"damping='0.2'", b"damping='0.3'")
    with pytest.raises(ReleaseError, match='joint "shoulder": the exported friction or'):
        verify_export(arm, parameters, DescriptionExport(other, '', (), (), ()))


def test_writing_replaces_the_file_and_leaves_nothing_else(arm, tmp_path):
    path = tmp_path / 'identified.urdf'
    path.write_text('old')
    export = write_description(path, arm, parameters_of(arm, {'lower': solid(1.0, (0, 0, 0.1))}))
    assert path.read_bytes() == export.xml
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(('name', 'arguments'), [
    ('kuka_lwr4/kuka_lwr4.urdf', {}),
    ('staubli_tx40/tx40_mdh_modified.urdf', {}),
    ('furuta_pendulum/furuta_pendulum.urdf.xacro', {'use_sim': 'false', 'L1': '0.2'}),
])
def test_real_descriptions_change_in_inertial_and_dynamics_only(shared_data, name, arguments):
    robot = RobotModel.from_urdf(shared_data / name, xacro_arguments=arguments)
    parameters = TorqueModel(robot, TERMS).parameters
    parameters = parameters.with_values(1.1 * parameters.values + 0.125 * np.array(
        [name.endswith('friction') for name in parameters.names]))
    export = export_description(robot, parameters)
    assert verify_export(robot, parameters, export) < TORQUE_TOLERANCE
    lines = itertools.chain(*changed_lines(robot, export))
    assert {line.split()[0] for line in lines} <= {'<mass', '<origin', '<inertia', '<dynamics'}
    assert len(export.links) == len(robot.body_names)
