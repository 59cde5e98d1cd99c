"""The identified robot as USD physics, as Isaac Sim and others read it: bodies, joints, drives.

Every moving body is a rigid body with the joint that carries it; links that are fixed to one
another are one. Shapes are in no robot model and not written: a file that has them can reference
this one. Schemas of simulators are written beside those of UsdPhysics, which has no armature and no
friction: those of PhysX's joint axes, of Newton's joints and of MuJoCo's.

References:
    UsdPhysics, https://openusd.org/release/api/usd_physics_page_front.html
    PhysxJointAxisAPI, Omni Physics developer guide, "Physx Joint Schema"
    NewtonJointAPI, newton-usd-schemas 0.4
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin

from sysid_ros.errors import ReleaseError
from sysid_ros.release.drive_table import DriveTable, JointDrive, wrapped
from sysid_ros.release.plain_tree import carrier_of, link_inertia, require_plain_tree
from sysid_ros.robot.description.numbers import written_numbers

# Terms of a joint with a place in the schemas of simulators.
_HELD = ('viscous_friction', 'coulomb_friction', 'armature')
_AXES = ('X', 'Y', 'Z')
# Degrees that USD counts angles in.
_DEGREES = 180.0 / np.pi


def usd_physics(table: DriveTable) -> str:
    """USD physics with the identified inertias, joints and drives of a robot, its base held.

    Args:
        table: Its drives, with its parameters.

    Returns:
        The text of a ``.usda``; numbers are single precision, as UsdPhysics has them.

    Raises:
        ReleaseError: usd-core is not installed; joints follow others, close loops, come several on
            a body or carry the base; or a body is not consistent.
    """
    require_plain_tree(table.robot, 'USD physics', "Isaac Sim's importer converts a URDF")
    try:
        from pxr import Usd, UsdGeom, UsdPhysics
    except ImportError as error:
        raise ReleaseError(
            f'usd-core, which writes USD, was not found: {error}',
            fix='Install it: pip install "sysid_ros[usd]", or pip install usd-core') from error
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
    UsdPhysics.SetStageKilogramsPerUnit(stage, 1.0)
    stage.GetRootLayer().documentation = _comment(table)
    _Robot(stage, table).write()
    return str(stage.GetRootLayer().ExportToString())


class _Robot:
    """Writes a robot into a stage.

    Args:
        stage: The stage.
        table: The drives.
    """

    def __init__(self, stage: Any, table: DriveTable) -> None:
        self._stage, self._table, self._robot = stage, table, table.robot
        self._root = '/' + _identifiers([table.robot.name])[0]
        links = [table.robot.base_name, *table.robot.body_names]
        self._links = {
            name: f'{self._root}/{word}'
            for name, word in zip(links, _identifiers(links, taken=('joints',)), strict=True)}
        joints = [drive.joint for drive in table.drives]
        self._joints = dict(zip(joints, _identifiers(joints, taken=('held_base',)), strict=True))

    def write(self) -> None:
        """Write links, joints and drives."""
        from pxr import UsdGeom, UsdPhysics

        root = UsdGeom.Xform.Define(self._stage, self._root).GetPrim()
        root.SetDisplayName(self._robot.name)
        self._stage.SetDefaultPrim(root)
        UsdPhysics.ArticulationRootAPI.Apply(root)
        base = self._link(self._robot.base_name, np.eye(4))
        if self._robot.base_inertial[0] > 0.0:
            _write_inertia(base, self._robot.base_name, self._robot.base_inertial)
        held = UsdPhysics.FixedJoint.Define(self._stage, f'{self._root}/joints/held_base')
        held.CreateBody1Rel().SetTargets([self._links[self._robot.base_name]])
        poses = [np.eye(4)]
        for body, drive in enumerate(self._table.drives):
            tree, name = self._robot.tree, self._robot.body_names[body]
            poses.append(poses[tree.parent[body] + 1] @ _pose(
                tree.rotation[body], tree.translation[body]))
            _write_inertia(
                self._link(name, poses[-1]), name, self._table.parameters.inertial(name))
            self._joint(body, drive)

    def _link(self, name: str, pose: np.ndarray) -> Any:
        """A rigid body where it is at the joints' zero."""
        from pxr import Gf, UsdGeom, UsdPhysics

        link = UsdGeom.Xform.Define(self._stage, self._links[name])
        link.GetPrim().SetDisplayName(name)
        link.AddTranslateOp().Set(Gf.Vec3d(*map(float, pose[:3, 3])))
        link.AddOrientOp(UsdGeom.XformOp.PrecisionDouble).Set(Gf.Quatd(*_quaternion(pose[:3, :3])))
        UsdPhysics.RigidBodyAPI.Apply(link.GetPrim())
        return link.GetPrim()

    def _joint(self, body: int, drive: JointDrive) -> None:
        """A joint with its limits, friction and drive."""
        from pxr import Gf, UsdPhysics

        tree, slides = self._robot.tree, self._robot.joint_types[body] == 'prismatic'
        schema = UsdPhysics.PrismaticJoint if slides else UsdPhysics.RevoluteJoint
        joint = schema.Define(self._stage, f'{self._root}/joints/{self._joints[drive.joint]}')
        joint.GetPrim().SetDisplayName(drive.joint)
        joint.CreateBody0Rel().SetTargets([self._links[carrier_of(self._robot, body)]])
        joint.CreateBody1Rel().SetTargets([self._links[self._robot.body_names[body]]])
        axis, turned = _axis(tree.axis[body])
        joint.CreateAxisAttr(axis)
        joint.CreateLocalPos0Attr(Gf.Vec3f(*map(float, tree.translation[body])))
        joint.CreateLocalRot0Attr(Gf.Quatf(*_quaternion(tree.rotation[body] @ turned)))
        joint.CreateLocalPos1Attr(Gf.Vec3f(0.0))
        joint.CreateLocalRot1Attr(Gf.Quatf(*_quaternion(turned)))
        per = 1.0 if slides else _DEGREES
        if np.isfinite(drive.lower):
            joint.CreateLowerLimitAttr(drive.lower * per)
        if np.isfinite(drive.upper):
            joint.CreateUpperLimitAttr(drive.upper * per)
        _write_drive(joint.GetPrim(), drive, 'linear' if slides else 'angular', per)


