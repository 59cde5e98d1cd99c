"""An arm of two links in MuJoCo, whose own sensors sit on the forearm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

PLACE, TURN = (0.12, 0.03, -0.02), (0.4, -0.7, 1.1)
URDF = """
<robot name="sensed">
  <link name="base"/>
  <link name="upper"><inertial><origin xyz="0.02 0 -0.15"/><mass value="1.1"/>
    <inertia ixx="0.012" iyy="0.011" izz="0.003" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="shoulder" type="continuous"><parent link="base"/><child link="upper"/>
    <axis xyz="0 1 0"/><dynamics damping="0.02"/></joint>
  <link name="fore"><inertial><origin xyz="0 0.01 -0.1"/><mass value="0.6"/>
    <inertia ixx="0.004" iyy="0.005" izz="0.002" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="elbow" type="continuous"><parent link="upper"/><child link="fore"/>
    <origin xyz="0 0 -0.3"/><axis xyz="1 0 0"/><dynamics damping="0.01"/></joint>
</robot>
"""
_MJCF = """
<mujoco><compiler angle="radian" eulerseq="XYZ"/><option timestep="2e-4" integrator="RK4"/>
  <worldbody><body name="upper"><joint name="shoulder" axis="0 1 0" damping="0.02"/>
    <inertial pos="0.02 0 -0.15" mass="1.1" diaginertia="0.012 0.011 0.003"/>
    <body name="fore" pos="0 0 -0.3"><joint name="elbow" axis="1 0 0" damping="0.01"/>
      <inertial pos="0 0.01 -0.1" mass="0.6" diaginertia="0.004 0.005 0.002"/>
      <site name="imu" pos="{place}" quat="{quaternion}"/></body></body></worldbody>
  <actuator><motor joint="shoulder"/><motor joint="elbow"/></actuator>
  <sensor><gyro site="imu"/><accelerometer site="imu"/><framepos objtype="site" objname="imu"/>
  </sensor></mujoco>
"""


@dataclass(frozen=True)
class Sensed:
    """What MuJoCo simulated and its sensors measured, at 200 Hz without noise."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    torque: np.ndarray
    gyroscope: np.ndarray
    accelerometer: np.ndarray
    position: np.ndarray


def simulated(seconds=3.0):
    """A motion under torques of several frequencies."""
    import mujoco
    import pinocchio as pin

    quaternion = pin.Quaternion(pin.rpy.rpyToMatrix(*TURN)).coeffs()[[3, 0, 1, 2]]
    model = mujoco.MjModel.from_xml_string(_MJCF.format(
        place=' '.join(map(str, PLACE)), quaternion=' '.join(map(repr, map(float, quaternion)))))
    data, rows = mujoco.MjData(model), []
    data.qpos[:] = 0.3, -0.5
    for step in range(round(seconds / 2e-4)):
        time = step * 2e-4
        data.ctrl[:] = 0.8 * np.sin(3.1 * time), 0.25 * np.sin(5.3 * time + 0.4)
        if step % 25 == 0:
            mujoco.mj_forward(model, data)
            rows.append([time, *data.qpos, *data.qvel, *data.qacc, *data.ctrl, *data.sensordata])
        mujoco.mj_step(model, data)
    table = np.array(rows)
    return Sensed(table[:, 0], *(
        table[:, k:k + n] for k, n in (
            (1, 2), (3, 2), (5, 2), (7, 2), (9, 3), (12, 3), (15, 3))))
