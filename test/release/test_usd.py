"""USD physics that is read again moves as the robot that was identified."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from support.drive_tables import ARM, FRICTION, LINK, table_of
from sysid_ros.errors import ReleaseError
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.release.drive_table import DriveTable
from sysid_ros.release.usd import usd_physics
from sysid_ros.robot.model import RobotModel

pxr = pytest.importorskip('pxr')
# UsdPhysics has single precision.
SINGLE = 3e-6


def stage_of(text):
    from pxr import Sdf, Usd

    layer = Sdf.Layer.CreateAnonymous('.usda')
    assert layer.ImportFromString(text)
    return Usd.Stage.Open(layer)


def rotation(quaternion):
    x, y, z = quaternion.GetImaginary()
    return pin.Quaternion(quaternion.GetReal(), x, y, z).normalized().toRotationMatrix()


def vector(value):
    return np.array([float(part) for part in value])


def read(stage):
    """Pinocchio's model of a stage, its joints by name, and the poses of links at zero."""
    from pxr import UsdGeom, UsdPhysics

    root = stage.GetDefaultPrim()
    assert root.HasAPI(UsdPhysics.ArticulationRootAPI)
    assert UsdGeom.GetStageMetersPerUnit(stage) == UsdPhysics.GetStageKilogramsPerUnit(stage) == 1.0
    assert UsdGeom.GetStageUpAxis(stage) == 'Z'
    model, joints, numbers, poses = pin.Model(), {}, {}, {}
    for prim in root.GetChild('joints').GetChildren():
        joint = UsdPhysics.Joint(prim)
        child, = joint.GetBody1Rel().GetTargets()
        poses[child] = np.array(UsdGeom.Xformable(
            stage.GetPrimAtPath(child)).ComputeLocalToWorldTransform(0)).T
        if prim.IsA(UsdPhysics.FixedJoint):
            assert not joint.GetBody0Rel().GetTargets()
            numbers[child] = 0
            continue
        joints[prim.GetDisplayName()] = prim
        parent, = joint.GetBody0Rel().GetTargets()
        assert not any(joint.GetLocalPos1Attr().Get())
        slides = prim.IsA(UsdPhysics.PrismaticJoint)
        schema = UsdPhysics.PrismaticJoint if slides else UsdPhysics.RevoluteJoint
        own = rotation(joint.GetLocalRot1Attr().Get())
        axis = own @ np.eye(3)['XYZ'.index(schema(prim).GetAxisAttr().Get())]
        kind = pin.JointModelPrismaticUnaligned if slides else pin.JointModelRevoluteUnaligned
        numbers[child] = model.addJoint(
            numbers[parent], kind(axis / np.linalg.norm(axis)), pin.SE3(
                rotation(joint.GetLocalRot0Attr().Get()) @ own.T,
                vector(joint.GetLocalPos0Attr().Get())), prim.GetDisplayName())
        mass = UsdPhysics.MassAPI(stage.GetPrimAtPath(child))
        turned = rotation(mass.GetPrincipalAxesAttr().Get())
        inertia = turned @ np.diag(vector(mass.GetDiagonalInertiaAttr().Get())) @ turned.T
        model.appendBodyToJoint(numbers[child], pin.Inertia(
            mass.GetMassAttr().Get(), vector(mass.GetCenterOfMassAttr().Get()),
            0.5 * (inertia + inertia.T)), pin.SE3.Identity())
    return model, joints, [poses[path] for path in numbers]


@pytest.fixture
def robot(tmp_path):
    (tmp_path / 'arm.urdf').write_text(ARM.format(LINK, ''))
    return RobotModel.from_urdf(tmp_path / 'arm.urdf')


def test_torques_of_the_stage_that_is_read_again_are_the_identified_ones(robot):
    table = table_of(robot)
    model, _, _ = read(stage_of(usd_physics(table)))
    expected = pin.Model(robot.pinocchio_model)
    for body in robot.body_names:
        expected.inertias[robot.joint_of_body(body)] = pin.Inertia.FromDynamicParameters(
            table.parameters.inertial(body))
    data, other, rng = model.createData(), expected.createData(), np.random.default_rng(0)
    for _ in range(20):
        q, v, a = rng.normal(size=(3, 3))
        torque = pin.rnea(expected, other, q, v, a)
        np.testing.assert_allclose(
            pin.rnea(model, data, q, v, a), torque, atol=SINGLE * np.abs(torque).max())


def test_links_stand_where_joints_at_zero_put_them(robot):
    _, _, (base, *poses) = read(stage_of(usd_physics(table_of(robot))))
    model, data = robot.pinocchio_model, robot.pinocchio_model.createData()
    pin.forwardKinematics(model, data, np.zeros(model.nq))
    np.testing.assert_array_equal(base, np.eye(4))
    for body, pose in zip(robot.body_names, poses, strict=True):
        np.testing.assert_allclose(
            pose, data.oMi[robot.joint_of_body(body)].homogeneous, atol=1e-12)


