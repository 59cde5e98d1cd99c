"""An arm with position servos in MuJoCo, whose drives are not those of its description."""

from __future__ import annotations

import mujoco
import numpy as np

JOINTS = ('shoulder', 'elbow')
RATE, STEP, DELAY = 200.0, 5e-4, 0.006
KP, KD, LIMIT = (40.0, 25.0), (1.0, 0.6), (18.0, 12.0)
#: Viscous friction, dry friction and armature of both joints.
TRUTH = {
    'viscous_friction': (0.5, 0.25), 'coulomb_friction': (0.5, 0.2), 'armature': (0.06, 0.03)}
ARM = """<mujoco model="arm">
  <compiler angle="radian"/>
  <worldbody>
    <body name="upper" pos="0 0 0.3">
      <joint name="shoulder" axis="0 1 0" damping="{0}" frictionloss="{2}" armature="{4}"/>
      <inertial pos="0.02 0 0.12" mass="1.5" diaginertia="0.012 0.012 0.004"/>
      <body name="fore" pos="0 0 0.25">
        <joint name="elbow" axis="0 1 0" damping="{1}" frictionloss="{3}" armature="{5}"/>
        <inertial pos="0 0.01 0.1" mass="0.8" diaginertia="0.006 0.006 0.001"/>
      </body>
    </body>
  </worldbody>
</mujoco>
"""
#: What is known of the arm before: half of its friction and drive inertia, at best.
DESCRIBED = ARM.format(0.25, 0.25, 0.2, 0.1, 0.02, 0.02)


def commanded(t: np.ndarray, pace: float) -> np.ndarray:
    """Commands at times, shape ``(T, 2)``."""
    sums = [
        sum(size * np.sin(pace * w * t + k) for k, (size, w) in enumerate(parts))
        for parts in (((0.5, 1.7), (0.3, 4.1), (0.1, 11.0)), ((0.6, 2.3), (0.3, 5.3), (0.1, 13.0)))]
    return np.column_stack(sums)


def plant() -> mujoco.MjModel:
    """The arm as it is, with drives that hold commands."""
    actuators = ''.join(
        f'<position joint="{name}" kp="{kp}" kv="{kd}" forcerange="-{limit} {limit}"/>'
        for name, kp, kd, limit in zip(JOINTS, KP, KD, LIMIT, strict=True))
    parts = [value for pair in TRUTH.values() for value in pair]
    xml = ARM.format(*parts).replace('</mujoco>', f'<actuator>{actuators}</actuator></mujoco>')
    model = mujoco.MjModel.from_xml_string(xml)
    model.opt.timestep, model.opt.integrator = STEP, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    return model


def simulated(
    model: mujoco.MjModel, command: np.ndarray, start: np.ndarray, delay: float = DELAY
) -> np.ndarray:
    """Positions at the rows of commands, which hold from row to row, shape ``(T, 2)``."""
    data, every = mujoco.MjData(model), round(1.0 / (RATE * model.opt.timestep))
    late = round(delay / model.opt.timestep)
    data.qpos[:] = start
    positions = []
    for k in range(len(command) * every):
        if k % every == 0:
            positions.append(data.qpos.copy())
        data.ctrl[:] = command[max(k - late, 0) // every]
        mujoco.mj_step(model, data)
    return np.array(positions)


def recording(seconds: float, pace: float, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times, commands and encoder readings of the arm, 16384 counts a turn."""
    t = np.arange(round(seconds * RATE)) / RATE
    command = commanded(t, pace)
    q = simulated(plant(), command, command[0])
    count = 2.0 * np.pi / 16384
    return t, command, np.round(
        (q + np.random.default_rng(seed).normal(0.0, 0.3 * count, q.shape)) / count) * count
