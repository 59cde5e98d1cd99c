"""Public robots moved by Pinocchio's and MuJoCo's own dynamics, read by their own loaders."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import mujoco
import numpy as np
import pinocchio as pin

from sysid_ros.robot.inertia import central_inertia, transform_inertial
from sysid_ros.robot.model import RobotModel


class UrdfPlant:
    """A URDF in Pinocchio, loaded without this package; joints that mimic others follow them.

    Args:
        xml: The URDF.
        robot: The robot, whose names of bodies and joints count.
    """

    gravity = np.array([0.0, 0.0, -9.81])

    def __init__(self, xml: str, robot: RobotModel) -> None:
        self._robot, self.names = robot, robot.joint_names
        self._model = pin.buildModelFromXML(xml)
        self._data = self._model.createData()
        self._follow = _mimics(xml)

    def set_inertials(self, inertials: np.ndarray) -> None:
        """Give every moving body its inertial parameters, shape ``(b, 10)``."""
        for name in set(self.joints) - set(self._robot.pinocchio_model.names):
            # Part of the body that carries it.
            self._model.inertias[self._model.getJointId(name)] = pin.Inertia.Zero()
        for body, phi in zip(self._robot.body_names, inertials, strict=True):
            name = self._robot.pinocchio_model.names[self._robot.joint_of_body(body)]
            inertia = pin.Inertia.FromDynamicParameters(phi)
            self._model.inertias[self._model.getJointId(name)] = inertia

    def torque(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Rigid-body torques, shape ``(T, n)``."""
        model, joints = self._model, range(1, self._model.njoints)
        pairs = [self.coupling(model.names[k]) for k in joints]
        rows, offset = np.array([row for row, _ in pairs]), np.array([shift for _, shift in pairs])
        found = np.empty_like(q)
        for t in range(len(q)):
            positions = rows @ q[t] + offset
            full = np.concatenate([
                [np.cos(x), np.sin(x)] if model.joints[k].nq == 2 else [x]
                for k, x in zip(joints, positions, strict=True)])
            found[t] = pin.rnea(model, self._data, full, rows @ v[t], rows @ a[t]) @ rows
        return found

    @property
    def joints(self) -> list[str]:
        """All joints, also those that follow others or are locked."""
        return list(self._model.names)[1:]

    def coupling(self, name: str) -> tuple[np.ndarray, float]:
        """How a joint follows the independent ones, ``(n,)``, and its position at their zero."""
        ratio, shift, row = 1.0, 0.0, np.zeros(len(self.names))
        held = self._robot.locked_joints
        while name in self._follow and name not in held:
            name, factor, add = self._follow[name]
            shift += ratio * add
            ratio *= factor
        if name in self.names:
            row[self.names.index(name)] = ratio
            return row, shift
        return row, shift + ratio * held.get(name, 0.0)


def _mimics(xml: str) -> dict[str, tuple[str, float, float]]:
    found = {}
    for joint in ET.fromstring(xml).findall('joint'):
        mimic = joint.find('mimic')
        if mimic is not None and joint.get('type') != 'fixed':
            found[joint.get('name', '')] = (
                mimic.get('joint', ''), float(mimic.get('multiplier', '1')),
                float(mimic.get('offset', '0')))
    return found


