"""An independent plant: the robot in MuJoCo, with parameters that identification does not see."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np

from sysid_ros.demo.mujoco_loops import closed_description
from sysid_ros.demo.mujoco_urdf import urdf_for_mujoco
from sysid_ros.demo.true_robot import Truth
from sysid_ros.errors import ModelError
from sysid_ros.mechanics.closures.closed_chain import ClosedChain, closed_chain
from sysid_ros.robot.inertia import central_inertia
from sysid_ros.robot.model import RobotModel


@dataclass(frozen=True, eq=False)
class PlantFriction:
    """Joint terms of a plant, shape ``(n,)`` each; ``(m,)`` with the passive joints of loops.

    Attributes:
        viscous: Viscous friction in [N·m·s/rad] or [N·s/m].
        coulomb: Dry friction in [N·m] or [N].
        armature: Drive inertia in [kg·m²] or [kg].
        drag: Friction per square of the velocity in [N·m·s²/rad²] or [N·s²/m²]; 0 by default.
    """

    viscous: np.ndarray
    coulomb: np.ndarray
    armature: np.ndarray
    drag: np.ndarray | float = 0.0


class Plant:
    """A robot on a fixed base, moved by joint torques.

    Args:
        urdf: Text of a URDF whose inertias are the true ones; meshes are not loaded.
        joint_names: The joints, in the order of every array; all other joints must be fixed.
        friction: True joint terms.
        timestep: Step of the integration in [s].
        gravity: Gravity vector in the base frame in [m/s²].
        chain: The closed chain of a description whose loops are closed: ``joint_names`` are then
            its driven joints, and the passive ones follow.

    Raises:
        ModelError: MuJoCo cannot load the description, or it has other joints.
    """

    def __init__(
        self, urdf: str, joint_names: tuple[str, ...], friction: PlantFriction, *,
        timestep: float = 1e-3, gravity: tuple[float, float, float] = (0.0, 0.0, -9.81),
        chain: ClosedChain | None = None,
    ) -> None:
        try:
            self._model = mujoco.MjModel.from_xml_string(urdf)
        except ValueError as error:
            raise ModelError(f'MuJoCo cannot load the description: {error}') from error
        known = {self._model.joint(k).name: k for k in range(self._model.njnt)}
        expected = joint_names if chain is None else chain.joint_names
        if set(known) != set(expected):
            raise ModelError(
                'the description has other joints', found=', '.join(known),
                allowed=', '.join(expected),
            )
        self._order = np.array([known[name] for name in joint_names])
        self._all, self._chain = np.array([known[name] for name in expected]), chain
        self._model.opt.timestep = timestep
        self._model.opt.gravity[:] = gravity
        self._model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        # Contacts belong to the environment, not to the dynamics that are identified.
        self._model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
        self._model.dof_damping[self._all] = friction.viscous
        self._model.dof_frictionloss[self._all] = friction.coulomb
        self._model.dof_armature[self._all] = friction.armature
        # Dry friction is a soft constraint: by default it is not at its limit before some
        # 0.05 rad/s. Two steps are the shortest time constant that stays stable.
        self._model.dof_solref[:, 0] = 2.0 * timestep
        self._drag = np.zeros(self._model.nv)
        self._drag[self._all] = friction.drag
        self._data = mujoco.MjData(self._model)

    @classmethod
    def of(
        cls, robot: RobotModel, truth: Truth, *, timestep: float = 1e-3, save: Path | None = None
    ) -> Plant:
        """The robot with true parameters that differ from its description.

        Args:
            robot: The robot as described, whose joints move independently or in closed loops;
                joints of a URDF may be locked.
            truth: Its true parameters.
            timestep: Step of the integration in [s].
            save: MJCF file to write, with the true parameters to six digits.

        Raises:
            ModelError: MuJoCo cannot load the description, joints depend on each other, or the
                file cannot be written.
        """
        _require_independent(robot)
        friction = PlantFriction(truth.viscous, truth.coulomb, truth.armature, truth.drag)
        x, y, z = (float(value) for value in robot.gravity)
        closed = robot.loops is not None
        plant = cls(
            closed_description(robot) if closed else _description(robot),
            robot.joint_names, friction, timestep=timestep, gravity=(x, y, z),
            chain=closed_chain(robot) if closed else None)
        plant._place_masses(robot, truth.inertials)
        if save is not None:
            # MuJoCo writes the description it has read last, with the values of this model.
            try:
                mujoco.mj_saveLastXML(str(save), plant._model)
            except (ValueError, mujoco.FatalError) as error:
                raise ModelError(
                    f'cannot be written: {error}', where=str(save),
                    fix='Name a folder that can be written to') from error
        return plant

    def _place_masses(self, robot: RobotModel, inertials: np.ndarray) -> None:
        """Give every moving body its true mass distribution."""
        model = self._model
        if model.jnt_pos.any():
            raise ModelError(
                'a joint is not at the origin of its body', where=robot.name,
                fix='Move the bodies so that every joint has pos="0 0 0"')
        known = {model.body(k).name: k for k in range(1, model.nbody)}
        for link in robot.links:
            if link.name in known:
                # Links that are fixed to a body are part of it.
                model.body_mass[known[link.name]] = 0.0
                model.body_inertia[known[link.name]] = 0.0
        for body, phi in zip(robot.body_names, inertials, strict=True):
            mass, com, inertia = central_inertia(phi)
            moments, axes = np.linalg.eigh(inertia)
            axes[:, 2] *= np.linalg.det(axes)
            k = known[body]
            model.body_mass[k], model.body_ipos[k], model.body_inertia[k] = mass, com, moments
            mujoco.mju_mat2Quat(model.body_iquat[k], axes.ravel())
        mujoco.mj_setConst(model, self._data)

    @property
    def q(self) -> np.ndarray:
        """Joint positions in [rad] or [m], shape ``(n,)``."""
        return self._data.qpos[self._order].copy()

    @property
    def v(self) -> np.ndarray:
        """Joint velocities in [rad/s] or [m/s], shape ``(n,)``."""
        return self._data.qvel[self._order].copy()

    @property
    def timestep(self) -> float:
        """Step of the integration in [s]."""
        return float(self._model.opt.timestep)

    @property
    def q_all(self) -> np.ndarray:
        """Positions of all joints, the passive ones of closed loops too, shape ``(m,)``."""
        return self._data.qpos[self._all].copy()

    def torque_for(self, a: np.ndarray) -> np.ndarray:
        """Torques in [N·m] or [N] that accelerate it, without friction, shape ``(n,)``.

        Args:
            a: Accelerations in [rad/s²] or [m/s²], shape ``(n,)``.
        """
        wanted, torque = np.zeros(self._model.nv), np.zeros(self._model.nv)
        motion = None
        if self._chain is not None:
            motion = self._chain.motion_at(self.q_all[None], self.v[None], a[None])
            a = motion.a[0]
        wanted[self._all] = a
        mujoco.mj_mulM(self._model, self._data, torque, wanted)
        torque = (torque + self._data.qfrc_bias)[self._all]
        return torque if motion is None else motion.on_driven(torque[None])[0]

    def reset(self, q: np.ndarray) -> None:
        """Stand still at joint positions, shape ``(n,)``.

        Raises:
            UnreachableError: Loops cannot be closed there.
        """
        mujoco.mj_resetData(self._model, self._data)
        self._data.qpos[self._all] = q if self._chain is None else self._chain.positions(q[None])[0]
        mujoco.mj_forward(self._model, self._data)

    def step(self, torque: np.ndarray) -> None:
        """Advance by one step with joint torques in [N·m] or [N], shape ``(n,)``."""
        v = self._data.qvel
        self._data.qfrc_applied[:] = -self._drag * np.abs(v) * v
        self._data.qfrc_applied[self._order] += torque
        mujoco.mj_step(self._model, self._data)


def _require_independent(robot: RobotModel) -> None:
    """Refuse what MuJoCo would move in another way."""
    if robot.tree.is_coupled:
        followers = [
            name for name in robot.described_joints
            if name not in robot.joint_names and name not in robot.passive_joints]
        raise ModelError(
            'joints that follow others cannot be simulated', where=robot.name,
            found=', '.join(followers),
            fix=f'Lock the joint they follow, as --lock {robot.joint_names[-1]}=0')
    if robot.locked_joints and (robot.description.format != 'urdf' or robot.loops is not None):
        raise ModelError(
            'locked joints are simulated only in a URDF without closed loops', where=robot.name,
            found=', '.join(robot.locked_joints), fix='Make them fixed joints in the description')


def _description(robot: RobotModel) -> str:
    """What MuJoCo loads."""
    xml = robot.description.xml
    if robot.description.format == 'mjcf':
        return xml.decode()
    # The plant gets its true masses apart: what the description says of them may not even load.
    return urdf_for_mujoco(xml, robot.locked_joints, inertials=False)
