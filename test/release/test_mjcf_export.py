"""Exports of MJCF: byte for byte the same but for what was identified, and MuJoCo agrees."""

from __future__ import annotations

import difflib

import numpy as np
import pytest

from sysid_ros.errors import ReleaseError
from sysid_ros.mechanics.joint_terms.terms import (
    Armature,
    CoulombFriction,
    Stiffness,
    ViscousFriction,
)
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.release.description_export import (
    DescriptionExport,
    export_description,
    verify_export,
    write_description,
)
from sysid_ros.robot.inertia import inertial_parameters
from sysid_ros.robot.model import RobotModel

mujoco = pytest.importorskip('mujoco')

ARM = """\
<?xml version='1.0'?>
<!-- A comment that stays. -->
<mujoco model="arm">
  <compiler angle="radian"   autolimits="true"/>
  <default><joint damping="0.2"/><geom density="800"/></default>
  <worldbody>
    <light pos="0 0 3"/>
    <body name="upper" pos="0 0 0.3">
      <joint name="shoulder" axis='0 1 0' range="-2 2"  frictionloss="0.3" />
      <inertial pos="0.02 0 0.12" quat="1 1 0 0" mass="1.5" diaginertia="0.012 0.012 0.002"/>
      <body name="fore" pos="0 0 0.25">
        <joint name="elbow" axis="0 1 0" pos="0.01 0 0.02" armature="0.05" stiffness="2"/>
        <geom type="capsule" size="0.03" fromto="0 0 0 0 0 0.2"/>
        <body name="hand" pos="0 0 0.2"><geom type="box" size="0.02 0.04 0.05"/></body>
      </body>
    </body>
  </worldbody>
</mujoco>
"""
TERMS = (ViscousFriction(), CoulombFriction(), Armature())


def shifted(robot, factor=1.3, **terms):
    """Parameters of a robot whose bodies are heavier than described."""
    parameters = TorqueModel(robot, TERMS).parameters
    values = {
        name: factor * value for name, value in zip(
            parameters.names, parameters.values, strict=True
        ) if name.split('.')[0] in robot.body_names
    }
    return parameters.with_values({**values, **terms})


def check_in_mujoco(robot, parameters, xml):
    """MuJoCo's torques of an export are the identified ones; returns its model and joint order."""
    model = mujoco.MjModel.from_xml_string(xml.decode())
    data = mujoco.MjData(model)
    order = [model.joint(name).id for name in robot.joint_names]
    q, v, a = np.random.default_rng(0).normal(size=(3, 10, len(robot.joint_names)))
    found = np.empty(v.shape)
    for k in range(len(v)):
        data.qpos[order], data.qvel[order] = q[k], v[k]
        mujoco.mj_fwdPosition(model, data)
        mujoco.mj_fwdVelocity(model, data)
        data.qacc[order] = a[k]
        mujoco.mj_rne(model, data, 1, found[k])
    theta = np.concatenate([parameters.inertial(body) for body in robot.body_names])
    expected = TorqueModel(robot).torque(theta, q, v, a)
    np.testing.assert_allclose(found[:, order], expected, atol=1e-9)
    return model, order


def test_only_inertias_and_joint_terms_change(tmp_path):
    robot = RobotModel.from_mjcf(ARM)
    parameters = shifted(robot, **{
        'shoulder.viscous_friction': 0.7, 'shoulder.coulomb_friction': 0.4,
        'elbow.armature': 0.08, 'shoulder.armature': 0.02,
    })
    export = write_description(tmp_path / 'out.xml', robot, parameters)
    assert (tmp_path / 'out.xml').read_bytes() == export.xml
    assert export.links == ('upper', 'fore') and export.joints == ('shoulder', 'elbow')
    removed = [
        line[2:] for line in difflib.ndiff(ARM.splitlines(), export.xml.decode().splitlines())
        if line.startswith('- ')
    ]
    assert [line.split()[0] for line in removed] == ['<joint', '<inertial', '<joint']
    model, order = check_in_mujoco(robot, parameters, export.xml)
    np.testing.assert_allclose(model.dof_damping[order], [0.7, 0.2])
    np.testing.assert_allclose(model.dof_frictionloss[order], [0.4, 0.0])
    np.testing.assert_allclose(model.dof_armature[order], [0.02, 0.08])
    # The hand keeps the inertia of its geom, and its geom.
    assert b'<geom type="box" size="0.02 0.04 0.05"/></body>' in export.xml
    assert model.body('hand').mass == pytest.approx(800 * 8 * 0.02 * 0.04 * 0.05)


@pytest.mark.parametrize('seed', range(12))
def test_mujoco_gives_the_identified_torques_on_random_models(random_mjcf, seed):
    robot = RobotModel.from_mjcf(random_mjcf(seed, 6))
    parameters = shifted(robot)
    export = export_description(robot, parameters)
    assert verify_export(robot, parameters, export) < 1e-9
    check_in_mujoco(robot, parameters, export.xml)


def test_nothing_identified_changes_nothing():
    robot = RobotModel.from_mjcf(ARM)
    assert export_description(robot, TorqueModel(robot, TERMS).parameters).xml == ARM.encode()


