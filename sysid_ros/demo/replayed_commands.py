"""Motion of an MJCF with actuators under recorded commands, simulated by MuJoCo."""

from __future__ import annotations

import mujoco
import numpy as np

from sysid_ros.errors import ModelError
from sysid_ros.mechanics.actuators.command import HeldCommand

_TIMESTEP = 1e-3


def replayed_motion(
    xml: bytes, joint_names: tuple[str, ...], commands: HeldCommand, t: np.ndarray,
    start: np.ndarray, *, delay: float = 0.0, drag: np.ndarray | float = 0.0,
) -> np.ndarray:
    """Positions at the times of a recording, open loop from rest, shape ``(T, n)``.

    Args:
        xml: The MJCF, with an actuator of each joint, which may filter what it is told.
        joint_names: The n joints, in the order of every array.
        commands: What the actuators were told.
        t: Times in [s] on the clock of the commands, increasing, shape ``(T,)``.
        start: Positions at the first time in [rad] or [m], shape ``(n,)``.
        delay: Time from a command to its effect in [s].
        drag: Friction per square of the velocity, which an MJCF does not hold, shape ``(n,)``.

    Raises:
        ModelError: MuJoCo cannot load the document, or a joint has no actuator.
    """
    model = _loaded(xml)
    actuators = {int(model.actuator_trnid[k, 0]): k for k in range(model.nu)}
    joints = [model.joint(name).id for name in joint_names]
    unmoved = [name for name, k in zip(joint_names, joints, strict=True) if k not in actuators]
    if unmoved:
        raise ModelError('a joint has no actuator', found=', '.join(unmoved))
    order, own = np.array(joints), np.array([actuators[k] for k in joints])
    data = mujoco.MjData(model)
    data.qpos[order] = start
    steps = np.round((t - t[0]) / _TIMESTEP).astype(int)
    told = commands.at(t[0] + _TIMESTEP * np.arange(steps[-1] + 1) - delay)
    filters = model.actuator_actadr[own] >= 0
    data.act[model.actuator_actadr[own[filters]]] = told[0, filters]
    path = np.empty((steps[-1] + 1, len(joint_names)))
    for k, command in enumerate(told):
        path[k] = data.qpos[order]
        data.ctrl[own] = command
        v = data.qvel[order]
        data.qfrc_applied[order] = -drag * np.abs(v) * v
        mujoco.mj_step(model, data)
    return path[steps]


def _loaded(xml: bytes) -> mujoco.MjModel:
    try:
        model = mujoco.MjModel.from_xml_string(xml.decode())
    except ValueError as error:
        raise ModelError(f'MuJoCo cannot load the description: {error}') from error
    model.opt.timestep = _TIMESTEP
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    return model
