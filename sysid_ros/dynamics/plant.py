"""An independent plant: the robot in MuJoCo, with parameters that identification does not see."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from sysid_ros.errors import ModelError


@dataclass(frozen=True, eq=False)
class PlantFriction:
    """Joint terms of a plant, shape ``(n,)`` each.

    Attributes:
        viscous: Viscous friction in [N·m·s/rad] or [N·s/m].
        coulomb: Dry friction in [N·m] or [N].
        armature: Drive inertia in [kg·m²] or [kg].
    """

    viscous: np.ndarray
    coulomb: np.ndarray
    armature: np.ndarray


class Plant:
    """A robot on a fixed base, moved by joint torques.

    Args:
        urdf: Text of a URDF whose inertias are the true ones; meshes are not loaded.
        joint_names: The joints, in the order of every array; all other joints must be fixed.
        friction: True joint terms.
        timestep: Step of the integration in [s].
        gravity: Gravity vector in the base frame in [m/s²].

    Raises:
        ModelError: MuJoCo cannot load the description, or it has other joints.
    """

    def __init__(
        self, urdf: str, joint_names: tuple[str, ...], friction: PlantFriction, *,
        timestep: float = 1e-3, gravity: tuple[float, float, float] = (0.0, 0.0, -9.81),
    ) -> None:
        try:
            self._model = mujoco.MjModel.from_xml_string(urdf)
        except ValueError as error:
            raise ModelError(f'MuJoCo cannot load the description: {error}') from error
        known = {self._model.joint(k).name: k for k in range(self._model.njnt)}
        if set(known) != set(joint_names):
            raise ModelError(
                'the description has other joints', found=', '.join(known),
                allowed=', '.join(joint_names),
            )
        self._order = np.array([known[name] for name in joint_names])
        self._model.opt.timestep = timestep
        self._model.opt.gravity[:] = gravity
        self._model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        # Contacts belong to the environment, not to the dynamics that are identified.
        self._model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
        self._model.dof_damping[self._order] = friction.viscous
        self._model.dof_frictionloss[self._order] = friction.coulomb
        self._model.dof_armature[self._order] = friction.armature
        # Dry friction is a soft constraint: by default it is not at its limit before some
        # 0.05 rad/s. Two steps are the shortest time constant that stays stable.
        self._model.dof_solref[:, 0] = 2.0 * timestep
        self._data = mujoco.MjData(self._model)

    @property
    def q(self) -> np.ndarray:
        """Joint positions in [rad] or [m], shape ``(n,)``."""
        return self._data.qpos[self._order].copy()

    @property
    def v(self) -> np.ndarray:
        """Joint velocities in [rad/s] or [m/s], shape ``(n,)``."""
        return self._data.qvel[self._order].copy()

    def reset(self, q: np.ndarray) -> None:
        """Stand still at joint positions, shape ``(n,)``."""
        mujoco.mj_resetData(self._model, self._data)
        self._data.qpos[self._order] = q
        mujoco.mj_forward(self._model, self._data)

    def step(self, torque: np.ndarray) -> None:
        """Advance by one step with joint torques in [N·m] or [N], shape ``(n,)``."""
        self._data.qfrc_applied[self._order] = torque
        mujoco.mj_step(self._model, self._data)