class MjcfPlant:
    """An MJCF in MuJoCo, with inverse dynamics of its own; equalities hold to what they say.

    Args:
        spec: MuJoCo's specification of it.
        robot: The robot, whose names of bodies and joints count.
        free_joint: The joint that leaves its base free, empty for none.
    """

    def __init__(self, spec: mujoco.MjSpec, robot: RobotModel, free_joint: str) -> None:
        self._robot, self._spec = robot, spec
        spec.compiler.fusestatic = False
        own = robot.description.compiled.model
        self._ids = {own.body(k).name: k for k in range(own.nbody)}
        joints = {own.joint(k).name: k for k in range(own.njnt)}
        self._joints = [joints[name] for name in robot.described_joints if name in joints]
        self._held = {joints[name]: at for name, at in robot.locked_joints.items()}
        self._free = joints.get(free_joint)
        self._base = len(robot.base_joints)
        self._compile()

    @property
    def gravity(self) -> np.ndarray:
        """Gravity in [m/s²], shape ``(3,)``."""
        return self._model.opt.gravity

    def _compile(self) -> None:
        self._model = model = self._spec.compile()
        # What is no rigid body or no joint, and friction, which is put at the driven joints.
        model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
        model.opt.density = model.opt.viscosity = 0.0
        model.body_gravcomp[:], model.dof_damping[:] = 0.0, 0.0
        self._positions = model.jnt_qposadr[self._joints]
        self._degrees = model.jnt_dofadr[self._joints]
        self._data = mujoco.MjData(model)

    def set_inertials(self, inertials: np.ndarray) -> None:
        """Give every moving body its inertial parameters, shape ``(b, 10)``."""
        compiler, robot, bodies = self._spec.compiler, self._robot, self._spec.bodies
        compiler.inertiafromgeom = mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_AUTO
        compiler.settotalmass = -1.0
        compiler.boundmass = compiler.boundinertia = 0.0
        for name, phi in zip(robot.body_names, inertials, strict=True):
            if not phi[0]:
                continue
            first, *others = [link for link in robot.links if link.body == name]
            for link in others:
                # Next to none, where the body hangs on a joint that is locked.
                _write(bodies[self._ids[link.name]], 1e-12, np.zeros(3), 1e-14 * np.eye(3))
            local = transform_inertial(phi, np.linalg.inv(first.pose))
            _write(bodies[self._ids[first.name]], *central_inertia(local))
        self._compile()

    def without_springs(self) -> None:
        """Take springs and drive inertias out of all joints."""
        for joint in self._spec.joints:
            joint.armature, joint.stiffness = 0.0, 0.0 * joint.stiffness
            joint.springdamper = np.zeros(2)
        self._compile()

    def torque(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Torques with springs and drive inertias, shape ``(T, n)``; the base's wrench in front.

        Args:
            q: Positions of the joints; zeros for those of a floating base, shape ``(T, n)``.
            v: Velocities; of the base its turning in its axes.
            a: Accelerations; of the base those of its origin, without gravity.
        """
        model, data, base = self._model, self._data, self._base
        rows = self._robot.tree.coupling[base:, base:]
        offset = self._robot.tree.coupling_offset[base:]
        found = np.empty_like(q)
        for t in range(len(q)):
            data.qpos[:], data.qvel[:], data.qacc[:] = model.qpos0, 0.0, 0.0
            for joint, position in self._held.items():
                data.qpos[model.jnt_qposadr[joint]] = position
            data.qpos[self._positions] = rows @ q[t, base:] + offset
            data.qvel[self._degrees], data.qacc[self._degrees] = (
                rows @ v[t, base:], rows @ a[t, base:])
            if base:
                where, degree = model.jnt_qposadr[self._free], model.jnt_dofadr[self._free]
                data.qpos[where:where + 7] = [0, 0, 0, 1, 0, 0, 0]
                data.qvel[degree + 3:degree + 6] = v[t, 3:6]
                data.qacc[degree:degree + 6] = a[t, :6]
            mujoco.mj_inverse(model, data)
            found[t, base:] = data.qfrc_inverse[self._degrees] @ rows
            if base:
                found[t, :6] = data.qfrc_inverse[degree:degree + 6]
        return found


def _write(body: mujoco.MjsBody, mass: float, com: np.ndarray, inertia: np.ndarray) -> None:
    body.explicitinertial, body.mass, body.ipos = True, mass, com
    body.ialt.type = mujoco.mjtOrientation.mjORIENTATION_QUAT
    body.iquat = np.array([1.0, 0.0, 0.0, 0.0])
    body.inertia = np.zeros(3)
    body.fullinertia = inertia[(0, 1, 2, 0, 0, 1), (0, 1, 2, 1, 2, 2)]


def original_spec(path: Path) -> mujoco.MjSpec:
    """MuJoCo's own reading of a file, with all includes and meshes."""
    return mujoco.MjSpec.from_file(str(path))


def text_spec(xml: bytes, folder: Path) -> mujoco.MjSpec:
    """MuJoCo's reading of a text as if it lay in a folder."""
    spec = mujoco.MjSpec.from_string(xml.decode())
    spec.modelfiledir = str(folder)
    return spec


def mujoco_torque(
    xml: str, coupling: dict[str, tuple[np.ndarray, float]], q: np.ndarray, v: np.ndarray,
    a: np.ndarray,
) -> np.ndarray:
    """Rigid-body torques of a URDF by MuJoCo, shape ``(T, n)``.

    Args:
        xml: What :func:`~sysid_ros.demo.mujoco_urdf.urdf_for_mujoco` gave.
        coupling: How each joint follows the independent ones.
        q: Their positions, shape ``(T, n)``.
        v: Their velocities.
        a: Their accelerations.
    """
    model = mujoco.MjModel.from_xml_string(xml)
    model.opt.gravity[:] = UrdfPlant.gravity
    data = mujoco.MjData(model)
    rows, offset = np.zeros((model.nv, q.shape[1])), np.zeros(model.nv)
    for k in range(model.njnt):
        rows[model.jnt_dofadr[k]], offset[model.jnt_dofadr[k]] = coupling[model.joint(k).name]
    found = np.empty_like(q)
    full = np.empty(model.nv)
    for t in range(len(q)):
        data.qpos[:], data.qvel[:] = rows @ q[t] + offset, rows @ v[t]
        mujoco.mj_fwdPosition(model, data)
        mujoco.mj_fwdVelocity(model, data)
        data.qacc[:] = rows @ a[t]
        mujoco.mj_rne(model, data, 1, full)
        found[t] = full @ rows
    return found