def _write_inertia(prim: Any, name: str, phi: np.ndarray) -> None:
    """Mass, centre of mass and principal moments of a link."""
    from pxr import Gf, UsdPhysics

    mass, com, inertia = link_inertia(name, phi)
    moments, axes = np.linalg.eigh(inertia)
    axes[:, 2] *= np.sign(np.linalg.det(axes))
    api = UsdPhysics.MassAPI.Apply(prim)
    api.CreateMassAttr(mass)
    api.CreateCenterOfMassAttr(Gf.Vec3f(*map(float, com)))
    api.CreateDiagonalInertiaAttr(Gf.Vec3f(*map(float, moments)))
    api.CreatePrincipalAxesAttr(Gf.Quatf(*_quaternion(axes)))


def _write_drive(prim: Any, drive: JointDrive, kind: str, per: float) -> None:
    """Gains and limits of a drive; armature and friction as PhysX, Newton and MuJoCo have them.

    Args:
        prim: The joint.
        drive: Its drive.
        kind: ``angular`` or ``linear``.
        per: Units of position in one radian or metre.
    """
    from pxr import Sdf, UsdPhysics

    api = UsdPhysics.DriveAPI.Apply(prim, kind)
    api.CreateTypeAttr('force')
    api.CreateStiffnessAttr(drive.stiffness / per)
    api.CreateDampingAttr(drive.damping / per)
    if np.isfinite(drive.effort_limit):
        api.CreateMaxForceAttr(drive.effort_limit)
    passive = {
        f'PhysxJointAxisAPI:{kind}': (f'physxJointAxis:{kind}', {
            'armature': drive.armature, 'staticFrictionEffort': drive.coulomb_friction,
            'dynamicFrictionEffort': drive.coulomb_friction,
            'viscousFrictionCoefficient': drive.viscous_friction / per,
            'maxJointVelocity': drive.velocity_limit * per}),
        'NewtonJointAPI': ('newton', {
            'armature': drive.armature, 'friction': drive.coulomb_friction,
            'damping': drive.viscous_friction / per, 'velocityLimit': drive.velocity_limit * per}),
        'MjcJointAPI': ('mjc', {
            'armature': drive.armature, 'frictionloss': drive.coulomb_friction,
            'damping': drive.viscous_friction})}
    # MuJoCo's attributes are double and uniform, the others' are neither.
    types = {'mjc': (Sdf.ValueTypeNames.Double, Sdf.VariabilityUniform)}
    for schema, (prefix, values) in passive.items():
        prim.AddAppliedSchema(schema)
        kind_of = types.get(prefix, (Sdf.ValueTypeNames.Float, Sdf.VariabilityVarying))
        for word, value in values.items():
            if np.isfinite(value):
                prim.CreateAttribute(
                    f'{prefix}:{word}', kind_of[0], False, kind_of[1]).Set(value)


def _pose(rotation: np.ndarray, translation: np.ndarray) -> np.ndarray:
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = rotation, translation
    return pose


def _axis(axis: np.ndarray) -> tuple[str, np.ndarray]:
    """The axis of a joint that USD names, and the rotation that takes it to the axis sought."""
    for word, unit in zip(_AXES, np.eye(3), strict=True):
        if np.array_equal(axis, unit):
            return word, np.eye(3)
    turn = pin.Quaternion.FromTwoVectors(np.array([1.0, 0.0, 0.0]), np.asarray(axis, dtype=float))
    return 'X', turn.toRotationMatrix()


def _quaternion(rotation: np.ndarray) -> tuple[float, float, float, float]:
    """Quaternion of a rotation, its real part first."""
    x, y, z, w = pin.Quaternion(rotation).coeffs()
    return float(w), float(x), float(y), float(z)


def _identifiers(names: list[str], taken: tuple[str, ...] = ()) -> list[str]:
    """Names as USD allows them, each another one."""
    from pxr import Tf

    found: list[str] = []
    for name in names:
        word = own = Tf.MakeValidIdentifier(name)
        number = 2
        while word in found or word in taken:
            word, number = f'{own}_{number}', number + 1
        found.append(word)
    return found


def _comment(table: DriveTable) -> str:
    lines = [
        f'Physics of the robot "{table.robot.name}", {table.source}, in [kg], [m], [deg] and [s], '
        'without shapes; its base is held by the joint held_base.',
        f'Gravity of the scene has to be {written_numbers(table.robot.gravity)}.',
        'Armature and friction are those of PhysX (PhysxJointAxisAPI, Isaac Sim from 5.0 on), of '
        'Newton (NewtonJointAPI) and of MuJoCo (MjcJointAPI).']
    left = [f'- {line}' for line in (*table.command_gains(), *table.left_out(_HELD))]
    lines += ['What has no place here:', *left] if left else ['Nothing is left out.']
    return '\n'.join(part for line in lines for part in wrapped(line))
