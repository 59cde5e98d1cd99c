"""A robot with four legs under position servos in MuJoCo, held by its trunk or on the ground."""

from __future__ import annotations

import mujoco
import numpy as np

LEGS = ('front_left', 'front_right', 'rear_left', 'rear_right')
JOINTS = tuple(f'{leg}_{part}' for leg in LEGS for part in ('hip', 'thigh', 'calf'))
RATE, STEP = 100.0, 1e-3
KP, KD = 60.0, 1.5
#: Angles of hip, thigh and calf when it stands, in [rad].
STANDING = np.tile([0.0, 0.7, -1.4], 4)
_DRY = 'damping="{0}" frictionloss="{0}" armature="0.01"'


def _leg(name: str, x: float, y: float, friction: float) -> str:
    own = _DRY.format(friction)
    side = 0.08 if y > 0.0 else -0.08
    return f"""
    <body name="{name}_hip_link" pos="{x} {y} 0">
      <joint name="{name}_hip" axis="1 0 0" {own}/>
      <inertial pos="0 0 0" mass="0.7" diaginertia="0.001 0.001 0.001"/>
      <body name="{name}_thigh_link" pos="0 {side} 0">
        <joint name="{name}_thigh" axis="0 1 0" {own}/>
        <inertial pos="0 0 -0.04" mass="1.1" diaginertia="0.006 0.006 0.001"/>
        <body name="{name}_calf_link" pos="0 0 -0.2">
          <joint name="{name}_calf" axis="0 1 0" {own}/>
          <inertial pos="0 0 -0.09" mass="0.25" diaginertia="0.002 0.002 0.0001"/>
          <geom type="sphere" size="0.02" pos="0 0 -0.2" mass="0" friction="0.8"/>
        </body></body></body>"""


def document(friction: float = 0.1, *, stands: bool = False) -> str:
    """MJCF of the robot; its trunk is part of the world unless it stands on the ground."""
    legs = ''.join(
        _leg(name, x, y, friction)
        for name, (x, y) in zip(
            LEGS, ((0.2, 0.05), (0.2, -0.05), (-0.2, 0.05), (-0.2, -0.05)), strict=True))
    ground = '<geom type="plane" size="5 5 0.1"/>' if stands else ''
    base = '<freejoint/><inertial pos="0 0 0" mass="7" diaginertia="0.05 0.15 0.17"/>'
    servos = ''.join(f'<position joint="{name}" kp="{KP}" kv="{KD}"/>' for name in JOINTS)
    return (
        f'<mujoco model="legged"><compiler angle="radian"/><option timestep="{STEP}" '
        f'integrator="implicitfast"/><worldbody>{ground}<body name="trunk" pos="0 0 0.34">'
        f'{base if stands else ""}{legs}</body></worldbody><actuator>{servos}</actuator></mujoco>')


def recording(
    command: np.ndarray, *, stands: bool = False, friction: float = 0.2
) -> tuple[np.ndarray, np.ndarray]:
    """Times and encoder readings under commands that hold from row to row, ``(T, 12)`` each."""
    model = mujoco.MjModel.from_xml_string(document(friction, stands=stands))
    data, every = mujoco.MjData(model), round(1.0 / (RATE * STEP))
    place = [model.jnt_qposadr[mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, name)]
             for name in JOINTS]
    data.qpos[place] = command[0]
    read = []
    for row in command:
        read.append(data.qpos[place].copy())
        data.ctrl[:] = row
        mujoco.mj_step(model, data, every)
    count = 2.0 * np.pi / 2**14
    return np.arange(len(command)) / RATE, np.round(np.array(read) / count) * count


def squats(seconds: float) -> np.ndarray:
    """Commands by which the trunk goes up and down and sways, shape ``(T, 12)``."""
    t = np.arange(round(seconds * RATE)) / RATE
    bend = 0.25 * np.sin(2.0 * np.pi * 0.7 * t) + 0.1 * np.sin(2.0 * np.pi * 1.9 * t)
    sway = 0.12 * np.sin(2.0 * np.pi * 0.5 * t)
    lean = 0.1 * np.sin(2.0 * np.pi * 1.1 * t)
    return STANDING + np.tile(np.column_stack([sway, bend + lean, -2.0 * bend]), (1, 4))


def trot(seconds: float) -> np.ndarray:
    """Commands by which two legs stand while the other two swing, in turn, shape ``(T, 12)``."""
    t = np.arange(round(seconds * RATE)) / RATE
    phase = 2.0 * np.pi * 1.5 * t
    legs = [phase, phase + np.pi, phase + np.pi, phase]
    return STANDING + np.column_stack([
        part for each in legs
        for part in (0.05 * np.sin(0.5 * each), 0.2 * np.cos(each) + 0.25 * np.maximum(
            np.sin(each), 0.0), -0.5 * np.maximum(np.sin(each), 0.0))])


def free_motion(seconds: float, seed: int = 0) -> np.ndarray:
    """Commands by which all legs of a robot that hangs move on their own, shape ``(T, 12)``."""
    t = np.arange(round(seconds * RATE)) / RATE
    rng = np.random.default_rng(seed)
    rates, shifts = rng.uniform(1.5, 7.0, (2, 12)), rng.uniform(0.0, 2.0 * np.pi, (2, 12))
    return STANDING + 0.3 * np.sin(np.outer(t, rates[0]) + shifts[0]) + 0.15 * np.sin(
        np.outer(t, rates[1]) + shifts[1])