def test_where_geoms_were_to_win_every_body_gets_its_own_inertial():
    geom = '<geom size="0.1"/><body name="upper2"><geom size="0.05"/></body>'
    text = ARM.replace('autolimits="true"', 'autolimits="true" inertiafromgeom="true"').replace(
        'diaginertia="0.012 0.012 0.002"/>', f'diaginertia="0.012 0.012 0.002"/>{geom}')
    robot = RobotModel.from_mjcf(text)
    parameters = TorqueModel(robot).parameters
    only_fore = parameters.with_values({'fore.mass': parameters['fore.mass'] + 0.1})
    export = export_description(robot, only_fore)
    assert export.links == ('fore',) and b'inertiafromgeom="auto"' in export.xml
    verify_export(robot, only_fore, export)
    check_in_mujoco(robot, only_fore, export.xml)


def test_a_body_that_gets_no_remainder_does_not_fall_back_to_its_geoms():
    robot = RobotModel.from_mjcf(ARM)
    light = inertial_parameters(0.05, np.array([0.0, 0.0, 0.1]), np.diag([1e-4, 1e-4, 2e-5]))
    block = TorqueModel(robot).parameters
    values = block.values.copy()
    values[block.body_slice('fore')] = light
    parameters = block.with_values(values)
    export = export_description(robot, parameters)
    assert 'gets all of it and link "hand" none' in ' '.join(export.notes)
    model, _ = check_in_mujoco(robot, parameters, export.xml)
    assert model.body('hand').mass == 0.0
    assert model.body('fore').mass == pytest.approx(0.05)


def test_bounds_that_would_change_the_numbers_are_refused():
    text = ARM.replace('autolimits="true"', 'boundmass="1.0"')
    robot = RobotModel.from_mjcf(text)
    with pytest.raises(ReleaseError, match="body \"upper\": the compiler's boundmass"):
        export_description(robot, shifted(robot, 0.5))


def test_what_an_mjcf_export_does_not_write_is_said():
    robot = RobotModel.from_mjcf(ARM)
    parameters = TorqueModel(robot, (Stiffness(),)).parameters
    export = export_description(robot, parameters.with_values({'elbow.stiffness': 3.0}))
    assert export.xml == ARM.encode()
    assert export.notes == (
        'An MJCF has no place for "elbow.stiffness": the YAML export holds it.',)


def test_verification_fails_where_the_bytes_say_something_else():
    robot = RobotModel.from_mjcf(ARM)
    parameters = shifted(robot, **{'elbow.armature': 0.08})
    export = export_description(robot, parameters)
    for old, new, message in (
        (b'mass="1.95', b'mass="1.96', 'does not reproduce the torques'),
        (b'armature="0.08"', b'armature="0.09"', 'joint "elbow": the exported friction or'),
    ):
        assert old in export.xml
        other = export.xml.replace(old, new)
        with pytest.raises(ReleaseError, match=message):
            verify_export(robot, parameters, DescriptionExport(other, '', (), (), ()))


def test_friction_of_coupled_joints_is_written_once():
    equality = '<equality><joint joint1="elbow" joint2="shoulder" polycoef="0 -2"/></equality>'
    robot = RobotModel.from_mjcf(ARM.replace('</worldbody>', f'</worldbody>{equality}'))
    parameters = TorqueModel(robot, TERMS).parameters
    assert parameters['shoulder.viscous_friction'] == pytest.approx(0.2 + 4 * 0.2)
    assert parameters['shoulder.armature'] == pytest.approx(4 * 0.05)
    changed = parameters.with_values({'shoulder.viscous_friction': 0.5, 'shoulder.armature': 0.1})
    export = export_description(robot, changed)
    verify_export(robot, changed, export)
    model = mujoco.MjModel.from_xml_string(export.xml.decode())
    np.testing.assert_array_equal(model.dof_damping, [0.5, 0.0])
    np.testing.assert_array_equal(model.dof_armature, [0.1, 0.0])


def test_a_spring_and_damper_made_out_of_the_inertia_keeps_what_it_was():
    text = ARM.replace('armature="0.05" stiffness="2"', 'springdamper="0.1 0.7"')
    robot = RobotModel.from_mjcf(text)
    elbow = robot.described_joints['elbow']
    assert min(elbow.stiffness, elbow.damping) > 0.0
    heavier = shifted(robot)
    export = export_description(robot, heavier)
    verify_export(robot, heavier, export)
    model, order = check_in_mujoco(robot, heavier, export.xml)
    assert model.jnt_stiffness[order[1]] == elbow.stiffness
    assert model.dof_damping[order[1]] == elbow.damping
    damped = shifted(robot, **{'elbow.viscous_friction': 0.9})
    again = RobotModel.from_mjcf(export_description(robot, damped).xml.decode())
    assert again.described_joints['elbow'].damping == 0.9


def test_bodies_beyond_a_locked_joint_that_get_no_remainder_stay_loadable():
    robot = RobotModel.from_mjcf(ARM, locked_joints={'elbow': 0.3})
    block = TorqueModel(robot).parameters
    values = block.values.copy()
    values[block.body_slice('upper')] = inertial_parameters(
        0.05, np.array([0.0, 0.0, 0.1]), np.diag([1e-4, 1e-4, 2e-5]))
    parameters = block.with_values(values)
    export = export_description(robot, parameters)
    assert 'gets all of it and link "fore", link "hand" none' in ' '.join(export.notes)
    assert verify_export(robot, parameters, export) < 1e-9
    model = mujoco.MjModel.from_xml_string(export.xml.decode())
    assert model.body('fore').mass == 1e-12 and model.body('hand').mass == 0.0