def test_limits_gains_armature_and_friction_come_back_in_their_units(robot):
    stage = stage_of(usd_physics(table_of(robot)))
    _, joints, _ = read(stage)

    def said(joint, name):
        value = joints[joint].GetAttribute(name).Get()
        return None if value is None else float(value)

    def assert_said(joint, **expected):
        for name, value in expected.items():
            assert said(joint, name.replace('__', ':')) == pytest.approx(value, rel=1e-6), name

    degrees = 180.0 / np.pi
    assert_said(
        'shoulder', physics__lowerLimit=-degrees, physics__upperLimit=2.0 * degrees,
        drive__angular__physics__stiffness=40.0 / degrees,
        drive__angular__physics__damping=1.5 / degrees,
        # The limit of the drive goes before that of the description.
        drive__angular__physics__maxForce=20.0,
        physxJointAxis__angular__maxJointVelocity=3.0 * degrees,
        newton__velocityLimit=3.0 * degrees)
    assert_said('slide', physics__lowerLimit=0.0, physics__upperLimit=0.3,
                drive__linear__physics__maxForce=80.0, physxJointAxis__linear__maxJointVelocity=1.0)
    assert_said('elbow', physxJointAxis__angular__armature=0.07,
                newton__armature=0.07, mjc__armature=0.07)
    # A joint without limits has none: neither zeros nor the largest numbers there are.
    assert not joints['elbow'].GetAttribute('physics:lowerLimit').HasAuthoredValue()
    assert not joints['elbow'].GetAttribute('drive:angular:physics:maxForce').HasAuthoredValue()
    for joint, (damping, friction) in FRICTION.items():
        axis, per = ('linear', 1.0) if joint == 'slide' else ('angular', degrees)
        assert_said(joint, **{
            'newton__damping': damping / per, 'newton__friction': friction,
            'mjc__damping': damping, 'mjc__frictionloss': friction,
            f'physxJointAxis__{axis}__staticFrictionEffort': friction,
            f'physxJointAxis__{axis}__dynamicFrictionEffort': friction,
            f'physxJointAxis__{axis}__viscousFrictionCoefficient': damping / per})
        assert {f'PhysxJointAxisAPI:{axis}', 'NewtonJointAPI', 'MjcJointAPI'} <= set(
            joints[joint].GetMetadata('apiSchemas').GetAppliedItems())


def test_what_usd_cannot_hold_is_said_in_its_documentation(robot):
    head = ' '.join(
        stage_of(usd_physics(table_of(robot))).GetRootLayer().documentation.split())
    for said in ('command.delay: 0.006 s', 'run 7', '0.0 0.0 -9.8'):
        assert said in head
    for held in ('armature: 0.07', 'viscous_friction', 'stiffness'):
        assert held not in head


def test_names_that_usd_does_not_allow_are_shown_as_they_are(tmp_path):
    text = ARM.format(LINK, '').replace('"upper"', '"link 1"').replace('"fore"', '"link-1"')
    (tmp_path / 'arm.urdf').write_text(text.replace('"elbow"', '"held_base"'))
    robot = RobotModel.from_urdf(tmp_path / 'arm.urdf')
    parameters = TorqueModel(robot, []).parameters
    stage = stage_of(usd_physics(DriveTable.of(robot, parameters, 'run 7', {})))
    root = stage.GetDefaultPrim()
    links = {link.GetDisplayName(): link.GetName() for link in root.GetChildren()}
    assert {'link 1', 'link-1'} <= set(links)
    assert links['link 1'] != links['link-1']
    joints = root.GetChild('joints').GetChildren()
    assert len({joint.GetName() for joint in joints}) == 4
    assert 'held_base' in {joint.GetDisplayName() for joint in joints}


def test_joints_that_follow_others_are_refused(tmp_path):
    (tmp_path / 'arm.urdf').write_text(ARM.format(LINK, '').replace(
        '<axis xyz="0.6 0 0.8"/>', '<axis xyz="0.6 0 0.8"/><mimic joint="shoulder"/>'))
    robot = RobotModel.from_urdf(tmp_path / 'arm.urdf')
    table = DriveTable.of(robot, TorqueModel(robot, []).parameters, 'run 7', {})
    with pytest.raises(ReleaseError, match=r'joints that follow others.*sysid export RUN -o'):
        usd_physics(table)


def test_without_usd_core_it_is_said_what_to_install(robot, monkeypatch):
    monkeypatch.setitem(__import__('sys').modules, 'pxr', None)
    with pytest.raises(ReleaseError, match='pip install'):
        usd_physics(table_of(robot))
