"""Trajectory problems with a known truth: simulated far below the noise by an independent way."""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp

from sysid_ros.estimation.trajectory.problem import Observation, Segment, TrajectoryProblem
from sysid_ros.estimation.trajectory.sensors import Encoder
from sysid_ros.mechanics.joint_terms.terms import CoulombFriction, ViscousFriction
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.mechanics.tree.acceleration import accelerations
from sysid_ros.robot.model import RobotModel

PENDULUM = """<robot name="pendulum">
  <link name="stand"/>
  <link name="rod"><inertial>
    <origin xyz="0 0 -0.2"/><mass value="0.5"/>
    <inertia ixx="0.004" iyy="0.004" izz="0.0005" ixy="0" ixz="0" iyz="0"/>
  </inertial></link>
  <joint name="swing" type="continuous"><parent link="stand"/><child link="rod"/>
    <axis xyz="0 1 0"/><dynamics damping="0.01" friction="0.005"/></joint>
</robot>"""

ARM = """<robot name="arm">
  <link name="base"/>
  <link name="turret"><inertial>
    <origin xyz="0.02 0.01 0.1"/><mass value="4.0"/>
    <inertia ixx="0.03" iyy="0.03" izz="0.02" ixy="0.001" ixz="0" iyz="0"/></inertial></link>
  <link name="upper"><inertial>
    <origin xyz="0.2 0.01 0.02"/><mass value="3.0"/>
    <inertia ixx="0.008" iyy="0.05" izz="0.05" ixy="0" ixz="0.001" iyz="0"/></inertial></link>
  <link name="lower"><inertial>
    <origin xyz="0.15 0 0.01"/><mass value="1.5"/>
    <inertia ixx="0.003" iyy="0.015" izz="0.015" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="yaw" type="revolute"><parent link="base"/><child link="turret"/>
    <origin xyz="0 0 0.2"/><axis xyz="0 0 1"/>
    <limit lower="-3" upper="3" effort="100" velocity="10"/>
    <dynamics damping="0.6" friction="0.4"/></joint>
  <joint name="shoulder" type="revolute"><parent link="turret"/><child link="upper"/>
    <origin xyz="0 0 0.2"/><axis xyz="0 1 0"/>
    <limit lower="-3" upper="3" effort="100" velocity="10"/>
    <dynamics damping="0.5" friction="0.5"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/>
    <origin xyz="0.4 0 0"/><axis xyz="0 1 0"/>
    <limit lower="-3" upper="3" effort="100" velocity="10"/>
    <dynamics damping="0.2" friction="0.2"/></joint>
</robot>"""


def model_of(urdf: str, smoothing: float = 0.05) -> TorqueModel:
    """A torque model with viscous and smooth dry friction."""
    return TorqueModel(
        RobotModel.from_urdf(urdf), (ViscousFriction(), CoulombFriction(smoothing=smoothing)))


def simulated(model, values, t, torque, start):
    """Positions and velocities ``(N + 1, n)`` by SciPy's eighth-order method at 1e-11."""
    joints = len(start[0])

    def slope(time, x):
        u = np.array([np.interp(time, t, column) for column in torque.T])
        a = accelerations(model, values, x[None, :joints], x[None, joints:], u[None])
        return np.concatenate([x[joints:], a[0]])

    # Torques are straight between nodes: no step may go across one.
    path = [np.concatenate(start)]
    for first, last in zip(t[:-1], t[1:], strict=True):
        path.append(solve_ivp(
            slope, (first, last), path[-1], method='DOP853', rtol=1e-11, atol=1e-13).y[:, -1])
    path = np.array(path)
    return path[:, :joints], path[:, joints:]


def swinging(seed=0, *, nodes=201, step=0.01, noise=1e-3, segments=2, fixed=()):
    """A pendulum that swings freely: the problem, the true values and the true motion."""
    rng = np.random.default_rng(seed)
    model = model_of(PENDULUM)
    truth = model.parameters.values
    parts, motion = [], []
    for k in range(segments):
        t = step * np.arange(nodes) + 10.0 * k
        torque = np.zeros((nodes, 1))
        start = np.array([[2.5 - k], [0.5 * k]])
        q, v = simulated(model, truth, t, torque, start)
        measured = q + noise * rng.normal(size=q.shape)
        observation = Observation(Encoder.of(['swing']), t, measured, np.array([noise]))
        parts.append(Segment(t, torque, (observation,), start))
        motion.append((q, v))
    parameters = model.parameters
    parameters = parameters.fixed(*fixed) if fixed else parameters
    return TrajectoryProblem(model, parameters, tuple(parts)), truth, motion
